// Every diagnostic of the backward family, and of gr.batch_norm_training and the steps of gr.random.
// RUN: graphrun-opt %s --verify-diagnostics --split-input-file

func.func @f0(%a: tensor<1x4x6x6xi32>, %b: tensor<1x2x4x4xi32>) {
  // expected-error @below {{operand}}
  %0 = gr.conv_backward_filter %a, %b {kernel = array<i64: 3, 3>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>} : (tensor<1x4x6x6xi32>, tensor<1x2x4x4xi32>) -> tensor<2x4x3x3xi32>
  return
}

// -----

func.func @f1(%a: tensor<1x4x6x6xf32>, %b: tensor<1x2x4x4xf64>) {
  // expected-error @below {{element type}}
  %0 = gr.conv_backward_filter %a, %b {kernel = array<i64: 3, 3>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>} : (tensor<1x4x6x6xf32>, tensor<1x2x4x4xf64>) -> tensor<2x4x3x3xf32>
  return
}

// -----

func.func @f2(%a: tensor<1x4x6x6xf32>, %b: tensor<1x2x4xf32>) {
  // expected-error @below {{input has shape 1x4x6x6 and gradient 1x2x4, expected equal ranks of at least 3 and equal batches}}
  %0 = gr.conv_backward_filter %a, %b {kernel = array<i64: 3, 3>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>} : (tensor<1x4x6x6xf32>, tensor<1x2x4xf32>) -> tensor<2x4x3x3xf32>
  return
}

// -----

func.func @f3(%a: tensor<1x4x6x6xf32>, %b: tensor<2x2x4x4xf32>) {
  // expected-error @below {{input has shape 1x4x6x6 and gradient 2x2x4x4, expected equal ranks of at least 3 and equal batches}}
  %0 = gr.conv_backward_filter %a, %b {kernel = array<i64: 3, 3>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>} : (tensor<1x4x6x6xf32>, tensor<2x2x4x4xf32>) -> tensor<2x4x3x3xf32>
  return
}

// -----

func.func @f4(%a: tensor<1x4x6x6xf32>, %b: tensor<1x2x4x4xf32>) {
  // expected-error @below {{kernel has 1 entries, expected 2, one a spatial dim}}
  %0 = gr.conv_backward_filter %a, %b {kernel = array<i64: 3>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>} : (tensor<1x4x6x6xf32>, tensor<1x2x4x4xf32>) -> tensor<2x4x3xf32>
  return
}

// -----

func.func @f5(%a: tensor<1x4x6x6xf32>, %b: tensor<1x2x4x4xf32>) {
  // expected-error @below {{strides has 1 entries, expected 2 for 2 spatial dims}}
  %0 = gr.conv_backward_filter %a, %b {kernel = array<i64: 3, 3>, strides = array<i64: 1>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>} : (tensor<1x4x6x6xf32>, tensor<1x2x4x4xf32>) -> tensor<2x4x3x3xf32>
  return
}

// -----

func.func @f6(%a: tensor<1x4x6x6xf32>, %b: tensor<1x2x4x4xf32>) {
  // expected-error @below {{strides and dilations must be at least 1, got 0}}
  %0 = gr.conv_backward_filter %a, %b {kernel = array<i64: 3, 3>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 0>, pads = array<i64: 0, 0, 0, 0>} : (tensor<1x4x6x6xf32>, tensor<1x2x4x4xf32>) -> tensor<2x4x3x3xf32>
  return
}

// -----

func.func @f7(%a: tensor<1x4x6x6xf32>, %b: tensor<1x2x4x4xf32>) {
  // expected-error @below {{kernel must be at least 1, got 0}}
  %0 = gr.conv_backward_filter %a, %b {kernel = array<i64: 3, 0>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>} : (tensor<1x4x6x6xf32>, tensor<1x2x4x4xf32>) -> tensor<2x4x3x0xf32>
  return
}

// -----

func.func @f8(%a: tensor<1x4x6x6xf32>, %b: tensor<1x2x4x3xf32>) {
  // expected-error @below {{gradient has 3 elements in spatial dim 1, expected 4, the windows that there are}}
  %0 = gr.conv_backward_filter %a, %b {kernel = array<i64: 3, 3>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>} : (tensor<1x4x6x6xf32>, tensor<1x2x4x3xf32>) -> tensor<2x4x3x3xf32>
  return
}

