// The model's own annotations (passes/device_hints.h) are matched with the cluster and become pins
// for the planner.
#ifndef GRAPHRUN_PLACEMENT_FROM_IR_ANNOTATIONS_H_
#define GRAPHRUN_PLACEMENT_FROM_IR_ANNOTATIONS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "placement/cluster/cluster.h"
#include "placement/explain/explain.h"

namespace graphrun::placement {

/// FailedPrecondition names every rule on annotations that matches none in `function`, the whole
/// model, or names no device of the cluster.
absl::Status checkAnnotationRules(mlir::func::FuncOp function, const Cluster& cluster);

/// Marks the rules on names of nodes that are for some in `function`, the whole model, or were for
/// some that were folded when it was imported (PinRule::known, folded).
void markKnownRules(mlir::func::FuncOp function, Cluster& cluster);

/// Gives each operation of `function` the pin that follows from, in this order:
/// - the user's rules on names of nodes;
/// - the user's rules on annotations, as they match the operation's first hint;
/// - the hint whose name is that of a device of the cluster: of the configuration that so gives a
///   device to most nodes, the first of several, else of a layer.
/// All hints are gone afterwards. Where `overruledBy` is not empty it is what the user asked for
/// in place of the model's annotations, and only the first rule counts. Reports each name that the
/// model has, in the order of the model.
std::vector<AnnotationReport> pinByAnnotations(mlir::func::FuncOp function, const Cluster& cluster,
                                               const std::string& overruledBy);

/// One line that says what the model asks for in vain, and what to do; "" when there is nothing.
std::string unusedAnnotations(const std::vector<AnnotationReport>& reports);

}  // namespace graphrun::placement

#endif  // GRAPHRUN_PLACEMENT_FROM_IR_ANNOTATIONS_H_
