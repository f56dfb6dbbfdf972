// RUN: graphrun-opt %s --split-input-file --gr-cut-stages | FileCheck %s

// The elements of %n decide the type of %3: what comes before runs first.
// CHECK-LABEL: func.func @main
// CHECK-SAME: -> (tensor<4xf32> {gr.name = "e"}, tensor<2xi64> {gr.name = "crossing value 0"})
// CHECK: %[[E:.*]] = gr.exp %arg0
// CHECK-NEXT: %[[N:.*]] = gr.cast %arg1
// CHECK-NEXT: %[[S:.*]] = gr.concat %[[N]]
// CHECK-NEXT: return %[[E]], %[[S]]
// CHECK-LABEL: func.func @rest
// CHECK-SAME: (%arg0: tensor<2xi64> {gr.name = "value 0"}, %arg1: tensor<4xf32> {gr.name = "value 1"})
// CHECK-SAME: -> (tensor<?x4xf32> {gr.name = "y"})
// CHECK-SAME: gr.from = ["crossing value 0", "e"]
// CHECK-NEXT: %[[Y:.*]] = gr.expand %arg1, %arg0
// CHECK-NEXT: gr.relu %[[Y]]
func.func @main(%x: tensor<4xf32> {gr.name = "x"}, %m: tensor<1xf32> {gr.name = "m"})
    -> (tensor<?x4xf32> {gr.name = "y"}, tensor<4xf32> {gr.name = "e"}) {
  %four = gr.constant dense<4> : tensor<1xi64> : tensor<1xi64>
  %0 = gr.exp %x : (tensor<4xf32>) -> tensor<4xf32>
  %1 = gr.cast %m {to = i64} : (tensor<1xf32>) -> tensor<1xi64>
  %2 = gr.concat %1, %four {axis = 0 : i64} : (tensor<1xi64>, tensor<1xi64>) -> tensor<2xi64>
  %3 = gr.expand %0, %2 : (tensor<4xf32>, tensor<2xi64>) -> tensor<?x4xf32>
  %4 = gr.relu %3 : (tensor<?x4xf32>) -> tensor<?x4xf32>
  return %4, %0 : tensor<?x4xf32>, tensor<4xf32>
}

// -----

// An input decides: nothing is cut.
// CHECK-LABEL: func.func @main
// CHECK-SAME: gr.needed = ["shape"]
// CHECK-NEXT: gr.expand
// CHECK-NOT: @rest
func.func @main(%x: tensor<4xf32> {gr.name = "x"}, %s: tensor<2xi64> {gr.name = "shape"})
    -> (tensor<?x4xf32> {gr.name = "y"}) {
  %0 = gr.expand %x, %s : (tensor<4xf32>, tensor<2xi64>) -> tensor<?x4xf32>
  return %0 : tensor<?x4xf32>
}

// -----

