// RUN: graphrun-opt %s --gr-form-groups --gr-cuda-print-executable=tf32=true | FileCheck %s
// RUN: graphrun-opt %s --gr-form-groups --gr-cuda-print-executable | FileCheck %s --check-prefix=EXACT --implicit-check-not=tf32
// REQUIRES: cuda

// Products and convolutions of f32 may round their factors where the user says so; those of other types
// stay what they are.
// CHECK-LABEL: // products
// CHECK: cublaslt.matmul gr.matmul ({{.*}}) -> ({{.*}} 8x64xf32) then gr.relu in tf32 scratch
// CHECK: cublaslt.matmul gr.matmul ({{.*}}) -> ({{.*}} 8x8xf64) scratch
// CHECK: cublaslt.matmul gr.matmul ({{.*}}) -> ({{.*}} 8x8xbf16) scratch
// EXACT-LABEL: // products
// EXACT: cublaslt.matmul gr.matmul ({{.*}}) -> ({{.*}} 8x64xf32) then gr.relu scratch
func.func @products(%x: tensor<8x32xf32>, %w: tensor<32x64xf32>, %d: tensor<8x8xf64>, %b: tensor<8x8xbf16>) -> (tensor<8x64xf32>, tensor<8x8xf64>, tensor<8x8xbf16>) {
  %0 = gr.matmul %x, %w : (tensor<8x32xf32>, tensor<32x64xf32>) -> tensor<8x64xf32>
  %1 = gr.relu %0 : (tensor<8x64xf32>) -> tensor<8x64xf32>
  %2 = gr.matmul %d, %d : (tensor<8x8xf64>, tensor<8x8xf64>) -> tensor<8x8xf64>
  %3 = gr.matmul %b, %b : (tensor<8x8xbf16>, tensor<8x8xbf16>) -> tensor<8x8xbf16>
  return %1, %2, %3 : tensor<8x64xf32>, tensor<8x8xf64>, tensor<8x8xbf16>
}

// CHECK-LABEL: // convolutions
// CHECK: cudnn.conv gr.conv ({{.*}}) -> ({{.*}} 1x8x8x8xf32{{.*}}) in tf32 scratch
// CHECK: cudnn.deconv gr.conv_transpose ({{.*}}) -> ({{.*}} 1x4x16x16xf32{{.*}}) in tf32 scratch
// EXACT-LABEL: // convolutions
// EXACT: cudnn.conv gr.conv ({{.*}}) -> ({{.*}} 1x8x8x8xf32) scratch
func.func @convolutions(%x: tensor<1x4x8x8xf32>, %w: tensor<8x4x3x3xf32>, %v: tensor<8x4x2x2xf32>) -> tensor<1x4x16x16xf32> {
  %0 = gr.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, padding = "explicit", groups = 1 : i64} : (tensor<1x4x8x8xf32>, tensor<8x4x3x3xf32>) -> tensor<1x8x8x8xf32>
  %1 = gr.conv_transpose %0, %v {strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, padding = "explicit", groups = 1 : i64, output_padding = array<i64: 0, 0>, output_shape = array<i64>} : (tensor<1x8x8x8xf32>, tensor<8x4x2x2xf32>) -> tensor<1x4x16x16xf32>
  return %1 : tensor<1x4x16x16xf32>
}
