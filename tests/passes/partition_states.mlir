// gr-partition-graph: a state is read where it is, and sent to where else it is used; its next value
// is sent to it.
// RUN: graphrun-opt %s --gr-partition-graph="home=client local=client" | FileCheck %s

// CHECK: func.func @a()
// CHECK: %[[W:.*]] = gr.state "w" dense<1.000000e+00>
// CHECK-NEXT: gr.send %[[W]] {edge = 0 : i64}
// CHECK-NEXT: %[[NEXT:.*]] = gr.recv {edge = 1 : i64
// CHECK-NEXT: gr.update %[[W]], %[[NEXT]]
// CHECK: func.func @b()
// CHECK: %[[HERE:.*]] = gr.recv {edge = 0 : i64
// CHECK-NEXT: %[[SUM:.*]] = gr.add %[[HERE]], %[[HERE]]
// CHECK-NEXT: gr.send %[[SUM]] {edge = 1 : i64}
// CHECK-NEXT: gr.send %[[SUM]] {edge = 2 : i64}
func.func @step() -> tensor<2xf32> {
  %w = gr.state "w" dense<1.0> : tensor<2xf32> {gr.device = #gr.device<"a">} : tensor<2xf32>
  %next = gr.add %w, %w {gr.device = #gr.device<"b">} : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  gr.update %w, %next {gr.device = #gr.device<"a">} : (tensor<2xf32>, tensor<2xf32>) -> ()
  return %next : tensor<2xf32>
}
