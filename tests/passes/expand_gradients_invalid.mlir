// Every diagnostic of gr-expand-gradients. All operations without a gradient are told at once.
// RUN: not graphrun-opt %s --gr-expand-gradients -split-input-file 2>&1 | FileCheck %s

// CHECK: error: 'gr.det' op has no gradient with respect to operand 0 ('x'): has no rule yet
// CHECK: error: 'gr.linear_attention' op has no gradient with respect to operand 2 ('spread'): a recurrence: differentiate the loop that it stands for
// CHECK: error: 'gr.gradient' op cannot be computed: 2 operations between loss 'sum' and what it is differentiated by have no gradient, expected 0; replace them
func.func @two_without(%x: tensor<1x1x1x1xf32> {gr.name = "x"}, %k: tensor<1x1x1x1xf32>) -> tensor<1x1x1x1xf32> {
  %0 = gr.det %x : (tensor<1x1x1x1xf32>) -> tensor<1x1xf32>
  %shape = gr.constant dense<1> : tensor<4xi64> : tensor<4xi64>
  %1 = gr.reshape %0, %shape : (tensor<1x1xf32>, tensor<4xi64>) -> tensor<1x1x1x1xf32> loc("spread")
  %2:2 = gr.linear_attention %k, %k, %1, %k, %k, %k : (tensor<1x1x1x1xf32>, tensor<1x1x1x1xf32>, tensor<1x1x1x1xf32>, tensor<1x1x1x1xf32>, tensor<1x1x1x1xf32>, tensor<1x1x1x1xf32>) -> (tensor<1x1x1x1xf32>, tensor<1x1x1x1xf32>)
  %3 = gr.reduce %2#0 {kind = "sum", axes = array<i64: 0, 1, 2, 3>, keepdims = false} : (tensor<1x1x1x1xf32>) -> tensor<f32> loc("sum")
  %4 = gr.gradient %3 wrt(%x) : (tensor<f32>, tensor<1x1x1x1xf32>) -> tensor<1x1x1x1xf32>
  return %4 : tensor<1x1x1x1xf32>
}

// -----

// CHECK: error: 'gr.gradient' op loss 'scaled' depends on 'x' only through operations whose derivative is zero (gr.round 'steps', gr.cast), expected a way of floating-point operations
func.func @detached(%x: tensor<f32> {gr.name = "x"}) -> tensor<f32> {
  %0 = gr.round %x : (tensor<f32>) -> tensor<f32> loc("steps")
  %1 = gr.cast %x {to = i32} : (tensor<f32>) -> tensor<i32>
  %2 = gr.cast %1 {to = f32} : (tensor<i32>) -> tensor<f32>
  %3 = gr.mul %0, %2 : (tensor<f32>, tensor<f32>) -> tensor<f32> loc("scaled")
  %4 = gr.gradient %3 wrt(%x) : (tensor<f32>, tensor<f32>) -> tensor<f32>
  return %4 : tensor<f32>
}

// -----

