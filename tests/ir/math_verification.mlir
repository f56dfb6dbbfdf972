// Every diagnostic of the math family.
// RUN: graphrun-opt %s --verify-diagnostics --split-input-file

func.func @f0(%x: tensor<2x3xf32>) {
  // expected-error @below {{'gr.reduce' op axis 2 is out of range for rank 2}}
  %0 = gr.reduce %x {kind = "sum", axes = array<i64: 2>} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @f1(%x: tensor<2x3xf32>) {
  // expected-error @below {{axes must be ascending and unique, got 0 after 1}}
  %0 = gr.reduce %x {kind = "sum", axes = array<i64: 1, 0>} : (tensor<2x3xf32>) -> tensor<1x1xf32>
  return
}

// -----

func.func @f2(%x: tensor<2x3xf32>) {
  // expected-error @below {{has kind "median", expected sum, mean, max, min, prod or log_sum_exp}}
  %0 = gr.reduce %x {kind = "median", axes = array<i64: 1>} : (tensor<2x3xf32>) -> tensor<2x1xf32>
  return
}

// -----

func.func @f3(%x: tensor<2x3xf32>, %y: tensor<2xf32>) {
  // expected-error @below {{operand shapes 2x3 and 2 do not broadcast: dims must be equal or 1, right-aligned}}
  %0 = gr.add %x, %y : (tensor<2x3xf32>, tensor<2xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @f4(%x: tensor<4xi64>) {
  // expected-error @below {{operand has element type 'i64', expected a floating-point type}}
  %0 = gr.exp %x : (tensor<4xi64>) -> tensor<4xi64>
  return
}

// -----

func.func @f5(%x: tensor<4xi64>, %y: tensor<4xf32>) {
  // expected-error @below {{operands have element types 'i64' and 'f32', expected one type; cast one of them}}
  %0 = gr.less %x, %y : (tensor<4xi64>, tensor<4xf32>) -> tensor<4xi1>
  return
}

// -----

func.func @f6(%x: tensor<4xf32>) {
  // expected-error @below {{operand has element type 'f32', expected bool (i1) or an integer type}}
  %0 = gr.not %x : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @f7(%x: tensor<4xf32>) {
  // expected-error @below {{operand has element type 'f32', expected bool (i1) or an integer type}}
  %0 = gr.and %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @f8(%c: tensor<4xi64>, %x: tensor<4xf32>) {
  // expected-error @below {{operand has element type 'i64', expected bool (i1)}}
  %0 = gr.where %c, %x, %x : (tensor<4xi64>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @f9(%x: tensor<4xf32>) {
  // expected-error @below {{cannot cast to 'index', expected an integer or float type}}
  %0 = gr.cast %x {to = index} : (tensor<4xf32>) -> tensor<4xindex>
  return
}

// -----

func.func @f10(%x: tensor<f32>, %y: tensor<4xf32>) {
  // expected-error @below {{operands have ranks 0 and 1, expected at least 1}}
  %0 = gr.matmul %x, %y : (tensor<f32>, tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @f11(%x: tensor<2x3xf32>, %y: tensor<2x3xf32>) {
  // expected-error @below {{shapes 2x3 and 2x3 do not multiply: inner dims are 3 and 2, expected equal}}
  %0 = gr.matmul %x, %y : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @f12(%x: tensor<2x3x4xf32>, %y: tensor<5x4x3xf32>) {
  // expected-error @below {{batch dims of shapes 2x3x4 and 5x4x3 do not broadcast}}
  %0 = gr.matmul %x, %y : (tensor<2x3x4xf32>, tensor<5x4x3xf32>) -> tensor<2x3x3xf32>
  return
}

// -----

func.func @f13(%x: tensor<4xf32>) {
  // expected-error @below {{result 0 is declared as 'tensor<5xf32>', but its operands give 'tensor<4xf32>'}}
  %0 = gr.relu %x : (tensor<4xf32>) -> tensor<5xf32>
  return
}

// -----

func.func @f14(%x: tensor<4xf32>) {
  // expected-error @below {{result 0 is declared as 'tensor<4xf16>', but its operands give 'tensor<4xf32>'}}
  %0 = gr.relu %x : (tensor<4xf32>) -> tensor<4xf16>
  return
}

// -----

func.func @f15(%x: tensor<4xf32>) {
  // expected-error @below {{requires attribute 'high'}}
  %0 = gr.clip %x {low = 0.0 : f64} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @f16(%x: tensor<4xf8E5M2>) {
  // expected-error @below {{operand has element type 'f8E5M2', which is only stored and converted; cast it first}}
  %0 = gr.exp %x : (tensor<4xf8E5M2>) -> tensor<4xf8E5M2>
  return
}

// -----

func.func @shift_bool(%x: tensor<4xi1>) {
  // expected-error @below {{operand has element type 'i1', expected an integer type}}
  %0 = gr.shift_left %x, %x : (tensor<4xi1>, tensor<4xi1>) -> tensor<4xi1>
  return
}

// -----

func.func @f17(%x: tensor<4xi4>) {
  // expected-error @below {{operand has element type 'i4', which is only stored}}
  %0 = gr.add %x, %x : (tensor<4xi4>, tensor<4xi4>) -> tensor<4xi4>
  return
}

// -----

func.func @f18(%x: tensor<4xf32>) {
  // expected-error @below {{cannot take the bits of 'f32' for 'i64', expected types of one width}}
  %0 = gr.bitcast %x {to = i64} : (tensor<4xf32>) -> tensor<4xi64>
  return
}

// -----

func.func @f19(%x: tensor<4xf32>) {
  // expected-error @below {{has round_mode "odd", expected up, down or nearest}}
  %0 = gr.cast %x {to = !gr.f8e8m0, round_mode = "odd"} : (tensor<4xf32>) -> tensor<4x!gr.f8e8m0>
  return
}

// -----

func.func @and_mixed(%x: tensor<4xi1>, %y: tensor<4xi8>) {
  // expected-error @below {{operands have element types 'i1' and 'i8', expected one type}}
  %0 = gr.and %x, %y : (tensor<4xi1>, tensor<4xi8>) -> tensor<4xi1>
  return
}

// -----

func.func @f20(%x: tensor<2x3xi32>) {
  // expected-error @below {{'gr.reduce' op input has element type 'i32', expected a floating-point type}}
  %0 = gr.reduce %x {kind = "log_sum_exp", axes = array<i64: 1>} : (tensor<2x3xi32>) -> tensor<2x1xi32>
  return
}
