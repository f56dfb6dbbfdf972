// RUN: graphrun-opt %s --gr-lower-quantized --split-input-file | FileCheck %s
// RUN: graphrun-opt %s --gr-lower-quantized --gr-form-groups --split-input-file | FileCheck %s --check-prefix=GROUP
// RUN: graphrun-opt %s --gr-lower-quantized=bytes=false --split-input-file | FileCheck %s --check-prefix=FLOAT

// A convolution of dequantised bytes: its padding holds the zero point, the bias and what the zero point
// adds are in units of the sums, and the scales are one a channel. The quantisation behind it joins.
// CHECK-LABEL: @convolution
// CHECK-DAG: %[[W:.*]] = gr.constant {{.*}} tensor<2x1x1x1xi8>
// CHECK-DAG: %[[O:.*]] = gr.constant {{.*}}[-30]{{.*}}[92]{{.*}} tensor<2x1x1xi32>
// CHECK-DAG: %[[S:.*]] = gr.constant {{.*}}1.000000e+00{{.*}}2.000000e+00{{.*}} tensor<2x1x1xf32>
// CHECK: %[[P:.*]] = gr.pad %arg0, {{.*}} -> tensor<1x1x4x4xui8>
// CHECK: %[[C:.*]] = gr.conv %[[P]], %[[W]] {{.*}}pads = array<i64: 0, 0, 0, 0>{{.*}} -> tensor<1x2x4x4xi32>
// CHECK: %[[A:.*]] = gr.add %[[C]], %[[O]]
// CHECK: %[[F:.*]] = gr.cast %[[A]] {to = f32}
// CHECK: gr.mul %[[F]], %[[S]]
// Without products of bytes its weights are floats, computed once.
// FLOAT-LABEL: @convolution
// FLOAT: gr.constant {{.*}}6.000000e+00{{.*}}-1.600000e+01{{.*}} tensor<2x1x1x1xf32>
// FLOAT-NOT: xi32
// GROUP-LABEL: @convolution
// GROUP: gr.group({{.*}}) attributes {kind = "conv"} {
// GROUP: gr.conv
// GROUP-NEXT: gr.add
// GROUP-NEXT: gr.cast
// GROUP-NEXT: gr.mul
// GROUP-NEXT: gr.div
// GROUP-NEXT: gr.round
// GROUP-NEXT: gr.add
// GROUP-NEXT: gr.clip
// GROUP-NEXT: gr.cast {{.*}} {to = ui8}
// GROUP-NEXT: gr.yield
func.func @convolution(%x: tensor<1x1x2x2xui8>) -> tensor<1x2x4x4xui8> {
  %w = gr.constant dense<[[[[3]]], [[[-4]]]]> : tensor<2x1x1x1xi8> : tensor<2x1x1x1xi8>
  %sw = gr.constant dense<[[[[2.0]]], [[[4.0]]]]> : tensor<2x1x1x1xf32> : tensor<2x1x1x1xf32>
  %bias = gr.constant dense<[0.0, 104.0]> : tensor<2xf32> : tensor<2xf32>
  %sx = gr.constant dense<0.5> : tensor<f32> : tensor<f32>
  %zx = gr.constant dense<10.0> : tensor<f32> : tensor<f32>
  %0 = gr.cast %x {to = f32} : (tensor<1x1x2x2xui8>) -> tensor<1x1x2x2xf32>
  %1 = gr.sub %0, %zx : (tensor<1x1x2x2xf32>, tensor<f32>) -> tensor<1x1x2x2xf32>
  %2 = gr.mul %1, %sx : (tensor<1x1x2x2xf32>, tensor<f32>) -> tensor<1x1x2x2xf32>
  %3 = gr.cast %w {to = f32} : (tensor<2x1x1x1xi8>) -> tensor<2x1x1x1xf32>
  %4 = gr.mul %3, %sw : (tensor<2x1x1x1xf32>, tensor<2x1x1x1xf32>) -> tensor<2x1x1x1xf32>
  %5 = gr.conv %2, %4, %bias {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>}
    : (tensor<1x1x2x2xf32>, tensor<2x1x1x1xf32>, tensor<2xf32>) -> tensor<1x2x4x4xf32>
  %6 = gr.div %5, %zx : (tensor<1x2x4x4xf32>, tensor<f32>) -> tensor<1x2x4x4xf32>
  %7 = gr.round %6 : (tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32>
  %8 = gr.add %7, %zx : (tensor<1x2x4x4xf32>, tensor<f32>) -> tensor<1x2x4x4xf32>
  %9 = gr.clip %8 {low = 0.0 : f64, high = 255.0 : f64} : (tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32>
  %10 = gr.cast %9 {to = ui8} : (tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xui8>
  return %10 : tensor<1x2x4x4xui8>
}

// -----

// Floats in which elements are only moved are skipped, where the bytes have one scale and zero point.
// CHECK-LABEL: @moved
// CHECK-NEXT: %[[Y:.*]] = gr.transpose %arg0 {{.*}} : (tensor<2x3xui8>) -> tensor<3x2xui8>
// CHECK-NEXT: return %[[Y]]
func.func @moved(%x: tensor<2x3xui8>) -> tensor<3x2xui8> {
  %s = gr.constant dense<0.5> : tensor<f32> : tensor<f32>
  %0 = gr.cast %x {to = f32} : (tensor<2x3xui8>) -> tensor<2x3xf32>
  %1 = gr.mul %0, %s : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
  %2 = gr.transpose %1 {permutation = array<i64: 1, 0>} : (tensor<2x3xf32>) -> tensor<3x2xf32>
  %3 = gr.div %2, %s : (tensor<3x2xf32>, tensor<f32>) -> tensor<3x2xf32>
  %4 = gr.round %3 : (tensor<3x2xf32>) -> tensor<3x2xf32>
  %5 = gr.clip %4 {low = 0.0 : f64, high = 255.0 : f64} : (tensor<3x2xf32>) -> tensor<3x2xf32>
  %6 = gr.cast %5 {to = ui8} : (tensor<3x2xf32>) -> tensor<3x2xui8>
  return %6 : tensor<3x2xui8>
}

// -----

// Another scale: the floats are needed.
// CHECK-LABEL: @rescaled
// CHECK: gr.div
func.func @rescaled(%x: tensor<2xui8>) -> tensor<2xui8> {
  %s = gr.constant dense<0.5> : tensor<f32> : tensor<f32>
  %t = gr.constant dense<0.25> : tensor<f32> : tensor<f32>
  %0 = gr.cast %x {to = f32} : (tensor<2xui8>) -> tensor<2xf32>
  %1 = gr.mul %0, %s : (tensor<2xf32>, tensor<f32>) -> tensor<2xf32>
  %3 = gr.div %1, %t : (tensor<2xf32>, tensor<f32>) -> tensor<2xf32>
  %4 = gr.round %3 : (tensor<2xf32>) -> tensor<2xf32>
  %5 = gr.clip %4 {low = 0.0 : f64, high = 255.0 : f64} : (tensor<2xf32>) -> tensor<2xf32>
  %6 = gr.cast %5 {to = ui8} : (tensor<2xf32>) -> tensor<2xui8>
  return %6 : tensor<2xui8>
}

// -----

// Activations of i8 become u8, 128 higher; so a product takes them.
// CHECK-LABEL: @signed
// CHECK: gr.constant dense<[-1024, -1536]> : tensor<2xi32>
// CHECK-NOT: {to = i8}
// CHECK: gr.clip %{{.*}} {high = 2.550000e+02 : f64, low = 0.000000e+00 : f64}
// CHECK: %[[Q:.*]] = gr.cast {{.*}} {to = ui8}
// CHECK: gr.matmul %[[Q]], {{.*}} : (tensor<1x2xui8>, tensor<2x2xi8>) -> tensor<1x2xi32>
func.func @signed(%x: tensor<1x2xf32>) -> tensor<1x2xf32> {
  %w = gr.constant dense<[[3, 5], [5, 7]]> : tensor<2x2xi8> : tensor<2x2xi8>
  %s = gr.constant dense<0.5> : tensor<f32> : tensor<f32>
  %0 = gr.div %x, %s : (tensor<1x2xf32>, tensor<f32>) -> tensor<1x2xf32>
  %1 = gr.round %0 : (tensor<1x2xf32>) -> tensor<1x2xf32>
  %2 = gr.clip %1 {low = -128.0 : f64, high = 127.0 : f64} : (tensor<1x2xf32>) -> tensor<1x2xf32>
  %3 = gr.cast %2 {to = i8} : (tensor<1x2xf32>) -> tensor<1x2xi8>
  %4 = gr.cast %3 {to = f32} : (tensor<1x2xi8>) -> tensor<1x2xf32>
  %5 = gr.mul %4, %s : (tensor<1x2xf32>, tensor<f32>) -> tensor<1x2xf32>
  %6 = gr.cast %w {to = f32} : (tensor<2x2xi8>) -> tensor<2x2xf32>
  %7 = gr.mul %6, %s : (tensor<2x2xf32>, tensor<f32>) -> tensor<2x2xf32>
  %8 = gr.matmul %5, %7 : (tensor<1x2xf32>, tensor<2x2xf32>) -> tensor<1x2xf32>
  return %8 : tensor<1x2xf32>
}

// -----

// A sum with other bytes, quantised, is part of the later convolution's group: it reads the bytes. Floats
// that stay floats are made of bytes behind it.
// GROUP-LABEL: @residual
// GROUP: %[[A:.*]] = gr.group({{.*}}) attributes {kind = "conv"}
// GROUP: %[[B:.*]] = gr.group(%[[A]], %{{.*}}, %arg1) attributes {kind = "conv"} {
// GROUP-NEXT: ^bb0(%{{.*}}: tensor<1x1x2x2xui8>, %{{.*}}: tensor<1x1x1x1xi8>, %[[R:.*]]: tensor<1x1x2x2xui8>):
// GROUP: gr.cast {{.*}} {to = ui8}
// GROUP-NEXT: gr.cast {{.*}} {to = f32}
// GROUP-NEXT: gr.mul
// GROUP-NEXT: %[[F:.*]] = gr.cast %[[R]] {to = f32}
// GROUP-NEXT: %[[S:.*]] = gr.sub %[[F]]
// GROUP-NEXT: %[[M:.*]] = gr.mul %[[S]]
// GROUP-NEXT: gr.add %{{.*}}, %[[M]]
// GROUP-NEXT: gr.div
// GROUP-NEXT: gr.round
// GROUP-NEXT: gr.clip
// GROUP-NEXT: %[[Y:.*]] = gr.cast {{.*}} {to = ui8}
// GROUP-NEXT: gr.yield %[[Y]]
// GROUP: gr.group(%[[B]]) attributes {kind = "map"}
func.func @residual(%x: tensor<1x1x2x2xui8>, %r: tensor<1x1x2x2xui8>) -> tensor<1x1x2x2xf32> {
  %w = gr.constant dense<3> : tensor<1x1x1x1xi8> : tensor<1x1x1x1xi8>
  %s = gr.constant dense<0.5> : tensor<f32> : tensor<f32>
  %z = gr.constant dense<10.0> : tensor<f32> : tensor<f32>
  %0 = gr.cast %x {to = f32} : (tensor<1x1x2x2xui8>) -> tensor<1x1x2x2xf32>
  %1 = gr.mul %0, %s : (tensor<1x1x2x2xf32>, tensor<f32>) -> tensor<1x1x2x2xf32>
  %2 = gr.cast %w {to = f32} : (tensor<1x1x1x1xi8>) -> tensor<1x1x1x1xf32>
  %3 = gr.mul %2, %s : (tensor<1x1x1x1xf32>, tensor<f32>) -> tensor<1x1x1x1xf32>
  %4 = gr.conv %1, %3 {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>}
    : (tensor<1x1x2x2xf32>, tensor<1x1x1x1xf32>) -> tensor<1x1x2x2xf32>
  %5 = gr.div %4, %s : (tensor<1x1x2x2xf32>, tensor<f32>) -> tensor<1x1x2x2xf32>
  %6 = gr.round %5 : (tensor<1x1x2x2xf32>) -> tensor<1x1x2x2xf32>
  %7 = gr.clip %6 {low = 0.0 : f64, high = 255.0 : f64} : (tensor<1x1x2x2xf32>) -> tensor<1x1x2x2xf32>
  %8 = gr.cast %7 {to = ui8} : (tensor<1x1x2x2xf32>) -> tensor<1x1x2x2xui8>
  %9 = gr.cast %8 {to = f32} : (tensor<1x1x2x2xui8>) -> tensor<1x1x2x2xf32>
  %10 = gr.mul %9, %s : (tensor<1x1x2x2xf32>, tensor<f32>) -> tensor<1x1x2x2xf32>
  %11 = gr.conv %10, %3 {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>}
    : (tensor<1x1x2x2xf32>, tensor<1x1x1x1xf32>) -> tensor<1x1x2x2xf32>
  %12 = gr.div %11, %s : (tensor<1x1x2x2xf32>, tensor<f32>) -> tensor<1x1x2x2xf32>
  %13 = gr.round %12 : (tensor<1x1x2x2xf32>) -> tensor<1x1x2x2xf32>
  %14 = gr.clip %13 {low = 0.0 : f64, high = 255.0 : f64} : (tensor<1x1x2x2xf32>) -> tensor<1x1x2x2xf32>
  %15 = gr.cast %14 {to = ui8} : (tensor<1x1x2x2xf32>) -> tensor<1x1x2x2xui8>
  %16 = gr.cast %15 {to = f32} : (tensor<1x1x2x2xui8>) -> tensor<1x1x2x2xf32>
  %17 = gr.mul %16, %s : (tensor<1x1x2x2xf32>, tensor<f32>) -> tensor<1x1x2x2xf32>
  %18 = gr.cast %r {to = f32} : (tensor<1x1x2x2xui8>) -> tensor<1x1x2x2xf32>
  %19 = gr.sub %18, %z : (tensor<1x1x2x2xf32>, tensor<f32>) -> tensor<1x1x2x2xf32>
  %20 = gr.mul %19, %s : (tensor<1x1x2x2xf32>, tensor<f32>) -> tensor<1x1x2x2xf32>
  %21 = gr.add %17, %20 : (tensor<1x1x2x2xf32>, tensor<1x1x2x2xf32>) -> tensor<1x1x2x2xf32>
  %22 = gr.div %21, %s : (tensor<1x1x2x2xf32>, tensor<f32>) -> tensor<1x1x2x2xf32>
  %23 = gr.round %22 : (tensor<1x1x2x2xf32>) -> tensor<1x1x2x2xf32>
  %24 = gr.clip %23 {low = 0.0 : f64, high = 255.0 : f64} : (tensor<1x1x2x2xf32>) -> tensor<1x1x2x2xf32>
  %25 = gr.cast %24 {to = ui8} : (tensor<1x1x2x2xf32>) -> tensor<1x1x2x2xui8>
  %26 = gr.cast %25 {to = f32} : (tensor<1x1x2x2xui8>) -> tensor<1x1x2x2xf32>
  %27 = gr.mul %26, %s : (tensor<1x1x2x2xf32>, tensor<f32>) -> tensor<1x1x2x2xf32>
  return %27 : tensor<1x1x2x2xf32>
}
