// Says what the kinds of gr.reduce are, as devices/functions/reductions.def has it.
#ifndef GRAPHRUN_IR_REDUCTIONS_H_
#define GRAPHRUN_IR_REDUCTIONS_H_

#include "ir/dialect.h"

namespace graphrun::ir {

/// Says how two elements are combined.
enum class Combine : uint8_t { kAdd, kMul, kMax, kMin };

/// Says what a reduction of no elements is. With kNoNumber it is NaN, and of integers nothing.
enum class OfNothing : uint8_t { kZero, kOne, kLowest, kHighest, kNoNumber };

struct ReductionRule {
  bool takesIntegers;
  int64_t flops;  ///< of one element of the input
  OfNothing ofNothing;
  /// Has nothing for a kind that devices do not know: gr-simplify-graph spells it out.
  std::optional<Combine> combine;
  bool divides;  ///< by the number of elements, at the end
};

/// Returns the row of a kind.
ReductionRule ruleOf(ReduceKind kind);

/// Returns the element-wise operation that combines so: "gr.add".
llvm::StringRef operationOf(Combine combine);

}  // namespace graphrun::ir

#endif  // GRAPHRUN_IR_REDUCTIONS_H_
