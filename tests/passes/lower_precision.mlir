// RUN: graphrun-opt %s --gr-lower-precision --split-input-file | FileCheck %s

// Products and what follows them are of bf16; inputs, outputs and what comes before keep their types.
// Constants of few elements are folded, larger ones stay below their cast.
// CHECK-LABEL: @between
// CHECK: %[[E:.*]] = gr.exp %arg0 : (tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32>
// CHECK: %[[X:.*]] = gr.cast %[[E]] {to = bf16}
// CHECK: %[[W:.*]] = gr.cast %arg1 {to = bf16}
// CHECK: %[[C:.*]] = gr.conv %[[X]], %[[W]] {{.*}} -> tensor<1x2x4x4xbf16>
// CHECK: %[[B:.*]] = gr.constant dense<{{.*}}> : tensor<2x1x1xbf16>
// CHECK: %[[S:.*]] = gr.add %[[C]], %[[B]] : (tensor<1x2x4x4xbf16>, tensor<2x1x1xbf16>) -> tensor<1x2x4x4xbf16>
// CHECK: %[[R:.*]] = gr.add %[[S]], %[[X]]
// CHECK: %[[Y:.*]] = gr.cast %[[R]] {to = f32}
// CHECK: return %[[Y]] : tensor<1x2x4x4xf32>
func.func @between(%x: tensor<1x2x4x4xf32>, %w: tensor<2x2x1x1xf32>) -> tensor<1x2x4x4xf32> {
  %b = gr.constant dense<[[[1.0]], [[2.0]]]> : tensor<2x1x1xf32> : tensor<2x1x1xf32>
  %0 = gr.exp %x : (tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32>
  %1 = gr.conv %0, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>}
    : (tensor<1x2x4x4xf32>, tensor<2x2x1x1xf32>) -> tensor<1x2x4x4xf32>
  %2 = gr.add %1, %b : (tensor<1x2x4x4xf32>, tensor<2x1x1xf32>) -> tensor<1x2x4x4xf32>
  %3 = gr.add %2, %0 : (tensor<1x2x4x4xf32>, tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32>
  return %3 : tensor<1x2x4x4xf32>
}

// -----

// Normalisations stay as they are, between casts; a value that is read in both types is there in both.
// CHECK-LABEL: @normalised
// CHECK: %[[P:.*]] = gr.matmul {{.*}} -> tensor<4x8xbf16>
// CHECK-NEXT: %[[F:.*]] = gr.cast %[[P]] {to = f32}
// CHECK-NEXT: %[[N:.*]] = gr.layer_norm %[[F]], %arg2 : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
// CHECK: %[[L:.*]] = gr.cast %[[N]] {to = bf16}
// CHECK: gr.matmul %[[L]], {{.*}} -> tensor<4x8xbf16>
// CHECK: return %{{.*}}, %[[N]] : tensor<4x8xf32>, tensor<4x8xf32>
func.func @normalised(%x: tensor<4x8xf32>, %w: tensor<8x8xf32>, %s: tensor<8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  %0 = gr.matmul %x, %w : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %1 = gr.layer_norm %0, %s : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  %2 = gr.matmul %1, %w : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  return %2, %1 : tensor<4x8xf32>, tensor<4x8xf32>
}

// -----

// Products of other types, and a graph without products, are left alone.
// CHECK-LABEL: @untouched
// CHECK-NOT: bf16
func.func @untouched(%x: tensor<4x4xf64>, %y: tensor<4x4xf32>) -> (tensor<4x4xf64>, tensor<4x4xf32>) {
  %0 = gr.matmul %x, %x : (tensor<4x4xf64>, tensor<4x4xf64>) -> tensor<4x4xf64>
  %1 = gr.relu %y : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return %0, %1 : tensor<4x4xf64>, tensor<4x4xf32>
}
