// Values are computed again where an order says so; users behind that read the clones.
// RUN: graphrun-opt %s --split-input-file --pass-pipeline="builtin.module(func.func(gr-rematerialize{order=w,a,b,c,a,b,d,n}))" --mlir-print-debuginfo --mlir-print-local-scope | FileCheck %s

// The chain of two is cloned before its reader, in which one clone reads the other; 'c', which runs
// before, and the output read what was there first.
// CHECK-LABEL: func.func @chain
func.func @chain(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  // CHECK: %[[W:.*]] = gr.state "w"
  %w = gr.state "w" dense<1.0> : tensor<4xf32> : tensor<4xf32> loc("w")
  // CHECK: %[[A:.*]] = gr.mul %arg0, %[[W]]
  %a = gr.mul %x, %w : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> loc("a")
  // CHECK: %[[B:.*]] = gr.exp %[[A]]
  %b = gr.exp %a : (tensor<4xf32>) -> tensor<4xf32> loc("b")
  // CHECK: %[[C:.*]] = gr.sin %[[B]]
  %c = gr.sin %b : (tensor<4xf32>) -> tensor<4xf32> loc("c")
  // CHECK: %[[A2:.*]] = gr.mul %arg0, %[[W]] {gr.again} {{.*}}loc("a/again")
  // CHECK: %[[B2:.*]] = gr.exp %[[A2]] {gr.again} {{.*}}loc("b/again")
  // CHECK: %[[D:.*]] = gr.mul %[[C]], %[[B2]]
  %d = gr.mul %c, %b : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> loc("d")
  // CHECK: %[[N:.*]] = gr.add %[[D]], %[[A2]]
  %n = gr.add %d, %a : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> loc("n")
  // CHECK: gr.update %[[W]], %[[N]]
  gr.update %w, %n : (tensor<4xf32>, tensor<4xf32>) -> ()
  // CHECK: return %[[C]], %[[B]]
  return %c, %b : tensor<4xf32>, tensor<4xf32>
}

// -----

// A user on another device got what was made first. Nothing reads 'b' again, so it has no clone.
// CHECK-LABEL: func.func @devices
func.func @devices(%x: tensor<4xf32>) -> tensor<4xf32> {
  %w = gr.state "w" dense<1.0> : tensor<4xf32> : tensor<4xf32> loc("w")
  // CHECK: %[[A:.*]] = gr.exp %arg0
  %a = gr.exp %x {gr.device = #gr.device<"p">} : (tensor<4xf32>) -> tensor<4xf32> loc("a")
  // CHECK: %[[B:.*]] = gr.sin %[[A]]
  %b = gr.sin %a {gr.device = #gr.device<"p">} : (tensor<4xf32>) -> tensor<4xf32> loc("b")
  // CHECK: %[[C:.*]] = gr.exp %[[B]]
  %c = gr.exp %b {gr.device = #gr.device<"q">} : (tensor<4xf32>) -> tensor<4xf32> loc("c")
  // CHECK: %[[D:.*]] = gr.mul %[[C]], %[[A]]
  %d = gr.mul %c, %a {gr.device = #gr.device<"q">} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> loc("d")
  // CHECK: %[[A2:.*]] = gr.exp %arg0 {gr.again, gr.device = #gr.device<"p">}
  // CHECK-NOT: gr.sin
  // CHECK: gr.mul %[[A2]], %[[D]]
  %n = gr.mul %a, %d {gr.device = #gr.device<"p">} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> loc("n")
  return %n : tensor<4xf32>
}

// -----

// Random numbers follow from seed, position and step: a clone draws the same.
// CHECK-LABEL: func.func @random
func.func @random(%x: tensor<4xf32>) -> tensor<4xf32> {
  %s = gr.constant dense<4> : tensor<1xi64> : tensor<1xi64>
  %w = gr.state "w" dense<1.0> : tensor<4xf32> : tensor<4xf32> loc("w")
  // CHECK: %[[A:.*]] = gr.random
  %a = gr.random %s {kind = "uniform", a = 0.0 : f64, b = 1.0 : f64, seed = 7 : i64, to = f32} : (tensor<1xi64>) -> tensor<4xf32> loc("a")
  %b = gr.exp %x : (tensor<4xf32>) -> tensor<4xf32> loc("b")
  %c = gr.mul %b, %a : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> loc("c")
  // CHECK: %[[A2:.*]] = gr.random {{.*}}gr.again, {{.*}}seed = 7
  %d = gr.add %c, %a : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> loc("d")
  // CHECK: gr.sub %{{.*}}, %[[A2]]
  %n = gr.sub %d, %a : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> loc("n")
  return %n : tensor<4xf32>
}
