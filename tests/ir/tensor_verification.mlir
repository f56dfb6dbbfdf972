// Every diagnostic of the tensor family.
// RUN: graphrun-opt %s --verify-diagnostics --split-input-file

func.func @f0(%x: tensor<2x3xf32>, %s: tensor<2xf32>) {
  // expected-error @below {{shape is 'tensor<2xf32>', expected a 1-D integer tensor}}
  %0 = gr.reshape %x, %s : (tensor<2x3xf32>, tensor<2xf32>) -> tensor<*xf32>
  return
}

// -----

func.func @f1(%x: tensor<2x3xf32>, %s: tensor<1x2xi64>) {
  // expected-error @below {{shape is 'tensor<1x2xi64>', expected a 1-D integer tensor}}
  %0 = gr.expand %x, %s : (tensor<2x3xf32>, tensor<1x2xi64>) -> tensor<*xf32>
  return
}

// -----

func.func @f2(%x: tensor<2x3xf32>) {
  %s = gr.constant dense<[2, 1, 0]> : tensor<3xi64> : tensor<3xi64>
  // expected-error @below {{shape copies dim 2 of an input of rank 2}}
  %0 = gr.reshape %x, %s : (tensor<2x3xf32>, tensor<3xi64>) -> tensor<*xf32>
  return
}

// -----

func.func @f3(%x: tensor<2x3xf32>) {
  %s = gr.constant dense<[-1, -1]> : tensor<2xi64> : tensor<2xi64>
  // expected-error @below {{shape has two dims of -1}}
  %0 = gr.reshape %x, %s : (tensor<2x3xf32>, tensor<2xi64>) -> tensor<*xf32>
  return
}

// -----

func.func @f4(%x: tensor<2x3xf32>) {
  %s = gr.constant dense<[-2, 3]> : tensor<2xi64> : tensor<2xi64>
  // expected-error @below {{shape has a dim below -1}}
  %0 = gr.reshape %x, %s : (tensor<2x3xf32>, tensor<2xi64>) -> tensor<*xf32>
  return
}

// -----

func.func @f5(%x: tensor<2x3xf32>) {
  %s = gr.constant dense<[4, 2]> : tensor<2xi64> : tensor<2xi64>
  // expected-error @below {{cannot reshape 2x3 (6 elements) to 4x2 (8)}}
  %0 = gr.reshape %x, %s : (tensor<2x3xf32>, tensor<2xi64>) -> tensor<*xf32>
  return
}

// -----

func.func @f6(%x: tensor<2x3xf32>) {
  // expected-error @below {{dim 0 of 2x3 is 2, expected 1}}
  %0 = gr.squeeze %x {axes = array<i64: 0>} : (tensor<2x3xf32>) -> tensor<3xf32>
  return
}

// -----

func.func @f7(%x: tensor<2x3xf32>) {
  // expected-error @below {{axis 3 is out of range for rank 3}}
  %0 = gr.unsqueeze %x {axes = array<i64: 3>} : (tensor<2x3xf32>) -> tensor<*xf32>
  return
}

// -----

