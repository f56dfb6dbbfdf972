// Every diagnostic of states.
// RUN: graphrun-opt %s --verify-diagnostics --split-input-file

func.func @unnamed() -> tensor<2xf32> {
  // expected-error @below {{has an empty name}}
  %w = gr.state "" dense<0.0> : tensor<2xf32> : tensor<2xf32>
  return %w : tensor<2xf32>
}

// -----

func.func @strings() -> tensor<1x!gr.string> {
  // expected-error @below {{begins as 'tensor<1x!gr.string>', expected a tensor of numbers whose shape is known}}
  %w = gr.state "w" dense<"a"> : tensor<1x!gr.string> : tensor<1x!gr.string>
  return %w : tensor<1x!gr.string>
}

// -----

func.func @no_state(%x: tensor<2xf32>) {
  // expected-error @below {{updates a value that is no state, expected the result of a gr.state}}
  gr.update %x, %x : (tensor<2xf32>, tensor<2xf32>) -> ()
  return
}

// -----

func.func @shape(%x: tensor<3xf32>) {
  %w = gr.state "w" dense<0.0> : tensor<2xf32> : tensor<2xf32>
  // expected-error @below {{makes the state 'w' a value of type 'tensor<3xf32>', expected the type of the state, 'tensor<2xf32>'}}
  gr.update %w, %x : (tensor<2xf32>, tensor<3xf32>) -> ()
  return
}

// -----

func.func @element(%x: tensor<2xi64>) {
  %w = gr.state "w" dense<0.0> : tensor<2xf32> : tensor<2xf32>
  // expected-error @below {{makes the state 'w' a value of type 'tensor<2xi64>'}}
  gr.update %w, %x : (tensor<2xf32>, tensor<2xi64>) -> ()
  return
}

// -----

func.func @random(%step: tensor<1xi64>) -> tensor<4xf32> {
  %shape = gr.constant dense<4> : tensor<1xi64> : tensor<1xi64>
  // expected-error @below {{'gr.random' op step is of rank 1, expected 0}}
  %r = gr.random %shape, %step {kind = "uniform", a = 0.0 : f64, b = 1.0 : f64, seed = 1 : i64, to = f32} : (tensor<1xi64>, tensor<1xi64>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// -----

func.func @random_element(%step: tensor<f32>) -> tensor<4xf32> {
  %shape = gr.constant dense<4> : tensor<1xi64> : tensor<1xi64>
  // expected-error @below {{has a step of type 'tensor<f32>' for philox, expected one i64 for philox}}
  %r = gr.random %shape, %step {kind = "uniform", a = 0.0 : f64, b = 1.0 : f64, seed = 1 : i64, to = f32} : (tensor<1xi64>, tensor<f32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}
