// RUN: graphrun-opt %s --gr-cuda-print-kernels -o /dev/null | FileCheck %s
// RUN: graphrun-opt %s --gr-cuda-print-kernels=sm=80 -o /dev/null | FileCheck %s --check-prefix=PTX

// A row is repeated: a thread has four elements of it, and of the matrix.
// CHECK-LABEL: // gr.add
// CHECK-NEXT: launch kernel grid 4 1 1 block 256 1 1 shared 0
// CHECK-NEXT: (operand 0, operand 1, result 0, integer 1024, integer 32, integer 128)
// CHECK: func.func @kernel(
// CHECK-SAME: %[[X:.*]]: !llvm.ptr {llvm.noalias}, %[[Y:.*]]: !llvm.ptr {llvm.noalias}
// CHECK: %[[BLOCK:.*]] = nvvm.read.ptx.sreg.ctaid.x
// CHECK: %[[THREAD:.*]] = nvvm.read.ptx.sreg.tid.x
// CHECK: scf.if
// CHECK: arith.remui
// CHECK: arith.divui
// CHECK: llvm.load {{.*}} {alignment = 16 : i64} : !llvm.ptr -> vector<4xf32>
// CHECK: llvm.load {{.*}} {alignment = 16 : i64} : !llvm.ptr -> vector<4xf32>
// CHECK: %[[SUM:.*]] = arith.addf {{.*}} : vector<4xf32>
// CHECK: llvm.store %[[SUM]], {{.*}} {alignment = 16 : i64}
// PTX-LABEL: // gr.add
// PTX: .target sm_80
// PTX: .visible .entry kernel(
// PTX: .reqntid 256
// PTX-DAG: ld.global.nc.v4.f32
// PTX-DAG: ld.global.nc.v4.f32
// PTX: st.global.v4.f32
func.func @row(%x: tensor<32x128xf32>, %y: tensor<128xf32>) -> tensor<32x128xf32> {
  %0 = gr.add %x, %y : (tensor<32x128xf32>, tensor<128xf32>) -> tensor<32x128xf32>
  return %0 : tensor<32x128xf32>
}

// 16-bit floats are computed in f32, eight of them in a thread.
// CHECK-LABEL: // gr.exp
// CHECK: arith.extf {{.*}} : vector<8xf16> to vector<8xf32>
// CHECK: math.exp {{.*}} : vector<8xf32>
// CHECK: arith.truncf {{.*}} : vector<8xf32> to vector<8xf16>
// PTX-LABEL: // gr.exp
// PTX: fma.rn.f32
// PTX-NOT: call
// PTX: st.global.v4
func.func @half(%x: tensor<4096xf16>) -> tensor<4096xf16> {
  %0 = gr.exp %x : (tensor<4096xf16>) -> tensor<4096xf16>
  return %0 : tensor<4096xf16>
}

// Of the slice only the operand is read; where it starts is in the code.
// CHECK-LABEL: // gr.slice
// CHECK-NEXT: launch kernel grid 2 1 1 block 256 1 1 shared 0
// CHECK-NEXT: (operand 0, result 0, integer 512, integer 40, integer 32)
func.func @part(%x: tensor<64x40xf32>) -> tensor<64x32xf32> {
  %from = gr.constant dense<4> : tensor<1xi64> : tensor<1xi64>
  %to = gr.constant dense<36> : tensor<1xi64> : tensor<1xi64>
  %one = gr.constant dense<1> : tensor<1xi64> : tensor<1xi64>
  %0 = gr.slice %x, %from, %to, %one, %one : (tensor<64x40xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<64x32xf32>
  return %0 : tensor<64x32xf32>
}

// Functions of f64 are code, too.
// CHECK-LABEL: // gr.erf
// CHECK-NEXT: launch kernel grid 1 1 1 block 256 1 1 shared 0
func.func @double(%x: tensor<8xf64>) -> tensor<8xf64> {
  %0 = gr.erf %x : (tensor<8xf64>) -> tensor<8xf64>
  return %0 : tensor<8xf64>
}

// CHECK-LABEL: // gr.matmul
// CHECK-NEXT: unsupported: gr.matmul is not a map over its result
func.func @product(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %0 = gr.matmul %x, %x : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}
