// How far the constants of a form may be off: by their rounding to the element type, not more.
// RUN: graphrun-opt %s --gr-simplify-graph --gr-raise-ops --split-input-file | FileCheck %s

// 3.0000002 and 1.9999999 are the neighbours of 3 and 2 in f32.
// CHECK-LABEL: @powers
// CHECK: gr.mul %arg0, %arg0
// CHECK-NEXT: gr.mul
// CHECK-NEXT: gr.pow %arg0
// CHECK-NEXT: gr.pow %arg0
// CHECK-NEXT: return
func.func @powers(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %three = gr.constant dense<3.0> : tensor<f32> : tensor<f32>
  %above = gr.constant dense<3.0000002> : tensor<f32> : tensor<f32>
  %below = gr.constant dense<1.9999999> : tensor<f32> : tensor<f32>
  %0 = gr.pow %x, %three : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %1 = gr.pow %x, %above : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %2 = gr.pow %x, %below : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  return %0, %1, %2 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// -----

// The f32 nearest to sqrt 2, and its neighbour.
// CHECK-LABEL: @gelu
// CHECK: gr.gelu %arg0
// CHECK: gr.erf
// CHECK-NOT: gr.gelu
func.func @gelu(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %half = gr.constant dense<0.5> : tensor<f32> : tensor<f32>
  %one = gr.constant dense<1.0> : tensor<f32> : tensor<f32>
  %root = gr.constant dense<1.41421354> : tensor<f32> : tensor<f32>
  %next = gr.constant dense<1.41421366> : tensor<f32> : tensor<f32>
  %0 = gr.div %x, %root : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %1 = gr.erf %0 : (tensor<4xf32>) -> tensor<4xf32>
  %2 = gr.add %1, %one : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %3 = gr.mul %x, %2 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %4 = gr.mul %3, %half : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %5 = gr.div %x, %next : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %6 = gr.erf %5 : (tensor<4xf32>) -> tensor<4xf32>
  %7 = gr.add %6, %one : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %8 = gr.mul %x, %7 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %9 = gr.mul %8, %half : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  return %4, %9 : tensor<4xf32>, tensor<4xf32>
}

// -----

// 0.044715 of f32 in f64 is another number there.
// CHECK-LABEL: @gelu_f64
// CHECK-NOT: gr.gelu
func.func @gelu_f64(%x: tensor<4xf64>) -> tensor<4xf64> {
  %half = gr.constant dense<0.5> : tensor<f64> : tensor<f64>
  %one = gr.constant dense<1.0> : tensor<f64> : tensor<f64>
  %cubic = gr.constant dense<0.044714998453855515> : tensor<f64> : tensor<f64>
  %root = gr.constant dense<0.7978845608028654> : tensor<f64> : tensor<f64>
  %0 = gr.mul %x, %x : (tensor<4xf64>, tensor<4xf64>) -> tensor<4xf64>
  %1 = gr.mul %0, %x : (tensor<4xf64>, tensor<4xf64>) -> tensor<4xf64>
  %2 = gr.mul %1, %cubic : (tensor<4xf64>, tensor<f64>) -> tensor<4xf64>
  %3 = gr.add %x, %2 : (tensor<4xf64>, tensor<4xf64>) -> tensor<4xf64>
  %4 = gr.mul %3, %root : (tensor<4xf64>, tensor<f64>) -> tensor<4xf64>
  %5 = gr.tanh %4 : (tensor<4xf64>) -> tensor<4xf64>
  %6 = gr.add %5, %one : (tensor<4xf64>, tensor<f64>) -> tensor<4xf64>
  %7 = gr.mul %x, %6 : (tensor<4xf64>, tensor<4xf64>) -> tensor<4xf64>
  %8 = gr.mul %7, %half : (tensor<4xf64>, tensor<f64>) -> tensor<4xf64>
  return %8 : tensor<4xf64>
}

// -----

// Constants of a product are one number while it is one of full precision: 1e-30 * 1e-30 is not.
// CHECK-LABEL: @swish
// CHECK: gr.swish %arg0 {alpha = 1.000000e+01 : f64}
// CHECK-NOT: gr.swish
func.func @swish(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %two = gr.constant dense<2.0> : tensor<f32> : tensor<f32>
  %five = gr.constant dense<5.0> : tensor<f32> : tensor<f32>
  %tiny = gr.constant dense<1.0e-30> : tensor<f32> : tensor<f32>
  %0 = gr.mul %x, %two : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %1 = gr.mul %0, %five : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %2 = gr.sigmoid %1 : (tensor<4xf32>) -> tensor<4xf32>
  %3 = gr.mul %x, %2 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %4 = gr.mul %x, %tiny : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %5 = gr.mul %4, %tiny : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %6 = gr.sigmoid %5 : (tensor<4xf32>) -> tensor<4xf32>
  %7 = gr.mul %x, %6 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %3, %7 : tensor<4xf32>, tensor<4xf32>
}

// -----

// The epsilon of a layer_norm is kept as it is.
// CHECK-LABEL: @layer_norm
// CHECK: gr.layer_norm {{.*}}epsilon = 9.9999999747524271E-7 : f64
func.func @layer_norm(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %epsilon = gr.constant dense<1.0e-6> : tensor<f32> : tensor<f32>
  %0 = gr.reduce %x {kind = "mean", axes = array<i64: 1>} : (tensor<2x4xf32>) -> tensor<2x1xf32>
  %1 = gr.sub %x, %0 : (tensor<2x4xf32>, tensor<2x1xf32>) -> tensor<2x4xf32>
  %2 = gr.mul %1, %1 : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %3 = gr.reduce %2 {kind = "mean", axes = array<i64: 1>} : (tensor<2x4xf32>) -> tensor<2x1xf32>
  %4 = gr.add %3, %epsilon : (tensor<2x1xf32>, tensor<f32>) -> tensor<2x1xf32>
  %5 = gr.sqrt %4 : (tensor<2x1xf32>) -> tensor<2x1xf32>
  %6 = gr.div %1, %5 : (tensor<2x4xf32>, tensor<2x1xf32>) -> tensor<2x4xf32>
  return %6 : tensor<2x4xf32>
}

// -----

// A sixth is 0.166666672 in f32; seven digits are another number.
// CHECK-LABEL: @hard_swish
// CHECK: gr.hard_swish %arg0
// CHECK-NOT: gr.hard_swish
func.func @hard_swish(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = gr.hard_sigmoid %x {alpha = 0.1666666716337204 : f64, beta = 0.5 : f64} : (tensor<4xf32>) -> tensor<4xf32>
  %1 = gr.mul %x, %0 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %2 = gr.hard_sigmoid %x {alpha = 0.1666667014360428 : f64, beta = 0.5 : f64} : (tensor<4xf32>) -> tensor<4xf32>
  %3 = gr.mul %x, %2 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %1, %3 : tensor<4xf32>, tensor<4xf32>
}

// -----

// Two masks are no one mask; a condition and a mask are one together.
// CHECK-LABEL: @masks
// CHECK-NOT: gr.attention
// CHECK: return
func.func @masks(%q: tensor<1x1x2x2xf32>, %m: tensor<1x1x1x2xf32>, %n: tensor<1x1x2x2xf32>) -> tensor<1x1x2x2xf32> {
  %0 = gr.matmul %q, %q {transpose_rhs = true} : (tensor<1x1x2x2xf32>, tensor<1x1x2x2xf32>) -> tensor<1x1x2x2xf32>
  %1 = gr.add %0, %n : (tensor<1x1x2x2xf32>, tensor<1x1x2x2xf32>) -> tensor<1x1x2x2xf32>
  %2 = gr.add %1, %m : (tensor<1x1x2x2xf32>, tensor<1x1x1x2xf32>) -> tensor<1x1x2x2xf32>
  %3 = gr.softmax %2 : (tensor<1x1x2x2xf32>) -> tensor<1x1x2x2xf32>
  %4 = gr.matmul %3, %q : (tensor<1x1x2x2xf32>, tensor<1x1x2x2xf32>) -> tensor<1x1x2x2xf32>
  return %4 : tensor<1x1x2x2xf32>
}

// -----

// CHECK-LABEL: @condition_and_mask
// CHECK: %[[HIDES:.*]] = gr.where %arg1
// CHECK: %[[MASK:.*]] = gr.add %[[HIDES]], %arg2
// CHECK: gr.attention %arg0, %arg0, %arg0, %[[MASK]]
func.func @condition_and_mask(%q: tensor<1x1x2x2xf32>, %seen: tensor<2x2xi1>, %m: tensor<1x1x1x2xf32>) -> tensor<1x1x2x2xf32> {
  %hidden = gr.constant dense<-3.40282347E+38> : tensor<f32> : tensor<f32>
  %0 = gr.matmul %q, %q {transpose_rhs = true} : (tensor<1x1x2x2xf32>, tensor<1x1x2x2xf32>) -> tensor<1x1x2x2xf32>
  %1 = gr.where %seen, %0, %hidden : (tensor<2x2xi1>, tensor<1x1x2x2xf32>, tensor<f32>) -> tensor<1x1x2x2xf32>
  %2 = gr.add %1, %m : (tensor<1x1x2x2xf32>, tensor<1x1x1x2xf32>) -> tensor<1x1x2x2xf32>
  %3 = gr.softmax %2 : (tensor<1x1x2x2xf32>) -> tensor<1x1x2x2xf32>
  %4 = gr.matmul %3, %q : (tensor<1x1x2x2xf32>, tensor<1x1x2x2xf32>) -> tensor<1x1x2x2xf32>
  return %4 : tensor<1x1x2x2xf32>
}
