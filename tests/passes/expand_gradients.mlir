// gr-expand-gradients: rules, sums of partial gradients, watches, zeros. The rules themselves are held
// against central differences (tests/ir/gradients).
// RUN: graphrun-opt %s --gr-expand-gradients -split-input-file 2>%t | FileCheck %s
// RUN: FileCheck %s --check-prefix=WARNING --input-file=%t

// Each operation adds to the gradients of its operands: of x first what comes from its last user.
// CHECK-LABEL: func.func @partial_sums
func.func @partial_sums(%x: tensor<3xf32>, %y: tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>) {
  // CHECK: gr.reduce
  // CHECK-NEXT: %[[ONE:.*]] = gr.constant dense<1.0
  // CHECK: %[[EACH:.*]] = gr.expand
  // CHECK-NEXT: %[[LATE:.*]] = gr.mul %[[EACH]], %arg1
  // CHECK-NEXT: %[[DY:.*]] = gr.mul %[[EACH]], %[[EXP:.*]] :
  // CHECK-NEXT: %[[EARLY:.*]] = gr.mul %[[LATE]], %[[EXP]]
  // CHECK-NEXT: return %[[EARLY]], %[[DY]]
  %0 = gr.exp %x : (tensor<3xf32>) -> tensor<3xf32>
  %1 = gr.mul %0, %y : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  %2 = gr.reduce %1 {kind = "sum", axes = array<i64: 0>, keepdims = false} : (tensor<3xf32>) -> tensor<f32>
  %3:2 = gr.gradient %2 wrt(%x, %y) : (tensor<f32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>)
  return %3#0, %3#1 : tensor<3xf32>, tensor<3xf32>
}

// -----

// What is broadcast is summed.
// CHECK-LABEL: func.func @broadcast
func.func @broadcast(%x: tensor<2x3xf32>, %b: tensor<3xf32>) -> tensor<3xf32> {
  // CHECK: %[[ROWS:.*]] = gr.reduce %{{.*}} {axes = array<i64: 0>, kind = "sum"} : (tensor<2x3xf32>) -> tensor<1x3xf32>
  // CHECK: %[[SUM:.*]] = gr.reshape %[[ROWS]]
  // CHECK-NEXT: return %[[SUM]]
  %0 = gr.add %x, %b : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  %1 = gr.reduce %0 {kind = "sum", axes = array<i64: 0, 1>, keepdims = false} : (tensor<2x3xf32>) -> tensor<f32>
  %2 = gr.gradient %1 wrt(%b) : (tensor<f32>, tensor<3xf32>) -> tensor<3xf32>
  return %2 : tensor<3xf32>
}

// -----

// A watched value stays what the loss is computed from; the watch goes.
// CHECK-LABEL: func.func @watched
func.func @watched() -> tensor<f32> {
  // CHECK-NOT: gr.watch
  // CHECK: %[[C:.*]] = gr.constant dense<3.0
  // CHECK: %[[Y:.*]] = gr.exp %[[C]]
  // CHECK: %[[D:.*]] = gr.mul %{{.*}}, %[[Y]]
  // CHECK-NEXT: return %[[D]]
  %c = gr.constant dense<3.0> : tensor<f32> : tensor<f32>
  %w = gr.watch %c : (tensor<f32>) -> tensor<f32>
  %0 = gr.exp %w : (tensor<f32>) -> tensor<f32>
  %1 = gr.gradient %0 wrt(%w) : (tensor<f32>, tensor<f32>) -> tensor<f32>
  return %1 : tensor<f32>
}

// -----

// Through a value that is watched, too, the gradient goes on.
// CHECK-LABEL: func.func @through_a_watch
func.func @through_a_watch(%x: tensor<f32>) -> (tensor<f32>, tensor<f32>) {
  // CHECK: %[[INNER:.*]] = gr.mul %{{.*}}, %{{.*}}
  // CHECK: %[[OUTER:.*]] = gr.mul %[[INNER]], %{{.*}}
  // CHECK: return %[[OUTER]], %[[INNER]]
  %0 = gr.exp %x : (tensor<f32>) -> tensor<f32>
  %1 = gr.watch %0 : (tensor<f32>) -> tensor<f32>
  %2 = gr.exp %1 : (tensor<f32>) -> tensor<f32>
  %3:2 = gr.gradient %2 wrt(%x, %1) : (tensor<f32>, tensor<f32>, tensor<f32>) -> (tensor<f32>, tensor<f32>)
  return %3#0, %3#1 : tensor<f32>, tensor<f32>
}

