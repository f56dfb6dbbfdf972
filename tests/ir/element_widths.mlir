// Elements of a shape are as running computes them, in the width of their type.
// RUN: graphrun-opt %s --gr-infer-shapes | FileCheck %s

// 300 is 44 in 8 bits, and -1 is 255 without a sign.
// CHECK-LABEL: @narrowed
// CHECK: gr.reshape {{.*}} -> tensor<44x2xf32>
// CHECK: gr.reshape {{.*}} -> tensor<255x7xf32>
func.func @narrowed(%x: tensor<300x2xf32>, %y: tensor<?xf32>) -> (tensor<*xf32>, tensor<*xf32>) {
  %s = gr.shape %x : (tensor<300x2xf32>) -> tensor<2xi64>
  %i8 = gr.cast %s {to = i8} : (tensor<2xi64>) -> tensor<2xi8>
  %i64 = gr.cast %i8 {to = i64} : (tensor<2xi8>) -> tensor<2xi64>
  %0 = gr.reshape %y, %i64 : (tensor<?xf32>, tensor<2xi64>) -> tensor<*xf32>
  %c = gr.constant dense<[-1, 4294967303]> : tensor<2xi64> : tensor<2xi64>
  %u8 = gr.cast %c {to = ui8} : (tensor<2xi64>) -> tensor<2xui8>
  %u64 = gr.cast %u8 {to = i64} : (tensor<2xui8>) -> tensor<2xi64>
  %1 = gr.reshape %y, %u64 : (tensor<?xf32>, tensor<2xi64>) -> tensor<*xf32>
  return %0, %1 : tensor<*xf32>, tensor<*xf32>
}

// CHECK-LABEL: @bool
// CHECK: gr.reshape {{.*}} -> tensor<1x1xf32>
func.func @bool(%x: tensor<300x2xf32>, %y: tensor<?xf32>) -> tensor<*xf32> {
  %s = gr.shape %x : (tensor<300x2xf32>) -> tensor<2xi64>
  %b = gr.cast %s {to = i1} : (tensor<2xi64>) -> tensor<2xi1>
  %i64 = gr.cast %b {to = i64} : (tensor<2xi1>) -> tensor<2xi64>
  %0 = gr.reshape %y, %i64 : (tensor<?xf32>, tensor<2xi64>) -> tensor<*xf32>
  return %0 : tensor<*xf32>
}

// 2^32 + 5 is 5 in 32 bits; 65536 * 65537 is 65536.
// CHECK-LABEL: @words
// CHECK: gr.reshape {{.*}} -> tensor<5x2xf32>
// CHECK: gr.reshape {{.*}} -> tensor<65536x6xf32>
func.func @words(%x: tensor<4294967301x2xi8>, %z: tensor<65536x2xi8>, %y: tensor<?xf32>)
    -> (tensor<*xf32>, tensor<*xf32>) {
  %s = gr.shape %x : (tensor<4294967301x2xi8>) -> tensor<2xi64>
  %i32 = gr.cast %s {to = i32} : (tensor<2xi64>) -> tensor<2xi32>
  %i64 = gr.cast %i32 {to = i64} : (tensor<2xi32>) -> tensor<2xi64>
  %0 = gr.reshape %y, %i64 : (tensor<?xf32>, tensor<2xi64>) -> tensor<*xf32>
  %t = gr.shape %z : (tensor<65536x2xi8>) -> tensor<2xi64>
  %t32 = gr.cast %t {to = i32} : (tensor<2xi64>) -> tensor<2xi32>
  %c = gr.constant dense<[65537, 3]> : tensor<2xi32> : tensor<2xi32>
  %product = gr.mul %t32, %c : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi32>
  %wide = gr.cast %product {to = i64} : (tensor<2xi32>) -> tensor<2xi64>
  %1 = gr.reshape %y, %wide : (tensor<?xf32>, tensor<2xi64>) -> tensor<*xf32>
  return %0, %1 : tensor<*xf32>, tensor<*xf32>
}

