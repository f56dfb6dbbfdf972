#include "devices/cpu/compiler/cpu_compiler.h"

#include <array>

#include "absl/strings/str_cat.h"
#include "devices/compiler/attributes.h"
#include "devices/compiler/place_buffers.h"
#include "devices/cpu/base/onednn_layouts.h"
#include "devices/cpu/compiler/lowering.h"
#include "devices/cpu/reference/reference.h"
#include "devices/cpu/runtime/cpu_device.h"
#include "devices/cpu/vectors/instructions.h"
#include "mlir/IR/BuiltinTypes.h"
#include "passes/serialization/type_codec.h"

namespace graphrun::devices::cpu {
namespace {

/// Memory may cost this much time where a limit is short, tried one after the other: an algorithm
/// that is faster for its large weights saves some 0.1 ns a byte.
constexpr std::array<double, 7> kNanosPerByte = {0, 0.01, 0.03, 0.1, 0.3, 1, 1000};

std::vector<runtime::ElementType> elementTypes(mlir::TypeRange types) {
  std::vector<runtime::ElementType> elements;
  for (mlir::Type type : types) {
    elements.push_back(passes::elementTypeOf(llvm::cast<mlir::TensorType>(type).getElementType()));
  }
  return elements;
}

std::string whyOneUnsupported(mlir::Operation* op) {
  if (llvm::isa<ir::ConstantOp, ir::StateOp, ir::UpdateOp, ir::SendOp, ir::RecvOp, ir::YieldOp>(
          op)) {
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
  // Kernels choose by the number of threads that will run them.
  ScopedThreads threads(threadsOf(device));
  InstructionCosts costs(tuning, threadsOf(device));
  const RefusedKernels refused(tuning.refused);
  WorkCandidates candidates(costs, device.memoryBytes != 0, refused);
  GR_ASSIGN_OR_RETURN(std::vector<WorkItem> items, collectWorkItems(partition, candidates));
  costs.finish();
  for (size_t attempt = 0;; ++attempt) {
    Executable executable;
    executable.fingerprint = fingerprint;
    CodeModule code(*partition.getContext(), code_, threadsOf(device));
    std::vector<uint32_t> chosen = selectKernels(items, costs, kNanosPerByte[attempt]);
    GR_RETURN_IF_ERROR(Lowering(executable, code, weightIndex).lower(partition, items, chosen));
    GR_RETURN_IF_ERROR(placeBuffers(executable, runtime::kTensorAlignment));
    GR_ASSIGN_OR_RETURN(uint64_t bytes, memoryOf(executable));
    bool fits = device.memoryBytes == 0 || bytes <= device.memoryBytes;
    if (fits || attempt + 1 == kNanosPerByte.size()) {  // loading refuses what is still too large
      GR_ASSIGN_OR_RETURN(executable.code, code.finish());
      return writeExecutable(executable);
    }
  }
}

}  // namespace graphrun::devices::cpu
