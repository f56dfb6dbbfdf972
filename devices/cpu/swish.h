// The activation that is made of exponentials, applied in place to a result that a library has just
// written. Internal to devices/cpu.
#ifndef GRAPHRUN_DEVICES_CPU_SWISH_H_
#define GRAPHRUN_DEVICES_CPU_SWISH_H_

#include <cstdint>
#include <optional>

#include "devices/cpu/executable.h"

namespace graphrun::devices::cpu {

/// x / (1 + e^(-alpha x)). 0 stays 0, so that padding may be passed over.
struct Swish {
  float alpha;
};

/// The activation that an element-wise post-op is; nothing for another one.
std::optional<Swish> swishOf(const PostOp& op);

/// Applies it to `count` elements on the threads of the caller, within 1e-6 of each element. NaN
/// stays.
void applySwish(Swish swish, float* data, int64_t count);

}  // namespace graphrun::devices::cpu

#endif  // GRAPHRUN_DEVICES_CPU_SWISH_H_
