// RUN: graphrun-opt %s --gr-form-groups --gr-cuda-print-executable | FileCheck %s
// REQUIRES: cuda

// cuDNN reads the heads where the packed projection has them and writes the result as it is used.
// CHECK-LABEL: // packed
// CHECK: generated gr.max ({{.*}}) -> ([[M:%[0-9a-z]+]] 2x1x1x128xbf16)
// CHECK: cudnn.attention gr.attention ([[P:%.*]] 2x128x2304xbf16, [[P]] 2x128x2304xbf16, [[P]] 2x128x2304xbf16, [[M]] 2x1x1x128xbf16) -> ({{.*}} 2x128x768xbf16) scratch
// CHECK-NEXT: output
func.func @packed(%p: tensor<2x128x2304xbf16>, %m: tensor<2x1x1x128xbf16>) -> tensor<2x128x768xbf16> {
  %heads = gr.constant dense<[2, 128, 3, 12, 64]> : tensor<5xi64> : tensor<5xi64>
  %apart = gr.constant dense<[2, 12, 128, 64]> : tensor<4xi64> : tensor<4xi64>
  %rows = gr.constant dense<[2, 128, 768]> : tensor<3xi64> : tensor<3xi64>
  %0 = gr.reshape %p, %heads : (tensor<2x128x2304xbf16>, tensor<5xi64>) -> tensor<2x128x3x12x64xbf16>
  %1 = gr.transpose %0 {permutation = array<i64: 2, 0, 3, 1, 4>} : (tensor<2x128x3x12x64xbf16>) -> tensor<3x2x12x128x64xbf16>
  %2:3 = gr.split %1 {axis = 0 : i64, sizes = array<i64: 1, 1, 1>} : (tensor<3x2x12x128x64xbf16>) -> (tensor<1x2x12x128x64xbf16>, tensor<1x2x12x128x64xbf16>, tensor<1x2x12x128x64xbf16>)
  %q = gr.reshape %2#0, %apart : (tensor<1x2x12x128x64xbf16>, tensor<4xi64>) -> tensor<2x12x128x64xbf16>
  %k = gr.reshape %2#1, %apart : (tensor<1x2x12x128x64xbf16>, tensor<4xi64>) -> tensor<2x12x128x64xbf16>
  %v = gr.reshape %2#2, %apart : (tensor<1x2x12x128x64xbf16>, tensor<4xi64>) -> tensor<2x12x128x64xbf16>
  %a = gr.attention %q, %k, %v, %m {scale = 0.125 : f64} : (tensor<2x12x128x64xbf16>, tensor<2x12x128x64xbf16>, tensor<2x12x128x64xbf16>, tensor<2x1x1x128xbf16>) -> tensor<2x12x128x64xbf16>
  %t = gr.transpose %a {permutation = array<i64: 0, 2, 1, 3>} : (tensor<2x12x128x64xbf16>) -> tensor<2x128x12x64xbf16>
  %o = gr.reshape %t, %rows : (tensor<2x128x12x64xbf16>, tensor<3xi64>) -> tensor<2x128x768xbf16>
  return %o : tensor<2x128x768xbf16>
}

// Casts from bf16 and back are the kernel's: it computes scores in f32. A mask of f32 is read as it is.
// CHECK-LABEL: // of_casts
// CHECK: cudnn.attention gr.attention ({{.*}} 1x6x2x8xbf16, {{.*}} 1x6x2x8xbf16, {{.*}} 1x6x2x8xbf16, {{.*}} 6x6xf32) -> ({{.*}} 1x6x2x8xbf16) scratch
// CHECK-NEXT: output
func.func @of_casts(%q: tensor<1x6x2x8xbf16>, %k: tensor<1x6x2x8xbf16>, %v: tensor<1x6x2x8xbf16>, %m: tensor<6x6xf32>) -> tensor<1x6x2x8xbf16> {
  %0 = gr.transpose %q {permutation = array<i64: 0, 2, 1, 3>} : (tensor<1x6x2x8xbf16>) -> tensor<1x2x6x8xbf16>
  %1 = gr.transpose %k {permutation = array<i64: 0, 2, 1, 3>} : (tensor<1x6x2x8xbf16>) -> tensor<1x2x6x8xbf16>
  %2 = gr.transpose %v {permutation = array<i64: 0, 2, 1, 3>} : (tensor<1x6x2x8xbf16>) -> tensor<1x2x6x8xbf16>
  %3 = gr.cast %0 {to = f32} : (tensor<1x2x6x8xbf16>) -> tensor<1x2x6x8xf32>
  %4 = gr.cast %1 {to = f32} : (tensor<1x2x6x8xbf16>) -> tensor<1x2x6x8xf32>
  %5 = gr.cast %2 {to = f32} : (tensor<1x2x6x8xbf16>) -> tensor<1x2x6x8xf32>
  %6 = gr.attention %3, %4, %5, %m {scale = 0.5 : f64} : (tensor<1x2x6x8xf32>, tensor<1x2x6x8xf32>, tensor<1x2x6x8xf32>, tensor<6x6xf32>) -> tensor<1x2x6x8xf32>
  %7 = gr.cast %6 {to = bf16} : (tensor<1x2x6x8xf32>) -> tensor<1x2x6x8xbf16>
  %8 = gr.transpose %7 {permutation = array<i64: 0, 2, 1, 3>} : (tensor<1x2x6x8xbf16>) -> tensor<1x6x2x8xbf16>
  return %8 : tensor<1x6x2x8xbf16>
}

