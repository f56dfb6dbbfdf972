// Every diagnostic of recurrent layers and of Fourier transforms.
// RUN: graphrun-opt %s --verify-diagnostics --split-input-file

func.func @cell(%x: tensor<3x2x4xf32>, %w: tensor<5x4xf32>, %r: tensor<5x5xf32>, %b: tensor<5xf32>, %h: tensor<2x5xf32>) {
  // expected-error @below {{has cell "elman", expected rnn, gru or lstm}}
  %0:2 = gr.recurrent %x weights %w recurrent %r bias %b hidden %h {cell = "elman", activations = ["tanh"], alphas = array<f64: 0.0>, betas = array<f64: 0.0>} : (tensor<3x2x4xf32>, tensor<5x4xf32>, tensor<5x5xf32>, tensor<5xf32>, tensor<2x5xf32>) -> (tensor<3x2x5xf32>, tensor<2x5xf32>)
  return
}

// -----

func.func @count(%x: tensor<3x2x4xf32>, %w: tensor<5x4xf32>, %r: tensor<5x5xf32>, %b: tensor<5xf32>, %h: tensor<2x5xf32>) {
  // expected-error @below {{has 2 activations with 1 alphas and 1 betas, expected 1 of each}}
  %0:2 = gr.recurrent %x weights %w recurrent %r bias %b hidden %h {cell = "rnn", activations = ["tanh", "tanh"], alphas = array<f64: 0.0>, betas = array<f64: 0.0>} : (tensor<3x2x4xf32>, tensor<5x4xf32>, tensor<5x5xf32>, tensor<5xf32>, tensor<2x5xf32>) -> (tensor<3x2x5xf32>, tensor<2x5xf32>)
  return
}

// -----

func.func @activation(%x: tensor<3x2x4xf32>, %w: tensor<5x4xf32>, %r: tensor<5x5xf32>, %b: tensor<5xf32>, %h: tensor<2x5xf32>) {
  // expected-error @below {{has activations "sine", expected affine, elu, }}
  %0:2 = gr.recurrent %x weights %w recurrent %r bias %b hidden %h {cell = "rnn", activations = ["sine"], alphas = array<f64: 0.0>, betas = array<f64: 0.0>} : (tensor<3x2x4xf32>, tensor<5x4xf32>, tensor<5x5xf32>, tensor<5xf32>, tensor<2x5xf32>) -> (tensor<3x2x5xf32>, tensor<2x5xf32>)
  return
}

// -----

func.func @state(%x: tensor<3x2x4xf32>, %w: tensor<5x4xf32>, %r: tensor<5x5xf32>, %b: tensor<5xf32>, %h: tensor<2x5xf32>) {
  // expected-error @below {{state belongs to the lstm cell, and to no other}}
  %0:2 = gr.recurrent %x weights %w recurrent %r bias %b hidden %h state %h {cell = "rnn", activations = ["tanh"], alphas = array<f64: 0.0>, betas = array<f64: 0.0>} : (tensor<3x2x4xf32>, tensor<5x4xf32>, tensor<5x5xf32>, tensor<5xf32>, tensor<2x5xf32>, tensor<2x5xf32>) -> (tensor<3x2x5xf32>, tensor<2x5xf32>)
  return
}

// -----

func.func @coupled(%x: tensor<3x2x4xf32>, %w: tensor<5x4xf32>, %r: tensor<5x5xf32>, %b: tensor<5xf32>, %h: tensor<2x5xf32>) {
  // expected-error @below {{peepholes and input_forget belong to the lstm cell}}
  %0:2 = gr.recurrent %x weights %w recurrent %r bias %b hidden %h {cell = "rnn", input_forget = true, activations = ["tanh"], alphas = array<f64: 0.0>, betas = array<f64: 0.0>} : (tensor<3x2x4xf32>, tensor<5x4xf32>, tensor<5x5xf32>, tensor<5xf32>, tensor<2x5xf32>) -> (tensor<3x2x5xf32>, tensor<2x5xf32>)
  return
}

// -----

func.func @linear(%x: tensor<3x2x4xf32>, %w: tensor<5x4xf32>, %r: tensor<5x5xf32>, %b: tensor<5xf32>, %h: tensor<2x5xf32>) {
  // expected-error @below {{linear_before_reset belongs to the gru cell}}
  %0:2 = gr.recurrent %x weights %w recurrent %r bias %b hidden %h {cell = "rnn", linear_before_reset = true, activations = ["tanh"], alphas = array<f64: 0.0>, betas = array<f64: 0.0>} : (tensor<3x2x4xf32>, tensor<5x4xf32>, tensor<5x5xf32>, tensor<5xf32>, tensor<2x5xf32>) -> (tensor<3x2x5xf32>, tensor<2x5xf32>)
  return
}

// -----

