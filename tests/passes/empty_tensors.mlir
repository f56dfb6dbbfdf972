// RUN: graphrun-opt %s --gr-simplify-graph --split-input-file | FileCheck %s
// Tensors without elements: no operation is left to run for them.

// CHECK-LABEL: @results
// CHECK: %[[C:.*]] = gr.constant dense<> : tensor<0x4xf32>
// CHECK-NEXT: return %[[C]]
func.func @results(%x: tensor<0x4xf32>, %y: tensor<0x4xf32>) -> tensor<0x4xf32> {
  %0 = gr.mul %x, %y : (tensor<0x4xf32>, tensor<0x4xf32>) -> tensor<0x4xf32>
  %1 = gr.softmax %0 {axis = 1 : i64} : (tensor<0x4xf32>) -> tensor<0x4xf32>
  return %1 : tensor<0x4xf32>
}

// -----

// One of several results: the operation stays for the others.
// CHECK-LABEL: @one_of_two
// CHECK-DAG: %[[C:.*]] = gr.constant dense<> : tensor<0xi32>
// CHECK-DAG: %[[S:.*]]:2 = gr.split %arg0
// CHECK: return %[[C]], %[[S]]#1
func.func @one_of_two(%x: tensor<4xi32>) -> (tensor<0xi32>, tensor<4xi32>) {
  %0:2 = gr.split %x {axis = 0 : i64, sizes = array<i64: 0, 4>} : (tensor<4xi32>) -> (tensor<0xi32>, tensor<4xi32>)
  return %0#0, %0#1 : tensor<0xi32>, tensor<4xi32>
}

// -----

// CHECK-LABEL: @reductions
// CHECK-DAG: %[[SUM:.*]] = gr.constant dense<0.000000e+00> : tensor<2xf32>
// CHECK-DAG: %[[PROD:.*]] = gr.constant dense<1> : tensor<2xi32>
// CHECK-DAG: %[[MAX:.*]] = gr.constant dense<0xFC00> : tensor<2xf16>
// CHECK-DAG: %[[MIN:.*]] = gr.constant dense<9223372036854775807> : tensor<2xi64>
// CHECK-DAG: %[[MINU:.*]] = gr.constant dense<255> : tensor<2xui8>
// CHECK-DAG: %[[ANY:.*]] = gr.constant dense<false> : tensor<2xi1>
// CHECK-DAG: %[[MEAN:.*]] = gr.constant dense<0x7FC00000> : tensor<2xf32>
// CHECK: return %[[SUM]], %[[PROD]], %[[MAX]], %[[MIN]], %[[MINU]], %[[ANY]], %[[MEAN]]
func.func @reductions(%f: tensor<2x0xf32>, %i: tensor<2x0xi32>, %h: tensor<2x0xf16>, %l: tensor<2x0xi64>, %u: tensor<2x0xui8>, %b: tensor<2x0xi1>)
    -> (tensor<2xf32>, tensor<2xi32>, tensor<2xf16>, tensor<2xi64>, tensor<2xui8>, tensor<2xi1>, tensor<2xf32>) {
  %0 = gr.reduce %f {kind = "sum", axes = array<i64: 1>, keepdims = false} : (tensor<2x0xf32>) -> tensor<2xf32>
  %1 = gr.reduce %i {kind = "prod", axes = array<i64: 1>, keepdims = false} : (tensor<2x0xi32>) -> tensor<2xi32>
  %2 = gr.reduce %h {kind = "max", axes = array<i64: 1>, keepdims = false} : (tensor<2x0xf16>) -> tensor<2xf16>
  %3 = gr.reduce %l {kind = "min", axes = array<i64: 1>, keepdims = false} : (tensor<2x0xi64>) -> tensor<2xi64>
  %4 = gr.reduce %u {kind = "min", axes = array<i64: 1>, keepdims = false} : (tensor<2x0xui8>) -> tensor<2xui8>
  %5 = gr.reduce %b {kind = "max", axes = array<i64: 1>, keepdims = false} : (tensor<2x0xi1>) -> tensor<2xi1>
  %6 = gr.reduce %f {kind = "mean", axes = array<i64: 1>, keepdims = false} : (tensor<2x0xf32>) -> tensor<2xf32>
  return %0, %1, %2, %3, %4, %5, %6 : tensor<2xf32>, tensor<2xi32>, tensor<2xf16>, tensor<2xi64>, tensor<2xui8>, tensor<2xi1>, tensor<2xf32>
}

// -----

// CHECK-LABEL: @products
// CHECK: %[[C:.*]] = gr.constant dense<0.000000e+00> : tensor<3x5xf32>
// CHECK-NEXT: return %[[C]]
func.func @products(%x: tensor<3x0xf32>, %y: tensor<0x5xf32>) -> tensor<3x5xf32> {
  %0 = gr.matmul %x, %y : (tensor<3x0xf32>, tensor<0x5xf32>) -> tensor<3x5xf32>
  return %0 : tensor<3x5xf32>
}

// -----

// CHECK-LABEL: @joined
// CHECK-NEXT: return %arg1
func.func @joined(%none: tensor<0x2xf32>, %x: tensor<3x2xf32>) -> tensor<3x2xf32> {
  %0 = gr.concat %none, %x {axis = 0 : i64} : (tensor<0x2xf32>, tensor<3x2xf32>) -> tensor<3x2xf32>
  return %0 : tensor<3x2xf32>
}

// -----

// CHECK-LABEL: @scattered
// CHECK-NEXT: return %arg0
func.func @scattered(%x: tensor<3x2xf32>, %places: tensor<0x1xi64>, %updates: tensor<0x2xf32>) -> tensor<3x2xf32> {
  %0 = gr.scatter_nd %x, %places, %updates : (tensor<3x2xf32>, tensor<0x1xi64>, tensor<0x2xf32>) -> tensor<3x2xf32>
  return %0 : tensor<3x2xf32>
}

// -----

// What is not known to be empty stays.
// CHECK-LABEL: @unknown
// CHECK-NEXT: gr.reduce
func.func @unknown(%x: tensor<?x2xf32>) -> tensor<2xf32> {
  %0 = gr.reduce %x {kind = "sum", axes = array<i64: 0>, keepdims = false} : (tensor<?x2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

// -----

// A type that is not known yet hinders nothing.
// CHECK-LABEL: @unknown_rank
// CHECK: gr.matmul
func.func @unknown_rank(%x: tensor<*xf32>, %w: tensor<0x3xf32>) -> tensor<*xf32> {
  %0 = gr.matmul %x, %w : (tensor<*xf32>, tensor<0x3xf32>) -> tensor<*xf32>
  return %0 : tensor<*xf32>
}
