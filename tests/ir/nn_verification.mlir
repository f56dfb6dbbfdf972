// Every diagnostic of the nn family.
// RUN: graphrun-opt %s --verify-diagnostics --split-input-file

func.func @f0(%x: tensor<1x2x4x4xf32>, %w: tensor<3x2x1x1xf32>) {
  // expected-error @below {{strides has 1 entries, expected 2 for 2 spatial dims}}
  %0 = gr.conv %x, %w {strides = array<i64: 1>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>} : (tensor<1x2x4x4xf32>, tensor<3x2x1x1xf32>) -> tensor<1x3x4x4xf32>
  return
}

// -----

func.func @f1(%x: tensor<1x2x4x4xf32>, %w: tensor<3x2x1x1xf32>) {
  // expected-error @below {{dilations has 3 entries, expected 2 for 2 spatial dims}}
  %0 = gr.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1, 1>, pads = array<i64: 0, 0, 0, 0>} : (tensor<1x2x4x4xf32>, tensor<3x2x1x1xf32>) -> tensor<1x3x4x4xf32>
  return
}

// -----

func.func @f2(%x: tensor<1x2x4x4xf32>, %w: tensor<3x2x1x1xf32>) {
  // expected-error @below {{pads has 2 entries, expected 4 for 2 spatial dims}}
  %0 = gr.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0>} : (tensor<1x2x4x4xf32>, tensor<3x2x1x1xf32>) -> tensor<1x3x4x4xf32>
  return
}

// -----

func.func @f3(%x: tensor<1x2x4x4xf32>, %w: tensor<3x2x1x1xf32>) {
  // expected-error @below {{strides and dilations must be at least 1, got 0}}
  %0 = gr.conv %x, %w {strides = array<i64: 0, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>} : (tensor<1x2x4x4xf32>, tensor<3x2x1x1xf32>) -> tensor<1x3x4x4xf32>
  return
}

// -----

func.func @f4(%x: tensor<1x2x4x4xf32>, %w: tensor<3x2x1x1xf32>) {
  // expected-error @below {{has padding "valid", expected explicit, same_upper or same_lower}}
  %0 = gr.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, padding = "valid"} : (tensor<1x2x4x4xf32>, tensor<3x2x1x1xf32>) -> tensor<1x3x4x4xf32>
  return
}

// -----

func.func @f5(%x: tensor<1x2x4x4xf32>, %w: tensor<3x2x9x9xf32>) {
  // expected-error @below {{spatial dim 0 of the result would be -4: the window does not fit the padded input}}
  %0 = gr.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>} : (tensor<1x2x4x4xf32>, tensor<3x2x9x9xf32>) -> tensor<1x3x4x4xf32>
  return
}

// -----

func.func @f6(%x: tensor<1x2x4x4xf32>, %w: tensor<3x2x1xf32>) {
  // expected-error @below {{input is of rank 4 and filter of rank 3, expected equal ranks of at least 3}}
  %0 = gr.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>} : (tensor<1x2x4x4xf32>, tensor<3x2x1xf32>) -> tensor<1x3x4x4xf32>
  return
}

// -----

func.func @f7(%x: tensor<2x2xf32>, %w: tensor<3x2xf32>) {
  // expected-error @below {{input is of rank 2 and filter of rank 2}}
  %0 = gr.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>} : (tensor<2x2xf32>, tensor<3x2xf32>) -> tensor<1x3x4x4xf32>
  return
}

// -----

func.func @f8(%x: tensor<1x2x4x4xi16>, %w: tensor<3x2x1x1xi16>) {
  // expected-error @below {{input has element type 'i16', expected a floating-point type}}
  %0 = gr.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>} : (tensor<1x2x4x4xi16>, tensor<3x2x1x1xi16>) -> tensor<1x3x4x4xi16>
  return
}

// -----

func.func @signs(%x: tensor<1x2x4x4xi8>, %w: tensor<3x2x1x1xui8>) {
  // expected-error @below {{input has element type 'i8', expected a floating-point type}}
  %0 = gr.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>} : (tensor<1x2x4x4xi8>, tensor<3x2x1x1xui8>) -> tensor<1x3x4x4xi32>
  return
}

