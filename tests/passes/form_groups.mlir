// RUN: graphrun-opt %s --gr-form-groups --split-input-file | FileCheck %s

// The convolution takes its whole epilogue; the scalar moves inside, the channel's constant does not.
// CHECK-LABEL: @conv_epilogue
// CHECK: %[[S:.*]] = gr.constant dense<{{.*}}> : tensor<2x1x1xf32>
// CHECK-NEXT: %[[G:.*]] = gr.group(%arg0, %arg1, %[[S]], %arg2) attributes {kind = "conv"} {
// CHECK-NEXT: ^bb0(%[[X:.*]]: tensor<1x2x4x4xf32>, %[[W:.*]]: tensor<2x2x1x1xf32>, %[[B:.*]]: tensor<2x1x1xf32>, %[[R:.*]]: tensor<1x2x4x4xf32>):
// CHECK-NEXT: gr.constant dense<2.000000e+00> : tensor<f32>
// CHECK-NEXT: gr.conv %[[X]], %[[W]]
// CHECK-NEXT: gr.add
// CHECK-NEXT: gr.mul
// CHECK-NEXT: gr.add
// CHECK-NEXT: %[[Y:.*]] = gr.relu
// CHECK-NEXT: gr.yield %[[Y]]
// CHECK-NEXT: }
// CHECK-NEXT: return %[[G]]
func.func @conv_epilogue(%x: tensor<1x2x4x4xf32>, %w: tensor<2x2x1x1xf32>, %r: tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32> {
  %b = gr.constant dense<[[[1.0]], [[2.0]]]> : tensor<2x1x1xf32> : tensor<2x1x1xf32>
  %k = gr.constant dense<2.0> : tensor<f32> : tensor<f32>
  %0 = gr.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>}
    : (tensor<1x2x4x4xf32>, tensor<2x2x1x1xf32>) -> tensor<1x2x4x4xf32>
  %1 = gr.add %0, %b : (tensor<1x2x4x4xf32>, tensor<2x1x1xf32>) -> tensor<1x2x4x4xf32>
  %2 = gr.mul %1, %k : (tensor<1x2x4x4xf32>, tensor<f32>) -> tensor<1x2x4x4xf32>
  %3 = gr.add %r, %2 : (tensor<1x2x4x4xf32>, tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32>
  %4 = gr.relu %3 : (tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32>
  return %4 : tensor<1x2x4x4xf32>
}

// -----

// Of two convolutions that are added the later one takes the addition; the earlier one's result is its
// operand. Its own use elsewhere ends a chain.
// CHECK-LABEL: @residual
// CHECK: %[[A:.*]] = gr.conv %arg0
// CHECK: %[[G:.*]] = gr.group(%[[A]], %arg1
// CHECK: gr.conv
// CHECK-NEXT: gr.add
// CHECK-NEXT: gr.yield
// CHECK: return %[[G]], %[[A]]
func.func @residual(%x: tensor<1x2x4x4xf32>, %w: tensor<2x2x1x1xf32>) -> (tensor<1x2x4x4xf32>, tensor<1x2x4x4xf32>) {
  %0 = gr.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>}
    : (tensor<1x2x4x4xf32>, tensor<2x2x1x1xf32>) -> tensor<1x2x4x4xf32>
  %1 = gr.conv %0, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>}
    : (tensor<1x2x4x4xf32>, tensor<2x2x1x1xf32>) -> tensor<1x2x4x4xf32>
  %2 = gr.add %0, %1 : (tensor<1x2x4x4xf32>, tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32>
  return %2, %0 : tensor<1x2x4x4xf32>, tensor<1x2x4x4xf32>
}

// -----

// CHECK-LABEL: @matmul_epilogue
// CHECK: gr.group(%arg0, %arg1, %{{.*}}) attributes {kind = "matmul"} {
// CHECK: gr.matmul
// CHECK-NEXT: gr.add
// CHECK-NEXT: gr.gelu
// CHECK-NEXT: gr.yield
func.func @matmul_epilogue(%x: tensor<4x2xf32>, %w: tensor<2x3xf32>) -> tensor<4x3xf32> {
  %b = gr.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32> : tensor<3xf32>
  %0 = gr.matmul %x, %w : (tensor<4x2xf32>, tensor<2x3xf32>) -> tensor<4x3xf32>
  %1 = gr.add %0, %b : (tensor<4x3xf32>, tensor<3xf32>) -> tensor<4x3xf32>
  %2 = gr.gelu %1 : (tensor<4x3xf32>) -> tensor<4x3xf32>
  return %2 : tensor<4x3xf32>
}

// -----

// What ends a chain: the subtrahend's side, a constant along another dim, a result of another shape or
// type, an operation that no library call does after it.
// CHECK-LABEL: @not_post_operations
// CHECK-NOT: kind = "matmul"
// CHECK: return
func.func @not_post_operations(%x: tensor<4x2xf32>, %w: tensor<2x3xf32>, %r: tensor<4x3xf32>, %big: tensor<2x4x3xf32>)
    -> (tensor<4x3xf32>, tensor<4x3xf32>, tensor<2x4x3xf32>, tensor<4x3xf16>, tensor<4x3xf32>) {
  %c = gr.constant dense<[[1.0], [2.0], [3.0], [4.0]]> : tensor<4x1xf32> : tensor<4x1xf32>
  %0 = gr.matmul %x, %w : (tensor<4x2xf32>, tensor<2x3xf32>) -> tensor<4x3xf32>
  %1 = gr.sub %r, %0 : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
  %2 = gr.matmul %x, %w {transpose_lhs = false} : (tensor<4x2xf32>, tensor<2x3xf32>) -> tensor<4x3xf32>
  %3 = gr.mul %2, %c : (tensor<4x3xf32>, tensor<4x1xf32>) -> tensor<4x3xf32>
  %4 = gr.matmul %x, %w : (tensor<4x2xf32>, tensor<2x3xf32>) -> tensor<4x3xf32>
  %5 = gr.add %4, %big : (tensor<4x3xf32>, tensor<2x4x3xf32>) -> tensor<2x4x3xf32>
  %6 = gr.matmul %x, %w : (tensor<4x2xf32>, tensor<2x3xf32>) -> tensor<4x3xf32>
  %7 = gr.cast %6 {to = f16} : (tensor<4x3xf32>) -> tensor<4x3xf16>
  %8 = gr.matmul %x, %w : (tensor<4x2xf32>, tensor<2x3xf32>) -> tensor<4x3xf32>
  %9 = gr.erf %8 : (tensor<4x3xf32>) -> tensor<4x3xf32>
  return %1, %3, %5, %7, %9 : tensor<4x3xf32>, tensor<4x3xf32>, tensor<2x4x3xf32>, tensor<4x3xf16>, tensor<4x3xf32>
}

// -----

// A tree with a diamond in it, a permuted, a strided and a broadcast operand: one loop nest. The
// slice's ranges and the shape are constants and go inside.
// CHECK-LABEL: @map
// CHECK-NEXT: %[[G:.*]] = gr.group(%arg0, %arg1, %arg2) attributes {kind = "map"} {
// CHECK: gr.constant dense<0> : tensor<1xi64>
// CHECK: gr.transpose
// CHECK: gr.slice
// CHECK: gr.unsqueeze
// CHECK: gr.sigmoid
// CHECK: gr.yield
// CHECK: return %[[G]]
func.func @map(%x: tensor<3x4xf32>, %y: tensor<4x6xf32>, %z: tensor<3xf32>) -> tensor<4x3xf32> {
  %zero = gr.constant dense<0> : tensor<1xi64> : tensor<1xi64>
  %six = gr.constant dense<6> : tensor<1xi64> : tensor<1xi64>
  %one = gr.constant dense<1> : tensor<1xi64> : tensor<1xi64>
  %two = gr.constant dense<2> : tensor<1xi64> : tensor<1xi64>
  %0 = gr.transpose %x {permutation = array<i64: 1, 0>} : (tensor<3x4xf32>) -> tensor<4x3xf32>
  %1 = gr.slice %y, %zero, %six, %one, %two : (tensor<4x6xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<4x3xf32>
  %2 = gr.unsqueeze %z {axes = array<i64: 0>} : (tensor<3xf32>) -> tensor<1x3xf32>
  %3 = gr.add %0, %1 : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
  %4 = gr.add %3, %2 : (tensor<4x3xf32>, tensor<1x3xf32>) -> tensor<4x3xf32>
  %5 = gr.sigmoid %4 : (tensor<4x3xf32>) -> tensor<4x3xf32>
  %6 = gr.mul %4, %5 : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
  return %6 : tensor<4x3xf32>
}

// -----

// A sigmoid of few elements is not repeated for each of many; an addition may be.
// CHECK-LABEL: @broadcast
// CHECK: %[[S:.*]] = gr.sigmoid
// CHECK-NEXT: gr.group(%[[S]], %arg1) attributes {kind = "map"} {
// CHECK: gr.add
// CHECK: gr.mul
// CHECK: gr.yield
func.func @broadcast(%x: tensor<1x8x1x1xf32>, %y: tensor<1x8x4x4xf32>) -> tensor<1x8x4x4xf32> {
  %half = gr.constant dense<0.5> : tensor<f32> : tensor<f32>
  %0 = gr.sigmoid %x : (tensor<1x8x1x1xf32>) -> tensor<1x8x1x1xf32>
  %1 = gr.add %0, %half : (tensor<1x8x1x1xf32>, tensor<f32>) -> tensor<1x8x1x1xf32>
  %2 = gr.mul %y, %1 : (tensor<1x8x4x4xf32>, tensor<1x8x1x1xf32>) -> tensor<1x8x4x4xf32>
  return %2 : tensor<1x8x4x4xf32>
}

// -----

// A value that leaves the tree keeps its maker outside: the path through max_pool would come back.
// CHECK-LABEL: @convex
// CHECK-NEXT: %[[E:.*]] = gr.exp %arg0
// CHECK-NEXT: %[[P:.*]] = gr.max_pool %[[E]]
// CHECK-NEXT: gr.group(%[[P]], %[[E]])
// CHECK: gr.abs
// CHECK: gr.add
// CHECK: gr.yield
func.func @convex(%x: tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32> {
  %0 = gr.exp %x : (tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32>
  %1 = gr.max_pool %0 {kernel = array<i64: 1, 1>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>}
    : (tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32>
  %2 = gr.abs %1 : (tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32>
  %3 = gr.add %0, %2 : (tensor<1x2x4x4xf32>, tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32>
  return %3 : tensor<1x2x4x4xf32>
}

// -----

// What stands alone: one operation, aliases only, a concat, a general reshape, a dynamic shape.
// CHECK-LABEL: @alone
// CHECK-NOT: gr.group
// CHECK: return
func.func @alone(%x: tensor<4x3xf32>, %d: tensor<?xf32>) -> (tensor<1x1x4x3xf32>, tensor<2x24xf32>, tensor<?xf32>) {
  %s = gr.constant dense<[2, 12]> : tensor<2xi64> : tensor<2xi64>
  %0 = gr.unsqueeze %x {axes = array<i64: 0>} : (tensor<4x3xf32>) -> tensor<1x4x3xf32>
  %1 = gr.unsqueeze %0 {axes = array<i64: 0>} : (tensor<1x4x3xf32>) -> tensor<1x1x4x3xf32>
  %2 = gr.concat %x, %x {axis = 0 : i64} : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<8x3xf32>
  %t = gr.constant dense<[2, 12]> : tensor<2xi64> : tensor<2xi64>
  %3 = gr.reshape %2, %t : (tensor<8x3xf32>, tensor<2xi64>) -> tensor<2x12xf32>
  %4 = gr.exp %3 : (tensor<2x12xf32>) -> tensor<2x12xf32>
  %5 = gr.concat %3, %4 {axis = 1 : i64} : (tensor<2x12xf32>, tensor<2x12xf32>) -> tensor<2x24xf32>
  %6 = gr.exp %d : (tensor<?xf32>) -> tensor<?xf32>
  %7 = gr.abs %6 : (tensor<?xf32>) -> tensor<?xf32>
  return %1, %5, %7 : tensor<1x1x4x3xf32>, tensor<2x24xf32>, tensor<?xf32>
}

// -----

// Casts between f32 and bf16 are views, too: the kernel makes them.
// CHECK-LABEL: @attention_of_bf16
// CHECK-NEXT: %[[G:.*]] = gr.group(%arg0) attributes {kind = "attention"} {
// CHECK-COUNT-3: gr.cast
// CHECK: gr.attention
// CHECK-NEXT: gr.cast {{.*}} {to = bf16}
// CHECK-NEXT: gr.transpose
// CHECK-NEXT: gr.yield
func.func @attention_of_bf16(%x: tensor<1x2x4x6xbf16>) -> tensor<1x4x2x2xbf16> {
  %q16, %k16, %v16 = gr.split %x {axis = 3 : i64, sizes = array<i64: 2, 2, 2>} : (tensor<1x2x4x6xbf16>) -> (tensor<1x2x4x2xbf16>, tensor<1x2x4x2xbf16>, tensor<1x2x4x2xbf16>)
  %q = gr.cast %q16 {to = f32} : (tensor<1x2x4x2xbf16>) -> tensor<1x2x4x2xf32>
  %k = gr.cast %k16 {to = f32} : (tensor<1x2x4x2xbf16>) -> tensor<1x2x4x2xf32>
  %v = gr.cast %v16 {to = f32} : (tensor<1x2x4x2xbf16>) -> tensor<1x2x4x2xf32>
  %a = gr.attention %q, %k, %v : (tensor<1x2x4x2xf32>, tensor<1x2x4x2xf32>, tensor<1x2x4x2xf32>) -> tensor<1x2x4x2xf32>
  %n = gr.cast %a {to = bf16} : (tensor<1x2x4x2xf32>) -> tensor<1x2x4x2xbf16>
  %y = gr.transpose %n {permutation = array<i64: 0, 2, 1, 3>} : (tensor<1x2x4x2xbf16>) -> tensor<1x4x2x2xbf16>
  return %y : tensor<1x4x2x2xbf16>
}

// -----

// An attention with the views of a packed projection, and of its result; the mask is no view.
// CHECK-LABEL: @attention
// CHECK-NEXT: %[[G:.*]] = gr.group(%arg0, %arg1) attributes {kind = "attention"} {
// CHECK: gr.split
// CHECK: gr.attention
// CHECK-NEXT: gr.transpose
// CHECK-NEXT: %[[Y:.*]] = gr.reshape
// CHECK-NEXT: gr.yield %[[Y]]
// CHECK: return %[[G]]
func.func @attention(%x: tensor<1x4x12xf32>, %mask: tensor<1x4xf32>) -> tensor<1x4x4xf32> {
  %heads = gr.constant dense<[1, 4, 2, 2]> : tensor<4xi64> : tensor<4xi64>
  %joined = gr.constant dense<[1, 4, 4]> : tensor<3xi64> : tensor<3xi64>
  %p:3 = gr.split %x {axis = 2 : i64, sizes = array<i64: 4, 4, 4>} : (tensor<1x4x12xf32>) -> (tensor<1x4x4xf32>, tensor<1x4x4xf32>, tensor<1x4x4xf32>)
  %0 = gr.reshape %p#0, %heads : (tensor<1x4x4xf32>, tensor<4xi64>) -> tensor<1x4x2x2xf32>
  %1 = gr.reshape %p#1, %heads : (tensor<1x4x4xf32>, tensor<4xi64>) -> tensor<1x4x2x2xf32>
  %2 = gr.reshape %p#2, %heads : (tensor<1x4x4xf32>, tensor<4xi64>) -> tensor<1x4x2x2xf32>
  %q = gr.transpose %0 {permutation = array<i64: 0, 2, 1, 3>} : (tensor<1x4x2x2xf32>) -> tensor<1x2x4x2xf32>
  %k = gr.transpose %1 {permutation = array<i64: 0, 2, 1, 3>} : (tensor<1x4x2x2xf32>) -> tensor<1x2x4x2xf32>
  %v = gr.transpose %2 {permutation = array<i64: 0, 2, 1, 3>} : (tensor<1x4x2x2xf32>) -> tensor<1x2x4x2xf32>
  %a = gr.attention %q, %k, %v, %mask : (tensor<1x2x4x2xf32>, tensor<1x2x4x2xf32>, tensor<1x2x4x2xf32>, tensor<1x4xf32>) -> tensor<1x2x4x2xf32>
  %t = gr.transpose %a {permutation = array<i64: 0, 2, 1, 3>} : (tensor<1x2x4x2xf32>) -> tensor<1x4x2x2xf32>
  %y = gr.reshape %t, %joined : (tensor<1x4x2x2xf32>, tensor<3xi64>) -> tensor<1x4x4xf32>
  return %y : tensor<1x4x4xf32>
}

// -----

// A shuffle of channels is one kernel with what follows it; a reshape that ends elsewhere stays outside.
// CHECK-LABEL: @shuffle
// CHECK: %[[G:.*]] = gr.group(%arg0
// CHECK: gr.reshape
// CHECK-NEXT: gr.transpose
// CHECK-NEXT: gr.reshape
// CHECK-NEXT: %[[Y:.*]] = gr.relu
// CHECK-NEXT: gr.yield %[[Y]]
// CHECK: gr.reshape %[[G]]
func.func @shuffle(%x: tensor<1x6x4x4xf32>) -> tensor<6x16xf32> {
  %p = gr.constant dense<[1, 2, 3, 4, 4]> : tensor<5xi64> : tensor<5xi64>
  %q = gr.constant dense<[1, 6, 4, 4]> : tensor<4xi64> : tensor<4xi64>
  %r = gr.constant dense<[6, 16]> : tensor<2xi64> : tensor<2xi64>
  %0 = gr.reshape %x, %p : (tensor<1x6x4x4xf32>, tensor<5xi64>) -> tensor<1x2x3x4x4xf32>
  %1 = gr.transpose %0 {permutation = array<i64: 0, 2, 1, 3, 4>} : (tensor<1x2x3x4x4xf32>) -> tensor<1x3x2x4x4xf32>
  %2 = gr.reshape %1, %q : (tensor<1x3x2x4x4xf32>, tensor<4xi64>) -> tensor<1x6x4x4xf32>
  %3 = gr.relu %2 : (tensor<1x6x4x4xf32>) -> tensor<1x6x4x4xf32>
  %4 = gr.reshape %3, %r : (tensor<1x6x4x4xf32>, tensor<2xi64>) -> tensor<6x16xf32>
  return %4 : tensor<6x16xf32>
}

// -----

// A weight of 8-bit floats is dequantised when it is laid out, not in a kernel; what is read by one is one.
// CHECK-LABEL: @dequantised
// CHECK: %[[F:.*]] = gr.cast %{{.*}} {to = f32} : (tensor<2x2xf8E5M2>)
// CHECK-NEXT: %[[M:.*]] = gr.mul %[[F]]
// CHECK-NEXT: %[[H:.*]] = gr.cast %[[M]] {to = f16}
// CHECK-NEXT: %[[P:.*]] = gr.matmul %arg0, %[[H]]
// CHECK: gr.group(%{{.*}}, %[[P]]) attributes {kind = "map"}
// CHECK: gr.mul
// CHECK-NEXT: gr.cast
// CHECK-NEXT: gr.sub
func.func @dequantised(%x: tensor<2x2xf16>, %q: tensor<2x2xf8E5M2>) -> tensor<2x2xf16> {
  %w = gr.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf8E5M2> : tensor<2x2xf8E5M2>
  %s = gr.constant dense<0.5> : tensor<f32> : tensor<f32>
  %0 = gr.cast %w {to = f32} : (tensor<2x2xf8E5M2>) -> tensor<2x2xf32>
  %1 = gr.mul %0, %s : (tensor<2x2xf32>, tensor<f32>) -> tensor<2x2xf32>
  %2 = gr.cast %1 {to = f16} : (tensor<2x2xf32>) -> tensor<2x2xf16>
  %3 = gr.matmul %x, %2 : (tensor<2x2xf16>, tensor<2x2xf16>) -> tensor<2x2xf16>
  %4 = gr.cast %q {to = f32} : (tensor<2x2xf8E5M2>) -> tensor<2x2xf32>
  %5 = gr.mul %4, %s : (tensor<2x2xf32>, tensor<f32>) -> tensor<2x2xf32>
  %6 = gr.cast %5 {to = f16} : (tensor<2x2xf32>) -> tensor<2x2xf16>
  %7 = gr.sub %6, %3 : (tensor<2x2xf16>, tensor<2x2xf16>) -> tensor<2x2xf16>
  return %7 : tensor<2x2xf16>
}
