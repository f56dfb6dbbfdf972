#include "devices/cuda/compiler/work_candidates.h"

#include "devices/codegen/map_layouts.h"
#include "devices/compiler/attributes.h"
#include "devices/cuda/compiler/emit/map_kernel.h"
#include "devices/cuda/compiler/emit/point_kernel.h"
#include "devices/cuda/compiler/emit/row_kernel.h"
#include "devices/cuda/kernels/layouts.h"
#include "runtime/base/status.h"

namespace graphrun::devices::cuda {
namespace {

constexpr double kLaunchNanos = 3000;
constexpr double kBytesPerNano = 1000;
/// The time of one thread for each element that it reads alone, where a warp would read rows.
constexpr double kAloneNanos = 50;

constexpr KernelLayout kChannelsLast{KernelLayout::Order::kChannelsLast, 0};

bool isConvolution(mlir::Operation* op) { return llvm::isa<ir::ConvOp, ir::ConvTransposeOp>(op); }

bool isOnTensorCores(mlir::Operation* op, runtime::Precision precision) {
  bool isF32 = denseDesc(op->getResult(0)).type == runtime::ElementType::kF32;
  return isConvolution(op) && (!isF32 || precision == runtime::Precision::kTF32);
}

TensorDesc channelsLastDesc(mlir::Value value) {
  TensorDesc dense = denseDesc(value);
  return cuda::channelsLastDesc(dense.type, dense.dims);
}

WorkCandidate candidateOf(LibraryChoice choice) {
  WorkCandidate candidate;
  const Instruction& instruction = choice.library.instruction;
  for (const Argument& input : instruction.inputs) {
    candidate.operands.push_back(input.desc);
  }
  for (auto [post, value] : llvm::zip(instruction.postOps, choice.library.postOperands)) {
    if (value) {
      candidate.operands.push_back(post.operand ? post.operand->desc : instruction.outputs[0].desc);
    }
  }
  for (const Argument& output : instruction.outputs) {
    candidate.results.push_back(output.desc);
  }
  candidate.library = std::move(choice);
  return candidate;
}

absl::StatusOr<std::vector<WorkCandidate>> onlyCandidate(absl::StatusOr<LibraryChoice> choice) {
  GR_RETURN_IF_ERROR(choice.status());
  std::vector<WorkCandidate> candidates;
  candidates.push_back(candidateOf(*std::move(choice)));
  return candidates;
}

/// A transposition that is none where the channels lie last before or behind it.
void addView(mlir::Operation* op, std::vector<WorkCandidate>& candidates) {
  WorkCandidate view = denseCandidate(op);
  view.isView = true;
  if (putsChannelsLast(op)) {
    view.operands[0] = channelsLastDesc(op->getOperand(0));
  } else if (bringsChannelsBack(op)) {
    view.results[0] = channelsLastDesc(op->getResult(0));
  } else {
    return;
  }
  candidates[0].nanos = copyNanos(candidates[0].results[0]);
  candidates.push_back(std::move(view));
}

/// Element-wise, or what is as easily done along the channels.
bool isEasyMap(mlir::Operation* op) {
  auto group = llvm::dyn_cast<ir::GroupOp>(op);
  auto isEasy = [](mlir::Operation& inner) {
    return codegen::isElementwiseThroughout(&inner) ||
           llvm::isa<ir::ResizeOp, ir::SliceOp, ir::ExpandOp>(inner);
  };
  return group ? llvm::all_of(group.getBody().front().without_terminator(), isEasy) : isEasy(*op);
}

void addMap(mlir::Operation* op, std::vector<WorkCandidate>& candidates) {
  auto operands = codegen::operandLayouts(op, kChannelsLast);
  bool shuffles = shufflesChannels(op);
  if (!operands || (!isEasyMap(op) && !shuffles)) {
    return;
  }
  WorkCandidate candidate;
  candidate.layouts.result = kChannelsLast;
  for (auto [operand, its] : llvm::zip(op->getOperands(), *operands)) {
    TensorDesc desc{denseDesc(operand).type, its.dims, {}, false};
    candidate.operands.push_back(
        its.layout.isDense() ? desc : cuda::channelsLastDesc(desc.type, its.dims));
    candidate.layouts.operands.push_back(its.layout);
  }
  for (mlir::Value result : op->getResults()) {
    candidate.results.push_back(channelsLastDesc(result));
  }
  llvm::SmallVector<KernelLayout> dense(op->getNumOperands());
  bool isWide =
      codegen::isElementwiseThroughout(op) ||
      vectorLanes(op, candidate.layouts.operands, kChannelsLast) >= vectorLanes(op, dense, {});
  if (isWide || shuffles) {
    candidate.nanos = isWide ? 0 : copyNanos(candidate.results[0]) - kLaunchNanos;  // half as fast
    candidates.push_back(std::move(candidate));
  }
}

/// A pool whose channels lie last: as many elements by as many threads.
void addPool(mlir::Operation* op, std::vector<WorkCandidate>& candidates) {
  WorkCandidate candidate;
  candidate.layouts.result = kChannelsLast;
  candidate.operands.push_back(channelsLastDesc(op->getOperand(0)));
  candidate.results.push_back(channelsLastDesc(op->getResult(0)));
  candidates.push_back(std::move(candidate));
}

/// The time that a reduction takes longer where a thread reads elements alone, for lack of rows, or
/// where a second kernel follows.
double walkNanos(mlir::Operation* op) {
  RowWalk walk = walkOfThread(op);
  return kAloneNanos * static_cast<double>(walk.elements) + (walk.hasParts ? kLaunchNanos : 0);
}

void addSeen(mlir::Operation* op, std::vector<WorkCandidate>& candidates) {
  WorkCandidate candidate;
  candidate.seen = seenChannelsLast(op);
  if (!candidate.seen || !whyNotGenerated(candidate.seen.op).empty()) {
    return;
  }
  for (mlir::Value operand : op->getOperands()) {
    candidate.operands.push_back(channelsLastDesc(operand));
  }
  for (mlir::Value result : op->getResults()) {
    candidate.results.push_back(channelsLastDesc(result));
  }
  candidates[0].nanos = walkNanos(op);
  candidate.nanos = walkNanos(candidate.seen.op);
  candidates.push_back(std::move(candidate));
}

}  // namespace

double copyNanos(const TensorDesc& wanted) {
  return kLaunchNanos + 2 * static_cast<double>(wanted.spec().byteSize()) / kBytesPerNano;
}

WorkCandidate denseCandidate(mlir::Operation* op) {
  WorkCandidate candidate;
  for (mlir::Value operand : op->getOperands()) {
    candidate.operands.push_back(denseDesc(operand));
  }
  for (mlir::Value result : op->getResults()) {
    candidate.results.push_back(denseDesc(result));
  }
  return candidate;
}

absl::StatusOr<std::vector<WorkCandidate>> libraryCandidates(
    mlir::Operation* op, llvm::ArrayRef<mlir::Operation*> epilogue, mlir::Value result,
    const GpuTarget& target) {
  std::vector<WorkCandidate> candidates;
  absl::Status declined = absl::OkStatus();
  auto tryOne = [&](bool channelsLast) {
    absl::StatusOr<LibraryChoice> choice =
        chooseLibrary(op, epilogue, result, {target.precision, channelsLast, target.refused});
    declined.Update(choice.status());  // the first reason: that of the layout which is wanted
    if (choice.ok()) {
      candidates.push_back(candidateOf(*std::move(choice)));
    }
  };
  if (hasImages(op) && (isOnTensorCores(op, target.precision) || !isConvolution(op))) {
    tryOne(true);
  }
  if (candidates.empty() || !isConvolution(op)) {
    tryOne(false);
  }
  return candidates.empty() ? absl::StatusOr<std::vector<WorkCandidate>>(declined)
                            : std::move(candidates);
}

absl::StatusOr<std::vector<WorkCandidate>> float8Candidates(
    mlir::Operation* op, llvm::ArrayRef<mlir::Operation*> epilogue, mlir::Value result,
    const GpuTarget& target) {
  return onlyCandidate(chooseFloat8Product(op, epilogue, result, target));
}

absl::StatusOr<std::vector<WorkCandidate>> attentionCandidates(ir::GroupOp group,
                                                               const GpuTarget& target) {
  return onlyCandidate(chooseAttention(group, target.refused));
}

std::vector<WorkCandidate> generatedCandidates(mlir::Operation* op) {
  std::vector<WorkCandidate> candidates;
  candidates.push_back(denseCandidate(op));
  if (llvm::isa<ir::TransposeOp>(op)) {
    addView(op, candidates);
  } else if (!isPointOperation(op) && codegen::whyNotMap(op).empty()) {
    addMap(op, candidates);
  } else if (isPoolOfAnyLayout(op)) {
    addPool(op, candidates);
  } else {
    addSeen(op, candidates);
  }
  return candidates;
}

}  // namespace graphrun::devices::cuda
