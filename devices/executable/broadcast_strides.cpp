#include "devices/executable/broadcast_strides.h"

namespace graphrun::devices {

absl::StatusOr<std::vector<int64_t>> broadcastStrides(const Instruction& instruction,
                                                      const std::vector<int64_t>& from,
                                                      const std::vector<int64_t>& to) {
  if (from.size() > to.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat(instruction.operation, ": an operand has a higher rank than the result"));
  }
  std::vector<int64_t> dense = denseStrides(from);
  std::vector<int64_t> strides(to.size(), 0);
  size_t shift = to.size() - from.size();
  for (size_t d = 0; d < from.size(); ++d) {
    if (from[d] != 1 && from[d] != to[shift + d]) {
      return absl::InvalidArgumentError(absl::StrCat(instruction.operation,
                                                     ": an operand's dim of ", from[d],
                                                     " does not broadcast to ", to[shift + d]));
    }
    strides[shift + d] = from[d] == 1 ? 0 : dense[d];
  }
  return strides;
}

}  // namespace graphrun::devices
