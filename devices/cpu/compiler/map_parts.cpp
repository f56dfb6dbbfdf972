#include "devices/cpu/compiler/map_parts.h"

#include "devices/codegen/index_maps.h"
#include "devices/codegen/map_scalars.h"
#include "devices/cpu/compiler/map_kernel.h"

namespace graphrun::devices::cpu {
namespace {

/// Below, an instruction more takes longer than what it saves.
constexpr int64_t kLeastElements = 1024;

}  // namespace

bool transposesLines(ir::GroupOp map) {
  if (codegen::tensorOf(map.getResult(0)).getNumElements() < kLeastElements) {
    return false;
  }
  return llvm::any_of(codegen::mapBody(map), movesLines) &&
         !isVectorMap(map, llvm::SmallVector<KernelLayout>(map.getNumOperands()), {});
}

std::vector<llvm::SmallVector<mlir::Operation*>> mapParts(ir::GroupOp map) {
  llvm::SmallVector<mlir::Operation*> body = codegen::mapBody(map);
  std::vector<llvm::SmallVector<mlir::Operation*>> parts;  // the last first
  llvm::DenseMap<mlir::Operation*, size_t> partOf;
  for (mlir::Operation* op : llvm::reverse(body)) {
    if (llvm::isa<ir::ConstantOp>(op)) {
      continue;  // goes to where it is used
    }
    auto first = partOf.find(*op->user_begin());
    bool joins = first != partOf.end() && !movesLines(op) && !movesLines(first->first) &&
                 llvm::all_of(op->getUsers(), [&](mlir::Operation* user) {
                   auto part = partOf.find(user);
                   return part != partOf.end() && part->second == first->second;
                 });
    size_t part = joins ? first->second : parts.size();
    if (!joins) {
      parts.emplace_back();
    }
    parts[part].push_back(op);
    partOf[op] = part;
  }
  for (auto& part : parts) {
    std::reverse(part.begin(), part.end());
  }
  std::reverse(parts.begin(), parts.end());
  return parts;
}

}  // namespace graphrun::devices::cpu
