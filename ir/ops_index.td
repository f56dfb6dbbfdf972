// These operations compute positions, read and write by them, and select and order elements.
#ifndef GRAPHRUN_IR_OPS_INDEX_TD
#define GRAPHRUN_IR_OPS_INDEX_TD

include "ir/gr_dialect.td"

def GR_RangeOp : GR_PureOp<"range"> {
  let summary = "start, start + delta … up to limit, which is left out";
  let description = [{
    Three operands of one numeric type and one element each; the result is 1-D of
    max(0, ceil((limit - start) / delta)) elements. Element i is start + i * delta.
  }];
  let noGradient = "its length is data";
  let shapedBy = "getStart(), getLimit(), getDelta()";
  let arguments = (ins GR_Tensor:$start, GR_Tensor:$limit, GR_Tensor:$delta);
  let results = (outs GR_Tensor:$output);
  let hasFolder = 1;
}

def GR_GatherElementsOp : GR_PureOp<"gather_elements", [GR_TakesStrings]> {
  let summary = "pick one element for each index, along an axis";
  let description = [{
    The result has the shape of `indices`; its element at p is the input's at p with the index on
    `axis` replaced by the index. Negative indices count from the end.
  }];
  let arguments = (ins GR_Tensor:$input, GR_Tensor:$indices, GR_IntAttr:$axis);
  let results = (outs GR_Tensor:$output);
  let hasFolder = 1;
}

def GR_GatherNdOp : GR_PureOp<"gather_nd", [GR_TakesStrings]> {
  let summary = "pick slices by index vectors";
  let description = [{
    The last dim of `indices` holds positions in as many dims of the input, behind `batch_dims`
    leading dims that both operands share. Result dims are those of `indices` but the last, then
    the input's that are not indexed. Negative positions count from the end.
  }];
  let arguments = (ins GR_Tensor:$input, GR_Tensor:$indices,
                       DefaultValuedAttr<GR_IntAttr, "0">:$batch_dims);
  let results = (outs GR_Tensor:$output);
  let hasFolder = 1;
}

// A copy of the input with some elements written.
class GR_ScatterOp<string mnemonic> : GR_PureOp<mnemonic, [GR_TakesStrings]> {
  let results = (outs GR_Tensor:$output);
}

def GR_ScatterElementsOp : GR_ScatterOp<"scatter_elements"> {
  let summary = "write one element for each index, along an axis";
  let description = [{
    `updates` has the shape of `indices`; its element at p goes to p with the index on `axis`
    replaced by the index. `reduction` is `none`, or says how an update joins what is there: `add`,
    `mul`, `min`, `max`. Where updates meet they are taken in row-major order.
  }];
  let arguments = (ins GR_Tensor:$input, GR_Tensor:$indices, GR_Tensor:$updates, GR_IntAttr:$axis,
                       GR_DefaultWord<GR_ScatterReduction, "none">:$reduction);
}

def GR_ScatterNdOp : GR_ScatterOp<"scatter_nd"> {
  let summary = "write slices by index vectors";
  let description = [{
    The last dim of `indices` holds positions in as many leading dims of the input; `updates` has
    the dims of `indices` but the last, then the input's that are not indexed. `reduction` as in
    gr.scatter_elements.
  }];
  let arguments = (ins GR_Tensor:$input, GR_Tensor:$indices, GR_Tensor:$updates,
                       GR_DefaultWord<GR_ScatterReduction, "none">:$reduction);
}

// Results of data-dependent size have their upper bound as shape, and `count` says how much is real;
// what is behind it is zero.
def GR_NonZeroOp : GR_PureOp<"non_zero"> {
  let summary = "positions of the elements that are not zero";
  let description = [{
    `positions` is i64, rank x elements: column j holds the j-th index in row-major order. Only the
    first `count` (i64, one element) columns are real, the rest is 0.
  }];
  let noGradient = "integer result";
  let arguments = (ins GR_Tensor:$input);
  let results = (outs GR_Tensor:$positions, GR_Tensor:$count);
  let hasFolder = 1;
}