// An attention by itself, whose heads share keys.
// CHECK-LABEL: // alone
// CHECK: cudnn.attention gr.attention ({{.*}} 2x4x6x8xf16, {{.*}} 2x2x5x8xf16, {{.*}} 2x2x5x8xf16) -> ({{.*}} 2x4x6x8xf16) scratch
// CHECK-NEXT: output
func.func @alone(%q: tensor<2x4x6x8xf16>, %k: tensor<2x2x5x8xf16>, %v: tensor<2x2x5x8xf16>) -> tensor<2x4x6x8xf16> {
  %0 = gr.attention %q, %k, %v {causal = true, scale = 0.5 : f64} : (tensor<2x4x6x8xf16>, tensor<2x2x5x8xf16>, tensor<2x2x5x8xf16>) -> tensor<2x4x6x8xf16>
  return %0 : tensor<2x4x6x8xf16>
}

// cuDNN has columns by eights alone: others are products and a softmax.
// CHECK-LABEL: // narrow
// CHECK: cublaslt.matmul
// CHECK: generated gr.softmax
// CHECK: cublaslt.matmul
func.func @narrow(%q: tensor<2x4x6x12xf16>, %k: tensor<2x4x5x12xf16>, %v: tensor<2x4x5x12xf16>) -> tensor<2x4x6x12xf16> {
  %0 = gr.attention %q, %k, %v {scale = 0.5 : f64} : (tensor<2x4x6x12xf16>, tensor<2x4x5x12xf16>, tensor<2x4x5x12xf16>) -> tensor<2x4x6x12xf16>
  return %0 : tensor<2x4x6x12xf16>
}

// What is made of a row of minus infinity alone nobody says: a mask that is computed is made of numbers, once for all
// that read it; a constant that shows each row something stays as it is.
// CHECK-LABEL: // masks
// CHECK: generated gr.max
// CHECK-NOT: gr.max
// CHECK: output
func.func @masks(%q: tensor<1x2x2x8xbf16>, %m: tensor<2x2xbf16>) -> tensor<1x2x2x8xbf16> {
  %c = gr.constant dense<[[0.0, 0xFF80], [0xFF80, 0.0]]> : tensor<2x2xbf16> : tensor<2x2xbf16>
  %0 = gr.attention %q, %q, %q, %m {scale = 0.5 : f64} : (tensor<1x2x2x8xbf16>, tensor<1x2x2x8xbf16>, tensor<1x2x2x8xbf16>, tensor<2x2xbf16>) -> tensor<1x2x2x8xbf16>
  %1 = gr.attention %0, %0, %0, %c {scale = 0.5 : f64} : (tensor<1x2x2x8xbf16>, tensor<1x2x2x8xbf16>, tensor<1x2x2x8xbf16>, tensor<2x2xbf16>) -> tensor<1x2x2x8xbf16>
  %2 = gr.attention %1, %1, %1, %m {scale = 0.5 : f64} : (tensor<1x2x2x8xbf16>, tensor<1x2x2x8xbf16>, tensor<1x2x2x8xbf16>, tensor<2x2xbf16>) -> tensor<1x2x2x8xbf16>
  return %2 : tensor<1x2x2x8xbf16>
}

// CHECK-LABEL: // hidden
// CHECK: generated gr.max
// CHECK: cudnn.attention
func.func @hidden(%q: tensor<1x2x2x8xbf16>) -> tensor<1x2x2x8xbf16> {
  %c = gr.constant dense<[[0.0, 0.0], [0xFF80, 0xFF80]]> : tensor<2x2xbf16> : tensor<2x2xbf16>
  %0 = gr.attention %q, %q, %q, %c {scale = 0.5 : f64} : (tensor<1x2x2x8xbf16>, tensor<1x2x2x8xbf16>, tensor<1x2x2x8xbf16>, tensor<2x2xbf16>) -> tensor<1x2x2x8xbf16>
  return %0 : tensor<1x2x2x8xbf16>
}
