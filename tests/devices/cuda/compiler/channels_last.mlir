// RUN: graphrun-opt %s --gr-form-groups --gr-cuda-print-executable -o /dev/null | FileCheck %s
// RUN: graphrun-opt %s --gr-form-groups --gr-cuda-print-executable=tf32=true -o /dev/null | FileCheck %s --check-prefix=TF32
// REQUIRES: cuda

// Convolutions of half types have the channels last, and so has what lies between them: pools, sums,
// functions, parts along the channels, means over positions. Only what comes in is copied; a tensor of one
// position lies in both ways.
// CHECK-LABEL: // residual
// CHECK: generated reorder ({{.*}} 2x16x14x14xbf16) -> ([[X:%.*]] 2x16x14x14xbf16 laid out)
// CHECK-NEXT: generated reorder ({{.*}} 32x16x3x3xbf16) -> ([[W:%.*]] 32x16x3x3xbf16 laid out)
// CHECK-NOT: reorder
// CHECK: cudnn.conv gr.conv ([[X]] 2x16x14x14xbf16 laid out, [[W]] 32x16x3x3xbf16 laid out, [[B:%.*]] 32xbf16) -> ([[A:%.*]] 2x32x14x14xbf16 laid out) then gr.relu scratch
// CHECK-NEXT: generated gr.max_pool ([[A]] 2x32x14x14xbf16 laid out) -> ([[P:%.*]] 2x32x7x7xbf16 laid out)
// CHECK-NEXT: cudnn.conv gr.conv ([[P]] 2x32x7x7xbf16 laid out, {{.*}} 32x32x1x1xbf16, [[B]] 32xbf16) -> ([[S:%.*]] 2x32x7x7xbf16 laid out) then add [[P]] 2x32x7x7xbf16 laid out then gr.relu
// CHECK: generated gr.concat ({{.*}} laid out, {{.*}} laid out) -> ({{.*}} 2x64x7x7xbf16 laid out)
// CHECK: generated gr.split ({{.*}} 2x64x7x7xbf16 laid out) -> ({{.*}} laid out, {{.*}} laid out)
// CHECK: generated gr.reduce ([[M:%.*]] 2x32x7x7xbf16 laid out) -> ({{.*}} 2x32x1x1xbf16)
// CHECK-NOT: reorder
func.func @residual(%x: tensor<2x16x14x14xbf16>, %w: tensor<32x16x3x3xbf16>, %v: tensor<32x32x1x1xbf16>, %b: tensor<32xbf16>) -> tensor<2x32x1x1xbf16> {
  %0 = gr.conv %x, %w, %b {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>} : (tensor<2x16x14x14xbf16>, tensor<32x16x3x3xbf16>, tensor<32xbf16>) -> tensor<2x32x14x14xbf16>
  %1 = gr.relu %0 : (tensor<2x32x14x14xbf16>) -> tensor<2x32x14x14xbf16>
  %2 = gr.max_pool %1 {kernel = array<i64: 2, 2>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>} : (tensor<2x32x14x14xbf16>) -> tensor<2x32x7x7xbf16>
  %3 = gr.conv %2, %v, %b {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>} : (tensor<2x32x7x7xbf16>, tensor<32x32x1x1xbf16>, tensor<32xbf16>) -> tensor<2x32x7x7xbf16>
  %4 = gr.add %3, %2 : (tensor<2x32x7x7xbf16>, tensor<2x32x7x7xbf16>) -> tensor<2x32x7x7xbf16>
  %5 = gr.relu %4 : (tensor<2x32x7x7xbf16>) -> tensor<2x32x7x7xbf16>
  %6 = gr.sigmoid %5 : (tensor<2x32x7x7xbf16>) -> tensor<2x32x7x7xbf16>
  %7 = gr.exp %5 : (tensor<2x32x7x7xbf16>) -> tensor<2x32x7x7xbf16>
  %8 = gr.concat %6, %7 {axis = 1 : i64} : (tensor<2x32x7x7xbf16>, tensor<2x32x7x7xbf16>) -> tensor<2x64x7x7xbf16>
  %9:2 = gr.split %8 {axis = 1 : i64, sizes = array<i64: 32, 32>} : (tensor<2x64x7x7xbf16>) -> (tensor<2x32x7x7xbf16>, tensor<2x32x7x7xbf16>)
  %10 = gr.mul %9#0, %9#1 : (tensor<2x32x7x7xbf16>, tensor<2x32x7x7xbf16>) -> tensor<2x32x7x7xbf16>
  %11 = gr.reduce %10 {kind = "mean", axes = array<i64: 2, 3>} : (tensor<2x32x7x7xbf16>) -> tensor<2x32x1x1xbf16>
  return %11 : tensor<2x32x1x1xbf16>
}

