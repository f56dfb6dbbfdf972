// Holds a gradient rule against central differences.
#ifndef GRAPHRUN_TESTS_IR_GRADIENTS_CENTRAL_DIFFERENCES_H_
#define GRAPHRUN_TESTS_IR_GRADIENTS_CENTRAL_DIFFERENCES_H_

#include <string>
#include <vector>

#include "absl/status/status.h"

namespace graphrun::ir {

/// An operation of f64 whose gradients are checked.
struct RuleCase {
  std::string op;
  /// "2x3" is an operand of f64 that is differentiated by, "" one of rank 0, "dense<[1, 2]> : …" a
  /// constant, and "constant 2x3" numbers that are not differentiated by.
  std::vector<std::string> operands;
  std::string attributes = "";  ///< "axis = 1 : i64"
  /// Elements are different ones of this range, spread evenly.
  double low = -2;
  double high = 2;
  unsigned results = 1;
};

/// Error unless the gradients of the sum of all results, each element with a weight of its own, are
/// the central differences of fourth order: `kLargestError` of the largest one, or `kErrorFloor`.
/// `seed` chooses elements and weights.
absl::Status checkRule(const RuleCase& rule, unsigned seed = 1);

inline constexpr double kLargestError = 1e-6;
inline constexpr double kErrorFloor = 1e-8;

}  // namespace graphrun::ir

#endif  // GRAPHRUN_TESTS_IR_GRADIENTS_CENTRAL_DIFFERENCES_H_
