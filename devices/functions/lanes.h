// Floats, or vectors of them, as the functions of this folder take them in C++.
#ifndef GRAPHRUN_DEVICES_FUNCTIONS_LANES_H_
#define GRAPHRUN_DEVICES_FUNCTIONS_LANES_H_

#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

// Vectors are passed between functions that are always inlined.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpsabi"

#define GR_LANES [[gnu::always_inline]] inline

namespace graphrun::devices::functions {

/// `kCount` elements: one itself, or a vector of them.
template <typename E, int kCount>
struct PackOf {
  using Type [[gnu::vector_size(sizeof(E) * kCount)]] = E;
};
template <typename E>
struct PackOf<E, 1> {
  using Type = E;
};
template <typename E, int kCount>
using Pack = typename PackOf<E, kCount>::Type;

template <typename E>
using IntegerOf = std::conditional_t<sizeof(E) == 4, int32_t, int64_t>;

/// All lanes with the same number.
template <typename P, typename E>
GR_LANES P filled(E x) {
  return P{} + x;
}

/// to[i] = f(i), as vector instructions where there are some.
template <typename P, int kCount, typename F>
GR_LANES P eachLane(const F& f) {
  if constexpr (kCount == 1) {
    return f(0);
  } else {
    P to;
#pragma omp simd
    for (int i = 0; i < kCount; ++i) {
      to[i] = f(i);
    }
    return to;
  }
}

/// Lane i of a pack.
template <typename P>
GR_LANES auto lane(const P& pack, int i) {
  if constexpr (std::is_arithmetic_v<P>) {
    return pack;
  } else {
    return pack[i];
  }
}

template <typename E, int kCount>
struct Lanes;
template <typename E, int kCount>
struct Integers;
template <typename E, int kCount>
GR_LANES Lanes<E, kCount> fused(const Lanes<E, kCount>& x, const Lanes<E, kCount>& y,
                                const Lanes<E, kCount>& z);

/// Conditions, one a lane.
template <typename E, int kCount>
struct Mask {
  using Held = std::conditional_t<kCount == 1, bool, Pack<IntegerOf<E>, kCount>>;
  Held held;

  GR_LANES Lanes<E, kCount> choose(const Lanes<E, kCount>& x, const Lanes<E, kCount>& y) const {
    if constexpr (kCount == 1) {
      return {held ? x.held : y.held};
    } else {
      return {held < 0 ? x.held : y.held};
    }
  }
  /// Returns whether it holds for any lane.
  GR_LANES bool any() const {
    if constexpr (kCount == 1) {
      return held;
    } else {
      IntegerOf<E> all = 0;
#pragma omp simd reduction(| : all)
      for (int i = 0; i < kCount; ++i) {
        all |= held[i];
      }
      return all != 0;
    }
  }
};

/// The integers of the size of E, which wrap.
template <typename E, int kCount>
struct Integers {
  using Element = IntegerOf<E>;
  using Held = Pack<Element, kCount>;
  using Unsigned = Pack<std::make_unsigned_t<Element>, kCount>;
  Held held;

  GR_LANES static Integers number(int64_t x) { return {filled<Held>(static_cast<Element>(x))}; }
  GR_LANES Unsigned bits() const { return __builtin_bit_cast(Unsigned, held); }
  GR_LANES static Integers of(const Unsigned& bits) { return {__builtin_bit_cast(Held, bits)}; }

  GR_LANES Integers operator+(const Integers& y) const { return of(bits() + y.bits()); }
  GR_LANES Integers operator-(const Integers& y) const { return of(bits() - y.bits()); }
  GR_LANES Integers operator&(const Integers& y) const { return {held & y.held}; }
  GR_LANES Integers operator<<(int by) const { return of(bits() << by); }
  GR_LANES Integers operator>>(int by) const { return {held >> by}; }
  GR_LANES Integers atMost(int64_t most) const {
    Held limit = number(most).held;
    return {held < limit ? held : limit};
  }
  GR_LANES Mask<E, kCount> operator==(int64_t y) const { return {held == number(y).held}; }
  GR_LANES Lanes<E, kCount> asFloat() const {
    return {eachLane<Pack<E, kCount>, kCount>(
        [this](int i) __attribute__((always_inline)) { return static_cast<E>(lane(held, i)); })};
  }
};

/// The floats. Operations round as IEEE 754 says and are never joined, whatever the compiler's
/// flags.
template <typename E, int kCount = 1>
struct Lanes {
  using Held = Pack<E, kCount>;
  using Condition = Mask<E, kCount>;
  Held held;

  GR_LANES static Lanes number(double x) { return {filled<Held>(static_cast<E>(x))}; }