// f32 as it is stays dense; where it may be rounded, the channels are last, and constants are laid out
// at load. What is not computed along channels is copied back.
// CHECK-LABEL: // single
// CHECK-NOT: laid out
// CHECK: output
// TF32-LABEL: // single
// TF32: %[[W:.*]] = constant, 1152 bytes
// TF32: generated reorder ({{.*}}) -> ([[X:%.*]] 1x4x8x8xf32 laid out)
// TF32-NEXT: cudnn.conv gr.conv ([[X]] 1x4x8x8xf32 laid out, %[[W]] 8x4x3x3xf32 laid out) -> ([[Y:%.*]] 1x8x8x8xf32 laid out) in tf32
// TF32-NEXT: generated reorder ([[Y]] 1x8x8x8xf32 laid out) -> ([[Z:%.*]] 1x8x8x8xf32)
// TF32-NEXT: output output0 [[Z]]
func.func @single(%x: tensor<1x4x8x8xf32>) -> tensor<8x64xf32> {
  %s = gr.constant dense<[8, 64]> : tensor<2xi64> : tensor<2xi64>
  %w = gr.constant dense<0.5> : tensor<8x4x3x3xf32> : tensor<8x4x3x3xf32>
  %0 = gr.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>} : (tensor<1x4x8x8xf32>, tensor<8x4x3x3xf32>) -> tensor<1x8x8x8xf32>
  %1 = gr.reshape %0, %s : (tensor<1x8x8x8xf32>, tensor<2xi64>) -> tensor<8x64xf32>
  return %1 : tensor<8x64xf32>
}

// Channels that are cut into groups and swapped stay last: one kernel between the convolutions. What moves
// positions into channels goes back to where its lines are.
// CHECK-LABEL: // shuffle
// CHECK: cudnn.conv gr.conv ({{.*}}) -> ([[A:%.*]] 2x32x14x14xbf16 laid out) then gr.relu
// CHECK-NEXT: generated gr.group ([[A]] 2x32x14x14xbf16 laid out) -> ([[B:%.*]] 2x32x14x14xbf16 laid out)
// CHECK-NEXT: cudnn.conv gr.conv ([[B]] 2x32x14x14xbf16 laid out, {{.*}}) -> ([[C:%.*]] 2x32x14x14xbf16 laid out)
// CHECK-NEXT: generated reorder ([[C]] 2x32x14x14xbf16 laid out) -> ([[D:%.*]] 2x32x14x14xbf16)
// CHECK-NEXT: generated gr.transpose ([[D]] 2x8x4x196xbf16)
func.func @shuffle(%x: tensor<2x32x14x14xbf16>, %w: tensor<32x8x1x1xbf16>, %b: tensor<32xbf16>, %v: tensor<32x1x3x3xbf16>) -> tensor<2x32x14x14xbf16> {
  %s5 = gr.constant dense<[2, 4, 8, 14, 14]> : tensor<5xi64> : tensor<5xi64>
  %s4 = gr.constant dense<[2, 32, 14, 14]> : tensor<4xi64> : tensor<4xi64>
  %p4 = gr.constant dense<[2, 8, 4, 196]> : tensor<4xi64> : tensor<4xi64>
  %0 = gr.conv %x, %w, %b {groups = 4 : i64, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>} : (tensor<2x32x14x14xbf16>, tensor<32x8x1x1xbf16>, tensor<32xbf16>) -> tensor<2x32x14x14xbf16>
  %1 = gr.relu %0 : (tensor<2x32x14x14xbf16>) -> tensor<2x32x14x14xbf16>
  %2 = gr.reshape %1, %s5 : (tensor<2x32x14x14xbf16>, tensor<5xi64>) -> tensor<2x4x8x14x14xbf16>
  %3 = gr.transpose %2 {permutation = array<i64: 0, 2, 1, 3, 4>} : (tensor<2x4x8x14x14xbf16>) -> tensor<2x8x4x14x14xbf16>
  %4 = gr.reshape %3, %s4 : (tensor<2x8x4x14x14xbf16>, tensor<4xi64>) -> tensor<2x32x14x14xbf16>
  %5 = gr.conv %4, %v, %b {groups = 32 : i64, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>} : (tensor<2x32x14x14xbf16>, tensor<32x1x3x3xbf16>, tensor<32xbf16>) -> tensor<2x32x14x14xbf16>
  %6 = gr.reshape %5, %p4 : (tensor<2x32x14x14xbf16>, tensor<4xi64>) -> tensor<2x8x4x196xbf16>
  %7 = gr.transpose %6 {permutation = array<i64: 0, 1, 3, 2>} : (tensor<2x8x4x196xbf16>) -> tensor<2x8x196x4xbf16>
  %8 = gr.reshape %7, %s4 : (tensor<2x8x196x4xbf16>, tensor<4xi64>) -> tensor<2x32x14x14xbf16>
  return %8 : tensor<2x32x14x14xbf16>
}