// -----

// A gradient may be differentiated again: d/dx of 2 x is 2.
// CHECK-LABEL: func.func @second_order
func.func @second_order(%x: tensor<f64>) -> tensor<f64> {
  // CHECK-NOT: gr.gradient
  %0 = gr.mul %x, %x : (tensor<f64>, tensor<f64>) -> tensor<f64>
  %1 = gr.gradient %0 wrt(%x) : (tensor<f64>, tensor<f64>) -> tensor<f64>
  %2 = gr.gradient %1 wrt(%x) : (tensor<f64>, tensor<f64>) -> tensor<f64>
  return %2 : tensor<f64>
}

// -----

// Conditions and indices have no gradients; the values that they choose have.
// CHECK-LABEL: func.func @choice
func.func @choice(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK: gr.less
  // CHECK: gr.where
  // CHECK: %[[D:.*]] = gr.where %{{.*}}, %{{.*}}, %{{.*}} :
  // CHECK-NEXT: return %[[D]]
  %zero = gr.constant dense<0.0> : tensor<f32> : tensor<f32>
  %0 = gr.less %x, %zero : (tensor<4xf32>, tensor<f32>) -> tensor<4xi1>
  %1 = gr.where %0, %zero, %x : (tensor<4xi1>, tensor<f32>, tensor<4xf32>) -> tensor<4xf32>
  %2 = gr.reduce %1 {kind = "sum", axes = array<i64: 0>, keepdims = false} : (tensor<4xf32>) -> tensor<f32>
  %3 = gr.gradient %2 wrt(%x) : (tensor<f32>, tensor<4xf32>) -> tensor<4xf32>
  return %3 : tensor<4xf32>
}

// -----

// A value that the loss does not depend on.
// WARNING: warning: loss 'node a' does not depend on 'unused': its gradient is zero
// CHECK-LABEL: func.func @independent
func.func @independent(%x: tensor<f32>, %y: tensor<2xf32> {gr.name = "unused"}) -> tensor<2xf32> {
  // CHECK: %[[ZERO:.*]] = gr.constant dense<0.0{{.*}}> : tensor<2xf32>
  // CHECK-NEXT: return %[[ZERO]]
  %0 = gr.exp %x : (tensor<f32>) -> tensor<f32> loc("node a")
  %1 = gr.gradient %0 wrt(%y) : (tensor<f32>, tensor<2xf32>) -> tensor<2xf32>
  return %1 : tensor<2xf32>
}

// -----

// A value without elements, and the loss itself.
// CHECK-LABEL: func.func @corners
func.func @corners(%x: tensor<0xf32>, %y: tensor<1xf32>) -> (tensor<0xf32>, tensor<1xf32>) {
  // CHECK: %[[ONE:.*]] = gr.constant dense<1.0{{.*}}> : tensor<1xf32>
  // CHECK: %[[NONE:.*]] = gr.constant dense<> : tensor<0xf32>
  // CHECK: return %[[NONE]], %[[ONE]]
  %0:2 = gr.gradient %y wrt(%x, %y) : (tensor<1xf32>, tensor<0xf32>, tensor<1xf32>) -> (tensor<0xf32>, tensor<1xf32>)
  return %0#0, %0#1 : tensor<0xf32>, tensor<1xf32>
}

// -----

// What comes back is called after what it comes back through.
// RUN: graphrun-opt %s --gr-expand-gradients -split-input-file -mlir-print-debuginfo 2>/dev/null | FileCheck %s --check-prefix=NAMES
// NAMES-LABEL: func.func @named
// NAMES: gr.mul {{.*}} loc(#[[LOC:.*]])
// NAMES: #[[LOC]] = loc("layer/exp/gradient")
func.func @named(%x: tensor<f32>) -> tensor<f32> {
  %0 = gr.exp %x : (tensor<f32>) -> tensor<f32> loc("layer/exp")
  %1 = gr.gradient %0 wrt(%x) : (tensor<f32>, tensor<f32>) -> tensor<f32>
  return %1 : tensor<f32>
}
