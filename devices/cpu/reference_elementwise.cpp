// Element-wise operations: unary, binary, comparison, selection.
#include <algorithm>
#include <array>
#include <atomic>

#include "devices/cpu/reference_support.h"
#include "devices/cpu/row_functions.h"
#include "devices/functions/double_functions.h"
#include "devices/functions/lanes.h"
#include "devices/functions/wide_functions.h"

namespace graphrun::devices::cpu {
namespace {

struct Parameters {
  double first = 0;   ///< alpha, low
  double second = 0;  ///< beta, gamma, high
};

// Unary functions. f(x, p) computes in the type of x; integers wrap.

template <typename C>
C wrappingNeg(C x) {
  if constexpr (std::is_integral_v<C>) {
    return static_cast<C>(std::make_unsigned_t<C>{0} - static_cast<std::make_unsigned_t<C>>(x));
  } else {
    return -x;
  }
}

struct Abs {
  template <typename C>
  static C apply(C x, const Parameters&) {
    if constexpr (std::is_floating_point_v<C>) {
      return std::fabs(x);
    } else {
      return x < 0 ? wrappingNeg(x) : x;
    }
  }
};
struct Neg {
  template <typename C>
  static C apply(C x, const Parameters&) {
    return wrappingNeg(x);
  }
};
struct Sign {
  template <typename C>
  static C apply(C x, const Parameters&) {
    if constexpr (std::is_floating_point_v<C>) {
      return x > 0 ? C{1} : x < 0 ? C{-1} : x;
    } else {
      return static_cast<C>((x > 0) - (x < 0));
    }
  }
};
struct Relu {
  template <typename C>
  static C apply(C x, const Parameters&) {
    return x < 0 ? C{0} : x;  // NaN stays
  }
};
struct Clip {
  template <typename C>
  static C apply(C x, const Parameters& p) {
    C low = convert<C>(p.first);
    C high = convert<C>(p.second);
    C raised = x < low ? low : x;
    return raised > high ? high : raised;
  }
};
struct Exp {
  template <typename C>
  static C apply(C x, const Parameters&) {
    return std::exp(x);
  }
};
struct Log {
  template <typename C>
  static C apply(C x, const Parameters&) {
    return std::log(x);
  }
};
struct Sqrt {
  template <typename C>
  static C apply(C x, const Parameters&) {
    return std::sqrt(x);
  }
};
struct Reciprocal {
  template <typename C>
  static C apply(C x, const Parameters&) {
    return 1 / x;
  }
};
struct Floor {
  template <typename C>
  static C apply(C x, const Parameters&) {
    return std::floor(x);
  }
};
struct Ceil {
  template <typename C>
  static C apply(C x, const Parameters&) {
    return std::ceil(x);
  }
};
struct Round {
  template <typename C>
  static C apply(C x, const Parameters&) {
    return std::nearbyint(x);
  }
};
struct Erf {
  template <typename C>
  static C apply(C x, const Parameters&) {
    return std::erf(x);
  }
};
struct Sin {
  template <typename C>
  static C apply(C x, const Parameters&) {
    return std::sin(x);
  }
};
struct Cos {
  template <typename C>
  static C apply(C x, const Parameters&) {
    return std::cos(x);
  }
};
struct Tan {
  template <typename C>
  static C apply(C x, const Parameters&) {
    return std::tan(x);
  }
};
struct Asin {
  template <typename C>
  static C apply(C x, const Parameters&) {
    return std::asin(x);
  }
};
struct Acos {
  template <typename C>
  static C apply(C x, const Parameters&) {
    return std::acos(x);
  }
};
struct Atan {
  template <typename C>
  static C apply(C x, const Parameters&) {
    return std::atan(x);
  }
};
struct Sinh {
  template <typename C>
  static C apply(C x, const Parameters&) {
    return std::sinh(x);
  }
};
struct Cosh {
  template <typename C>
  static C apply(C x, const Parameters&) {
    return std::cosh(x);
  }
};
struct Tanh {
  template <typename C>
  static C apply(C x, const Parameters&) {
    return std::tanh(x);
  }
};
struct Asinh {
  template <typename C>
  static C apply(C x, const Parameters&) {
    return std::asinh(x);
  }
};
struct Acosh {
  template <typename C>
  static C apply(C x, const Parameters&) {
    return std::acosh(x);
  }
};
struct Atanh {
  template <typename C>
  static C apply(C x, const Parameters&) {
    return std::atanh(x);
  }
};
// Of f64 alone: devices/functions has what the others are.
using Double = functions::Lanes<double>;
struct Sigmoid {
  static double apply(double x, const Parameters&) {
    return functions::doubles::sigmoid(Double{x}).held;
  }
};
struct Softplus {
  static double apply(double x, const Parameters&) {
    return functions::doubles::softplus(Double{x}).held;
  }
};
struct HardSwish {
  template <typename C>
  static C apply(C x, const Parameters&) {
    return x * std::clamp<C>(x * static_cast<C>(1.0 / 6) + C{0.5}, 0, 1);
  }
};
struct LeakyRelu {
  template <typename C>
  static C apply(C x, const Parameters& p) {
    return x >= 0 ? x : x * static_cast<C>(p.first);
  }
};
struct Swish {
  static double apply(double x, const Parameters& p) {
    return functions::doubles::swish(Double{x}, Double{p.first}).held;
  }
};
struct Elu {
  static double apply(double x, const Parameters& p) {
    return functions::doubles::elu(Double{x}, Double{p.first}).held;
  }
};
struct Selu {
  static double apply(double x, const Parameters& p) {
    return functions::doubles::selu(Double{x}, Double{p.first}, Double{p.second}).held;
  }
};
struct HardSigmoid {
  template <typename C>
  static C apply(C x, const Parameters& p) {
    return std::clamp<C>(static_cast<C>(p.first) * x + static_cast<C>(p.second), 0, 1);
  }
};
struct Gelu {  // p.first != 0: the tanh form
  static double apply(double x, const Parameters& p) {
    Double number{x};
    return (p.first != 0 ? functions::doubles::geluByTangent(number)
                         : functions::doubles::gelu(number))
        .held;
  }
};
struct Not {
  template <typename C>
  static C apply(C x, const Parameters&) {
    if constexpr (std::is_same_v<C, bool>) {
      return !x;
    } else {
      return static_cast<C>(~x);
    }
  }
};

// Binary functions. Integers wrap; an integer division by zero is told by kDivides.

template <typename C, typename F>
C wrapping(C x, C y, F f) {
  if constexpr (std::is_integral_v<C>) {
    // At least 32 unsigned bits: narrower types would be promoted to int, which may overflow.
    using U = std::common_type_t<std::make_unsigned_t<C>, unsigned>;
    return static_cast<C>(f(static_cast<U>(x), static_cast<U>(y)));
  } else {
    return f(x, y);
  }
}

struct Add {
  template <typename C>
  static C apply(C x, C y) {
    return wrapping(x, y, [](auto a, auto b) { return a + b; });
  }
};
struct Sub {
  template <typename C>
  static C apply(C x, C y) {
    return wrapping(x, y, [](auto a, auto b) { return a - b; });
  }
};
struct Mul {
  template <typename C>
  static C apply(C x, C y) {
    return wrapping(x, y, [](auto a, auto b) { return a * b; });
  }
};
struct Div {
  static constexpr bool kDivides = true;
  template <typename C>
  static C apply(C x, C y) {
    if constexpr (std::is_integral_v<C> && std::is_signed_v<C>) {
      if (y == -1) {
        return wrappingNeg(x);  // the smallest number has no opposite
      }
    }
    return static_cast<C>(x / y);
  }
};
/// The remainder of the quotient rounded down (of the sign of y) or towards zero (of that of x).
template <bool kTruncate>
struct Mod {
  static constexpr bool kDivides = true;
  template <typename C>
  static C apply(C x, C y) {
    if constexpr (std::is_floating_point_v<C>) {
      C rest = std::fmod(x, y);
      if (kTruncate || std::isnan(rest)) {
        return rest;
      }
      return rest == 0 ? std::copysign(C{0}, y) : (rest < 0) != (y < 0) ? rest + y : rest;
    } else {
      if constexpr (std::is_signed_v<C>) {
        if (y == -1) {
          return 0;  // the smallest number has no opposite
        }
      }
      auto rest = static_cast<C>(x % y);
      return !kTruncate && rest != 0 && (rest < 0) != (y < 0) ? static_cast<C>(rest + y) : rest;
    }
  }
};
struct Pow {
  template <typename C>
  static C apply(C x, C y) {
    if constexpr (std::is_integral_v<C>) {
      if constexpr (std::is_signed_v<C>) {
        if (y < 0) {
          return x == 1 ? C{1} : x == -1 ? static_cast<C>(y % 2 == 0 ? 1 : -1) : C{0};
        }
      }
      C result = 1;
      for (C power = x; y > 0; y = static_cast<C>(y / 2), power = Mul::apply(power, power)) {
        result = y % 2 != 0 ? Mul::apply(result, power) : result;
      }
      return result;
    } else if constexpr (std::is_same_v<C, float>) {
      using Lane = functions::Lanes<float, 1>;
      return functions::power(Lane{x}, Lane{y}).held;
    } else {
      return std::pow(x, y);
    }
  }
};
struct Min {
  template <typename C>
  static C apply(C x, C y) {
    return x != x || x < y ? x : y;  // NaN wins
  }
};
struct Max {
  template <typename C>
  static C apply(C x, C y) {
    return x != x || x > y ? x : y;
  }
};
struct PRelu {
  template <typename C>
  static C apply(C x, C slope) {
    return x >= 0 ? x : Mul::apply(x, slope);
  }
};
struct Equal {
  template <typename C>
  static bool apply(C x, C y) {
    return x == y;
  }
};
struct Less {
  template <typename C>
  static bool apply(C x, C y) {
    return x < y;
  }
};
struct LessEqual {
  template <typename C>
  static bool apply(C x, C y) {
    return x <= y;
  }
};
struct And {
  template <typename C>
  static C apply(C x, C y) {
    return static_cast<C>(x & y);
  }
};
struct Or {
  template <typename C>
  static C apply(C x, C y) {
    return static_cast<C>(x | y);
  }
};
struct Xor {
  template <typename C>
  static C apply(C x, C y) {
    return static_cast<C>(x ^ y);
  }
};

/// False for an amount that is negative or not below the width of C.
template <typename C>
bool isShift(C amount) {
  return amount >= 0 && static_cast<uint64_t>(amount) < 8 * sizeof(C);
}
struct ShiftLeft {
  template <typename C>
  static C apply(C x, C amount) {
    uint64_t bits = static_cast<uint64_t>(static_cast<int64_t>(x));
    return isShift(amount) ? static_cast<C>(bits << static_cast<uint64_t>(amount)) : C{0};
  }
};
struct ShiftRight {
  template <typename C>
  static C apply(C x, C amount) {
    C sign = static_cast<C>(x < 0 ? -1 : 0);
    return isShift(amount) ? static_cast<C>(x >> amount) : sign;
  }
};

using UnaryLoop = void (*)(const void* in, void* out, int64_t begin, int64_t end,
                           const Parameters& p);

template <typename F, typename T>
void unaryLoop(const void* in, void* out, int64_t begin, int64_t end, const Parameters& p) {
  const T* from = static_cast<const T*>(in);
  T* to = static_cast<T*>(out);
  for (int64_t i = begin; i < end; ++i) {
    to[i] = store<T>(static_cast<Compute<T>>(F::apply(load(from[i]), p)));
  }
}

/// Elements of 16 bits are computed in f32, a row at a time.
template <typename T>
void rowLoop(const RowFunction& function, const void* in, void* out, int64_t begin, int64_t end) {
  constexpr int64_t kRow = 256;
  const T* from = static_cast<const T*>(in);
  T* to = static_cast<T*>(out);
  if constexpr (std::is_same_v<T, float>) {
    function(from + begin, to + begin, end - begin);
  } else {
    std::array<float, kRow> row;
    for (int64_t i = begin; i < end; i += kRow) {
      int64_t count = std::min(kRow, end - i);
      std::transform(from + i, from + i + count, row.begin(), load<T>);
      function(row.data(), row.data(), count);
      std::transform(row.begin(), row.begin() + count, to + i, store<T>);
    }
  }
}

/// `runs` over the elements of one tensor in ranges, here and in other threads.
KernelOr makeUnary(const Step& step, UnaryLoop loop, Parameters parameters) {
  if (step.inputs[0].desc.dims != step.outputs[0].desc.dims) {
    return invalidStep(step, "operand and result have different shapes");
  }
  int64_t count = countOf(step.outputs[0].desc.dims);
  return makeKernel([loop, parameters, count, in = step.inputs[0].buffer,
                     out = step.outputs[0].buffer](void* const* buffers) {
    parallelRanges(count, [&](int64_t begin, int64_t end) {
      loop(buffers[in], buffers[out], begin, end, parameters);
    });
    return 0;
  });
}

/// Inner loop of a binary operation over rows with strides; false for a division by zero.
using BinaryLoop = bool (*)(const void* x, int64_t xOffset, int64_t xStride, const void* y,
                            int64_t yOffset, int64_t yStride, void* out, int64_t outOffset,
                            int64_t count);

template <typename F, typename T>
constexpr bool kCanDivideByZero = std::is_integral_v<Compute<T>> && requires { F::kDivides; };

template <typename F, typename T, typename R>
bool binaryLoop(const void* x, int64_t xOffset, int64_t xStride, const void* y, int64_t yOffset,
                int64_t yStride, void* out, int64_t outOffset, int64_t count) {
  const T* a = static_cast<const T*>(x) + xOffset;
  const T* b = static_cast<const T*>(y) + yOffset;
  R* to = static_cast<R*>(out) + outOffset;
  for (int64_t i = 0; i < count; ++i) {
    Compute<T> right = load(b[i * yStride]);
    if constexpr (kCanDivideByZero<F, T>) {
      if (right == 0) {
        return false;
      }
    }
    to[i] = store<R>(static_cast<Compute<R>>(F::apply(load(a[i * xStride]), right)));
  }
  return true;
}

constexpr const char* kBinaryMessages[] = {"integer division by zero"};

KernelOr makeBinary(const Step& step, BinaryLoop loop) {
  const Dims operands[] = {step.inputs[0].desc.dims, step.inputs[1].desc.dims};
  GR_ASSIGN_OR_RETURN(Broadcast plan, Broadcast::make(step, step.outputs[0].desc.dims, operands));
  uint32_t x = step.inputs[0].buffer;
  uint32_t y = step.inputs[1].buffer;
  uint32_t out = step.outputs[0].buffer;
  int64_t sx = plan.innerStride(0);
  int64_t sy = plan.innerStride(1);
  int64_t inner = plan.inner();
  if (plan.rows() == 1 && inner < kParallelWork) {
    return makeKernel(
        [=](void* const* buffers) {
          return loop(buffers[x], 0, sx, buffers[y], 0, sy, buffers[out], 0, inner) ? 0 : 1;
        },
        kBinaryMessages);
  }
  if (plan.rows() == 1) {
    return makeKernel(
        [=](void* const* buffers) {
          std::atomic<bool> good = true;
          parallelRanges(inner, [&](int64_t begin, int64_t end) {
            if (!loop(buffers[x], begin * sx, sx, buffers[y], begin * sy, sy, buffers[out], begin,
                      end - begin)) {
              good.store(false, std::memory_order_relaxed);
            }
          });
          return good.load(std::memory_order_relaxed) ? 0 : 1;
        },
        kBinaryMessages);
  }
  return makeKernel(
      [=](void* const* buffers) {
        std::atomic<bool> good = true;
        parallelFor(plan.rows(), inner, [&](int64_t row) {
          if (!loop(buffers[x], plan.offset(row, 0), sx, buffers[y], plan.offset(row, 1), sy,
                    buffers[out], row * inner, inner)) {
            good.store(false, std::memory_order_relaxed);
          }
        });
        return good.load(std::memory_order_relaxed) ? 0 : 1;
      },
      kBinaryMessages);
}

template <typename F>
KernelOr unaryFloat(const Step& step, Parameters parameters) {
  UnaryLoop loop = dispatchFloat(step.outputs[0].desc.type,
                                 []<typename T>() -> UnaryLoop { return unaryLoop<F, T>; });
  return makeUnary(step, loop, parameters);
}

/// One of devices/functions; F is what it is for f64.
template <typename F>
KernelOr rowUnary(const Step& step, const RowFunction& function, Parameters parameters) {
  ElementType type = step.outputs[0].desc.type;
  if (type == ElementType::kF64) {
    return makeUnary(step, unaryLoop<F, double>, parameters);
  }
  if (step.inputs[0].desc.dims != step.outputs[0].desc.dims) {
    return invalidStep(step, "operand and result have different shapes");
  }
  auto loop = type == ElementType::kF16    ? rowLoop<Half>
              : type == ElementType::kBF16 ? rowLoop<BFloat16>
                                           : rowLoop<float>;
  int64_t count = countOf(step.outputs[0].desc.dims);
  return makeKernel([loop, function, count, in = step.inputs[0].buffer,
                     out = step.outputs[0].buffer](void* const* buffers) {
    parallelRanges(count, [&](int64_t begin, int64_t end) {
      loop(function, buffers[in], buffers[out], begin, end);
    });
    return 0;
  });
}

/// One that has a meaning for integers too.
template <typename F>
KernelOr unaryNumeric(const Step& step, Parameters parameters) {
  UnaryLoop loop = dispatchElement(step.outputs[0].desc.type, []<typename T>() -> UnaryLoop {
    if constexpr (std::is_same_v<T, Boolean>) {
      return nullptr;  // refused by the type rule
    } else {
      return unaryLoop<F, T>;
    }
  });
  return makeUnary(step, loop, parameters);
}

/// Attributes `first` and `second`, with what they are by default; a missing name has no attribute.
absl::StatusOr<Parameters> parameters(const Step& step, const char* first, double firstDefault,
                                      const char* second = nullptr, double secondDefault = 0) {
  Parameters p{firstDefault, secondDefault};
  GR_ASSIGN_OR_RETURN(p.first, attributeOr(step, first, firstDefault));
  if (second != nullptr) {
    GR_ASSIGN_OR_RETURN(p.second, attributeOr(step, second, secondDefault));
  }
  return p;
}

template <typename F>
KernelOr plainFloat(const Step& step) {
  return unaryFloat<F>(step, {});
}
/// The function that has the operation's name.
template <typename F>
KernelOr plainRow(const Step& step) {
  // NOLINTNEXTLINE(bugprone-unchecked-optional-access): it was checked before
  return rowUnary<F>(step, *rowFunction(step.operation), {});
}
/// The same with parameters.
template <typename F>
KernelOr rowWith(const Step& step, Parameters p) {
  auto alpha = static_cast<float>(p.first), beta = static_cast<float>(p.second);
  // NOLINTNEXTLINE(bugprone-unchecked-optional-access): it was checked before
  return rowUnary<F>(step, *rowFunction(step.operation, alpha, beta), p);
}
template <typename F>
KernelOr plainNumeric(const Step& step) {
  return unaryNumeric<F>(step, {});
}

template <typename F>
KernelOr binaryNumeric(const Step& step) {
  BinaryLoop loop = dispatchElement(step.inputs[0].desc.type, []<typename T>() -> BinaryLoop {
    if constexpr (std::is_same_v<T, Boolean>) {
      return nullptr;  // refused by the type rule
    } else {
      return binaryLoop<F, T, T>;
    }
  });
  return makeBinary(step, loop);
}

template <typename F>
KernelOr compare(const Step& step) {
  BinaryLoop loop = dispatchElement(step.inputs[0].desc.type, []<typename T>() -> BinaryLoop {
    return binaryLoop<F, T, Boolean>;
  });
  return makeBinary(step, loop);
}

/// Calls `f.template operator()<T>()` for integers and bool; the type rule refused the others.
template <typename Loop, typename F>
Loop dispatchBits(ElementType type, const F& f) {
  return dispatchElement(type, [&]<typename T>() -> Loop {
    if constexpr (std::is_integral_v<Compute<T>>) {
      return f.template operator()<T>();
    } else {
      return nullptr;
    }
  });
}

template <typename F>
KernelOr bitwise(const Step& step) {
  return makeBinary(
      step, dispatchBits<BinaryLoop>(step.inputs[0].desc.type, []<typename T>() -> BinaryLoop {
        return binaryLoop<F, T, T>;
      }));
}

template <typename F>
KernelOr shift(const Step& step) {
  BinaryLoop loop =
      dispatchBits<BinaryLoop>(step.inputs[0].desc.type, []<typename T>() -> BinaryLoop {
        if constexpr (std::is_same_v<T, Boolean>) {
          return nullptr;  // refused by the type rule
        } else {
          return binaryLoop<F, T, T>;
        }
      });
  return makeBinary(step, loop);
}

KernelOr createNot(const Step& step) {
  UnaryLoop loop = dispatchBits<UnaryLoop>(
      step.inputs[0].desc.type, []<typename T>() -> UnaryLoop { return unaryLoop<Not, T>; });
  return makeUnary(step, loop, {});
}

KernelOr createMod(const Step& step) {
  GR_ASSIGN_OR_RETURN(bool truncate, attributeOr(step, "truncate", false));
  return truncate ? binaryNumeric<Mod<true>>(step) : binaryNumeric<Mod<false>>(step);
}

KernelOr createLeakyRelu(const Step& step) {
  GR_ASSIGN_OR_RETURN(Parameters p, parameters(step, "alpha", 0.01));
  return unaryFloat<LeakyRelu>(step, p);
}
KernelOr createSwish(const Step& step) {
  GR_ASSIGN_OR_RETURN(Parameters p, parameters(step, "alpha", 1.0));
  return rowWith<Swish>(step, p);
}
KernelOr createElu(const Step& step) {
  GR_ASSIGN_OR_RETURN(Parameters p, parameters(step, "alpha", 1.0));
  return rowWith<Elu>(step, p);
}
KernelOr createSelu(const Step& step) {
  GR_ASSIGN_OR_RETURN(Parameters p, parameters(step, "alpha", 1.67326319217681884765625, "gamma",
                                               1.05070102214813232421875));
  return rowWith<Selu>(step, p);
}
KernelOr createHardSigmoid(const Step& step) {
  GR_ASSIGN_OR_RETURN(Parameters p, parameters(step, "alpha", 0.2, "beta", 0.5));
  return rowWith<HardSigmoid>(step, p);
}
KernelOr createGelu(const Step& step) {
  GR_ASSIGN_OR_RETURN(bool approximate, attributeOr(step, "approximate", false));
  // NOLINTNEXTLINE(bugprone-unchecked-optional-access): it was checked before
  return rowUnary<Gelu>(step, *rowFunction(approximate ? "gelu_tanh" : step.operation),
                        {approximate ? 1.0 : 0.0, 0});
}
KernelOr createClip(const Step& step) {
  Parameters p;
  GR_ASSIGN_OR_RETURN(p.first, attribute<double>(step, "low"));
  GR_ASSIGN_OR_RETURN(p.second, attribute<double>(step, "high"));
  return unaryNumeric<Clip>(step, p);
}

// Selection.

template <typename T>
void selectRow(const uint8_t* condition, int64_t sc, const T* x, int64_t sx, const T* y, int64_t sy,
               T* out, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    out[i] = condition[i * sc] != 0 ? x[i * sx] : y[i * sy];
  }
}

KernelOr createWhere(const Step& step) {
  const Dims operands[] = {step.inputs[0].desc.dims, step.inputs[1].desc.dims,
                           step.inputs[2].desc.dims};
  GR_ASSIGN_OR_RETURN(Broadcast plan, Broadcast::make(step, step.outputs[0].desc.dims, operands));
  uint32_t c = step.inputs[0].buffer;
  uint32_t x = step.inputs[1].buffer;
  uint32_t y = step.inputs[2].buffer;
  uint32_t out = step.outputs[0].buffer;
  return dispatchSize(step.outputs[0].desc.type, [&]<typename T>() -> KernelOr {
    return makeKernel([=](void* const* buffers) {
      parallelFor(plan.rows(), plan.inner(), [&](int64_t row) {
        selectRow(static_cast<const uint8_t*>(buffers[c]) + plan.offset(row, 0),
                  plan.innerStride(0), static_cast<const T*>(buffers[x]) + plan.offset(row, 1),
                  plan.innerStride(1), static_cast<const T*>(buffers[y]) + plan.offset(row, 2),
                  plan.innerStride(2), static_cast<T*>(buffers[out]) + row * plan.inner(),
                  plan.inner());
      });
      return 0;
    });
  });
}

constexpr ReferenceEntry kEntries[] = {
    {"gr.abs", TypeRule::kNumeric, plainNumeric<Abs>},
    {"gr.neg", TypeRule::kNumeric, plainNumeric<Neg>},
    {"gr.sign", TypeRule::kNumeric, plainNumeric<Sign>},
    {"gr.relu", TypeRule::kNumeric, plainNumeric<Relu>},
    {"gr.clip", TypeRule::kNumeric, createClip},
    {"gr.exp", TypeRule::kFloat, plainRow<Exp>},
    {"gr.log", TypeRule::kFloat, plainRow<Log>},
    {"gr.sqrt", TypeRule::kFloat, plainFloat<Sqrt>},
    {"gr.reciprocal", TypeRule::kFloat, plainFloat<Reciprocal>},
    {"gr.floor", TypeRule::kFloat, plainFloat<Floor>},
    {"gr.ceil", TypeRule::kFloat, plainFloat<Ceil>},
    {"gr.round", TypeRule::kFloat, plainFloat<Round>},
    {"gr.erf", TypeRule::kFloat, plainRow<Erf>},
    {"gr.sin", TypeRule::kFloat, plainRow<Sin>},
    {"gr.cos", TypeRule::kFloat, plainRow<Cos>},
    {"gr.tan", TypeRule::kFloat, plainRow<Tan>},
    {"gr.asin", TypeRule::kFloat, plainRow<Asin>},
    {"gr.acos", TypeRule::kFloat, plainRow<Acos>},
    {"gr.atan", TypeRule::kFloat, plainRow<Atan>},
    {"gr.sinh", TypeRule::kFloat, plainRow<Sinh>},
    {"gr.cosh", TypeRule::kFloat, plainRow<Cosh>},
    {"gr.tanh", TypeRule::kFloat, plainRow<Tanh>},
    {"gr.asinh", TypeRule::kFloat, plainRow<Asinh>},
    {"gr.acosh", TypeRule::kFloat, plainRow<Acosh>},
    {"gr.atanh", TypeRule::kFloat, plainRow<Atanh>},
    {"gr.sigmoid", TypeRule::kFloat, plainRow<Sigmoid>},
    {"gr.softplus", TypeRule::kFloat, plainRow<Softplus>},
    {"gr.hard_swish", TypeRule::kFloat, plainRow<HardSwish>},
    {"gr.leaky_relu", TypeRule::kFloat, createLeakyRelu},
    {"gr.swish", TypeRule::kFloat, createSwish},
    {"gr.elu", TypeRule::kFloat, createElu},
    {"gr.selu", TypeRule::kFloat, createSelu},
    {"gr.hard_sigmoid", TypeRule::kFloat, createHardSigmoid},
    {"gr.gelu", TypeRule::kFloat, createGelu},
    {"gr.not", TypeRule::kBits, createNot},
    {"gr.add", TypeRule::kNumeric, binaryNumeric<Add>, 2},
    {"gr.sub", TypeRule::kNumeric, binaryNumeric<Sub>, 2},
    {"gr.mul", TypeRule::kNumeric, binaryNumeric<Mul>, 2},
    {"gr.div", TypeRule::kNumeric, binaryNumeric<Div>, 2},
    {"gr.pow", TypeRule::kNumeric, binaryNumeric<Pow>, 2},
    {"gr.min", TypeRule::kNumeric, binaryNumeric<Min>, 2},
    {"gr.max", TypeRule::kNumeric, binaryNumeric<Max>, 2},
    {"gr.prelu", TypeRule::kNumeric, binaryNumeric<PRelu>, 2},
    {"gr.equal", TypeRule::kCompareAny, compare<Equal>, 2},
    {"gr.less", TypeRule::kCompareNumeric, compare<Less>, 2},
    {"gr.less_equal", TypeRule::kCompareNumeric, compare<LessEqual>, 2},
    {"gr.and", TypeRule::kBits, bitwise<And>, 2},
    {"gr.or", TypeRule::kBits, bitwise<Or>, 2},
    {"gr.xor", TypeRule::kBits, bitwise<Xor>, 2},
    {"gr.shift_left", TypeRule::kInteger, shift<ShiftLeft>, 2},
    {"gr.shift_right", TypeRule::kInteger, shift<ShiftRight>, 2},
    {"gr.mod", TypeRule::kNumeric, createMod, 2},
    {"gr.where", TypeRule::kSelect, createWhere, 3},
};

}  // namespace

absl::Span<const ReferenceEntry> referenceElementwise() { return kEntries; }

}  // namespace graphrun::devices::cpu
