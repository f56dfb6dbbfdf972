// Sums of products by an equation.
#include "absl/strings/str_cat.h"
#include "frontends/builder/graph_impl.h"
#include "frontends/builder/op_call.h"
#include "frontends/builder/ops.h"
#include "passes/einsum.h"

namespace graphrun::builder {

Tensor einsum(const std::string& equation, const std::vector<Tensor>& operands, const At& at) {
  OpCall call("einsum", at, std::vector<Argument>(operands.begin(), operands.end()));
  for (size_t i = 0; i < operands.size(); ++i) {
    if (operands[i].valid() && !operands[i].ranked()) {
      call.problem(
          absl::StrCat("operand ", i, " is ", operands[i].toString(), ", expected a known rank"));
    }
  }
  return call.lower([&](passes::Emitter& emitter) {
    llvm::SmallVector<mlir::Value> values;
    for (const Tensor& operand : operands) {
      values.push_back(GraphImpl::valueOf(operand));
    }
    return passes::emitEinsum(emitter, equation, values);
  });
}

}  // namespace graphrun::builder
