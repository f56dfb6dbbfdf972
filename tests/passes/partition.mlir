// RUN: graphrun-opt %s --split-input-file --gr-partition-graph="home=client/host local=client/cpu:0" | FileCheck %s

// Inputs and outputs are read and given where they are; a tensor that two operations of a device use is
// sent once; constants are repeated.
// CHECK: gr.edges = [
// CHECK-SAME: {id = 0 : i64, name = "x", source = "client/host", target = "b/cpu:0", type = tensor<4xf32>}
// CHECK-SAME: {id = 1 : i64, name = "e", source = "client/cpu:0", target = "b/cpu:0", type = tensor<4xf32>}
// CHECK-SAME: {id = 2 : i64, name = "gr.add", source = "b/cpu:0", target = "client/host", type = tensor<4xf32>}

// CHECK-LABEL: func.func @"client/host"
// CHECK-SAME: (%arg0: tensor<4xf32> {gr.name = "x"}) -> (tensor<4xf32> {gr.name = "sum"})
// CHECK-SAME: gr.device = #gr.device<"client/host">
// CHECK-NEXT: gr.send %arg0 {edge = 0 : i64}
// CHECK-NEXT: %[[R:.*]] = gr.recv {edge = 2 : i64, tensor_type = tensor<4xf32>}
// CHECK-NEXT: return %[[R]]

// CHECK-LABEL: func.func @"client/cpu:0"
// CHECK-SAME: (%arg0: tensor<4xf32> {gr.name = "x"}) -> (tensor<4xf32> {gr.name = "first"})
// CHECK-NEXT: %[[K:.*]] = gr.constant
// CHECK-NEXT: %[[A:.*]] = gr.add %arg0, %[[K]]
// CHECK-NEXT: %[[E:.*]] = gr.exp %[[A]] :
// CHECK-NEXT: gr.send %[[E]] {edge = 1 : i64}
// CHECK-NEXT: return %[[A]]

