#include "devices/cuda/compiler/ways.h"

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
/// Of one thread that reads one element after the other, where a warp would read rows.
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

Way wayOf(LibraryChoice choice) {
  Way way;
  const Instruction& instruction = choice.library.instruction;
  for (const Argument& input : instruction.inputs) {
    way.operands.push_back(input.desc);
  }
  for (auto [post, value] : llvm::zip(instruction.postOps, choice.library.postOperands)) {
    if (value) {
      way.operands.push_back(post.operand ? post.operand->desc : instruction.outputs[0].desc);
    }
  }
  for (const Argument& output : instruction.outputs) {
    way.results.push_back(output.desc);
  }
  way.library = std::move(choice);
  return way;
}

absl::StatusOr<std::vector<Way>> onlyWay(absl::StatusOr<LibraryChoice> choice) {
  GR_RETURN_IF_ERROR(choice.status());
  std::vector<Way> ways;
  ways.push_back(wayOf(*std::move(choice)));
  return ways;
}

/// A transposition that is none where the channels lie last before or behind it.
void addView(mlir::Operation* op, std::vector<Way>& ways) {
  Way view = denseWay(op);
  view.isView = true;
  if (putsChannelsLast(op)) {
    view.operands[0] = channelsLastDesc(op->getOperand(0));
  } else if (bringsChannelsBack(op)) {
    view.results[0] = channelsLastDesc(op->getResult(0));
  } else {
    return;
  }
  ways[0].nanos = copyNanos(ways[0].results[0]);
  ways.push_back(std::move(view));
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

void addMap(mlir::Operation* op, std::vector<Way>& ways) {
  auto operands = codegen::operandLayouts(op, kChannelsLast);
  bool shuffles = shufflesChannels(op);
  if (!operands || (!isEasyMap(op) && !shuffles)) {
    return;
  }
  Way way;
  way.layouts.result = kChannelsLast;
  for (auto [operand, its] : llvm::zip(op->getOperands(), *operands)) {
    TensorDesc desc{denseDesc(operand).type, its.dims, {}, false};
    way.operands.push_back(its.layout.isDense() ? desc
                                                : cuda::channelsLastDesc(desc.type, its.dims));
    way.layouts.operands.push_back(its.layout);
  }
  for (mlir::Value result : op->getResults()) {
    way.results.push_back(channelsLastDesc(result));
  }
  llvm::SmallVector<KernelLayout> dense(op->getNumOperands());
  bool isWide = codegen::isElementwiseThroughout(op) ||
                vectorLanes(op, way.layouts.operands, kChannelsLast) >= vectorLanes(op, dense, {});
  if (isWide || shuffles) {
    way.nanos = isWide ? 0 : copyNanos(way.results[0]) - kLaunchNanos;  // half as fast
    ways.push_back(std::move(way));
  }
}

/// A pool whose channels lie last: as many elements by as many threads.
void addPool(mlir::Operation* op, std::vector<Way>& ways) {
  Way way;
  way.layouts.result = kChannelsLast;
  way.operands.push_back(channelsLastDesc(op->getOperand(0)));
  way.results.push_back(channelsLastDesc(op->getResult(0)));
  ways.push_back(std::move(way));
}

/// What a reduction takes longer where a thread reads elements alone, for lack of rows, or where a
/// second kernel follows.
double walkNanos(mlir::Operation* op) {
  RowWalk walk = walkOfThread(op);
  return kAloneNanos * static_cast<double>(walk.elements) + (walk.hasParts ? kLaunchNanos : 0);
}

void addSeen(mlir::Operation* op, std::vector<Way>& ways) {
  Way way;
  way.seen = seenChannelsLast(op);
  if (!way.seen || !whyNotGenerated(way.seen.op).empty()) {
    return;
  }
  for (mlir::Value operand : op->getOperands()) {
    way.operands.push_back(channelsLastDesc(operand));
  }
  for (mlir::Value result : op->getResults()) {
    way.results.push_back(channelsLastDesc(result));
  }
  ways[0].nanos = walkNanos(op);
  way.nanos = walkNanos(way.seen.op);
  ways.push_back(std::move(way));
}

}  // namespace

double copyNanos(const TensorDesc& wanted) {
  return kLaunchNanos + 2 * static_cast<double>(wanted.spec().byteSize()) / kBytesPerNano;
}

Way denseWay(mlir::Operation* op) {
  Way way;
  for (mlir::Value operand : op->getOperands()) {
    way.operands.push_back(denseDesc(operand));
  }
  for (mlir::Value result : op->getResults()) {
    way.results.push_back(denseDesc(result));
  }
  return way;
}

absl::StatusOr<std::vector<Way>> libraryWays(mlir::Operation* op,
                                             llvm::ArrayRef<mlir::Operation*> epilogue,
                                             mlir::Value result, const GpuTarget& target) {
  std::vector<Way> ways;
  absl::Status declined = absl::OkStatus();
  auto tryOne = [&](bool channelsLast) {
    absl::StatusOr<LibraryChoice> choice =
        chooseLibrary(op, epilogue, result, {target.precision, channelsLast, target.refused});
    declined.Update(choice.status());  // the first reason: that of the layout which is wanted
    if (choice.ok()) {
      ways.push_back(wayOf(*std::move(choice)));
    }
  };
  if (hasImages(op) && (isOnTensorCores(op, target.precision) || !isConvolution(op))) {
    tryOne(true);
  }
  if (ways.empty() || !isConvolution(op)) {
    tryOne(false);
  }
  return ways.empty() ? absl::StatusOr<std::vector<Way>>(declined) : std::move(ways);
}

absl::StatusOr<std::vector<Way>> float8Ways(mlir::Operation* op,
                                            llvm::ArrayRef<mlir::Operation*> epilogue,
                                            mlir::Value result, const GpuTarget& target) {
  return onlyWay(chooseFloat8Product(op, epilogue, result, target));
}

absl::StatusOr<std::vector<Way>> attentionWays(ir::GroupOp group, const GpuTarget& target) {
  return onlyWay(chooseAttention(group, target.refused));
}

std::vector<Way> generatedWays(mlir::Operation* op) {
  std::vector<Way> ways;
  ways.push_back(denseWay(op));
  if (llvm::isa<ir::TransposeOp>(op)) {
    addView(op, ways);
  } else if (!isPointOperation(op) && codegen::whyNotMap(op).empty()) {
    addMap(op, ways);
  } else if (isPoolOfAnyLayout(op)) {
    addPool(op, ways);
  } else {
    addSeen(op, ways);
  }
  return ways;
}

}  // namespace graphrun::devices::cuda
