// RUN: graphrun-opt %s --gr-simplify --gr-lower-precision --gr-form-groups --gr-cuda-print-executable=sm=90 | FileCheck %s
// REQUIRES: cuda

// BERT's attention in bf16 is one instruction of the library's: it reads the projection where that lies, adds the
// mask in f32, and writes rows as the next product reads them.
// CHECK-LABEL: // bert
// CHECK: generated gr.group ({{.*}}) -> ([[P:%.*]] 1x128x2304xbf16)
// CHECK-NEXT: generated gr.max ({{.*}}) -> ([[M:%[0-9]+]] 1x1x1x128xf32)
// CHECK-NEXT: cudnn.attention gr.attention ([[P]] 1x128x2304xbf16, [[P]] 1x128x2304xbf16, [[P]] 1x128x2304xbf16, [[M]] 1x1x1x128xf32) -> ([[A:%.*]] 1x128x768xbf16) scratch
// CHECK: cublaslt.matmul gr.matmul ([[A]] 1x128x768xbf16, {{.*}} 768x768xbf16)
// CHECK-NOT: gr.softmax
func.func @bert(%x: tensor<1x128x768xf32>, %w: tensor<768x2304xf32>, %b: tensor<2304xf32>, %m: tensor<1x1x1x128xf32>, %o: tensor<768x768xf32>) -> tensor<1x128x768xf32> {
  %heads = gr.constant dense<[1, 128, 12, 64]> : tensor<4xi64> : tensor<4xi64>
  %rows = gr.constant dense<[1, 128, 768]> : tensor<3xi64> : tensor<3xi64>
  %scale = gr.constant dense<0.125> : tensor<f32> : tensor<f32>
  %p = gr.matmul %x, %w : (tensor<1x128x768xf32>, tensor<768x2304xf32>) -> tensor<1x128x2304xf32>
  %pb = gr.add %p, %b : (tensor<1x128x2304xf32>, tensor<2304xf32>) -> tensor<1x128x2304xf32>
  %s:3 = gr.split %pb {axis = 2 : i64, sizes = array<i64: 768, 768, 768>} : (tensor<1x128x2304xf32>) -> (tensor<1x128x768xf32>, tensor<1x128x768xf32>, tensor<1x128x768xf32>)
  %q0 = gr.reshape %s#0, %heads : (tensor<1x128x768xf32>, tensor<4xi64>) -> tensor<1x128x12x64xf32>
  %k0 = gr.reshape %s#1, %heads : (tensor<1x128x768xf32>, tensor<4xi64>) -> tensor<1x128x12x64xf32>
  %v0 = gr.reshape %s#2, %heads : (tensor<1x128x768xf32>, tensor<4xi64>) -> tensor<1x128x12x64xf32>
  %q = gr.transpose %q0 {permutation = array<i64: 0, 2, 1, 3>} : (tensor<1x128x12x64xf32>) -> tensor<1x12x128x64xf32>
  %k = gr.transpose %k0 {permutation = array<i64: 0, 2, 3, 1>} : (tensor<1x128x12x64xf32>) -> tensor<1x12x64x128xf32>
  %v = gr.transpose %v0 {permutation = array<i64: 0, 2, 1, 3>} : (tensor<1x128x12x64xf32>) -> tensor<1x12x128x64xf32>
  %a = gr.matmul %q, %k : (tensor<1x12x128x64xf32>, tensor<1x12x64x128xf32>) -> tensor<1x12x128x128xf32>
  %as = gr.mul %a, %scale : (tensor<1x12x128x128xf32>, tensor<f32>) -> tensor<1x12x128x128xf32>
  %am = gr.add %as, %m : (tensor<1x12x128x128xf32>, tensor<1x1x1x128xf32>) -> tensor<1x12x128x128xf32>
  %sm = gr.softmax %am {axis = 3 : i64} : (tensor<1x12x128x128xf32>) -> tensor<1x12x128x128xf32>
  %y = gr.matmul %sm, %v : (tensor<1x12x128x128xf32>, tensor<1x12x128x64xf32>) -> tensor<1x12x128x64xf32>
  %t = gr.transpose %y {permutation = array<i64: 0, 2, 1, 3>} : (tensor<1x12x128x64xf32>) -> tensor<1x128x12x64xf32>
  %r = gr.reshape %t, %rows : (tensor<1x128x12x64xf32>, tensor<3xi64>) -> tensor<1x128x768xf32>
  %z = gr.matmul %r, %o : (tensor<1x128x768xf32>, tensor<768x768xf32>) -> tensor<1x128x768xf32>
  return %z : tensor<1x128x768xf32>
}

