#include "devices/cuda/compiler/kernel_selection.h"

#include "devices/compiler/attributes.h"
#include "devices/compiler/kernel_selection.h"
#include "devices/cuda/compiler/expansions.h"
#include "devices/cuda/compiler/recurrent_instructions.h"
#include "devices/cuda/compiler/support.h"
#include "devices/cuda/compiler/work_candidates.h"
#include "llvm/ADT/DenseSet.h"
#include "passes/group_builder.h"
#include "passes/quantized_forms.h"
#include "passes/weights.h"
#include "runtime/base/status.h"

namespace graphrun::devices::cuda {
namespace {

/// The operand of an attention that is its mask.
constexpr size_t kMask = 3;

/// Walks a partition. One use.
class WorkItemCollector {
 public:
  explicit WorkItemCollector(const GpuTarget& target) : target_(target) {}

  absl::StatusOr<std::vector<WorkItem>> collect(mlir::func::FuncOp partition) {
    joinCasts(partition);
    for (mlir::Operation& op : llvm::make_early_inc_range(partition.front())) {
      if (absl::Status status = addOperation(&op); !status.ok()) {
        return annotateWith(&op, status);
      }
    }
    dropUnreadFloats();
    keepWhatIsOverwritten();
    return std::move(items_);
  }

 private:
  /// Normalisations that read a wider copy of 16-bit floats, or whose result is read as such floats
  /// alone, become groups with those casts: one kernel, which computes in f32 as before.
  static void joinCasts(mlir::func::FuncOp partition) {
    for (auto norm : llvm::to_vector(partition.front().getOps<ir::LayerNormOp>())) {
      llvm::SmallVector<mlir::Operation*> members = {norm};
      if (auto widening = norm.getInput().getDefiningOp<ir::CastOp>();
          widening && widening->hasOneUse() && isHalf(widening.getInput())) {
        members.insert(members.begin(), widening);
      }
      auto narrowing =
          norm->hasOneUse() ? llvm::dyn_cast<ir::CastOp>(*norm->user_begin()) : nullptr;
      if (narrowing && isHalf(narrowing.getOutput()) && narrowing->getBlock() == norm->getBlock()) {
        members.push_back(narrowing);
      }
      // A scale that is one value would move into the group, where the kernel does not look.
      bool isRow = denseDesc(norm.getInput()).type == runtime::ElementType::kF32 &&
                   whyNotGenerated(norm).empty() &&
                   llvm::none_of(llvm::drop_begin(norm->getOpOperands()), passes::movesInside);
      if (members.size() > 1 && isRow) {
        passes::buildGroup({ir::GroupKind::kRow, members});
      }
    }
  }

  static bool isHalf(mlir::Value value) {
    runtime::ElementType type = denseDesc(value).type;
    return type == runtime::ElementType::kF16 || type == runtime::ElementType::kBF16;
  }

  absl::Status addOperation(mlir::Operation* op) {
    if (passes::isWeight(op)) {
      return absl::OkStatus();  // read where it is used
    }
    if (auto group = llvm::dyn_cast<ir::GroupOp>(op)) {
      return addGroup(group);
    }
    if (needsNoKernel(op)) {
      std::vector<WorkCandidate> candidates;
      candidates.push_back(denseCandidate(op));
      add(WorkKind::kPlain, op, std::move(candidates));
      return absl::OkStatus();
    }
    if (auto recurrent = llvm::dyn_cast<ir::RecurrentOp>(op)) {
      return addRecurrent(recurrent);
    }
    if (isProductOfPatches(op)) {
      return addEach(expand(op));
    }
    absl::StatusOr<std::vector<WorkCandidate>> float8 =
        float8Candidates(op, {}, op->getResult(0), target_);
    if (float8.ok()) {
      return addLibrary(op, *std::move(float8));
    }
    absl::StatusOr<std::vector<WorkCandidate>> library =
        libraryCandidates(op, {}, op->getResult(0), target_);
    if (library.ok() || !absl::IsUnimplemented(library.status())) {
      return library.ok() ? addMasked(op, *std::move(library)) : library.status();
    }
    std::string why = whyNotGenerated(op);
    if (why.empty()) {
      add(WorkKind::kGenerated, op, generatedCandidates(op));
      return absl::OkStatus();
    }
    return isExpanded(op) ? addEach(expand(op)) : absl::UnimplementedError(why);
  }

