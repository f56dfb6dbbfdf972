// RUN: graphrun-opt %s --gr-form-groups --gr-cuda-print-executable=sm=90 | FileCheck %s
// RUN: graphrun-opt %s --gr-form-groups --gr-cuda-print-executable="sm=90 tf32=true" | FileCheck %s --check-prefix=ROUNDED
// RUN: graphrun-opt %s --gr-form-groups --gr-cuda-print-executable=sm=80 | FileCheck %s --check-prefix=OLD --implicit-check-not="gr.matmul ({{.*}}f8e"
// REQUIRES: cuda

// Tensor cores multiply the bytes; nothing makes wide floats of them. The weight lies transposed, and its
// scale and the other are one factor. Older GPUs get a weight of f16 and dequantise the other operand.
// CHECK-LABEL: // halves
// CHECK: [[W:%[0-9]+]] = constant, 3072 bytes
// CHECK: generated gr.cast ({{.*}}) -> ([[X:%[0-9]+]] 32x64xf8e4m3fn)
// CHECK-NEXT: cublaslt.matmul gr.matmul ([[X]] 32x64xf8e4m3fn, [[W]] 64x48xf8e5m2 laid out, {{.*}} 48xf16) -> ({{.*}} 32x48xf16) then gr.relu scratch
// CHECK-NEXT: output
// OLD-LABEL: // halves
// OLD: constant, 6144 bytes
// OLD: generated gr.cast ({{.*}}) -> ([[X:%[0-9]+]] 32x64xf8e4m3fn)
// OLD-NEXT: generated gr.cast ([[X]] 32x64xf8e4m3fn, {{.*}}) -> ([[F:%[0-9]+]] 32x64xf32)
// OLD-NEXT: generated gr.group ([[F]] 32x64xf32) -> ([[H:%[0-9]+]] 32x64xf16)
// OLD-NEXT: cublaslt.matmul gr.matmul ([[H]] 32x64xf16, {{.*}} 64x48xf16, {{.*}} 48xf16) -> ({{.*}} 32x48xf16) then gr.relu scratch
func.func @halves(%x: tensor<32x64xf16>) -> tensor<32x48xf16> {
  %b = gr.constant dense<0.5> : tensor<48xf16> : tensor<48xf16>
  %w = gr.constant dense<1.5> : tensor<64x48xf8E5M2> : tensor<64x48xf8E5M2>
  %sx = gr.constant dense<3.0> : tensor<f32> : tensor<f32>
  %sw = gr.constant dense<0.3> : tensor<f32> : tensor<f32>
  %q = gr.cast %x {to = f8E4M3FN} : (tensor<32x64xf16>) -> tensor<32x64xf8E4M3FN>
  %0 = gr.cast %q {to = f32} : (tensor<32x64xf8E4M3FN>) -> tensor<32x64xf32>
  %1 = gr.mul %0, %sx : (tensor<32x64xf32>, tensor<f32>) -> tensor<32x64xf32>
  %2 = gr.cast %1 {to = f16} : (tensor<32x64xf32>) -> tensor<32x64xf16>
  %3 = gr.cast %w {to = f32} : (tensor<64x48xf8E5M2>) -> tensor<64x48xf32>
  %4 = gr.mul %3, %sw : (tensor<64x48xf32>, tensor<f32>) -> tensor<64x48xf32>
  %5 = gr.cast %4 {to = f16} : (tensor<64x48xf32>) -> tensor<64x48xf16>
  %6 = gr.matmul %2, %5 : (tensor<32x64xf16>, tensor<64x48xf16>) -> tensor<32x48xf16>
  %7 = gr.add %6, %b : (tensor<32x48xf16>, tensor<48xf16>) -> tensor<32x48xf16>
  %8 = gr.relu %7 : (tensor<32x48xf16>) -> tensor<32x48xf16>
  return %8 : tensor<32x48xf16>
}

