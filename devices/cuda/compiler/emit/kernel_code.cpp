#include "devices/cuda/compiler/emit/kernel_code.h"

#include "devices/codegen/kernel_names.h"
#include "devices/codegen/lowering_passes.h"
#include "devices/cuda/compiler/emit/channels_last.h"
#include "devices/cuda/compiler/emit/kernel_families.h"
#include "devices/cuda/compiler/emit/map_kernel.h"
#include "devices/cuda/compiler/emit/point_kernel.h"
#include "devices/cuda/compiler/emit/ptx.h"
#include "devices/cuda/compiler/emit/row_kernel.h"
#include "devices/cuda/compiler/emit/tile_kernel.h"
#include "ir/dialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "runtime/base/status.h"

namespace graphrun::devices::cuda {

namespace {

bool isStatic(mlir::Type type) {
  auto tensor = llvm::dyn_cast<mlir::RankedTensorType>(type);
  return tensor && tensor.hasStaticShape();
}

/// Kinds of kernels beside those of rows, points and maps.
const KernelFamily* familyOf(mlir::Operation* op) {
  static const KernelFamily kFamilies[] = {fillKernels(),   convertKernels(), resizeKernels(),
                                           sampleKernels(), scatterKernels(), topKKernels()};
  const auto* found =
      llvm::find_if(kFamilies, [&](const KernelFamily& family) { return family.has(op); });
  return found == std::end(kFamilies) ? nullptr : found;
}

/// Views cost nothing, and transpositions are done by tiles: what is both is taken apart, but where
/// channels are shuffled.
std::string whyNotMap(mlir::Operation* op) {
  std::string why = codegen::whyNotMap(op);
  return why.empty() && codegen::movesByShapes(op) && !shufflesChannels(op)
             ? "its movements are views and transpositions"
             : why;
}

}  // namespace

std::string whyNotGenerated(mlir::Operation* op) {
  if (op->getNumResults() == 0 || !llvm::all_of(op->getOperandTypes(), isStatic) ||
      !llvm::all_of(op->getResultTypes(), isStatic)) {
    return op->getName().getStringRef().str() +
           " has no results, or values that are no tensors of a known shape";
  }
  if (const KernelFamily* family = familyOf(op)) {
    return family->whyNot(op);
  }
  return isRowOperation(op)     ? whyNotRowKernel(op)
         : isPointOperation(op) ? whyNotPointKernel(op)
                                : whyNotMap(op);
}

OperationKernels buildKernels(mlir::Operation* op, const MapLayouts& layouts) {
  OperationKernels kernels(op);
  if (const KernelFamily* family = familyOf(op)) {
    family->build(kernels);
    return kernels;
  }
  if (isRowOperation(op)) {
    buildRowKernels(kernels);
    return kernels;
  }
  kernels.add([&](mlir::ModuleOp module, const std::string& symbol) {
    if (isPointOperation(op)) {
      return buildPointKernel(module, op, !layouts.result.isDense(), symbol);
    }
    if (isTileKernel(op)) {
      return buildTileKernel(module, op, symbol);
    }
    llvm::SmallVector<KernelLayout> operands(layouts.operands);
    operands.resize(op->getNumOperands());
    return buildMapKernel(module, op, operands, layouts.result, symbol);
  });
  return kernels;
}

void addKernelDialects(mlir::DialectRegistry& registry) {
  codegen::addKernelDialects(registry);
  registry.insert<mlir::NVVM::NVVMDialect>();
}

KernelCode::KernelCode(mlir::MLIRContext& context, codegen::CodeTarget target,
                       runtime::CodeStore* store)
    : context_(context), target_(std::move(target)), store_(store) {
  codegen::loadKernelDialects(context);
  context.loadDialect<mlir::NVVM::NVVMDialect>();
}

const KernelPlan& KernelCode::add(mlir::Operation* op, const MapLayouts& layouts) {
  std::string key = codegen::kernelKey(op) + (layouts.result.isDense() ? "" : " channels last");
  for (const KernelLayout& layout : layouts.operands) {
    key += layout.isDense() ? " dense" : " last";
  }
  return addAs(key, [&] { return buildKernels(op, layouts); });
}

const KernelPlan& KernelCode::addAs(const std::string& key,
                                    llvm::function_ref<OperationKernels()> build) {
  auto [found, isNew] = plans_.try_emplace(key);
  if (isNew) {
    OperationKernels kernels = build();
    for (auto [module, launch] : llvm::zip(kernels.modules, kernels.plan.launches)) {
      launch.symbol = codegen::nameKernel(*module, target_);
      code_.try_emplace(launch.symbol, std::move(module));
    }
    found->second = std::move(kernels.plan);
  }
  return found->second;
}

absl::StatusOr<std::vector<KernelText>> KernelCode::finish() {
  std::vector<KernelText> texts;
  for (const auto& [symbol, module] : code_) {
    KernelText& text = texts.emplace_back(KernelText{symbol, ""});
    std::optional<absl::Span<const uint8_t>> known =
        store_ != nullptr ? store_->find(symbol) : std::nullopt;
    if (known) {
      text.ptx.assign(known->begin(), known->end());
      continue;
    }
    GR_ASSIGN_OR_RETURN(text.ptx, emitPtx(*module, target_));
    if (store_ != nullptr) {
      store_->store(symbol, {reinterpret_cast<const uint8_t*>(text.ptx.data()), text.ptx.size()});
    }
  }
  return texts;
}

}  // namespace graphrun::devices::cuda
