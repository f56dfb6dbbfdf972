// Activations that are made of exponentials, applied in place to a result that a library has just
// written. Internal to devices/cpu.
#ifndef GRAPHRUN_DEVICES_CPU_ACTIVATION_H_
#define GRAPHRUN_DEVICES_CPU_ACTIVATION_H_

#include <cstdint>
#include <optional>

#include "devices/executable.h"

namespace graphrun::devices::cpu {

/// 0 stays 0, so that padding may be passed over.
struct Activation {
  enum class Kind : uint8_t {
    kSwish,  ///< x / (1 + e^(-alpha x))
    kGelu    ///< x / 2 * (1 + erf(x / sqrt(2)))
  };
  Kind kind;
  float alpha;  ///< kSwish
};

/// The activation that an element-wise post-op is; nothing for another one.
std::optional<Activation> activationOf(const PostOp& op);

/// Applies it to `count` elements on the threads of the caller, within 1e-6 * (1 + |x|). NaN stays.
void activate(const Activation& activation, float* data, int64_t count);

}  // namespace graphrun::devices::cpu

#endif  // GRAPHRUN_DEVICES_CPU_ACTIVATION_H_
