// Every diagnostic of the vision family, and of resampling and pooling beside it.
// RUN: graphrun-opt %s --verify-diagnostics --split-input-file

func.func @f0(%x: tensor<1x2x4x4xf32>, %g: tensor<1x3x3x2xf32>) {
  // expected-error @below {{has mode "bilinear", expected nearest, linear or cubic}}
  %0 = gr.grid_sample %x, %g {mode = "bilinear", padding = "zeros"} : (tensor<1x2x4x4xf32>, tensor<1x3x3x2xf32>) -> tensor<*xf32>
  return
}

// -----

func.func @f1(%x: tensor<1x2x4x4xf32>, %g: tensor<1x3x3x2xf32>) {
  // expected-error @below {{has padding "wrap", expected zeros, border or reflection}}
  %0 = gr.grid_sample %x, %g {mode = "linear", padding = "wrap"} : (tensor<1x2x4x4xf32>, tensor<1x3x3x2xf32>) -> tensor<*xf32>
  return
}

// -----

func.func @f2(%x: tensor<1x2x4x4xf32>, %g: tensor<1x3x3x2xi64>) {
  // expected-error @below {{grid has element type 'i64', expected a floating-point type}}
  %0 = gr.grid_sample %x, %g {mode = "linear", padding = "zeros"} : (tensor<1x2x4x4xf32>, tensor<1x3x3x2xi64>) -> tensor<*xf32>
  return
}

// -----

func.func @f3(%x: tensor<1x2x4x4xf32>, %g: tensor<1x3x2xf32>) {
  // expected-error @below {{grid is of rank 3, expected 4}}
  %0 = gr.grid_sample %x, %g {mode = "linear", padding = "zeros"} : (tensor<1x2x4x4xf32>, tensor<1x3x2xf32>) -> tensor<*xf32>
  return
}

// -----

func.func @f4(%x: tensor<1x2x4x4xf32>, %g: tensor<2x3x3x2xf32>) {
  // expected-error @below {{dim 0 of grid is 2, expected 1}}
  %0 = gr.grid_sample %x, %g {mode = "linear", padding = "zeros"} : (tensor<1x2x4x4xf32>, tensor<2x3x3x2xf32>) -> tensor<*xf32>
  return
}

// -----

func.func @f5(%x: tensor<1x2x4x4xf32>, %g: tensor<1x3x3x3xf32>) {
  // expected-error @below {{dim 3 of grid is 3, expected 2}}
  %0 = gr.grid_sample %x, %g {mode = "linear", padding = "zeros"} : (tensor<1x2x4x4xf32>, tensor<1x3x3x3xf32>) -> tensor<*xf32>
  return
}

// -----

func.func @f6(%x: tensor<1x2xf32>, %g: tensor<1x2xf32>) {
  // expected-error @below {{input is of rank 2, expected N x C x spatial dims}}
  %0 = gr.grid_sample %x, %g {mode = "linear", padding = "zeros"} : (tensor<1x2xf32>, tensor<1x2xf32>) -> tensor<*xf32>
  return
}

// -----

func.func @f7(%x: tensor<1x2x4x4xf32>, %r: tensor<3x4xf32>, %b: tensor<3xi64>) {
  // expected-error @below {{has kind "avg", expected mean or max}}
  %0 = gr.roi_align %x, %r, %b {kind = "avg", height = 2 : i64, width = 2 : i64} : (tensor<1x2x4x4xf32>, tensor<3x4xf32>, tensor<3xi64>) -> tensor<*xf32>
  return
}

// -----

func.func @f8(%x: tensor<1x2x4x4xf32>, %r: tensor<3x4xf32>, %b: tensor<3xi64>) {
  // expected-error @below {{makes regions of 0x2, expected at least 1x1}}
  %0 = gr.roi_align %x, %r, %b {kind = "mean", height = 0 : i64, width = 2 : i64} : (tensor<1x2x4x4xf32>, tensor<3x4xf32>, tensor<3xi64>) -> tensor<*xf32>
  return
}

// -----

func.func @f9(%x: tensor<1x2x4x4xf32>, %r: tensor<3x5xf32>, %b: tensor<3xi64>) {
  // expected-error @below {{dim 1 of rois is 5, expected 4}}
  %0 = gr.roi_align %x, %r, %b {kind = "mean", height = 2 : i64, width = 2 : i64} : (tensor<1x2x4x4xf32>, tensor<3x5xf32>, tensor<3xi64>) -> tensor<*xf32>
  return
}

// -----

