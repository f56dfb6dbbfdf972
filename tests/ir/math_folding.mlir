// RUN: graphrun-opt %s --canonicalize | FileCheck %s

// CHECK-LABEL: @floats
// CHECK-DAG: dense<[2.000000e+00, 3.000000e+00]> : tensor<2xf32>
// CHECK-DAG: dense<{{\[\[}}1.000000e+00, 1.500000e+00], [2.000000e+00, 3.000000e+00]]> : tensor<2x2xf32>
// CHECK-DAG: dense<[0.000000e+00, 1.000000e+00]> : tensor<2xf32>
// CHECK-NOT: gr.add
func.func @floats() -> (tensor<2xf32>, tensor<2x2xf32>, tensor<2xf32>) {
  %a = gr.constant dense<[1.0, 2.0]> : tensor<2xf32> : tensor<2xf32>
  %one = gr.constant dense<1.0> : tensor<f32> : tensor<f32>
  %c = gr.constant dense<[[0.5], [1.0]]> : tensor<2x1xf32> : tensor<2x1xf32>
  %0 = gr.add %a, %one : (tensor<2xf32>, tensor<f32>) -> tensor<2xf32>
  %1 = gr.mul %0, %c : (tensor<2xf32>, tensor<2x1xf32>) -> tensor<2x2xf32>
  %2 = gr.sub %a, %one : (tensor<2xf32>, tensor<f32>) -> tensor<2xf32>
  return %0, %1, %2 : tensor<2xf32>, tensor<2x2xf32>, tensor<2xf32>
}

// CHECK-LABEL: @integers
// CHECK-DAG: dense<[-2, 3]> : tensor<2xi64>
// CHECK-DAG: dense<[true, false]> : tensor<2xi1>
// CHECK-DAG: dense<24> : tensor<1xi64>
func.func @integers() -> (tensor<2xi64>, tensor<2xi1>, tensor<1xi64>) {
  %a = gr.constant dense<[-5, 7]> : tensor<2xi64> : tensor<2xi64>
  %two = gr.constant dense<2> : tensor<i64> : tensor<i64>
  %s = gr.constant dense<[2, 3, 4]> : tensor<3xi64> : tensor<3xi64>
  %0 = gr.div %a, %two : (tensor<2xi64>, tensor<i64>) -> tensor<2xi64>
  %1 = gr.less %a, %two : (tensor<2xi64>, tensor<i64>) -> tensor<2xi1>
  %2 = gr.reduce %s {kind = "prod", axes = array<i64: 0>, keepdims = true} : (tensor<3xi64>) -> tensor<1xi64>
  return %0, %1, %2 : tensor<2xi64>, tensor<2xi1>, tensor<1xi64>
}

// A division by zero has no value to fold to.
// CHECK-LABEL: @division_by_zero
// CHECK: gr.div
func.func @division_by_zero() -> tensor<2xi64> {
  %a = gr.constant dense<[-5, 7]> : tensor<2xi64> : tensor<2xi64>
  %z = gr.constant dense<0> : tensor<i64> : tensor<i64>
  %0 = gr.div %a, %z : (tensor<2xi64>, tensor<i64>) -> tensor<2xi64>
  return %0 : tensor<2xi64>
}

