// RUN: graphrun-opt %s --gr-form-groups --gr-cuda-print-executable -o /dev/null | FileCheck %s
// REQUIRES: cuda
// Sums of products of bytes are cuDNN's; what makes floats and bytes of them is one generated kernel.

// Convolutions have the channels last, and what lies between them, too; what is added was left by another
// group that is taken apart.
// CHECK-LABEL: // images
// CHECK: cudnn.conv gr.conv ({{.*}} 1x8x6x6xu8 laid out, {{.*}} 16x8x3x3xi8 laid out) -> ([[A:%.*]] 1x16x6x6xi32 laid out)
// CHECK-NEXT: generated gr.group ([[A]] 1x16x6x6xi32 laid out) -> ([[B:%.*]] 1x16x6x6xu8 laid out)
// CHECK-NEXT: cudnn.conv gr.conv ([[B]] 1x16x6x6xu8 laid out, {{.*}} 16x16x1x1xi8) -> ([[C:%.*]] 1x16x6x6xi32 laid out)
// CHECK-NEXT: generated gr.group ({{.*}}[[B]] 1x16x6x6xu8 laid out{{.*}}) -> ({{.*}} 1x16x6x6xu8 laid out)
// CHECK-NEXT: generated reorder
func.func @images(%x: tensor<1x8x6x6xui8>) -> tensor<1x16x6x6xui8> {
  %w = gr.constant dense<3> : tensor<16x8x3x3xi8> : tensor<16x8x3x3xi8>
  %v = gr.constant dense<-2> : tensor<16x16x1x1xi8> : tensor<16x16x1x1xi8>
  %o = gr.constant dense<5> : tensor<16x1x1xi32> : tensor<16x1x1xi32>
  %s = gr.constant dense<0.1> : tensor<f32> : tensor<f32>
  %0 = gr.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>} : (tensor<1x8x6x6xui8>, tensor<16x8x3x3xi8>) -> tensor<1x16x6x6xi32>
  %1 = gr.add %0, %o : (tensor<1x16x6x6xi32>, tensor<16x1x1xi32>) -> tensor<1x16x6x6xi32>
  %2 = gr.cast %1 {to = f32} : (tensor<1x16x6x6xi32>) -> tensor<1x16x6x6xf32>
  %3 = gr.mul %2, %s : (tensor<1x16x6x6xf32>, tensor<f32>) -> tensor<1x16x6x6xf32>
  %4 = gr.round %3 : (tensor<1x16x6x6xf32>) -> tensor<1x16x6x6xf32>
  %5 = gr.clip %4 {low = 0.0 : f64, high = 255.0 : f64} : (tensor<1x16x6x6xf32>) -> tensor<1x16x6x6xf32>
  %6 = gr.cast %5 {to = ui8} : (tensor<1x16x6x6xf32>) -> tensor<1x16x6x6xui8>
  %7 = gr.conv %6, %v {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>} : (tensor<1x16x6x6xui8>, tensor<16x16x1x1xi8>) -> tensor<1x16x6x6xi32>
  %8 = gr.cast %7 {to = f32} : (tensor<1x16x6x6xi32>) -> tensor<1x16x6x6xf32>
  %9 = gr.mul %8, %s : (tensor<1x16x6x6xf32>, tensor<f32>) -> tensor<1x16x6x6xf32>
  %10 = gr.cast %6 {to = f32} : (tensor<1x16x6x6xui8>) -> tensor<1x16x6x6xf32>
  %u = gr.mul %10, %s : (tensor<1x16x6x6xf32>, tensor<f32>) -> tensor<1x16x6x6xf32>
  %11 = gr.add %9, %u : (tensor<1x16x6x6xf32>, tensor<1x16x6x6xf32>) -> tensor<1x16x6x6xf32>
  %12 = gr.round %11 : (tensor<1x16x6x6xf32>) -> tensor<1x16x6x6xf32>
  %13 = gr.clip %12 {low = 0.0 : f64, high = 255.0 : f64} : (tensor<1x16x6x6xf32>) -> tensor<1x16x6x6xf32>
  %14 = gr.cast %13 {to = ui8} : (tensor<1x16x6x6xf32>) -> tensor<1x16x6x6xui8>
  return %14 : tensor<1x16x6x6xui8>
}

// The matrix of a product is laid out at load where it is a weight, else transposed before.
// CHECK-LABEL: // rows
// CHECK: cudnn.byte_matmul gr.matmul ({{.*}} 2x5x24xu8, {{.*}} 24x40xi8 laid out) -> ([[A:%.*]] 2x5x40xi32)
// CHECK: generated gr.transpose ({{.*}} 24x7xi8) -> ([[T:%.*]] 7x24xi8)
// CHECK-NEXT: cudnn.byte_matmul gr.matmul ({{.*}} 2x5x24xu8, [[T]] 7x24xi8) -> ({{.*}} 2x5x7xi32)
func.func @rows(%x: tensor<2x5x24xui8>, %y: tensor<24x7xi8>) -> (tensor<2x5x40xi32>, tensor<2x5x7xi32>) {
  %w = gr.constant dense<3> : tensor<24x40xi8> : tensor<24x40xi8>
  %0 = gr.matmul %x, %w : (tensor<2x5x24xui8>, tensor<24x40xi8>) -> tensor<2x5x40xi32>
  %1 = gr.matmul %x, %y : (tensor<2x5x24xui8>, tensor<24x7xi8>) -> tensor<2x5x7xi32>
  return %0, %1 : tensor<2x5x40xi32>, tensor<2x5x7xi32>
}
