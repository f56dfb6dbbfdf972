// RUN: graphrun-opt %s --gr-fold-normalization --split-input-file | FileCheck %s

// scale / sqrt(variance + epsilon) is (2, 1), so filter (1, 2) becomes (2, 2); bias is
// beta - mean * factor = (1 - 2, 5 - 3).
// CHECK-LABEL: @conv_batch_norm
// CHECK-DAG: %[[W:.*]] = gr.constant dense<2.000000e+00> : tensor<2x1x1x1xf32>
// CHECK-DAG: %[[B:.*]] = gr.constant dense<[-1.000000e+00, 2.000000e+00]> : tensor<2xf32>
// CHECK: %[[C:.*]] = gr.conv %arg0, %[[W]], %[[B]] {dilations = array<i64: 1, 1>
// CHECK-NEXT: return %[[C]]
func.func @conv_batch_norm(%x: tensor<1x1x4x4xf32>) -> tensor<1x2x4x4xf32> {
  %w = gr.constant dense<[[[[1.0]]], [[[2.0]]]]> : tensor<2x1x1x1xf32> : tensor<2x1x1x1xf32>
  %scale = gr.constant dense<[4.0, 3.0]> : tensor<2xf32> : tensor<2xf32>
  %bias = gr.constant dense<[1.0, 5.0]> : tensor<2xf32> : tensor<2xf32>
  %mean = gr.constant dense<[1.0, 3.0]> : tensor<2xf32> : tensor<2xf32>
  %variance = gr.constant dense<[3.0, 8.0]> : tensor<2xf32> : tensor<2xf32>
  %0 = gr.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>}
    : (tensor<1x1x4x4xf32>, tensor<2x1x1x1xf32>) -> tensor<1x2x4x4xf32>
  %1 = gr.batch_norm %0, %scale, %bias, %mean, %variance {epsilon = 1.0 : f64}
    : (tensor<1x2x4x4xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<1x2x4x4xf32>
  return %1 : tensor<1x2x4x4xf32>
}

// -----