func.func @f8(%x: tensor<2x3xf32>) {
  // expected-error @below {{permutation is not one of 0 to 1}}
  %0 = gr.transpose %x {permutation = array<i64: 0, 0>} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @f9(%x: tensor<2x3xf32>) {
  // expected-error @below {{permutation has 3 entries, expected the input's rank 2}}
  %0 = gr.transpose %x {permutation = array<i64: 0, 2, 1>} : (tensor<2x3xf32>) -> tensor<*xf32>
  return
}

// -----

func.func @f10() {
  // expected-error @below {{has no operand, expected at least one}}
  %0 = gr.concat {axis = 0 : i64} : () -> tensor<2xf32>
  return
}

// -----

func.func @f11(%x: tensor<2x3xf32>, %y: tensor<2xf32>) {
  // expected-error @below {{operands have ranks 2 and 1, expected equal}}
  %0 = gr.concat %x, %y {axis = 0 : i64} : (tensor<2x3xf32>, tensor<2xf32>) -> tensor<*xf32>
  return
}

// -----

func.func @f12(%x: tensor<2x3xf32>, %y: tensor<2x4xf32>) {
  // expected-error @below {{operand shapes 4x3 and 2x4 differ in dim 1, expected only in axis 0}}
  %0 = gr.concat %x, %y {axis = 0 : i64} : (tensor<2x3xf32>, tensor<2x4xf32>) -> tensor<*xf32>
  return
}

// -----

func.func @f13(%x: tensor<2x3xf32>) {
  // expected-error @below {{axis 2 is out of range for rank 2}}
  %0 = gr.concat %x, %x {axis = 2 : i64} : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<*xf32>
  return
}

// -----

func.func @f14(%x: tensor<2x3xf32>) {
  // expected-error @below {{sizes has 1 entries, expected 2 (one a result)}}
  %0:2 = gr.split %x {axis = 1 : i64, sizes = array<i64: 3>} : (tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>)
  return
}

// -----

func.func @f15(%x: tensor<2x3xf32>) {
  // expected-error @below {{sizes add up to 6, expected dim 1 of 2x3}}
  %0:2 = gr.split %x {axis = 1 : i64, sizes = array<i64: 3, 3>} : (tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>)
  return
}

// -----

func.func @f16(%x: tensor<2x3xf32>) {
  // expected-error @below {{axis 7 is out of range for rank 2}}
  %0:2 = gr.split %x {axis = 7 : i64, sizes = array<i64>} : (tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>)
  return
}

// -----

func.func @f17(%x: tensor<2x3xf32>) {
  %a = gr.constant dense<[0]> : tensor<1xi64> : tensor<1xi64>
  %b = gr.constant dense<[1]> : tensor<1xi64> : tensor<1xi64>
  %c = gr.constant dense<[5]> : tensor<1xi64> : tensor<1xi64>
  %d = gr.constant dense<[1]> : tensor<1xi64> : tensor<1xi64>
  // expected-error @below {{axis 5 is out of range for rank 2}}
  %0 = gr.slice %x, %a, %b, %c, %d : (tensor<2x3xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<*xf32>
  return
}

// -----

func.func @f18(%x: tensor<2x3xf32>) {
  %a = gr.constant dense<[0]> : tensor<1xi64> : tensor<1xi64>
  %b = gr.constant dense<[1]> : tensor<1xi64> : tensor<1xi64>
  %c = gr.constant dense<[1]> : tensor<1xi64> : tensor<1xi64>
  %d = gr.constant dense<[0]> : tensor<1xi64> : tensor<1xi64>
  // expected-error @below {{step of axis 1 is 0}}
  %0 = gr.slice %x, %a, %b, %c, %d : (tensor<2x3xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<*xf32>
  return
}

// -----

func.func @f19(%x: tensor<2x3xf32>, %s: tensor<1xf32>, %i: tensor<1xi64>) {
  // expected-error @below {{starts is 'tensor<1xf32>', expected a 1-D integer tensor}}
  %0 = gr.slice %x, %s, %i, %i, %i : (tensor<2x3xf32>, tensor<1xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<*xf32>
  return
}

// -----

func.func @f20(%x: tensor<2x3xf32>, %v: tensor<f32>, %p: tensor<4xi64>) {
  // expected-error @below {{has mode "mirror", expected constant, reflect, edge or wrap}}
  %0 = gr.pad %x, %p, %v {mode = "mirror"} : (tensor<2x3xf32>, tensor<4xi64>, tensor<f32>) -> tensor<*xf32>
  return
}

// -----

func.func @f21(%x: tensor<2x3xf32>, %v: tensor<f32>) {
  %p = gr.constant dense<[1, 1, 1]> : tensor<3xi64> : tensor<3xi64>
  // expected-error @below {{pads has 3 elements, expected 4 (begin and end of each dim)}}
  %0 = gr.pad %x, %p, %v {mode = "edge"} : (tensor<2x3xf32>, tensor<3xi64>, tensor<f32>) -> tensor<*xf32>
  return
}

// -----

func.func @f22(%x: tensor<2x3xf32>, %v: tensor<f32>) {
  %p = gr.constant dense<[-1, 0, -2, 0]> : tensor<4xi64> : tensor<4xi64>
  // expected-error @below {{pads crop dim 0 to -1}}
  %0 = gr.pad %x, %p, %v {mode = "edge"} : (tensor<2x3xf32>, tensor<4xi64>, tensor<f32>) -> tensor<*xf32>
  return
}

// -----

func.func @f23(%x: tensor<2x3xf32>, %v: tensor<f64>, %p: tensor<4xi64>) {
  // expected-error @below {{operands have element types 'f32' and 'f64'}}
  %0 = gr.pad %x, %p, %v {mode = "edge"} : (tensor<2x3xf32>, tensor<4xi64>, tensor<f64>) -> tensor<*xf32>
  return
}

// -----

func.func @f24(%x: tensor<2x3xf32>, %i: tensor<2xf32>) {
  // expected-error @below {{indices have element type 'f32', expected an integer type}}
  %0 = gr.gather %x, %i {axis = 0 : i64} : (tensor<2x3xf32>, tensor<2xf32>) -> tensor<*xf32>
  return
}

// -----

func.func @f25(%x: tensor<2x3xf32>, %i: tensor<2xi64>) {
  // expected-error @below {{axis -1 is out of range for rank 2}}
  %0 = gr.gather %x, %i {axis = -1 : i64} : (tensor<2x3xf32>, tensor<2xi64>) -> tensor<*xf32>
  return
}

// -----

func.func @f26(%x: tensor<2x3xf32>) {
  %s = gr.constant dense<[4, 3]> : tensor<2xi64> : tensor<2xi64>
  // expected-error @below {{cannot broadcast 2x3 to 4x3}}
  %0 = gr.expand %x, %s : (tensor<2x3xf32>, tensor<2xi64>) -> tensor<*xf32>
  return
}

// -----

func.func @f27(%x: tensor<2x3xf32>) {
  %s = gr.constant dense<[4, 3, 1]> : tensor<3xi64> : tensor<3xi64>
  // expected-error @below {{repeats has 3 elements, expected 2}}
  %0 = gr.tile %x, %s : (tensor<2x3xf32>, tensor<3xi64>) -> tensor<*xf32>
  return
}

// -----

func.func @f28(%x: tensor<2x3xf32>) {
  %s = gr.constant dense<[4, -1]> : tensor<2xi64> : tensor<2xi64>
  // expected-error @below {{repeats has the negative element -1}}
  %0 = gr.tile %x, %s : (tensor<2x3xf32>, tensor<2xi64>) -> tensor<*xf32>
  return
}

// -----

func.func @f29(%s: tensor<2xi64>) {
  // expected-error @below {{value has 2 elements, expected 1}}
  %0 = gr.fill %s {value = dense<[1.0, 2.0]> : tensor<2xf32>} : (tensor<2xi64>) -> tensor<?x?xf32>
  return
}

// -----

func.func @f30() {
  %s = gr.constant dense<[2, -4]> : tensor<2xi64> : tensor<2xi64>
  // expected-error @below {{shape has the negative dim -4}}
  %0 = gr.fill %s {value = dense<1.0> : tensor<f32>} : (tensor<2xi64>) -> tensor<?x?xf32>
  return
}

// -----

func.func @f31() {
  // expected-error @below {{result 0 is declared as 'tensor<3xf32>', but its operands give 'tensor<2xf32>'}}
  %0 = gr.constant dense<1.0> : tensor<2xf32> : tensor<3xf32>
  return
}

// -----

func.func @negative_split(%x: tensor<2x3xf32>) {
  // expected-error @below {{sizes has the negative element -1}}
  %0:2 = gr.split %x {axis = 1 : i64, sizes = array<i64: -1, 4>} : (tensor<2x3xf32>) -> (tensor<*xf32>, tensor<*xf32>)
  return
}

// -----

func.func @negative_expand(%x: tensor<1x3xf32>) {
  %s = gr.constant dense<[-1, 3]> : tensor<2xi64> : tensor<2xi64>
  // expected-error @below {{shape has the negative dim -1}}
  %0 = gr.expand %x, %s : (tensor<1x3xf32>, tensor<2xi64>) -> tensor<*xf32>
  return
}
