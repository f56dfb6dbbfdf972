// RUN: graphrun-opt %s --gr-form-groups --gr-cuda-print-executable | FileCheck %s
// REQUIRES: cuda

// The library multiplies, adds the bias and clips; the rest of the group is one kernel, which writes to
// the output's place.
// CHECK-LABEL: // product
// CHECK: %[[X:.*]] = input 0, 1024 bytes
// CHECK: %[[W:.*]] = input 1, 8192 bytes
// CHECK: %[[Y:.*]] = input 2, 2048 bytes
// CHECK: %[[B:.*]] = constant, 256 bytes
// CHECK: %[[P:.*]] = arena at {{.*}}, 2048 bytes
// CHECK: %[[S:.*]] = arena at {{.*}}, 33554432 bytes
// CHECK: %[[R:.*]] = output 0, 2048 bytes
// CHECK-NEXT: cublaslt.matmul gr.matmul (%[[X]] 8x32xf32, %[[W]] 32x64xf32, %[[B]] 64xf32) -> (%[[P]] 8x64xf32) then gr.relu scratch %[[S]]
// CHECK-NEXT: generated gr.group (%[[P]] 8x64xf32, %[[Y]] 8x64xf32) -> (%[[R]] 8x64xf32) grid 1x1x1 block 256x1x1 sizes 128
// CHECK-NEXT: output output0 %[[R]]
func.func @product(%x: tensor<8x32xf32>, %w: tensor<32x64xf32>, %y: tensor<8x64xf32>) -> tensor<8x64xf32> {
  %c = gr.constant dense<1.0> : tensor<64xf32> : tensor<64xf32>
  %0 = gr.matmul %x, %w : (tensor<8x32xf32>, tensor<32x64xf32>) -> tensor<8x64xf32>
  %1 = gr.add %0, %c : (tensor<8x64xf32>, tensor<64xf32>) -> tensor<8x64xf32>
  %2 = gr.relu %1 : (tensor<8x64xf32>) -> tensor<8x64xf32>
  %3 = gr.add %2, %y : (tensor<8x64xf32>, tensor<8x64xf32>) -> tensor<8x64xf32>
  %4 = gr.tanh %3 : (tensor<8x64xf32>) -> tensor<8x64xf32>
  return %4 : tensor<8x64xf32>
}

// A sum of products is made where the first one lies, the bias behind it. What is received and sent
// goes by edges; what is sent lives to the end.
// CHECK-LABEL: // sum
// CHECK: %[[X:.*]] = receive 3, 256 bytes
// CHECK: receive gr.recv () -> (%[[X]] 4x16xf32) edge 3
// CHECK-NEXT: cublaslt.matmul gr.matmul (%[[X]] 4x16xf32, {{.*}}) -> (%[[P:.*]] 4x32xf32) scratch
// CHECK-NEXT: cublaslt.matmul gr.matmul (%[[X]] 4x16xf32, {{.*}} 16x32xf32, {{.*}} 32xf32) -> (%[[P]] 4x32xf32) then sum then gelu_tanh scratch
// CHECK-NEXT: send gr.send (%[[P]] 4x32xf32) -> () edge 4
// CHECK-NOT: gr.
func.func @sum(%v: tensor<16x32xf32>, %w: tensor<16x32xf32>) {
  %c = gr.constant dense<1.0> : tensor<32xf32> : tensor<32xf32>
  %x = gr.recv {edge = 3 : i64, tensor_type = tensor<4x16xf32>} : () -> tensor<4x16xf32>
  %0 = gr.matmul %x, %v : (tensor<4x16xf32>, tensor<16x32xf32>) -> tensor<4x32xf32>
  %1 = gr.matmul %x, %w : (tensor<4x16xf32>, tensor<16x32xf32>) -> tensor<4x32xf32>
  %2 = gr.add %1, %0 : (tensor<4x32xf32>, tensor<4x32xf32>) -> tensor<4x32xf32>
  %3 = gr.add %2, %c : (tensor<4x32xf32>, tensor<32xf32>) -> tensor<4x32xf32>
  %4 = gr.gelu %3 {approximate = true} : (tensor<4x32xf32>) -> tensor<4x32xf32>
  gr.send %4 {edge = 4 : i64} : (tensor<4x32xf32>) -> ()
  return
}

