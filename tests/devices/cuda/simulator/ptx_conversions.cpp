// cvt: integers of any size in registers that may be wider, floats, and both ways.
#include <bit>
#include <cmath>
#include <limits>

#include "tests/devices/cuda/simulator/ptx_lanes.h"

namespace graphrun::testing::ptx {
namespace {

/// Lanes of which only the low bits count.
template <typename V>
Lanes<V> readLow(const Warp& warp, Register reg) {
  if (reg.bytes == sizeof(V)) {
    return warp.read<V>(reg);
  }
  Lanes<V> lanes;
  for (uint32_t lane = 0; lane < kLanes; ++lane) {
    lanes[lane] = std::bit_cast<V>(static_cast<BitsOfSize<sizeof(V)>>(warp.bits(reg, lane)));
  }
  return lanes;
}

/// Integers fill a wider register with zeros or their sign.
template <typename V>
void writeExtended(Warp& warp, Register reg, const Lanes<V>& lanes, uint32_t mask) {
  if constexpr (std::is_integral_v<V>) {
    if (reg.bytes != sizeof(V)) {
      for (uint32_t lane = 0; lane < kLanes; ++lane) {
        if ((mask >> lane & 1) != 0) {
          warp.setBits(reg, lane, static_cast<uint64_t>(lanes[lane]));
        }
      }
      return;
    }
  }
  warp.write(reg, lanes, mask);
}

template <typename F, typename D, typename S>
void onLowBits(Warp& warp, const Instruction& instruction, uint32_t mask) {
  auto from = readLow<typename S::Value>(warp, instruction.operands[1]);
  Lanes<typename D::Value> to;
  for (uint32_t lane = 0; lane < kLanes; ++lane) {
    to[lane] = F()(from[lane]);
  }
  writeExtended(warp, instruction.operands[0], to, mask);
}

template <typename T>
constexpr bool kIsInteger = std::is_integral_v<typename T::Value>;

/// cvt.<rounding>.<D>.<S>; an integer may stand in a wider register.
template <typename D, typename S, typename F>
void addConversion(Operations& all, absl::string_view rounding, F /*function*/) {
  std::string name =
      absl::StrCat("cvt", rounding, ".", infoOf(D::type).name, ".", infoOf(S::type).name);
  using Role = Pattern::Role;
  all.emplace(name, Operation{name,
                              {{Role::kResult, D::type, 1, kIsInteger<D>},
                               {Role::kSource, S::type, 1, kIsInteger<S>}},
                              &onLowBits<F, D, S>});
}

inline double asDouble(double x) { return x; }
template <int kE, int kF>
double asDouble(SmallFloat<kE, kF> x) {
  return x.value();
}

/// A float from f64, to the nearest.
template <typename V>
V nearest(double x) {
  if constexpr (std::is_same_v<V, float>) {
    return x == x ? static_cast<float>(x) : std::bit_cast<float>(0x7fffffffU);
  } else if constexpr (std::is_same_v<V, double>) {
    return x;
  } else {
    return V::round(x);
  }
}

/// Clamped; NaN is 0, but half of the range where 64 bits are on either side.
template <typename V>
V clamped(double whole, bool is64) {
  using Limits = std::numeric_limits<V>;
  if (whole != whole) {
    auto half = static_cast<V>(std::make_unsigned_t<V>{1} << (8 * sizeof(V) - 1));
    return is64 ? half : V{0};
  }
  double end = std::ldexp(1.0, Limits::digits);
  if (whole >= end) {
    return Limits::max();
  }
  return whole < static_cast<double>(Limits::min()) ? Limits::min() : static_cast<V>(whole);
}

/// An integer as f64 that rounds on to less than 50 bits as the integer would: bits that are lost
/// set the lowest that is kept.
template <typename V>
double sticky(V x) {
  if constexpr (sizeof(V) < 8) {
    return static_cast<double>(x);
  } else {
    constexpr int kLost = 12;
    bool isNegative = x < 0;
    uint64_t all = isNegative ? 0 - static_cast<uint64_t>(x) : static_cast<uint64_t>(x);
    if (all >> 52 == 0) {
      return static_cast<double>(x);
    }
    uint64_t kept = all >> kLost | ((all & ((1U << kLost) - 1)) != 0 ? 1 : 0);
    return std::ldexp(static_cast<double>(kept), kLost) * (isNegative ? -1 : 1);
  }
}

constexpr auto kNearestEven = [](double x) { return std::nearbyint(x); };
constexpr auto kTowardZero = [](double x) { return std::trunc(x); };
constexpr auto kDown = [](double x) { return std::floor(x); };
constexpr auto kUp = [](double x) { return std::ceil(x); };

template <typename S, typename R>
void addToWhole(Operations& all, absl::string_view rounding, R /*round*/) {
  forTypes<U8, S8, U16, S16, U32, S32, U64, S64>([&](auto type) {
    using D = decltype(type);
    addConversion<D, S>(all, rounding, [](auto x) {
      using V = typename D::Value;
      return clamped<V>(R()(asDouble(x)), sizeof(V) == 8 || sizeof(x) == 8);
    });
  });
  addConversion<S, S>(all, rounding, [](auto x) { return nearest<decltype(x)>(R()(asDouble(x))); });
}

template <typename S>
void addFromFloat(Operations& all) {
  addToWhole<S>(all, ".rni", kNearestEven);
  addToWhole<S>(all, ".rzi", kTowardZero);
  addToWhole<S>(all, ".rmi", kDown);
  addToWhole<S>(all, ".rpi", kUp);
}

template <typename S>
void addFromInteger(Operations& all) {
  forTypes<U8, S8, U16, S16, U32, S32, U64, S64>([&](auto type) {
    using D = decltype(type);
    addConversion<D, S>(all, "", [](auto x) { return static_cast<typename D::Value>(x); });
  });
  addConversion<F32, S>(all, ".rn", [](auto x) { return static_cast<float>(x); });
  addConversion<F64, S>(all, ".rn", [](auto x) { return static_cast<double>(x); });
  addConversion<F16, S>(all, ".rn", [](auto x) { return Half::round(sticky(x)); });
  addConversion<Bf16, S>(all, ".rn", [](auto x) { return Brain::round(sticky(x)); });
}

template <typename D, typename S>
void addBetweenFloats(Operations& all, absl::string_view rounding) {
  addConversion<D, S>(all, rounding,
                      [](auto x) { return nearest<typename D::Value>(asDouble(x)); });
}

/// Two floats become the upper and the lower half.
template <typename D, typename V>
void addPair(Operations& all) {
  addRow<D, F32, F32>(
      all, absl::StrCat("cvt.rn.", infoOf(D::type).name, ".f32"), [](float high, float low) {
        return static_cast<uint32_t>(V::round(high).bits) << 16 | V::round(low).bits;
      });
}

}  // namespace

void addConversions(Operations& all) {
  forTypes<U8, S8, U16, S16, U32, S32, U64, S64>(
      [&](auto type) { addFromInteger<decltype(type)>(all); });
  forTypes<F16, Bf16, F32, F64>([&](auto type) { addFromFloat<decltype(type)>(all); });
  addBetweenFloats<F32, F16>(all, "");
  addBetweenFloats<F32, Bf16>(all, "");
  addBetweenFloats<F64, F16>(all, "");
  addBetweenFloats<F64, Bf16>(all, "");
  addBetweenFloats<F64, F32>(all, "");
  addBetweenFloats<F16, F32>(all, ".rn");
  addBetweenFloats<Bf16, F32>(all, ".rn");
  addBetweenFloats<F16, F64>(all, ".rn");
  addBetweenFloats<Bf16, F64>(all, ".rn");
  addBetweenFloats<F32, F64>(all, ".rn");
  addPair<F16x2, Half>(all);
  addPair<Bf16x2, Brain>(all);
}

}  // namespace graphrun::testing::ptx
