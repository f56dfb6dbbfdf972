// Forms spelled out in small operations, and what comes close to them.
// RUN: graphrun-opt %s --gr-raise-ops | FileCheck %s

// The means of exporters to write a layer normalisation; scale and bias follow.
// CHECK-LABEL: @layer_norm
// CHECK: %[[N:.*]] = gr.layer_norm %arg0, %arg1, %arg2 {epsilon = 9.9999{{.*}}E-6 : f64}
// CHECK-NEXT: return %[[N]]
func.func @layer_norm(%x: tensor<2x3x4xf32>, %scale: tensor<4xf32>, %bias: tensor<4xf32>) -> tensor<2x3x4xf32> {
  %two = gr.constant dense<2.0> : tensor<f32> : tensor<f32>
  %epsilon = gr.constant dense<1.0e-5> : tensor<1xf32> : tensor<1xf32>
  %0 = gr.reduce %x {kind = "mean", axes = array<i64: 2>} : (tensor<2x3x4xf32>) -> tensor<2x3x1xf32>
  %1 = gr.sub %x, %0 : (tensor<2x3x4xf32>, tensor<2x3x1xf32>) -> tensor<2x3x4xf32>
  %2 = gr.pow %1, %two : (tensor<2x3x4xf32>, tensor<f32>) -> tensor<2x3x4xf32>
  %3 = gr.reduce %2 {kind = "mean", axes = array<i64: 2>} : (tensor<2x3x4xf32>) -> tensor<2x3x1xf32>
  %4 = gr.add %epsilon, %3 : (tensor<1xf32>, tensor<2x3x1xf32>) -> tensor<2x3x1xf32>
  %5 = gr.sqrt %4 : (tensor<2x3x1xf32>) -> tensor<2x3x1xf32>
  %6 = gr.div %1, %5 : (tensor<2x3x4xf32>, tensor<2x3x1xf32>) -> tensor<2x3x4xf32>
  %7 = gr.mul %scale, %6 : (tensor<4xf32>, tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  %8 = gr.add %7, %bias : (tensor<2x3x4xf32>, tensor<4xf32>) -> tensor<2x3x4xf32>
  return %8 : tensor<2x3x4xf32>
}

// Over two dims, by the reciprocal root, and without parameters.
// CHECK-LABEL: @layer_norm_plain
// CHECK: %[[ONES:.*]] = gr.constant dense<1.000000e+00> : tensor<3x4xf32>
// CHECK: gr.layer_norm %arg0, %[[ONES]] {axis = -2 : i64, epsilon = 0.000000e+00 : f64}
func.func @layer_norm_plain(%x: tensor<2x3x4xf32>) -> tensor<2x3x4xf32> {
  %0 = gr.reduce %x {kind = "mean", axes = array<i64: 1, 2>} : (tensor<2x3x4xf32>) -> tensor<2x1x1xf32>
  %1 = gr.sub %x, %0 : (tensor<2x3x4xf32>, tensor<2x1x1xf32>) -> tensor<2x3x4xf32>
  %2 = gr.mul %1, %1 : (tensor<2x3x4xf32>, tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  %3 = gr.reduce %2 {kind = "mean", axes = array<i64: 1, 2>} : (tensor<2x3x4xf32>) -> tensor<2x1x1xf32>
  %4 = gr.sqrt %3 : (tensor<2x1x1xf32>) -> tensor<2x1x1xf32>
  %5 = gr.reciprocal %4 : (tensor<2x1x1xf32>) -> tensor<2x1x1xf32>
  %6 = gr.mul %5, %1 : (tensor<2x1x1xf32>, tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  return %6 : tensor<2x3x4xf32>
}

// Centred by the mean over another dim.
// CHECK-LABEL: @no_layer_norm
// CHECK-NOT: gr.layer_norm
func.func @no_layer_norm(%x: tensor<3x3xf32>) -> tensor<3x3xf32> {
  %0 = gr.reduce %x {kind = "mean", axes = array<i64: 0>} : (tensor<3x3xf32>) -> tensor<1x3xf32>
  %1 = gr.sub %x, %0 : (tensor<3x3xf32>, tensor<1x3xf32>) -> tensor<3x3xf32>
  %2 = gr.mul %1, %1 : (tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<3x3xf32>
  %3 = gr.reduce %2 {kind = "mean", axes = array<i64: 1>} : (tensor<3x3xf32>) -> tensor<3x1xf32>
  %4 = gr.sqrt %3 : (tensor<3x1xf32>) -> tensor<3x1xf32>
  %5 = gr.div %1, %4 : (tensor<3x3xf32>, tensor<3x1xf32>) -> tensor<3x3xf32>
  return %5 : tensor<3x3xf32>
}

// CHECK-LABEL: @gelu
// CHECK-NEXT: %[[A:.*]] = gr.gelu %arg0 :
// CHECK-NEXT: %[[B:.*]] = gr.gelu %[[A]] :
// CHECK-NEXT: return %[[B]]
func.func @gelu(%x: tensor<4xf32>) -> tensor<4xf32> {
  %half = gr.constant dense<0.5> : tensor<f32> : tensor<f32>
  %one = gr.constant dense<1.0> : tensor<1xf32> : tensor<1xf32>
  %two = gr.constant dense<2.0> : tensor<f32> : tensor<f32>
  %root = gr.constant dense<1.41421354> : tensor<f32> : tensor<f32>
  %inverse = gr.constant dense<0.707106769> : tensor<f32> : tensor<f32>
  %0 = gr.div %x, %root : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %1 = gr.erf %0 : (tensor<4xf32>) -> tensor<4xf32>
  %2 = gr.add %1, %one : (tensor<4xf32>, tensor<1xf32>) -> tensor<4xf32>
  %3 = gr.mul %x, %2 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %4 = gr.mul %3, %half : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %5 = gr.mul %inverse, %4 : (tensor<f32>, tensor<4xf32>) -> tensor<4xf32>
  %6 = gr.erf %5 : (tensor<4xf32>) -> tensor<4xf32>
  %7 = gr.add %one, %6 : (tensor<1xf32>, tensor<4xf32>) -> tensor<4xf32>
  %8 = gr.mul %7, %4 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %9 = gr.div %8, %two : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  return %9 : tensor<4xf32>
}

// The cube as a power, and with x before the brackets.
// CHECK-LABEL: @gelu_tanh
// CHECK-NEXT: %[[A:.*]] = gr.gelu %arg0 {approximate = true}
// CHECK-NEXT: %[[B:.*]] = gr.gelu %[[A]] {approximate = true}
// CHECK-NEXT: return %[[B]]
func.func @gelu_tanh(%x: tensor<4xf32>) -> tensor<4xf32> {
  %half = gr.constant dense<0.5> : tensor<f32> : tensor<f32>
  %one = gr.constant dense<1.0> : tensor<f32> : tensor<f32>
  %three = gr.constant dense<3.0> : tensor<f32> : tensor<f32>
  %cubic = gr.constant dense<4.471500e-02> : tensor<f32> : tensor<f32>
  %slope = gr.constant dense<0.797884583> : tensor<f32> : tensor<f32>
  %0 = gr.pow %x, %three : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %1 = gr.mul %0, %cubic : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %2 = gr.add %x, %1 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %3 = gr.mul %2, %slope : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %4 = gr.tanh %3 : (tensor<4xf32>) -> tensor<4xf32>
  %5 = gr.add %4, %one : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %6 = gr.mul %x, %half : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %7 = gr.mul %6, %5 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %8 = gr.mul %7, %7 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %9 = gr.mul %8, %cubic : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %10 = gr.add %9, %one : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %11 = gr.mul %7, %slope : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %12 = gr.mul %11, %10 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %13 = gr.tanh %12 : (tensor<4xf32>) -> tensor<4xf32>
  %14 = gr.add %13, %one : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %15 = gr.mul %7, %14 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %16 = gr.mul %15, %half : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  return %16 : tensor<4xf32>
}

// Of another slope.
// CHECK-LABEL: @no_gelu
// CHECK-NOT: gr.gelu
func.func @no_gelu(%x: tensor<4xf32>) -> tensor<4xf32> {
  %half = gr.constant dense<0.5> : tensor<f32> : tensor<f32>
  %one = gr.constant dense<1.0> : tensor<f32> : tensor<f32>
  %root = gr.constant dense<1.5> : tensor<f32> : tensor<f32>
  %0 = gr.div %x, %root : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %1 = gr.erf %0 : (tensor<4xf32>) -> tensor<4xf32>
  %2 = gr.add %1, %one : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %3 = gr.mul %x, %2 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %4 = gr.mul %3, %half : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  return %4 : tensor<4xf32>
}

// CHECK-LABEL: @swish
// CHECK: %[[A:.*]] = gr.swish %arg0 :
// CHECK-NEXT: %[[B:.*]] = gr.swish %[[A]] {alpha = 1.5{{.*}}}
// CHECK-NEXT: %[[C:.*]] = gr.swish %[[B]] :
// CHECK-NEXT: return %[[C]]
func.func @swish(%x: tensor<4xf32>) -> tensor<4xf32> {
  %slope = gr.constant dense<1.5> : tensor<f32> : tensor<f32>
  %one = gr.constant dense<1.0> : tensor<f32> : tensor<f32>
  %0 = gr.sigmoid %x : (tensor<4xf32>) -> tensor<4xf32>
  %1 = gr.mul %0, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %2 = gr.mul %1, %slope : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %3 = gr.sigmoid %2 : (tensor<4xf32>) -> tensor<4xf32>
  %4 = gr.mul %1, %3 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %5 = gr.neg %4 : (tensor<4xf32>) -> tensor<4xf32>
  %6 = gr.exp %5 : (tensor<4xf32>) -> tensor<4xf32>
  %7 = gr.add %one, %6 : (tensor<f32>, tensor<4xf32>) -> tensor<4xf32>
  %8 = gr.div %4, %7 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %8 : tensor<4xf32>
}

// CHECK-LABEL: @softmax
// CHECK-NEXT: %[[S:.*]] = gr.softmax %arg0 {axis = 1 : i64}
// CHECK-NEXT: return %[[S]]
func.func @softmax(%x: tensor<2x3x4xf32>) -> tensor<2x3x4xf32> {
  %0 = gr.reduce %x {kind = "max", axes = array<i64: 1>} : (tensor<2x3x4xf32>) -> tensor<2x1x4xf32>
  %1 = gr.sub %x, %0 : (tensor<2x3x4xf32>, tensor<2x1x4xf32>) -> tensor<2x3x4xf32>
  %2 = gr.exp %1 : (tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  %3 = gr.reduce %2 {kind = "sum", axes = array<i64: 1>} : (tensor<2x3x4xf32>) -> tensor<2x1x4xf32>
  %4 = gr.div %2, %3 : (tensor<2x3x4xf32>, tensor<2x1x4xf32>) -> tensor<2x3x4xf32>
  return %4 : tensor<2x3x4xf32>
}

// A key that lies transposed, a scale behind the product, a mask.
// CHECK-LABEL: @attention
// CHECK-NEXT: %[[K:.*]] = gr.transpose %arg1 {permutation = array<i64: 0, 1, 3, 2>}
// CHECK-NEXT: %[[A:.*]] = gr.attention %arg0, %[[K]], %arg2, %arg3 {scale = 1.250000e-01 : f64}
// CHECK-NEXT: return %[[A]]
func.func @attention(%q: tensor<2x3x5x8xf32>, %k: tensor<2x3x8x6xf32>, %v: tensor<2x3x6x4xf32>, %mask: tensor<2x1x1x6xf32>) -> tensor<2x3x5x4xf32> {
  %eight = gr.constant dense<8.0> : tensor<f32> : tensor<f32>
  %0 = gr.matmul %q, %k : (tensor<2x3x5x8xf32>, tensor<2x3x8x6xf32>) -> tensor<2x3x5x6xf32>
  %1 = gr.div %0, %eight : (tensor<2x3x5x6xf32>, tensor<f32>) -> tensor<2x3x5x6xf32>
  %2 = gr.add %mask, %1 : (tensor<2x1x1x6xf32>, tensor<2x3x5x6xf32>) -> tensor<2x3x5x6xf32>
  %3 = gr.softmax %2 {axis = 3 : i64} : (tensor<2x3x5x6xf32>) -> tensor<2x3x5x6xf32>
  %4 = gr.matmul %3, %v : (tensor<2x3x5x6xf32>, tensor<2x3x6x4xf32>) -> tensor<2x3x5x4xf32>
  return %4 : tensor<2x3x5x4xf32>
}

// Three dims are one head; query and key are scaled before the product.
// CHECK-LABEL: @attention_rank_3
// CHECK-DAG: %[[Q:.*]] = gr.unsqueeze %arg0 {axes = array<i64: 1>}
// CHECK-DAG: %[[K:.*]] = gr.unsqueeze %arg1
// CHECK-DAG: %[[V:.*]] = gr.unsqueeze %arg2
// CHECK: %[[A:.*]] = gr.attention %[[Q]], %[[K]], %[[V]] {scale = 2.500000e-01 : f64}
// CHECK-NEXT: %[[S:.*]] = gr.squeeze %[[A]]
// CHECK-NEXT: return %[[S]]
func.func @attention_rank_3(%q: tensor<6x5x8xf32>, %k: tensor<6x5x8xf32>, %v: tensor<6x5x8xf32>) -> tensor<6x5x8xf32> {
  %half = gr.constant dense<0.5> : tensor<f32> : tensor<f32>
  %0 = gr.mul %q, %half : (tensor<6x5x8xf32>, tensor<f32>) -> tensor<6x5x8xf32>
  %1 = gr.mul %k, %half : (tensor<6x5x8xf32>, tensor<f32>) -> tensor<6x5x8xf32>
  %2 = gr.matmul %0, %1 {transpose_rhs = true} : (tensor<6x5x8xf32>, tensor<6x5x8xf32>) -> tensor<6x5x5xf32>
  %3 = gr.softmax %2 : (tensor<6x5x5xf32>) -> tensor<6x5x5xf32>
  %4 = gr.matmul %3, %v : (tensor<6x5x5xf32>, tensor<6x5x8xf32>) -> tensor<6x5x8xf32>
  return %4 : tensor<6x5x8xf32>
}

// The corner of a triangle hides what comes later.
// CHECK-LABEL: @attention_causal
// CHECK: gr.attention %arg0, %arg0, %arg0 {causal = true}
func.func @attention_causal(%q: tensor<1x1x2x2xf32>) -> tensor<1x1x2x2xf32> {
  %triangle = gr.constant dense<[[true, false, false], [true, true, false], [true, true, true]]> : tensor<3x3xi1> : tensor<3x3xi1>
  %zeros = gr.constant dense<0> : tensor<2xi64> : tensor<2xi64>
  %ends = gr.constant dense<2> : tensor<2xi64> : tensor<2xi64>
  %axes = gr.constant dense<[0, 1]> : tensor<2xi64> : tensor<2xi64>
  %steps = gr.constant dense<1> : tensor<2xi64> : tensor<2xi64>
  %hidden = gr.constant dense<-3.40282347E+38> : tensor<f32> : tensor<f32>
  %seen = gr.slice %triangle, %zeros, %ends, %axes, %steps : (tensor<3x3xi1>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) -> tensor<2x2xi1>
  %0 = gr.matmul %q, %q {transpose_rhs = true} : (tensor<1x1x2x2xf32>, tensor<1x1x2x2xf32>) -> tensor<1x1x2x2xf32>
  %1 = gr.where %seen, %0, %hidden : (tensor<2x2xi1>, tensor<1x1x2x2xf32>, tensor<f32>) -> tensor<1x1x2x2xf32>
  %2 = gr.softmax %1 : (tensor<1x1x2x2xf32>) -> tensor<1x1x2x2xf32>
  %3 = gr.matmul %2, %q : (tensor<1x1x2x2xf32>, tensor<1x1x2x2xf32>) -> tensor<1x1x2x2xf32>
  return %3 : tensor<1x1x2x2xf32>
}

// A condition that is not known, and a mask that is a triangle.
// CHECK-LABEL: @attention_condition
// CHECK: %[[MASK:.*]] = gr.where %arg1
// CHECK: %[[A:.*]] = gr.attention %arg0, %arg0, %arg0, %[[MASK]] :
// CHECK: gr.attention %[[A]], %[[A]], %[[A]] {causal = true}
func.func @attention_condition(%q: tensor<1x1x2x2xf32>, %seen: tensor<2x2xi1>) -> tensor<1x1x2x2xf32> {
  %hidden = gr.constant dense<0xFF800000> : tensor<f32> : tensor<f32>
  %triangle = gr.constant dense<[[0.0, -10000.0], [0.0, 0.0]]> : tensor<2x2xf32> : tensor<2x2xf32>
  %0 = gr.matmul %q, %q {transpose_rhs = true} : (tensor<1x1x2x2xf32>, tensor<1x1x2x2xf32>) -> tensor<1x1x2x2xf32>
  %1 = gr.where %seen, %0, %hidden : (tensor<2x2xi1>, tensor<1x1x2x2xf32>, tensor<f32>) -> tensor<1x1x2x2xf32>
  %2 = gr.softmax %1 : (tensor<1x1x2x2xf32>) -> tensor<1x1x2x2xf32>
  %3 = gr.matmul %2, %q : (tensor<1x1x2x2xf32>, tensor<1x1x2x2xf32>) -> tensor<1x1x2x2xf32>
  %4 = gr.matmul %3, %3 {transpose_rhs = true} : (tensor<1x1x2x2xf32>, tensor<1x1x2x2xf32>) -> tensor<1x1x2x2xf32>
  %5 = gr.add %4, %triangle : (tensor<1x1x2x2xf32>, tensor<2x2xf32>) -> tensor<1x1x2x2xf32>
  %6 = gr.softmax %5 : (tensor<1x1x2x2xf32>) -> tensor<1x1x2x2xf32>
  %7 = gr.matmul %6, %3 : (tensor<1x1x2x2xf32>, tensor<1x1x2x2xf32>) -> tensor<1x1x2x2xf32>
  return %7 : tensor<1x1x2x2xf32>
}

// The weights are needed still; a mask is scaled with the scores; a number hides nothing for sure.
// CHECK-LABEL: @no_attention
// CHECK-NOT: gr.attention
func.func @no_attention(%q: tensor<1x1x2x2xf32>, %mask: tensor<2x2xf32>, %seen: tensor<2x2xi1>) -> (tensor<1x1x2x2xf32>, tensor<1x1x2x2xf32>, tensor<1x1x2x2xf32>, tensor<1x1x2x2xf32>) {
  %half = gr.constant dense<0.5> : tensor<f32> : tensor<f32>
  %hidden = gr.constant dense<-1.0e4> : tensor<f32> : tensor<f32>
  %0 = gr.matmul %q, %q {transpose_rhs = true} : (tensor<1x1x2x2xf32>, tensor<1x1x2x2xf32>) -> tensor<1x1x2x2xf32>
  %1 = gr.softmax %0 : (tensor<1x1x2x2xf32>) -> tensor<1x1x2x2xf32>
  %2 = gr.matmul %1, %q : (tensor<1x1x2x2xf32>, tensor<1x1x2x2xf32>) -> tensor<1x1x2x2xf32>
  %3 = gr.matmul %2, %2 {transpose_rhs = true} : (tensor<1x1x2x2xf32>, tensor<1x1x2x2xf32>) -> tensor<1x1x2x2xf32>
  %4 = gr.add %3, %mask : (tensor<1x1x2x2xf32>, tensor<2x2xf32>) -> tensor<1x1x2x2xf32>
  %5 = gr.mul %4, %half : (tensor<1x1x2x2xf32>, tensor<f32>) -> tensor<1x1x2x2xf32>
  %6 = gr.softmax %5 : (tensor<1x1x2x2xf32>) -> tensor<1x1x2x2xf32>
  %7 = gr.matmul %6, %2 : (tensor<1x1x2x2xf32>, tensor<1x1x2x2xf32>) -> tensor<1x1x2x2xf32>
  %8 = gr.matmul %q, %q : (tensor<1x1x2x2xf32>, tensor<1x1x2x2xf32>) -> tensor<1x1x2x2xf32>
  %9 = gr.where %seen, %8, %hidden : (tensor<2x2xi1>, tensor<1x1x2x2xf32>, tensor<f32>) -> tensor<1x1x2x2xf32>
  %10 = gr.softmax %9 : (tensor<1x1x2x2xf32>) -> tensor<1x1x2x2xf32>
  %11 = gr.matmul %10, %q : (tensor<1x1x2x2xf32>, tensor<1x1x2x2xf32>) -> tensor<1x1x2x2xf32>
  return %1, %2, %7, %11 : tensor<1x1x2x2xf32>, tensor<1x1x2x2xf32>, tensor<1x1x2x2xf32>, tensor<1x1x2x2xf32>
}
