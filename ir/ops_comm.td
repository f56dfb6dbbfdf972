// Groups, and the edges between devices.
#ifndef GRAPHRUN_IR_OPS_COMM_TD
#define GRAPHRUN_IR_OPS_COMM_TD

include "ir/gr_dialect.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"

def GR_GroupOp : GR_PureOp<"group", [IsolatedFromAbove, SingleBlock]> {
  let summary = "operations that become one kernel";
  let description = [{
    The region's arguments are the operands; it ends in `gr.yield`. `kind` says what anchors it:
    `conv`, `matmul` (the anchor with what follows it element-wise), `attention` (with what its operands
    and its result are seen through) or `map` (a chain of element-wise, broadcast and small movement
    operations). Placement treats a group as one operation.
  }];
  let arguments = (ins Variadic<GR_Tensor>:$inputs, StrAttr:$kind);
  let results = (outs Variadic<GR_Tensor>:$outputs);
  let regions = (region SizedRegion<1>:$body);
  let noGradient = "formed after differentiation";
  let assemblyFormat = [{
    `(` $inputs `)` attr-dict-with-keyword $body `:` functional-type($inputs, $outputs)
  }];
}

def GR_YieldOp : GR_PureOp<"yield", [Terminator, ReturnLike, ParentOneOf<["GroupOp", "IfOp", "LoopOp"]>,
                                    GR_TakesStrings]> {
  let summary = "the results of a region";
  let description = [{ Ends the regions of `gr.group`, `gr.if` and `gr.loop`. }];
  let noGradient = "follows the operation that it ends";
  let arguments = (ins Variadic<GR_Tensor>:$values);
  let assemblyFormat = "operands attr-dict `:` type(operands)";
}

// Both ends of an edge have effects: they are not merged, moved across each other or dropped.
def GR_SendOp : GR_Op<"send", [MemoryEffects<[MemWrite]>]> {
  let summary = "give a tensor to an edge";
  let description = [{ `edge` is the dense id of the edge in the plan. }];
  let noGradient = "formed after differentiation";
  let arguments = (ins GR_Tensor:$input, GR_IntAttr:$edge);
}

def GR_RecvOp : GR_Op<"recv", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "take a tensor from an edge";
  let description = [{ `edge` is the dense id of the edge in the plan. }];
  let noGradient = "formed after differentiation";
  let arguments = (ins GR_IntAttr:$edge, TypeAttr:$tensor_type);
  let results = (outs GR_Tensor:$output);
}

#endif  // GRAPHRUN_IR_OPS_COMM_TD
