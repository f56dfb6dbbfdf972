#include "devices/cpu/post_op_functions.h"

#include <limits>
#include <utility>

namespace graphrun::devices::cpu {

std::optional<PostOpCall> postOpCall(const PostOp& op) {
  using Function = PostOpFunction;
  if (op.algorithm == "gr.relu") {
    return PostOpCall{Function::kClip, 0, std::numeric_limits<float>::infinity()};
  }
  if (std::optional<RowFunction> row = rowFunction(op)) {
    return PostOpCall{Function::kRow, op.alpha, op.beta, *row};
  }
  constexpr std::pair<absl::string_view, Function> kFunctions[] = {
      {"gr.clip", Function::kClip},
      {"gr.leaky_relu", Function::kLeakyRelu},
      {"linear", Function::kLinear},
  };
  for (const auto& [name, function] : kFunctions) {
    if (name == op.algorithm) {
      return PostOpCall{function, op.alpha, op.beta};
    }
  }
  return std::nullopt;
}

}  // namespace graphrun::devices::cpu
