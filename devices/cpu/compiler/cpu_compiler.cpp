#include "devices/cpu/compiler/cpu_compiler.h"

#include "absl/strings/str_cat.h"
#include "devices/cpu/compiler/attributes.h"
#include "devices/cpu/compiler/lowering.h"
#include "devices/cpu/compiler/place_buffers.h"
#include "devices/cpu/cpu_device.h"
#include "devices/cpu/instructions.h"
#include "devices/cpu/onednn_layouts.h"
#include "mlir/IR/BuiltinTypes.h"
#include "passes/type_codec.h"

namespace graphrun::devices::cpu {
namespace {

std::vector<runtime::ElementType> elementTypes(mlir::TypeRange types) {
  std::vector<runtime::ElementType> elements;
  for (mlir::Type type : types) {
    elements.push_back(passes::elementTypeOf(llvm::cast<mlir::TensorType>(type).getElementType()));
  }
  return elements;
}

std::string whyOneUnsupported(mlir::Operation* op) {
  if (llvm::isa<ir::ConstantOp, ir::SendOp, ir::RecvOp, ir::YieldOp>(op)) {
    return "";
  }
  std::string name = op->getName().getStringRef().str();
  if (supportsOperation(name, elementTypes(op->getOperandTypes()),
                        elementTypes(op->getResultTypes()))) {
    return "";
  }
  std::string types;
  for (mlir::Type type : op->getOperandTypes()) {
    absl::StrAppend(&types, types.empty() ? "" : ", ",
                    runtime::elementTypeName(elementTypes({type})[0]));
  }
  return absl::StrCat("no kernel for ", name, " of (", types, ")");
}

}  // namespace

std::string CpuCompiler::whyUnsupported(mlir::Operation* op) const {
  auto group = llvm::dyn_cast<ir::GroupOp>(op);
  if (!group) {
    return whyOneUnsupported(op);
  }
  for (mlir::Operation& inner : group.getBody().front()) {
    if (std::string why = whyOneUnsupported(&inner); !why.empty()) {
      return why;
    }
  }
  return "";
}

absl::StatusOr<std::vector<uint8_t>> CpuCompiler::compile(mlir::func::FuncOp partition,
                                                          const DeviceDescription& device,
                                                          const std::string& fingerprint,
                                                          const WeightIndex& weightIndex,
                                                          Tuning& tuning) const {
  if (tuning.precision == runtime::Precision::kBF16 && !multipliesBFloat16()) {
    return absl::UnimplementedError(
        "the CPU has no products of bf16 (AVX512_BF16), which --precision bf16 is for; run with "
        "--precision f32");
  }
  Executable executable;
  executable.fingerprint = fingerprint;
  CodeModule code(*partition.getContext(), code_, threadsOf(device));
  // Kernels choose by the number of threads that will run them.
  ScopedThreads threads(threadsOf(device));
  StepCosts costs(tuning, threadsOf(device));
  GR_RETURN_IF_ERROR(Lowering(executable, code, weightIndex).lower(partition, costs));
  costs.finish();
  GR_RETURN_IF_ERROR(placeBuffers(executable));
  GR_ASSIGN_OR_RETURN(executable.code, code.finish());
  return writeExecutable(executable);
}

}  // namespace graphrun::devices::cpu
