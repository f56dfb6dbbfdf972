// Random numbers by Philox4x32-10: element i is a function of seed, step and i.
#include <array>
#include <numbers>
#include <optional>
#include <random>

#include "devices/cpu/reference/reference_support.h"

namespace graphrun::devices::cpu {
namespace {

/// A counter of 128 bits.
struct Counter {
  uint64_t low, high;
};

/// Four words for a counter (Salmon et al., "Parallel Random Numbers: As Easy as 1, 2, 3", 2011).
std::array<uint32_t, 4> philox(Counter counter, uint64_t seed) {
  constexpr int kRounds = 10;
  std::array<uint32_t, 4> words = {
      static_cast<uint32_t>(counter.low), static_cast<uint32_t>(counter.low >> 32),
      static_cast<uint32_t>(counter.high), static_cast<uint32_t>(counter.high >> 32)};
  auto low = static_cast<uint32_t>(seed);
  auto high = static_cast<uint32_t>(seed >> 32);
  for (int round = 0; round < kRounds; ++round) {
    uint64_t a = uint64_t{0xD2511F53} * words[0];
    uint64_t b = uint64_t{0xCD9E8D57} * words[2];
    words = {static_cast<uint32_t>(b >> 32) ^ words[1] ^ low, static_cast<uint32_t>(b),
             static_cast<uint32_t>(a >> 32) ^ words[3] ^ high, static_cast<uint32_t>(a)};
    low += 0x9E3779B9U;
    high += 0xBB67AE85U;
  }
  return words;
}

/// The two 64-bit numbers of a counter.
std::array<uint64_t, 2> bitsOf(Counter counter, uint64_t seed) {
  std::array<uint32_t, 4> words = philox(counter, seed);
  return {words[0] | uint64_t{words[1]} << 32, words[2] | uint64_t{words[3]} << 32};
}

/// The leading `digits` bits as a number in [0, 1).
double fraction(uint64_t bits, int digits) {
  return std::ldexp(static_cast<double>(bits >> (64 - digits)), -digits);
}

/// Bits in the significand of a stored type.
template <typename T>
constexpr int kDigits = std::numeric_limits<T>::digits;
template <>
constexpr int kDigits<Half> = 11;
template <>
constexpr int kDigits<BFloat16> = 8;

struct Distribution {
  bool normal;
  double a, b;
  uint64_t seed;

  /// Elements 2 i and 2 i + 1 of a step.
  template <typename T>
  std::array<double, 2> pair(int64_t i, uint64_t step) const {
    std::array<uint64_t, 2> bits = bitsOf({static_cast<uint64_t>(i), step}, seed);
    if (!normal) {
      return {a + (b - a) * fraction(bits[0], kDigits<T>),
              a + (b - a) * fraction(bits[1], kDigits<T>)};
    }
    // 1 - u is in (0, 1], where the logarithm is finite.
    double radius = b * std::sqrt(-2 * std::log(1 - fraction(bits[0], kDigits<double>)));
    double angle = 2 * std::numbers::pi * fraction(bits[1], kDigits<double>);
    return {a + radius * std::cos(angle), a + radius * std::sin(angle)};
  }
};

/// The operand that has the step's number; nothing where it is left out.
absl::StatusOr<std::optional<IntOperand>> stepOf(const Instruction& instruction) {
  if (instruction.inputs.size() < 2) {
    return std::nullopt;
  }
  GR_ASSIGN_OR_RETURN(IntOperand step, IntOperand::make(instruction, 1));
  if (step.count != 1) {
    return invalidInstruction(instruction, "the step is not one number");
  }
  return step;
}

/// The numbers of NumPy's RandomState(seed), a + (b - a) u each, in order.
KernelOr createNumpyUniform(const Instruction& instruction, const Distribution& distribution) {
  uint32_t out = instruction.outputs[0].buffer;
  int64_t count = countOf(instruction.outputs[0].desc.dims);
  if (distribution.normal || instruction.outputs[0].desc.type != ElementType::kF64 ||
      instruction.inputs.size() > 1) {
    return invalidInstruction(instruction, "mt19937 makes uniform f64 only, of no step");
  }
  return makeKernel([=](void* const* buffers) {
    std::mt19937 random(static_cast<uint32_t>(distribution.seed));
    for (int64_t i = 0; i < count; ++i) {
      auto high = static_cast<double>(random() >> 5);
      auto low = static_cast<double>(random() >> 6);
      double u = (high * 0x1p26 + low) * 0x1p-53;
      static_cast<double*>(buffers[out])[i] =
          distribution.a + (distribution.b - distribution.a) * u;
    }
    return 0;
  });
}

KernelOr createRandom(const Instruction& instruction) {
  GR_ASSIGN_OR_RETURN(std::string kind, attribute<std::string>(instruction, "kind"));
  GR_ASSIGN_OR_RETURN(double a, attribute<double>(instruction, "a"));
  GR_ASSIGN_OR_RETURN(double b, attribute<double>(instruction, "b"));
  GR_ASSIGN_OR_RETURN(int64_t seed, attribute<int64_t>(instruction, "seed"));
  if (kind != "uniform" && kind != "normal") {
    return invalidInstruction(instruction,
                              absl::StrCat("kind is \"", kind, "\", expected uniform or normal"));
  }
  GR_ASSIGN_OR_RETURN(std::string generator,
                      attributeOr(instruction, "generator", std::string("philox")));
  Distribution distribution{kind == "normal", a, b, static_cast<uint64_t>(seed)};
  if (generator == "mt19937") {
    return createNumpyUniform(instruction, distribution);
  }
  if (generator != "philox") {
    return invalidInstruction(instruction,
                              absl::StrCat("generator is \"", generator, "\", which is unknown"));
  }
  GR_ASSIGN_OR_RETURN(std::optional<IntOperand> stepOperand, stepOf(instruction));
  uint32_t out = instruction.outputs[0].buffer;
  int64_t count = countOf(instruction.outputs[0].desc.dims);
  return dispatchFloat(instruction.outputs[0].desc.type, [&]<typename T>() -> KernelOr {
    return makeKernel([=](void* const* buffers) {
      T* y = static_cast<T*>(buffers[out]);
      auto step = static_cast<uint64_t>(stepOperand ? stepOperand->at(buffers, 0) : 0);
      parallelRanges((count + 1) / 2, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          std::array<double, 2> pair = distribution.pair<T>(i, step);
          y[2 * i] = store<T>(static_cast<Compute<T>>(pair[0]));
          if (2 * i + 1 < count) {
            y[2 * i + 1] = store<T>(static_cast<Compute<T>>(pair[1]));
          }
        }
      });
      return 0;
    });
  });
}

constexpr ReferenceEntry kEntries[] = {
    {"gr.random", TypeRule::kGenerate, createRandom, 1, 2},
};

}  // namespace

absl::Span<const ReferenceEntry> referenceRandom() { return kEntries; }

}  // namespace graphrun::devices::cpu
