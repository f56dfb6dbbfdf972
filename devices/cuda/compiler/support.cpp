#include "devices/cuda/compiler/support.h"

#include "absl/strings/str_cat.h"
#include "devices/cuda/compiler/emit/kernel_code.h"
#include "devices/cuda/compiler/expansions.h"
#include "devices/cuda/compiler/library_choice.h"
#include "devices/cuda/compiler/recurrent_instructions.h"
#include "devices/cuda/compiler/work_candidates.h"
#include "ir/dialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/OwningOpRef.h"
#include "passes/weights.h"

namespace graphrun::devices::cuda {
namespace {

/// A copy of `op` in a function of its own, where it can be expanded; its constant operands are
/// copied, the others are arguments.
mlir::OwningOpRef<mlir::ModuleOp> alone(mlir::Operation* op) {
  mlir::OwningOpRef<mlir::ModuleOp> module = mlir::ModuleOp::create(op->getLoc());
  mlir::OpBuilder builder = mlir::OpBuilder::atBlockEnd(module->getBody());
  auto function =
      builder.create<mlir::func::FuncOp>(op->getLoc(), "alone", builder.getFunctionType({}, {}));
  mlir::Block* block = function.addEntryBlock();
  builder.setInsertionPointToEnd(block);
  mlir::IRMapping map;
  for (mlir::Value operand : op->getOperands()) {
    if (map.contains(operand)) {
      continue;
    }
    auto constant = passes::outsideGroup(operand).getDefiningOp<ir::ConstantOp>();
    map.map(operand, constant ? mlir::Value(builder.clone(*constant)->getResult(0))
                              : block->addArgument(operand.getType(), op->getLoc()));
  }
  builder.clone(*op, map);
  return module;
}

/// Why what `op` is expanded into is unsupported; nothing where it is not expanded.
std::optional<std::string> whyNotExpanded(mlir::Operation* op) {
  if (!isExpanded(op)) {
    return std::nullopt;
  }
  mlir::OwningOpRef<mlir::ModuleOp> module = alone(op);
  auto function = *module->getOps<mlir::func::FuncOp>().begin();
  for (mlir::Operation* part : expand(&function.front().back())) {
    if (std::string why = whyUnsupported(part); !why.empty()) {
      return absl::StrCat(op->getName().getStringRef().str(), ": ", why);
    }
  }
  return "";
}

std::string whyOneUnsupported(mlir::Operation* op) {
  if (needsNoKernel(op) || passes::isWeight(op)) {
    return "";
  }
  if (llvm::isa<ir::StateOp, ir::UpdateOp>(op)) {
    return "GPUs keep no states";
  }
  if (llvm::isa<ir::RecurrentOp>(op)) {
    mlir::OwningOpRef<mlir::ModuleOp> module = alone(op);
    auto function = *module->getOps<mlir::func::FuncOp>().begin();
    return whyNotRecurrent(llvm::cast<ir::RecurrentOp>(function.front().back()));
  }
  // What may be rounded decides which engine computes an operation, not whether there is one.
  absl::Status library = libraryCandidates(op, {}, op->getResult(0), GpuTarget()).status();
  if (library.ok()) {
    return "";
  }
  if (!absl::IsUnimplemented(library)) {
    return std::string(library.message());
  }
  std::string why = whyNotGenerated(op);
  if (why.empty()) {
    return "";
  }
  if (std::optional<std::string> expanded = whyNotExpanded(op)) {
    return *expanded;
  }
  return absl::StrCat("no library's kernel for GPUs (", library.message(),
                      "), and none is generated (", why, ")");
}

}  // namespace

bool needsNoKernel(mlir::Operation* op) {
  return ir::isView(op) ||
         llvm::isa<ir::ConstantOp, ir::SendOp, ir::RecvOp, ir::YieldOp, mlir::func::ReturnOp>(op);
}

std::string whyUnsupported(mlir::Operation* op) {
  auto group = llvm::dyn_cast<ir::GroupOp>(op);
  if (!group) {
    return whyOneUnsupported(op);
  }
  if (group.getKind() == ir::GroupKind::kMap && whyNotGenerated(group).empty()) {
    return "";
  }
  if (group.getKind() == ir::GroupKind::kAttention && group.getNumResults() == 1 &&
      chooseAttention(group, nullptr).ok()) {
    return "";
  }
  for (mlir::Operation& inner : group.getBody().front()) {
    if (std::string why = whyOneUnsupported(&inner); !why.empty()) {
      return why;
    }
  }
  return "";
}

}  // namespace graphrun::devices::cuda
