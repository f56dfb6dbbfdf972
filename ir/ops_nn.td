// Operations of neural networks that libraries have kernels for. Tensors are N x C x spatial dims.
#ifndef GRAPHRUN_IR_OPS_NN_TD
#define GRAPHRUN_IR_OPS_NN_TD

include "ir/gr_dialect.td"

// These attributes say how a sliding window meets the border. `padding` is "explicit" (`pads` holds
// begin and end of each spatial dim: b0 b1 … e0 e1 …), "same_upper" or "same_lower" (ONNX's
// auto_pad).
defvar GR_WindowAttrs = (ins DenseI64ArrayAttr:$strides, DenseI64ArrayAttr:$dilations,
                             DenseI64ArrayAttr:$pads,
                             GR_DefaultWord<GR_WindowPadding, "explicit">:$padding);

def GR_ConvOp : GR_PureOp<"conv"> {
  let summary = "convolution over N spatial dims";
  let description = [{
    Cross-correlation of `input` (N x C x D1 …) with `filter` (O x C/groups x K1 …), plus `bias` (O)
    when given. All of one floating-point type, or of i32; or u8 by i8, summed (with the bias) in i32, as
    quantized models multiply.
  }];
  let arguments = !con((ins GR_Tensor:$input, GR_Tensor:$filter, Optional<GR_Tensor>:$bias),
                       GR_WindowAttrs, (ins DefaultValuedAttr<GR_IntAttr, "1">:$groups));
  let results = (outs GR_Tensor:$output);
}

def GR_ConvTransposeOp : GR_PureOp<"conv_transpose"> {
  let summary = "transposed convolution over N spatial dims";
  let description = [{
    The gradient of a convolution with respect to its input: `input` (N x C x D1 …), `filter`
    (C x O/groups x K1 …). `output_padding` is added at the end of each spatial dim; a non-empty
    `output_shape` fixes the spatial dims and the pads follow from it as ONNX defines.
  }];
  let arguments = !con((ins GR_Tensor:$input, GR_Tensor:$filter, Optional<GR_Tensor>:$bias),
                       GR_WindowAttrs,
                       (ins DenseI64ArrayAttr:$output_padding, DenseI64ArrayAttr:$output_shape,
                            DefaultValuedAttr<GR_IntAttr, "1">:$groups));
  let results = (outs GR_Tensor:$output);
}

def GR_DeformConvOp : GR_PureOp<"deform_conv", [AttrSizedOperandSegments]> {
  let summary = "convolution whose window is bent by offsets";
  let description = [{
    As gr.conv, but filter element k at a result position reads the input at its position plus
    `offsets`, linearly interpolated and zero outside, times `mask` when given (Zhu et al.,
    "Deformable ConvNets v2", 2019). `offsets` is N x offset_groups * K1 … Kr * r x result dims, `mask`
    N x offset_groups * K1 … Kr x result dims; each of the `offset_groups` serves as many of the input's
    channels.
  }];
  let noGradient = "has no rule yet";
  let arguments = !con((ins GR_Tensor:$input, GR_Tensor:$filter, GR_Tensor:$offsets,
                            Optional<GR_Tensor>:$bias, Optional<GR_Tensor>:$mask),
                       GR_WindowAttrs,
                       (ins DefaultValuedAttr<GR_IntAttr, "1">:$groups,
                            DefaultValuedAttr<GR_IntAttr, "1">:$offset_groups));
  let results = (outs GR_Tensor:$output);
  let assemblyFormat = [{
    $input `,` $filter `,` $offsets (`bias` $bias^)? (`mask` $mask^)? attr-dict `:`
    functional-type(operands, results)
  }];
}

