// A factor goes into weights only where they stay numbers of full precision: what overflows or is
// flushed there may be brought back by what comes later.
// RUN: graphrun-opt %s --gr-fold-normalization --split-input-file | FileCheck %s

// 300 * 300 is infinite in f16; what comes behind the relu makes 360 of it.
// CHECK-LABEL: @overflow
// CHECK-DAG: gr.constant dense<3.000000e+02> : tensor<1x1x1x1xf16>
// CHECK: %[[C:.*]] = gr.conv
// CHECK-NEXT: %[[M:.*]] = gr.mul %[[C]]
// CHECK-NEXT: gr.relu %[[M]]
func.func @overflow(%x: tensor<1x1x2x2xf16>) -> tensor<1x1x2x2xf16> {
  %w = gr.constant dense<300.0> : tensor<1x1x1x1xf16> : tensor<1x1x1x1xf16>
  %k = gr.constant dense<300.0> : tensor<f16> : tensor<f16>
  %small = gr.constant dense<0.004> : tensor<f16> : tensor<f16>
  %0 = gr.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>}
    : (tensor<1x1x2x2xf16>, tensor<1x1x1x1xf16>) -> tensor<1x1x2x2xf16>
  %1 = gr.mul %0, %k : (tensor<1x1x2x2xf16>, tensor<f16>) -> tensor<1x1x2x2xf16>
  %2 = gr.relu %1 : (tensor<1x1x2x2xf16>) -> tensor<1x1x2x2xf16>
  %3 = gr.mul %2, %small : (tensor<1x1x2x2xf16>, tensor<f16>) -> tensor<1x1x2x2xf16>
  return %3 : tensor<1x1x2x2xf16>
}

// -----

// All factors together stay in range: they are multiplied before they are rounded.
// CHECK-LABEL: @together
// CHECK-DAG: gr.constant dense<3.602500e+02> : tensor<1x1x1x1xf16>
// CHECK: gr.conv
// CHECK-NEXT: return
func.func @together(%x: tensor<1x1x2x2xf16>) -> tensor<1x1x2x2xf16> {
  %w = gr.constant dense<300.0> : tensor<1x1x1x1xf16> : tensor<1x1x1x1xf16>
  %k = gr.constant dense<300.0> : tensor<f16> : tensor<f16>
  %small = gr.constant dense<0.004> : tensor<f16> : tensor<f16>
  %0 = gr.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>}
    : (tensor<1x1x2x2xf16>, tensor<1x1x1x1xf16>) -> tensor<1x1x2x2xf16>
  %1 = gr.mul %0, %k : (tensor<1x1x2x2xf16>, tensor<f16>) -> tensor<1x1x2x2xf16>
  %2 = gr.mul %1, %small : (tensor<1x1x2x2xf16>, tensor<f16>) -> tensor<1x1x2x2xf16>
  return %2 : tensor<1x1x2x2xf16>
}

// -----

// 1e-30 * 1e-30 is 0 in f32, and 1e-20 * 1e-20 a denormal with few digits.
// CHECK-LABEL: @flushed
// CHECK: %[[A:.*]] = gr.matmul %arg0
// CHECK-NEXT: gr.mul %[[A]]
// CHECK: %[[B:.*]] = gr.matmul %arg0
// CHECK-NEXT: gr.mul %[[B]]
func.func @flushed(%x: tensor<2x1xf32>) -> (tensor<2x1xf32>, tensor<2x1xf32>) {
  %w = gr.constant dense<1.0e-30> : tensor<1x1xf32> : tensor<1x1xf32>
  %k = gr.constant dense<1.0e-30> : tensor<f32> : tensor<f32>
  %v = gr.constant dense<1.0e-20> : tensor<1x1xf32> : tensor<1x1xf32>
  %l = gr.constant dense<1.0e-20> : tensor<f32> : tensor<f32>
  %0 = gr.matmul %x, %w : (tensor<2x1xf32>, tensor<1x1xf32>) -> tensor<2x1xf32>
  %1 = gr.mul %0, %k : (tensor<2x1xf32>, tensor<f32>) -> tensor<2x1xf32>
  %2 = gr.matmul %x, %v : (tensor<2x1xf32>, tensor<1x1xf32>) -> tensor<2x1xf32>
  %3 = gr.mul %2, %l : (tensor<2x1xf32>, tensor<f32>) -> tensor<2x1xf32>
  return %1, %3 : tensor<2x1xf32>, tensor<2x1xf32>
}

// -----

// Zeros, powers of two among the denormals, and what a factor of 1 leaves as it is stay fine.
// CHECK-LABEL: @exact
// CHECK-DAG: gr.constant dense<{{\[\[}}0.000000e+00, 0.000000e+00, 7.629390e-06], [{{.*}}]]>
// CHECK: gr.matmul
// CHECK-NEXT: return
func.func @exact(%x: tensor<2x2xf16>) -> tensor<2x3xf16> {
  %w = gr.constant dense<[[0.0, 7.0, 6.103515625e-05], [1.0, 0.0, 1.0]]> : tensor<2x3xf16> : tensor<2x3xf16>
  %k = gr.constant dense<[1.0, 0.0, 0.125]> : tensor<3xf16> : tensor<3xf16>
  %0 = gr.matmul %x, %w : (tensor<2x2xf16>, tensor<2x3xf16>) -> tensor<2x3xf16>
  %1 = gr.mul %0, %k : (tensor<2x3xf16>, tensor<3xf16>) -> tensor<2x3xf16>
  return %1 : tensor<2x3xf16>
}

// -----

