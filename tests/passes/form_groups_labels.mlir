// A group is called by the names of what it joins, also in the middle of a longer graph.
// RUN: graphrun-opt %s --gr-form-groups --mlir-print-debuginfo | FileCheck %s

// CHECK: gr.group
// CHECK: } : (tensor<4xf32>) -> tensor<4xf32> loc(#[[L:.*]])
// CHECK: #[[L]] = loc("first+second")
func.func @labels(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = gr.exp %x : (tensor<4xf32>) -> tensor<4xf32> loc("first")
  %1 = gr.abs %0 : (tensor<4xf32>) -> tensor<4xf32> loc("second")
  return %1 : tensor<4xf32>
}