def GR_UniqueOp : GR_PureOp<"unique", [GR_TakesStrings]> {
  let summary = "the distinct slices along an axis";
  let description = [{
    `values` holds each distinct slice once, ascending (lexicographic) when `sorted`, else in order
    of first occurrence; `first` where it occurs first, `occurrences` how often; `inverse` the index
    in `values` of each slice of the input. All but `inverse` are as long as the axis; only the
    first `count` (i64, one element) slices are real, the rest is 0.
  }];
  let noGradient = "its length is data";
  let arguments = (ins GR_Tensor:$input, GR_IntAttr:$axis,
                       DefaultValuedAttr<BoolAttr, "true">:$sorted);
  let results = (outs GR_Tensor:$values, GR_Tensor:$first, GR_Tensor:$inverse,
                      GR_Tensor:$occurrences, GR_Tensor:$count);
}

def GR_TopKOp : GR_PureOp<"top_k"> {
  let summary = "the k largest or smallest elements along an axis, and where they are";
  let description = [{
    `k` is one i64. Elements come best first; of equal ones the one with the smaller index is
    better. NaN is larger than any number.
  }];
  let shapedBy = "getK()";
  let arguments = (ins GR_Tensor:$input, GR_Tensor:$k, GR_IntAttr:$axis,
                       DefaultValuedAttr<BoolAttr, "true">:$largest);
  let results = (outs GR_Tensor:$values, GR_Tensor:$indices);
}

def GR_ArgReduceOp : GR_PureOp<"arg_reduce"> {
  let summary = "where the largest or smallest element along an axis is";
  let description = [{
    `kind` is `max` or `min`. Of equal elements the first counts, or the last one when `last` is
    set. NaN wins. The result is i64.
  }];
  let noGradient = "integer result";
  let arguments = (ins GR_Tensor:$input, GR_WordAttr<GR_ReduceKind, ["max", "min"]>:$kind,
                       GR_IntAttr:$axis,
                       DefaultValuedAttr<BoolAttr, "true">:$keepdims,
                       DefaultValuedAttr<BoolAttr, "false">:$last);
  let results = (outs GR_Tensor:$output);
  let hasFolder = 1;
}

def GR_CumulativeOp : GR_PureOp<"cumulative"> {
  let summary = "running sum or product along an axis";
  let description = [{
    `kind` is `sum` or `prod`, `axis` one integer, negative counted from the end. `exclusive` leaves
    the element itself out, `reverse` runs from the end.
  }];
  let arguments = (ins GR_Tensor:$input, GR_Tensor:$axis,
                       GR_WordAttr<GR_ReduceKind, ["sum", "prod"]>:$kind,
                       DefaultValuedAttr<BoolAttr, "false">:$exclusive,
                       DefaultValuedAttr<BoolAttr, "false">:$reverse);
  let results = (outs GR_Tensor:$output);
  let hasFolder = 1;
}

def GR_NonMaxSuppressionOp : GR_PureOp<"non_max_suppression"> {
  let summary = "boxes in order of score that do not overlap better ones";
  let description = [{
    `boxes` is batches x boxes x 4: two opposite corners (y, x), or centre and size (x, y, width,
    height) when `center_point_box`. `scores` is batches x classes x boxes. For each batch and class
    boxes are taken by falling score, at most `max_boxes`, none at or below `score_threshold`, none
    whose intersection over union with a taken one is above `iou_threshold`. `selected` is i64, each
    row batch, class, box; only the first `count` (i64, one element) rows are real, the rest is 0.
    `bound`, unless negative, is known to be no smaller than `max_boxes`: it bounds the result.
  }];
  let noGradient = "integer result";
  let arguments = (ins GR_Tensor:$boxes, GR_Tensor:$scores, GR_Tensor:$max_boxes,
                       GR_Tensor:$iou_threshold, GR_Tensor:$score_threshold,
                       DefaultValuedAttr<BoolAttr, "false">:$center_point_box,
                       DefaultValuedAttr<GR_IntAttr, "-1">:$bound);
  let results = (outs GR_Tensor:$selected, GR_Tensor:$count);
}

def GR_DetOp : GR_PureOp<"det"> {
  let summary = "determinant of each matrix in the last two dims";
  let description = [{ The last two dims are equal; the result has the dims before them. }];
  let noGradient = "has no rule yet";
  let arguments = (ins GR_Tensor:$input);
  let results = (outs GR_Tensor:$output);
}

#endif  // GRAPHRUN_IR_OPS_INDEX_TD