// Nor may a bias or a shift overflow: 60000 * 2 and 60000 + 60000 are infinite in f16.
// CHECK-LABEL: @shifts
// CHECK: %[[A:.*]] = gr.conv
// CHECK-NEXT: gr.mul %[[A]]
// CHECK: %[[B:.*]] = gr.matmul
// CHECK-NEXT: %[[C:.*]] = gr.add %[[B]]
// CHECK-NEXT: gr.add %[[C]]
func.func @shifts(%x: tensor<1x1x2x2xf16>, %y: tensor<2x1xf16>) -> (tensor<1x1x2x2xf16>, tensor<2x1xf16>) {
  %w = gr.constant dense<1.0> : tensor<1x1x1x1xf16> : tensor<1x1x1x1xf16>
  %m = gr.constant dense<1.0> : tensor<1x1xf16> : tensor<1x1xf16>
  %b = gr.constant dense<60000.0> : tensor<1xf16> : tensor<1xf16>
  %k = gr.constant dense<2.0> : tensor<f16> : tensor<f16>
  %0 = gr.conv %x, %w, %b {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>}
    : (tensor<1x1x2x2xf16>, tensor<1x1x1x1xf16>, tensor<1xf16>) -> tensor<1x1x2x2xf16>
  %1 = gr.mul %0, %k : (tensor<1x1x2x2xf16>, tensor<f16>) -> tensor<1x1x2x2xf16>
  %2 = gr.matmul %y, %m : (tensor<2x1xf16>, tensor<1x1xf16>) -> tensor<2x1xf16>
  %3 = gr.add %2, %b : (tensor<2x1xf16>, tensor<1xf16>) -> tensor<2x1xf16>
  %4 = gr.add %3, %b : (tensor<2x1xf16>, tensor<1xf16>) -> tensor<2x1xf16>
  return %1, %4 : tensor<1x1x2x2xf16>, tensor<2x1xf16>
}

// -----

// Normalisations whose scales, 1e36 / sqrt(1e-10) and 1e-36 / sqrt(1e30), are infinite and 0 in f32.
// CHECK-LABEL: @batch_norm
// CHECK-COUNT-2: gr.batch_norm
func.func @batch_norm(%x: tensor<1x1x2x2xf32>, %y: tensor<1x1x2x2xf32>) -> (tensor<1x1x2x2xf32>, tensor<1x1x2x2xf32>) {
  %scale = gr.constant dense<1.0e+36> : tensor<1xf32> : tensor<1xf32>
  %none = gr.constant dense<0.0> : tensor<1xf32> : tensor<1xf32>
  %0 = gr.batch_norm %x, %scale, %none, %none, %none {epsilon = 1.0e-10 : f64}
    : (tensor<1x1x2x2xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<1x1x2x2xf32>
  %tiny = gr.constant dense<1.0e-36> : tensor<1xf32> : tensor<1xf32>
  %huge = gr.constant dense<1.0e+30> : tensor<1xf32> : tensor<1xf32>
  %1 = gr.batch_norm %y, %tiny, %none, %none, %huge {epsilon = 1.0e-5 : f64}
    : (tensor<1x1x2x2xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<1x1x2x2xf32>
  return %0, %1 : tensor<1x1x2x2xf32>, tensor<1x1x2x2xf32>
}

// -----

// 16 bits are normalised in f32: 40000 * 2 is infinite in f16, and 40000 * 2 - 40000 is not; the scale 1e8 neither.
// CHECK-LABEL: @batch_norm_half
// CHECK-DAG: %[[SCALE:.*]] = gr.constant dense<2.000000e+00> : tensor<1x1x1xf32>
// CHECK-DAG: %[[SHIFT:.*]] = gr.constant dense<-4.000000e+04> : tensor<1x1x1xf32>
// CHECK: %[[X:.*]] = gr.cast %{{.*}} {to = f32}
// CHECK-NEXT: %[[M:.*]] = gr.mul %[[X]], %[[SCALE]]
// CHECK-NEXT: %[[A:.*]] = gr.add %[[M]], %[[SHIFT]]
// CHECK-NEXT: gr.cast %[[A]] {to = f16}
// CHECK: gr.mul {{.*}}tensor<1x1x2x2xf32>
// CHECK-NOT: gr.batch_norm
func.func @batch_norm_half(%x: tensor<1x1x2x2xf16>) -> (tensor<1x1x2x2xf16>, tensor<1x1x2x2xf16>) {
  %scale = gr.constant dense<2.0> : tensor<1xf16> : tensor<1xf16>
  %bias = gr.constant dense<-40000.0> : tensor<1xf16> : tensor<1xf16>
  %zero = gr.constant dense<0.0> : tensor<1xf16> : tensor<1xf16>
  %one = gr.constant dense<1.0> : tensor<1xf16> : tensor<1xf16>
  %0 = gr.batch_norm %x, %scale, %bias, %zero, %one {epsilon = 0.0 : f64}
    : (tensor<1x1x2x2xf16>, tensor<1xf16>, tensor<1xf16>, tensor<1xf16>, tensor<1xf16>) -> tensor<1x1x2x2xf16>
  %large = gr.constant dense<1000.0> : tensor<1xf16> : tensor<1xf16>
  %1 = gr.batch_norm %x, %large, %zero, %zero, %zero {epsilon = 1.0e-10 : f64}
    : (tensor<1x1x2x2xf16>, tensor<1xf16>, tensor<1xf16>, tensor<1xf16>, tensor<1xf16>) -> tensor<1x1x2x2xf16>
  return %0, %1 : tensor<1x1x2x2xf16>, tensor<1x1x2x2xf16>
}
