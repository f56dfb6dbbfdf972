// Resolution: control flow and deferred nodes give way once what decides them is known.
#ifndef GRAPHRUN_PASSES_RESOLVE_H_
#define GRAPHRUN_PASSES_RESOLVE_H_

#include <functional>

#include "ir/dialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace graphrun::passes {

/// A frontend's part: makes a deferred node, all of whose operands have static types, into other
/// operations before it, replaces its results and erases it (kReplaced); or names in `deciding` the
/// operands whose elements it has to know (kWaiting); or reports a problem on the node (kFailed).
enum class Resolution { kReplaced, kWaiting, kFailed };
using ResolveDeferred = std::function<Resolution(ir::DeferredOp)>;

/// Walks the function's operations in order: infers types, folds small results, inlines the branch
/// of an if whose condition is constant, peels iterations off a loop that is known to go on, and
/// hands deferred nodes to `resolveDeferred` (null: they stay). A loop that runs no iteration has
/// collected nothing, of the type that a first iteration would give. Sets `changed` when something
/// gave way.
mlir::LogicalResult resolve(mlir::func::FuncOp func, const ResolveDeferred& resolveDeferred,
                            bool& changed);

}  // namespace graphrun::passes

#endif  // GRAPHRUN_PASSES_RESOLVE_H_
