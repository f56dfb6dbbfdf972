// What GPUs leave to CPUs: of the operations in tests/ir/all_ops.mlir those that no library has, no kernel is
// generated for, and that are not expanded; all others are supported. The casts are those of the types of
// less than 8 bits; convolutions are asked of the library.
// RUN: graphrun-opt %S/../../../ir/all_ops.mlir --gr-cuda-print-executable -o /dev/null | grep -v gr.conv | FileCheck %s
// REQUIRES: cuda

// CHECK: // main
// CHECK-NEXT: unsupported: gr.cast:
// CHECK-NEXT: unsupported: gr.cast:
// CHECK-NEXT: unsupported: gr.cast:
// CHECK-NEXT: unsupported: gr.bitcast:
// CHECK-NEXT: unsupported: gr.mod:
// CHECK-NEXT: unsupported: gr.resize:
// CHECK-NEXT: unsupported: gr.linear_attention:
// CHECK-NEXT: unsupported: gr.shape:
// CHECK-NEXT: unsupported: gr.fill:
// CHECK-NEXT: unsupported: gr.deferred:
// CHECK-NEXT: unsupported: gr.if:
// CHECK-NEXT: unsupported: gr.loop:
// CHECK-NEXT: unsupported: gr.sequence:
// CHECK-NEXT: unsupported: gr.sequence:
// CHECK-NEXT: unsupported: gr.range:
// CHECK-NEXT: unsupported: gr.gather_nd:
// CHECK-NEXT: unsupported: gr.scatter_elements:
// CHECK-NEXT: unsupported: gr.scatter_nd:
// CHECK-NEXT: unsupported: gr.non_zero:
// CHECK-NEXT: unsupported: gr.unique:
// CHECK-NEXT: unsupported: gr.top_k:
// CHECK-NEXT: unsupported: gr.non_max_suppression:
// CHECK-NEXT: unsupported: gr.det:
// CHECK-NEXT: unsupported: gr.random:
// CHECK-NEXT: unsupported: gr.grid_sample:
// CHECK-NEXT: unsupported: gr.roi_align:
// CHECK-NEXT: unsupported: gr.roi_max_pool:
// CHECK-NEXT: unsupported: gr.col2im:
// CHECK-NEXT: unsupported: gr.max_pool_with_indices:
// CHECK-NEXT: unsupported: gr.deform_conv:
// CHECK-NEXT: unsupported: gr.resize:
// CHECK-NEXT: unsupported: gr.resize:
// CHECK-NEXT: unsupported: gr.evaluated:
// CHECK-NEXT: unsupported: gr.lookup:
// CHECK-NEXT: unsupported: gr.ngram_count:
// CHECK-NEXT: unsupported: gr.tree_ensemble:
// CHECK-NEXT: unsupported: gr.squared_distance:
// CHECK-NEXT: unsupported: gr.couple_probabilities:
// CHECK-NEXT: unsupported: gr.recurrent:
// CHECK-NEXT: unsupported: gr.dft:
// CHECK-NOT: unsupported
