// Every diagnostic of the attention family.
// RUN: graphrun-opt %s --verify-diagnostics --split-input-file

func.func @ranks(%q: tensor<2x3x4xf32>, %one: tensor<1x1x1x1xf32>) {
  // expected-error @below {{query, key and value are of ranks 3, 3 and 3, expected 4}}
  %0, %1 = gr.linear_attention %q, %q, %q, %one, %one, %one : (tensor<2x3x4xf32>, tensor<2x3x4xf32>, tensor<2x3x4xf32>, tensor<1x1x1x1xf32>, tensor<1x1x1x1xf32>, tensor<1x1x1x1xf32>) -> (tensor<2x3x4xf32>, tensor<1x1x1x1xf32>)
  return
}

// -----

func.func @attention_heads(%q: tensor<1x3x2x4xf32>, %k: tensor<1x2x2x4xf32>) {
  // expected-error @below {{query has 3 heads, expected a multiple of 2}}
  %0 = gr.attention %q, %k, %k : (tensor<1x3x2x4xf32>, tensor<1x2x2x4xf32>, tensor<1x2x2x4xf32>) -> tensor<1x3x2x4xf32>
  return
}

// -----

func.func @attention_value(%q: tensor<1x2x2x4xf32>, %v: tensor<1x2x3x4xf32>) {
  // expected-error @below {{value has shape 1x2x3x4, expected 1x2x2x4}}
  %0 = gr.attention %q, %q, %v : (tensor<1x2x2x4xf32>, tensor<1x2x2x4xf32>, tensor<1x2x3x4xf32>) -> tensor<1x2x2x4xf32>
  return
}

// -----

func.func @attention_mask(%q: tensor<1x2x2x4xf32>, %m: tensor<3x2xf32>) {
  // expected-error @below {{mask has shape 3x2, expected 2x2 or dims of 1 in its place}}
  %0 = gr.attention %q, %q, %q, %m : (tensor<1x2x2x4xf32>, tensor<1x2x2x4xf32>, tensor<1x2x2x4xf32>, tensor<3x2xf32>) -> tensor<1x2x2x4xf32>
  return
}

// -----

func.func @heads(%q: tensor<1x3x2x4xf32>, %k: tensor<1x2x2x4xf32>, %s: tensor<1x2x4x4xf32>, %one: tensor<1x1x1x1xf32>) {
  // expected-error @below {{query has 3 heads, expected a multiple of 2}}
  %0, %1 = gr.linear_attention %q, %k, %k, %s, %one, %one : (tensor<1x3x2x4xf32>, tensor<1x2x2x4xf32>, tensor<1x2x2x4xf32>, tensor<1x2x4x4xf32>, tensor<1x1x1x1xf32>, tensor<1x1x1x1xf32>) -> (tensor<1x3x2x4xf32>, tensor<1x2x4x4xf32>)
  return
}

// -----

func.func @state(%q: tensor<1x2x2x4xf32>, %s: tensor<1x2x4x3xf32>, %one: tensor<1x1x1x1xf32>) {
  // expected-error @below {{state has shape 1x2x4x3, expected 1x2x4x4}}
  %0, %1 = gr.linear_attention %q, %q, %q, %s, %one, %one : (tensor<1x2x2x4xf32>, tensor<1x2x2x4xf32>, tensor<1x2x2x4xf32>, tensor<1x2x4x3xf32>, tensor<1x1x1x1xf32>, tensor<1x1x1x1xf32>) -> (tensor<1x2x2x4xf32>, tensor<1x2x4x4xf32>)
  return
}

// -----

func.func @gate(%q: tensor<1x2x2x4xf32>, %s: tensor<1x2x4x4xf32>, %g: tensor<1x2x2x3xf32>, %one: tensor<1x1x1x1xf32>) {
  // expected-error @below {{gate has shape 1x2x2x3, expected 1x2x2x4 or dims of 1 in its place}}
  %0, %1 = gr.linear_attention %q, %q, %q, %s, %g, %one : (tensor<1x2x2x4xf32>, tensor<1x2x2x4xf32>, tensor<1x2x2x4xf32>, tensor<1x2x4x4xf32>, tensor<1x2x2x3xf32>, tensor<1x1x1x1xf32>) -> (tensor<1x2x2x4xf32>, tensor<1x2x4x4xf32>)
  return
}