// The whole chain at once: ((w x + b) * k + a - d) / e, and then e - y.
// Channel 0: ((1 x + 1) * 2 + 4 - 2) / 2 = 1 x + 2, and 8 - that: -1 x + 6.
// Channel 1: ((2 x + 2) * 3 + 4 - 2) / 2 = 3 x + 4, and 8 - that: -3 x + 4.
// CHECK-LABEL: @conv_chain
// CHECK-DAG: %[[W:.*]] = gr.constant dense<{{\[\[\[\[}}-1.000000e+00]]], {{\[\[\[}}-3.000000e+00]]]]> : tensor<2x1x1x1xf32>
// CHECK-DAG: %[[B:.*]] = gr.constant dense<[6.000000e+00, 4.000000e+00]> : tensor<2xf32>
// CHECK: gr.conv %arg0, %[[W]], %[[B]]
// CHECK-NEXT: return
func.func @conv_chain(%x: tensor<1x1x4x4xf32>) -> tensor<1x2x4x4xf32> {
  %w = gr.constant dense<[[[[1.0]]], [[[2.0]]]]> : tensor<2x1x1x1xf32> : tensor<2x1x1x1xf32>
  %b = gr.constant dense<[1.0, 2.0]> : tensor<2xf32> : tensor<2xf32>
  %k = gr.constant dense<[[[2.0]], [[3.0]]]> : tensor<2x1x1xf32> : tensor<2x1x1xf32>
  %a = gr.constant dense<4.0> : tensor<1x2x1x1xf32> : tensor<1x2x1x1xf32>
  %d = gr.constant dense<2.0> : tensor<f32> : tensor<f32>
  %e = gr.constant dense<8.0> : tensor<1xf32> : tensor<1xf32>
  %0 = gr.conv %x, %w, %b {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>}
    : (tensor<1x1x4x4xf32>, tensor<2x1x1x1xf32>, tensor<2xf32>) -> tensor<1x2x4x4xf32>
  %1 = gr.mul %k, %0 : (tensor<2x1x1xf32>, tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32>
  %2 = gr.add %1, %a : (tensor<1x2x4x4xf32>, tensor<1x2x1x1xf32>) -> tensor<1x2x4x4xf32>
  %3 = gr.sub %2, %d : (tensor<1x2x4x4xf32>, tensor<f32>) -> tensor<1x2x4x4xf32>
  %4 = gr.div %3, %d : (tensor<1x2x4x4xf32>, tensor<f32>) -> tensor<1x2x4x4xf32>
  %5 = gr.sub %e, %4 : (tensor<1xf32>, tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32>
  return %5 : tensor<1x2x4x4xf32>
}

// -----

// An addition alone leaves the filter as it is, also one that is no constant of this kind.
// CHECK-LABEL: @conv_bias
// CHECK-DAG: %[[W:.*]] = gr.constant dense_resource<w> : tensor<2x1x1x1xf32>
// CHECK-DAG: %[[B:.*]] = gr.constant dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32>
// CHECK: gr.conv %arg0, %[[W]], %[[B]]
// CHECK-NEXT: return
func.func @conv_bias(%x: tensor<1x1x4x4xf32>) -> tensor<1x2x4x4xf32> {
  %w = gr.constant dense_resource<w> : tensor<2x1x1x1xf32> : tensor<2x1x1x1xf32>
  %b = gr.constant dense<[[[1.0]], [[2.0]]]> : tensor<2x1x1xf32> : tensor<2x1x1xf32>
  %0 = gr.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>}
    : (tensor<1x1x4x4xf32>, tensor<2x1x1x1xf32>) -> tensor<1x2x4x4xf32>
  %1 = gr.add %0, %b : (tensor<1x2x4x4xf32>, tensor<2x1x1xf32>) -> tensor<1x2x4x4xf32>
  return %1 : tensor<1x2x4x4xf32>
}
{-# dialect_resources: { builtin: { w: "0x040000000000803F00000040" } } #-}

// -----

// Two groups of one result channel each: the filter's rows belong to input channels.
// CHECK-LABEL: @conv_transpose
// CHECK-DAG: %[[W:.*]] = gr.constant dense<{{\[\[\[\[}}1.000000e+01]]], {{\[\[\[}}2.000000e+01]]], {{\[\[\[}}3.000000e+02]]], {{\[\[\[}}4.000000e+02]]]]> : tensor<4x1x1x1xf32>
// CHECK: gr.conv_transpose %arg0, %[[W]]
// CHECK-NEXT: return
func.func @conv_transpose(%x: tensor<1x4x4x4xf32>) -> tensor<1x2x4x4xf32> {
  %w = gr.constant dense<[[[[1.0]]], [[[2.0]]], [[[3.0]]], [[[4.0]]]]> : tensor<4x1x1x1xf32> : tensor<4x1x1x1xf32>
  %k = gr.constant dense<[[[10.0]], [[100.0]]]> : tensor<2x1x1xf32> : tensor<2x1x1xf32>
  %0 = gr.conv_transpose %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>,
      output_padding = array<i64: 0, 0>, output_shape = array<i64>, groups = 2 : i64}
    : (tensor<1x4x4x4xf32>, tensor<4x1x1x1xf32>) -> tensor<1x2x4x4xf32>
  %1 = gr.mul %0, %k : (tensor<1x2x4x4xf32>, tensor<2x1x1xf32>) -> tensor<1x2x4x4xf32>
  return %1 : tensor<1x2x4x4xf32>
}

// -----

// CHECK-LABEL: @matmul_batch_norm
// CHECK-DAG: %[[W:.*]] = gr.constant dense<{{\[\[}}2.000000e+00, 2.000000e+00], [6.000000e+00, 4.000000e+00]]> : tensor<2x2xf32>
// CHECK-DAG: %[[B:.*]] = gr.constant dense<[1.000000e+00, 3.000000e+00]> : tensor<2xf32>
// CHECK: %[[M:.*]] = gr.matmul %arg0, %[[W]]
// CHECK-NEXT: %[[A:.*]] = gr.add %[[M]], %[[B]]
// CHECK-NEXT: return %[[A]]
func.func @matmul_batch_norm(%x: tensor<4x2xf32>) -> tensor<4x2xf32> {
  %w = gr.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32> : tensor<2x2xf32>
  %b = gr.constant dense<[1.0, 1.0]> : tensor<2xf32> : tensor<2xf32>
  %scale = gr.constant dense<[4.0, 3.0]> : tensor<2xf32> : tensor<2xf32>
  %bias = gr.constant dense<[1.0, 5.0]> : tensor<2xf32> : tensor<2xf32>
  %mean = gr.constant dense<[1.0, 3.0]> : tensor<2xf32> : tensor<2xf32>
  %variance = gr.constant dense<[3.0, 8.0]> : tensor<2xf32> : tensor<2xf32>
  %0 = gr.matmul %x, %w : (tensor<4x2xf32>, tensor<2x2xf32>) -> tensor<4x2xf32>
  %1 = gr.add %0, %b : (tensor<4x2xf32>, tensor<2xf32>) -> tensor<4x2xf32>
  %2 = gr.batch_norm %1, %scale, %bias, %mean, %variance {epsilon = 1.0 : f64}
    : (tensor<4x2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<4x2xf32>
  return %2 : tensor<4x2xf32>
}

// -----

// CHECK-LABEL: @matmul_transposed
// CHECK-DAG: %[[W:.*]] = gr.constant dense<{{\[\[}}1.000000e+01, 2.000000e+01], [3.000000e+02, 4.000000e+02]]>
// CHECK: gr.matmul %arg0, %[[W]] {transpose_rhs = true}
// CHECK-NEXT: return
func.func @matmul_transposed(%x: tensor<4x2xf32>) -> tensor<4x2xf32> {
  %w = gr.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32> : tensor<2x2xf32>
  %k = gr.constant dense<[10.0, 100.0]> : tensor<2xf32> : tensor<2xf32>
  %0 = gr.matmul %x, %w {transpose_rhs = true} : (tensor<4x2xf32>, tensor<2x2xf32>) -> tensor<4x2xf32>
  %1 = gr.mul %0, %k : (tensor<4x2xf32>, tensor<2xf32>) -> tensor<4x2xf32>
  return %1 : tensor<4x2xf32>
}

// -----

// A second use keeps the convolution as it is; the normalisation becomes mul and add.
// CHECK-LABEL: @second_use
// CHECK: %[[C:.*]] = gr.conv %arg0, %arg1 {
// CHECK: %[[M:.*]] = gr.mul %[[C]]
// CHECK: %[[A:.*]] = gr.add %[[M]]
// CHECK: return %[[A]], %[[C]]
func.func @second_use(%x: tensor<1x1x4x4xf32>, %w: tensor<2x1x1x1xf32>) -> (tensor<1x2x4x4xf32>, tensor<1x2x4x4xf32>) {
  %p = gr.constant dense<[4.0, 3.0]> : tensor<2xf32> : tensor<2xf32>
  %0 = gr.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>}
    : (tensor<1x1x4x4xf32>, tensor<2x1x1x1xf32>) -> tensor<1x2x4x4xf32>
  %1 = gr.batch_norm %0, %p, %p, %p, %p
    : (tensor<1x2x4x4xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<1x2x4x4xf32>
  return %1, %0 : tensor<1x2x4x4xf32>, tensor<1x2x4x4xf32>
}

// -----

// Not a constant a channel; not a constant; a factor that is not finite.
// CHECK-LABEL: @left_alone
// CHECK: gr.conv
// CHECK-NEXT: gr.mul
// CHECK: gr.conv
// CHECK-NEXT: gr.mul
// CHECK: gr.conv
// CHECK-NEXT: gr.div
// CHECK: gr.batch_norm
func.func @left_alone(%x: tensor<1x1x2x2xf32>, %p: tensor<1xf32>) -> tensor<1x1x2x2xf32> {
  %w = gr.constant dense<2.0> : tensor<1x1x1x1xf32> : tensor<1x1x1x1xf32>
  %k = gr.constant dense<[1.0, 2.0]> : tensor<2xf32> : tensor<2xf32>
  %z = gr.constant dense<0.0> : tensor<f32> : tensor<f32>
  %0 = gr.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>}
    : (tensor<1x1x2x2xf32>, tensor<1x1x1x1xf32>) -> tensor<1x1x2x2xf32>
  %1 = gr.mul %0, %k : (tensor<1x1x2x2xf32>, tensor<2xf32>) -> tensor<1x1x2x2xf32>
  %2 = gr.conv %1, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>}
    : (tensor<1x1x2x2xf32>, tensor<1x1x1x1xf32>) -> tensor<1x1x2x2xf32>
  %3 = gr.mul %2, %p : (tensor<1x1x2x2xf32>, tensor<1xf32>) -> tensor<1x1x2x2xf32>
  %4 = gr.conv %3, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>}
    : (tensor<1x1x2x2xf32>, tensor<1x1x1x1xf32>) -> tensor<1x1x2x2xf32>
  %5 = gr.div %4, %z : (tensor<1x1x2x2xf32>, tensor<f32>) -> tensor<1x1x2x2xf32>
  %6 = gr.batch_norm %5, %p, %p, %p, %p
    : (tensor<1x1x2x2xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<1x1x2x2xf32>
  return %6 : tensor<1x1x2x2xf32>
}

// -----

// More than 64 elements become a resource.
// CHECK-LABEL: @large
// CHECK: dense_resource<filter_folded>
// CHECK: dialect_resources
// CHECK: filter_folded: "0x40000000
func.func @large(%x: tensor<1x1x4x4xf32>) -> tensor<1x100x4x4xf32> {
  %w = gr.constant dense<1.0> : tensor<100x1x1x1xf32> : tensor<100x1x1x1xf32>
  %k = gr.constant dense<3.0> : tensor<f32> : tensor<f32>
  %0 = gr.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>}
    : (tensor<1x1x4x4xf32>, tensor<100x1x1x1xf32>) -> tensor<1x100x4x4xf32>
  %1 = gr.mul %0, %k : (tensor<1x100x4x4xf32>, tensor<f32>) -> tensor<1x100x4x4xf32>
  return %1 : tensor<1x100x4x4xf32>
}