// CHECK: error: 'gr.gradient' op loss is of type 'tensor<2xf32>', expected one element of a floating-point type; reduce it by gr.reduce, as to its mean
func.func @vector(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = gr.gradient %x wrt(%x) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

// -----

// CHECK: error: 'gr.gradient' op loss is of type 'tensor<i32>', expected one element of a floating-point type
func.func @whole_number(%x: tensor<i32>, %y: tensor<f32>) -> tensor<f32> {
  %0 = gr.gradient %x wrt(%y) : (tensor<i32>, tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
}

// -----

// CHECK: error: 'gr.gradient' op differentiates by value 1 of type 'tensor<2xi64>', expected a floating-point type
func.func @by_whole_numbers(%x: tensor<f32>, %y: tensor<2xi64>) -> tensor<f32> {
  %0:2 = gr.gradient %x wrt(%x, %y) : (tensor<f32>, tensor<f32>, tensor<2xi64>) -> (tensor<f32>, tensor<2xi64>)
  return %0#0 : tensor<f32>
}

// -----

// CHECK: error: 'gr.exp' op has a result of type 'tensor<?xf32>' that a gradient leads through, expected a static shape: it depends on data
func.func @shape_from_data(%x: tensor<3xf32>, %n: tensor<1xi64>) -> tensor<3xf32> {
  %0 = gr.expand %x, %n : (tensor<3xf32>, tensor<1xi64>) -> tensor<?xf32>
  %1 = gr.exp %0 : (tensor<?xf32>) -> tensor<?xf32>
  %2 = gr.reduce %1 {kind = "sum", axes = array<i64: 0>, keepdims = false} : (tensor<?xf32>) -> tensor<f32>
  %3 = gr.gradient %2 wrt(%x) : (tensor<f32>, tensor<3xf32>) -> tensor<3xf32>
  return %3 : tensor<3xf32>
}

// -----

// A loop of unknown length, and a branch that data decides.
// CHECK: error: 'gr.loop' op has no gradient with respect to operand 2 ('x'): is not resolved while planning: what decides it is data
func.func @loop(%x: tensor<f32> {gr.name = "x"}, %go: tensor<i1>) -> tensor<f32> {
  %start = gr.constant dense<0> : tensor<i64> : tensor<i64>
  %0 = gr.loop %go iteration %start carried(%x) {
  ^bb0(%number: tensor<i64>, %on: tensor<i1>, %value: tensor<f32>):
    %1 = gr.exp %value : (tensor<f32>) -> tensor<f32>
    gr.yield %on, %1 : tensor<i1>, tensor<f32>
  } : (tensor<i1>, tensor<i64>, tensor<f32>) -> tensor<f32>
  %2 = gr.gradient %0 wrt(%x) : (tensor<f32>, tensor<f32>) -> tensor<f32>
  return %2 : tensor<f32>
}

// -----

// CHECK: error: 'gr.if' op has no gradient: is not resolved while planning: what decides it is data
func.func @branch(%x: tensor<f32>, %flag: tensor<i1>) -> tensor<f32> {
  %0 = gr.if %flag {
    %1 = gr.exp %x : (tensor<f32>) -> tensor<f32>
    gr.yield %1 : tensor<f32>
  } else {
    gr.yield %x : tensor<f32>
  } : (tensor<i1>) -> tensor<f32>
  %2 = gr.gradient %0 wrt(%x) : (tensor<f32>, tensor<f32>) -> tensor<f32>
  return %2 : tensor<f32>
}

// -----

// CHECK: error: 'gr.gradient' op stands inside control flow that is not resolved while planning; compute the gradient outside of it
func.func @inside(%x: tensor<f32>, %flag: tensor<i1>) -> tensor<f32> {
  %0 = gr.if %flag {
    %1 = gr.gradient %x wrt(%x) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    gr.yield %1 : tensor<f32>
  } else {
    gr.yield %x : tensor<f32>
  } : (tensor<i1>) -> tensor<f32>
  return %0 : tensor<f32>
}

// -----

// A rule that refuses one operand.
// CHECK: error: 'gr.resize' op has no gradient with respect to operand 1 ('s'): the size of a tensor has no gradient
func.func @scales(%x: tensor<1x1x4xf32>, %s: tensor<3xf32> {gr.name = "s"}) -> tensor<3xf32> {
  %scales = gr.watch %s : (tensor<3xf32>) -> tensor<3xf32> loc("s")
  %0 = gr.resize %x scales %scales {mode = "linear", coordinates = "half_pixel", rounding = "floor"} : (tensor<1x1x4xf32>, tensor<3xf32>) -> tensor<1x1x8xf32>
  %1 = gr.reduce %0 {kind = "sum", axes = array<i64: 0, 1, 2>, keepdims = false} : (tensor<1x1x8xf32>) -> tensor<f32>
  %2 = gr.gradient %1 wrt(%scales) : (tensor<f32>, tensor<3xf32>) -> tensor<3xf32>
  return %2 : tensor<3xf32>
}
