// Orders that no graph can be computed in.
// RUN: not graphrun-opt %s --pass-pipeline="builtin.module(func.func(gr-rematerialize{order=u,u}))" 2>&1 | FileCheck %s --check-prefix=UPDATE
// RUN: not graphrun-opt %s --pass-pipeline="builtin.module(func.func(gr-rematerialize{order=a,b}))" 2>&1 | FileCheck %s --check-prefix=UNKNOWN

// UPDATE: 'gr.update' op cannot be computed again: it does more than to make its results
// UNKNOWN: order: 'b' is no operation of the graph
func.func @update(%x: tensor<4xf32>) -> tensor<4xf32> {
  %w = gr.state "w" dense<1.0> : tensor<4xf32> : tensor<4xf32>
  %a = gr.exp %x : (tensor<4xf32>) -> tensor<4xf32> loc("a")
  gr.update %w, %a : (tensor<4xf32>, tensor<4xf32>) -> () loc("u")
  return %a : tensor<4xf32>
}