// -----

func.func @f9(%a: tensor<1x4x6x6xf32>, %b: tensor<1x3x4x4xf32>) {
  // expected-error @below {{4 channels do not divide into 3 groups}}
  %0 = gr.conv_backward_filter %a, %b {kernel = array<i64: 3, 3>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, groups = 3 : i64} : (tensor<1x4x6x6xf32>, tensor<1x3x4x4xf32>) -> tensor<3x1x3x3xf32>
  return
}

// -----

func.func @f10(%a: tensor<1x4x6x6xf32>, %b: tensor<1x2x4x4xf32>) {
  // expected-error @below {{2 channels do not divide into 4 groups}}
  %0 = gr.conv_backward_filter %a, %b {kernel = array<i64: 3, 3>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, groups = 4 : i64} : (tensor<1x4x6x6xf32>, tensor<1x2x4x4xf32>) -> tensor<2x1x3x3xf32>
  return
}

// -----

func.func @f11(%a: tensor<1x4x6x6xf32>, %b: tensor<1x3x4x4xf32>) {
  // expected-error @below {{input has shape 1x4x6x6 and gradient 1x3x4x4, expected 4 dims, and equal batches and channels}}
  %0 = gr.max_pool_backward %a, %b {kernel = array<i64: 3, 3>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>} : (tensor<1x4x6x6xf32>, tensor<1x3x4x4xf32>) -> tensor<1x4x6x6xf32>
  return
}

// -----

func.func @f12(%a: tensor<1x4x6x6xf32>, %b: tensor<1x4x2x4xf32>) {
  // expected-error @below {{gradient has 2 elements in spatial dim 0, expected 4, the windows that there are}}
  %0 = gr.max_pool_backward %a, %b {kernel = array<i64: 3, 3>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>} : (tensor<1x4x6x6xf32>, tensor<1x4x2x4xf32>) -> tensor<1x4x6x6xf32>
  return
}

// -----

func.func @f13(%a: tensor<1x4x4xf32>) {
  // expected-error @below {{gradient has shape 1x4x4, expected 4 dims for 2 spatial ones}}
  %0 = gr.avg_pool_backward %a {dims = array<i64: 6, 6>, kernel = array<i64: 3, 3>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>} : (tensor<1x4x4xf32>) -> tensor<1x4x6x6xf32>
  return
}

// -----

func.func @f14(%a: tensor<1x4x4x4xf32>) {
  // expected-error @below {{dims has the negative dim -1}}
  %0 = gr.avg_pool_backward %a {dims = array<i64: 6, -1>, kernel = array<i64: 3, 3>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>} : (tensor<1x4x4x4xf32>) -> tensor<1x4x6x6xf32>
  return
}

// -----

func.func @f15(%a: tensor<1x4x4x4xf32>) {
  // expected-error @below {{gradient has 4 elements in spatial dim 1, expected 5, the windows that there are}}
  %0 = gr.avg_pool_backward %a {dims = array<i64: 6, 7>, kernel = array<i64: 3, 3>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>} : (tensor<1x4x4x4xf32>) -> tensor<1x4x6x7xf32>
  return
}

// -----

