// Element-wise operations: unary, binary, comparison, selection.
#include <algorithm>
#include <array>
#include <atomic>

#include "devices/cpu/reference/reference_support.h"
#include "devices/cpu/vectors/row_functions.h"
#include "devices/functions/double_functions.h"
#include "devices/functions/lanes.h"
#include "devices/functions/scalars.h"
#include "devices/functions/wide_functions.h"

namespace graphrun::devices::cpu {
namespace {

struct Parameters {
  double first = 0;   ///< alpha, low
  double second = 0;  ///< beta, gamma, high
};

using Double = functions::Lanes<double>;
namespace scalars = functions::scalars;

// Unary functions. f(x, p) computes in the type of x.

/// One of functions::scalars, which have no parameters.
template <typename F>
struct Plain {
  template <typename C>
  static C apply(C x, const Parameters&) {
    return F::apply(x);
  }
};
#define GR_INSTRUCTION(Class, name, flops, onnx, since, library, Math) \
  struct Class {                                                       \
    template <typename C>                                              \
    static C apply(C x, const Parameters&) {                           \
      return std::library(x);                                          \
    }                                                                  \
  };
// Only for f64: rows of floats have the others.
#define GR_LIBRARY(Class, name, flops, onnx, since, computed, row)            \
  struct Class {                                                              \
    static double apply(double x, const Parameters&) { return std::name(x); } \
  };
#define GR_FORM(Class, name, builder, flops, onnx, since, form, ...) \
  struct Class {                                                     \
    static double apply(double number, const Parameters& p) {        \
      Double x{number};                                              \
      [[maybe_unused]] Double a{p.first};                            \
      [[maybe_unused]] Double b{p.second};                           \
      return functions::doubles::form.held;                          \
    }                                                                \
  };
#include "devices/functions/elementwise.def"

struct Clip {
  template <typename C>
  static C apply(C x, const Parameters& p) {
    C low = convert<C>(p.first);
    C high = convert<C>(p.second);
    C raised = x < low ? low : x;
    return raised > high ? high : raised;
  }
};
struct LeakyRelu {
  template <typename C>
  static C apply(C x, const Parameters& p) {
    return x >= 0 ? x : x * static_cast<C>(p.first);
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

// Binary functions. An integer division by zero is told by kDivides.

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
      for (C power = x; y > 0;
           y = static_cast<C>(y / 2), power = scalars::Mul::apply(power, power)) {
        result = y % 2 != 0 ? scalars::Mul::apply(result, power) : result;
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
KernelOr makeUnary(const Instruction& instruction, UnaryLoop loop, Parameters parameters) {
  if (instruction.inputs[0].desc.dims != instruction.outputs[0].desc.dims) {
    return invalidInstruction(instruction, "operand and result have different shapes");
  }
  int64_t count = countOf(instruction.outputs[0].desc.dims);
  return makeKernel([loop, parameters, count, in = instruction.inputs[0].buffer,
                     out = instruction.outputs[0].buffer](void* const* buffers) {
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

KernelOr makeBinary(const Instruction& instruction, BinaryLoop loop) {
  const Dims operands[] = {instruction.inputs[0].desc.dims, instruction.inputs[1].desc.dims};
  GR_ASSIGN_OR_RETURN(Broadcast plan,
                      Broadcast::make(instruction, instruction.outputs[0].desc.dims, operands));
  uint32_t x = instruction.inputs[0].buffer;
  uint32_t y = instruction.inputs[1].buffer;
  uint32_t out = instruction.outputs[0].buffer;
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
KernelOr unaryFloat(const Instruction& instruction, Parameters parameters) {
  UnaryLoop loop = dispatchFloat(instruction.outputs[0].desc.type,
                                 []<typename T>() -> UnaryLoop { return unaryLoop<F, T>; });
  return makeUnary(instruction, loop, parameters);
}

/// One of devices/functions; F is what it is for f64.
template <typename F>
KernelOr rowUnary(const Instruction& instruction, const RowFunction& function,
                  Parameters parameters) {
  ElementType type = instruction.outputs[0].desc.type;
  if (type == ElementType::kF64) {
    return makeUnary(instruction, unaryLoop<F, double>, parameters);
  }
  if (instruction.inputs[0].desc.dims != instruction.outputs[0].desc.dims) {
    return invalidInstruction(instruction, "operand and result have different shapes");
  }
  auto loop = type == ElementType::kF16    ? rowLoop<Half>
              : type == ElementType::kBF16 ? rowLoop<BFloat16>
                                           : rowLoop<float>;
  int64_t count = countOf(instruction.outputs[0].desc.dims);
  return makeKernel([loop, function, count, in = instruction.inputs[0].buffer,
                     out = instruction.outputs[0].buffer](void* const* buffers) {
    parallelRanges(count, [&](int64_t begin, int64_t end) {
      loop(function, buffers[in], buffers[out], begin, end);
    });
    return 0;
  });
}

/// One that has a meaning for integers too.
template <typename F>
KernelOr unaryNumeric(const Instruction& instruction, Parameters parameters) {
  UnaryLoop loop = dispatchElement(instruction.outputs[0].desc.type, []<typename T>() -> UnaryLoop {
    if constexpr (std::is_same_v<T, Boolean>) {
      return nullptr;  // refused by the type rule
    } else {
      return unaryLoop<F, T>;
    }
  });
  return makeUnary(instruction, loop, parameters);
}

/// Attributes `first` and `second`, with what they are by default; a missing name has no attribute.
absl::StatusOr<Parameters> parameters(const Instruction& instruction, const char* first,
                                      double firstDefault, const char* second = nullptr,
                                      double secondDefault = 0) {
  Parameters p{firstDefault, secondDefault};
  GR_ASSIGN_OR_RETURN(p.first, attributeOr(instruction, first, firstDefault));
  if (second != nullptr) {
    GR_ASSIGN_OR_RETURN(p.second, attributeOr(instruction, second, secondDefault));
  }
  return p;
}

template <typename F>
KernelOr plainFloat(const Instruction& instruction) {
  return unaryFloat<F>(instruction, {});
}
/// The function that has the operation's name.
template <typename F>
KernelOr plainRow(const Instruction& instruction) {
  // NOLINTNEXTLINE(bugprone-unchecked-optional-access): it was checked before
  return rowUnary<F>(instruction,
                     *rowFunction(instruction.operation, instruction.inputs[0].desc.type), {});
}
/// The same with parameters.
template <typename F>
KernelOr rowWith(const Instruction& instruction, Parameters p) {
  auto alpha = static_cast<float>(p.first), beta = static_cast<float>(p.second);
  // NOLINTNEXTLINE(bugprone-unchecked-optional-access): it was checked before
  return rowUnary<F>(
      instruction,
      *rowFunction(instruction.operation, instruction.inputs[0].desc.type, alpha, beta), p);
}
template <typename F>
KernelOr plainNumeric(const Instruction& instruction) {
  return unaryNumeric<Plain<F>>(instruction, {});
}
/// Parameters of these names, with what they are by default.
struct Named {
  const char* name = nullptr;
  double usual = 0;
};
template <typename F>
KernelOr rowOf(const Instruction& instruction, Named first = {}, Named second = {}) {
  if (first.name == nullptr) {
    return plainRow<F>(instruction);
  }
  GR_ASSIGN_OR_RETURN(Parameters p,
                      parameters(instruction, first.name, first.usual, second.name, second.usual));
  return rowWith<F>(instruction, p);
}

template <typename F>
KernelOr binaryNumeric(const Instruction& instruction) {
  BinaryLoop loop =
      dispatchElement(instruction.inputs[0].desc.type, []<typename T>() -> BinaryLoop {
        if constexpr (std::is_same_v<T, Boolean>) {
          return nullptr;  // refused by the type rule
        } else {
          return binaryLoop<F, T, T>;
        }
      });
  return makeBinary(instruction, loop);
}

template <typename F>
KernelOr compare(const Instruction& instruction) {
  BinaryLoop loop =
      dispatchElement(instruction.inputs[0].desc.type,
                      []<typename T>() -> BinaryLoop { return binaryLoop<F, T, Boolean>; });
  return makeBinary(instruction, loop);
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
KernelOr bitwise(const Instruction& instruction) {
  return makeBinary(instruction, dispatchBits<BinaryLoop>(instruction.inputs[0].desc.type,
                                                          []<typename T>() -> BinaryLoop {
                                                            return binaryLoop<F, T, T>;
                                                          }));
}

template <typename F>
KernelOr shift(const Instruction& instruction) {
  BinaryLoop loop =
      dispatchBits<BinaryLoop>(instruction.inputs[0].desc.type, []<typename T>() -> BinaryLoop {
        if constexpr (std::is_same_v<T, Boolean>) {
          return nullptr;  // refused by the type rule
        } else {
          return binaryLoop<F, T, T>;
        }
      });
  return makeBinary(instruction, loop);
}

KernelOr createNot(const Instruction& instruction) {
  UnaryLoop loop = dispatchBits<UnaryLoop>(
      instruction.inputs[0].desc.type,
      []<typename T>() -> UnaryLoop { return unaryLoop<Plain<scalars::Not>, T>; });
  return makeUnary(instruction, loop, {});
}

KernelOr createMod(const Instruction& instruction) {
  GR_ASSIGN_OR_RETURN(bool truncate, attributeOr(instruction, "truncate", false));
  return truncate ? binaryNumeric<scalars::Mod<true>>(instruction)
                  : binaryNumeric<scalars::Mod<false>>(instruction);
}

KernelOr createLeakyRelu(const Instruction& instruction) {
  GR_ASSIGN_OR_RETURN(Parameters p, parameters(instruction, "alpha", 0.01));
  return unaryFloat<LeakyRelu>(instruction, p);
}
KernelOr createGelu(const Instruction& instruction) {
  GR_ASSIGN_OR_RETURN(bool approximate, attributeOr(instruction, "approximate", false));
  const absl::string_view name = approximate ? "gelu_tanh" : "gr.gelu";
  // NOLINTNEXTLINE(bugprone-unchecked-optional-access): both are rows
  return rowUnary<Gelu>(instruction, *rowFunction(name, instruction.inputs[0].desc.type),
                        {approximate ? 1.0 : 0.0, 0});
}
KernelOr createClip(const Instruction& instruction) {
  Parameters p;
  GR_ASSIGN_OR_RETURN(p.first, attribute<double>(instruction, "low"));
  GR_ASSIGN_OR_RETURN(p.second, attribute<double>(instruction, "high"));
  return unaryNumeric<Clip>(instruction, p);
}

// Selection.

template <typename T>
void selectRow(const uint8_t* condition, int64_t sc, const T* x, int64_t sx, const T* y, int64_t sy,
               T* out, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    out[i] = condition[i * sc] != 0 ? x[i * sx] : y[i * sy];
  }
}

KernelOr createWhere(const Instruction& instruction) {
  const Dims operands[] = {instruction.inputs[0].desc.dims, instruction.inputs[1].desc.dims,
                           instruction.inputs[2].desc.dims};
  GR_ASSIGN_OR_RETURN(Broadcast plan,
                      Broadcast::make(instruction, instruction.outputs[0].desc.dims, operands));
  uint32_t c = instruction.inputs[0].buffer;
  uint32_t x = instruction.inputs[1].buffer;
  uint32_t y = instruction.inputs[2].buffer;
  uint32_t out = instruction.outputs[0].buffer;
  return dispatchSize(instruction.outputs[0].desc.type, [&]<typename T>() -> KernelOr {
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

// These macros implement the rules of elementwise.def.
#define GR_CREATE_Number(F) TypeRule::kNumeric, plainNumeric<F>
#define GR_CREATE_Float(F) TypeRule::kFloat, plainFloat<Plain<F>>
#define GR_CREATE_Bits(F) TypeRule::kBits, createNot
#define GR_TYPES_Equality TypeRule::kCompareAny
#define GR_TYPES_Order TypeRule::kCompareNumeric

constexpr ReferenceEntry kEntries[] = {
#define GR_NUMBER(Class, name, builder, rule, flops, onnx, since) \
  {"gr." #name, GR_CREATE_##rule(scalars::Class)},
#define GR_INSTRUCTION(Class, name, flops, onnx, since, library, Math) \
  {"gr." #name, TypeRule::kFloat, plainFloat<Class>},
#define GR_LIBRARY(Class, name, flops, onnx, since, computed, row) \
  {"gr." #name, TypeRule::kFloat, plainRow<Class>},
#define GR_FORM(Class, name, builder, flops, onnx, since, form, ...)   \
  {"gr." #name, TypeRule::kFloat, [](const Instruction& instruction) { \
     return rowOf<Class>(instruction __VA_OPT__(, ) __VA_ARGS__);      \
   }},
#define GR_ARITHMETIC(Class, name, builder, flops, onnx, since, neutral) \
  {"gr." #name, TypeRule::kNumeric, binaryNumeric<scalars::Class>, 2},
#define GR_COMPARISON(Class, name, builder, rule, onnx, since) \
  {"gr." #name, GR_TYPES_##rule, compare<scalars::Class>, 2},
#define GR_BITWISE(Class, name, builder, onnx, since) \
  {"gr." #name, TypeRule::kBits, bitwise<scalars::Class>, 2},
#define GR_SHIFT(Class, name, builder) {"gr." #name, TypeRule::kInteger, shift<scalars::Class>, 2},
#include "devices/functions/elementwise.def"
    {"gr.leaky_relu", TypeRule::kFloat, createLeakyRelu},
    {"gr.gelu", TypeRule::kFloat, createGelu},
    {"gr.clip", TypeRule::kNumeric, createClip},
    {"gr.pow", TypeRule::kNumeric, binaryNumeric<Pow>, 2},
    {"gr.mod", TypeRule::kNumeric, createMod, 2},
    {"gr.prelu", TypeRule::kNumeric, binaryNumeric<scalars::PRelu>, 2},
    {"gr.where", TypeRule::kSelect, createWhere, 3},
};

}  // namespace

absl::Span<const ReferenceEntry> referenceElementwise() { return kEntries; }

}  // namespace graphrun::devices::cpu
