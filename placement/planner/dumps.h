// Values within a graph, for whoever looks for where a result goes wrong.
#ifndef GRAPHRUN_PLACEMENT_PLANNER_DUMPS_H_
#define GRAPHRUN_PLACEMENT_PLANNER_DUMPS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace graphrun::compiler {

/// Makes the tensors of operations whose name matches one of `patterns` (shell patterns) results of
/// the graph too, called GR_DUMP_PREFIX, GR_DUMP_DIGITS digits that count them, and the operation's
/// name, with ":1" … behind it for further results and "#2" … where the name comes again. Not of
/// constants, nor of what are results already. NotFound names a pattern that matches nothing.
absl::Status exposeValues(mlir::func::FuncOp function, const std::vector<std::string>& patterns);

}  // namespace graphrun::compiler

#endif  // GRAPHRUN_PLACEMENT_PLANNER_DUMPS_H_