// CHECK-LABEL: func.func @"b/cpu:0"() attributes
// CHECK-NEXT: gr.constant
// CHECK-NEXT: gr.recv {edge = 0
// CHECK-NEXT: gr.mul
// CHECK-NEXT: gr.recv {edge = 1
// CHECK-NEXT: gr.sub
// CHECK-NEXT: gr.max
// CHECK-NEXT: gr.add
// CHECK-NEXT: gr.send %{{.*}} {edge = 2
// CHECK-NEXT: return
func.func @main(%x: tensor<4xf32> {gr.name = "x"}) -> (tensor<4xf32> {gr.name = "first"}, tensor<4xf32> {gr.name = "sum"}) {
  %k = gr.constant dense<2.0> : tensor<f32> : tensor<f32>
  %0 = gr.add %x, %k {gr.device = #gr.device<"client/cpu:0">} : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %1 = gr.exp %0 {gr.device = #gr.device<"client/cpu:0">} : (tensor<4xf32>) -> tensor<4xf32> loc("e")
  %2 = gr.mul %x, %k {gr.device = #gr.device<"b/cpu:0">} : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %3 = gr.sub %2, %1 {gr.device = #gr.device<"b/cpu:0">} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %4 = gr.max %3, %1 {gr.device = #gr.device<"b/cpu:0">} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %5 = gr.add %4, %3 {gr.device = #gr.device<"b/cpu:0">} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> loc("gr.add")
  return %0, %5 : tensor<4xf32>, tensor<4xf32>
}

// -----

// A weight in another type is repeated as a constant is, and needs no device.
// CHECK: gr.edges = []
// CHECK-LABEL: func.func @"client/cpu:0"
// CHECK-NEXT: %[[W:.*]] = gr.constant
// CHECK-NEXT: %[[B:.*]] = gr.cast %[[W]] {to = bf16}
// CHECK-NEXT: gr.matmul %arg0, %[[B]]
func.func @weights(%x: tensor<2x2xbf16>) -> tensor<2x2xbf16> {
  %w = gr.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32> : tensor<2x2xf32>
  %0 = gr.cast %w {to = bf16} : (tensor<2x2xf32>) -> tensor<2x2xbf16>
  %1 = gr.matmul %x, %0 {gr.device = #gr.device<"client/cpu:0">} : (tensor<2x2xbf16>, tensor<2x2xbf16>) -> tensor<2x2xbf16>
  return %1 : tensor<2x2xbf16>
}

// -----

// So is what makes a weight of 8-bit floats.
// CHECK: gr.edges = []
// CHECK-LABEL: func.func @"client/cpu:0"
// CHECK: %[[W:.*]] = gr.constant {{.*}}f8E4M3FN
// CHECK: %[[F:.*]] = gr.cast %[[W]] {to = f32}
// CHECK: %[[M:.*]] = gr.mul %[[F]]
// CHECK-NEXT: %[[H:.*]] = gr.cast %[[M]] {to = f16}
// CHECK-NEXT: gr.matmul %arg0, %[[H]]
func.func @dequantised(%x: tensor<2x2xf16>) -> tensor<2x2xf16> {
  %w = gr.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf8E4M3FN> : tensor<2x2xf8E4M3FN>
  %s = gr.constant dense<0.5> : tensor<f32> : tensor<f32>
  %0 = gr.cast %w {to = f32} : (tensor<2x2xf8E4M3FN>) -> tensor<2x2xf32>
  %1 = gr.mul %0, %s : (tensor<2x2xf32>, tensor<f32>) -> tensor<2x2xf32>
  %2 = gr.cast %1 {to = f16} : (tensor<2x2xf32>) -> tensor<2x2xf16>
  %3 = gr.matmul %x, %2 {gr.device = #gr.device<"client/cpu:0">} : (tensor<2x2xf16>, tensor<2x2xf16>) -> tensor<2x2xf16>
  return %3 : tensor<2x2xf16>
}

// -----

// Ranks order a device's operations; shape arithmetic on constants needs no device. An input that is an
// output stays at home.
// CHECK: gr.edges = []
// CHECK-LABEL: func.func @"client/cpu:0"
// CHECK-NEXT: %[[A:.*]] = gr.abs
// CHECK-NEXT: %[[E:.*]] = gr.exp
// CHECK: gr.constant dense<2>
// CHECK: gr.add
// CHECK: gr.reshape
func.func @ranks(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<2x2xf32>) {
  %c = gr.constant dense<[2, 2]> : tensor<2xi64> : tensor<2xi64>
  %z = gr.constant dense<0> : tensor<1xi64> : tensor<1xi64>
  %s = gr.add %c, %z : (tensor<2xi64>, tensor<1xi64>) -> tensor<2xi64>
  %0 = gr.exp %x {gr.device = #gr.device<"client/cpu:0">, gr.rank = 5 : i64} : (tensor<4xf32>) -> tensor<4xf32>
  %1 = gr.abs %x {gr.device = #gr.device<"client/cpu:0">, gr.rank = 2 : i64} : (tensor<4xf32>) -> tensor<4xf32>
  %2 = gr.reshape %0, %s {gr.device = #gr.device<"client/cpu:0">, gr.rank = 7 : i64} : (tensor<4xf32>, tensor<2xi64>) -> tensor<2x2xf32>
  return %0, %1, %2 : tensor<4xf32>, tensor<4xf32>, tensor<2x2xf32>
}

// -----

// CHECK: gr.edges = []
// CHECK-LABEL: func.func @"client/host"
// CHECK-SAME: (%arg0: tensor<4xf32> {gr.name = "input0"}) -> (tensor<4xf32> {gr.name = "output0"}, tensor<f32> {gr.name = "output1"})
// CHECK-NEXT: %[[K:.*]] = gr.constant
// CHECK-NEXT: return %arg0, %[[K]]
func.func @nothing(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<f32>) {
  %k = gr.constant dense<2.0> : tensor<f32> : tensor<f32>
  return %x, %k : tensor<4xf32>, tensor<f32>
}

// -----

// Members of a collective go to their devices, in an order that is one; the communicators are the plan's.
// CHECK: module attributes {gr.communicators = {{\[\[}}"b/cpu:0", "client/cpu:0"]], gr.edges
// CHECK-LABEL: func.func @"client/cpu:0"
// CHECK: gr.collective_member %arg0 {collective = "all_reduce", communicator = 0 : i64, kind = "sum", tensor_type = tensor<4xf32>}
// CHECK-LABEL: func.func @"b/cpu:0"
// CHECK: %[[X:.*]] = gr.recv
// CHECK: gr.collective_member %[[X]]
func.func @members(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) attributes {gr.communicators = [["b/cpu:0", "client/cpu:0"]]} {
  %0 = gr.collective_member %x {collective = "all_reduce", kind = "sum", communicator = 0 : i64, tensor_type = tensor<4xf32>, gr.device = #gr.device<"client/cpu:0">} : (tensor<4xf32>) -> tensor<4xf32>
  %1 = gr.collective_member %x {collective = "all_reduce", kind = "sum", communicator = 0 : i64, tensor_type = tensor<4xf32>, gr.device = #gr.device<"b/cpu:0">} : (tensor<4xf32>) -> tensor<4xf32>
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}
