// RUN: graphrun-opt %s --gr-intern-strings | FileCheck %s

// Equal strings have one number; what moves strings moves numbers.
// CHECK-LABEL: func.func @main
// CHECK-SAME: (%arg0: tensor<2xi64> {gr.name = "x"}, %arg1: tensor<2xf32> {gr.name = "z"})
// CHECK-SAME: -> (tensor<5xi64> {gr.name = "y"}, tensor<2xi1> {gr.name = "same"})
// CHECK-SAME: gr.string_values = ["x", "y"], gr.strings = ["b", "", "a"]
// CHECK: gr.constant dense<[0, 1, 0]> : tensor<3xi64>
// CHECK: gr.constant dense<2> : tensor<i64>
// CHECK: gr.concat {{.*}} : (tensor<2xi64>, tensor<3xi64>) -> tensor<5xi64>
// CHECK: gr.equal {{.*}} : (tensor<2xi64>, tensor<i64>) -> tensor<2xi1>
func.func @main(%x: tensor<2x!gr.string> {gr.name = "x"}, %z: tensor<2xf32> {gr.name = "z"})
    -> (tensor<5x!gr.string> {gr.name = "y"}, tensor<2xi1> {gr.name = "same"}) {
  %0 = gr.constant dense<["b", "", "b"]> : tensor<3x!gr.string> : tensor<3x!gr.string>
  %1 = gr.constant dense<"a"> : tensor<!gr.string> : tensor<!gr.string>
  %2 = gr.concat %x, %0 {axis = 0 : i64} : (tensor<2x!gr.string>, tensor<3x!gr.string>) -> tensor<5x!gr.string>
  %3 = gr.equal %x, %1 : (tensor<2x!gr.string>, tensor<!gr.string>) -> tensor<2xi1>
  return %2, %3 : tensor<5x!gr.string>, tensor<2xi1>
}

// One string that stands for all elements stays one, however many they are.
// CHECK-LABEL: func.func @splat
// CHECK: gr.constant dense<0> : tensor<1099511627776xi64>
func.func @splat() -> (tensor<1099511627776x!gr.string> {gr.name = "y"}) {
  %0 = gr.constant dense<"a"> : tensor<1099511627776x!gr.string> : tensor<1099511627776x!gr.string>
  return %0 : tensor<1099511627776x!gr.string>
}