func.func @f10(%x: tensor<1x2x4x4xf32>, %r: tensor<3x4xf32>, %b: tensor<2xi64>) {
  // expected-error @below {{dim 0 of rois is 3, expected 2}}
  %0 = gr.roi_align %x, %r, %b {kind = "mean", height = 2 : i64, width = 2 : i64} : (tensor<1x2x4x4xf32>, tensor<3x4xf32>, tensor<2xi64>) -> tensor<*xf32>
  return
}

// -----

func.func @f11(%x: tensor<1x2x4xf32>, %r: tensor<3x5xf32>) {
  // expected-error @below {{input is of rank 3, expected 4}}
  %0 = gr.roi_max_pool %x, %r {height = 2 : i64, width = 2 : i64} : (tensor<1x2x4xf32>, tensor<3x5xf32>) -> tensor<*xf32>
  return
}

// -----

func.func @f12(%x: tensor<5x4xf32>, %i: tensor<2xi64>) {
  %b = gr.constant dense<[5, 1]> : tensor<2xi64> : tensor<2xi64>
  // expected-error @below {{input is of rank 2, expected 3}}
  %0 = gr.col2im %x, %i, %b {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>} : (tensor<5x4xf32>, tensor<2xi64>, tensor<2xi64>) -> tensor<*xf32>
  return
}

// -----

func.func @f13(%x: tensor<1x5x4xf32>, %i: tensor<2xi64>) {
  %b = gr.constant dense<[5, 1]> : tensor<2xi64> : tensor<2xi64>
  // expected-error @below {{has 2 strides, 2 dilations and 2 pads, expected one, one and two for each dim}}
  %0 = gr.col2im %x, %i, %b {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0>} : (tensor<1x5x4xf32>, tensor<2xi64>, tensor<2xi64>) -> tensor<*xf32>
  return
}

// -----

func.func @f14(%x: tensor<1x5x4xf32>, %i: tensor<2xi64>) {
  %b = gr.constant dense<[5, 1]> : tensor<2xi64> : tensor<2xi64>
  // expected-error @below {{strides and dilations must be at least 1, got 0}}
  %0 = gr.col2im %x, %i, %b {strides = array<i64: 0, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>} : (tensor<1x5x4xf32>, tensor<2xi64>, tensor<2xi64>) -> tensor<*xf32>
  return
}

// -----

func.func @f15(%x: tensor<1x5x4xf32>, %i: tensor<2xi64>) {
  %b = gr.constant dense<[0, 1]> : tensor<2xi64> : tensor<2xi64>
  // expected-error @below {{block has the element 0, expected a small positive one}}
  %0 = gr.col2im %x, %i, %b {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>} : (tensor<1x5x4xf32>, tensor<2xi64>, tensor<2xi64>) -> tensor<*xf32>
  return
}

// -----

func.func @f16(%x: tensor<1x5x4xf32>, %i: tensor<2xi64>) {
  %b = gr.constant dense<[2, 1]> : tensor<2xi64> : tensor<2xi64>
  // expected-error @below {{dim 1 of input is 5, expected a multiple of the block's 2 elements}}
  %0 = gr.col2im %x, %i, %b {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>} : (tensor<1x5x4xf32>, tensor<2xi64>, tensor<2xi64>) -> tensor<*xf32>
  return
}

// -----

func.func @f17(%x: tensor<1x5x4xf32>, %i: tensor<3xi64>, %b: tensor<2xi64>) {
  // expected-error @below {{dim 0 of image is 3, expected 2}}
  %0 = gr.col2im %x, %i, %b {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>} : (tensor<1x5x4xf32>, tensor<3xi64>, tensor<2xi64>) -> tensor<*xf32>
  return
}

// -----

func.func @negative_image(%x: tensor<1x5x4xf32>) {
  %i = gr.constant dense<[2, -9223372036854775808]> : tensor<2xi64> : tensor<2xi64>
  %b = gr.constant dense<[5, 1]> : tensor<2xi64> : tensor<2xi64>
  // expected-error @below {{image has the negative element -9223372036854775808}}
  %0 = gr.col2im %x, %i, %b {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>} : (tensor<1x5x4xf32>, tensor<2xi64>, tensor<2xi64>) -> tensor<*xf32>
  return
}

// -----

func.func @f18(%x: tensor<1x2x4x4xf32>, %f: tensor<3x2x2x2xf32>, %o: tensor<1x4x3x3xf32>) {
  // expected-error @below {{offsets has shape 1x4x3x3, expected 1x8x3x3}}
  %0 = gr.deform_conv %x, %f, %o {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, offset_groups = 1 : i64} : (tensor<1x2x4x4xf32>, tensor<3x2x2x2xf32>, tensor<1x4x3x3xf32>) -> tensor<*xf32>
  return
}

