// Every diagnostic of the index and random families.
// RUN: graphrun-opt %s --verify-diagnostics --split-input-file

func.func @f0(%a: tensor<i64>, %b: tensor<i64>, %c: tensor<f32>) {
  // expected-error @below {{operands have element types 'i64' and 'f32', expected one type; cast one of them}}
  %0 = gr.range %a, %b, %c : (tensor<i64>, tensor<i64>, tensor<f32>) -> tensor<?xi64>
  return
}

// -----

func.func @f1(%a: tensor<i1>) {
  // expected-error @below {{start has element type 'i1', expected a number}}
  %0 = gr.range %a, %a, %a : (tensor<i1>, tensor<i1>, tensor<i1>) -> tensor<?xi1>
  return
}

// -----

func.func @f2(%a: tensor<2xi64>) {
  // expected-error @below {{start is 'tensor<2xi64>', expected one element}}
  %0 = gr.range %a, %a, %a : (tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) -> tensor<?xi64>
  return
}

// -----

func.func @f3(%a: tensor<i64>) {
  %z = gr.constant dense<0> : tensor<i64> : tensor<i64>
  // expected-error @below {{delta is 0, expected another number}}
  %0 = gr.range %a, %a, %z : (tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<?xi64>
  return
}

// -----

func.func @f4(%x: tensor<2x3xf32>, %i: tensor<2x3xf32>) {
  // expected-error @below {{indices have element type 'f32', expected an integer type}}
  %0 = gr.gather_elements %x, %i {axis = 0 : i64} : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @f5(%x: tensor<2x3xf32>, %i: tensor<2xi64>) {
  // expected-error @below {{indices are of rank 1, expected the input's rank 2}}
  %0 = gr.gather_elements %x, %i {axis = 0 : i64} : (tensor<2x3xf32>, tensor<2xi64>) -> tensor<2xf32>
  return
}

// -----

func.func @f6(%x: tensor<2x3xf32>, %i: tensor<2x3xi64>) {
  // expected-error @below {{axis 2 is out of range for rank 2}}
  %0 = gr.gather_elements %x, %i {axis = 2 : i64} : (tensor<2x3xf32>, tensor<2x3xi64>) -> tensor<2x3xf32>
  return
}

// -----

func.func @f7(%x: tensor<2x3xf32>, %i: tensor<i64>) {
  // expected-error @below {{batch_dims is 1, expected fewer than the 0 dims of indices and at most the input's 2}}
  %0 = gr.gather_nd %x, %i {batch_dims = 1 : i64} : (tensor<2x3xf32>, tensor<i64>) -> tensor<*xf32>
  return
}

// -----

func.func @f8(%x: tensor<2x3xf32>, %i: tensor<i64>) {
  // expected-error @below {{indices are a scalar, expected a last dim that holds positions}}
  %0 = gr.gather_nd %x, %i : (tensor<2x3xf32>, tensor<i64>) -> tensor<*xf32>
  return
}

// -----

func.func @f9(%x: tensor<2x3xf32>, %i: tensor<4x3xi64>) {
  // expected-error @below {{indices hold 3 positions each, expected at most 2}}
  %0 = gr.gather_nd %x, %i : (tensor<2x3xf32>, tensor<4x3xi64>) -> tensor<*xf32>
  return
}

// -----

func.func @f10(%x: tensor<2x3xf32>, %i: tensor<4x1xi64>) {
  // expected-error @below {{batch dim 0 is 2 in the input and 4 in indices, expected equal}}
  %0 = gr.gather_nd %x, %i {batch_dims = 1 : i64} : (tensor<2x3xf32>, tensor<4x1xi64>) -> tensor<*xf32>
  return
}

// -----

func.func @f11(%x: tensor<2x3xf32>, %i: tensor<1x3xi64>, %u: tensor<2x3xf32>) {
  // expected-error @below {{updates are 2x3, expected the shape of indices 1x3}}
  %0 = gr.scatter_elements %x, %i, %u {axis = 0 : i64} : (tensor<2x3xf32>, tensor<1x3xi64>, tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @f12(%x: tensor<2x3xf32>, %i: tensor<3xi64>, %u: tensor<3xf32>) {
  // expected-error @below {{indices are of rank 1, expected the input's rank 2}}
  %0 = gr.scatter_elements %x, %i, %u {axis = 0 : i64} : (tensor<2x3xf32>, tensor<3xi64>, tensor<3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @f13(%x: tensor<3xf32>, %i: tensor<3xi64>, %u: tensor<3xf32>) {
  // expected-error @below {{has reduction "sub", expected none, add, mul, min or max}}
  %0 = gr.scatter_elements %x, %i, %u {axis = 0 : i64, reduction = "sub"} : (tensor<3xf32>, tensor<3xi64>, tensor<3xf32>) -> tensor<3xf32>
  return
}

// -----

func.func @f14(%x: tensor<4x3xf32>, %i: tensor<2x1xi64>, %u: tensor<2x2xf32>) {
  // expected-error @below {{updates are 2x2, expected 2x3 (the dims of indices but the last, then those not indexed)}}
  %0 = gr.scatter_nd %x, %i, %u : (tensor<4x3xf32>, tensor<2x1xi64>, tensor<2x2xf32>) -> tensor<4x3xf32>
  return
}

// -----

func.func @f15(%x: tensor<4x3xf32>, %i: tensor<2x1xi64>, %u: tensor<2x3xf16>) {
  // expected-error @below {{operands have element types 'f32' and 'f16', expected one type; cast one of them}}
  %0 = gr.scatter_nd %x, %i, %u : (tensor<4x3xf32>, tensor<2x1xi64>, tensor<2x3xf16>) -> tensor<4x3xf32>
  return
}

// -----

func.func @f16(%x: tensor<2x3xf32>) {
  // expected-error @below {{result 0 is declared as 'tensor<2x5xi64>', but its operands give 'tensor<2x6xi64>'}}
  %0:2 = gr.non_zero %x : (tensor<2x3xf32>) -> (tensor<2x5xi64>, tensor<1xi64>)
  return
}

// -----

func.func @f17(%x: tensor<2x3xf32>) {
  // expected-error @below {{axis 2 is out of range for rank 2}}
  %0:5 = gr.unique %x {axis = 2 : i64} : (tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>, tensor<1xi64>)
  return
}

// -----

func.func @f18(%x: tensor<2xf32>, %k: tensor<2xi64>) {
  // expected-error @below {{k is 'tensor<2xi64>', expected one element}}
  %0:2 = gr.top_k %x, %k {axis = 0 : i64} : (tensor<2xf32>, tensor<2xi64>) -> (tensor<?xf32>, tensor<?xi64>)
  return
}

// -----

func.func @f19(%x: tensor<2xf32>) {
  %k = gr.constant dense<3> : tensor<1xi64> : tensor<1xi64>
  // expected-error @below {{k is 3, but dim 0 of the input is 2}}
  %0:2 = gr.top_k %x, %k {axis = 0 : i64} : (tensor<2xf32>, tensor<1xi64>) -> (tensor<?xf32>, tensor<?xi64>)
  return
}

// -----

func.func @f20(%x: tensor<2xi1>) {
  // expected-error @below {{input has element type 'i1', expected a number}}
  %0 = gr.arg_reduce %x {axis = 0 : i64, kind = "max"} : (tensor<2xi1>) -> tensor<1xi64>
  return
}

// -----

func.func @f21(%x: tensor<2xf32>) {
  // expected-error @below {{has kind "sum", expected max or min}}
  %0 = gr.arg_reduce %x {axis = 0 : i64, kind = "sum"} : (tensor<2xf32>) -> tensor<1xi64>
  return
}

// -----

func.func @f22(%x: tensor<2x0xf32>) {
  // expected-error @below {{dim 1 of the input is empty, expected an element}}
  %0 = gr.arg_reduce %x {axis = 1 : i64, kind = "max"} : (tensor<2x0xf32>) -> tensor<2x1xi64>
  return
}

// -----

func.func @f23(%x: tensor<2xf32>, %a: tensor<i64>) {
  // expected-error @below {{has kind "max", expected sum or prod}}
  %0 = gr.cumulative %x, %a {kind = "max"} : (tensor<2xf32>, tensor<i64>) -> tensor<2xf32>
  return
}

// -----

func.func @f24(%x: tensor<2xf32>) {
  %k = gr.constant dense<3> : tensor<1xi64> : tensor<1xi64>
  // expected-error @below {{axis 3 is out of range for rank 1}}
  %0 = gr.cumulative %x, %k {kind = "sum"} : (tensor<2xf32>, tensor<1xi64>) -> tensor<2xf32>
  return
}

// -----

func.func @f25(%b: tensor<1x6x4xf32>, %s: tensor<1x2x5xf32>, %m: tensor<i64>, %t: tensor<f32>) {
  // expected-error @below {{boxes are 'tensor<1x6x4xf32>' and scores 'tensor<1x2x5xf32>', expected batches x boxes x 4 and batches x classes x boxes}}
  %0:2 = gr.non_max_suppression %b, %s, %m, %t, %t : (tensor<1x6x4xf32>, tensor<1x2x5xf32>, tensor<i64>, tensor<f32>, tensor<f32>) -> (tensor<?x3xi64>, tensor<1xi64>)
  return
}

// -----

func.func @f26(%x: tensor<2x3xf32>) {
  // expected-error @below {{input is 2x3, expected square matrices in the last two dims}}
  %0 = gr.det %x : (tensor<2x3xf32>) -> tensor<f32>
  return
}

// -----

func.func @f27(%x: tensor<2x2xi64>) {
  // expected-error @below {{input has element type 'i64', expected a floating-point type}}
  %0 = gr.det %x : (tensor<2x2xi64>) -> tensor<i64>
  return
}

// -----

func.func @f28(%s: tensor<2xi64>) {
  // expected-error @below {{has kind "gamma", expected uniform or normal}}
  %0 = gr.random %s {kind = "gamma", a = 0.0, b = 1.0, seed = 1 : i64, to = f32} : (tensor<2xi64>) -> tensor<?x?xf32>
  return
}

// -----

func.func @f29(%s: tensor<2xi64>) {
  // expected-error @below {{cannot make 'i32', expected a floating-point type}}
  %0 = gr.random %s {kind = "normal", a = 0.0, b = 1.0, seed = 1 : i64, to = i32} : (tensor<2xi64>) -> tensor<?x?xi32>
  return
}
