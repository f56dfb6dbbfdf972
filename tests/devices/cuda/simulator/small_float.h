// Floats of 16 bits and of 19, by their bits.
#ifndef GRAPHRUN_TESTS_DEVICES_CUDA_SIMULATOR_SMALL_FLOAT_H_
#define GRAPHRUN_TESTS_DEVICES_CUDA_SIMULATOR_SMALL_FLOAT_H_

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>

namespace graphrun::testing::ptx {

template <int kExponentBits, int kFractionBits>
struct SmallFloat {
  static constexpr int kBias = (1 << (kExponentBits - 1)) - 1;
  static constexpr int kLeast = 1 - kBias;  // exponent of normal numbers and below
  static constexpr uint32_t kInfinity = ((1U << kExponentBits) - 1) << kFractionBits;
  static constexpr uint16_t kNaN = 0x7fff;

  uint16_t bits = 0;

  /// The nearest, of two the even one; NaN becomes the one that GPUs give.
  static SmallFloat round(double x) {
    constexpr int kDoubleBits = 52;
    auto all = std::bit_cast<uint64_t>(x);
    auto sign = static_cast<uint16_t>(all >> 63 << 15);
    uint64_t magnitude = all & ~(uint64_t{1} << 63);
    int exponent = static_cast<int>(magnitude >> kDoubleBits) - 1023;
    if (magnitude > uint64_t{0x7ff} << kDoubleBits) {
      return {kNaN};
    }
    if (exponent > kBias) {
      return {static_cast<uint16_t>(sign | kInfinity)};
    }
    if (exponent < kLeast - kFractionBits - 1) {
      return {sign};
    }
    constexpr uint64_t kOne = uint64_t{1} << kDoubleBits;
    uint64_t fraction = (magnitude & (kOne - 1)) | kOne;
    int shift = kDoubleBits - kFractionBits + std::max(0, kLeast - exponent);
    uint64_t kept = fraction >> shift;
    uint64_t rest = fraction - (kept << shift);
    uint64_t half = uint64_t{1} << (shift - 1);
    kept += rest > half || (rest == half && kept % 2 == 1) ? 1 : 0;
    // What carries out of the fraction goes into the exponent, and from the greatest to infinity.
    auto above = static_cast<uint64_t>(std::max(exponent, kLeast) - kLeast) << kFractionBits;
    return {static_cast<uint16_t>(sign | (above + kept))};
  }

  double value() const {
    double sign = bits >> 15 != 0 ? -1 : 1;
    uint64_t fraction = bits & ((1U << kFractionBits) - 1);
    int exponent = (bits & kInfinity) >> kFractionBits;
    if (exponent == 0) {
      constexpr auto kUnit = uint64_t(1023 + kLeast - kFractionBits) << 52;
      return sign * static_cast<double>(fraction) * std::bit_cast<double>(kUnit);
    }
    if ((bits & kInfinity) == kInfinity) {
      return fraction == 0 ? sign * std::numeric_limits<double>::infinity()
                           : std::numeric_limits<double>::quiet_NaN();
    }
    auto wide = static_cast<uint64_t>(exponent - kBias + 1023) << 52;
    return sign * std::bit_cast<double>(wide | fraction << (52 - kFractionBits));
  }
};

using Half = SmallFloat<5, 10>;
using Brain = SmallFloat<8, 7>;

/// As tensor cores take a factor of f32: ten bits of fraction, to nearest, ties to even.
inline double roundToTf32(double x) {
  constexpr uint32_t kDropped = (1U << 13) - 1;
  auto bits = std::bit_cast<uint32_t>(static_cast<float>(x));
  bits += (kDropped >> 1) + (bits >> 13 & 1);
  return static_cast<double>(std::bit_cast<float>(bits & ~kDropped));
}

}  // namespace graphrun::testing::ptx

#endif  // GRAPHRUN_TESTS_DEVICES_CUDA_SIMULATOR_SMALL_FLOAT_H_
