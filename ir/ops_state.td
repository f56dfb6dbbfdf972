// These operations are tensors that live from step to step.
#ifndef GRAPHRUN_IR_OPS_STATE_TD
#define GRAPHRUN_IR_OPS_STATE_TD

include "ir/gr_dialect.td"

// It is pure, as the value does not change during a step: two of one name are one.
def GR_StateOp : GR_PureOp<"state"> {
  let summary = "the value that a named tensor had when the step began";
  let description = [{
    States are what training changes: parameters, an optimizer's moments, running statistics, the
    number of the step. All graphs of a model that name a state share it, and it outlives plans.
    Before the first step it is `init`, a constant of its type. Rewrites never take it for a
    constant; `gr-freeze-states` makes one of each state.
  }];
  let noGradient = "has no operand";
  let arguments = (ins StrAttr:$name, ElementsAttr:$init);
  let results = (outs GR_Tensor:$value);
  let assemblyFormat = "$name $init attr-dict `:` type($value)";
}

def GR_UpdateOp : GR_Op<"update", [MemoryEffects<[MemWrite]>]> {
  let summary = "the value that a state has when the next step begins";
  let description = [{
    `state` is the result of a gr.state, whose type `value` has. A graph updates a state at most once. No
    operation of the same step sees the new value but as `value`, and a step that fails leaves all
    states as they were.
  }];
  let noGradient = "has no result";
  let arguments = (ins GR_Tensor:$state, GR_Tensor:$value);
}

#endif  // GRAPHRUN_IR_OPS_STATE_TD
