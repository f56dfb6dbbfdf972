// These operations are constants and movement of data.
#ifndef GRAPHRUN_IR_OPS_TENSOR_TD
#define GRAPHRUN_IR_OPS_TENSOR_TD

include "ir/gr_dialect.td"

// Only moves data; its gradient moves it back.
class GR_MovementOp<string mnemonic, list<Trait> traits = []> :
    GR_PureOp<mnemonic, [GR_TakesStrings] # traits> {
  let results = (outs GR_Tensor:$output);
  let hasFolder = 1;
}

def GR_ConstantOp : GR_PureOp<"constant", [ConstantLike]> {
  let summary = "a value known when the model is made";
  let description = [{
    `value` is dense data, a splat, or a resource whose bytes stay where they are mapped.
  }];
  let noGradient = "has no operand";
  let arguments = (ins ElementsAttr:$value);
  let results = (outs GR_Tensor:$output);
  let hasFolder = 1;
  let assemblyFormat = "attr-dict $value `:` type($output)";
}

def GR_ShapeOp : GR_PureOp<"shape", [GR_TakesStrings]> {
  let summary = "the dims [start, end) of a tensor, as a 1-D int64 tensor";
  let description = [{ `start` and `end` are clamped to [0, rank]; negative ones count from the end. }];
  let noGradient = "integer result";
  let arguments = (ins GR_Tensor:$input, DefaultValuedAttr<GR_IntAttr, "0">:$start,
                       OptionalAttr<GR_IntAttr>:$end);
  let results = (outs GR_Tensor:$output);
  let hasFolder = 1;
}

def GR_View : NativeOpTrait<"IsView"> { let cppNamespace = "::graphrun::ir"; }

def GR_ReshapeOp : GR_MovementOp<"reshape", [GR_View]> {
  let summary = "the same elements in another shape";
  let description = [{
    `shape` is a 1-D int64 tensor. One dim may be -1 and follows from the rest; 0 copies the input's
    dim at that index unless `allow_zero` is set.
  }];
  let shapedBy = "getShape()";
  let arguments = (ins GR_Tensor:$input, GR_Tensor:$shape,
                       DefaultValuedAttr<BoolAttr, "false">:$allow_zero);
}

def GR_SqueezeOp : GR_MovementOp<"squeeze", [GR_View]> {
  let summary = "drop dims of 1";
  let description = [{ `axes` are in [0, rank), ascending and unique; each dim must be 1. }];
  let arguments = (ins GR_Tensor:$input, DenseI64ArrayAttr:$axes);
}

def GR_UnsqueezeOp : GR_MovementOp<"unsqueeze", [GR_View]> {
  let summary = "insert dims of 1";
  let description = [{ `axes` are indices in the result, in [0, result rank), ascending and unique. }];
  let arguments = (ins GR_Tensor:$input, DenseI64ArrayAttr:$axes);
}

def GR_TransposeOp : GR_MovementOp<"transpose"> {
  let summary = "permute the dims";
  let description = [{ Result dim i is input dim `permutation[i]`. }];
  let arguments = (ins GR_Tensor:$input, DenseI64ArrayAttr:$permutation);
}

def GR_ConcatOp : GR_MovementOp<"concat"> {
  let summary = "join tensors along an axis";
  let description = [{ All operands agree in type and in all dims but `axis`, which is in [0, rank). }];
  let arguments = (ins Variadic<GR_Tensor>:$inputs, GR_IntAttr:$axis);
}

def GR_SplitOp : GR_PureOp<"split", [GR_TakesStrings]> {
  let summary = "cut a tensor along an axis";
  let description = [{
    `sizes` holds the size of each part; empty: equal parts, the last one smaller where the dim does
    not divide.
  }];
  let arguments = (ins GR_Tensor:$input, GR_IntAttr:$axis, DenseI64ArrayAttr:$sizes);
  let results = (outs Variadic<GR_Tensor>:$outputs);
}

def GR_SliceOp : GR_MovementOp<"slice"> {
  let summary = "a range with a step of each named axis";
  let description = [{
    `starts`, `ends`, `axes` and `steps` are 1-D integer tensors of one length, as ONNX Slice defines
    them: negative positions count from the end, positions out of range are clamped.
  }];
  let shapedBy = "getStarts(), getEnds(), getAxes(), getSteps()";
  let arguments = (ins GR_Tensor:$input, GR_Tensor:$starts, GR_Tensor:$ends, GR_Tensor:$axes,
                       GR_Tensor:$steps);
}

def GR_PadOp : GR_MovementOp<"pad"> {
  let summary = "add elements around a tensor";
  let description = [{
    `pads` is 1-D int64: begin of each dim, then end of each; negative ones crop. `mode` is
    `constant` (with scalar `value`), `reflect`, `edge` or `wrap`.
  }];
  let shapedBy = "getPads()";
  let arguments = (ins GR_Tensor:$input, GR_Tensor:$pads, GR_Tensor:$value, GR_PadMode:$mode);
}

def GR_GatherOp : GR_MovementOp<"gather"> {
  let summary = "pick slices along an axis by index";
  let description = [{
    Result dims are the input's before `axis`, those of `indices`, the input's after `axis`. Negative
    indices count from the end.
  }];
  let arguments = (ins GR_Tensor:$input, GR_Tensor:$indices, GR_IntAttr:$axis);
}

def GR_ExpandOp : GR_MovementOp<"expand"> {
  let summary = "broadcast to a shape";
  let description = [{ `shape` is 1-D int64; input and shape broadcast against each other as in NumPy. }];
  let shapedBy = "getShape()";
  let arguments = (ins GR_Tensor:$input, GR_Tensor:$shape);
}

def GR_TileOp : GR_MovementOp<"tile"> {
  let summary = "repeat a tensor along its dims";
  let description = [{ `repeats` is 1-D int64, one a dim. }];
  let shapedBy = "getRepeats()";
  let arguments = (ins GR_Tensor:$input, GR_Tensor:$repeats);
}

def GR_FillOp : GR_PureOp<"fill"> {
  let summary = "a tensor of a shape known at run time, filled with one value";
  let description = [{ `shape` is 1-D int64; `value` holds one element. }];
  let noGradient = "does not depend on a differentiable operand";
  let shapedBy = "getShape()";
  let arguments = (ins GR_Tensor:$shape, ElementsAttr:$value);
  let results = (outs GR_Tensor:$output);
  let hasFolder = 1;
}

#endif  // GRAPHRUN_IR_OPS_TENSOR_TD
