#include "devices/cpu/post_op_functions.h"

#include <limits>
#include <utility>

namespace graphrun::devices::cpu {

std::optional<PostOpCall> postOpCall(const PostOp& op) {
  using Function = PostOpFunction;
  if (op.algorithm == "gr.relu") {
    return PostOpCall{Function::kClip, 0, std::numeric_limits<float>::infinity()};
  }
  constexpr std::pair<absl::string_view, Function> kFunctions[] = {
      {"gr.clip", Function::kClip},
      {"gr.leaky_relu", Function::kLeakyRelu},
      {"linear", Function::kLinear},
      {"gr.hard_sigmoid", Function::kHardSigmoid},
      {"gr.hard_swish", Function::kHardSwish},
      {"gr.sigmoid", Function::kSigmoid},
      {"gr.swish", Function::kSwish},
      {"gr.tanh", Function::kTanh},
  };
  for (const auto& [name, function] : kFunctions) {
    if (name == op.algorithm) {
      return PostOpCall{function, op.alpha, op.beta};
    }
  }
  return std::nullopt;
}

}  // namespace graphrun::devices::cpu
