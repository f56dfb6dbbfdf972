// RUN: graphrun-opt %s --split-input-file --gr-specialize-shapes | FileCheck %s

// A branch that is known is inlined.
// CHECK-LABEL: func.func @main
// CHECK-NEXT: %[[Y:.*]] = gr.neg %arg0
// CHECK-NEXT: return %[[Y]]
func.func @main(%x: tensor<4xf32> {gr.name = "x"}) -> (tensor<*xf32> {gr.name = "y"}) {
  %no = gr.constant dense<false> : tensor<i1> : tensor<i1>
  %0 = gr.if %no {
    %1 = gr.exp %x : (tensor<4xf32>) -> tensor<4xf32>
    gr.yield %1 : tensor<4xf32>
  } else {
    %2 = gr.neg %x : (tensor<4xf32>) -> tensor<4xf32>
    gr.yield %2 : tensor<4xf32>
  } : (tensor<i1>) -> tensor<*xf32>
  return %0 : tensor<*xf32>
}

// -----

// A loop whose end is known is unrolled; what it collects is joined.
// CHECK-LABEL: func.func @main
// CHECK-SAME: -> (tensor<4xf32> {gr.name = "last"}, tensor<2x4xf32> {gr.name = "all"})
// CHECK: %[[A:.*]] = gr.exp %arg0
// CHECK: %[[FIRST:.*]] = gr.unsqueeze %[[A]]
// CHECK: %[[B:.*]] = gr.exp %[[A]]
// CHECK: %[[SECOND:.*]] = gr.unsqueeze %[[B]]
// CHECK: %[[ALL:.*]] = gr.concat %[[FIRST]], %[[SECOND]]
// CHECK-NOT: gr.exp
// CHECK: return %[[B]], %[[ALL]]
func.func @main(%x: tensor<4xf32> {gr.name = "x"})
    -> (tensor<*xf32> {gr.name = "last"}, tensor<*xf32> {gr.name = "all"}) {
  %yes = gr.constant dense<true> : tensor<i1> : tensor<i1>
  %zero = gr.constant dense<0> : tensor<i64> : tensor<i64>
  %two = gr.constant dense<2> : tensor<i64> : tensor<i64>
  %0:2 = gr.loop %yes iteration %zero below %yes limit %two carried(%x) {
  ^bb0(%i: tensor<i64>, %c: tensor<i1>, %v: tensor<*xf32>):
    %1 = gr.exp %v : (tensor<*xf32>) -> tensor<*xf32>
    gr.yield %c, %1, %1 : tensor<i1>, tensor<*xf32>, tensor<*xf32>
  } : (tensor<i1>, tensor<i64>, tensor<i1>, tensor<i64>, tensor<4xf32>) -> (tensor<*xf32>, tensor<*xf32>)
  return %0#0, %0#1 : tensor<*xf32>, tensor<*xf32>
}

// -----

// No iteration: the carried value as it came, and nothing collected.
// CHECK-LABEL: func.func @main
// CHECK-SAME: -> (tensor<4xf32> {gr.name = "last"}, tensor<0x4xf32> {gr.name = "all"})
// CHECK: return %arg0
func.func @main(%x: tensor<4xf32> {gr.name = "x"})
    -> (tensor<*xf32> {gr.name = "last"}, tensor<*xf32> {gr.name = "all"}) {
  %no = gr.constant dense<false> : tensor<i1> : tensor<i1>
  %zero = gr.constant dense<0> : tensor<i64> : tensor<i64>
  %0:2 = gr.loop %no iteration %zero carried(%x) {
  ^bb0(%i: tensor<i64>, %c: tensor<i1>, %v: tensor<4xf32>):
    gr.yield %c, %v, %v : tensor<i1>, tensor<4xf32>, tensor<4xf32>
  } : (tensor<i1>, tensor<i64>, tensor<4xf32>) -> (tensor<*xf32>, tensor<*xf32>)
  return %0#0, %0#1 : tensor<*xf32>, tensor<*xf32>
}
