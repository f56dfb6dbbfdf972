// RUN: graphrun-opt %s --split-input-file --verify-diagnostics --gr-partition-graph

func.func @no_device(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{'gr.exp' op has no device (gr.device): place the graph first}}
  %0 = gr.exp %x : (tensor<4xf32>) -> tensor<4xf32>
  // expected-error @below {{'gr.abs' op has no device}}
  %1 = gr.abs %0 : (tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}

// -----

func.func @no_rank(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = gr.exp %x {gr.device = #gr.device<"a">, gr.rank = 0 : i64} : (tensor<4xf32>) -> tensor<4xf32>
  // expected-error @below {{'gr.abs' op has no rank, but other operations on a have}}
  %1 = gr.abs %0 {gr.device = #gr.device<"a">} : (tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}

// -----

func.func @wrong_order(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = gr.exp %x {gr.device = #gr.device<"a">, gr.rank = 1 : i64} : (tensor<4xf32>) -> tensor<4xf32> loc("e")
  // expected-error @below {{'gr.abs' op comes before 'e', which it uses, in the ranks of a}}
  %1 = gr.abs %0 {gr.device = #gr.device<"a">, gr.rank = 0 : i64} : (tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}

// -----

// Each device's order is one, but together they wait for each other.
func.func @deadlock(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{'gr.recv' op deadlock: b waits for edge 2 'gr.exp', which a sends only after it has waited itself}}
  %p = gr.exp %x {gr.device = #gr.device<"a">, gr.rank = 2 : i64} : (tensor<4xf32>) -> tensor<4xf32>
  // expected-error @below {{'gr.recv' op deadlock: a waits for edge 3 'gr.abs', which b sends only after it has waited itself}}
  %q = gr.abs %x {gr.device = #gr.device<"b">, gr.rank = 2 : i64} : (tensor<4xf32>) -> tensor<4xf32>
  // expected-error @below {{'gr.recv' op deadlock: client/host waits for edge 4 'gr.neg'}}
  %r = gr.neg %q {gr.device = #gr.device<"a">, gr.rank = 1 : i64} : (tensor<4xf32>) -> tensor<4xf32>
  %s = gr.neg %p {gr.device = #gr.device<"b">, gr.rank = 1 : i64} : (tensor<4xf32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}
// -----

// expected-error @below {{module has 0 functions, expected the one graph}}
module {}
