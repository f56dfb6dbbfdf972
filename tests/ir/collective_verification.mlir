// Every diagnostic of collectives.
// RUN: graphrun-opt %s --verify-diagnostics --split-input-file

func.func @f0(%x: tensor<4xf32>) {
  // expected-error @below {{has no operand, expected one a member}}
  %0 = gr.all_gather {axis = 0 : i64} : () -> tensor<4xf32>
  return
}

// -----

func.func @f1(%x: tensor<4xf32>, %y: tensor<4xf16>) {
  // expected-error @below {{operands have types 'tensor<4xf32>' and 'tensor<4xf16>', expected one type}}
  %0:2 = gr.all_reduce %x, %y {kind = "sum"} : (tensor<4xf32>, tensor<4xf16>) -> (tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

func.func @f2(%x: tensor<4xf32>) {
  // expected-error @below {{has kind "avg", expected sum, mean, max, min or prod}}
  %0:2 = gr.all_reduce %x, %x {kind = "avg"} : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

func.func @f3(%x: tensor<4xi1>) {
  // expected-error @below {{operands are bools, expected numbers; cast them first}}
  %0:2 = gr.all_reduce %x, %x {kind = "max"} : (tensor<4xi1>, tensor<4xi1>) -> (tensor<4xi1>, tensor<4xi1>)
  return
}

// -----

func.func @f4(%x: tensor<4xf8E5M2>) {
  // expected-error @below {{operand has element type}}
  %0:2 = gr.all_reduce %x, %x {kind = "max"} : (tensor<4xf8E5M2>, tensor<4xf8E5M2>) -> (tensor<4xf8E5M2>, tensor<4xf8E5M2>)
  return
}

// -----

func.func @f5(%x: tensor<4xf32>) {
  // expected-error @below {{axis 1 is out of range for rank 1}}
  %0:2 = gr.all_gather %x, %x {axis = 1 : i64} : (tensor<4xf32>, tensor<4xf32>) -> (tensor<8xf32>, tensor<8xf32>)
  return
}

// -----

func.func @f6(%x: tensor<4xf32>) {
  // expected-error @below {{axis -1 is out of range for rank 1}}
  %0:2 = gr.reduce_scatter %x, %x {kind = "sum", axis = -1 : i64} : (tensor<4xf32>, tensor<4xf32>) -> (tensor<2xf32>, tensor<2xf32>)
  return
}

// -----

func.func @f7(%x: tensor<4xf32>) {
  // expected-error @below {{dim 0 is 4, expected a multiple of 3, the number of members}}
  %0:3 = gr.reduce_scatter %x, %x, %x {kind = "sum", axis = 0 : i64} : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>)
  return
}

// -----

func.func @f8(%x: tensor<4xf32>) {
  // expected-error @below {{result 0 is declared as 'tensor<4xf32>', but its operands give 'tensor<8xf32>'}}
  %0:2 = gr.all_gather %x, %x {axis = 0 : i64} : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<8xf32>)
  return
}

// -----

func.func @f9(%x: tensor<4xi8>) {
  // expected-error @below {{has 128 operands, expected at most 127 for a mean of 'i8'; cast them first}}
  %0:128 = gr.all_reduce %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x {kind = "mean"} : (tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>) -> (tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>)
  return
}

// -----

func.func @f10(%x: tensor<4xf32>) {
  // expected-error @below {{has collective "broadcast", expected all_reduce, all_gather or reduce_scatter}}
  %0 = gr.collective_member %x {collective = "broadcast", kind = "", communicator = 0 : i64, tensor_type = tensor<4xf32>} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @f11(%x: tensor<4xf32>) {
  // expected-error @below {{communicator is -1, expected at least 0}}
  %0 = gr.collective_member %x {collective = "all_reduce", kind = "sum", communicator = -1 : i64, tensor_type = tensor<4xf32>} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @f12(%x: tensor<4xf32>) {
  // expected-error @below {{type is 'f32', expected a tensor type}}
  %0 = gr.collective_member %x {collective = "all_reduce", kind = "sum", communicator = 0 : i64, tensor_type = f32} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @f13(%x: tensor<4xf32>) {
  // expected-error @below {{has kind "log_sum_exp", expected sum, mean, max, min or prod}}
  %0:2 = gr.all_reduce %x, %x {kind = "log_sum_exp"} : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

func.func @f14(%x: tensor<4xf32>) {
  // expected-error @below {{has kind "avg", expected sum, mean, max, min, prod or ""}}
  %0 = gr.collective_member %x {collective = "all_gather", kind = "avg", communicator = 0 : i64, tensor_type = tensor<8xf32>} : (tensor<4xf32>) -> tensor<8xf32>
  return
}
