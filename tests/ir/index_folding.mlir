// RUN: graphrun-opt %s --canonicalize --split-input-file | FileCheck %s

// CHECK-LABEL: @ranges
// CHECK-DAG: dense<[9, 6, 3]> : tensor<3xi64>
// CHECK-DAG: dense<[0, 1, 2, 3, 4]> : tensor<5xi64>
func.func @ranges(%x: tensor<5x2xf32>) -> (tensor<3xi64>, tensor<5xi64>) {
  %start = gr.constant dense<9> : tensor<i64> : tensor<i64>
  %zero = gr.constant dense<0> : tensor<i64> : tensor<i64>
  %one = gr.constant dense<1> : tensor<i64> : tensor<i64>
  %down = gr.constant dense<-3> : tensor<i64> : tensor<i64>
  %0 = gr.range %start, %zero, %down : (tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<3xi64>
  %rows = gr.shape %x {end = 1 : i64} : (tensor<5x2xf32>) -> tensor<1xi64>
  %limit = gr.squeeze %rows {axes = array<i64: 0>} : (tensor<1xi64>) -> tensor<i64>
  %1 = gr.range %zero, %limit, %one : (tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<5xi64>
  return %0, %1 : tensor<3xi64>, tensor<5xi64>
}

// -----

// A range over a symbolic dim has that dim.
// CHECK-LABEL: @symbolic_range
// CHECK: -> tensor<?xi64, #gr.dims<()[s0] -> (s0)>>
func.func @symbolic_range(%x: tensor<?xf32, #gr.dims<()[s0] -> (s0)>>) -> tensor<?xi64, #gr.dims<()[s0] -> (s0)>> attributes {gr.symbols = ["n"]} {
  %zero = gr.constant dense<0> : tensor<i64> : tensor<i64>
  %one = gr.constant dense<1> : tensor<i64> : tensor<i64>
  %shape = gr.shape %x : (tensor<?xf32, #gr.dims<()[s0] -> (s0)>>) -> tensor<1xi64>
  %limit = gr.squeeze %shape {axes = array<i64: 0>} : (tensor<1xi64>) -> tensor<i64>
  %0 = gr.range %zero, %limit, %one : (tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<?xi64, #gr.dims<()[s0] -> (s0)>>
  return %0 : tensor<?xi64, #gr.dims<()[s0] -> (s0)>>
}

// -----

// CHECK-LABEL: @picks
// CHECK-DAG: dense<[{{\[}}3.000000e+00, 2.000000e+00{{\]}}]> : tensor<1x2xf32>
// CHECK-DAG: dense<[{{\[}}3.000000e+00, 4.000000e+00], [1.000000e+00, 2.000000e+00{{\]}}]> : tensor<2x2xf32>
// CHECK-NOT: gr.gather
func.func @picks() -> (tensor<1x2xf32>, tensor<2x2xf32>) {
  %x = gr.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32> : tensor<2x2xf32>
  %i = gr.constant dense<[[-1, 0]]> : tensor<1x2xi64> : tensor<1x2xi64>
  %v = gr.constant dense<[[1], [-2]]> : tensor<2x1xi64> : tensor<2x1xi64>
  %0 = gr.gather_elements %x, %i {axis = 0 : i64} : (tensor<2x2xf32>, tensor<1x2xi64>) -> tensor<1x2xf32>
  %1 = gr.gather_nd %x, %v : (tensor<2x2xf32>, tensor<2x1xi64>) -> tensor<2x2xf32>
  return %0, %1 : tensor<1x2xf32>, tensor<2x2xf32>
}

// -----

// CHECK-LABEL: @positions
// CHECK-DAG: dense<[{{\[}}0, 1, 1, 0], [1, 0, 1, 0{{\]}}]> : tensor<2x4xi64>
// CHECK-DAG: dense<3> : tensor<1xi64>
// CHECK-DAG: dense<1> : tensor<2xi64>
// CHECK-NOT: gr.non_zero
func.func @positions() -> (tensor<2x4xi64>, tensor<1xi64>, tensor<2xi64>) {
  %x = gr.constant dense<[[0.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32> : tensor<2x2xf32>
  %0:2 = gr.non_zero %x : (tensor<2x2xf32>) -> (tensor<2x4xi64>, tensor<1xi64>)
  %1 = gr.arg_reduce %x {axis = 1 : i64, keepdims = false, kind = "max"} : (tensor<2x2xf32>) -> tensor<2xi64>
  return %0#0, %0#1, %1 : tensor<2x4xi64>, tensor<1xi64>, tensor<2xi64>
}

// -----

// CHECK-LABEL: @running
// CHECK-DAG: dense<[2, 5, 9]> : tensor<3xi64>
// CHECK-DAG: dense<[12, 4, 1]> : tensor<3xi64>
func.func @running() -> (tensor<3xi64>, tensor<3xi64>) {
  %x = gr.constant dense<[2, 3, 4]> : tensor<3xi64> : tensor<3xi64>
  %axis = gr.constant dense<0> : tensor<i64> : tensor<i64>
  %0 = gr.cumulative %x, %axis {kind = "sum"} : (tensor<3xi64>, tensor<i64>) -> tensor<3xi64>
  %1 = gr.cumulative %x, %axis {kind = "prod", exclusive = true, reverse = true} : (tensor<3xi64>, tensor<i64>) -> tensor<3xi64>
  return %0, %1 : tensor<3xi64>, tensor<3xi64>
}
