// These operations are what gradient rules are made of where a library or a kernel of one pass does it
// faster than a composition would. They take plain tensors: nothing of the forward pass is kept but
// values of the graph.
#ifndef GRAPHRUN_IR_OPS_BACKWARD_TD
#define GRAPHRUN_IR_OPS_BACKWARD_TD

include "ir/gr_dialect.td"

class GR_BackwardOp<string mnemonic, list<Trait> traits = []> : GR_PureOp<mnemonic, traits> {
  let noGradient = "is of a gradient, and second derivatives of it are not known";
}

def GR_ConvBackwardFilterOp : GR_BackwardOp<"conv_backward_filter"> {
  let summary = "the gradient of a convolution with respect to its filter";
  let description = [{
    For a gr.conv of `input` (N x C x D1 …), whose result's gradient is `gradient` (N x O x R1 …), with
    these strides, dilations, pads and groups and a filter of `kernel` (K1 …): the result is
    O x C/groups x K1 …. A gr.conv_transpose is the same with input and gradient exchanged.
  }];
  let arguments = (ins GR_Tensor:$input, GR_Tensor:$gradient, DenseI64ArrayAttr:$kernel,
                       DenseI64ArrayAttr:$strides, DenseI64ArrayAttr:$dilations,
                       DenseI64ArrayAttr:$pads, DefaultValuedAttr<GR_IntAttr, "1">:$groups);
  let results = (outs GR_Tensor:$filter_gradient);
}

def GR_MaxPoolBackwardOp : GR_BackwardOp<"max_pool_backward"> {
  let summary = "the gradient of gr.max_pool with respect to its input";
  let description = [{
    Each element of `gradient` is added where the first largest element of its window of `input` is,
    as gr.max_pool_with_indices says. The result is like `input`.
  }];
  let arguments = (ins GR_Tensor:$input, GR_Tensor:$gradient, DenseI64ArrayAttr:$kernel,
                       DenseI64ArrayAttr:$strides, DenseI64ArrayAttr:$dilations,
                       DenseI64ArrayAttr:$pads);
  let results = (outs GR_Tensor:$input_gradient);
}

def GR_AvgPoolBackwardOp : GR_BackwardOp<"avg_pool_backward"> {
  let summary = "the gradient of gr.avg_pool with respect to its input";
  let description = [{
    Each element of `gradient`, divided by the elements of its window that the mean counts, is added to
    all elements of the window. `dims` are the input's spatial dims.
  }];
  let arguments = (ins GR_Tensor:$gradient, DenseI64ArrayAttr:$dims, DenseI64ArrayAttr:$kernel,
                       DenseI64ArrayAttr:$strides, DenseI64ArrayAttr:$dilations,
                       DenseI64ArrayAttr:$pads,
                       DefaultValuedAttr<BoolAttr, "false">:$count_include_pad);
  let results = (outs GR_Tensor:$input_gradient);
}

def GR_SoftmaxBackwardOp : GR_BackwardOp<"softmax_backward"> {
  let summary = "the gradient of gr.softmax with respect to its input";
  let description = [{
    Of its result `output` along `axis`: `output * (gradient - sum(gradient * output))`, or, of the
    logarithm, `gradient - exp(output) * sum(gradient)`.
  }];
  let arguments = (ins GR_Tensor:$output, GR_Tensor:$gradient,
                       DefaultValuedAttr<GR_IntAttr, "-1">:$axis,
                       DefaultValuedAttr<BoolAttr, "false">:$log);
  let results = (outs GR_Tensor:$input_gradient);
}

def GR_LayerNormBackwardOp : GR_BackwardOp<"layer_norm_backward"> {
  let summary = "the gradients of gr.layer_norm with respect to its operands";
  let description = [{
    `gradient` is that of the result; `scale` has the dims of `input` from `axis` on. The results are the
    gradients of the input, of the scale and of a bias of the scale's shape.
  }];
  let arguments = (ins GR_Tensor:$input, GR_Tensor:$scale, GR_Tensor:$gradient,
                       DefaultValuedAttr<GR_IntAttr, "-1">:$axis,
                       DefaultValuedAttr<F64Attr, "1e-5">:$epsilon);
  let results = (outs GR_Tensor:$input_gradient, GR_Tensor:$scale_gradient, GR_Tensor:$bias_gradient);
}

