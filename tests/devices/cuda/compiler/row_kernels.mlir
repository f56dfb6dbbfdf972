// RUN: graphrun-opt %s --gr-cuda-print-kernels -o /dev/null | FileCheck %s
// RUN: graphrun-opt %s --gr-cuda-print-kernels=sm=90 -o /dev/null | FileCheck %s --check-prefix=PTX

// A warp a row, each in a block of its own while rows are few: the maximum and the sum go through the
// warp, nothing is shared. The row is read once.
// CHECK-LABEL: // gr.softmax
// CHECK-NEXT: launch kernel grid 64 1 1 block 32 1 1 shared 0
// CHECK-NEXT: (operand 0, result 0, integer 64, integer 128)
// CHECK-NOT: scf.for
// CHECK: llvm.load {{.*}} -> vector<4xf32>
// CHECK-COUNT-5: nvvm.shfl.sync bfly
// CHECK: math.exp
// CHECK-COUNT-5: nvvm.shfl.sync bfly
// CHECK-NOT: nvvm.barrier0
// PTX-LABEL: // gr.softmax
// PTX: ld.global.nc.v4.f32
// PTX: shfl.sync.bfly.b32
// PTX: st.global.v4.f32
func.func @softmax(%x: tensor<64x128xf32>) -> tensor<64x128xf32> {
  %0 = gr.softmax %x {axis = 1 : i64} : (tensor<64x128xf32>) -> tensor<64x128xf32>
  return %0 : tensor<64x128xf32>
}

// A block a row, whose warps meet in shared memory.
// CHECK-LABEL: // gr.reduce
// CHECK-NEXT: launch kernel grid 16 1 1 block 256 1 1 shared 0
// CHECK: llvm.mlir.global internal @shared0() {addr_space = 3 : i32
// CHECK-COUNT-5: nvvm.shfl.sync bfly
// CHECK: nvvm.barrier0
// PTX-LABEL: // gr.reduce
// PTX: .shared .align 8 .b8 shared0[32]
// PTX: bar.sync
func.func @long(%x: tensor<16x4096xf16>) -> tensor<16x1xf16> {
  %0 = gr.reduce %x {kind = "sum", axes = array<i64: 1>} : (tensor<16x4096xf16>) -> tensor<16x1xf16>
  return %0 : tensor<16x1xf16>
}

// A thread a column.
// CHECK-LABEL: // gr.reduce
// CHECK-NEXT: launch kernel grid 2 1 1 block 256 1 1 shared 0
// CHECK-NOT: nvvm.shfl.sync
// CHECK-LABEL: // gr.reduce
// CHECK-NEXT: unsupported: gr.reduce reduces dims that do not follow each other
func.func @columns(%x: tensor<4x64x128xf32>) -> (tensor<4x1x128xf32>, tensor<1x64x1xf32>) {
  %0 = gr.reduce %x {kind = "max", axes = array<i64: 1>} : (tensor<4x64x128xf32>) -> tensor<4x1x128xf32>
  %1 = gr.reduce %x {kind = "max", axes = array<i64: 0, 2>} : (tensor<4x64x128xf32>) -> tensor<1x64x1xf32>
  return %0, %1 : tensor<4x1x128xf32>, tensor<1x64x1xf32>
}

// Many rows share blocks, and a row of many vectors is read in a loop.
// CHECK-LABEL: // gr.softmax
// CHECK-NEXT: launch kernel grid 512 1 1 block 256 1 1 shared 0
// CHECK: scf.for {{.*}} -> (vector<2xf32>)
func.func @many(%x: tensor<4096x1022xf32>) -> tensor<4096x1022xf32> {
  %0 = gr.softmax %x {axis = 1 : i64} : (tensor<4096x1022xf32>) -> tensor<4096x1022xf32>
  return %0 : tensor<4096x1022xf32>
}