// -----

func.func @sums(%x: tensor<1x2x4x4xui8>, %w: tensor<3x2x1x1xi8>) {
  // expected-error @below {{result 0 is declared as 'tensor<1x3x4x4xui8>', but its operands give 'tensor<1x3x4x4xi32>'}}
  %0 = gr.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>} : (tensor<1x2x4x4xui8>, tensor<3x2x1x1xi8>) -> tensor<1x3x4x4xui8>
  return
}

// -----

func.func @f9(%x: tensor<1x2x4x4xf32>, %w: tensor<3x2x1x1xf16>) {
  // expected-error @below {{operands have element types 'f32' and 'f16'}}
  %0 = gr.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>} : (tensor<1x2x4x4xf32>, tensor<3x2x1x1xf16>) -> tensor<1x3x4x4xf32>
  return
}

// -----

func.func @f10(%x: tensor<1x2x4x4xf32>, %w: tensor<3x2x1x1xf32>) {
  // expected-error @below {{groups is 0, expected at least 1}}
  %0 = gr.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, groups = 0 : i64} : (tensor<1x2x4x4xf32>, tensor<3x2x1x1xf32>) -> tensor<1x3x4x4xf32>
  return
}

// -----

func.func @f11(%x: tensor<1x2x4x4xf32>, %w: tensor<3x2x1x1xf32>, %b: tensor<2xf32>) {
  // expected-error @below {{bias has shape 2, expected 3 (one value a result channel)}}
  %0 = gr.conv %x, %w, %b {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>} : (tensor<1x2x4x4xf32>, tensor<3x2x1x1xf32>, tensor<2xf32>) -> tensor<1x3x4x4xf32>
  return
}

// -----

func.func @f12(%x: tensor<1x2x4x4xf32>, %w: tensor<3x5x1x1xf32>) {
  // expected-error @below {{input has 2 channels, expected 5 (filter 3x5x1x1 with 1 groups)}}
  %0 = gr.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>} : (tensor<1x2x4x4xf32>, tensor<3x5x1x1xf32>) -> tensor<1x3x4x4xf32>
  return
}

// -----

func.func @f13(%x: tensor<1x2x4x4xf32>, %w: tensor<3x1x1x1xf32>) {
  // expected-error @below {{3 filters do not divide into 2 groups}}
  %0 = gr.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, groups = 2 : i64} : (tensor<1x2x4x4xf32>, tensor<3x1x1x1xf32>) -> tensor<1x3x4x4xf32>
  return
}

// -----

func.func @f14(%x: tensor<1x2x4x4xf32>, %w: tensor<3x2x1x1xf32>) {
  // expected-error @below {{requires attribute}}
  %0 = gr.conv %x, %w {strides = array<i64: 1, 1>} : (tensor<1x2x4x4xf32>, tensor<3x2x1x1xf32>) -> tensor<1x3x4x4xf32>
  return
}

// -----

func.func @f15(%x: tensor<1x2x4x4xf32>, %w: tensor<3x2x1x1xf32>) {
  // expected-error @below {{input has 2 channels, expected 3 (filter 3x2x1x1)}}
  %0 = gr.conv_transpose %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, output_padding = array<i64: 0, 0>, output_shape = array<i64>} : (tensor<1x2x4x4xf32>, tensor<3x2x1x1xf32>) -> tensor<1x3x4x4xf32>
  return
}

// -----

func.func @f16(%x: tensor<1x2x4x4xf32>, %w: tensor<2x3x1x1xf32>) {
  // expected-error @below {{output_padding and output_shape must have one entry for each of the 2 spatial dims}}
  %0 = gr.conv_transpose %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, output_padding = array<i64: 0>, output_shape = array<i64>} : (tensor<1x2x4x4xf32>, tensor<2x3x1x1xf32>) -> tensor<1x3x4x4xf32>
  return
}

// -----

func.func @f17(%x: tensor<1x2x4x4xf32>, %w: tensor<2x3x1x1xf32>) {
  // expected-error @below {{output_padding and output_shape must have one entry for each of the 2 spatial dims}}
  %0 = gr.conv_transpose %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, output_padding = array<i64: 0, 0>, output_shape = array<i64: 1>} : (tensor<1x2x4x4xf32>, tensor<2x3x1x1xf32>) -> tensor<1x3x4x4xf32>
  return
}

