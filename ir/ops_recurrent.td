// These operations are recurrent layers.
#ifndef GRAPHRUN_IR_OPS_RECURRENT_TD
#define GRAPHRUN_IR_OPS_RECURRENT_TD

include "ir/gr_dialect.td"

def GR_RecurrentOp : GR_PureOp<"recurrent", [AttrSizedOperandSegments]> {
  let summary = "a recurrent cell over the steps of a sequence, in one direction";
  let description = [{
    `input` is T x B x I, `hidden` (and `state` of an LSTM) the initial B x H; results are the hidden
    values of all steps (T x B x H), the last ones (B x H) and, of an LSTM, the last state. `weights`
    (G*H x I), `recurrent` (G*H x H) and `bias` (G*H) hold the cell's G gates one after the other, with
    S the logistic function by default and g, h the hyperbolic tangent:

        rnn   h' = g(W x + R h + b)
        lstm  i, f, c, o: i = S(..), f = S(..), s' = f s + i g(..), o = S(..), h' = o h(s')
        gru   z, r, n: n = g(W x + R (r h) + b), h' = (1 - z) n + z h

    (Elman, 1990; Hochreiter and Schmidhuber, 1997; Cho et al., 2014). `linear_before_reset` makes
    n = g(W x + b + r (R h + d)) with d a fourth part of the bias. `peepholes` (3*H) are weights of the
    state in the gates i, f and o. `input_forget` makes f = 1 - i. `activations` names the functions in
    the order of the formulas (one, two or three), `alphas` and `betas` their parameters. A `clip` above
    0 bounds what the activations see, the state in h(s') excepted. `lengths` (B integers) gives each
    sequence's length: beyond it the result is 0, and `reverse` starts at its end.

    `keep_sums` adds results that gr.recurrent_backward reads: the sums (T x B x G*H) that activations
    are taken of, before `clip` (with `linear_before_reset` R h + d is a fourth part), and (T x B x H)
    the states of an LSTM at all steps, or r h of a GRU without `linear_before_reset`. Beyond a
    sequence's length they are 0.
  }];
  let arguments = (ins GR_Tensor:$input, GR_Tensor:$weights, GR_Tensor:$recurrent, GR_Tensor:$bias,
                       GR_Tensor:$hidden, Optional<GR_Tensor>:$state, Optional<GR_Tensor>:$lengths,
                       Optional<GR_Tensor>:$peepholes, GR_RecurrentCell:$cell,
                       GR_WordArray<GR_RecurrentActivation>:$activations,
                       DenseF64ArrayAttr:$alphas, DenseF64ArrayAttr:$betas,
                       DefaultValuedAttr<BoolAttr, "false">:$reverse,
                       DefaultValuedAttr<BoolAttr, "false">:$linear_before_reset,
                       DefaultValuedAttr<BoolAttr, "false">:$input_forget,
                       DefaultValuedAttr<BoolAttr, "false">:$keep_sums,
                       DefaultValuedAttr<F64Attr, "0.0">:$clip);
  let results = (outs Variadic<GR_Tensor>:$outputs);
  let assemblyFormat = [{
    $input `weights` $weights `recurrent` $recurrent `bias` $bias `hidden` $hidden (`state` $state^)?
    (`lengths` $lengths^)? (`peepholes` $peepholes^)? attr-dict `:` functional-type(operands, results)
  }];
}

#endif  // GRAPHRUN_IR_OPS_RECURRENT_TD
