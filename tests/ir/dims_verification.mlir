// What #gr.dims must say of its tensor.
// RUN: graphrun-opt %s --verify-diagnostics --split-input-file

// expected-error @below {{#gr.dims has 1 dims, expected the tensor's 2}}
func.func @count(%x: tensor<?x?xf32, #gr.dims<(d0)[s0] -> (s0)>>) { return }

// -----

// expected-error @below {{#gr.dims gives dim 0 as 5, which the tensor's shape contradicts}}
func.func @other(%x: tensor<4xf32, #gr.dims<(d0)[s0] -> (5)>>) { return }

// -----

// expected-error @below {{#gr.dims gives dim 0 as s0, which the tensor's shape contradicts}}
func.func @symbol_of_static(%x: tensor<4xf32, #gr.dims<(d0)[s0] -> (s0)>>) { return }

// -----

// expected-error @below {{#gr.dims gives dim 0 as d0 + s0, expected d0 or an expression over symbols}}
func.func @mixed(%x: tensor<?xf32, #gr.dims<(d0)[s0] -> (d0 + s0)>>) { return }
