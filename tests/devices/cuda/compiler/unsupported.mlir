// What GPUs leave to CPUs: of the operations in tests/ir/all_ops.mlir those that no library has, no kernel is
// generated for, and that are not expanded; all others are supported. Convolutions
// are asked of the library. Collectives are taken apart, or given to members, when they have been placed.
// RUN: graphrun-opt %S/../../../ir/all_ops.mlir --gr-cuda-print-executable -o /dev/null | grep -v gr.conv | FileCheck %s
// REQUIRES: cuda

// CHECK: // main
// CHECK-NEXT: unsupported: gr.batch_norm_training:
// CHECK-NEXT: unsupported: gr.batch_norm_backward:
// CHECK-NEXT: unsupported: gr.max_pool_backward:
// CHECK-NEXT: unsupported: gr.avg_pool_backward:
// CHECK-NEXT: unsupported: gr.softmax_backward:
// CHECK-NEXT: unsupported: gr.layer_norm_backward:
// CHECK-NEXT: unsupported: gr.linear_attention:
// CHECK-NEXT: unsupported: gr.deferred:
// CHECK-NEXT: unsupported: gr.if:
// CHECK-NEXT: unsupported: gr.loop:
// CHECK-NEXT: unsupported: gr.sequence:
// CHECK-NEXT: unsupported: gr.sequence:
// CHECK-NEXT: unsupported: gr.watch:
// CHECK-NEXT: unsupported: gr.gradient:
// CHECK-NEXT: unsupported: gr.non_zero:
// CHECK-NEXT: unsupported: gr.unique:
// CHECK-NEXT: unsupported: gr.non_max_suppression:
// CHECK-NEXT: unsupported: gr.det:
// CHECK-NEXT: unsupported: gr.grid_sample_backward:
// CHECK-NEXT: unsupported: gr.roi_max_pool:
// CHECK-NEXT: unsupported: gr.deform_conv:
// CHECK-NEXT: unsupported: gr.evaluated:
// CHECK-NEXT: unsupported: gr.lookup:
// CHECK-NEXT: unsupported: gr.ngram_count:
// CHECK-NEXT: unsupported: gr.tree_ensemble:
// CHECK-NEXT: unsupported: gr.couple_probabilities:
// CHECK-NEXT: unsupported: gr.recurrent: gr.recurrent keeps its sums, which no cell on GPUs does
// CHECK-NEXT: unsupported: gr.recurrent_backward:
// CHECK-NEXT: unsupported: gr.dft:
// CHECK-NEXT: unsupported: gr.state: GPUs keep no states
// CHECK-NEXT: unsupported: gr.update: GPUs keep no states
// CHECK-NEXT: unsupported: gr.all_reduce:
// CHECK-NEXT: unsupported: gr.all_gather:
// CHECK-NEXT: unsupported: gr.reduce_scatter:
// CHECK-NOT: unsupported
