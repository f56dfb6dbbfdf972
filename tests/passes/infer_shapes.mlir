// RUN: graphrun-opt %s --gr-infer-shapes --split-input-file --verify-diagnostics | FileCheck %s

#nhw = #gr.dims<(d0)[s0, s1, s2] -> (s0, 3, s1, s2)>

// CHECK-LABEL: @conv
// CHECK-SAME: -> tensor<?x8x?x?xf32, #gr.dims<(d0)[s0, s1, s2] -> (s0, 8, (s1 - 1) floordiv 2 + 1, (s2 - 1) floordiv 2 + 1)>>
func.func @conv(%x: tensor<?x3x?x?xf32, #nhw>, %w: tensor<8x3x3x3xf32>) -> tensor<*xf32>
    attributes {gr.symbols = ["N", "H", "W"]} {
  %0 = gr.conv %x, %w {strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>}
    : (tensor<?x3x?x?xf32, #nhw>, tensor<8x3x3x3xf32>) -> tensor<?x8x?x?xf32>
  %1 = gr.relu %0 : (tensor<?x8x?x?xf32>) -> tensor<*xf32>
  return %1 : tensor<*xf32>
}

// -----

// Shapes that operations compute are followed through.
// CHECK-LABEL: @computed
// CHECK-SAME: -> tensor<?x12xf32, #gr.dims<(d0)[s0] -> (s0, 12)>>
func.func @computed(%x: tensor<?x3x4xf32, #gr.dims<(d0)[s0] -> (s0, 3, 4)>>) -> tensor<*xf32> {
  %s = gr.shape %x : (tensor<?x3x4xf32, #gr.dims<(d0)[s0] -> (s0, 3, 4)>>) -> tensor<3xi64>
  %i = gr.constant dense<0> : tensor<1xi64> : tensor<1xi64>
  %n = gr.gather %s, %i {axis = 0 : i64} : (tensor<3xi64>, tensor<1xi64>) -> tensor<1xi64>
  %m = gr.constant dense<-1> : tensor<1xi64> : tensor<1xi64>
  %t = gr.concat %n, %m {axis = 0 : i64} : (tensor<1xi64>, tensor<1xi64>) -> tensor<2xi64>
  %0 = gr.reshape %x, %t : (tensor<?x3x4xf32, #gr.dims<(d0)[s0] -> (s0, 3, 4)>>, tensor<2xi64>) -> tensor<*xf32>
  return %0 : tensor<*xf32>
}

// -----

// What was declared and does not follow is kept.
// CHECK-LABEL: @declared
// CHECK-SAME: -> tensor<5x2xf32>
func.func @declared(%x: tensor<?x2xf32>) -> tensor<5x2xf32> {
  %0 = gr.relu %x : (tensor<?x2xf32>) -> tensor<5x2xf32>
  return %0 : tensor<5x2xf32>
}

// -----

// CHECK-LABEL: @group
// CHECK: gr.relu %{{.*}} : (tensor<4xf32>) -> tensor<4xf32>
func.func @group(%x: tensor<4xf32>) -> tensor<?xf32> {
  %c = gr.exp %x : (tensor<4xf32>) -> tensor<?xf32>
  %0 = gr.group (%c) attributes {kind = "map"} {
  ^bb0(%a: tensor<?xf32>):
    %1 = gr.relu %a : (tensor<?xf32>) -> tensor<?xf32>
    gr.yield %1 : tensor<?xf32>
  } : (tensor<?xf32>) -> tensor<?xf32>
  return %0 : tensor<?xf32>
}

// -----

// Each operation alone is in order; together they are not.
func.func @contradiction(%x: tensor<4x2xf32>) -> tensor<5x?xf32> {
  %0 = gr.relu %x : (tensor<4x2xf32>) -> tensor<?x?xf32>
  // expected-error @below {{result 0 is declared as 'tensor<5x?xf32>', but its operands give 'tensor<4x2xf32>'}}
  %1 = gr.relu %0 : (tensor<?x?xf32>) -> tensor<5x?xf32>
  return %1 : tensor<5x?xf32>
}

// -----

// With ceil_mode, a last window that would start in the padding is dropped: also where the size is
// a symbol (kernel 1, stride 2: ceil(s0 / 2), not ceil((s0 - 1) / 2) + 1).
// CHECK-LABEL: @dropped_window
// CHECK-SAME: -> tensor<1x1x?x2xf32, #gr.dims<(d0)[s0] -> (1, 1, s0 ceildiv 2, 2)>>
func.func @dropped_window(%x: tensor<1x1x?x4xf32, #gr.dims<(d0)[s0] -> (1, 1, s0, 4)>>) -> tensor<*xf32> {
  %0 = gr.max_pool %x {kernel = array<i64: 1, 1>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 1, 1>, ceil_mode = true}
    : (tensor<1x1x?x4xf32, #gr.dims<(d0)[s0] -> (1, 1, s0, 4)>>) -> tensor<*xf32>
  return %0 : tensor<*xf32>
}
