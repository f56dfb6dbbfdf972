// gr-freeze-states, and how the other passes see states: two of one name are one, two of equal values
// are not, none is folded, and an update is kept.
// RUN: graphrun-opt %s --gr-freeze-states | FileCheck %s --check-prefix=FROZEN
// RUN: graphrun-opt %s --gr-simplify | FileCheck %s

// FROZEN-LABEL: func.func @step
// FROZEN-NOT: gr.state
// FROZEN-NOT: gr.update
// FROZEN: gr.constant dense<1.000000e+00>
// FROZEN: return

// CHECK-LABEL: func.func @step
// CHECK-DAG: %[[A:.*]] = gr.state "a" dense<1.000000e+00>
// CHECK-DAG: %[[B:.*]] = gr.state "b" dense<1.000000e+00>
// CHECK-NOT: gr.state
// CHECK: gr.mul %{{.*}}, %[[A]]
// CHECK: %[[NEXT:.*]] = gr.add %[[A]], %[[B]]
// CHECK: gr.update %[[A]], %[[NEXT]]
func.func @step(%x: tensor<2xf32>) -> tensor<2xf32> {
  %a = gr.state "a" dense<1.0> : tensor<2xf32> : tensor<2xf32>
  %again = gr.state "a" dense<1.0> : tensor<2xf32> : tensor<2xf32>
  %b = gr.state "b" dense<1.0> : tensor<2xf32> : tensor<2xf32>
  %unused = gr.state "c" dense<1.0> : tensor<2xf32> : tensor<2xf32>
  %y = gr.mul %x, %a : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %next = gr.add %again, %b : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  gr.update %a, %next : (tensor<2xf32>, tensor<2xf32>) -> ()
  return %y : tensor<2xf32>
}
