// Every diagnostic of groups and edges.
// RUN: graphrun-opt %s --verify-diagnostics --split-input-file

func.func @f0(%x: tensor<4xf32>) {
  // expected-error @below {{has kind "pool", expected conv, matmul, attention, map or row}}
  %0 = gr.group (%x) attributes {kind = "pool"} {
  ^bb0(%a: tensor<4xf32>):
    %1 = gr.exp %a : (tensor<4xf32>) -> tensor<4xf32>
    gr.yield %1 : tensor<4xf32>
  } : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @f1(%x: tensor<4xf32>) {
  // expected-error @below {{region arguments do not have the types of the operands}}
  %0 = gr.group (%x) attributes {kind = "map"} {
  ^bb0(%a: tensor<?xf32>):
    %1 = gr.exp %a : (tensor<?xf32>) -> tensor<4xf32>
    gr.yield %1 : tensor<4xf32>
  } : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @f2(%x: tensor<4xf32>) {
  // expected-error @below {{has 1 results, expected 2}}
  %0 = gr.group (%x) attributes {kind = "map"} {
  ^bb0(%a: tensor<4xf32>):
    %1 = gr.exp %a : (tensor<4xf32>) -> tensor<4xf32>
    gr.yield %1, %1 : tensor<4xf32>, tensor<4xf32>
  } : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @f3(%x: tensor<4xf32>) {
  // expected-error @below {{result 0 is declared as 'tensor<4xf32>', but its operands give 'tensor<4xf16>'}}
  %0 = gr.group (%x) attributes {kind = "map"} {
  ^bb0(%a: tensor<4xf32>):
    %1 = gr.cast %a {to = f16} : (tensor<4xf32>) -> tensor<4xf16>
    gr.yield %1 : tensor<4xf16>
  } : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @f4(%x: tensor<4xf32>) {
  // expected-error @below {{edge is -1, expected at least 0}}
  gr.send %x {edge = -1 : i64} : (tensor<4xf32>) -> ()
  return
}

// -----

func.func @f5() {
  // expected-error @below {{edge is -1, expected at least 0}}
  %0 = gr.recv {edge = -1 : i64, tensor_type = tensor<4xf32>} : () -> tensor<4xf32>
  return
}

// -----

func.func @f6() {
  // expected-error @below {{type is 'f32', expected a tensor type}}
  %0 = gr.recv {edge = 1 : i64, tensor_type = f32} : () -> tensor<4xf32>
  return
}

// -----

func.func @f7() {
  // expected-error @below {{result 0 is declared as}}
  %0 = gr.recv {edge = 1 : i64, tensor_type = tensor<5xf32>} : () -> tensor<4xf32>
  return
}

// -----

func.func @f8(%x: tensor<4xf32>) {
  // expected-error @below {{expects parent op to be one of 'gr.group, gr.if, gr.loop'}}
  gr.yield %x : tensor<4xf32>
  return
}
