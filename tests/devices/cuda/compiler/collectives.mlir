// A member's part in a collective is one step through NCCL. What nothing else reads is combined where it lies; what
// NCCL cannot combine is left, as are collectives that have no members yet.
// RUN: graphrun-opt %s --gr-cuda-print-executable -o /dev/null | FileCheck %s
// REQUIRES: cuda

// CHECK-LABEL: // combined
// CHECK: unsupported: none
func.func @combined(%x: tensor<4x6xf32>) -> (tensor<4x6xf32>, tensor<8x6xf32>, tensor<2x6xf32>) {
  %0 = gr.relu %x : tensor<4x6xf32>
  %1 = "gr.collective_member"(%0) {collective = "all_reduce", communicator = 0 : i64, kind = "sum", tensor_type = tensor<4x6xf32>} : (tensor<4x6xf32>) -> tensor<4x6xf32>
  %2 = "gr.collective_member"(%1) {collective = "all_gather", communicator = 0 : i64, kind = "", tensor_type = tensor<8x6xf32>} : (tensor<4x6xf32>) -> tensor<8x6xf32>
  %3 = "gr.collective_member"(%1) {collective = "reduce_scatter", communicator = 2 : i64, kind = "max", tensor_type = tensor<2x6xf32>} : (tensor<4x6xf32>) -> tensor<2x6xf32>
  %4 = gr.relu %1 : tensor<4x6xf32>
  return %4, %2, %3 : tensor<4x6xf32>, tensor<8x6xf32>, tensor<2x6xf32>
}
