// Devices see strings as numbers, which this gives them.
#ifndef GRAPHRUN_PASSES_INTERN_STRINGS_H_
#define GRAPHRUN_PASSES_INTERN_STRINGS_H_

#include <string>
#include <vector>

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace graphrun::passes {

/// The strings of a graph, by their numbers.
struct InternedStrings {
  std::vector<std::string> strings;  ///< of constants, each once
  std::vector<std::string> values;   ///< names of the inputs and outputs that are of strings
};

/// Makes every tensor of strings in `func` one of i64: constants get the numbers of their strings,
/// inputs are to be given as such numbers, beyond the end of the table for strings that no constant
/// has. Equal strings have equal numbers, so all operations that take strings mean the same.
InternedStrings internStrings(mlir::func::FuncOp func);

}  // namespace graphrun::passes

#endif  // GRAPHRUN_PASSES_INTERN_STRINGS_H_
