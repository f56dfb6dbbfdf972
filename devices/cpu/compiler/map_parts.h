// Maps that are faster in parts.
#ifndef GRAPHRUN_DEVICES_CPU_COMPILER_MAP_PARTS_H_
#define GRAPHRUN_DEVICES_CPU_COMPILER_MAP_PARTS_H_

#include <vector>

#include "ir/dialect.h"

namespace graphrun::devices::cpu {

/// Returns whether transpositions inside `map`, a group, would make its loop nest read far apart
/// elements one by one: whole tiles are transposed several times faster, before or behind it. Of
/// small tensors one kernel is the faster way.
bool transposesLines(ir::GroupOp map);

/// The operations of such a group, in parts that follow each other: transpositions alone, and what
/// lies between them, of which only the last value is read outside.
std::vector<llvm::SmallVector<mlir::Operation*>> mapParts(ir::GroupOp map);

}  // namespace graphrun::devices::cpu

#endif  // GRAPHRUN_DEVICES_CPU_COMPILER_MAP_PARTS_H_
