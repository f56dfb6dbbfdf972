// RUN: graphrun-opt %s --gr-simplify-graph --split-input-file | FileCheck %s

// CHECK-LABEL: @transposes
// CHECK-NEXT: return %arg0
func.func @transposes(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = gr.transpose %x {permutation = array<i64: 1, 0>} : (tensor<2x3xf32>) -> tensor<3x2xf32>
  %1 = gr.transpose %0 {permutation = array<i64: 1, 0>} : (tensor<3x2xf32>) -> tensor<2x3xf32>
  return %1 : tensor<2x3xf32>
}

// -----

// CHECK-LABEL: @transposes_compose
// CHECK-NEXT: gr.transpose %arg0 {permutation = array<i64: 2, 1, 0>}
// CHECK-NEXT: return
func.func @transposes_compose(%x: tensor<2x3x4xf32>) -> tensor<4x3x2xf32> {
  %0 = gr.transpose %x {permutation = array<i64: 1, 2, 0>} : (tensor<2x3x4xf32>) -> tensor<3x4x2xf32>
  %1 = gr.transpose %0 {permutation = array<i64: 1, 0, 2>} : (tensor<3x4x2xf32>) -> tensor<4x3x2xf32>
  return %1 : tensor<4x3x2xf32>
}

// -----

// CHECK-LABEL: @reshapes
// CHECK: %[[S:.*]] = gr.constant dense<[4, 6]>
// CHECK-NEXT: %[[R:.*]] = gr.reshape %arg0, %[[S]]
// CHECK-NEXT: return %[[R]]
func.func @reshapes(%x: tensor<2x3x4xf32>) -> tensor<4x6xf32> {
  %s0 = gr.constant dense<[24]> : tensor<1xi64> : tensor<1xi64>
  %s1 = gr.constant dense<[4, -1]> : tensor<2xi64> : tensor<2xi64>
  %0 = gr.reshape %x, %s0 : (tensor<2x3x4xf32>, tensor<1xi64>) -> tensor<24xf32>
  %1 = gr.reshape %0, %s1 : (tensor<24xf32>, tensor<2xi64>) -> tensor<4x6xf32>
  return %1 : tensor<4x6xf32>
}

// -----

// A round trip of shapes is nothing at all.
// CHECK-LABEL: @round_trip
// CHECK-NEXT: return %arg0
func.func @round_trip(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %s = gr.constant dense<[6]> : tensor<1xi64> : tensor<1xi64>
  %b = gr.constant dense<[2, 3]> : tensor<2xi64> : tensor<2xi64>
  %0 = gr.unsqueeze %x {axes = array<i64: 0>} : (tensor<2x3xf32>) -> tensor<1x2x3xf32>
  %1 = gr.reshape %0, %s : (tensor<1x2x3xf32>, tensor<1xi64>) -> tensor<6xf32>
  %2 = gr.reshape %1, %b : (tensor<6xf32>, tensor<2xi64>) -> tensor<2x3xf32>
  return %2 : tensor<2x3xf32>
}

// -----

// What computes a shape dies once the shape is known.
// CHECK-LABEL: @computed_shape
// CHECK-NOT: gr.shape
// CHECK: gr.constant dense<[2, 12]>
// CHECK-NEXT: gr.reshape
func.func @computed_shape(%x: tensor<2x3x4xf32>) -> tensor<2x12xf32> {
  %s = gr.shape %x {start = 0 : i64, end = 1 : i64} : (tensor<2x3x4xf32>) -> tensor<1xi64>
  %m = gr.constant dense<-1> : tensor<1xi64> : tensor<1xi64>
  %t = gr.concat %s, %m {axis = 0 : i64} : (tensor<1xi64>, tensor<1xi64>) -> tensor<2xi64>
  %0 = gr.reshape %x, %t : (tensor<2x3x4xf32>, tensor<2xi64>) -> tensor<2x12xf32>
  return %0 : tensor<2x12xf32>
}

// -----