class GR_PoolOp<string mnemonic, string what> : GR_PureOp<mnemonic> {
  let summary = what # " of each window";
  let description = "Slides a window of `kernel` over the spatial dims and takes its " # what # ".";
  let results = (outs GR_Tensor:$output);
}
def GR_MaxPoolOp : GR_PoolOp<"max_pool", "largest element"> {
  let arguments = !con((ins GR_Tensor:$input, DenseI64ArrayAttr:$kernel), GR_WindowAttrs,
                       (ins DefaultValuedAttr<BoolAttr, "false">:$ceil_mode));
}
def GR_AvgPoolOp : GR_PoolOp<"avg_pool", "mean"> {
  let arguments = !con((ins GR_Tensor:$input, DenseI64ArrayAttr:$kernel), GR_WindowAttrs,
                       (ins DefaultValuedAttr<BoolAttr, "false">:$ceil_mode,
                            DefaultValuedAttr<BoolAttr, "false">:$count_include_pad));
}

def GR_LpPoolOp : GR_PoolOp<"lp_pool", "p-norm"> {
  let arguments = !con((ins GR_Tensor:$input, DenseI64ArrayAttr:$kernel), GR_WindowAttrs,
                       (ins DefaultValuedAttr<BoolAttr, "false">:$ceil_mode,
                            DefaultValuedAttr<F64Attr, "2.0">:$p));
}
def GR_MaxPoolWithIndicesOp : GR_PoolOp<"max_pool_with_indices", "largest element"> {
  let summary = "largest element of each window, and where it is";
  let description = [{
    As gr.max_pool; `indices` (i64) holds the index of the first largest element in the whole input,
    row-major, or with the spatial dims in reverse order when `column_major`.
  }];
  let arguments = !con((ins GR_Tensor:$input, DenseI64ArrayAttr:$kernel), GR_WindowAttrs,
                       (ins DefaultValuedAttr<BoolAttr, "false">:$ceil_mode,
                            DefaultValuedAttr<BoolAttr, "false">:$column_major));
  let results = (outs GR_Tensor:$output, GR_Tensor:$indices);
}

def GR_BatchNormOp : GR_PureOp<"batch_norm"> {
  let summary = "normalisation by given statistics of each channel";
  let description = [{
    `(input - mean) / sqrt(variance + epsilon) * scale + bias` for each channel (dim 1); all four
    parameters are 1-D of the channel count (Ioffe and Szegedy, 2015, at inference).
  }];
  let arguments = (ins GR_Tensor:$input, GR_Tensor:$scale, GR_Tensor:$bias, GR_Tensor:$mean,
                       GR_Tensor:$variance, DefaultValuedAttr<F64Attr, "1e-5">:$epsilon);
  let results = (outs GR_Tensor:$output);
}

def GR_BatchNormTrainingOp : GR_PureOp<"batch_norm_training"> {
  let summary = "normalisation of each channel by its own statistics over the batch";
  let description = [{
    `(input - mean) / sqrt(variance + epsilon) * scale + bias` for each channel (dim 1), where `mean` and
    `variance` (of all elements, divided by their number) are further results, 1-D of the channel count
    (Ioffe and Szegedy, 2015, while training).
  }];
  let arguments = (ins GR_Tensor:$input, GR_Tensor:$scale, GR_Tensor:$bias,
                       DefaultValuedAttr<F64Attr, "1e-5">:$epsilon);
  let results = (outs GR_Tensor:$output, GR_Tensor:$mean, GR_Tensor:$variance);
}

def GR_InstanceNormOp : GR_PureOp<"instance_norm"> {
  let summary = "normalisation of each channel of each sample by its own statistics";
  let description = [{
    Mean and variance are taken over the spatial dims; then scaled and shifted per channel (Ulyanov
    et al., 2016).
  }];
  let arguments = (ins GR_Tensor:$input, GR_Tensor:$scale, GR_Tensor:$bias,
                       DefaultValuedAttr<F64Attr, "1e-5">:$epsilon);
  let results = (outs GR_Tensor:$output);
}