// -----

func.func @f18(%x: tensor<1x2x4x4xf32>, %w: tensor<2x3x1x1xf32>, %b: tensor<5xf32>) {
  // expected-error @below {{bias has shape 5, expected 3}}
  %0 = gr.conv_transpose %x, %w, %b {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, output_padding = array<i64: 0, 0>, output_shape = array<i64>} : (tensor<1x2x4x4xf32>, tensor<2x3x1x1xf32>, tensor<5xf32>) -> tensor<1x3x4x4xf32>
  return
}

// -----

func.func @f19(%x: tensor<1x2x4x4xf32>, %w: tensor<2x3x1x1xf32>) {
  // expected-error @below {{spatial dim 0 of the result would be -6}}
  %0 = gr.conv_transpose %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 5, 0, 5, 0>, output_padding = array<i64: 0, 0>, output_shape = array<i64>} : (tensor<1x2x4x4xf32>, tensor<2x3x1x1xf32>) -> tensor<1x3x4x4xf32>
  return
}

// -----

func.func @f20(%x: tensor<1x2x4x4xf32>) {
  // expected-error @below {{input is of rank 4, expected 3 for a kernel of 1 dims}}
  %0 = gr.max_pool %x {kernel = array<i64: 2>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>} : (tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32>
  return
}

// -----

func.func @f21(%x: tensor<1x2x4x4xf32>) {
  // expected-error @below {{kernel must be at least 1, got 0}}
  %0 = gr.max_pool %x {kernel = array<i64: 0, 1>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>} : (tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32>
  return
}

// -----

func.func @f22(%x: tensor<1x2x4x4xf32>) {
  // expected-error @below {{spatial dim 0 of the result would be -4}}
  %0 = gr.max_pool %x {kernel = array<i64: 9, 1>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>} : (tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32>
  return
}

// -----

func.func @f23(%x: tensor<1x2x4x4xf32>) {
  // expected-error @below {{strides has 1 entries, expected 2}}
  %0 = gr.max_pool %x {kernel = array<i64: 1, 1>, strides = array<i64: 1>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>} : (tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32>
  return
}

// -----

func.func @f24(%x: tensor<1x2x4xi64>) {
  // expected-error @below {{input has element type 'i64', expected a floating-point type}}
  %0 = gr.avg_pool %x {kernel = array<i64: 1>, strides = array<i64: 1>, dilations = array<i64: 1>, pads = array<i64: 0, 0>} : (tensor<1x2x4xi64>) -> tensor<1x2x4xi64>
  return
}

// -----

func.func @f25(%x: tensor<2xf32>) {
  // expected-error @below {{input is of rank 1, expected at least 2}}
  %0 = gr.batch_norm %x, %x, %x, %x, %x : (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @f26(%x: tensor<1x2x4x4xf32>, %p: tensor<3xf32>) {
  // expected-error @below {{parameter has shape 3, expected 2 (one value a channel)}}
  %0 = gr.batch_norm %x, %p, %p, %p, %p : (tensor<1x2x4x4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<1x2x4x4xf32>
  return
}

// -----

func.func @f27(%x: tensor<1x2x4x4xf32>, %p: tensor<2x1xf32>) {
  // expected-error @below {{parameter has shape 2x1, expected 2}}
  %0 = gr.instance_norm %x, %p, %p : (tensor<1x2x4x4xf32>, tensor<2x1xf32>, tensor<2x1xf32>) -> tensor<1x2x4x4xf32>
  return
}

// -----

func.func @f28(%x: tensor<2x3xf32>, %p: tensor<3xf32>) {
  // expected-error @below {{axis 2 is out of range for rank 2}}
  %0 = gr.layer_norm %x, %p {axis = 2 : i64} : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @f29(%x: tensor<2x3xf32>, %p: tensor<2xf32>) {
  // expected-error @below {{parameter has shape 2, expected one that broadcasts to 3}}
  %0 = gr.layer_norm %x, %p : (tensor<2x3xf32>, tensor<2xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @f30(%x: tensor<1x2x4x4xf32>) {
  // expected-error @below {{size is 0, expected at least 1}}
  %0 = gr.lrn %x {size = 0 : i64} : (tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32>
  return
}

// -----

func.func @f31(%x: tensor<2x3xf32>) {
  // expected-error @below {{input is of rank 2, expected at least 3}}
  %0 = gr.lrn %x {size = 1 : i64} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @f32(%x: tensor<2x3xf32>) {
  // expected-error @below {{axis -3 is out of range for rank 2}}
  %0 = gr.softmax %x {axis = -3 : i64} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @f33(%x: tensor<1x2x4x4xf32>) {
  // expected-error @below {{needs exactly one of scales and sizes}}
  %0 = gr.resize %x {mode = "nearest", coordinates = "asymmetric", rounding = "floor"} : (tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32>
  return
}

// -----

func.func @f34(%x: tensor<1x2x4x4xf32>, %s: tensor<4xf32>) {
  // expected-error @below {{has mode "lanczos", expected nearest, linear or cubic}}
  %0 = gr.resize %x scales %s {mode = "lanczos", coordinates = "asymmetric", rounding = "floor"} : (tensor<1x2x4x4xf32>, tensor<4xf32>) -> tensor<1x2x4x4xf32>
  return
}

// -----

func.func @f35(%x: tensor<1x2x4x4xf32>, %s: tensor<4xf32>) {
  // expected-error @below {{has coordinates "polar", expected half_pixel, }}
  %0 = gr.resize %x scales %s {mode = "nearest", coordinates = "polar", rounding = "floor"} : (tensor<1x2x4x4xf32>, tensor<4xf32>) -> tensor<1x2x4x4xf32>
  return
}

// -----

func.func @f36(%x: tensor<1x2x4x4xf32>, %s: tensor<4xf32>) {
  // expected-error @below {{has rounding "up", expected round_prefer_floor, round_prefer_ceil, floor or ceil}}
  %0 = gr.resize %x scales %s {mode = "nearest", coordinates = "asymmetric", rounding = "up"} : (tensor<1x2x4x4xf32>, tensor<4xf32>) -> tensor<1x2x4x4xf32>
  return
}

// -----

func.func @f37(%x: tensor<1x2x4x4xf32>) {
  %s = gr.constant dense<[8, 8]> : tensor<2xi64> : tensor<2xi64>
  // expected-error @below {{sizes has 2 elements, expected 4}}
  %0 = gr.resize %x sizes %s {mode = "nearest", coordinates = "asymmetric", rounding = "floor"} : (tensor<1x2x4x4xf32>, tensor<2xi64>) -> tensor<1x2x4x4xf32>
  return
}

// -----

func.func @f38(%x: tensor<1x2x4x4xf32>) {
  %s = gr.constant dense<[2.0, 2.0]> : tensor<2xf32> : tensor<2xf32>
  // expected-error @below {{scales has 2 elements, expected 4}}
  %0 = gr.resize %x scales %s {mode = "nearest", coordinates = "asymmetric", rounding = "floor"} : (tensor<1x2x4x4xf32>, tensor<2xf32>) -> tensor<1x2x4x4xf32>
  return
}

// -----

func.func @negative_sizes(%x: tensor<1x2x4x4xf32>) {
  %s = gr.constant dense<[1, 2, -1, 4]> : tensor<4xi64> : tensor<4xi64>
  // expected-error @below {{sizes has the negative element -1}}
  %0 = gr.resize %x sizes %s {mode = "nearest", coordinates = "asymmetric", rounding = "floor"} : (tensor<1x2x4x4xf32>, tensor<4xi64>) -> tensor<*xf32>
  return
}

// -----

func.func @zero_scale(%x: tensor<1x2x4x4xf32>) {
  %s = gr.constant dense<[1.0, 1.0, 0.0, 1.0]> : tensor<4xf32> : tensor<4xf32>
  // expected-error @below {{scales has the element 0.0}}
  %0 = gr.resize %x scales %s {mode = "nearest", coordinates = "asymmetric", rounding = "floor"} : (tensor<1x2x4x4xf32>, tensor<4xf32>) -> tensor<*xf32>
  return
}
