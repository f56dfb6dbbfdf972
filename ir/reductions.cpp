#include "ir/reductions.h"

#include "llvm/Support/ErrorHandling.h"

namespace graphrun::ir {

// These are the columns of reductions.def.
#define GR_TAKES_INTEGERS_Number true
#define GR_TAKES_INTEGERS_Float false
#define GR_DIVIDES_Keep false
#define GR_DIVIDES_Divide true

ReductionRule ruleOf(ReduceKind kind) {
  switch (kind) {
#define GR_REDUCE_KIND(Kind, name, rule, flops, nothing, onnx, axesInput) \
  case ReduceKind::k##Kind:                                               \
    return {GR_TAKES_INTEGERS_##rule, flops, OfNothing::k##nothing, std::nullopt, false};
#define GR_REDUCTION(Kind, name, rule, flops, nothing, onnx, axesInput, Join, end)    \
  case ReduceKind::k##Kind:                                                           \
    return {GR_TAKES_INTEGERS_##rule, flops, OfNothing::k##nothing, Combine::k##Join, \
            GR_DIVIDES_##end};
#include "devices/functions/reductions.def"
  }
  llvm_unreachable("verifyWords lets no other kind pass");
}

llvm::StringRef operationOf(Combine combine) {
  switch (combine) {
    case Combine::kAdd:
      return AddOp::getOperationName();
    case Combine::kMul:
      return MulOp::getOperationName();
    case Combine::kMax:
      return MaxOp::getOperationName();
    case Combine::kMin:
      return MinOp::getOperationName();
  }
  llvm_unreachable("an enumerator");
}

}  // namespace graphrun::ir
