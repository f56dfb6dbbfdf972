// Numerics and precision say how freely kernels may round, and to what.
#ifndef GRAPHRUN_RUNTIME_BASE_NUMERICS_H_
#define GRAPHRUN_RUNTIME_BASE_NUMERICS_H_

#include <cstdint>

namespace graphrun::runtime {

/// Numerics say which ways to compute an operation are allowed. In files as a number: append only.
enum class Numerics : uint8_t {
  kFast,   ///< also algorithms of more rounding that weights and elements bound: Winograd's
  kExact,  ///< only algorithms that round as the operation's definition does, in any order of sums
  /// As kExact, chosen by the operation alone: equal bits from run to run and split to split.
  kDeterministic
};

/// Precision is the type in which products, and what lies between them, are computed. In files as a
/// number: append only.
enum class Precision : uint8_t {
  kF32,  ///< as the model says
  /// Operands and results of f32 rounded to bf16 (8 bits of precision), sums kept in f32; inputs,
  /// outputs and normalisations stay as they are.
  kBF16,
  /// GPUs may round the factors of products and convolutions of f32 to TF32 (11 bits of precision);
  /// everything else, and all that CPUs compute, is as with kF32.
  kTF32
};

}  // namespace graphrun::runtime

#endif  // GRAPHRUN_RUNTIME_BASE_NUMERICS_H_
