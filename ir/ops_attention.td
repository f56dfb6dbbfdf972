// These operations are attention and its relatives.
#ifndef GRAPHRUN_IR_OPS_ATTENTION_TD
#define GRAPHRUN_IR_OPS_ATTENTION_TD

include "ir/gr_dialect.td"

def GR_AttentionOp : GR_PureOp<"attention"> {
  let summary = "means of values, weighted by the softmax of scores";
  let description = [{
    `softmax(scale * query * transpose(key) + mask) * value` for `query` (N x H x S x D), `key`
    (N x G x T x D) and `value` (N x G x T x V); H / G neighbouring heads of the query share a head
    of the keys. `mask` broadcasts to N x H x S x T. With `causal` the query at s sees the keys up to
    s only (Vaswani et al., "Attention Is All You Need", 2017).
  }];
  let arguments = (ins GR_Tensor:$query, GR_Tensor:$key, GR_Tensor:$value, Optional<GR_Tensor>:$mask,
                       DefaultValuedAttr<F64Attr, "1.0">:$scale,
                       DefaultValuedAttr<BoolAttr, "false">:$causal);
  let results = (outs GR_Tensor:$output);
}

def GR_LinearAttentionOp : GR_PureOp<"linear_attention"> {
  let summary = "attention by a matrix of state that each step updates";
  let description = [{
    For each step t of `query` (N x H x T x K), `key` (N x G x T x K) and `value` (N x G x T x V), with a
    state S (N x G x K x V) for each head of the keys, which H / G neighbouring heads of the query share:

        S = gate[t] * S;  w = rate[t] * (value[t] - transpose(S) * key[t] where `delta` is set);
        S = S + key[t] * transpose(w);  output[t] = transpose(S) * query[t]

    `gate` broadcasts to N x G x T x K and `rate` to N x G x T x 1. The results are the outputs
    (N x H x T x V) and the last state (Yang et al., "Gated Delta Networks", 2024).
  }];
  let noGradient = "a recurrence: differentiate the loop that it stands for";
  let arguments = (ins GR_Tensor:$query, GR_Tensor:$key, GR_Tensor:$value, GR_Tensor:$state,
                       GR_Tensor:$gate, GR_Tensor:$rate, DefaultValuedAttr<BoolAttr, "false">:$delta);
  let results = (outs GR_Tensor:$output, GR_Tensor:$last_state);
}

#endif  // GRAPHRUN_IR_OPS_ATTENTION_TD