// CHECK-LABEL: @identity_on_symbols
// CHECK-NEXT: return %arg0
func.func @identity_on_symbols(%x: tensor<?x4xf32, #gr.dims<(d0)[s0] -> (s0, 4)>>)
    -> tensor<?x4xf32, #gr.dims<(d0)[s0] -> (s0, 4)>> attributes {gr.symbols = ["N"]} {
  %s = gr.constant dense<[-1, 4]> : tensor<2xi64> : tensor<2xi64>
  %0 = gr.reshape %x, %s : (tensor<?x4xf32, #gr.dims<(d0)[s0] -> (s0, 4)>>, tensor<2xi64>)
    -> tensor<?x4xf32, #gr.dims<(d0)[s0] -> (s0, 4)>>
  return %0 : tensor<?x4xf32, #gr.dims<(d0)[s0] -> (s0, 4)>>
}

// -----

// Unknown dims may differ, so the same type is not the same shape.
// CHECK-LABEL: @unknown_dims_stay
// CHECK: gr.reshape
func.func @unknown_dims_stay(%x: tensor<?x?xf32>, %s: tensor<2xi64>) -> tensor<?x?xf32> {
  %0 = gr.reshape %x, %s : (tensor<?x?xf32>, tensor<2xi64>) -> tensor<?x?xf32>
  return %0 : tensor<?x?xf32>
}

// -----

// CHECK-LABEL: @casts
// CHECK-NEXT: gr.cast %arg0 {to = f16}
// CHECK-NEXT: gr.cast %arg1 {to = i32}
// CHECK-NEXT: gr.cast
// CHECK-NEXT: return
func.func @casts(%x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<4xf16>, tensor<4xf32>) {
  %0 = gr.cast %x {to = f64} : (tensor<4xf32>) -> tensor<4xf64>
  %1 = gr.cast %0 {to = f16} : (tensor<4xf64>) -> tensor<4xf16>
  %2 = gr.cast %y {to = i32} : (tensor<4xf32>) -> tensor<4xi32>
  %3 = gr.cast %2 {to = f32} : (tensor<4xi32>) -> tensor<4xf32>
  return %1, %3 : tensor<4xf16>, tensor<4xf32>
}

// -----

// CHECK-LABEL: @repeated
// CHECK-NEXT: %[[R:.*]] = gr.relu %arg0
// CHECK-NEXT: %[[C:.*]] = gr.clip %arg0 {high = 4.000000e+00 : f64, low = 0.000000e+00 : f64}
// CHECK-NEXT: return %[[R]], %[[C]], %arg0
func.func @repeated(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %0 = gr.relu %x : (tensor<4xf32>) -> tensor<4xf32>
  %1 = gr.relu %0 : (tensor<4xf32>) -> tensor<4xf32>
  %2 = gr.clip %x {low = -1.0 : f64, high = 4.0 : f64} : (tensor<4xf32>) -> tensor<4xf32>
  %3 = gr.clip %2 {low = 0.0 : f64, high = 6.0 : f64} : (tensor<4xf32>) -> tensor<4xf32>
  %4 = gr.neg %x : (tensor<4xf32>) -> tensor<4xf32>
  %5 = gr.neg %4 : (tensor<4xf32>) -> tensor<4xf32>
  return %1, %3, %5 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// -----

// The four ways in which exporters spell hard_swish.
// CHECK-LABEL: @hard_swish
// CHECK-NEXT: %[[A:.*]] = gr.hard_swish %arg0
// CHECK-NEXT: %[[B:.*]] = gr.hard_swish %[[A]]
// CHECK-NEXT: %[[C:.*]] = gr.hard_swish %[[B]]
// CHECK-NEXT: %[[D:.*]] = gr.hard_swish %[[C]]
// CHECK-NEXT: return %[[D]]
func.func @hard_swish(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %three = gr.constant dense<3.0> : tensor<f32> : tensor<f32>
  %six = gr.constant dense<6.0> : tensor<f32> : tensor<f32>
  %sixth = gr.constant dense<0.16666667> : tensor<1xf32> : tensor<1xf32>
  %g = gr.hard_sigmoid %x {alpha = 0.1666666716337204 : f64, beta = 0.5 : f64} : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %a = gr.mul %g, %x : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %b0 = gr.add %a, %three : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  %b1 = gr.clip %b0 {low = 0.0 : f64, high = 6.0 : f64} : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %b2 = gr.mul %a, %b1 : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %b = gr.div %b2, %six : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  %c0 = gr.add %three, %b : (tensor<f32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %c1 = gr.clip %c0 {low = 0.0 : f64, high = 6.0 : f64} : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %c2 = gr.mul %c1, %b : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %c = gr.mul %c2, %sixth : (tensor<2x4xf32>, tensor<1xf32>) -> tensor<2x4xf32>
  %d0 = gr.add %c, %three : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  %d1 = gr.clip %d0 {low = 0.0 : f64, high = 6.0 : f64} : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %d2 = gr.div %d1, %six : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  %d = gr.mul %c, %d2 : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  return %d : tensor<2x4xf32>
}

// -----

// Another gate is left alone.
// CHECK-LABEL: @not_hard_swish
// CHECK: gr.hard_sigmoid
// CHECK: gr.mul
func.func @not_hard_swish(%x: tensor<4xf32>) -> tensor<4xf32> {
  %g = gr.hard_sigmoid %x : (tensor<4xf32>) -> tensor<4xf32>
  %a = gr.mul %g, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %a : tensor<4xf32>
}

// -----

// Dead code goes; both ends of an edge stay, used or not.
// CHECK-LABEL: @dead
// CHECK-NEXT: gr.send
// CHECK-NEXT: gr.recv
// CHECK-NEXT: return
func.func @dead(%x: tensor<4xf32>) {
  %0 = gr.exp %x : (tensor<4xf32>) -> tensor<4xf32>
  gr.send %x {edge = 0 : i64} : (tensor<4xf32>) -> ()
  %1 = gr.recv {edge = 1 : i64, tensor_type = tensor<4xf32>} : () -> tensor<4xf32>
  return
}

// What follows a product by elements comes before the reshape of its result; powers are products; a
// transposed matrix is read the other way round.
// CHECK-LABEL: @behind_a_product
// CHECK: %[[M:.*]] = gr.matmul %arg0, %arg1 {transpose_rhs = true}
// CHECK-NEXT: %[[R:.*]] = gr.relu %[[M]] : (tensor<6x8xf32>)
// CHECK: %[[B:.*]] = gr.reshape %arg2
// CHECK-NEXT: %[[S:.*]] = gr.add %[[R]], %[[B]] : (tensor<6x8xf32>, tensor<6x8xf32>)
// CHECK-NEXT: %[[Y:.*]] = gr.reshape %[[S]]
// CHECK-NEXT: %[[P:.*]] = gr.mul %[[Y]], %[[Y]]
// CHECK-NEXT: %[[Q:.*]] = gr.mul %[[P]], %[[Y]]
// CHECK-NEXT: return %[[Q]]
func.func @behind_a_product(%x: tensor<6x4xf32>, %w: tensor<8x4xf32>, %r: tensor<2x3x8xf32>) -> tensor<2x3x8xf32> {
  %shape = gr.constant dense<[2, 3, 8]> : tensor<3xi64> : tensor<3xi64>
  %three = gr.constant dense<3.0> : tensor<f32> : tensor<f32>
  %t = gr.transpose %w {permutation = array<i64: 1, 0>} : (tensor<8x4xf32>) -> tensor<4x8xf32>
  %0 = gr.matmul %x, %t : (tensor<6x4xf32>, tensor<4x8xf32>) -> tensor<6x8xf32>
  %1 = gr.reshape %0, %shape : (tensor<6x8xf32>, tensor<3xi64>) -> tensor<2x3x8xf32>
  %2 = gr.relu %1 : (tensor<2x3x8xf32>) -> tensor<2x3x8xf32>
  %3 = gr.add %2, %r : (tensor<2x3x8xf32>, tensor<2x3x8xf32>) -> tensor<2x3x8xf32>
  %4 = gr.pow %3, %three : (tensor<2x3x8xf32>, tensor<f32>) -> tensor<2x3x8xf32>
  return %4 : tensor<2x3x8xf32>
}

// -----

// Exponentials are of what is left below the largest element, or of the elements where that is infinite.
// CHECK-LABEL: @log_sum_exp
// CHECK-DAG: %[[ZERO:.*]] = gr.constant dense<0.000000e+00> : tensor<f32>
// CHECK-DAG: %[[INF:.*]] = gr.constant dense<0x7F800000> : tensor<f32>
// CHECK-DAG: %[[MAX:.*]] = gr.reduce %arg0 {axes = array<i64: 1>, kind = "max"}
// CHECK: %[[SIZE:.*]] = gr.abs %[[MAX]]
// CHECK: %[[FINITE:.*]] = gr.less %[[SIZE]], %[[INF]]
// CHECK: %[[TOP:.*]] = gr.where %[[FINITE]], %[[MAX]], %[[ZERO]]
// CHECK: %[[BELOW:.*]] = gr.sub %arg0, %[[TOP]]
// CHECK: %[[POWERS:.*]] = gr.exp %[[BELOW]]
// CHECK: %[[SUM:.*]] = gr.reduce %[[POWERS]] {axes = array<i64: 1>, keepdims = false, kind = "sum"}
// CHECK: %[[FLAT:.*]] = gr.squeeze %[[TOP]] {axes = array<i64: 1>}
// CHECK: %[[LOG:.*]] = gr.log %[[SUM]]
// CHECK: %[[Y:.*]] = gr.add %[[LOG]], %[[FLAT]]
// CHECK: return %[[Y]]
func.func @log_sum_exp(%x: tensor<2x3xf32>) -> tensor<2xf32> {
  %0 = gr.reduce %x {kind = "log_sum_exp", axes = array<i64: 1>, keepdims = false} : (tensor<2x3xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

// -----

// CHECK-LABEL: @log_sum_exp_of_nothing
// CHECK: %[[C:.*]] = gr.constant dense<0xFF800000> : tensor<2x1xf32>
// CHECK: return %[[C]]
func.func @log_sum_exp_of_nothing(%x: tensor<2x0xf32>) -> tensor<2x1xf32> {
  %0 = gr.reduce %x {kind = "log_sum_exp", axes = array<i64: 1>} : (tensor<2x0xf32>) -> tensor<2x1xf32>
  return %0 : tensor<2x1xf32>
}

// -----

// The layer is computed once, with its sums kept, before the first that reads it.
// CHECK-LABEL: @layer_with_sums
// CHECK-NEXT: %[[L:.*]]:3 = gr.recurrent %arg0 {{.*}}keep_sums = true
// CHECK-NEXT: %[[R:.*]] = gr.relu %[[L]]#0
// CHECK-NEXT: return %[[R]], %[[L]]#2
func.func @layer_with_sums(%x: tensor<3x2x4xf32>, %w: tensor<5x4xf32>, %r: tensor<5x5xf32>, %b: tensor<5xf32>, %h: tensor<2x5xf32>) -> (tensor<3x2x5xf32>, tensor<3x2x5xf32>) {
  %0:2 = gr.recurrent %x weights %w recurrent %r bias %b hidden %h {cell = "rnn", activations = ["tanh"], alphas = array<f64: 0.0>, betas = array<f64: 0.0>} : (tensor<3x2x4xf32>, tensor<5x4xf32>, tensor<5x5xf32>, tensor<5xf32>, tensor<2x5xf32>) -> (tensor<3x2x5xf32>, tensor<2x5xf32>)
  %1 = gr.relu %0#0 : (tensor<3x2x5xf32>) -> tensor<3x2x5xf32>
  %2:3 = gr.recurrent %x weights %w recurrent %r bias %b hidden %h {cell = "rnn", activations = ["tanh"], alphas = array<f64: 0.0>, betas = array<f64: 0.0>, keep_sums = true} : (tensor<3x2x4xf32>, tensor<5x4xf32>, tensor<5x5xf32>, tensor<5xf32>, tensor<2x5xf32>) -> (tensor<3x2x5xf32>, tensor<2x5xf32>, tensor<3x2x5xf32>)
  return %1, %2#2 : tensor<3x2x5xf32>, tensor<3x2x5xf32>
}

// -----

// Another layer of the same input stays.
// CHECK-LABEL: @other_layer_with_sums
// CHECK-COUNT-2: gr.recurrent
func.func @other_layer_with_sums(%x: tensor<3x2x4xf32>, %w: tensor<5x4xf32>, %r: tensor<5x5xf32>, %b: tensor<5xf32>, %h: tensor<2x5xf32>) -> (tensor<3x2x5xf32>, tensor<3x2x5xf32>) {
  %0:2 = gr.recurrent %x weights %w recurrent %r bias %b hidden %h {cell = "rnn", activations = ["tanh"], alphas = array<f64: 0.0>, betas = array<f64: 0.0>, reverse = true} : (tensor<3x2x4xf32>, tensor<5x4xf32>, tensor<5x5xf32>, tensor<5xf32>, tensor<2x5xf32>) -> (tensor<3x2x5xf32>, tensor<2x5xf32>)
  %1:3 = gr.recurrent %x weights %w recurrent %r bias %b hidden %h {cell = "rnn", activations = ["tanh"], alphas = array<f64: 0.0>, betas = array<f64: 0.0>, keep_sums = true} : (tensor<3x2x4xf32>, tensor<5x4xf32>, tensor<5x5xf32>, tensor<5xf32>, tensor<2x5xf32>) -> (tensor<3x2x5xf32>, tensor<2x5xf32>, tensor<3x2x5xf32>)
  return %0#0, %1#2 : tensor<3x2x5xf32>, tensor<3x2x5xf32>
}