  GR_LANES Lanes operator+(const Lanes& y) const { return {held + y.held}; }
  GR_LANES Lanes operator-(const Lanes& y) const { return {held - y.held}; }
  GR_LANES Lanes operator*(const Lanes& y) const { return fused(*this, y, {-(Held{})}); }
  GR_LANES Lanes operator/(const Lanes& y) const { return {held / y.held}; }
  GR_LANES Lanes operator-() const { return {-held}; }
  // Comparisons are false for NaN, != is true.
  GR_LANES Condition operator>(const Lanes& y) const { return {held > y.held}; }
  GR_LANES Condition operator<(const Lanes& y) const { return {held < y.held}; }
  GR_LANES Condition operator==(const Lanes& y) const { return {held == y.held}; }
  GR_LANES Condition operator!=(const Lanes& y) const { return {held != y.held}; }
  GR_LANES Lanes withSignOf(const Lanes& y) const {
    auto sign = Integers<E, kCount>::number(std::numeric_limits<IntegerOf<E>>::min());
    auto size = Integers<E, kCount>::number(std::numeric_limits<IntegerOf<E>>::max());
    return floatOf((bitsOf(*this) & size) + (bitsOf(y) & sign));
  }
  GR_LANES Lanes atMost(double most) const {
    return (*this > number(most)).choose(number(most), *this);
  }
  GR_LANES Lanes atLeast(double least) const {
    return (*this < number(least)).choose(number(least), *this);
  }
};

template <typename E, int kCount>
GR_LANES Integers<E, kCount> bitsOf(const Lanes<E, kCount>& x) {
  return {__builtin_bit_cast(typename Integers<E, kCount>::Held, x.held)};
}
template <typename E, int kCount>
GR_LANES Lanes<E, kCount> floatOf(const Integers<E, kCount>& bits) {
  return {__builtin_bit_cast(typename Lanes<E, kCount>::Held, bits.held)};
}

/// x * y + z, rounded once.
template <typename E, int kCount>
GR_LANES Lanes<E, kCount> fused(const Lanes<E, kCount>& x, const Lanes<E, kCount>& y,
                                const Lanes<E, kCount>& z) {
#ifdef __clang__
  return {__builtin_elementwise_fma(x.held, y.held, z.held)};
#else
  return {eachLane<Pack<E, kCount>, kCount>([&](int i) __attribute__((always_inline)) {
    return std::fma(lane(x.held, i), lane(y.held, i), lane(z.held, i));
  })};
#endif
}

template <typename E, int kCount>
GR_LANES Lanes<E, kCount> absolute(const Lanes<E, kCount>& x) {
  return x.withSignOf(Lanes<E, kCount>::number(1));
}
template <typename E, int kCount>
GR_LANES Lanes<E, kCount> squareRoot(const Lanes<E, kCount>& x) {
  return {eachLane<Pack<E, kCount>, kCount>(
      [&](int i) __attribute__((always_inline)) { return std::sqrt(lane(x.held, i)); })};
}
/// The C library's functions of f64.
template <int kCount>
GR_LANES Lanes<double, kCount> expOf(const Lanes<double, kCount>& x) {
  return {eachLane<Pack<double, kCount>, kCount>(
      [&](int i) __attribute__((always_inline)) { return std::exp(lane(x.held, i)); })};
}
template <int kCount>
GR_LANES Lanes<double, kCount> expm1Of(const Lanes<double, kCount>& x) {
  return {eachLane<Pack<double, kCount>, kCount>(
      [&](int i) __attribute__((always_inline)) { return std::expm1(lane(x.held, i)); })};
}
template <int kCount>
GR_LANES Lanes<double, kCount> log1pOf(const Lanes<double, kCount>& x) {
  return {eachLane<Pack<double, kCount>, kCount>(
      [&](int i) __attribute__((always_inline)) { return std::log1p(lane(x.held, i)); })};
}
/// The nearest whole number, of two the even one.
template <typename E, int kCount>
GR_LANES Lanes<E, kCount> wholeOf(const Lanes<E, kCount>& x) {
  return {eachLane<Pack<E, kCount>, kCount>(
      [&](int i) __attribute__((always_inline)) { return std::nearbyint(lane(x.held, i)); })};
}
/// f32 as f64, and back, rounded.
template <int kCount>
GR_LANES Lanes<double, kCount> wide(const Lanes<float, kCount>& x) {
  return {eachLane<Pack<double, kCount>, kCount>(
      [&](int i) __attribute__((always_inline)) { return static_cast<double>(lane(x.held, i)); })};
}
template <int kCount>
GR_LANES Lanes<float, kCount> narrow(const Lanes<double, kCount>& x) {
  return {eachLane<Pack<float, kCount>, kCount>(
      [&](int i) __attribute__((always_inline)) { return static_cast<float>(lane(x.held, i)); })};
}

/// `rare(x)` where `condition` holds, else `usual`: the rare way is gone only where it must be.
template <typename E, int kCount, typename Rare>
GR_LANES Lanes<E, kCount> whereRare(const Mask<E, kCount>& condition, const Lanes<E, kCount>& usual,
                                    const Lanes<E, kCount>& x, const Rare& rare) {
  return __builtin_expect(condition.any(), 0) ? condition.choose(rare(x), usual) : usual;
}

}  // namespace graphrun::devices::functions

#undef GR_LANES
#pragma GCC diagnostic pop

#endif  // GRAPHRUN_DEVICES_FUNCTIONS_LANES_H_
