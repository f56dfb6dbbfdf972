// Operations that are pinned to different devices join no group; one without a pin goes with either.
// RUN: graphrun-opt %s --gr-form-groups --split-input-file | FileCheck %s

// CHECK-LABEL: @anchor
// CHECK: gr.group(%arg0
// CHECK-SAME: gr.pin = {device = "n/cpu:0", source = "test"}
// CHECK: gr.matmul
// CHECK-NOT: gr.pin
// CHECK-NEXT: gr.relu
// CHECK-NEXT: gr.yield
// CHECK: gr.group
// CHECK-SAME: gr.pin = {device = "n/cpu:1", source = "test"}
// CHECK-SAME: kind = "map"
// CHECK: gr.exp
// CHECK-NEXT: gr.neg
// CHECK-NEXT: gr.yield
func.func @anchor(%x: tensor<4x4xf32>, %w: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = gr.matmul %x, %w {gr.pin = {device = "n/cpu:0", source = "test"}} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32> loc("a")
  %1 = gr.relu %0 : (tensor<4x4xf32>) -> tensor<4x4xf32> loc("b")
  %2 = gr.exp %1 {gr.pin = {device = "n/cpu:1", source = "test"}} : (tensor<4x4xf32>) -> tensor<4x4xf32> loc("c")
  %3 = gr.neg %2 : (tensor<4x4xf32>) -> tensor<4x4xf32> loc("d")
  return %3 : tensor<4x4xf32>
}

// -----

// CHECK-LABEL: @map
// CHECK: gr.exp %arg0
// CHECK-NEXT: gr.group
// CHECK: gr.neg
// CHECK-NEXT: gr.abs
// CHECK-NEXT: gr.yield
func.func @map(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = gr.exp %x {gr.pin = {device = "n/cpu:0", source = "test"}} : (tensor<4xf32>) -> tensor<4xf32> loc("a")
  %1 = gr.neg %0 {gr.pin = {device = "n/cpu:1", source = "test"}} : (tensor<4xf32>) -> tensor<4xf32> loc("b")
  %2 = gr.abs %1 {gr.pin = {device = "n/cpu:1", source = "other"}} : (tensor<4xf32>) -> tensor<4xf32> loc("c")
  return %2 : tensor<4xf32>
}

// -----

// What the model asks for is no pin yet.
// CHECK-LABEL: @hints
// CHECK: gr.group
// CHECK: gr.exp
// CHECK-NEXT: gr.neg
func.func @hints(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = gr.exp %x : (tensor<4xf32>) -> tensor<4xf32> loc(fused<[["pair", "gpu0", ""]]>["a"])
  %1 = gr.neg %0 : (tensor<4xf32>) -> tensor<4xf32> loc(fused<[["pair", "gpu1", ""]]>["b"])
  return %1 : tensor<4xf32>
}