// CHECK-LABEL: @neutral
// CHECK-NEXT: return %arg0
func.func @neutral(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %zero = gr.constant dense<0.0> : tensor<f32> : tensor<f32>
  %one = gr.constant dense<1.0> : tensor<4xf32> : tensor<4xf32>
  %0 = gr.add %zero, %x : (tensor<f32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %1 = gr.sub %0, %zero : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  %2 = gr.mul %one, %1 : (tensor<4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %3 = gr.div %2, %one : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  %4 = gr.pow %3, %one : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  %5 = gr.cast %4 {to = f32} : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %6 = gr.reduce %5 {kind = "sum", axes = array<i64>} : (tensor<2x4xf32>) -> tensor<2x4xf32>
  return %6 : tensor<2x4xf32>
}

// A neutral element that broadcasts the other operand is not neutral.
// CHECK-LABEL: @broadcasts
// CHECK: gr.add
func.func @broadcasts(%x: tensor<4xf32>) -> tensor<2x4xf32> {
  %zero = gr.constant dense<0.0> : tensor<2x1xf32> : tensor<2x1xf32>
  %0 = gr.add %x, %zero : (tensor<4xf32>, tensor<2x1xf32>) -> tensor<2x4xf32>
  return %0 : tensor<2x4xf32>
}

// CHECK-LABEL: @casts
// CHECK-DAG: dense<[1, -1]> : tensor<2xi32>
// CHECK-DAG: dense<true> : tensor<2xi1>
// CHECK-DAG: gr.cast
func.func @casts() -> (tensor<2xi32>, tensor<2xi1>, tensor<1xi64>) {
  %a = gr.constant dense<[1.9, -1.9]> : tensor<2xf32> : tensor<2xf32>
  %nan = gr.constant dense<0x7FC00000> : tensor<1xf32> : tensor<1xf32>
  %0 = gr.cast %a {to = i32} : (tensor<2xf32>) -> tensor<2xi32>
  %1 = gr.cast %a {to = i1} : (tensor<2xf32>) -> tensor<2xi1>
  %2 = gr.cast %nan {to = i64} : (tensor<1xf32>) -> tensor<1xi64>
  return %0, %1, %2 : tensor<2xi32>, tensor<2xi1>, tensor<1xi64>
}

// Every element-wise operation evaluates one element.
// CHECK-LABEL: @each
// CHECK-NOT: tensor<1xf32>) ->
// CHECK: return
func.func @each() -> (tensor<1xf32>, tensor<1xf32>, tensor<1xi1>) {
  %x = gr.constant dense<0.5> : tensor<1xf32> : tensor<1xf32>
  %t = gr.constant dense<true> : tensor<1xi1> : tensor<1xi1>
  %0 = gr.abs %x : (tensor<1xf32>) -> tensor<1xf32>
  %1 = gr.neg %0 : (tensor<1xf32>) -> tensor<1xf32>
  %2 = gr.exp %1 : (tensor<1xf32>) -> tensor<1xf32>
  %3 = gr.log %2 : (tensor<1xf32>) -> tensor<1xf32>
  %4 = gr.sqrt %x : (tensor<1xf32>) -> tensor<1xf32>
  %5 = gr.reciprocal %4 : (tensor<1xf32>) -> tensor<1xf32>
  %6 = gr.floor %5 : (tensor<1xf32>) -> tensor<1xf32>
  %7 = gr.ceil %5 : (tensor<1xf32>) -> tensor<1xf32>
  %8 = gr.round %5 : (tensor<1xf32>) -> tensor<1xf32>
  %9 = gr.sign %8 : (tensor<1xf32>) -> tensor<1xf32>
  %10 = gr.erf %x : (tensor<1xf32>) -> tensor<1xf32>
  %11 = gr.sin %10 : (tensor<1xf32>) -> tensor<1xf32>
  %12 = gr.cos %11 : (tensor<1xf32>) -> tensor<1xf32>
  %13 = gr.tanh %12 : (tensor<1xf32>) -> tensor<1xf32>
  %14 = gr.sigmoid %13 : (tensor<1xf32>) -> tensor<1xf32>
  %15 = gr.softplus %14 : (tensor<1xf32>) -> tensor<1xf32>
  %16 = gr.relu %15 : (tensor<1xf32>) -> tensor<1xf32>
  %17 = gr.hard_swish %16 : (tensor<1xf32>) -> tensor<1xf32>
  %18 = gr.leaky_relu %17 : (tensor<1xf32>) -> tensor<1xf32>
  %19 = gr.elu %18 : (tensor<1xf32>) -> tensor<1xf32>
  %20 = gr.selu %19 : (tensor<1xf32>) -> tensor<1xf32>
  %21 = gr.hard_sigmoid %20 : (tensor<1xf32>) -> tensor<1xf32>
  %22 = gr.gelu %21 : (tensor<1xf32>) -> tensor<1xf32>
  %23 = gr.clip %22 {low = 0.0 : f64, high = 1.0 : f64} : (tensor<1xf32>) -> tensor<1xf32>
  %24 = gr.pow %23, %x : (tensor<1xf32>, tensor<1xf32>) -> tensor<1xf32>
  %25 = gr.min %24, %9 : (tensor<1xf32>, tensor<1xf32>) -> tensor<1xf32>
  %26 = gr.max %25, %6 : (tensor<1xf32>, tensor<1xf32>) -> tensor<1xf32>
  %27 = gr.prelu %26, %7 : (tensor<1xf32>, tensor<1xf32>) -> tensor<1xf32>
  %28 = gr.equal %27, %3 : (tensor<1xf32>, tensor<1xf32>) -> tensor<1xi1>
  %29 = gr.less_equal %27, %3 : (tensor<1xf32>, tensor<1xf32>) -> tensor<1xi1>
  %30 = gr.and %28, %29 : (tensor<1xi1>, tensor<1xi1>) -> tensor<1xi1>
  %31 = gr.or %30, %t : (tensor<1xi1>, tensor<1xi1>) -> tensor<1xi1>
  %32 = gr.xor %31, %t : (tensor<1xi1>, tensor<1xi1>) -> tensor<1xi1>
  %33 = gr.not %32 : (tensor<1xi1>) -> tensor<1xi1>
  %34 = gr.where %33, %27, %x : (tensor<1xi1>, tensor<1xf32>, tensor<1xf32>) -> tensor<1xf32>
  return %27, %34, %33 : tensor<1xf32>, tensor<1xf32>, tensor<1xi1>
}

// Bits of an integer and of a bool; shifts by more than the width; both kinds of remainder.
// CHECK-LABEL: @bits
// CHECK-DAG: dense<[-2, 0]> : tensor<2xi8>
// CHECK-DAG: dense<[false, true]> : tensor<2xi1>
// CHECK-DAG: dense<[2, 0]> : tensor<2xi8>
// CHECK-DAG: dense<[0, -1]> : tensor<2xi8>
// CHECK-DAG: dense<[2, 1]> : tensor<2xi64>
// CHECK-DAG: dense<[-1, 1]> : tensor<2xi64>
// CHECK-NOT: gr.
func.func @bits() -> (tensor<2xi8>, tensor<2xi1>, tensor<2xi8>, tensor<2xi8>, tensor<2xi64>, tensor<2xi64>) {
  %a = gr.constant dense<[1, -1]> : tensor<2xi8> : tensor<2xi8>
  %p = gr.constant dense<[true, false]> : tensor<2xi1> : tensor<2xi1>
  %by = gr.constant dense<[1, 8]> : tensor<2xi8> : tensor<2xi8>
  %x = gr.constant dense<[-7, 7]> : tensor<2xi64> : tensor<2xi64>
  %three = gr.constant dense<3> : tensor<i64> : tensor<i64>
  %0 = gr.not %a : (tensor<2xi8>) -> tensor<2xi8>
  %1 = gr.not %p : (tensor<2xi1>) -> tensor<2xi1>
  %2 = gr.shift_left %a, %by : (tensor<2xi8>, tensor<2xi8>) -> tensor<2xi8>
  %3 = gr.shift_right %a, %by : (tensor<2xi8>, tensor<2xi8>) -> tensor<2xi8>
  %4 = gr.mod %x, %three : (tensor<2xi64>, tensor<i64>) -> tensor<2xi64>
  %5 = gr.mod %x, %three {truncate = true} : (tensor<2xi64>, tensor<i64>) -> tensor<2xi64>
  return %0, %1, %2, %3, %4, %5 : tensor<2xi8>, tensor<2xi1>, tensor<2xi8>, tensor<2xi8>, tensor<2xi64>, tensor<2xi64>
}

// CHECK-LABEL: @trigonometric
// CHECK-COUNT-2: gr.constant
// CHECK-NEXT: return
func.func @trigonometric() -> (tensor<1xf64>, tensor<1xf64>) {
  %x = gr.constant dense<0.5> : tensor<1xf64> : tensor<1xf64>
  %0 = gr.tan %x : (tensor<1xf64>) -> tensor<1xf64>
  %1 = gr.atan %0 : (tensor<1xf64>) -> tensor<1xf64>
  %2 = gr.asin %1 : (tensor<1xf64>) -> tensor<1xf64>
  %3 = gr.acos %2 : (tensor<1xf64>) -> tensor<1xf64>
  %4 = gr.sinh %3 : (tensor<1xf64>) -> tensor<1xf64>
  %5 = gr.asinh %4 : (tensor<1xf64>) -> tensor<1xf64>
  %6 = gr.cosh %5 : (tensor<1xf64>) -> tensor<1xf64>
  %7 = gr.acosh %6 : (tensor<1xf64>) -> tensor<1xf64>
  %8 = gr.atanh %x : (tensor<1xf64>) -> tensor<1xf64>
  %9 = gr.mod %6, %x : (tensor<1xf64>, tensor<1xf64>) -> tensor<1xf64>
  %10 = gr.add %8, %9 : (tensor<1xf64>, tensor<1xf64>) -> tensor<1xf64>
  %two = gr.constant dense<2.0> : tensor<f64> : tensor<f64>
  %11 = gr.add %7, %two : (tensor<1xf64>, tensor<f64>) -> tensor<1xf64>
  return %11, %10 : tensor<1xf64>, tensor<1xf64>
}

// As kernels do: integers are rounded once, to f32 before a narrower type; u64 has no sign.
// CHECK-LABEL: @rounding_casts
// CHECK-DAG: gr.constant dense<4.611686{{57*}}E+18> : tensor<f32>
// CHECK-DAG: gr.constant dense<1.84467441E+19> : tensor<f32>
// CHECK-DAG: gr.constant dense<2.048000e+03> : tensor<f16>
// CHECK-DAG: gr.constant dense<-1> : tensor<i8>
func.func @rounding_casts() -> (tensor<f32>, tensor<f32>, tensor<f16>, tensor<i8>) {
  %0 = gr.constant dense<4611686293305294849> : tensor<i64> : tensor<i64>
  %1 = gr.cast %0 {to = f32} : (tensor<i64>) -> tensor<f32>
  %2 = gr.constant dense<18446744073709551615> : tensor<ui64> : tensor<ui64>
  %3 = gr.cast %2 {to = f32} : (tensor<ui64>) -> tensor<f32>
  %4 = gr.constant dense<2049.0000000001> : tensor<f64> : tensor<f64>
  %5 = gr.cast %4 {to = f16} : (tensor<f64>) -> tensor<f16>
  %6 = gr.constant dense<-1.5> : tensor<f32> : tensor<f32>
  %7 = gr.cast %6 {to = i8} : (tensor<f32>) -> tensor<i8>
  return %1, %3, %5, %7 : tensor<f32>, tensor<f32>, tensor<f16>, tensor<i8>
}

// What is out of range has no value to fold to.
// CHECK-LABEL: @rounding_casts_out_of_range
// CHECK-COUNT-3: gr.cast
func.func @rounding_casts_out_of_range() -> (tensor<i8>, tensor<ui8>, tensor<i64>) {
  %0 = gr.constant dense<128.0> : tensor<f32> : tensor<f32>
  %1 = gr.constant dense<-1.0> : tensor<f32> : tensor<f32>
  %2 = gr.constant dense<0x7FC00000> : tensor<f32> : tensor<f32>
  %3 = gr.cast %0 {to = i8} : (tensor<f32>) -> tensor<i8>
  %4 = gr.cast %1 {to = ui8} : (tensor<f32>) -> tensor<ui8>
  %5 = gr.cast %2 {to = i64} : (tensor<f32>) -> tensor<i64>
  return %3, %4, %5 : tensor<i8>, tensor<ui8>, tensor<i64>
}

// -0 is less than 0, and stays where only what is less than 0 is replaced.
// CHECK-LABEL: @signed_zeros
// CHECK-DAG: %[[N:.*]] = gr.constant dense<-0.000000e+00> : tensor<f32>
// CHECK-DAG: %[[P:.*]] = gr.constant dense<0.000000e+00> : tensor<f32>
// CHECK: return %[[N]], %[[P]], %[[N]], %[[N]]
func.func @signed_zeros() -> (tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>) {
  %n = gr.constant dense<-0.0> : tensor<f32> : tensor<f32>
  %p = gr.constant dense<0.0> : tensor<f32> : tensor<f32>
  %0 = gr.min %n, %p : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %1 = gr.max %p, %n : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %2 = gr.relu %n : (tensor<f32>) -> tensor<f32>
  %3 = gr.clip %n {low = 0.0 : f64, high = 1.0 : f64} : (tensor<f32>) -> tensor<f32>
  return %0, %1, %2, %3 : tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>
}