func.func @rank(%x: tensor<3x8xf32>, %w: tensor<5x4xf32>, %r: tensor<5x5xf32>, %b: tensor<5xf32>, %h: tensor<2x5xf32>) {
  // expected-error @below {{input is of rank 2, expected 3 (steps, batch, features)}}
  %0:2 = gr.recurrent %x weights %w recurrent %r bias %b hidden %h {cell = "rnn", activations = ["tanh"], alphas = array<f64: 0.0>, betas = array<f64: 0.0>} : (tensor<3x8xf32>, tensor<5x4xf32>, tensor<5x5xf32>, tensor<5xf32>, tensor<2x5xf32>) -> (tensor<3x2x5xf32>, tensor<2x5xf32>)
  return
}

// -----

func.func @recurrentRank(%x: tensor<3x2x4xf32>, %w: tensor<5x4xf32>, %r: tensor<1x5x5xf32>, %b: tensor<5xf32>, %h: tensor<2x5xf32>) {
  // expected-error @below {{recurrent is of rank 3, expected 2}}
  %0:2 = gr.recurrent %x weights %w recurrent %r bias %b hidden %h {cell = "rnn", activations = ["tanh"], alphas = array<f64: 0.0>, betas = array<f64: 0.0>} : (tensor<3x2x4xf32>, tensor<5x4xf32>, tensor<1x5x5xf32>, tensor<5xf32>, tensor<2x5xf32>) -> (tensor<3x2x5xf32>, tensor<2x5xf32>)
  return
}

// -----

func.func @bias(%x: tensor<3x2x4xf32>, %w: tensor<5x4xf32>, %r: tensor<5x5xf32>, %b: tensor<10xf32>, %h: tensor<2x5xf32>) {
  // expected-error @below {{bias has shape 10, expected 5}}
  %0:2 = gr.recurrent %x weights %w recurrent %r bias %b hidden %h {cell = "rnn", activations = ["tanh"], alphas = array<f64: 0.0>, betas = array<f64: 0.0>} : (tensor<3x2x4xf32>, tensor<5x4xf32>, tensor<5x5xf32>, tensor<10xf32>, tensor<2x5xf32>) -> (tensor<3x2x5xf32>, tensor<2x5xf32>)
  return
}

// -----

func.func @element(%x: tensor<3x2x4xf32>, %w: tensor<5x4xf16>, %r: tensor<5x5xf32>, %b: tensor<5xf32>, %h: tensor<2x5xf32>) {
  // expected-error @below {{operands have element types 'f32' and 'f16'}}
  %0:2 = gr.recurrent %x weights %w recurrent %r bias %b hidden %h {cell = "rnn", activations = ["tanh"], alphas = array<f64: 0.0>, betas = array<f64: 0.0>} : (tensor<3x2x4xf32>, tensor<5x4xf16>, tensor<5x5xf32>, tensor<5xf32>, tensor<2x5xf32>) -> (tensor<3x2x5xf32>, tensor<2x5xf32>)
  return
}

// -----

func.func @dftLength(%x: tensor<4x2xf32>) {
  // expected-error @below {{length is -1, expected at least 0}}
  %0 = gr.dft %x {axis = 0 : i64, length = -1 : i64} : (tensor<4x2xf32>) -> tensor<4x2xf32>
  return
}

// -----

func.func @dftAxis(%x: tensor<4x2xf32>) {
  // expected-error @below {{axis is 1, expected 0 to 0 for an input of rank 2}}
  %0 = gr.dft %x {axis = 1 : i64} : (tensor<4x2xf32>) -> tensor<4x2xf32>
  return
}

// -----

func.func @dftParts(%x: tensor<4x3xf32>) {
  // expected-error @below {{the last dim of the input is 3, expected 1 (real) or 2 (complex numbers)}}
  %0 = gr.dft %x {axis = 0 : i64} : (tensor<4x3xf32>) -> tensor<4x2xf32>
  return
}

// -----

func.func @dftReal(%x: tensor<4x1xf32>) {
  // expected-error @below {{the last dim of the input is 1, expected 2 (complex numbers)}}
  %0 = gr.dft %x {axis = 0 : i64, inverse = true, onesided = true} : (tensor<4x1xf32>) -> tensor<6x1xf32>
  return
}

// -----

func.func @dftOneSide(%x: tensor<4x2xf32>) {
  // expected-error @below {{gives one side of the spectrum of a real signal}}
  %0 = gr.dft %x {axis = 0 : i64, onesided = true} : (tensor<4x2xf32>) -> tensor<3x2xf32>
  return
}

// -----

func.func @dftEmpty(%x: tensor<0x2xf32>) {
  // expected-error @below {{transforms 0 values, expected at least 1}}
  %0 = gr.dft %x {axis = 0 : i64} : (tensor<0x2xf32>) -> tensor<0x2xf32>
  return
}

// -----

func.func @dftInteger(%x: tensor<4x2xi32>) {
  // expected-error @below {{input has element type}}
  %0 = gr.dft %x {axis = 0 : i64} : (tensor<4x2xi32>) -> tensor<4x2xi32>
  return
}
