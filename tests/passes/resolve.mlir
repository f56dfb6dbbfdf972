// RUN: graphrun-opt %s --split-input-file --gr-specialize-shapes | FileCheck %s
// RUN: graphrun-opt %s --split-input-file --gr-specialize-shapes 2>&1 >/dev/null | FileCheck %s --check-prefix=WARNING

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

// -----

// No iteration, and a body that says nothing of its types: they are those of a first iteration.
// CHECK-LABEL: func.func @main
// CHECK-SAME: -> (tensor<0x4x2xf32> {gr.name = "all"}, tensor<0x0xi64> {gr.name = "counted"})
func.func @main(%x: tensor<4xf32> {gr.name = "x"}, %y: tensor<2xf32> {gr.name = "y"})
    -> (tensor<*xf32> {gr.name = "all"}, tensor<*xi64> {gr.name = "counted"}) {
  %no = gr.constant dense<false> : tensor<i1> : tensor<i1>
  %zero = gr.constant dense<0> : tensor<i64> : tensor<i64>
  %one = gr.constant dense<1> : tensor<i64> : tensor<i64>
  %0:3 = gr.loop %no iteration %zero carried(%x) {
  ^bb0(%i: tensor<i64>, %c: tensor<i1>, %v: tensor<*xf32>):
    %1 = gr.unsqueeze %v {axes = array<i64: 1>} : (tensor<*xf32>) -> tensor<*xf32>
    %2 = gr.mul %1, %y : (tensor<*xf32>, tensor<2xf32>) -> tensor<*xf32>
    %3 = gr.range %zero, %i, %one : (tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<*xi64>
    gr.yield %c, %v, %2, %3 : tensor<i1>, tensor<*xf32>, tensor<*xf32>, tensor<*xi64>
  } : (tensor<i1>, tensor<i64>, tensor<4xf32>) -> (tensor<*xf32>, tensor<*xf32>, tensor<*xi64>)
  return %0#1, %0#2 : tensor<*xf32>, tensor<*xi64>
}

// -----

// What an iteration that never runs would do wrong is no error.
// CHECK-LABEL: func.func @main
// CHECK-SAME: -> (tensor<0x3xf32> {gr.name = "all"})
func.func @main(%x: tensor<4xf32> {gr.name = "x"}, %y: tensor<3xf32> {gr.name = "y"})
    -> (tensor<*xf32> {gr.name = "all"}) {
  %no = gr.constant dense<false> : tensor<i1> : tensor<i1>
  %zero = gr.constant dense<0> : tensor<i64> : tensor<i64>
  %0:2 = gr.loop %no iteration %zero carried(%x) {
  ^bb0(%i: tensor<i64>, %c: tensor<i1>, %v: tensor<*xf32>):
    %1 = gr.exp %y : (tensor<3xf32>) -> tensor<3xf32>
    %2 = gr.add %v, %y : (tensor<*xf32>, tensor<3xf32>) -> tensor<*xf32>
    gr.yield %c, %2, %1 : tensor<i1>, tensor<*xf32>, tensor<3xf32>
  } : (tensor<i1>, tensor<i64>, tensor<4xf32>) -> (tensor<*xf32>, tensor<*xf32>)
  return %0#1 : tensor<*xf32>
}

// -----

// No iteration, and a body that chooses by data: types that hold for both branches, though no branch
// could run by a condition of four elements. Dims that only an iteration would tell are 0.
// WARNING: warning: the loop runs no iteration, and the rank of a collected value is not known without one: its shape is 0
// WARNING-NOT: runs no iteration
// CHECK-LABEL: func.func @main
// CHECK-SAME: -> (tensor<0x4xf32> {gr.name = "same"}, tensor<0x0x2xf32> {gr.name = "other"}, tensor<0xf32> {gr.name = "rank"})
func.func @main(%x: tensor<4xf32> {gr.name = "x"}, %y: tensor<2x2xf32> {gr.name = "y"})
    -> (tensor<*xf32> {gr.name = "same"}, tensor<*xf32> {gr.name = "other"}, tensor<*xf32> {gr.name = "rank"}) {
  %no = gr.constant dense<false> : tensor<i1> : tensor<i1>
  %zero = gr.constant dense<0> : tensor<i64> : tensor<i64>
  %0:4 = gr.loop %no iteration %zero carried(%x) {
  ^bb0(%i: tensor<i64>, %c: tensor<i1>, %v: tensor<*xf32>):
    %1 = gr.less %v, %x : (tensor<*xf32>, tensor<4xf32>) -> tensor<*xi1>
    %2:3 = gr.if %1 {
      %3 = gr.exp %v : (tensor<*xf32>) -> tensor<*xf32>
      gr.yield %3, %y, %3 : tensor<*xf32>, tensor<2x2xf32>, tensor<*xf32>
    } else {
      %4 = gr.neg %v : (tensor<*xf32>) -> tensor<*xf32>
      %5 = gr.concat %y, %y {axis = 0} : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<4x2xf32>
      gr.yield %4, %5, %y : tensor<*xf32>, tensor<4x2xf32>, tensor<2x2xf32>
    } : (tensor<*xi1>) -> (tensor<*xf32>, tensor<*xf32>, tensor<*xf32>)
    gr.yield %c, %v, %2#0, %2#1, %2#2 : tensor<i1>, tensor<*xf32>, tensor<*xf32>, tensor<*xf32>, tensor<*xf32>
  } : (tensor<i1>, tensor<i64>, tensor<4xf32>) -> (tensor<*xf32>, tensor<*xf32>, tensor<*xf32>, tensor<*xf32>)
  return %0#1, %0#2, %0#3 : tensor<*xf32>, tensor<*xf32>, tensor<*xf32>
}

// -----

// What follows an operation that would fail still has its type.
// CHECK-LABEL: func.func @main
// CHECK-SAME: -> (tensor<0x1x4xf32> {gr.name = "all"})
func.func @main(%x: tensor<4xf32> {gr.name = "x"}, %y: tensor<3xf32> {gr.name = "y"})
    -> (tensor<*xf32> {gr.name = "all"}) {
  %no = gr.constant dense<false> : tensor<i1> : tensor<i1>
  %zero = gr.constant dense<0> : tensor<i64> : tensor<i64>
  %0:3 = gr.loop %no iteration %zero carried(%x, %x) {
  ^bb0(%i: tensor<i64>, %c: tensor<i1>, %v: tensor<*xf32>, %w: tensor<*xf32>):
    %1 = gr.add %v, %y : (tensor<*xf32>, tensor<3xf32>) -> tensor<*xf32>
    %2 = gr.unsqueeze %w {axes = array<i64: 0>} : (tensor<*xf32>) -> tensor<*xf32>
    gr.yield %c, %1, %w, %2 : tensor<i1>, tensor<*xf32>, tensor<*xf32>, tensor<*xf32>
  } : (tensor<i1>, tensor<i64>, tensor<4xf32>, tensor<4xf32>) -> (tensor<*xf32>, tensor<*xf32>, tensor<*xf32>)
  return %0#2 : tensor<*xf32>
}

// -----

// A loop in the body that data ends: its types are those that one iteration gives.
// CHECK-LABEL: func.func @main
// CHECK-SAME: -> (tensor<0x0xf32> {gr.name = "grown"}, tensor<0x0x4xf32> {gr.name = "all"})
func.func @main(%x: tensor<4xf32> {gr.name = "x"}, %go: tensor<i1> {gr.name = "go"})
    -> (tensor<*xf32> {gr.name = "grown"}, tensor<*xf32> {gr.name = "all"}) {
  %no = gr.constant dense<false> : tensor<i1> : tensor<i1>
  %zero = gr.constant dense<0> : tensor<i64> : tensor<i64>
  %0:3 = gr.loop %no iteration %zero carried(%x) {
  ^bb0(%i: tensor<i64>, %c: tensor<i1>, %v: tensor<*xf32>):
    %1:2 = gr.loop %go iteration %zero carried(%v) {
    ^bb0(%j: tensor<i64>, %d: tensor<i1>, %w: tensor<*xf32>):
      %2 = gr.concat %w, %w {axis = 0} : (tensor<*xf32>, tensor<*xf32>) -> tensor<*xf32>
      gr.yield %d, %2, %w : tensor<i1>, tensor<*xf32>, tensor<*xf32>
    } : (tensor<i1>, tensor<i64>, tensor<*xf32>) -> (tensor<*xf32>, tensor<*xf32>)
    gr.yield %c, %v, %1#0, %1#1 : tensor<i1>, tensor<*xf32>, tensor<*xf32>, tensor<*xf32>
  } : (tensor<i1>, tensor<i64>, tensor<4xf32>) -> (tensor<*xf32>, tensor<*xf32>, tensor<*xf32>)
  return %0#1, %0#2 : tensor<*xf32>, tensor<*xf32>
}
