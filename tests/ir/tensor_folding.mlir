// RUN: graphrun-opt %s --canonicalize --split-input-file | FileCheck %s

// CHECK-LABEL: @shapes
// CHECK-DAG: dense<[4, 6]> : tensor<2xi64>
// CHECK-DAG: dense<[6, 12, 1]> : tensor<3xi64>
// CHECK-DAG: dense<6> : tensor<1xi64>
func.func @shapes(%x: tensor<2x4x6xf32>) -> (tensor<2xi64>, tensor<3xi64>, tensor<1xi64>) {
  %s = gr.shape %x {start = -2 : i64} : (tensor<2x4x6xf32>) -> tensor<2xi64>
  %i = gr.constant dense<[1]> : tensor<1xi64> : tensor<1xi64>
  %e = gr.constant dense<[9]> : tensor<1xi64> : tensor<1xi64>
  %z = gr.constant dense<[0]> : tensor<1xi64> : tensor<1xi64>
  %g = gr.gather %s, %i {axis = 0 : i64} : (tensor<2xi64>, tensor<1xi64>) -> tensor<1xi64>
  %d = gr.add %g, %g : (tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
  %c = gr.concat %g, %d, %i {axis = 0 : i64} : (tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<3xi64>
  %l = gr.slice %s, %i, %e, %z, %i : (tensor<2xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
  return %s, %c, %l : tensor<2xi64>, tensor<3xi64>, tensor<1xi64>
}

// -----

// A dim that is only symbolic is not folded.
// CHECK-LABEL: @symbolic
// CHECK: gr.shape
func.func @symbolic(%x: tensor<?xf32, #gr.dims<(d0)[s0] -> (s0)>>) -> tensor<1xi64> {
  %s = gr.shape %x : (tensor<?xf32, #gr.dims<(d0)[s0] -> (s0)>>) -> tensor<1xi64>
  return %s : tensor<1xi64>
}

// -----

// CHECK-LABEL: @constants
// CHECK-DAG: dense<{{\[\[}}1, 4], [2, 5], [3, 6]]> : tensor<3x2xi64>
// CHECK-DAG: dense<[1, 2, 3, 4, 5, 6]> : tensor<6xi64>
// CHECK-DAG: dense<{{\[\[\[}}1, 2, 3], [4, 5, 6]]]> : tensor<1x2x3xi64>
// CHECK-DAG: dense<1.500000e+00> : tensor<4x5xf32>
// CHECK-DAG: dense<2.500000e+00> : tensor<2x2xf32>
// CHECK-DAG: dense<[5.000000e-01, 2.500000e-01]> : tensor<2xf32>
func.func @constants() -> (tensor<3x2xi64>, tensor<6xi64>, tensor<1x2x3xi64>, tensor<4x5xf32>, tensor<2x2xf32>, tensor<2xf32>) {
  %a = gr.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi64> : tensor<2x3xi64>
  %n = gr.constant dense<[-1]> : tensor<1xi64> : tensor<1xi64>
  %s = gr.constant dense<[4, 5]> : tensor<2xi64> : tensor<2xi64>
  %two = gr.constant dense<[2, 2]> : tensor<2xi64> : tensor<2xi64>
  %f = gr.constant dense<1.5> : tensor<f32> : tensor<f32>
  %v = gr.constant dense<[0.25, 0.125, 0.5]> : tensor<3xf32> : tensor<3xf32>
  %i = gr.constant dense<[2, -3]> : tensor<2xi64> : tensor<2xi64>
  %0 = gr.transpose %a {permutation = array<i64: 1, 0>} : (tensor<2x3xi64>) -> tensor<3x2xi64>
  %1 = gr.reshape %a, %n : (tensor<2x3xi64>, tensor<1xi64>) -> tensor<6xi64>
  %2 = gr.unsqueeze %a {axes = array<i64: 0>} : (tensor<2x3xi64>) -> tensor<1x2x3xi64>
  %3 = gr.expand %f, %s : (tensor<f32>, tensor<2xi64>) -> tensor<4x5xf32>
  %4 = gr.fill %two {value = dense<2.5> : tensor<1xf32>} : (tensor<2xi64>) -> tensor<2x2xf32>
  %5 = gr.gather %v, %i {axis = 0 : i64} : (tensor<3xf32>, tensor<2xi64>) -> tensor<2xf32>
  return %0, %1, %2, %3, %4, %5 : tensor<3x2xi64>, tensor<6xi64>, tensor<1x2x3xi64>, tensor<4x5xf32>, tensor<2x2xf32>, tensor<2xf32>
}

// -----

// A resource takes another shape without a copy.
// CHECK-LABEL: @resource
// CHECK-NEXT: gr.constant dense_resource<w> : tensor<4xf32>
// CHECK-NEXT: return
func.func @resource() -> tensor<4xf32> {
  %w = gr.constant dense_resource<w> : tensor<1x4xf32> : tensor<1x4xf32>
  %0 = gr.squeeze %w {axes = array<i64: 0>} : (tensor<1x4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
{-# dialect_resources: { builtin: { w: "0x040000000000803F000000400000404000008040" } } #-}

// -----

// CHECK-LABEL: @identities
// CHECK-NEXT: return %arg0
func.func @identities(%x: tensor<2x3xf32>, %v: tensor<f32>) -> tensor<2x3xf32> {
  %none = gr.constant dense<0> : tensor<4xi64> : tensor<4xi64>
  %once = gr.constant dense<1> : tensor<2xi64> : tensor<2xi64>
  %same = gr.constant dense<[2, 3]> : tensor<2xi64> : tensor<2xi64>
  %0 = gr.transpose %x {permutation = array<i64: 0, 1>} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %1 = gr.pad %0, %none, %v {mode = "constant"} : (tensor<2x3xf32>, tensor<4xi64>, tensor<f32>) -> tensor<2x3xf32>
  %2 = gr.tile %1, %once : (tensor<2x3xf32>, tensor<2xi64>) -> tensor<2x3xf32>
  %3 = gr.expand %2, %same : (tensor<2x3xf32>, tensor<2xi64>) -> tensor<2x3xf32>
  %4 = gr.reshape %3, %same : (tensor<2x3xf32>, tensor<2xi64>) -> tensor<2x3xf32>
  %5 = gr.concat %4 {axis = 0 : i64} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %6 = gr.squeeze %5 {axes = array<i64>} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return %6 : tensor<2x3xf32>
}

// -----

// Nothing folds to a value of another type.
// CHECK-LABEL: @declared_otherwise
// CHECK: gr.squeeze
func.func @declared_otherwise(%x: tensor<2x3xf32>) -> tensor<?x3xf32> {
  %0 = gr.squeeze %x {axes = array<i64>} : (tensor<2x3xf32>) -> tensor<?x3xf32>
  return %0 : tensor<?x3xf32>
}
