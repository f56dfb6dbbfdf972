// A pin stays with what an operation becomes; what is pinned apart becomes no one operation.
// RUN: graphrun-opt %s --gr-simplify-graph --gr-raise-ops --gr-fold-normalization --gr-lower-quantized --split-input-file | FileCheck %s
// RUN: graphrun-opt %s --gr-simplify --split-input-file | FileCheck %s --check-prefix=TWINS
// RUN: graphrun-opt %s --gr-lower-precision --split-input-file | FileCheck %s --check-prefix=LOW

// Operations that compute the same are one, unless they are pinned apart.
// TWINS-LABEL: @twins
// TWINS-NEXT: %[[A:.*]] = gr.exp %arg0 {gr.pin = {device = "n/cpu:0", source = "a"}}
// TWINS-NEXT: %[[B:.*]] = gr.exp %arg0 {gr.pin = {device = "n/cpu:1", source = "b"}}
// TWINS-NEXT: %[[C:.*]] = gr.exp %arg0 :
// TWINS-NEXT: return %[[A]], %[[A]], %[[B]], %[[C]], %[[C]]
func.func @twins(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %0 = gr.exp %x {gr.pin = {device = "n/cpu:0", source = "a"}} : (tensor<4xf32>) -> tensor<4xf32>
  %1 = gr.exp %x {gr.pin = {device = "n/cpu:0", source = "a"}} : (tensor<4xf32>) -> tensor<4xf32>
  %2 = gr.exp %x {gr.pin = {device = "n/cpu:1", source = "b"}} : (tensor<4xf32>) -> tensor<4xf32>
  %3 = gr.exp %x : (tensor<4xf32>) -> tensor<4xf32>
  %4 = gr.exp %x : (tensor<4xf32>) -> tensor<4xf32>
  return %0, %1, %2, %3, %4 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// -----

// All that a pattern makes, also in more than one operation, and what is modified in place.
// CHECK-LABEL: @simplified
// CHECK: %[[S:.*]] = gr.mul %arg0, %arg0 {gr.pin = {device = "n/cpu:1"
// CHECK-NEXT: %[[C:.*]] = gr.mul %[[S]], %arg0 {gr.pin = {device = "n/cpu:1"
// CHECK-NEXT: gr.transpose %[[C]] {gr.pin = {device = "n/cpu:0"
// CHECK-NEXT: gr.clip %arg1 {gr.pin = {device = "n/cpu:1"
func.func @simplified(%x: tensor<2x3x4xf32>, %y: tensor<4xf32>) -> (tensor<4x3x2xf32>, tensor<4xf32>) {
  %three = gr.constant dense<3.0> : tensor<f32> : tensor<f32>
  %0 = gr.pow %x, %three {gr.pin = {device = "n/cpu:1", source = "a"}} : (tensor<2x3x4xf32>, tensor<f32>) -> tensor<2x3x4xf32>
  %1 = gr.transpose %0 {permutation = array<i64: 1, 2, 0>} : (tensor<2x3x4xf32>) -> tensor<3x4x2xf32>
  %2 = gr.transpose %1 {gr.pin = {device = "n/cpu:0", source = "b"}, permutation = array<i64: 1, 0, 2>} : (tensor<3x4x2xf32>) -> tensor<4x3x2xf32>
  %3 = gr.clip %y {gr.pin = {device = "n/cpu:1", source = "a"}, low = 0.0 : f64, high = 9.0 : f64} : (tensor<4xf32>) -> tensor<4xf32>
  %4 = gr.clip %3 {low = 1.0 : f64, high = 8.0 : f64} : (tensor<4xf32>) -> tensor<4xf32>
  return %2, %4 : tensor<4x3x2xf32>, tensor<4xf32>
}

// -----

// A part is pinned, not the operation at which the form is found.
// CHECK-LABEL: @gelu
// CHECK: gr.gelu %arg0 {gr.pin = {device = "n/cpu:1", source = "a"}}
func.func @gelu(%x: tensor<4xf32>) -> tensor<4xf32> {
  %half = gr.constant dense<0.5> : tensor<f32> : tensor<f32>
  %one = gr.constant dense<1.0> : tensor<f32> : tensor<f32>
  %root = gr.constant dense<1.41421354> : tensor<f32> : tensor<f32>
  %0 = gr.div %x, %root : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %1 = gr.erf %0 {gr.pin = {device = "n/cpu:1", source = "a"}} : (tensor<4xf32>) -> tensor<4xf32>
  %2 = gr.add %1, %one : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %3 = gr.mul %x, %2 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %4 = gr.mul %3, %half : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  return %4 : tensor<4xf32>
}

// -----

// CHECK-LABEL: @gelu_apart
// CHECK: gr.erf {{.*}}gr.pin = {device = "n/cpu:1"
// CHECK: gr.mul {{.*}}gr.pin = {device = "n/cpu:0"
func.func @gelu_apart(%x: tensor<4xf32>) -> tensor<4xf32> {
  %half = gr.constant dense<0.5> : tensor<f32> : tensor<f32>
  %one = gr.constant dense<1.0> : tensor<f32> : tensor<f32>
  %root = gr.constant dense<1.41421354> : tensor<f32> : tensor<f32>
  %0 = gr.div %x, %root : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %1 = gr.erf %0 {gr.pin = {device = "n/cpu:1", source = "a"}} : (tensor<4xf32>) -> tensor<4xf32>
  %2 = gr.add %1, %one : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %3 = gr.mul %x, %2 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %4 = gr.mul %3, %half {gr.pin = {device = "n/cpu:0", source = "b"}} : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  return %4 : tensor<4xf32>
}

// -----

// CHECK-LABEL: @wished_apart
// CHECK-NOT: gr.swish
func.func @wished_apart(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = gr.sigmoid %x : (tensor<4xf32>) -> tensor<4xf32> loc(fused<[["pair", "gpu0", ""]]>["a"])
  %1 = gr.mul %0, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> loc(fused<[["pair", "gpu1", ""]]>["b"])
  return %1 : tensor<4xf32>
}

// -----

// CHECK-LABEL: @forms
// CHECK: gr.swish %arg0 {gr.pin = {device = "n/cpu:1"
// CHECK: gr.softmax %arg0 {axis = 1 : i64, gr.pin = {device = "n/cpu:0"
// CHECK: %[[N:.*]] = gr.layer_norm %arg0, %arg1, %arg1 {{.*}}gr.pin = {device = "n/cpu:1"
// CHECK: gr.hard_swish %arg0 {gr.pin = {device = "n/cpu:1"
func.func @forms(%x: tensor<2x4xf32>, %p: tensor<4xf32>) -> (tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>) {
  %epsilon = gr.constant dense<1.0e-6> : tensor<f32> : tensor<f32>
  %0 = gr.sigmoid %x {gr.pin = {device = "n/cpu:1", source = "a"}} : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %1 = gr.mul %0, %x : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %2 = gr.reduce %x {gr.pin = {device = "n/cpu:0", source = "b"}, kind = "max", axes = array<i64: 1>} : (tensor<2x4xf32>) -> tensor<2x1xf32>
  %3 = gr.sub %x, %2 : (tensor<2x4xf32>, tensor<2x1xf32>) -> tensor<2x4xf32>
  %4 = gr.exp %3 : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %5 = gr.reduce %4 {kind = "sum", axes = array<i64: 1>} : (tensor<2x4xf32>) -> tensor<2x1xf32>
  %6 = gr.div %4, %5 : (tensor<2x4xf32>, tensor<2x1xf32>) -> tensor<2x4xf32>
  %7 = gr.reduce %x {kind = "mean", axes = array<i64: 1>} : (tensor<2x4xf32>) -> tensor<2x1xf32>
  %8 = gr.sub %x, %7 : (tensor<2x4xf32>, tensor<2x1xf32>) -> tensor<2x4xf32>
  %9 = gr.mul %8, %8 : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %10 = gr.reduce %9 {kind = "mean", axes = array<i64: 1>} : (tensor<2x4xf32>) -> tensor<2x1xf32>
  %11 = gr.add %10, %epsilon : (tensor<2x1xf32>, tensor<f32>) -> tensor<2x1xf32>
  %12 = gr.sqrt %11 {gr.pin = {device = "n/cpu:1", source = "a"}} : (tensor<2x1xf32>) -> tensor<2x1xf32>
  %13 = gr.div %8, %12 : (tensor<2x4xf32>, tensor<2x1xf32>) -> tensor<2x4xf32>
  %14 = gr.mul %13, %p : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  %15 = gr.add %14, %p : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  %16 = gr.hard_sigmoid %x {gr.pin = {device = "n/cpu:1", source = "a"}, alpha = 0.1666666716337204 : f64, beta = 0.5 : f64} : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %17 = gr.mul %x, %16 : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  return %1, %6, %15, %17 : tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>
}

// -----

// CHECK-LABEL: @attention
// CHECK: gr.attention {{.*}}gr.pin = {device = "n/cpu:1"
// CHECK: gr.softmax
func.func @attention(%q: tensor<1x1x2x2xf32>) -> (tensor<1x1x2x2xf32>, tensor<1x1x2x2xf32>) {
  %0 = gr.matmul %q, %q {gr.pin = {device = "n/cpu:1", source = "a"}, transpose_rhs = true} : (tensor<1x1x2x2xf32>, tensor<1x1x2x2xf32>) -> tensor<1x1x2x2xf32>
  %1 = gr.softmax %0 : (tensor<1x1x2x2xf32>) -> tensor<1x1x2x2xf32>
  %2 = gr.matmul %1, %q : (tensor<1x1x2x2xf32>, tensor<1x1x2x2xf32>) -> tensor<1x1x2x2xf32>
  %3 = gr.matmul %q, %q {gr.pin = {device = "n/cpu:1", source = "a"}, transpose_rhs = true} : (tensor<1x1x2x2xf32>, tensor<1x1x2x2xf32>) -> tensor<1x1x2x2xf32>
  %4 = gr.softmax %3 {gr.pin = {device = "n/cpu:0", source = "b"}} : (tensor<1x1x2x2xf32>) -> tensor<1x1x2x2xf32>
  %5 = gr.matmul %4, %q : (tensor<1x1x2x2xf32>, tensor<1x1x2x2xf32>) -> tensor<1x1x2x2xf32>
  return %2, %5 : tensor<1x1x2x2xf32>, tensor<1x1x2x2xf32>
}

// -----

// A factor goes into a product as far as both may run on one device.
// CHECK-LABEL: @folded
// CHECK: %[[M:.*]] = gr.matmul {{.*}}gr.pin = {device = "n/cpu:1"
// CHECK-NEXT: gr.mul %[[M]], {{.*}}gr.pin = {device = "n/cpu:0"
// CHECK: gr.conv {{.*}}gr.pin = {device = "n/cpu:1"
func.func @folded(%x: tensor<2x1xf32>, %y: tensor<1x1x2x2xf32>) -> (tensor<2x1xf32>, tensor<1x1x2x2xf32>) {
  %w = gr.constant dense<2.0> : tensor<1x1xf32> : tensor<1x1xf32>
  %f = gr.constant dense<2.0> : tensor<1x1x1x1xf32> : tensor<1x1x1x1xf32>
  %k = gr.constant dense<3.0> : tensor<f32> : tensor<f32>
  %0 = gr.matmul %x, %w : (tensor<2x1xf32>, tensor<1x1xf32>) -> tensor<2x1xf32>
  %1 = gr.mul %0, %k {gr.pin = {device = "n/cpu:1", source = "a"}} : (tensor<2x1xf32>, tensor<f32>) -> tensor<2x1xf32>
  %2 = gr.mul %1, %k {gr.pin = {device = "n/cpu:0", source = "b"}} : (tensor<2x1xf32>, tensor<f32>) -> tensor<2x1xf32>
  %3 = gr.conv %y, %f {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>}
    : (tensor<1x1x2x2xf32>, tensor<1x1x1x1xf32>) -> tensor<1x1x2x2xf32>
  %4 = gr.mul %3, %k {gr.pin = {device = "n/cpu:1", source = "a"}} : (tensor<1x1x2x2xf32>, tensor<f32>) -> tensor<1x1x2x2xf32>
  return %2, %4 : tensor<2x1xf32>, tensor<1x1x2x2xf32>
}

// -----

// A product of bytes, and casts around products in bf16.
// CHECK-LABEL: @quantized
// CHECK: gr.matmul {{.*}}gr.pin = {device = "n/cpu:1"{{.*}}xi32>
// CHECK: gr.mul {{.*}}gr.pin = {device = "n/cpu:1"
// LOW-LABEL: @quantized
// LOW: gr.matmul {{.*}}gr.pin = {device = "n/cpu:1"{{.*}}xbf16>
func.func @quantized(%x: tensor<2x1xui8>) -> tensor<2x2xf32> {
  %w = gr.constant dense<[[2, 3]]> : tensor<1x2xi8> : tensor<1x2xi8>
  %s = gr.constant dense<0.5> : tensor<f32> : tensor<f32>
  %0 = gr.cast %x {to = f32} : (tensor<2x1xui8>) -> tensor<2x1xf32>
  %1 = gr.mul %0, %s : (tensor<2x1xf32>, tensor<f32>) -> tensor<2x1xf32>
  %2 = gr.cast %w {to = f32} : (tensor<1x2xi8>) -> tensor<1x2xf32>
  %3 = gr.mul %2, %s : (tensor<1x2xf32>, tensor<f32>) -> tensor<1x2xf32>
  %4 = gr.matmul %1, %3 {gr.pin = {device = "n/cpu:1", source = "a"}} : (tensor<2x1xf32>, tensor<1x2xf32>) -> tensor<2x2xf32>
  return %4 : tensor<2x2xf32>
}

// -----

// What is folded needs no device.
// CHECK-LABEL: @constant
// CHECK-NOT: gr.pin
// CHECK: return
func.func @constant() -> tensor<f32> {
  %0 = gr.constant dense<3.0> : tensor<f32> : tensor<f32>
  %1 = gr.exp %0 {gr.pin = {device = "n/cpu:1", source = "a"}} : (tensor<f32>) -> tensor<f32>
  return %1 : tensor<f32>
}
