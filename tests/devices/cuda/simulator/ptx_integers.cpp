// Integer arithmetic and comparisons. What overflows wraps; a quotient by zero has all bits set.
#include <algorithm>
#include <functional>
#include <limits>

#include "tests/devices/cuda/simulator/ptx_lanes.h"

namespace graphrun::testing::ptx {
namespace {

/// What is wide enough, and wraps.
template <typename V>
using Wrapping = std::conditional_t<(sizeof(V) < 8), uint32_t, uint64_t>;

template <typename V>
constexpr Wrapping<V> wrapping(V value) {
  return static_cast<Wrapping<V>>(value);
}

constexpr auto kAdd = [](auto a, auto b) {
  return static_cast<decltype(a)>(wrapping(a) + wrapping(b));
};
constexpr auto kSubtract = [](auto a, auto b) {
  return static_cast<decltype(a)>(wrapping(a) - wrapping(b));
};
constexpr auto kMultiply = [](auto a, auto b) {
  return static_cast<decltype(a)>(wrapping(a) * wrapping(b));
};
constexpr auto kMultiplyAdd = [](auto a, auto b, auto c) {
  return static_cast<decltype(a)>(wrapping(a) * wrapping(b) + wrapping(c));
};
constexpr auto kHigh = [](auto a, auto b) {
  using V = decltype(a);
  if constexpr (sizeof(V) == 8) {
    using Product = std::conditional_t<std::is_signed_v<V>, __int128, unsigned __int128>;
    return static_cast<V>((static_cast<Product>(a) * static_cast<Product>(b)) >> 64);
  } else {
    using Product = std::conditional_t<std::is_signed_v<V>, int64_t, uint64_t>;
    return static_cast<V>((static_cast<Product>(a) * static_cast<Product>(b)) >> 8 * sizeof(V));
  }
};
constexpr auto kNegate = [](auto a) { return static_cast<decltype(a)>(0 - wrapping(a)); };
constexpr auto kAbsolute = [](auto a) { return a < 0 ? kNegate(a) : a; };
constexpr auto kLess = [](auto a, auto b) { return std::min(a, b); };
constexpr auto kGreater = [](auto a, auto b) { return std::max(a, b); };

/// The least number divided by -1 wraps.
template <typename V>
constexpr bool isByMinusOne(V divisor) {
  return std::is_signed_v<V> && divisor == static_cast<V>(-1);
}

constexpr auto kDivide = [](auto a, auto b) {
  using V = decltype(a);
  if (b == 0) {
    return static_cast<V>(-1);
  }
  return isByMinusOne(b) ? kNegate(a) : static_cast<V>(a / b);
};
constexpr auto kRemainder = [](auto a, auto b) {
  using V = decltype(a);
  return b == 0 || isByMinusOne(b) ? static_cast<V>(b == 0 ? a : 0) : static_cast<V>(a % b);
};

template <typename T>
void addArithmetic(Operations& all) {
  addRow<T, T, T>(all, typed<T>("add"), kAdd);
  addRow<T, T, T>(all, typed<T>("sub"), kSubtract);
  addRow<T, T, T>(all, typed<T>("mul.lo"), kMultiply);
  addRow<T, T, T>(all, typed<T>("mul.hi"), kHigh);
  addRow<T, T, T, T>(all, typed<T>("mad.lo"), kMultiplyAdd);
  addRow<T, T, T>(all, typed<T>("div"), kDivide);
  addRow<T, T, T>(all, typed<T>("rem"), kRemainder);
  addRow<T, T, T>(all, typed<T>("min"), kLess);
  addRow<T, T, T>(all, typed<T>("max"), kGreater);
  if (isSigned(T::type)) {
    addRow<T, T>(all, typed<T>("neg"), kNegate);
    addRow<T, T>(all, typed<T>("abs"), kAbsolute);
  }
}

/// Products of twice the size.
template <typename T, typename W>
void addWide(Operations& all) {
  addRow<W, T, T>(all, typed<T>("mul.wide"), [](auto a, auto b) {
    using V = typename W::Value;
    return static_cast<V>(static_cast<V>(a) * static_cast<V>(b));
  });
  addRow<W, T, T, W>(all, typed<T>("mad.wide"), [](auto a, auto b, auto c) {
    using V = decltype(c);
    return kAdd(static_cast<V>(static_cast<V>(a) * static_cast<V>(b)), c);
  });
}

template <typename T>
void addEqualities(Operations& all) {
  addRow<Pred, T, T>(all, typed<T>("setp.eq"), std::equal_to());
  addRow<Pred, T, T>(all, typed<T>("setp.ne"), std::not_equal_to());
}

template <typename T>
void addOrders(Operations& all) {
  addEqualities<T>(all);
  addRow<Pred, T, T>(all, typed<T>("setp.lt"), std::less());
  addRow<Pred, T, T>(all, typed<T>("setp.le"), std::less_equal());
  addRow<Pred, T, T>(all, typed<T>("setp.gt"), std::greater());
  addRow<Pred, T, T>(all, typed<T>("setp.ge"), std::greater_equal());
  if constexpr (std::is_unsigned_v<typename T::Value>) {
    addRow<Pred, T, T>(all, typed<T>("setp.lo"), std::less());
    addRow<Pred, T, T>(all, typed<T>("setp.ls"), std::less_equal());
    addRow<Pred, T, T>(all, typed<T>("setp.hi"), std::greater());
    addRow<Pred, T, T>(all, typed<T>("setp.hs"), std::greater_equal());
  }
}

}  // namespace

void addIntegers(Operations& all) {
  forTypes<U16, S16, U32, S32, U64, S64>([&](auto type) {
    addArithmetic<decltype(type)>(all);
    addOrders<decltype(type)>(all);
  });
  forTypes<B16, B32, B64>([&](auto type) { addEqualities<decltype(type)>(all); });
  addWide<U16, U32>(all);
  addWide<S16, S32>(all);
  addWide<U32, U64>(all);
  addWide<S32, S64>(all);
}

}  // namespace graphrun::testing::ptx