// Views are no instructions; an input that is returned is copied.
// CHECK-LABEL: // views
// CHECK: %[[X:.*]] = input 0, 96 bytes
// CHECK: %[[Y:.*]] = output 0, 96 bytes
// CHECK-NEXT: copy copy (%[[X]] 4x6xf32) -> (%[[Y]] 4x6xf32)
// CHECK-NEXT: output output0 %[[Y]]
func.func @views(%x: tensor<2x3x4xf32>) -> tensor<4x6xf32> {
  %s = gr.constant dense<[4, 6]> : tensor<2xi64> : tensor<2xi64>
  %0 = gr.reshape %x, %s : (tensor<2x3x4xf32>, tensor<2xi64>) -> tensor<4x6xf32>
  return %0 : tensor<4x6xf32>
}

// Attention as two products and a softmax. Two heads of the query share one of the keys: they are rows of
// one product. The mask of what comes later is a constant.
// CHECK-LABEL: // attention
// CHECK: cublaslt.matmul gr.matmul ({{.*}} 2x2x12x8xf32, {{.*}} 2x2x5x8xf32) -> ([[S:%.*]] 2x2x12x5xf32) scratch
// CHECK-NEXT: generated gr.group ([[S]] 2x4x6x5xf32, {{.*}} 6x5xf32) -> ([[T:%.*]] 2x4x6x5xf32)
// CHECK-NEXT: generated gr.softmax ([[T]] 2x4x6x5xf32) -> ([[P:%.*]] 2x4x6x5xf32)
// CHECK-NEXT: cublaslt.matmul gr.matmul ([[P]] 2x2x12x5xf32, {{.*}} 2x2x5x8xf32) -> ([[A:%.*]] 2x2x12x8xf32) scratch
// CHECK-NEXT: generated gr.transpose ([[A]] 2x4x6x8xf32) -> ({{.*}} 2x6x4x8xf32)
// CHECK-NEXT: output
func.func @attention(%q: tensor<2x4x6x8xf32>, %k: tensor<2x2x5x8xf32>, %v: tensor<2x2x5x8xf32>) -> tensor<2x6x32xf32> {
  %s = gr.constant dense<[2, 6, 32]> : tensor<3xi64> : tensor<3xi64>
  %0 = gr.attention %q, %k, %v {causal = true, scale = 0.5 : f64} : (tensor<2x4x6x8xf32>, tensor<2x2x5x8xf32>, tensor<2x2x5x8xf32>) -> tensor<2x4x6x8xf32>
  %1 = gr.transpose %0 {permutation = array<i64: 0, 2, 1, 3>} : (tensor<2x4x6x8xf32>) -> tensor<2x6x4x8xf32>
  %2 = gr.reshape %1, %s : (tensor<2x6x4x8xf32>, tensor<3xi64>) -> tensor<2x6x32xf32>
  return %2 : tensor<2x6x32xf32>
}