// In bytes without a sign 100 + 200 is 44, 100 - 200 is 156, 100 * 3 is 44; with one 100 + 100 is
// -56, half of that is -28, and 33 more is 5.
// CHECK-LABEL: @arithmetic
// CHECK: gr.reshape {{.*}} -> tensor<44x156x44xf32>
// CHECK: gr.reshape {{.*}} -> tensor<5xf32>
func.func @arithmetic(%x: tensor<100xf32>, %y: tensor<?xf32>) -> (tensor<*xf32>, tensor<*xf32>) {
  %s = gr.shape %x : (tensor<100xf32>) -> tensor<1xi64>
  %u8 = gr.cast %s {to = ui8} : (tensor<1xi64>) -> tensor<1xui8>
  %c200 = gr.constant dense<200> : tensor<1xui8> : tensor<1xui8>
  %c3 = gr.constant dense<3> : tensor<1xui8> : tensor<1xui8>
  %add = gr.add %u8, %c200 : (tensor<1xui8>, tensor<1xui8>) -> tensor<1xui8>
  %sub = gr.sub %u8, %c200 : (tensor<1xui8>, tensor<1xui8>) -> tensor<1xui8>
  %mul = gr.mul %u8, %c3 : (tensor<1xui8>, tensor<1xui8>) -> tensor<1xui8>
  %all = gr.concat %add, %sub, %mul {axis = 0 : i64} : (tensor<1xui8>, tensor<1xui8>, tensor<1xui8>) -> tensor<3xui8>
  %i64 = gr.cast %all {to = i64} : (tensor<3xui8>) -> tensor<3xi64>
  %0 = gr.reshape %y, %i64 : (tensor<?xf32>, tensor<3xi64>) -> tensor<*xf32>
  %i8 = gr.cast %s {to = i8} : (tensor<1xi64>) -> tensor<1xi8>
  %two = gr.constant dense<2> : tensor<1xi8> : tensor<1xi8>
  %c33 = gr.constant dense<33> : tensor<1xi8> : tensor<1xi8>
  %twice = gr.add %i8, %i8 : (tensor<1xi8>, tensor<1xi8>) -> tensor<1xi8>
  %half = gr.div %twice, %two : (tensor<1xi8>, tensor<1xi8>) -> tensor<1xi8>
  %five = gr.add %half, %c33 : (tensor<1xi8>, tensor<1xi8>) -> tensor<1xi8>
  %w = gr.cast %five {to = i64} : (tensor<1xi8>) -> tensor<1xi64>
  %1 = gr.reshape %y, %w : (tensor<?xf32>, tensor<1xi64>) -> tensor<*xf32>
  return %0, %1 : tensor<*xf32>, tensor<*xf32>
}

// A dim that is not known fits 32 bits, which much shape code has; in fewer it may wrap.
// CHECK-LABEL: @symbols
// CHECK: gr.reshape {{.*}} -> tensor<?x3xf32, #gr.dims<(d0)[s0] -> (s0, 3)>>
// CHECK: gr.reshape {{.*}} -> tensor<?x3xf32>
// CHECK: gr.reshape {{.*}} -> tensor<?x3xf32>
// CHECK: gr.reshape {{.*}} -> tensor<?x1xf32>
func.func @symbols(%x: tensor<?x3xf32, #gr.dims<(d0)[s0] -> (s0, 3)>>, %y: tensor<?xf32>)
    -> (tensor<*xf32>, tensor<*xf32>, tensor<*xf32>, tensor<*xf32>) {
  %s = gr.shape %x : (tensor<?x3xf32, #gr.dims<(d0)[s0] -> (s0, 3)>>) -> tensor<2xi64>
  %i32 = gr.cast %s {to = i32} : (tensor<2xi64>) -> tensor<2xi32>
  %i16 = gr.cast %s {to = i16} : (tensor<2xi64>) -> tensor<2xi16>
  %u32 = gr.cast %s {to = ui32} : (tensor<2xi64>) -> tensor<2xui32>
  %i1 = gr.cast %s {to = i1} : (tensor<2xi64>) -> tensor<2xi1>
  %a = gr.cast %i32 {to = i64} : (tensor<2xi32>) -> tensor<2xi64>
  %b = gr.cast %i16 {to = i64} : (tensor<2xi16>) -> tensor<2xi64>
  %c = gr.cast %u32 {to = i64} : (tensor<2xui32>) -> tensor<2xi64>
  %d = gr.cast %i1 {to = i64} : (tensor<2xi1>) -> tensor<2xi64>
  %0 = gr.reshape %y, %a : (tensor<?xf32>, tensor<2xi64>) -> tensor<*xf32>
  %1 = gr.reshape %y, %b : (tensor<?xf32>, tensor<2xi64>) -> tensor<*xf32>
  %2 = gr.reshape %y, %c : (tensor<?xf32>, tensor<2xi64>) -> tensor<*xf32>
  %3 = gr.reshape %y, %d : (tensor<?xf32>, tensor<2xi64>) -> tensor<*xf32>
  return %0, %1, %2, %3 : tensor<*xf32>, tensor<*xf32>, tensor<*xf32>, tensor<*xf32>
}