// -----

func.func @f19(%x: tensor<1x2x4x4xf32>, %f: tensor<3x2x2x2xf32>, %o: tensor<1x8x3x3xf32>) {
  // expected-error @below {{input has 2 channels for the filter 3x2x2x2, 1 groups and 3 offset groups}}
  %0 = gr.deform_conv %x, %f, %o {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, offset_groups = 3 : i64} : (tensor<1x2x4x4xf32>, tensor<3x2x2x2xf32>, tensor<1x8x3x3xf32>) -> tensor<*xf32>
  return
}

// -----

func.func @f20(%x: tensor<1x2x4x4xf32>, %f: tensor<3x2x2x2xf32>, %o: tensor<1x8x3x3xf32>, %m: tensor<1x8x3x3xf32>) {
  // expected-error @below {{mask has shape 1x8x3x3, expected 1x4x3x3}}
  %0 = gr.deform_conv %x, %f, %o mask %m {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, offset_groups = 1 : i64} : (tensor<1x2x4x4xf32>, tensor<3x2x2x2xf32>, tensor<1x8x3x3xf32>, tensor<1x8x3x3xf32>) -> tensor<*xf32>
  return
}

// -----

func.func @f21(%x: tensor<1x2x4x4xf32>) {
  // expected-error @below {{p is 0.000000e+00, expected a number above 0}}
  %0 = gr.lp_pool %x {p = 0.0 : f64, kernel = array<i64: 2, 2>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>} : (tensor<1x2x4x4xf32>) -> tensor<*xf32>
  return
}

// -----

func.func @f22(%x: tensor<1x2x4x4xi1>) {
  // expected-error @below {{input has element type 'i1', expected a number}}
  %0:2 = gr.max_pool_with_indices %x {kernel = array<i64: 2, 2>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>} : (tensor<1x2x4x4xi1>) -> (tensor<*xi1>, tensor<*xi64>)
  return
}

// -----

func.func @f23(%x: tensor<1x2x4x4xf32>, %s: tensor<4xi64>) {
  // expected-error @below {{has coordinates "tf_crop_and_resize" and no roi; tf_crop_and_resize alone takes one}}
  %0 = gr.resize %x sizes %s {mode = "linear", coordinates = "tf_crop_and_resize", rounding = "floor"} : (tensor<1x2x4x4xf32>, tensor<4xi64>) -> tensor<*xf32>
  return
}

// -----

func.func @f24(%x: tensor<1x2x4x4xf32>, %s: tensor<4xi64>, %r: tensor<8xf32>) {
  // expected-error @below {{has coordinates "half_pixel" and a roi}}
  %0 = gr.resize %x sizes %s roi %r {mode = "linear", coordinates = "half_pixel", rounding = "floor"} : (tensor<1x2x4x4xf32>, tensor<4xi64>, tensor<8xf32>) -> tensor<*xf32>
  return
}

// -----

func.func @f25(%x: tensor<1x2x4x4xf32>, %s: tensor<4xi64>, %r: tensor<4xf32>) {
  // expected-error @below {{roi has 4 elements, expected 8}}
  %0 = gr.resize %x sizes %s roi %r {mode = "linear", coordinates = "tf_crop_and_resize", rounding = "floor"} : (tensor<1x2x4x4xf32>, tensor<4xi64>, tensor<4xf32>) -> tensor<*xf32>
  return
}

// -----

func.func @f26(%x: tensor<1x2x4x4xf32>, %s: tensor<4xf32>) {
  // expected-error @below {{has policy "not_larger" and scales, expected sizes}}
  %0 = gr.resize %x scales %s {mode = "linear", coordinates = "half_pixel", policy = "not_larger", rounding = "floor"} : (tensor<1x2x4x4xf32>, tensor<4xf32>) -> tensor<*xf32>
  return
}

// -----

func.func @f27(%x: tensor<1x2x4x4xf32>, %s: tensor<4xi64>) {
  // expected-error @below {{has policy "fit", expected stretch, not_larger or not_smaller}}
  %0 = gr.resize %x sizes %s {mode = "linear", coordinates = "half_pixel", policy = "fit", rounding = "floor"} : (tensor<1x2x4x4xf32>, tensor<4xi64>) -> tensor<*xf32>
  return
}

// -----