// Normalisation by the statistics of each channel of each sample: two reductions, two groups.
// CHECK-LABEL: // normalisation
// CHECK: generated gr.reduce ([[X:%.*]] 2x3x4x4xf32) -> ([[M:%.*]] 2x3x1x1xf32)
// CHECK-NEXT: generated gr.group ([[X]] 2x3x4x4xf32, [[M]] 2x3x1x1xf32) -> ([[S:%.*]] 2x3x4x4xf32)
// CHECK-NEXT: generated gr.reduce ([[S]] 2x3x4x4xf32) -> ({{.*}} 2x3x1x1xf32)
// CHECK-NEXT: generated gr.group
// Dims that do not follow each other are moved together.
// CHECK-NEXT: generated gr.transpose ([[X]] 2x3x4x4xf32) -> ([[T:%.*]] 3x2x4x4xf32)
// CHECK-NEXT: generated gr.reduce ([[T]] 3x2x4x4xf32) -> ({{.*}} 3x1x1x1xf32)
// CHECK-NEXT: output
func.func @normalisation(%x: tensor<2x3x4x4xf32>, %s: tensor<3xf32>) -> (tensor<2x3x4x4xf32>, tensor<1x3x1x1xf32>) {
  %0 = gr.instance_norm %x, %s, %s : (tensor<2x3x4x4xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3x4x4xf32>
  %1 = gr.reduce %x {kind = "max", axes = array<i64: 0, 2, 3>} : (tensor<2x3x4x4xf32>) -> tensor<1x3x1x1xf32>
  return %0, %1 : tensor<2x3x4x4xf32>, tensor<1x3x1x1xf32>
}

// Batches that broadcast against each other, a scale that broadcasts to the row: spread out first.
// CHECK-LABEL: // spread
// CHECK: generated gr.expand ({{.*}} 1x2x3x4xf32) -> ([[L:%.*]] 5x2x3x4xf32)
// CHECK-NEXT: generated gr.expand ({{.*}} 5x1x4x3xf32) -> ([[R:%.*]] 5x2x4x3xf32)
// CHECK-NEXT: cublaslt.matmul gr.matmul ([[L]] 5x2x3x4xf32, [[R]] 5x2x4x3xf32) -> ([[P:%.*]] 5x2x3x3xf32) scratch
// CHECK-NEXT: generated gr.expand ({{.*}} 1xf32) -> ([[S:%.*]] 3xf32)
// CHECK-NEXT: generated gr.layer_norm ([[P]] 5x2x3x3xf32, [[S]] 3xf32) -> ({{.*}} 5x2x3x3xf32)
func.func @spread(%x: tensor<1x2x3x4xf32>, %y: tensor<5x1x4x3xf32>, %s: tensor<1xf32>) -> tensor<5x2x3x3xf32> {
  %0 = gr.matmul %x, %y : (tensor<1x2x3x4xf32>, tensor<5x1x4x3xf32>) -> tensor<5x2x3x3xf32>
  %1 = gr.layer_norm %0, %s : (tensor<5x2x3x3xf32>, tensor<1xf32>) -> tensor<5x2x3x3xf32>
  return %1 : tensor<5x2x3x3xf32>
}

// Of an operation with several kernels: by scratch memory, each place's last update is told from the others.
// CHECK-LABEL: // scatter
// CHECK: %[[X:[0-9]+]] = input 0, 1280 bytes
// CHECK: %[[I:[0-9]+]] = input 1, 24 bytes
// CHECK: %[[U:[0-9]+]] = input 2, 96 bytes
// CHECK: %[[R:[0-9]+]] = output 0, 1280 bytes
// CHECK: %[[S:[0-9]+]] = arena at 0, 160 bytes
// CHECK-NEXT: generated gr.scatter_nd (%[[X]] 40x8xf32) -> (%[[R]] 40x8xf32) scratch %[[S]]
// CHECK-NEXT: generated gr.scatter_nd (%[[I]] 3x1xi64) -> () scratch %[[S]]
// CHECK-NEXT: generated gr.scatter_nd (%[[I]] 3x1xi64, %[[U]] 3x8xf32) -> (%[[R]] 40x8xf32) scratch %[[S]]
func.func @scatter(%x: tensor<40x8xf32>, %i: tensor<3x1xi64>, %u: tensor<3x8xf32>) -> tensor<40x8xf32> {
  %0 = gr.scatter_nd %x, %i, %u : (tensor<40x8xf32>, tensor<3x1xi64>, tensor<3x8xf32>) -> tensor<40x8xf32>
  return %0 : tensor<40x8xf32>
}

// One dim changes: where its elements come from, and their weights, are constants.
// CHECK-LABEL: // resize
// CHECK: %[[P:[0-9]+]] = constant, 80 bytes
// CHECK: %[[W:[0-9]+]] = constant, 80 bytes
// CHECK-NEXT: generated gr.resize (%{{.*}} 1x3x5x7xf32, %[[P]] 80xu8, %[[W]] 80xu8) -> (%{{.*}} 1x3x5x10xf32)
func.func @resize(%x: tensor<1x3x5x7xf32>) -> tensor<1x3x5x10xf32> {
  %sizes = gr.constant dense<[1, 3, 5, 10]> : tensor<4xi64> : tensor<4xi64>
  %0 = gr.resize %x sizes %sizes {mode = "linear", coordinates = "half_pixel", rounding = "floor"} : (tensor<1x3x5x7xf32>, tensor<4xi64>) -> tensor<1x3x5x10xf32>
  return %0 : tensor<1x3x5x10xf32>
}

// A row of 20,000 elements has four parts, which the second kernel sums.
// CHECK-LABEL: // long_row
// CHECK: generated gr.reduce (%{{.*}} 1x20000xf32) -> () scratch %[[S:[0-9]+]] 16xu8 grid 4x1x1
// CHECK-NEXT: generated gr.reduce () -> (%{{.*}} 1x1xf32) scratch %[[S]] 16xu8 grid 1x1x1
func.func @long_row(%x: tensor<1x20000xf32>) -> tensor<1x1xf32> {
  %0 = gr.reduce %x {kind = "mean", axes = array<i64: 1>} : (tensor<1x20000xf32>) -> tensor<1x1xf32>
  return %0 : tensor<1x1xf32>
}

// A product of all inputs; then, for each step, the hidden values' product, what the gate r leaves of them,
// its product and the rest of the cell. The last parameter is the step's number.
// CHECK-LABEL: // gru
// CHECK: cublaslt.matmul gr.matmul (%{{.*}} 6x4xf32, %{{.*}} 15x4xf32) -> (%[[ALL:[0-9]+]] 6x15xf32)
// CHECK-NEXT: copy copy (%{{.*}} 3x5xf32) -> (%[[H:[0-9]+]] 3x5xf32)
// CHECK-NEXT: cublaslt.matmul gr.matmul (%[[H]] 3x5xf32, %[[R:[0-9]+]] 15x5xf32) -> (%[[G:[0-9]+]] 3x15xf32)
// CHECK-NEXT: generated gr.recurrent ({{.*}}%[[ALL]] 6x15xf32, %[[G]] 3x15xf32, %[[LEFT:[0-9]+]] 3x5xf32) {{.*}} sizes 20 0
// CHECK-NEXT: cublaslt.matmul gr.matmul (%[[LEFT]] 3x5xf32, %[[R]] 15x5xf32) -> (%[[C:[0-9]+]] 3x15xf32)
// CHECK-NEXT: generated gr.recurrent ({{.*}}%[[ALL]] 6x15xf32, %[[G]] 3x15xf32, %[[C]] 3x15xf32) -> (%{{.*}} 2x3x5xf32, %[[H]] 3x5xf32) {{.*}} sizes 20 0
// CHECK-NEXT: cublaslt.matmul gr.matmul (%[[H]] 3x5xf32, %[[R]] 15x5xf32) -> (%[[G]] 3x15xf32)
// CHECK-NEXT: generated gr.recurrent {{.*}} sizes 20 1
// CHECK-NEXT: cublaslt.matmul
// CHECK-NEXT: generated gr.recurrent {{.*}} sizes 20 1
// CHECK-NEXT: output
func.func @gru(%x: tensor<2x3x4xf32>, %w: tensor<15x4xf32>, %r: tensor<15x5xf32>, %b: tensor<15xf32>, %h: tensor<3x5xf32>) -> (tensor<2x3x5xf32>, tensor<3x5xf32>) {
  %0:2 = gr.recurrent %x weights %w recurrent %r bias %b hidden %h {cell = "gru", activations = ["sigmoid", "tanh"], alphas = array<f64: 0.0, 0.0>, betas = array<f64: 0.0, 0.0>} : (tensor<2x3x4xf32>, tensor<15x4xf32>, tensor<15x5xf32>, tensor<15xf32>, tensor<3x5xf32>) -> (tensor<2x3x5xf32>, tensor<3x5xf32>)
  return %0#0, %0#1 : tensor<2x3x5xf32>, tensor<3x5xf32>
}

// A normalisation reads and writes the 16-bit floats beyond the casts around it, but not where others read
// the wide ones, or where its scale is one value.
// CHECK-LABEL: // norms
// CHECK: generated gr.group ([[X:%.*]] 128x768xbf16, [[S:%.*]] 768xf32) -> ({{.*}} 128x768xbf16)
// CHECK-NEXT: generated gr.cast ([[X]] 128x768xbf16) -> ([[W:%.*]] 128x768xf32)
// CHECK-NEXT: generated gr.layer_norm ([[W]] 128x768xf32, [[S]] 768xf32, [[S]] 768xf32) -> ([[N:%.*]] 128x768xf32)
// CHECK-NEXT: generated gr.layer_norm ([[N]] 128x768xf32, {{.*}} 768xf32) -> ([[M:%.*]] 128x768xf32)
// CHECK-NEXT: generated gr.cast ([[M]] 128x768xf32) -> ({{.*}} 128x768xbf16)
func.func @norms(%x: tensor<128x768xbf16>, %s: tensor<768xf32>) -> (tensor<128x768xbf16>, tensor<128x768xf32>, tensor<128x768xbf16>) {
  %one = gr.constant dense<1.0> : tensor<768xf32> : tensor<768xf32>
  %0 = gr.cast %x {to = f32} : (tensor<128x768xbf16>) -> tensor<128x768xf32>
  %1 = gr.layer_norm %0, %s, %s : (tensor<128x768xf32>, tensor<768xf32>, tensor<768xf32>) -> tensor<128x768xf32>
  %2 = gr.cast %1 {to = bf16} : (tensor<128x768xf32>) -> tensor<128x768xbf16>
  %3 = gr.cast %x {to = f32} : (tensor<128x768xbf16>) -> tensor<128x768xf32>
  %4 = gr.layer_norm %3, %s, %s : (tensor<128x768xf32>, tensor<768xf32>, tensor<768xf32>) -> tensor<128x768xf32>
  %5 = gr.layer_norm %4, %one : (tensor<128x768xf32>, tensor<768xf32>) -> tensor<128x768xf32>
  %6 = gr.cast %5 {to = bf16} : (tensor<128x768xf32>) -> tensor<128x768xbf16>
  return %2, %3, %6 : tensor<128x768xbf16>, tensor<128x768xf32>, tensor<128x768xbf16>
}

// Windows that lie side by side on few channels are the rows of a product.
// CHECK-LABEL: // patches
// CHECK: generated gr.transpose ({{.*}} 1x3x2x16x2x16xbf16) -> ([[P:%.*]] 1x2x2x3x16x16xbf16)
// CHECK-NEXT: cublaslt.matmul gr.matmul ([[P]] 4x768xbf16, {{.*}} 96x768xbf16, {{.*}} 96xbf16) -> ([[S:%.*]] 4x96xbf16) scratch
// CHECK-NEXT: generated gr.transpose ([[S]] 1x2x2x96xbf16) -> ({{.*}} 1x96x2x2xbf16)
func.func @patches(%x: tensor<1x3x32x32xbf16>, %w: tensor<96x3x16x16xbf16>, %b: tensor<96xbf16>) -> tensor<1x96x2x2xbf16> {
  %0 = gr.conv %x, %w, %b {strides = array<i64: 16, 16>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>} : (tensor<1x3x32x32xbf16>, tensor<96x3x16x16xbf16>, tensor<96xbf16>) -> tensor<1x96x2x2xbf16>
  return %0 : tensor<1x96x2x2xbf16>
}
