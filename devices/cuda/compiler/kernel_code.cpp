#include "devices/cuda/compiler/kernel_code.h"

#include "devices/codegen/kernel_names.h"
#include "devices/codegen/lowering_passes.h"
#include "devices/cuda/compiler/map_kernel.h"
#include "devices/cuda/compiler/point_kernel.h"
#include "devices/cuda/compiler/ptx.h"
#include "devices/cuda/compiler/row_kernel.h"
#include "devices/cuda/compiler/tile_kernel.h"
#include "ir/dialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "runtime/base/status.h"

namespace graphrun::devices::cuda {

namespace {

bool isStatic(mlir::Type type) {
  auto tensor = llvm::dyn_cast<mlir::RankedTensorType>(type);
  return tensor && tensor.hasStaticShape();
}

bool reducesRows(mlir::Operation* op) {
  return llvm::isa<ir::ReduceOp, ir::SoftmaxOp, ir::LayerNormOp>(op);
}

}  // namespace

std::string whyNotGenerated(mlir::Operation* op) {
  if (op->getNumResults() == 0 || !llvm::all_of(op->getOperandTypes(), isStatic) ||
      !llvm::all_of(op->getResultTypes(), isStatic)) {
    return op->getName().getStringRef().str() +
           " has no results, or values that are no tensors of a known shape";
  }
  return reducesRows(op)        ? whyNotRowKernel(op)
         : isPointOperation(op) ? whyNotPointKernel(op)
                                : whyNotMapKernel(op);
}

KernelLaunch buildKernel(mlir::ModuleOp module, mlir::Operation* op, const std::string& symbol,
                         const MapLayouts& layouts) {
  if (reducesRows(op)) {
    return buildRowKernel(module, op, symbol);
  }
  if (isPointOperation(op)) {
    return buildPointKernel(module, op, symbol);
  }
  if (isTileKernel(op)) {
    return buildTileKernel(module, op, symbol);
  }
  llvm::SmallVector<KernelLayout> operands(layouts.operands);
  operands.resize(op->getNumOperands());
  return buildMapKernel(module, op, operands, layouts.result, symbol);
}

void addKernelDialects(mlir::DialectRegistry& registry) {
  codegen::addKernelDialects(registry);
  registry.insert<mlir::NVVM::NVVMDialect>();
}

KernelCode::KernelCode(mlir::MLIRContext& context, codegen::CodeTarget target, CodeStore* store)
    : context_(context), target_(std::move(target)), store_(store) {
  codegen::loadKernelDialects(context);
  context.loadDialect<mlir::NVVM::NVVMDialect>();
}

KernelLaunch KernelCode::add(mlir::Operation* op, const MapLayouts& layouts) {
  std::string key = codegen::kernelKey(op) + (layouts.result.isDense() ? "" : " channels last");
  for (const KernelLayout& layout : layouts.operands) {
    key += layout.isDense() ? " dense" : " last";
  }
  auto [found, isNew] = launches_.try_emplace(key);
  if (isNew) {
    mlir::OwningOpRef<mlir::ModuleOp> module =
        mlir::ModuleOp::create(mlir::UnknownLoc::get(&context_));
    found->second = buildKernel(*module, op, "kernel", layouts);
    found->second.symbol = codegen::nameKernel(*module, target_);
    code_.try_emplace(found->second.symbol, std::move(module));
  }
  return found->second;
}

absl::StatusOr<std::vector<KernelText>> KernelCode::finish() {
  std::vector<KernelText> texts;
  for (const auto& [symbol, module] : code_) {
    KernelText& text = texts.emplace_back(KernelText{symbol, ""});
    std::optional<std::vector<uint8_t>> known =
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
