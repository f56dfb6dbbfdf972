// A first rounding that a second one, to fewer bits, does not notice.
#ifndef GRAPHRUN_RUNTIME_BASE_ROUND_TO_ODD_H_
#define GRAPHRUN_RUNTIME_BASE_ROUND_TO_ODD_H_

#include <bit>
#include <cmath>
#include <cstdint>

namespace graphrun::runtime {

/// `x` as f32: itself where it is one, else the neighbour whose last bit is 1. Rounded to nearest
/// again, to at most 22 bits, it gives what `x` gives (Boldo and Melquiond, "When double rounding
/// is odd", 2005). A NaN stays one.
inline float roundToOdd(double x) {
  auto nearest = static_cast<float>(x);
  if (static_cast<double>(nearest) == x || std::isnan(x) || std::isinf(x)) {
    return nearest;
  }
  auto bits = std::bit_cast<uint32_t>(nearest);
  bits -= std::fabs(static_cast<double>(nearest)) > std::fabs(x) ? 1U : 0U;  // towards zero
  return std::bit_cast<float>(bits | 1U);
}

}  // namespace graphrun::runtime

#endif  // GRAPHRUN_RUNTIME_BASE_ROUND_TO_ODD_H_
