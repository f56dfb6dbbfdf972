// Elements in memory, and what reference kernels compute them in. Internal to devices/cpu.
#ifndef GRAPHRUN_DEVICES_CPU_VECTORS_ELEMENT_H_
#define GRAPHRUN_DEVICES_CPU_VECTORS_ELEMENT_H_

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "runtime/base/bfloat16.h"
#include "runtime/base/element_type.h"
#include "runtime/base/float16.h"

namespace graphrun::devices::cpu {

/// IEEE 754 binary16, as stored.
struct Half {
  uint16_t bits;
};
/// The upper half of a binary32, as stored.
struct BFloat16 {
  uint16_t bits;
};
/// One byte, 0 or 1; any other value reads as true.
struct Boolean {
  uint8_t byte;
};

inline float toFloat(BFloat16 x) { return std::bit_cast<float>(uint32_t{x.bits} << 16); }

/// Exact.
inline float toFloat(Half x) { return runtime::float16Value(x.bits); }

/// Rounds to nearest, ties to even.
inline BFloat16 toBFloat16(float x) { return {runtime::bfloat16Bits(x)}; }

/// Rounds to nearest, ties to even; infinity from 65520 on.
inline Half toHalf(float x) { return {runtime::float16Bits(x)}; }

/// Elements of T are computed in this type: float for the 16-bit ones, else T itself.
template <typename T>
struct ComputeOf {
  using Type = T;
};
template <>
struct ComputeOf<Half> {
  using Type = float;
};
template <>
struct ComputeOf<BFloat16> {
  using Type = float;
};
template <>
struct ComputeOf<Boolean> {
  using Type = bool;
};
template <typename T>
using Compute = typename ComputeOf<T>::Type;

/// Sums of elements of T are kept in this type.
template <typename T>
using Sum = std::conditional_t<std::is_floating_point_v<Compute<T>>, double,
                               std::conditional_t<std::is_signed_v<Compute<T>>, int64_t, uint64_t>>;

template <typename T>
Compute<T> load(T x) {
  if constexpr (std::is_same_v<T, Boolean>) {
    return x.byte != 0;
  } else if constexpr (std::is_class_v<T>) {
    return toFloat(x);
  } else {
    return x;
  }
}

template <typename T>
T store(Compute<T> x) {
  if constexpr (std::is_same_v<T, Boolean>) {
    return {static_cast<uint8_t>(x)};
  } else if constexpr (std::is_same_v<T, Half>) {
    return toHalf(x);
  } else if constexpr (std::is_same_v<T, BFloat16>) {
    return toBFloat16(x);
  } else {
    return x;
  }
}

/// Conversion of numbers without undefined behaviour: towards zero, saturating, NaN to 0; integers
/// to integers wrap; to bool is x != 0.
template <typename To, typename From>
To convert(From x) {
  if constexpr (std::is_same_v<To, bool>) {
    return x != From{0};
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    // The limits' neighbours are powers of two, exact in From.
    constexpr auto kLow = static_cast<From>(std::numeric_limits<To>::min());
    const auto high = std::ldexp(From{1}, std::numeric_limits<To>::digits);
    if (std::isnan(x)) {
      return To{0};
    }
    return x <= kLow   ? std::numeric_limits<To>::min()
           : x >= high ? std::numeric_limits<To>::max()
                       : static_cast<To>(x);
  } else {
    return static_cast<To>(x);
  }
}

/// Calls `f.template operator()<T>()` for the storage type of `type`.
template <typename F>
auto dispatchElement(runtime::ElementType type, const F& f) {
  using E = runtime::ElementType;
  switch (type) {
    case E::kF64:
      return f.template operator()<double>();
    case E::kF16:
      return f.template operator()<Half>();
    case E::kBF16:
      return f.template operator()<BFloat16>();
    case E::kI64:
      return f.template operator()<int64_t>();
    case E::kI32:
      return f.template operator()<int32_t>();
    case E::kI16:
      return f.template operator()<int16_t>();
    case E::kI8:
      return f.template operator()<int8_t>();
    case E::kU64:
      return f.template operator()<uint64_t>();
    case E::kU32:
      return f.template operator()<uint32_t>();
    case E::kU16:
      return f.template operator()<uint16_t>();
    case E::kU8:
      return f.template operator()<uint8_t>();
    case E::kBool:
      return f.template operator()<Boolean>();
    default:
      return f.template operator()<float>();
  }
}

/// The same for the four floating-point types; others must have been refused before.
template <typename F>
auto dispatchFloat(runtime::ElementType type, const F& f) {
  using E = runtime::ElementType;
  switch (type) {
    case E::kF64:
      return f.template operator()<double>();
    case E::kF16:
      return f.template operator()<Half>();
    case E::kBF16:
      return f.template operator()<BFloat16>();
    default:
      return f.template operator()<float>();
  }
}

}  // namespace graphrun::devices::cpu

#endif  // GRAPHRUN_DEVICES_CPU_VECTORS_ELEMENT_H_
