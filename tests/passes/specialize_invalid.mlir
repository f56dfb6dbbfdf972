// Every diagnostic of gr-specialize-shapes. `not` checks that the command fails.
// RUN: not graphrun-opt %s --gr-specialize-shapes="shapes=x:1x3x63x64,y:1" 2>&1 | FileCheck %s --check-prefix=DIM
// DIM: error: input x: got 1x3x63x64 expected (N)x3x64x64
// RUN: not graphrun-opt %s --gr-specialize-shapes="shapes=x:1x3x64,y:1" 2>&1 | FileCheck %s --check-prefix=RANK
// RANK: error: input x: got 1x3x64 expected (N)x3x64x64
// RUN: not graphrun-opt %s --gr-specialize-shapes="shapes=x:1x3x64x64,y:2" 2>&1 | FileCheck %s --check-prefix=SYMBOL
// SYMBOL: error: symbol N would be both 1 (dim 0 of input x) and 2 (dim 0 of input y)
// RUN: not graphrun-opt %s --gr-specialize-shapes="shapes=x:1x3x64x64,q:2" 2>&1 | FileCheck %s --check-prefix=NAME
// NAME: error: there is no input 'q', expected one of: x, y, z
// RUN: not graphrun-opt %s --gr-specialize-shapes="shapes=x:1x3x64x64" 2>&1 | FileCheck %s --check-prefix=MISSING
// MISSING: error: input y: its shape (N) is not fixed; give it as y:DxDx…
// MISSING: error: input z: its shape (N * 2) is not fixed
// RUN: not graphrun-opt %s --gr-specialize-shapes="shapes=y:1,y:1" 2>&1 | FileCheck %s --check-prefix=TWICE
// TWICE: error: input 'y' is given two shapes
// RUN: not graphrun-opt %s --gr-specialize-shapes="shapes=x:1x3x64x64,y:1,z:5" 2>&1 | FileCheck %s --check-prefix=EXPRESSION
// EXPRESSION: error: dim 0 of input z: got 5 expected 2 = (s0 * 2)
// RUN: not graphrun-opt %s --gr-specialize-shapes="shapes=x" 2>&1 | FileCheck %s --check-prefix=FORM
// FORM: error: shape 'x' is not of the form input:DxDx…
// RUN: not graphrun-opt %s --gr-specialize-shapes="shapes=x:1x-3" 2>&1 | FileCheck %s --check-prefix=FORM2
// FORM2: error: shape 'x:1x-3' is not of the form input:DxDx…
// RUN: not graphrun-opt %s --gr-specialize-shapes="shapes=x:3x3x64x64,y:3,z:6" 2>&1 | FileCheck %s --check-prefix=OP
// OP: error: 'gr.add' op operand shapes 3 and 2 do not broadcast
// RUN: not graphrun-opt %s --gr-specialize-shapes="shapes=x:2x3x64x64,y:2,z:4" 2>&1 | FileCheck %s --check-prefix=DATA
// DATA: error: 'gr.fill' op result type 'tensor<?x?xf32>' stays unknown when the shapes of all inputs are given: it depends on data

func.func @main(%x: tensor<?x3x64x64xf32, #gr.dims<(d0)[s0] -> (s0, 3, 64, 64)>> {gr.name = "x"},
                %y: tensor<?xf32, #gr.dims<(d0)[s0] -> (s0)>> {gr.name = "y"},
                %z: tensor<?xi64, #gr.dims<(d0)[s0] -> (s0 * 2)>> {gr.name = "z"})
    -> (tensor<*xf32>, tensor<?x?xf32>) attributes {gr.symbols = ["N"]} {
  %c = gr.constant dense<[1.0, 2.0]> : tensor<2xf32> : tensor<2xf32>
  %0 = gr.add %y, %c : (tensor<?xf32, #gr.dims<(d0)[s0] -> (s0)>>, tensor<2xf32>) -> tensor<*xf32>
  %s = gr.constant dense<[0, 0, 0]> : tensor<3xi64> : tensor<3xi64>
  %b = gr.constant dense<0> : tensor<1xi64> : tensor<1xi64>
  %e = gr.constant dense<2> : tensor<1xi64> : tensor<1xi64>
  %t = gr.constant dense<1> : tensor<1xi64> : tensor<1xi64>
  %d = gr.slice %z, %b, %e, %b, %t : (tensor<?xi64, #gr.dims<(d0)[s0] -> (s0 * 2)>>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<2xi64>
  %1 = gr.fill %d {value = dense<0.0> : tensor<1xf32>} : (tensor<2xi64>) -> tensor<?x?xf32>
  return %0, %1 : tensor<*xf32>, tensor<?x?xf32>
}