def GR_LayerNormOp : GR_PureOp<"layer_norm"> {
  let summary = "normalisation over the trailing dims";
  let description = [{
    Mean and variance are taken over the dims from `axis` on; `scale` and the optional `bias`
    broadcast to those dims (Ba et al., 2016).
  }];
  let arguments = (ins GR_Tensor:$input, GR_Tensor:$scale, Optional<GR_Tensor>:$bias,
                       DefaultValuedAttr<GR_IntAttr, "-1">:$axis,
                       DefaultValuedAttr<F64Attr, "1e-5">:$epsilon);
  let results = (outs GR_Tensor:$output);
}

def GR_LrnOp : GR_PureOp<"lrn"> {
  let summary = "local response normalisation across channels";
  let description = [{
    `input / (bias + alpha / size * sum of squares over size channels) ^ beta` (Krizhevsky et al.,
    2012).
  }];
  let arguments = (ins GR_Tensor:$input, GR_IntAttr:$size, DefaultValuedAttr<F64Attr, "1e-4">:$alpha,
                       DefaultValuedAttr<F64Attr, "0.75">:$beta,
                       DefaultValuedAttr<F64Attr, "1.0">:$bias);
  let results = (outs GR_Tensor:$output);
}

def GR_SoftmaxOp : GR_PureOp<"softmax"> {
  let summary = "exponentials normalised to sum 1 along an axis, or their logarithm";
  let description = [{ Subtracts the maximum first. `log` gives the logarithm of the result. }];
  let arguments = (ins GR_Tensor:$input, DefaultValuedAttr<GR_IntAttr, "-1">:$axis,
                       DefaultValuedAttr<BoolAttr, "false">:$log);
  let results = (outs GR_Tensor:$output);
}

def GR_ResizeOp : GR_PureOp<"resize", [AttrSizedOperandSegments]> {
  let summary = "resample to another size";
  let description = [{
    Output dims are `sizes` (1-D int64, one a dim) or floor(dim * `scales`), rounded to f32 first;
    exactly one of the two is given, and a size implies the scale size / dim. With `policy`
    `not_larger` or `not_smaller` (not `stretch`) the smallest or largest of these scales over `axes`
    holds for all of them, and their dims are floor(dim * scale + 0.5). `mode` is `nearest`, `linear`
    or `cubic`; `coordinates` is ONNX's coordinate_transformation_mode (`half_pixel`,
    `pytorch_half_pixel`, `half_pixel_symmetric`, `align_corners`, `asymmetric`,
    `tf_crop_and_resize`), in which the length after resizing is dim * scale, not rounded; `rounding`
    is its nearest_mode (`round_prefer_floor`, `round_prefer_ceil`, `floor`, `ceil`). `antialias`
    widens the linear or cubic filter of a scale below 1 accordingly. `roi` (1-D: the starts, then
    the ends, one a dim, in parts of the dim) is what `tf_crop_and_resize` takes from the input;
    positions outside the input give `extrapolation`.
  }];
  let shapedBy = "getScales(), getSizes()";
  let arguments = (ins GR_Tensor:$input, Optional<GR_Tensor>:$scales, Optional<GR_Tensor>:$sizes,
                       Optional<GR_Tensor>:$roi, GR_Interpolation:$mode,
                       GR_ResizeCoordinates:$coordinates, GR_NearestRounding:$rounding,
                       DefaultValuedAttr<F64Attr, "-0.75">:$cubic_coeff,
                       DefaultValuedAttr<BoolAttr, "false">:$exclude_outside,
                       DefaultValuedAttr<BoolAttr, "false">:$antialias,
                       DefaultValuedAttr<F64Attr, "0.0">:$extrapolation,
                       GR_DefaultWord<GR_ResizePolicy, "stretch">:$policy,
                       DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$axes);
  let results = (outs GR_Tensor:$output);
  let hasVerifier = 1;
  let assemblyFormat = [{
    $input (`scales` $scales^)? (`sizes` $sizes^)? (`roi` $roi^)? attr-dict `:`
    functional-type(operands, results)
  }];
}
#endif  // GRAPHRUN_IR_OPS_NN_TD