  absl::Status addRecurrent(ir::RecurrentOp op) {
    if (std::string why = whyNotRecurrent(op); !why.empty()) {
      return absl::UnimplementedError(why);
    }
    std::vector<WorkCandidate> candidates;
    candidates.push_back(denseCandidate(op));
    LibraryOptions options;
    options.precision = target_.precision;
    options.refused = target_.refused;
    GR_ASSIGN_OR_RETURN(candidates[0].library, chooseStepProduct(op, options));
    llvm::SmallVector<mlir::Operation*> product = makeInputProduct(op);
    GR_RETURN_IF_ERROR(addEach(product));
    mlir::Value inputs = product.back()->getResult(0);
    candidates[0].operands.push_back(denseDesc(inputs));
    add(WorkKind::kRecurrent, op, std::move(candidates));
    items_.back().operands.push_back(inputs);
    return absl::OkStatus();
  }

  absl::Status addGroup(ir::GroupOp group) {
    bool isOneKernel =
        group.getKind() == ir::GroupKind::kMap || group.getKind() == ir::GroupKind::kRow;
    if (isOneKernel && whyNotGenerated(group).empty()) {
      add(WorkKind::kGenerated, group, generatedCandidates(group));
      return absl::OkStatus();
    }
    if (group.getKind() == ir::GroupKind::kAttention && group.getNumResults() == 1) {
      absl::StatusOr<std::vector<WorkCandidate>> whole = attentionCandidates(group, target_);
      if (whole.ok()) {
        return addMasked(group, *std::move(whole));
      }
    }
    llvm::SmallVector<mlir::Operation*> body = operationsOf(group);
    bool isAnchored =
        group.getKind() == ir::GroupKind::kConv || group.getKind() == ir::GroupKind::kMatmul;
    GR_RETURN_IF_ERROR(isAnchored ? addAnchor(body[0], llvm::ArrayRef(body).drop_front())
                                  : addEach(body));
    values_.takeApart(group);
    return absl::OkStatus();
  }

  /// `anchor` and what follows it in its group: a product of 8-bit floats before one of others,
  /// whatever is left to a kernel of its own then.
  absl::Status addAnchor(mlir::Operation* anchor, llvm::ArrayRef<mlir::Operation*> epilogue) {
    for (bool isFloat8 : {true, false}) {
      for (size_t taken = epilogue.size() + 1; taken-- > 0;) {
        mlir::Operation* last = taken == 0 ? anchor : epilogue[taken - 1];
        llvm::ArrayRef<mlir::Operation*> behind = epilogue.take_front(taken);
        absl::StatusOr<std::vector<WorkCandidate>> candidates =
            isFloat8 ? float8Candidates(anchor, behind, last->getResult(0), target_)
                     : libraryCandidates(anchor, behind, last->getResult(0), target_);
        if (candidates.ok()) {
          GR_RETURN_IF_ERROR(addLibrary(anchor, *std::move(candidates)));
          return addRest(epilogue.drop_front(taken));
        }
      }
    }
    GR_RETURN_IF_ERROR(addOperation(anchor));
    return addRest(epilogue);
  }

  /// Adds one kernel for the rest of an epilogue.
  absl::Status addRest(llvm::ArrayRef<mlir::Operation*> ops) {
    return ops.size() < 2
               ? addEach(ops)
               : addGroup(passes::buildGroup({ir::GroupKind::kMap, llvm::to_vector(ops)}));
  }

