// Arithmetic and comparisons of floats. NaN results of 32 bits and less are the one NaN of GPUs.
#include <bit>
#include <cmath>
#include <functional>

#include "tests/devices/cuda/simulator/ptx_lanes.h"

namespace graphrun::testing::ptx {
namespace {

inline constexpr float kNaN32 = std::bit_cast<float>(0x7fffffffU);

/// What a value is computed in: f32 and f64 in themselves, 16-bit floats in f64, in which their
/// sums and products are exact or round as they would at once.
inline float wide(float x) { return x; }
inline double wide(double x) { return x; }
template <int kE, int kF>
double wide(SmallFloat<kE, kF> x) {
  return x.value();
}

/// A result as its type.
template <typename V, typename W>
V narrow(W x) {
  if constexpr (std::is_same_v<V, double>) {
    return x;
  } else if constexpr (std::is_same_v<V, float>) {
    return x == x ? x : kNaN32;
  } else {
    return V::round(x);
  }
}

constexpr auto kAdd = [](auto a, auto b) { return narrow<decltype(a)>(wide(a) + wide(b)); };
constexpr auto kSubtract = [](auto a, auto b) { return narrow<decltype(a)>(wide(a) - wide(b)); };
constexpr auto kMultiply = [](auto a, auto b) { return narrow<decltype(a)>(wide(a) * wide(b)); };
constexpr auto kDivide = [](auto a, auto b) { return narrow<decltype(a)>(wide(a) / wide(b)); };
constexpr auto kFused = [](auto a, auto b, auto c) {
  return narrow<decltype(a)>(std::fma(wide(a), wide(b), wide(c)));
};
constexpr auto kRoot = [](auto a) { return narrow<decltype(a)>(std::sqrt(wide(a))); };
constexpr auto kReciprocal = [](auto a) {
  return narrow<decltype(a)>(decltype(wide(a)){1} / wide(a));
};

/// The sign alone, also of NaN.
template <typename V>
constexpr auto kSignBit = BitsOfSize<sizeof(V)>{1} << (8 * sizeof(V) - 1);
constexpr auto kNegate = [](auto a) {
  using V = decltype(a);
  return std::bit_cast<V>(
      static_cast<BitsOfSize<sizeof(V)>>(std::bit_cast<BitsOfSize<sizeof(V)>>(a) ^ kSignBit<V>));
};
constexpr auto kAbsolute = [](auto a) {
  using V = decltype(a);
  return std::bit_cast<V>(
      static_cast<BitsOfSize<sizeof(V)>>(std::bit_cast<BitsOfSize<sizeof(V)>>(a) & ~kSignBit<V>));
};

/// The lesser; -0 is less than 0, and a number is preferred to NaN unless kWantsNaN.
template <bool kWantsNaN, bool kGreatest, typename V>
V extreme(V a, V b) {
  auto x = wide(a);
  auto y = wide(b);
  if (x != x || y != y) {
    bool isNaN = kWantsNaN || (x != x && y != y);
    return isNaN ? narrow<V>(x + y) : x != x ? b : a;
  }
  bool isFirst = x == y ? std::signbit(x) : x < y;
  return isFirst == kGreatest ? b : a;
}

constexpr auto kLess = [](auto a, auto b) { return extreme<false, false>(a, b); };
constexpr auto kGreater = [](auto a, auto b) { return extreme<false, true>(a, b); };
constexpr auto kLessOrNaN = [](auto a, auto b) { return extreme<true, false>(a, b); };
constexpr auto kGreaterOrNaN = [](auto a, auto b) { return extreme<true, true>(a, b); };

/// A function of 16-bit floats for both halves of 32 bits.
template <typename V, typename F>
struct OnPairs {
  template <typename... P>
  uint32_t operator()(P... pairs) const {
    auto half = [](uint32_t pair, int shift) { return V{static_cast<uint16_t>(pair >> shift)}; };
    uint32_t low = F()(half(pairs, 0)...).bits;
    uint32_t high = F()(half(pairs, 16)...).bits;
    return high << 16 | low;
  }
};

template <typename T>
void addSigns(Operations& all) {
  addRow<T, T>(all, typed<T>("neg"), kNegate);
  addRow<T, T>(all, typed<T>("abs"), kAbsolute);
  addRow<T, T, T>(all, typed<T>("min"), kLess);
  addRow<T, T, T>(all, typed<T>("max"), kGreater);
}

template <typename T>
void addArithmetic(Operations& all) {
  for (std::string rounding : {"", ".rn"}) {
    addRow<T, T, T>(all, typed<T>("add" + rounding), kAdd);
    addRow<T, T, T>(all, typed<T>("sub" + rounding), kSubtract);
    addRow<T, T, T>(all, typed<T>("mul" + rounding), kMultiply);
  }
}

template <typename T>
void addWideArithmetic(Operations& all) {
  addRow<T, T, T, T>(all, typed<T>("fma.rn"), kFused);
  addRow<T, T, T>(all, typed<T>("div.rn"), kDivide);
  addRow<T, T>(all, typed<T>("rcp.rn"), kReciprocal);
  addRow<T, T>(all, typed<T>("sqrt.rn"), kRoot);
}

template <typename T, typename V>
void addPairs(Operations& all) {
  auto pairs = [](auto function) { return OnPairs<V, decltype(function)>(); };
  addRow<T, T>(all, typed<T>("neg"), pairs(kNegate));
  addRow<T, T>(all, typed<T>("abs"), pairs(kAbsolute));
  addRow<T, T, T>(all, typed<T>("min"), pairs(kLess));
  addRow<T, T, T>(all, typed<T>("max"), pairs(kGreater));
  addRow<T, T, T>(all, typed<T>("min.NaN"), pairs(kLessOrNaN));
  addRow<T, T, T>(all, typed<T>("max.NaN"), pairs(kGreaterOrNaN));
  for (std::string rounding : {"", ".rn"}) {
    addRow<T, T, T>(all, typed<T>("add" + rounding), pairs(kAdd));
    addRow<T, T, T>(all, typed<T>("sub" + rounding), pairs(kSubtract));
    addRow<T, T, T>(all, typed<T>("mul" + rounding), pairs(kMultiply));
  }
}

/// A comparison that NaN makes false, and the one that it makes true.
template <typename T, typename F>
void addComparison(Operations& all, absl::string_view name, F /*compare*/) {
  addRow<Pred, T, T>(all, typed<T>(name), [](auto a, auto b) {
    return !std::isunordered(wide(a), wide(b)) && F()(wide(a), wide(b));
  });
  addRow<Pred, T, T>(all, typed<T>(absl::StrCat(name, "u")), [](auto a, auto b) {
    return std::isunordered(wide(a), wide(b)) || F()(wide(a), wide(b));
  });
}

template <typename T>
void addComparisons(Operations& all) {
  addComparison<T>(all, "setp.eq", std::equal_to());
  addComparison<T>(all, "setp.ne", std::not_equal_to());
  addComparison<T>(all, "setp.lt", std::less());
  addComparison<T>(all, "setp.le", std::less_equal());
  addComparison<T>(all, "setp.gt", std::greater());
  addComparison<T>(all, "setp.ge", std::greater_equal());
  addRow<Pred, T, T>(all, typed<T>("setp.num"),
                     [](auto a, auto b) { return !std::isunordered(wide(a), wide(b)); });
  addRow<Pred, T, T>(all, typed<T>("setp.nan"),
                     [](auto a, auto b) { return std::isunordered(wide(a), wide(b)); });
}

/// Both halves, each with a predicate of its own.
template <typename V, typename F>
void compareHalves(Warp& warp, const Instruction& instruction, uint32_t mask) {
  Lanes<uint32_t> a = warp.read<uint32_t>(instruction.operands[2]);
  Lanes<uint32_t> b = warp.read<uint32_t>(instruction.operands[3]);
  for (uint8_t half = 0; half < 2; ++half) {
    Lanes<uint8_t> holds{};
    for (uint32_t lane = 0; lane < kLanes; ++lane) {
      auto valueOf = [&](uint32_t pair) {
        return wide(V{static_cast<uint16_t>(pair >> (16 * half))});
      };
      holds[lane] = F()(valueOf(a[lane]), valueOf(b[lane])) ? 1 : 0;
    }
    warp.write(instruction.operands[half], holds, mask);
  }
}

template <typename T, typename V>
void addPairComparisons(Operations& all) {
  using Role = Pattern::Role;
  auto add = [&](absl::string_view compare, auto function) {
    std::string name = typed<T>(absl::StrCat("setp.", compare));
    all.emplace(
        name,
        Operation{name,
                  {{Role::kPair, Type::kPred}, {Role::kSource, T::type}, {Role::kSource, T::type}},
                  &compareHalves<V, decltype(function)>});
  };
  auto addBoth = [&](const std::string& compare, auto function) {
    add(compare,
        [](double a, double b) { return !std::isunordered(a, b) && decltype(function)()(a, b); });
    add(compare + "u",
        [](double a, double b) { return std::isunordered(a, b) || decltype(function)()(a, b); });
  };
  addBoth("eq", std::equal_to());
  addBoth("ne", std::not_equal_to());
  addBoth("lt", std::less());
  addBoth("le", std::less_equal());
  addBoth("gt", std::greater());
  addBoth("ge", std::greater_equal());
  add("num", [](double a, double b) { return !std::isunordered(a, b); });
  add("nan", [](double a, double b) { return std::isunordered(a, b); });
}

}  // namespace

void addFloats(Operations& all) {
  forTypes<F16, Bf16, F32, F64>([&](auto type) {
    addArithmetic<decltype(type)>(all);
    addSigns<decltype(type)>(all);
    addComparisons<decltype(type)>(all);
  });
  forTypes<F16, Bf16, F32>([&](auto type) {
    using T = decltype(type);
    addRow<T, T, T>(all, typed<T>("min.NaN"), kLessOrNaN);
    addRow<T, T, T>(all, typed<T>("max.NaN"), kGreaterOrNaN);
  });
  addWideArithmetic<F32>(all);
  addWideArithmetic<F64>(all);
  addRow<F16, F16, F16, F16>(all, "fma.rn.f16", kFused);
  addRow<F16x2, F16x2, F16x2, F16x2>(all, "fma.rn.f16x2", OnPairs<Half, decltype(kFused)>());
  addPairs<F16x2, Half>(all);
  addPairs<Bf16x2, Brain>(all);
  addPairComparisons<F16x2, Half>(all);
  addPairComparisons<Bf16x2, Brain>(all);
}

/// Functions that PTX gives an error bound for: the nearest float of what f64 gives.
void addApproximations(Operations& all) {
  auto add = [&](const std::string& name, auto function) {
    addRow<F32, F32>(all, name, [](float x) {
      return narrow<float>(static_cast<float>(decltype(function)()(static_cast<double>(x))));
    });
  };
  add("ex2.approx.f32", [](double x) { return std::exp2(x); });
  add("lg2.approx.f32", [](double x) { return std::log2(x); });
  add("sin.approx.f32", [](double x) { return std::sin(x); });
  add("cos.approx.f32", [](double x) { return std::cos(x); });
  add("tanh.approx.f32", [](double x) { return std::tanh(x); });
  add("rcp.approx.f32", [](double x) { return 1 / x; });
  add("sqrt.approx.f32", [](double x) { return std::sqrt(x); });
  add("rsqrt.approx.f32", [](double x) { return 1 / std::sqrt(x); });
  addRow<F64, F64>(all, "rsqrt.approx.f64", [](double x) { return 1 / std::sqrt(x); });
  addRow<F32, F32, F32>(all, "div.full.f32", kDivide);
  addRow<F32, F32, F32>(all, "div.approx.f32", kDivide);
}

}  // namespace graphrun::testing::ptx
