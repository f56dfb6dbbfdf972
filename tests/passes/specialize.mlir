// RUN: graphrun-opt %s --gr-specialize-shapes="shapes=x:2x3x8x6,y:2x4" | FileCheck %s

#nhw = #gr.dims<(d0)[s0, s1, s2] -> (s0, 3, s1, s2)>
#n = #gr.dims<(d0)[s0] -> (s0, 4)>

// CHECK-LABEL: func.func @main
// CHECK-SAME: %arg0: tensor<2x3x8x6xf32> {gr.name = "x"}, %arg1: tensor<2x4xf32> {gr.name = "y"}
// CHECK-SAME: -> (tensor<2x96xf32>, tensor<2x8x16x6xf32>, tensor<2x4xf32>)
// CHECK-NOT: gr.symbols
// CHECK-NOT: ?
// CHECK: gr.conv
// CHECK-SAME: -> tensor<2x8x4x3xf32>
// CHECK: gr.resize
// CHECK-SAME: -> tensor<2x8x16x6xf32>
func.func @main(%x: tensor<?x3x?x?xf32, #nhw> {gr.name = "x"}, %y: tensor<?x4xf32, #n> {gr.name = "y"})
    -> (tensor<?x?xf32>, tensor<*xf32>, tensor<*xf32>) attributes {gr.symbols = ["N", "H", "W"]} {
  %w = gr.constant dense<0.5> : tensor<8x3x3x3xf32> : tensor<8x3x3x3xf32>
  %0 = gr.conv %x, %w {strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>}
    : (tensor<?x3x?x?xf32, #nhw>, tensor<8x3x3x3xf32>) -> tensor<?x8x?x?xf32>
  %s = gr.shape %x {end = 1 : i64} : (tensor<?x3x?x?xf32, #nhw>) -> tensor<1xi64>
  %m = gr.constant dense<-1> : tensor<1xi64> : tensor<1xi64>
  %t = gr.concat %s, %m {axis = 0 : i64} : (tensor<1xi64>, tensor<1xi64>) -> tensor<2xi64>
  %1 = gr.reshape %0, %t : (tensor<?x8x?x?xf32>, tensor<2xi64>) -> tensor<?x?xf32>
  // The scales are computed: folding makes them known, only then is the size.
  %a = gr.constant dense<[1.0, 1.0, 2.0, 1.0]> : tensor<4xf32> : tensor<4xf32>
  %b = gr.constant dense<[1.0, 1.0, 2.0, 2.0]> : tensor<4xf32> : tensor<4xf32>
  %ab = gr.mul %a, %b : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %2 = gr.resize %0 scales %ab {mode = "nearest", coordinates = "asymmetric", rounding = "floor"}
    : (tensor<?x8x?x?xf32>, tensor<4xf32>) -> tensor<*xf32>
  %3 = gr.relu %y : (tensor<?x4xf32, #n>) -> tensor<*xf32>
  return %1, %2, %3 : tensor<?x?xf32>, tensor<*xf32>, tensor<*xf32>
}
