// Bytes stand for floats only as far as the arithmetic on floats is exact.
// RUN: graphrun-opt %s --gr-lower-quantized --split-input-file | FileCheck %s

// Half a byte is no zero point, nor is what floats of bytes do not count exactly: 1e9 - 1e9 is 0, but
// (x + 1e9) - 1e9 is not x.
// CHECK-LABEL: @offsets
// CHECK-COUNT-2: gr.matmul {{.*}} -> tensor<2x2xf32>
func.func @offsets(%x: tensor<2x2xui8>) -> (tensor<2x2xf32>, tensor<2x2xf32>) {
  %w = gr.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xi8> : tensor<2x2xi8>
  %s = gr.constant dense<0.5> : tensor<f32> : tensor<f32>
  %z = gr.constant dense<127.5> : tensor<f32> : tensor<f32>
  %big = gr.constant dense<1.0e+9> : tensor<f32> : tensor<f32>
  %0 = gr.cast %w {to = f32} : (tensor<2x2xi8>) -> tensor<2x2xf32>
  %1 = gr.mul %0, %s : (tensor<2x2xf32>, tensor<f32>) -> tensor<2x2xf32>
  %2 = gr.cast %x {to = f32} : (tensor<2x2xui8>) -> tensor<2x2xf32>
  %3 = gr.sub %2, %z : (tensor<2x2xf32>, tensor<f32>) -> tensor<2x2xf32>
  %4 = gr.mul %3, %s : (tensor<2x2xf32>, tensor<f32>) -> tensor<2x2xf32>
  %5 = gr.matmul %4, %1 : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  %6 = gr.add %2, %big : (tensor<2x2xf32>, tensor<f32>) -> tensor<2x2xf32>
  %7 = gr.sub %6, %big : (tensor<2x2xf32>, tensor<f32>) -> tensor<2x2xf32>
  %8 = gr.mul %7, %s : (tensor<2x2xf32>, tensor<f32>) -> tensor<2x2xf32>
  %9 = gr.matmul %8, %1 : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  return %5, %9 : tensor<2x2xf32>, tensor<2x2xf32>
}

// -----

// 1e-30 * 1e-30 is 0 in f32, and 255 * 3e38 infinite.
// CHECK-LABEL: @scales
// CHECK: gr.matmul {{.*}} -> tensor<2x2xf32>
// CHECK: gr.mul {{.*}} -> tensor<2x2xf32>
// CHECK: gr.div {{.*}} -> tensor<2x2xf32>
func.func @scales(%x: tensor<2x2xui8>) -> (tensor<2x2xf32>, tensor<2x2xui8>) {
  %w = gr.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xi8> : tensor<2x2xi8>
  %s = gr.constant dense<1.0e-30> : tensor<f32> : tensor<f32>
  %huge = gr.constant dense<3.0e+38> : tensor<f32> : tensor<f32>
  %0 = gr.cast %w {to = f32} : (tensor<2x2xi8>) -> tensor<2x2xf32>
  %1 = gr.mul %0, %s : (tensor<2x2xf32>, tensor<f32>) -> tensor<2x2xf32>
  %2 = gr.cast %x {to = f32} : (tensor<2x2xui8>) -> tensor<2x2xf32>
  %3 = gr.mul %2, %s : (tensor<2x2xf32>, tensor<f32>) -> tensor<2x2xf32>
  %4 = gr.matmul %3, %1 : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  %5 = gr.mul %2, %huge : (tensor<2x2xf32>, tensor<f32>) -> tensor<2x2xf32>
  %6 = gr.div %5, %huge : (tensor<2x2xf32>, tensor<f32>) -> tensor<2x2xf32>
  %7 = gr.round %6 : (tensor<2x2xf32>) -> tensor<2x2xf32>
  %8 = gr.clip %7 {low = 0.0 : f64, high = 255.0 : f64} : (tensor<2x2xf32>) -> tensor<2x2xf32>
  %9 = gr.cast %8 {to = ui8} : (tensor<2x2xf32>) -> tensor<2x2xui8>
  return %4, %9 : tensor<2x2xf32>, tensor<2x2xui8>
}

// -----

// A bias that is no whole number of the sums' units, 0.25, is added as it is.
// CHECK-LABEL: @bias
// CHECK-DAG: %[[B:.*]] = gr.constant dense<3.000000e-01> : tensor<1x1x1xf32>
// CHECK: %[[C:.*]] = gr.conv {{.*}} -> tensor<1x1x2x2xi32>
// CHECK-NEXT: %[[F:.*]] = gr.cast %[[C]] {to = f32}
// CHECK-NEXT: %[[S:.*]] = gr.mul %[[F]]
// CHECK-NEXT: gr.add %[[S]], %[[B]]
func.func @bias(%x: tensor<1x2x2x2xui8>) -> tensor<1x1x2x2xf32> {
  %w = gr.constant dense<[[[[3]], [[4]]]]> : tensor<1x2x1x1xi8> : tensor<1x2x1x1xi8>
  %s = gr.constant dense<0.5> : tensor<f32> : tensor<f32>
  %bias = gr.constant dense<0.3> : tensor<1xf32> : tensor<1xf32>
  %0 = gr.cast %x {to = f32} : (tensor<1x2x2x2xui8>) -> tensor<1x2x2x2xf32>
  %1 = gr.mul %0, %s : (tensor<1x2x2x2xf32>, tensor<f32>) -> tensor<1x2x2x2xf32>
  %2 = gr.cast %w {to = f32} : (tensor<1x2x1x1xi8>) -> tensor<1x2x1x1xf32>
  %3 = gr.mul %2, %s : (tensor<1x2x1x1xf32>, tensor<f32>) -> tensor<1x2x1x1xf32>
  %4 = gr.conv %1, %3, %bias {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>}
    : (tensor<1x2x2x2xf32>, tensor<1x2x1x1xf32>, tensor<1xf32>) -> tensor<1x1x2x2xf32>
  return %4 : tensor<1x1x2x2xf32>
}
