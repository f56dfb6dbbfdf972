// An operand that broadcasts is read by strides, some of them 0.
#ifndef GRAPHRUN_DEVICES_EXECUTABLE_BROADCAST_STRIDES_H_
#define GRAPHRUN_DEVICES_EXECUTABLE_BROADCAST_STRIDES_H_

#include <vector>

#include "devices/executable/executable.h"

namespace graphrun::devices {

/// Row-major strides of `from`, aligned to the rank of `to`, 0 where a dim of 1 meets a larger one.
/// InvalidArgument, about the operation of `instruction`, for what does not broadcast.
absl::StatusOr<std::vector<int64_t>> broadcastStrides(const Instruction& instruction,
                                                      const std::vector<int64_t>& from,
                                                      const std::vector<int64_t>& to);

}  // namespace graphrun::devices

#endif  // GRAPHRUN_DEVICES_EXECUTABLE_BROADCAST_STRIDES_H_