def GR_BatchNormBackwardOp : GR_BackwardOp<"batch_norm_backward"> {
  let summary = "the gradients of gr.batch_norm_training with respect to its operands";
  let description = [{
    `gradient` is that of the normalised result, `mean` and `variance` are the operation's other results.
    The results are the gradients of the input, of the scale and of the bias.
  }];
  let arguments = (ins GR_Tensor:$input, GR_Tensor:$scale, GR_Tensor:$mean, GR_Tensor:$variance,
                       GR_Tensor:$gradient, DefaultValuedAttr<F64Attr, "1e-5">:$epsilon);
  let results = (outs GR_Tensor:$input_gradient, GR_Tensor:$scale_gradient, GR_Tensor:$bias_gradient);
}

def GR_RecurrentBackwardOp : GR_BackwardOp<"recurrent_backward", [AttrSizedOperandSegments]> {
  let summary = "the gradients of gr.recurrent with respect to its sums and first values";
  let description = [{
    `sums` (T x B x S*H) is what gr.recurrent with `keep_sums` gives, `recurrent` (G*H x H) are its
    recurrent weights. `carried` (T x B x H) are the hidden values of a GRU or the states of an LSTM at
    all steps, `initial` (B x H) those before the first. `output_gradient` (T x B x H), `last_gradient`
    (B x H) and, of an LSTM, `last_state_gradient` are those of its other results. `lengths`,
    `peepholes` and the attributes are its own.

    The results are the gradients of the sums and of the initial hidden values and state. All others
    follow by products and sums: weights, recurrent weights and bias have the sums' gradients as theirs.
    They are 0 beyond a sequence's length, and where `clip` bounds.
  }];
  let arguments = (ins GR_Tensor:$sums, GR_Tensor:$recurrent, Optional<GR_Tensor>:$carried,
                       Optional<GR_Tensor>:$initial, GR_Tensor:$output_gradient,
                       GR_Tensor:$last_gradient, Optional<GR_Tensor>:$last_state_gradient,
                       Optional<GR_Tensor>:$lengths, Optional<GR_Tensor>:$peepholes,
                       GR_RecurrentCell:$cell, GR_WordArray<GR_RecurrentActivation>:$activations,
                       DenseF64ArrayAttr:$alphas, DenseF64ArrayAttr:$betas,
                       DefaultValuedAttr<BoolAttr, "false">:$reverse,
                       DefaultValuedAttr<BoolAttr, "false">:$linear_before_reset,
                       DefaultValuedAttr<BoolAttr, "false">:$input_forget,
                       DefaultValuedAttr<F64Attr, "0.0">:$clip);
  let results = (outs Variadic<GR_Tensor>:$gradients);
  let assemblyFormat = [{
    $sums `recurrent` $recurrent (`carried` $carried^ `from` $initial)? `outputs` $output_gradient `last`
    $last_gradient (`state` $last_state_gradient^)? (`lengths` $lengths^)? (`peepholes` $peepholes^)?
    attr-dict `:` functional-type(operands, results)
  }];
}

def GR_GridSampleBackwardOp : GR_BackwardOp<"grid_sample_backward"> {
  let summary = "the gradients of gr.grid_sample with respect to its operands";
  let description = [{
    `gradient` is that of the result, the attributes are the operation's own. The results are the
    gradients of the input and of the grid. A coordinate that `padding` moves to a border, and any of
    `nearest`, has none.
  }];
  let arguments = (ins GR_Tensor:$input, GR_Tensor:$grid, GR_Tensor:$gradient, GR_Interpolation:$mode,
                       GR_BorderPadding:$padding,
                       DefaultValuedAttr<BoolAttr, "false">:$align_corners);
  let results = (outs GR_Tensor:$input_gradient, GR_Tensor:$grid_gradient);
}

#endif  // GRAPHRUN_IR_OPS_BACKWARD_TD
