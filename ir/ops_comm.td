// These operations are groups, and the edges between devices.
#ifndef GRAPHRUN_IR_OPS_COMM_TD
#define GRAPHRUN_IR_OPS_COMM_TD

include "ir/gr_dialect.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"

def GR_GroupOp : GR_PureOp<"group", [IsolatedFromAbove, SingleBlock]> {
  let summary = "operations that become one kernel";
  let description = [{
    The region's arguments are the operands; it ends in `gr.yield`. `kind` says what anchors it:
    `conv`, `matmul` (the anchor with what follows it element-wise), `attention` (with what its operands
    and its result are seen through), `map` (a chain of element-wise, broadcast and small movement
    operations) or `row` (a reduction of rows with the casts before and behind it, which compilers of
    devices form). Placement treats a group as one operation.
  }];
  let arguments = (ins Variadic<GR_Tensor>:$inputs, GR_GroupKind:$kind);
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

// Collectives: operand i and result i belong to member i, which runs on a device of its own where
// placement says so. What they compute does not depend on where that is.
class GR_CollectiveOp<string mnemonic> : GR_PureOp<mnemonic> {
  let results = (outs Variadic<GR_Tensor>:$outputs);
}

def GR_AllReduceOp : GR_CollectiveOp<"all_reduce"> {
  let summary = "every member gets the combination of what all members have";
  let description = [{
    Operands of one type, combined element by element in their order: `kind` is `sum`, `mean`, `max`,
    `min` or `prod`, as in gr.reduce. Each result is that combination.
  }];
  let arguments = (ins Variadic<GR_Tensor>:$inputs, GR_CombineKind:$kind);
}

def GR_AllGatherOp : GR_CollectiveOp<"all_gather"> {
  let summary = "every member gets what all members have, joined along an axis";
  let description = [{ Operands of one type. Each result is their gr.concat along `axis`, in [0, rank). }];
  let arguments = (ins Variadic<GR_Tensor>:$inputs, GR_IntAttr:$axis);
}

def GR_ReduceScatterOp : GR_CollectiveOp<"reduce_scatter"> {
  let summary = "every member gets its part of the combination of what all members have";
  let description = [{
    As gr.all_reduce, but result i is part i of the combination cut along `axis`, in [0, rank), whose
    dim the number of operands divides.
  }];
  let arguments = (ins Variadic<GR_Tensor>:$inputs, GR_CombineKind:$kind, GR_IntAttr:$axis);
}

// Its members meet in order: it is not merged, moved across another or dropped.
def GR_CollectiveMemberOp : GR_Op<"collective_member", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "one member's part in a collective that devices carry out themselves";
  let description = [{
    Formed from a collective when it has been placed. `collective` is the name of its operation
    (`all_reduce`, `all_gather`, `reduce_scatter`), `kind` as there (empty for a gather), the axis is 0.
    `communicator` is the dense id, in the plan, of the devices that take part; the position of this
    device there is the member's. All members of a communicator meet in the same order.
  }];
  let noGradient = "formed after differentiation";
  let arguments = (ins GR_Tensor:$input, GR_CollectiveKind:$collective,
                       GR_WordOrNone<GR_ReduceKind, GR_Combined>:$kind, GR_IntAttr:$communicator,
                       TypeAttr:$tensor_type);
  let results = (outs GR_Tensor:$output);
}

#endif  // GRAPHRUN_IR_OPS_COMM_TD