// GPT-2's, which sees what came before alone.
// CHECK-LABEL: // gpt2
// CHECK: cudnn.attention gr.attention ([[P:%.*]] 2x64x2304xbf16, [[P]] 2x64x2304xbf16, [[P]] 2x64x2304xbf16) -> ([[A:%.*]] 2x64x768xbf16) scratch
// CHECK: cublaslt.matmul gr.matmul ([[A]] 2x64x768xbf16, {{.*}} 768x768xbf16)
func.func @gpt2(%x: tensor<2x64x768xf32>, %w: tensor<768x2304xf32>, %o: tensor<768x768xf32>) -> tensor<2x64x768xf32> {
  %heads = gr.constant dense<[2, 64, 12, 64]> : tensor<4xi64> : tensor<4xi64>
  %rows = gr.constant dense<[2, 64, 768]> : tensor<3xi64> : tensor<3xi64>
  %p = gr.matmul %x, %w : (tensor<2x64x768xf32>, tensor<768x2304xf32>) -> tensor<2x64x2304xf32>
  %s:3 = gr.split %p {axis = 2 : i64, sizes = array<i64: 768, 768, 768>} : (tensor<2x64x2304xf32>) -> (tensor<2x64x768xf32>, tensor<2x64x768xf32>, tensor<2x64x768xf32>)
  %q0 = gr.reshape %s#0, %heads : (tensor<2x64x768xf32>, tensor<4xi64>) -> tensor<2x64x12x64xf32>
  %k0 = gr.reshape %s#1, %heads : (tensor<2x64x768xf32>, tensor<4xi64>) -> tensor<2x64x12x64xf32>
  %v0 = gr.reshape %s#2, %heads : (tensor<2x64x768xf32>, tensor<4xi64>) -> tensor<2x64x12x64xf32>
  %q = gr.transpose %q0 {permutation = array<i64: 0, 2, 1, 3>} : (tensor<2x64x12x64xf32>) -> tensor<2x12x64x64xf32>
  %k = gr.transpose %k0 {permutation = array<i64: 0, 2, 1, 3>} : (tensor<2x64x12x64xf32>) -> tensor<2x12x64x64xf32>
  %v = gr.transpose %v0 {permutation = array<i64: 0, 2, 1, 3>} : (tensor<2x64x12x64xf32>) -> tensor<2x12x64x64xf32>
  %y = gr.attention %q, %k, %v {causal = true, scale = 0.125 : f64} : (tensor<2x12x64x64xf32>, tensor<2x12x64x64xf32>, tensor<2x12x64x64xf32>) -> tensor<2x12x64x64xf32>
  %t = gr.transpose %y {permutation = array<i64: 0, 2, 1, 3>} : (tensor<2x12x64x64xf32>) -> tensor<2x64x12x64xf32>
  %r = gr.reshape %t, %rows : (tensor<2x64x12x64xf32>, tensor<3xi64>) -> tensor<2x64x768xf32>
  %z = gr.matmul %r, %o : (tensor<2x64x768xf32>, tensor<768x768xf32>) -> tensor<2x64x768xf32>
  return %z : tensor<2x64x768xf32>
}
