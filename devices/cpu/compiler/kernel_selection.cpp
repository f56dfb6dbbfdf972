#include "devices/cpu/compiler/kernel_selection.h"

#include "devices/compiler/attributes.h"
#include "devices/compiler/kernel_selection.h"
#include "devices/cpu/base/onednn_layouts.h"
#include "devices/cpu/compiler/kernel_budget.h"
#include "devices/cpu/compiler/map_parts.h"
#include "llvm/ADT/TypeSwitch.h"
#include "mlir/IR/TypeUtilities.h"
#include "passes/group_builder.h"
#include "passes/quantized_forms.h"
#include "passes/weights.h"

namespace graphrun::devices::cpu {
namespace {

/// Walks a partition. One use.
class WorkItemCollector {
 public:
  WorkItemCollector(mlir::func::FuncOp partition, WorkCandidates& candidates)
      : candidates_(candidates), budget_(partition) {}

  absl::StatusOr<std::vector<WorkItem>> collect(mlir::func::FuncOp partition) {
    for (mlir::Operation& op : partition.front()) {
      if (absl::Status status = addOperation(&op); !status.ok()) {
        return annotateWith(&op, status);
      }
    }
    return std::move(items_);
  }

 private:
  absl::Status addOperation(mlir::Operation* op) {
    if (passes::isWeight(op)) {
      return absl::OkStatus();  // read where it is used
    }
    if (ir::isView(op)) {
      return addOther(op);
    }
    return llvm::TypeSwitch<mlir::Operation*, absl::Status>(op)
        .Case([&](ir::GroupOp group) { return addGroup(group); })
        .Case<ir::SendOp, ir::RecvOp, ir::StateOp, ir::UpdateOp, mlir::func::ReturnOp>(
            [&](auto) { return addOther(op); })
        .Default([&](mlir::Operation*) {
          return whyNotMapKernel(op).empty() ? addMap(op) : addSingle(op);
        });
  }

  absl::Status addGroup(ir::GroupOp group) {
    if (group.getKind() == ir::GroupKind::kMap && budget_.allows(group) &&
        whyNotMapKernel(group).empty()) {
      return addWholeMap(group);
    }
    llvm::SmallVector<mlir::Operation*> body = operationsOf(group);
    if (group.getKind() != ir::GroupKind::kMap && group.getNumResults() == 1) {
      auto whole =
          group.getKind() == ir::GroupKind::kAttention
              ? attentionInstruction(group)
              : libraryInstruction(body[0], llvm::ArrayRef(body).drop_front(), group.getResult(0));
      absl::Status added =
          whole.ok() ? addLibrary(*std::move(whole), body[0], body.size() > 1) : whole.status();
      if (!absl::IsUnimplemented(added)) {
        return added;
      }
    }
    GR_RETURN_IF_ERROR(addParts(body));
    values_.takeApart(group);
    return absl::OkStatus();
  }

  /// One loop nest, or several where only the dense one is left and it would go from line to line.
  absl::Status addWholeMap(ir::GroupOp map) {
    WorkItem item = itemOf(WorkKind::kMap, map);
    item.candidates = candidates_.ofMap(map);
    if (item.candidates.size() > 1 || !transposesLines(map)) {
      items_.push_back(std::move(item));
      return absl::OkStatus();
    }
    for (llvm::SmallVector<mlir::Operation*>& part : mapParts(map)) {
      GR_RETURN_IF_ERROR(addOperation(
          part.size() == 1 ? part[0] : passes::buildGroup({ir::GroupKind::kMap, std::move(part)})));
    }
    values_.takeApart(map);
    return absl::OkStatus();
  }

  /// Returns how many operations of a chain may be its beginning: a product of bytes ends with its
  /// first bytes, so that less is written; of any other product as much as possible comes first.
  static llvm::SmallVector<size_t> headsOf(llvm::ArrayRef<mlir::Operation*> body) {
    llvm::SmallVector<size_t> heads;
    if (!llvm::isa<ir::ConvOp, ir::ConvTransposeOp, ir::MatMulOp>(body[0])) {
      return heads;
    }
    auto makesBytes = [](mlir::Operation* op) {
      return llvm::isa<ir::CastOp>(op) &&
             passes::isByte(mlir::getElementTypeOrSelf(op->getResult(0).getType()));
    };
    size_t bytes = llvm::find_if(body, makesBytes) - body.begin() + 1;
    if (bytes <= body.size()) {
      heads.push_back(bytes);
      return heads;
    }
    for (size_t head = body.size() - 1; head > 0; --head) {
      heads.push_back(head);
    }
    return heads;
  }