// A mean over large images reads them as they lie: parts first, then their sums, by two kernels.
// CHECK-LABEL: // large_mean
// CHECK: cudnn.conv gr.conv ({{.*}}) -> ([[A:%.*]] 1x32x112x112xbf16 laid out)
// CHECK-NEXT: generated gr.reduce ([[A]] 1x32x112x112xbf16 laid out) -> () scratch [[P:%.*]] 25088xu8 grid 25x1x1
// CHECK-NEXT: generated gr.reduce () -> ({{.*}} 1x32x1x1xbf16) scratch [[P]] 25088xu8 grid 32x1x1
func.func @large_mean(%x: tensor<1x16x112x112xbf16>, %w: tensor<32x16x1x1xbf16>) -> tensor<1x32x1x1xbf16> {
  %0 = gr.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>} : (tensor<1x16x112x112xbf16>, tensor<32x16x1x1xbf16>) -> tensor<1x32x112x112xbf16>
  %1 = gr.reduce %0 {kind = "mean", axes = array<i64: 2, 3>} : (tensor<1x32x112x112xbf16>) -> tensor<1x32x1x1xbf16>
  return %1 : tensor<1x32x1x1xbf16>
}

// A transposition that puts the channels last, or brings them back, moves nothing beside such a tensor.
// CHECK-LABEL: // turned
// CHECK: cudnn.conv gr.conv ([[X:%.*]] 1x32x8x8xf16 laid out, {{.*}}) -> ([[Y:%.*]] 1x32x8x8xf16 laid out)
// CHECK-NEXT: generated gr.layer_norm ([[Y]] 1x8x8x32xf16, {{.*}}) -> ([[N:%.*]] 1x8x8x32xf16)
// CHECK-NEXT: cudnn.conv gr.conv ([[N]] 1x32x8x8xf16 laid out, {{.*}}) -> ([[Z:%.*]] 1x32x8x8xf16 laid out)
// CHECK-NEXT: generated reorder ([[Z]] 1x32x8x8xf16 laid out)
// CHECK-NEXT: output
func.func @turned(%x: tensor<1x8x8x32xf16>, %w: tensor<32x32x1x1xf16>, %s: tensor<32xf16>) -> tensor<1x32x8x8xf16> {
  %0 = gr.transpose %x {permutation = array<i64: 0, 3, 1, 2>} : (tensor<1x8x8x32xf16>) -> tensor<1x32x8x8xf16>
  %1 = gr.conv %0, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>} : (tensor<1x32x8x8xf16>, tensor<32x32x1x1xf16>) -> tensor<1x32x8x8xf16>
  %2 = gr.transpose %1 {permutation = array<i64: 0, 2, 3, 1>} : (tensor<1x32x8x8xf16>) -> tensor<1x8x8x32xf16>
  %3 = gr.layer_norm %2, %s, %s : (tensor<1x8x8x32xf16>, tensor<32xf16>, tensor<32xf16>) -> tensor<1x8x8x32xf16>
  %4 = gr.transpose %3 {permutation = array<i64: 0, 3, 1, 2>} : (tensor<1x8x8x32xf16>) -> tensor<1x32x8x8xf16>
  %5 = gr.conv %4, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>} : (tensor<1x32x8x8xf16>, tensor<32x32x1x1xf16>) -> tensor<1x32x8x8xf16>
  return %5 : tensor<1x32x8x8xf16>
}
