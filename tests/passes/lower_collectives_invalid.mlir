// RUN: graphrun-opt %s --split-input-file --verify-diagnostics --gr-lower-collectives

func.func @not_placed(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{has 0 entries in gr.steps, expected 2: place the graph first}}
  %0:2 = gr.all_reduce %x, %x {kind = "sum"} : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  return %0#0 : tensor<4xf32>
}

// -----

func.func @no_device(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{gr.steps has the entry {name = "a/0"}, expected {name, device, rank}}}
  %0:2 = gr.all_reduce %x, %x {kind = "sum", gr.steps = [{name = "a/0"}, 3]} : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  return %0#0 : tensor<4xf32>
}
