#include "devices/cpu/compiler/kernel_budget.h"

#include "devices/codegen/index_maps.h"
#include "devices/codegen/kernel_names.h"
#include "devices/codegen/map_nest.h"
#include "devices/codegen/map_scalars.h"
#include "ir/dialect.h"
#include "llvm/ADT/MapVector.h"

namespace graphrun::devices::cpu {
namespace {

/// Operations in all kernels of groups: LLVM takes some three seconds for so many.
constexpr size_t kMostOperations = 1024;

/// Returns the bytes that a map's kernel does not write to memory and read again.
double sparedBytes(mlir::Operation* map) {
  double bytes = 0;
  llvm::SmallVector<mlir::Operation*> body = codegen::mapBody(map);
  for (mlir::Operation* op : llvm::ArrayRef(body).drop_back()) {
    mlir::RankedTensorType type = codegen::tensorOf(op->getResult(0));
    bytes += static_cast<double>(type.getNumElements()) *
             std::max(1U, type.getElementTypeBitWidth() / 8);
  }
  return bytes;
}

}  // namespace

KernelBudget::KernelBudget(mlir::func::FuncOp partition) {
  llvm::SmallVector<mlir::Operation*> maps;
  size_t operations = 0;
  for (auto group : partition.front().getOps<ir::GroupOp>()) {
    if (group.getKind() == ir::GroupKind::kMap && codegen::whyNotMap(group).empty()) {
      maps.push_back(group);
      operations += codegen::mapBody(group).size();
    }
  }
  if (operations > kMostOperations) {
    choose(maps);
  }
}

void KernelBudget::choose(llvm::ArrayRef<mlir::Operation*> maps) {
  struct Kernel {
    llvm::SmallVector<mlir::Operation*, 1> users;
    double spared = 0;
  };
  llvm::MapVector<std::string, Kernel, llvm::StringMap<unsigned>> byKey;
  for (mlir::Operation* map : maps) {
    Kernel& kernel = byKey[codegen::kernelKey(map, codegen::mapScalars(map))];
    kernel.users.push_back(map);
    kernel.spared += sparedBytes(map);
  }
  auto kernels = byKey.takeVector();
  auto sparesMore = [](const auto& a, const auto& b) {
    return std::pair(a.second.spared, a.second.users.size()) >
           std::pair(b.second.spared, b.second.users.size());
  };
  llvm::stable_sort(kernels, sparesMore);
  size_t operations = 0;
  for (const auto& [key, kernel] : kernels) {
    operations += codegen::mapBody(kernel.users.front()).size();
    if (operations > kMostOperations) {
      refused_.insert(kernel.users.begin(), kernel.users.end());
    }
  }
}

}  // namespace graphrun::devices::cpu