  absl::Status addEach(llvm::ArrayRef<mlir::Operation*> ops) {
    for (mlir::Operation* op : ops) {
      GR_RETURN_IF_ERROR(addOperation(op));
    }
    return absl::OkStatus();
  }

  void add(WorkKind kind, mlir::Operation* op, std::vector<WorkCandidate> candidates) {
    WorkItem item;
    item.kind = kind;
    item.setOperation(op, values_);
    item.candidates = std::move(candidates);
    items_.push_back(std::move(item));
  }

  /// An attention's mask becomes one of numbers first, once for all that read it.
  absl::Status addMasked(mlir::Operation* op, std::vector<WorkCandidate> candidates) {
    LibraryInstruction& library = candidates[0].library.library;
    if (library.instruction.operation == "gr.attention" && library.operands.size() > kMask) {
      mlir::Value mask = passes::outsideGroup(library.operands[kMask]);
      auto [found, isNew] = masks_.try_emplace(mask, mask);
      if (mlir::Operation* finite = isNew ? makeFiniteMask(op, mask) : nullptr) {
        found->second = finite->getResult(0);
        GR_RETURN_IF_ERROR(addOperation(finite));
      }
      library.operands[kMask] = masks_.at(mask);
    }
    return addLibrary(op, std::move(candidates));
  }

  absl::Status addLibrary(mlir::Operation* op, std::vector<WorkCandidate> candidates) {
    WorkItem item;
    item.kind = WorkKind::kLibrary;
    item.candidates = std::move(candidates);
    const LibraryInstruction& library = item.candidates[0].library.library;
    item.setLibrary(op, library, values_);
    for (auto [post, value] : llvm::zip(library.instruction.postOps, library.postOperands)) {
      if (post.kind == PostOpKind::kSum) {
        overwritten_.insert(values_.resolved(value));
      }
    }
    if (library.isInPlace) {
      overwritten_.insert(item.operands[0]);
    }
    items_.push_back(std::move(item));
    return absl::OkStatus();
  }

  /// Drops the items that make wide floats of those of 8 bits, where all products read the narrow
  /// ones.
  void dropUnreadFloats() {
    llvm::DenseSet<mlir::Value> read;
    auto isUnread = [&](const WorkItem& item) {
      return item.results.size() == 1 && !read.contains(item.results[0]) &&
             passes::dequantizedFloatsOf(item.results[0]);
    };
    for (WorkItem& item : llvm::reverse(items_)) {
      if (!isUnread(item)) {
        read.insert(item.operands.begin(), item.operands.end());
      }
    }
    std::erase_if(items_, isUnread);
  }

  /// Keeps values that are overwritten apart: no transposition is a view of them.
  void keepWhatIsOverwritten() {
    for (WorkItem& item : items_) {
      bool isOverwritten =
          llvm::any_of(item.operands, [&](auto v) { return overwritten_.contains(v); }) ||
          llvm::any_of(item.results, [&](auto v) { return overwritten_.contains(v); });
      if (isOverwritten) {
        std::erase_if(item.candidates,
                      [](const WorkCandidate& candidate) { return candidate.isView; });
      }
    }
  }

  GpuTarget target_;
  std::vector<WorkItem> items_;
  GroupValues values_;
  llvm::DenseSet<mlir::Value> overwritten_;
  llvm::DenseMap<mlir::Value, mlir::Value> masks_;  // of attentions, as numbers
};

}  // namespace

absl::StatusOr<std::vector<WorkItem>> collectWorkItems(mlir::func::FuncOp partition,
                                                       const GpuTarget& target) {
  return WorkItemCollector(target).collect(partition);
}

std::vector<uint32_t> selectKernels(const std::vector<WorkItem>& items) {
  auto nanosOf = [](const WorkItem&, const WorkCandidate& candidate) { return candidate.nanos; };
  auto same = [](const TensorDesc& a, const TensorDesc& b) { return a == b; };
  return devices::selectKernels(items, nanosOf, {same, copyNanos});
}

}  // namespace graphrun::devices::cuda
