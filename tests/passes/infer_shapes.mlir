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

// -----

// The smallest number is one like others: the end of a slice that goes backwards, a step, a limit.
// CHECK-LABEL: @smallest
// CHECK-SAME: -> (tensor<5xf32>, tensor<3xf32>, tensor<1xf32>, tensor<?xf32, #gr.dims<(d0)[s0] -> (s0)>>, tensor<0xf32>, tensor<3xi64>, tensor<2xi64>)
func.func @smallest(%x: tensor<5xf32>, %y: tensor<?xf32, #gr.dims<()[s0] -> (s0)>>)
    -> (tensor<*xf32>, tensor<*xf32>, tensor<*xf32>, tensor<*xf32>, tensor<*xf32>, tensor<*xi64>, tensor<*xi64>)
    attributes {gr.symbols = ["n"]} {
  %least = gr.constant dense<-9223372036854775808> : tensor<1xi64> : tensor<1xi64>
  %most = gr.constant dense<9223372036854775807> : tensor<1xi64> : tensor<1xi64>
  %last = gr.constant dense<-1> : tensor<1xi64> : tensor<1xi64>
  %two = gr.constant dense<-2> : tensor<1xi64> : tensor<1xi64>
  %zero = gr.constant dense<0> : tensor<1xi64> : tensor<1xi64>
  %one = gr.constant dense<1> : tensor<1xi64> : tensor<1xi64>
  %0 = gr.slice %x, %last, %least, %zero, %last : (tensor<5xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<*xf32>
  %1 = gr.slice %x, %most, %least, %zero, %two : (tensor<5xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<*xf32>
  %2 = gr.slice %x, %last, %least, %zero, %least : (tensor<5xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<*xf32>
  %3 = gr.slice %y, %least, %most, %zero, %one : (tensor<?xf32, #gr.dims<()[s0] -> (s0)>>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<*xf32>
  %4 = gr.slice %y, %zero, %least, %zero, %one : (tensor<?xf32, #gr.dims<()[s0] -> (s0)>>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<*xf32>
  %low = gr.constant dense<-9223372036854775808> : tensor<i64> : tensor<i64>
  %near = gr.constant dense<-9223372036854775805> : tensor<i64> : tensor<i64>
  %step = gr.constant dense<1> : tensor<i64> : tensor<i64>
  %5 = gr.range %low, %near, %step : (tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<*xi64>
  %6 = gr.range %step, %low, %low : (tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<*xi64>
  return %0, %1, %2, %3, %4, %5, %6 : tensor<*xf32>, tensor<*xf32>, tensor<*xf32>, tensor<*xf32>, tensor<*xf32>, tensor<*xi64>, tensor<*xi64>
}

// -----

// No number stands for what is not known: an end that is computed may be the smallest one.
// CHECK-LABEL: @smallest
// CHECK-SAME: -> tensor<5x2xf32>
func.func @smallest(%x: tensor<5x6xf32>) -> tensor<*xf32> {
  %low = gr.constant dense<-9223372036854775808> : tensor<1xi64> : tensor<1xi64>
  %three = gr.constant dense<3> : tensor<1xi64> : tensor<1xi64>
  %ends = gr.concat %low, %three {axis = 0 : i64} : (tensor<1xi64>, tensor<1xi64>) -> tensor<2xi64>
  %starts = gr.constant dense<[-1, 1]> : tensor<2xi64> : tensor<2xi64>
  %axes = gr.constant dense<[0, 1]> : tensor<2xi64> : tensor<2xi64>
  %steps = gr.constant dense<[-1, 1]> : tensor<2xi64> : tensor<2xi64>
  %0 = gr.slice %x, %starts, %ends, %axes, %steps
    : (tensor<5x6xf32>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) -> tensor<*xf32>
  return %0 : tensor<*xf32>
}

// -----

func.func @smallest_dim(%x: tensor<6xf32>) -> tensor<*xf32> {
  %low = gr.constant dense<-9223372036854775808> : tensor<1xi64> : tensor<1xi64>
  // expected-error @below {{shape has a dim below -1}}
  %0 = gr.reshape %x, %low : (tensor<6xf32>, tensor<1xi64>) -> tensor<*xf32>
  return %0 : tensor<*xf32>
}
