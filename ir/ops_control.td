// Control flow, and operations that wait for the planner.
#ifndef GRAPHRUN_IR_OPS_CONTROL_TD
#define GRAPHRUN_IR_OPS_CONTROL_TD

include "ir/gr_dialect.td"

// Is gone before a plan is made: the planner replaces it when it knows the elements that it names as
// its shape operands. No device runs it.
def GR_ResolvedByPlanning : NativeOpTrait<"ResolvedByPlanning"> {
  let cppNamespace = "::graphrun::ir";
}

class GR_PlannedOp<string mnemonic, list<Trait> traits = []> :
    GR_PureOp<mnemonic, [GR_ResolvedByPlanning, GR_TakesStrings] # traits> {
  let noGradient = "is replaced before differentiation";
}

def GR_DeferredOp : GR_PlannedOp<"deferred"> {
  let summary = "a node of the source model that needs to know more than can be known on import";
  let description = [{
    `node` is the node as its frontend wrote it (ONNX: the bytes of a NodeProto, without subgraphs)
    and `opset` the version that gives it its meaning. `places` are the indices of the operands among
    the node's inputs. The frontend makes it into other operations once all operands have static
    types; what it must know of their elements it then names in `deciding`.
  }];
  let shapedBy = "decidingOperands()";
  let arguments = (ins Variadic<GR_Tensor>:$inputs, StrAttr:$node, GR_IntAttr:$opset,
                       DenseI64ArrayAttr:$places, DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$deciding);
  let results = (outs Variadic<GR_Tensor>:$outputs);
  let extraClassDeclaration = gradientSlot # [{
    ::llvm::SmallVector<::mlir::Value> decidingOperands();
  }];
}

def GR_SequenceOp : GR_PlannedOp<"sequence"> {
  let summary = "a list of tensors, or of lists";
  let description = [{
    Stands for its operands until nothing takes the list any more. Planning replaces what takes it;
    the lists that a graph returns become one result for each tensor in them.
  }];
  let arguments = (ins Variadic<GR_Tensor>:$elements);
  let results = (outs GR_Tensor:$sequence);
}

def GR_EvaluatedOp : GR_PureOp<"evaluated"> {
  let summary = "elements that the planner has computed from elements of inputs";
  let description = [{
    What no device computes, such as text, is computed while planning. Unlike a constant the value is
    never folded into what uses it: the uses become a graph of their own that takes it as an input,
    and whose plan serves for all elements. In a plan it is a constant.
  }];
  let noGradient = "has no operand";
  let arguments = (ins ElementsAttr:$value);
  let results = (outs GR_Tensor:$output);
  let assemblyFormat = "attr-dict $value `:` type($output)";
}

def GR_IfOp : GR_PlannedOp<"if", [SingleBlock, NoRegionArguments]> {
  let summary = "one of two graphs";
  let description = [{
    `condition` is one bool. Both regions end in `gr.yield`; they may use values from outside.
  }];
  let shapedBy = "getCondition()";
  let arguments = (ins GR_Tensor:$condition);
  let regions = (region SizedRegion<1>:$then, SizedRegion<1>:$otherwise);
  let results = (outs Variadic<GR_Tensor>:$outputs);
  let assemblyFormat = [{
    $condition attr-dict-with-keyword $then `else` $otherwise `:` functional-type(operands, results)
  }];
}

def GR_LoopOp : GR_PlannedOp<"loop", [SingleBlock, AttrSizedOperandSegments]> {
  let summary = "a graph again and again";
  let description = [{
    While `condition` (one bool) holds and `below` does, the body runs with the number of the
    iteration, a true condition and the carried values; it yields the condition to go on, the carried
    values, and the values to collect. `below` says that the number of the iteration is below `limit`
    (one i64); both are absent when there is no limit. Results are the carried values at the end, then
    what was collected, joined along a new first axis. `collected` is what iterations before this loop
    have collected, and `fresh` what the last one of them adds to it: none, or one for each.
  }];
  let shapedBy = "getCondition(), getBelow(), getLimit()";
  let arguments = (ins GR_Tensor:$condition, GR_Tensor:$iteration, Optional<GR_Tensor>:$below,
                       Optional<GR_Tensor>:$limit, Variadic<GR_Tensor>:$carried,
                       Variadic<GR_Tensor>:$collected, Variadic<GR_Tensor>:$fresh);
  let regions = (region SizedRegion<1>:$body);
  let results = (outs Variadic<GR_Tensor>:$outputs);
  let assemblyFormat = [{
    $condition `iteration` $iteration (`below` $below^)? (`limit` $limit^)?
    `carried` `(` $carried `)` (`collected` `(` $collected^ `)`)? (`fresh` `(` $fresh^ `)`)?
    attr-dict-with-keyword $body `:` functional-type(operands, results)
  }];
}

def GR_GradientOp : GR_PlannedOp<"gradient"> {
  let summary = "how a number changes with tensors that it is computed from";
  let description = [{
    Result i is the derivative of `loss`, one floating-point element, with respect to operand i of
    `wrt`, whose type it has. Whatever lies between follows its gradient rule; planning puts the
    operations in the place of this one (gr-expand-gradients). Each operand of `wrt` is an input of
    the graph or a gr.watch: rewrites keep no other value.
  }];
  let arguments = (ins GR_Tensor:$loss, Variadic<GR_Tensor>:$wrt);
  let results = (outs Variadic<GR_Tensor>:$gradients);
  let assemblyFormat = [{
    $loss `wrt` `(` $wrt `)` attr-dict `:` functional-type(operands, results)
  }];
}

// Is kept until gradients are expanded, and not merged with another one of an equal constant.
def GR_WatchOp : GR_Op<"watch", [MemoryEffects<[MemWrite]>, GR_ResolvedByPlanning]> {
  let summary = "the operand, as a tensor that gradients are taken with respect to";
  let description = [{
    Folders and patterns do not see through it: so a constant, or a value inside the graph, stays
    what the loss is computed from. gr-expand-gradients removes it.
  }];
  let arguments = (ins GR_Tensor:$input);
  let results = (outs GR_Tensor:$output);
}

#endif  // GRAPHRUN_IR_OPS_CONTROL_TD
