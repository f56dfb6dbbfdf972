#include "devices/cuda/kernels/kernel.h"

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"

namespace graphrun::devices::cuda {

absl::StatusOr<size_t> algorithmOf(const Instruction& instruction) {
  GR_ASSIGN_OR_RETURN(int64_t plan, attributeOr<int64_t>(instruction, "plan", 0));
  if (plan < 0 || plan >= static_cast<int64_t>(kMostAlgorithms)) {
    return absl::InvalidArgumentError(absl::StrCat(instruction.label, ": the plan is ", plan,
                                                   ", expected 0 to ", kMostAlgorithms - 1));
  }
  return static_cast<size_t>(plan);
}

}  // namespace graphrun::devices::cuda