func.func @f28(%x: tensor<1x2x4x4xf32>, %s: tensor<4xi64>) {
  // expected-error @below {{antialias is set for mode "nearest", expected linear or cubic}}
  %0 = gr.resize %x sizes %s {mode = "nearest", coordinates = "half_pixel", antialias = true, rounding = "floor"} : (tensor<1x2x4x4xf32>, tensor<4xi64>) -> tensor<*xf32>
  return
}

// -----

func.func @f29(%x: tensor<1x2x4x4xf32>, %s: tensor<2x2xi64>) {
  // expected-error @below {{sizes is of rank 2, expected 1}}
  %0 = gr.resize %x sizes %s {mode = "nearest", coordinates = "half_pixel", rounding = "floor"} : (tensor<1x2x4x4xf32>, tensor<2x2xi64>) -> tensor<*xf32>
  return
}

// -----

func.func @f30(%s: tensor<4xi64>) {
  // expected-error @below {{has generator "dice", expected philox or mt19937}}
  %0 = gr.random %s {kind = "uniform", a = 0.0, b = 1.0, seed = 1 : i64, to = f64, generator = "dice"} : (tensor<4xi64>) -> tensor<*xf64>
  return
}

// -----

func.func @f31(%s: tensor<4xi64>) {
  // expected-error @below {{makes normal 'f64' with mt19937, expected uniform f64}}
  %0 = gr.random %s {kind = "normal", a = 0.0, b = 1.0, seed = 1 : i64, to = f64, generator = "mt19937"} : (tensor<4xi64>) -> tensor<*xf64>
  return
}

// -----

func.func @scale_beyond_a_dim(%x: tensor<1x2x4x4xf32>) {
  %s = gr.constant dense<[1.0, 1.0, 1.0, 4.0e24]> : tensor<4xf32> : tensor<4xf32>
  // expected-error @below {{makes a dim of size 1.6}}
  %0 = gr.resize %x scales %s {mode = "linear", coordinates = "half_pixel", rounding = "floor"} : (tensor<1x2x4x4xf32>, tensor<4xf32>) -> tensor<*xf32>
  return
}

// -----

func.func @dim_beyond_a_dim(%x: tensor<1x2x4x4xf32>) {
  %s = gr.constant dense<[1, 2, 9223372036854775807, 4]> : tensor<4xi64> : tensor<4xi64>
  // expected-error @below {{makes a dim of size 9.22}}
  %0 = gr.resize %x sizes %s {mode = "linear", coordinates = "half_pixel", policy = "not_smaller", axes = array<i64: 0, 1, 2, 3>, rounding = "floor"} : (tensor<1x2x4x4xf32>, tensor<4xi64>) -> tensor<*xf32>
  return
}

// -----

func.func @grid_gradient(%x: tensor<1x2x4x4xf32>, %g: tensor<1x3x5x2xf32>, %d: tensor<1x2x3x4xf32>) {
  // expected-error @below {{dim 3 of gradient is 4, expected 5}}
  %0:2 = gr.grid_sample_backward %x, %g, %d {mode = "linear", padding = "zeros"} : (tensor<1x2x4x4xf32>, tensor<1x3x5x2xf32>, tensor<1x2x3x4xf32>) -> (tensor<1x2x4x4xf32>, tensor<1x3x5x2xf32>)
  return
}

// -----

func.func @grid_gradient_rank(%x: tensor<1x2x4x4xf32>, %g: tensor<1x3x5x2xf32>, %d: tensor<1x2x3xf32>) {
  // expected-error @below {{gradient is of rank 3, expected 4}}
  %0:2 = gr.grid_sample_backward %x, %g, %d {mode = "linear", padding = "zeros"} : (tensor<1x2x4x4xf32>, tensor<1x3x5x2xf32>, tensor<1x2x3xf32>) -> (tensor<1x2x4x4xf32>, tensor<1x3x5x2xf32>)
  return
}

// -----

func.func @grid_gradient_integers(%x: tensor<1x2x4x4xi32>, %g: tensor<1x3x5x2xf32>, %d: tensor<1x2x3x5xi32>) {
  // expected-error @below {{input has element type 'i32', expected a floating-point type}}
  %0:2 = gr.grid_sample_backward %x, %g, %d {mode = "linear", padding = "zeros"} : (tensor<1x2x4x4xi32>, tensor<1x3x5x2xf32>, tensor<1x2x3x5xi32>) -> (tensor<1x2x4x4xi32>, tensor<1x3x5x2xf32>)
  return
}
