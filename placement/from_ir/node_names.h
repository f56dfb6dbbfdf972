// Nodes of a cost graph have these names in reports.
#ifndef GRAPHRUN_PLACEMENT_FROM_IR_NODE_NAMES_H_
#define GRAPHRUN_PLACEMENT_FROM_IR_NODE_NAMES_H_

#include <string>
#include <vector>

#include "mlir/IR/Operation.h"

namespace graphrun::placement {

/// The operations in a group; none of another operation.
std::vector<mlir::Operation*> membersOf(mlir::Operation* op);

/// Labels of the operations in a group, each once.
std::vector<std::string> memberLabels(const std::vector<mlir::Operation*>& members);

/// Returns the kind of a node for people: for a group the operations in it, but constants.
std::string kindName(mlir::Operation* op, const std::vector<mlir::Operation*>& members);

}  // namespace graphrun::placement

#endif  // GRAPHRUN_PLACEMENT_FROM_IR_NODE_NAMES_H_