func.func @f16(%a: tensor<2x3xf32>, %b: tensor<3x2xf32>) {
  // expected-error @below {{gradient has shape 3x2, expected 2x3}}
  %0 = gr.softmax_backward %a, %b : (tensor<2x3xf32>, tensor<3x2xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @f17(%a: tensor<2x3xf32>, %b: tensor<2x3xf32>) {
  // expected-error @below {{axis 2 is out of range for rank 2}}
  %0 = gr.softmax_backward %a, %b {axis = 2 : i64} : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @f18(%a: tensor<2x3xf32>, %b: tensor<3xf32>, %c: tensor<2xf32>) {
  // expected-error @below {{gradient has shape 2, expected 2x3}}
  %0:3 = gr.layer_norm_backward %a, %b, %c : (tensor<2x3xf32>, tensor<3xf32>, tensor<2xf32>) -> (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>)
  return
}

// -----

func.func @f19(%a: tensor<2x3xf32>, %b: tensor<3xf32>, %c: tensor<2x3xf32>) {
  // expected-error @below {{axis -3 is out of range for rank 2}}
  %0:3 = gr.layer_norm_backward %a, %b, %c {axis = -3 : i64} : (tensor<2x3xf32>, tensor<3xf32>, tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>)
  return
}

// -----

func.func @f20(%a: tensor<2x3xf32>, %b: tensor<1xf32>, %c: tensor<2x3xf32>) {
  // expected-error @below {{scale has shape 1, expected 3}}
  %0:3 = gr.layer_norm_backward %a, %b, %c : (tensor<2x3xf32>, tensor<1xf32>, tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>)
  return
}

// -----

func.func @f21(%a: tensor<3xf32>, %b: tensor<3xf32>, %c: tensor<3xf32>, %d: tensor<3xf32>, %e: tensor<3xf32>) {
  // expected-error @below {{input is of rank 1, expected at least 2}}
  %0:3 = gr.batch_norm_backward %a, %b, %c, %d, %e : (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>)
  return
}

// -----

func.func @f22(%a: tensor<2x3xf32>, %b: tensor<2xf32>, %c: tensor<3xf32>, %d: tensor<3xf32>, %e: tensor<2x3xf32>) {
  // expected-error @below {{scale has shape 2, expected 3}}
  %0:3 = gr.batch_norm_backward %a, %b, %c, %d, %e : (tensor<2x3xf32>, tensor<2xf32>, tensor<3xf32>, tensor<3xf32>, tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>)
  return
}

// -----

func.func @f23(%a: tensor<2x3xf32>, %b: tensor<3xf32>, %c: tensor<2xf32>, %d: tensor<3xf32>, %e: tensor<2x3xf32>) {
  // expected-error @below {{mean has shape 2, expected 3}}
  %0:3 = gr.batch_norm_backward %a, %b, %c, %d, %e : (tensor<2x3xf32>, tensor<3xf32>, tensor<2xf32>, tensor<3xf32>, tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>)
  return
}

// -----

func.func @f24(%a: tensor<2x3xf32>, %b: tensor<3xf32>, %c: tensor<3xf32>, %d: tensor<2xf32>, %e: tensor<2x3xf32>) {
  // expected-error @below {{variance has shape 2, expected 3}}
  %0:3 = gr.batch_norm_backward %a, %b, %c, %d, %e : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<2xf32>, tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>)
  return
}

// -----

func.func @f25(%a: tensor<2x3xf32>, %b: tensor<3xf32>, %c: tensor<3xf32>, %d: tensor<3xf32>, %e: tensor<2xf32>) {
  // expected-error @below {{gradient has shape 2, expected 2x3}}
  %0:3 = gr.batch_norm_backward %a, %b, %c, %d, %e : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<2xf32>) -> (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>)
  return
}

// -----

func.func @f26(%a: tensor<2x3xf32>, %b: tensor<2xf32>, %c: tensor<3xf32>) {
  // expected-error @below {{parameter has shape 2, expected 3 (one value a channel)}}
  %0:3 = gr.batch_norm_training %a, %b, %c : (tensor<2x3xf32>, tensor<2xf32>, tensor<3xf32>) -> (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>)
  return
}

// -----

func.func @f27(%s: tensor<1xi64>, %i: tensor<1xi64>) {
  // expected-error @below {{step is of rank 1, expected 0}}
  %0 = gr.random %s, %i {kind = "normal", a = 0.0, b = 1.0, seed = 1 : i64, to = f32} : (tensor<1xi64>, tensor<1xi64>) -> tensor<?xf32>
  return
}

// -----

func.func @f28(%s: tensor<1xi64>, %i: tensor<i32>) {
  // expected-error @below {{has a step of type 'tensor<i32>' for philox, expected one i64 for philox}}
  %0 = gr.random %s, %i {kind = "normal", a = 0.0, b = 1.0, seed = 1 : i64, to = f32} : (tensor<1xi64>, tensor<i32>) -> tensor<?xf32>
  return
}

// -----

func.func @f29(%s: tensor<1xi64>, %i: tensor<i64>) {
  // expected-error @below {{has a step of type 'tensor<i64>' for mt19937, expected one i64 for philox}}
  %0 = gr.random %s, %i {kind = "uniform", a = 0.0, b = 1.0, seed = 1 : i64, to = f64, generator = "mt19937"} : (tensor<1xi64>, tensor<i64>) -> tensor<?xf64>
  return
}

// -----

func.func @layer_sums(%s: tensor<3x2x5xf32>, %r: tensor<4x4xf32>, %o: tensor<3x2x4xf32>, %l: tensor<2x4xf32>) {
  // expected-error @below {{sums has shape 3x2x5, expected 3x2x4}}
  %0:2 = gr.recurrent_backward %s recurrent %r outputs %o last %l {cell = "rnn", activations = ["tanh"], alphas = array<f64: 0.0>, betas = array<f64: 0.0>} : (tensor<3x2x5xf32>, tensor<4x4xf32>, tensor<3x2x4xf32>, tensor<2x4xf32>) -> (tensor<3x2x5xf32>, tensor<2x4xf32>)
  return
}

// -----

func.func @layer_rank(%s: tensor<2x4xf32>, %r: tensor<4x4xf32>, %o: tensor<3x2x4xf32>, %l: tensor<2x4xf32>) {
  // expected-error @below {{sums is of rank 2, expected 3}}
  %0:2 = gr.recurrent_backward %s recurrent %r outputs %o last %l {cell = "rnn", activations = ["tanh"], alphas = array<f64: 0.0>, betas = array<f64: 0.0>} : (tensor<2x4xf32>, tensor<4x4xf32>, tensor<3x2x4xf32>, tensor<2x4xf32>) -> (tensor<3x2x4xf32>, tensor<2x4xf32>)
  return
}

// -----

func.func @layer_carried(%s: tensor<3x2x12xf32>, %r: tensor<12x4xf32>, %o: tensor<3x2x4xf32>, %l: tensor<2x4xf32>) {
  // expected-error @below {{carried and initial values belong to the gru and the lstm cell}}
  %0:2 = gr.recurrent_backward %s recurrent %r outputs %o last %l {cell = "gru", activations = ["sigmoid", "tanh"], alphas = array<f64: 0.0, 0.0>, betas = array<f64: 0.0, 0.0>} : (tensor<3x2x12xf32>, tensor<12x4xf32>, tensor<3x2x4xf32>, tensor<2x4xf32>) -> (tensor<3x2x12xf32>, tensor<2x4xf32>)
  return
}

// -----

func.func @layer_state(%s: tensor<3x2x16xf32>, %r: tensor<16x4xf32>, %c: tensor<3x2x4xf32>, %i: tensor<2x4xf32>, %o: tensor<3x2x4xf32>, %l: tensor<2x4xf32>) {
  // expected-error @below {{state belongs to the lstm cell, and to no other}}
  %0:2 = gr.recurrent_backward %s recurrent %r carried %c from %i outputs %o last %l {cell = "lstm", activations = ["sigmoid", "tanh", "tanh"], alphas = array<f64: 0.0, 0.0, 0.0>, betas = array<f64: 0.0, 0.0, 0.0>} : (tensor<3x2x16xf32>, tensor<16x4xf32>, tensor<3x2x4xf32>, tensor<2x4xf32>, tensor<3x2x4xf32>, tensor<2x4xf32>) -> (tensor<3x2x16xf32>, tensor<2x4xf32>)
  return
}

// -----

func.func @layer_outputs(%s: tensor<3x2x4xf32>, %r: tensor<4x4xf32>, %o: tensor<3x3x4xf32>, %l: tensor<2x4xf32>) {
  // expected-error @below {{output_gradient has shape 3x3x4, expected 3x2x4}}
  %0:2 = gr.recurrent_backward %s recurrent %r outputs %o last %l {cell = "rnn", activations = ["tanh"], alphas = array<f64: 0.0>, betas = array<f64: 0.0>} : (tensor<3x2x4xf32>, tensor<4x4xf32>, tensor<3x3x4xf32>, tensor<2x4xf32>) -> (tensor<3x2x4xf32>, tensor<2x4xf32>)
  return
}

// -----

func.func @layer_elements(%s: tensor<3x2x4xf32>, %r: tensor<4x4xf32>, %o: tensor<3x2x4xf64>, %l: tensor<2x4xf32>) {
  // expected-error @below {{operands have element types}}
  %0:2 = gr.recurrent_backward %s recurrent %r outputs %o last %l {cell = "rnn", activations = ["tanh"], alphas = array<f64: 0.0>, betas = array<f64: 0.0>} : (tensor<3x2x4xf32>, tensor<4x4xf32>, tensor<3x2x4xf64>, tensor<2x4xf32>) -> (tensor<3x2x4xf32>, tensor<2x4xf32>)
  return
}