// All is known: nothing is cut.
// CHECK-LABEL: func.func @main
// CHECK-NOT: gr.needed
// CHECK-NOT: @rest
func.func @main(%x: tensor<4xf32> {gr.name = "x"}) -> (tensor<4xf32> {gr.name = "y"}) {
  %0 = gr.exp %x : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// A list that is returned becomes one output for each tensor in it; no stage makes the list itself.
// CHECK-LABEL: func.func @main
// CHECK-SAME: (%[[X:.*]]: tensor<4xf32> {gr.name = "x"})
// CHECK-SAME: -> (tensor<4xf32> {gr.name = "y[0]"}, tensor<4xf32> {gr.name = "y[1][0]"}, tensor<0xf32> {gr.name = "z[]"})
// CHECK-NEXT: %[[E:.*]] = gr.exp
// CHECK-NEXT: %[[NONE:.*]] = gr.constant
// CHECK-NEXT: return %[[X]], %[[E]], %[[NONE]]
// CHECK-NOT: @rest
func.func @main(%x: tensor<4xf32> {gr.name = "x"})
    -> (tensor<*x!gr.sequence> {gr.name = "y"}, tensor<*x!gr.optional> {gr.name = "z"}) {
  %0 = gr.exp %x : (tensor<4xf32>) -> tensor<4xf32>
  %inner = gr.sequence %0 : (tensor<4xf32>) -> tensor<*x!gr.sequence>
  %outer = gr.sequence %x, %inner : (tensor<4xf32>, tensor<*x!gr.sequence>) -> tensor<*x!gr.sequence>
  %none = gr.sequence : () -> tensor<*x!gr.optional>
  return %outer, %none : tensor<*x!gr.sequence>, tensor<*x!gr.optional>
}

// -----

// What takes a list of values that this stage makes waits for elements only: the list moves on.
// CHECK-LABEL: func.func @main
// CHECK-SAME: gr.needed = ["place"]
func.func @main(%x: tensor<4xf32> {gr.name = "x"}, %p: tensor<i64> {gr.name = "place"})
    -> (tensor<*xindex> {gr.name = "y"}) {
  %0 = gr.exp %x : (tensor<4xf32>) -> tensor<4xf32>
  %list = gr.sequence %x, %0 : (tensor<4xf32>, tensor<4xf32>) -> tensor<*x!gr.sequence>
  %1 = gr.deferred %list, %p {node = "bytes", opset = 18 : i64, places = array<i64: 0, 1>, deciding = array<i64: 1>}
    : (tensor<*x!gr.sequence>, tensor<i64>) -> tensor<*xindex>
  return %1 : tensor<*xindex>
}

// -----

// CHECK-LABEL: func.func @main
// CHECK-SAME: -> (tensor<i64> {gr.name = "crossing value 0"}, tensor<4xf32> {gr.name = "crossing value 2"})
// CHECK-NOT: gr.sequence
// CHECK: return
// CHECK-LABEL: func.func @rest
// CHECK-NEXT: gr.sequence %arg{{.*}}, %arg{{.*}} :
// CHECK-NEXT: gr.deferred
func.func @main(%x: tensor<4xf32> {gr.name = "x"}, %p: tensor<i64> {gr.name = "place"})
    -> (tensor<*xindex> {gr.name = "y"}) {
  %0 = gr.exp %x : (tensor<4xf32>) -> tensor<4xf32>
  %place = gr.neg %p : (tensor<i64>) -> tensor<i64>
  %list = gr.sequence %x, %0 : (tensor<4xf32>, tensor<4xf32>) -> tensor<*x!gr.sequence>
  %1 = gr.deferred %list, %place {node = "bytes", opset = 18 : i64, places = array<i64: 0, 1>, deciding = array<i64: 1>}
    : (tensor<*x!gr.sequence>, tensor<i64>) -> tensor<*xindex>
  return %1 : tensor<*xindex>
}

// -----

// What was evaluated is a constant here, and an input of all that uses it: one plan serves for any.
// CHECK-LABEL: func.func @main
// CHECK-SAME: -> (tensor<2x!gr.string> {gr.name = "t"})
// CHECK: %[[T:.*]] = gr.constant dense<["p", "q"]>
// CHECK-NEXT: return %[[T]]
// CHECK-LABEL: func.func @rest
// CHECK-SAME: (%arg0: tensor<2x!gr.string> {gr.name = "value 0"})
// CHECK-SAME: -> (tensor<2xi1> {gr.name = "y"})
// CHECK-SAME: gr.from = ["t"]
// CHECK: gr.equal %arg0
func.func @main(%x: tensor<2x!gr.string> {gr.name = "x"})
    -> (tensor<2xi1> {gr.name = "y"}, tensor<2x!gr.string> {gr.name = "t"}) {
  %0 = gr.constant dense<"p"> : tensor<2x!gr.string> : tensor<2x!gr.string>
  %1 = gr.evaluated dense<["p", "q"]> : tensor<2x!gr.string> : tensor<2x!gr.string>
  %2 = gr.equal %1, %0 : (tensor<2x!gr.string>, tensor<2x!gr.string>) -> tensor<2xi1>
  return %2, %1 : tensor<2xi1>, tensor<2x!gr.string>
}

// -----

// Constants with which a loop begins cross for it alone: what its body begins with stays known there.
// CHECK-LABEL: func.func @main
// CHECK-LABEL: func.func @rest
// CHECK-SAME: %[[YES:[a-z0-9]+]]: tensor<i1> {gr.name = "value 1"}, %[[ZERO:[a-z0-9]+]]: tensor<i64> {gr.name = "value 2"}
// CHECK-DAG: %[[INNER_YES:.*]] = gr.constant dense<true>
// CHECK-DAG: %[[INNER_ZERO:.*]] = gr.constant dense<0> : tensor<i64>
// CHECK: gr.loop %[[YES]] iteration %[[ZERO]]
// CHECK: gr.less %[[INNER_ZERO]],
// CHECK: gr.loop %[[INNER_YES]] iteration %[[INNER_ZERO]]
func.func @main(%n: tensor<i64> {gr.name = "n"}, %m: tensor<i64> {gr.name = "m"}, %v: tensor<2x3xf32> {gr.name = "v"}, %s: tensor<3xf32> {gr.name = "s"}) -> (tensor<*xf32> {gr.name = "y"}) {
  %c = gr.less %n, %m : (tensor<i64>, tensor<i64>) -> tensor<i1>
  %u = gr.if %c {
    %1 = gr.abs %v : (tensor<2x3xf32>) -> tensor<2x3xf32>
    gr.yield %1 : tensor<2x3xf32>
  } else {
    %2 = gr.neg %v : (tensor<2x3xf32>) -> tensor<2x3xf32>
    gr.yield %2 : tensor<2x3xf32>
  } : (tensor<i1>) -> tensor<2x3xf32>
  %yes = gr.constant dense<true> : tensor<i1> : tensor<i1>
  %zero = gr.constant dense<0> : tensor<i64> : tensor<i64>
  %below0 = gr.less %zero, %n : (tensor<i64>, tensor<i64>) -> tensor<i1>
  %f:2 = gr.loop %yes iteration %zero below %below0 limit %n carried(%u) {
  ^bb0(%i: tensor<i64>, %g: tensor<i1>, %a: tensor<*xf32>):
    %sh = gr.shape %a {start = 0 : i64, end = 1 : i64} : (tensor<*xf32>) -> tensor<1xi64>
    %len = gr.squeeze %sh {axes = array<i64: 0>} : (tensor<1xi64>) -> tensor<i64>
    %below = gr.less %zero, %len : (tensor<i64>, tensor<i64>) -> tensor<i1>
    %r:2 = gr.loop %yes iteration %zero below %below limit %len carried(%s) {
    ^bb0(%j: tensor<i64>, %cc: tensor<i1>, %h: tensor<*xf32>):
      %x = gr.gather %a, %j {axis = 0 : i64} : (tensor<*xf32>, tensor<i64>) -> tensor<*xf32>
      %h2 = gr.add %h, %x : (tensor<*xf32>, tensor<*xf32>) -> tensor<*xf32>
      gr.yield %cc, %h2, %x : tensor<i1>, tensor<*xf32>, tensor<*xf32>
    } : (tensor<i1>, tensor<i64>, tensor<i1>, tensor<i64>, tensor<3xf32>) -> (tensor<*xf32>, tensor<*xf32>)
    gr.yield %g, %r#1, %r#1 : tensor<i1>, tensor<*xf32>, tensor<*xf32>
  } : (tensor<i1>, tensor<i64>, tensor<i1>, tensor<i64>, tensor<2x3xf32>) -> (tensor<*xf32>, tensor<*xf32>)
  return %f#1 : tensor<*xf32>
}