  /// Adds the parts of a chain that no kernel takes as a whole: a beginning that one takes, and one
  /// loop nest for what follows; or else its operations one by one.
  absl::Status addParts(llvm::ArrayRef<mlir::Operation*> body) {
    for (size_t head : headsOf(body)) {
      if (head < body.size() && addHead(body.take_front(head))) {
        body = body.drop_front(head);
        return addOperation(body.size() == 1
                                ? body[0]
                                : passes::buildGroup({ir::GroupKind::kMap, llvm::to_vector(body)}));
      }
    }
    for (mlir::Operation* op : body) {
      GR_RETURN_IF_ERROR(addOperation(op));
    }
    return absl::OkStatus();
  }

  /// A product with the first operations behind it, where only the last of them is read elsewhere.
  bool addHead(llvm::ArrayRef<mlir::Operation*> head) {
    bool isClosed = llvm::all_of(head.drop_back(), [&](mlir::Operation* op) {
      return llvm::all_of(op->getUsers(),
                          [&](mlir::Operation* user) { return llvm::is_contained(head, user); });
    });
    if (!isClosed || head.back()->getNumResults() != 1) {
      return false;
    }
    auto library = libraryInstruction(head[0], head.drop_front(), head.back()->getResult(0));
    return library.ok() && addLibrary(*std::move(library), head[0], head.size() > 1).ok();
  }

  absl::Status addSingle(mlir::Operation* op) {
    GR_ASSIGN_OR_RETURN(LibraryInstruction library, libraryInstruction(op, {}, op->getResult(0)));
    return addLibrary(std::move(library), op, false);
  }

  /// `whole`: a group, of which two good kernels are better than one that the library has only for
  /// completeness.
  absl::Status addLibrary(LibraryInstruction library, mlir::Operation* op, bool whole) {
    WorkItem item;
    item.kind = WorkKind::kLibrary;
    item.setLibrary(op, library, values_);
    GR_ASSIGN_OR_RETURN(item.candidates, candidates_.ofLibrary(library, op));
    if (whole && llvm::all_of(item.candidates, isReference)) {
      return absl::UnimplementedError("only a reference implementation takes the group");
    }
    item.library = std::move(library);
    items_.push_back(std::move(item));
    return absl::OkStatus();
  }

  absl::Status addMap(mlir::Operation* op) {
    WorkItem item = itemOf(WorkKind::kMap, op);
    item.candidates = candidates_.ofMap(op);
    items_.push_back(std::move(item));
    return absl::OkStatus();
  }

  absl::Status addOther(mlir::Operation* op) {
    WorkItem item = itemOf(WorkKind::kOther, op);
    item.candidates = WorkCandidates::ofOther(item);
    items_.push_back(std::move(item));
    return absl::OkStatus();
  }

  WorkItem itemOf(WorkKind kind, mlir::Operation* op) {
    WorkItem item;
    item.kind = kind;
    item.setOperation(op, values_);
    return item;
  }

  WorkCandidates& candidates_;
  KernelBudget budget_;
  std::vector<WorkItem> items_;
  GroupValues values_;
};

double bytesOf(const TensorDesc& desc) {
  return static_cast<double>(layoutBytes(desc).value_or(0));
}

/// Returns the bytes that only this candidate needs: weights as it lays them out, results, scratch
/// memory.
double bytesOf(const WorkItem& item, const WorkCandidate& candidate) {
  auto bytes = static_cast<double>(candidate.choice.scratchBytes);
  for (auto [operand, desc] : llvm::zip(item.operands, candidate.operands)) {
    bytes += isConstant(operand) ? bytesOf(desc) : 0;
  }
  for (const TensorDesc& result : candidate.results) {
    bytes += bytesOf(result);
  }
  return bytes;
}

}  // namespace

absl::StatusOr<std::vector<WorkItem>> collectWorkItems(mlir::func::FuncOp partition,
                                                       WorkCandidates& candidates) {
  return WorkItemCollector(partition, candidates).collect(partition);
}

std::vector<uint32_t> selectKernels(const std::vector<WorkItem>& items,
                                    const InstructionCosts& costs, double nanosPerByte) {
  auto costOf = [&](const WorkItem& item, const WorkCandidate& candidate) {
    return candidate.nanos + nanosPerByte * bytesOf(item, candidate);
  };
  auto copyCost = [&](const TensorDesc& wanted) {
    return costs.reorderNanos(wanted) + nanosPerByte * bytesOf(wanted);
  };
  return devices::selectKernels(items, costOf, {sameLayout, copyCost});
}

}  // namespace graphrun::devices::cpu
