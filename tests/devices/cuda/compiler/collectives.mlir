// A member's part in a collective is one instruction through NCCL. What nothing else reads is combined where it lies; what
// NCCL cannot combine is left to whoever else can.
// RUN: graphrun-opt %s --gr-cuda-print-executable -o /dev/null | FileCheck %s
// REQUIRES: cuda

// CHECK-LABEL: // members
// CHECK: %[[X:.*]] = input 0
// CHECK: generated gr.relu (%[[X]] 4x6xf32) -> (%[[A:.*]] 4x6xf32)
// CHECK-NEXT: nccl.collective gr.collective_member (%[[A]] 4x6xf32) -> (%[[A]] 4x6xf32)
// CHECK-NEXT: nccl.collective gr.collective_member (%[[A]] 4x6xf32) -> (%[[G:.*]] 8x6xf32)
// CHECK-NEXT: nccl.collective gr.collective_member (%[[A]] 4x6xf32) -> (%[[S:.*]] 2x6xf32)
// CHECK-NEXT: nccl.collective gr.collective_member (%[[X]] 4x6xf32) -> (%[[B:.*]] 4x6xf32)
// CHECK-NEXT: generated gr.add (%[[B]] 4x6xf32, %[[A]] 4x6xf32)
// CHECK: output output1 %[[G]]
// CHECK-NEXT: output output2 %[[S]]
func.func @members(%x: tensor<4x6xf32>) -> (tensor<4x6xf32>, tensor<8x6xf32>, tensor<2x6xf32>) {
  %0 = gr.relu %x : (tensor<4x6xf32>) -> tensor<4x6xf32>
  %1 = gr.collective_member %0 {collective = "all_reduce", communicator = 0 : i64, kind = "sum", tensor_type = tensor<4x6xf32>} : (tensor<4x6xf32>) -> tensor<4x6xf32>
  %2 = gr.collective_member %1 {collective = "all_gather", communicator = 0 : i64, kind = "", tensor_type = tensor<8x6xf32>} : (tensor<4x6xf32>) -> tensor<8x6xf32>
  %3 = gr.collective_member %1 {collective = "reduce_scatter", communicator = 2 : i64, kind = "max", tensor_type = tensor<2x6xf32>} : (tensor<4x6xf32>) -> tensor<2x6xf32>
  %4 = gr.collective_member %x {collective = "all_reduce", communicator = 0 : i64, kind = "min", tensor_type = tensor<4x6xf32>} : (tensor<4x6xf32>) -> tensor<4x6xf32>
  %5 = gr.add %4, %1 : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
  return %5, %2, %3 : tensor<4x6xf32>, tensor<8x6xf32>, tensor<2x6xf32>
}

// CHECK-LABEL: // uncombined
// CHECK: unsupported: gr.collective_member: no library's kernel for GPUs (NCCL does not combine elements of i16 by sum)
func.func @uncombined(%x: tensor<4xi16>) -> tensor<4xi16> {
  %0 = gr.collective_member %x {collective = "all_reduce", communicator = 0 : i64, kind = "sum", tensor_type = tensor<4xi16>} : (tensor<4xi16>) -> tensor<4xi16>
  return %0 : tensor<4xi16>
}
