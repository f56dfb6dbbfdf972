// Long chains of each kind of operation come through all passes: none recurses along them, and none
// looks at all of one again at each of its operations.
// RUN: %python %S/deep_chains.py mul 100000 | graphrun-opt --gr-simplify --gr-lower-quantized --gr-lower-precision --gr-form-groups | FileCheck %s
// RUN: %python %S/deep_chains.py add 20000 | graphrun-opt --gr-simplify --gr-lower-quantized --gr-lower-precision --gr-form-groups | FileCheck %s
// RUN: %python %S/deep_chains.py div 20000 | graphrun-opt --gr-simplify --gr-lower-quantized --gr-lower-precision --gr-form-groups | FileCheck %s
// RUN: %python %S/deep_chains.py neg 100000 | graphrun-opt --gr-simplify --gr-lower-quantized --gr-lower-precision --gr-form-groups | FileCheck %s
// RUN: %python %S/deep_chains.py relu 20000 | graphrun-opt --gr-simplify --gr-lower-quantized --gr-lower-precision --gr-form-groups | FileCheck %s
// RUN: %python %S/deep_chains.py where 100000 | graphrun-opt --gr-simplify --gr-lower-quantized --gr-lower-precision --gr-form-groups | FileCheck %s
// RUN: %python %S/deep_chains.py concat 100000 | graphrun-opt --gr-simplify --gr-lower-quantized --gr-lower-precision --gr-form-groups | FileCheck %s
// RUN: %python %S/deep_chains.py mixed 20000 | graphrun-opt --gr-simplify --gr-lower-quantized --gr-lower-precision --gr-form-groups | FileCheck %s
// RUN: %python %S/deep_chains.py sigmoid 20000 | graphrun-opt --gr-simplify --gr-lower-quantized --gr-lower-precision --gr-form-groups | FileCheck %s
// RUN: %python %S/deep_chains.py square 20000 | graphrun-opt --gr-simplify --gr-lower-quantized --gr-lower-precision --gr-form-groups | FileCheck %s
// RUN: %python %S/deep_chains.py reshape 20000 | graphrun-opt --gr-simplify --gr-lower-quantized --gr-lower-precision --gr-form-groups | FileCheck %s
// RUN: %python %S/deep_chains.py transpose 100000 | graphrun-opt --gr-simplify --gr-lower-quantized --gr-lower-precision --gr-form-groups | FileCheck %s
// RUN: %python %S/deep_chains.py ones 20000 | graphrun-opt --gr-simplify --gr-lower-quantized --gr-lower-precision --gr-form-groups | FileCheck %s
// RUN: %python %S/deep_chains.py cast 100000 | graphrun-opt --gr-simplify --gr-lower-quantized --gr-lower-precision --gr-form-groups | FileCheck %s
// RUN: %python %S/deep_chains.py quantize 100000 | graphrun-opt --gr-simplify --gr-lower-quantized --gr-lower-precision --gr-form-groups | FileCheck %s
// CHECK: return
