// These operations are classical machine learning: look-up of categories, trees, distances,
// n-grams.
#ifndef GRAPHRUN_IR_OPS_ML_TD
#define GRAPHRUN_IR_OPS_ML_TD

include "ir/gr_dialect.td"

def GR_LookupOp : GR_PureOp<"lookup", [GR_TakesStrings]> {
  let summary = "the index of each element in a list of keys";
  let description = [{
    `keys` is 1-D and of the input's type. The result has the input's shape and is i64: the last index
    whose key equals the element (NaN equals NaN), or the number of keys where there is none. An
    element without a key is an error at run time when `required` is set.
  }];
  let noGradient = "integer result";
  let arguments = (ins GR_Tensor:$input, GR_Tensor:$keys,
                       DefaultValuedAttr<BoolAttr, "false">:$required);
  let results = (outs GR_Tensor:$output);
}

def GR_NgramCountOp : GR_PureOp<"ngram_count", [GR_TakesStrings]> {
  let summary = "how often each n-gram of a pool occurs in a sequence";
  let description = [{
    `input` is C or NxC, `pool` 1-D, both i64 or strings. The pool holds all 1-grams, then all 2-grams
    and so on; `starts[n - 1]` is where the n-grams begin. The i-th n-gram of the pool is counted at
    element `places[i]` of the result, f32 of shape `size` or Nxsize. Counted are n-grams of `shortest`
    to `longest` elements that are each `d` apart, for `d` from 1 to 1 + `skips`; 1-grams once.
  }];
  let noGradient = "counts";
  let arguments = (ins GR_Tensor:$input, GR_Tensor:$pool, DenseI64ArrayAttr:$starts,
                       DenseI64ArrayAttr:$places, GR_IntAttr:$shortest, GR_IntAttr:$longest,
                       GR_IntAttr:$skips, GR_IntAttr:$size);
  let results = (outs GR_Tensor:$output);
}

def GR_TreeEnsembleOp : GR_PureOp<"tree_ensemble"> {
  let summary = "decision trees and what their leaves say together";
  let description = [{
    `input` is NxF, `splits`, `members` and `weights` are of its type; the result is Nx`outputs`.
    `nodes` is i64, Kx7. A row says how the feature is compared: 0 `<=`, 1 `<`, 2 `>=`, 3 `>`, 4 `==`,
    5 `!=` the split of the node, 6 is a member of `members[c5, c6)`, 7 leaf; then the feature; the
    nodes to go to when the comparison holds and when it does not; whether NaN counts as holding. A
    leaf has `weights[c2, c3)`, each added to the output in `targets` at its index. `roots` are the
    first nodes of the trees. `aggregate` is `sum`, `average` (the sum over the number of trees),
    `min` or `max` of the weights of an output, 0 where it has none.
  }];
  let noGradient = "piecewise constant";
  let arguments = (ins GR_Tensor:$input, GR_Tensor:$splits, GR_Tensor:$nodes, GR_Tensor:$members,
                       GR_Tensor:$weights, GR_Tensor:$targets, GR_Tensor:$roots,
                       GR_TreeAggregate:$aggregate, GR_IntAttr:$outputs);
  let results = (outs GR_Tensor:$output);
}

def GR_SquaredDistanceOp : GR_PureOp<"squared_distance"> {
  let summary = "the square of the distance between each two rows of two matrices";
  let description = [{
    `lhs` is NxF, `rhs` MxF, the result NxM. Differences are squared and summed, so that the distance
    of equal rows is 0.
  }];
  let arguments = (ins GR_Tensor:$lhs, GR_Tensor:$rhs);
  let results = (outs GR_Tensor:$output);
}

def GR_CoupleProbabilitiesOp : GR_PureOp<"couple_probabilities"> {
  let summary = "class probabilities from those of each pair of classes";
  let description = [{
    `pairwise` is NxKxK: element (i, j) is the probability of class i where it is i or j. The result
    is NxK, the second method of Wu, Lin and Weng, "Probability estimates for multi-class
    classification by pairwise coupling" (2004), iterated at most max(100, K) times.
  }];
  let noGradient = "iterative";
  let arguments = (ins GR_Tensor:$pairwise);
  let results = (outs GR_Tensor:$output);
}

#endif  // GRAPHRUN_IR_OPS_ML_TD