// Sums of f32 are more exact than those of 8-bit floats, so f32 must be allowed to be rounded. Its bias is not
// the library's. What is read by two products is quantised once.
// CHECK-LABEL: // wide
// CHECK-NOT: cublaslt.matmul {{.*}}f8
// CHECK: output
// ROUNDED-LABEL: // wide
// ROUNDED: generated gr.cast ({{.*}}) -> ([[X:%[0-9]+]] 5x64xf8e4m3fn)
// ROUNDED-NEXT: cublaslt.matmul gr.matmul ([[X]] 5x64xf8e4m3fn, {{.*}} 48x64xf8e4m3fn) -> ([[P:%[0-9]+]] 5x48xf32) scratch
// ROUNDED-NEXT: generated gr.add ([[P]] 5x48xf32
// ROUNDED-NEXT: cublaslt.matmul gr.matmul ([[X]] 5x64xf8e4m3fn, {{.*}} 64x16xf8e4m3fn laid out) -> ({{.*}} 5x16xf32) scratch
// ROUNDED-NEXT: output
func.func @wide(%x: tensor<5x64xf32>) -> (tensor<5x48xf32>, tensor<5x16xf32>) {
  %b = gr.constant dense<0.5> : tensor<48xf32> : tensor<48xf32>
  %w = gr.constant dense<1.5> : tensor<48x64xf8E4M3FN> : tensor<48x64xf8E4M3FN>
  %v = gr.constant dense<2.0> : tensor<64x16xf8E4M3FN> : tensor<64x16xf8E4M3FN>
  %sx = gr.constant dense<3.0> : tensor<f32> : tensor<f32>
  %q = gr.cast %x {to = f8E4M3FN} : (tensor<5x64xf32>) -> tensor<5x64xf8E4M3FN>
  %0 = gr.cast %q {to = f32} : (tensor<5x64xf8E4M3FN>) -> tensor<5x64xf32>
  %1 = gr.mul %0, %sx : (tensor<5x64xf32>, tensor<f32>) -> tensor<5x64xf32>
  %2 = gr.cast %w {to = f32} : (tensor<48x64xf8E4M3FN>) -> tensor<48x64xf32>
  %3 = gr.matmul %1, %2 {transpose_rhs = true} : (tensor<5x64xf32>, tensor<48x64xf32>) -> tensor<5x48xf32>
  %4 = gr.add %3, %b : (tensor<5x48xf32>, tensor<48xf32>) -> tensor<5x48xf32>
  %5 = gr.cast %v {to = f32} : (tensor<64x16xf8E4M3FN>) -> tensor<64x16xf32>
  %6 = gr.mul %5, %sx : (tensor<64x16xf32>, tensor<f32>) -> tensor<64x16xf32>
  %7 = gr.matmul %1, %6 : (tensor<5x64xf32>, tensor<64x16xf32>) -> tensor<5x16xf32>
  return %4, %7 : tensor<5x48xf32>, tensor<5x16xf32>
}

// What the library has no products of: sums and columns that are no multiples of 16, a second operand that would have
// to be transposed in each step, e5m2 by itself, scales that differ.
// CHECK-LABEL: // others
// CHECK-NOT: cublaslt.matmul {{.*}}f8
// CHECK: output
func.func @others(%x: tensor<16x24xf8E4M3FN>, %y: tensor<16x32xf8E4M3FN>, %z: tensor<16x32xf8E5M2>, %s: tensor<f32>) -> (tensor<16x24xbf16>, tensor<16x8xbf16>, tensor<32x32xbf16>, tensor<16x16xbf16>, tensor<16x16xbf16>) {
  %w = gr.constant dense<1.5> : tensor<24x24xf8E4M3FN> : tensor<24x24xf8E4M3FN>
  %v = gr.constant dense<1.5> : tensor<32x8xf8E4M3FN> : tensor<32x8xf8E4M3FN>
  %0 = gr.cast %x {to = bf16} : (tensor<16x24xf8E4M3FN>) -> tensor<16x24xbf16>
  %1 = gr.cast %y {to = bf16} : (tensor<16x32xf8E4M3FN>) -> tensor<16x32xbf16>
  %2 = gr.cast %z {to = bf16} : (tensor<16x32xf8E5M2>) -> tensor<16x32xbf16>
  %3 = gr.cast %w {to = bf16} : (tensor<24x24xf8E4M3FN>) -> tensor<24x24xbf16>
  %4 = gr.cast %v {to = bf16} : (tensor<32x8xf8E4M3FN>) -> tensor<32x8xbf16>
  %5 = gr.cast %y {to = f32} : (tensor<16x32xf8E4M3FN>) -> tensor<16x32xf32>
  %6 = gr.mul %5, %s : (tensor<16x32xf32>, tensor<f32>) -> tensor<16x32xf32>
  %7 = gr.cast %6 {to = bf16} : (tensor<16x32xf32>) -> tensor<16x32xbf16>
  %a = gr.matmul %0, %3 : (tensor<16x24xbf16>, tensor<24x24xbf16>) -> tensor<16x24xbf16>
  %b = gr.matmul %1, %4 : (tensor<16x32xbf16>, tensor<32x8xbf16>) -> tensor<16x8xbf16>
  %c = gr.matmul %1, %1 {transpose_lhs = true} : (tensor<16x32xbf16>, tensor<16x32xbf16>) -> tensor<32x32xbf16>
  %d = gr.matmul %2, %2 {transpose_rhs = true} : (tensor<16x32xbf16>, tensor<16x32xbf16>) -> tensor<16x16xbf16>
  %e = gr.matmul %1, %7 {transpose_rhs = true} : (tensor<16x32xbf16>, tensor<16x32xbf16>) -> tensor<16x16xbf16>
  return %a, %b, %c, %d, %e : tensor<16x24xbf16>, tensor<16x8xbf16>, tensor<32x32xbf16>, tensor<16x16xbf16>, tensor<16x16xbf16>
}
