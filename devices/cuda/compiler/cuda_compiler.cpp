#include "devices/cuda/compiler/cuda_compiler.h"

#include "devices/compiler/place_buffers.h"
#include "devices/cuda/compiler/algorithm_tuning.h"
#include "devices/cuda/compiler/emit/kernel_code.h"
#include "devices/cuda/compiler/emit/ptx.h"
#include "devices/cuda/compiler/kernel_selection.h"
#include "devices/cuda/compiler/lowering.h"
#include "devices/cuda/compiler/support.h"
#include "devices/cuda/driver/libraries.h"
#include "devices/cuda/kernels/layouts.h"
#include "devices/cuda/program/cuda_device.h"

namespace graphrun::devices::cuda {
namespace {

/// The texts as the loader takes them: one behind the other, each ended by a zero byte.
std::vector<uint8_t> imageOf(const std::vector<KernelText>& kernels) {
  std::vector<uint8_t> image;
  for (const KernelText& kernel : kernels) {
    image.insert(image.end(), kernel.ptx.begin(), kernel.ptx.end());
    image.push_back(0);
  }
  return image;
}

class CudaCompiler final : public DeviceCompiler {
 public:
  explicit CudaCompiler(runtime::CodeStore* code) : code_(code) {}

  std::string kind() const override { return "cuda"; }

  std::string whyUnsupported(mlir::Operation* op) const override {
    return cuda::whyUnsupported(op);
  }

  absl::StatusOr<std::vector<uint8_t>> compile(mlir::func::FuncOp partition,
                                               const DeviceDescription& device,
                                               const std::string& fingerprint,
                                               const WeightIndex& weightIndex,
                                               Tuning& tuning) const override {
    GR_ASSIGN_OR_RETURN(int capability, computeCapabilityOf(fingerprint));
    GR_ASSIGN_OR_RETURN(codegen::CodeTarget target, ptxTarget(capability));
    Executable executable;
    executable.fingerprint = fingerprint;
    KernelCode code(*partition.getContext(), std::move(target), code_);
    const RefusedKernels refused(tuning.refused);
    GR_ASSIGN_OR_RETURN(
        std::vector<WorkItem> items,
        collectWorkItems(partition, {tuning.precision, capability, tuning.numerics, &refused}));
    GR_RETURN_IF_ERROR(
        Lowering(executable, code, weightIndex).lower(partition, items, selectKernels(items)));
    GR_RETURN_IF_ERROR(placeBuffers(executable, kBufferAlignment));
    GR_ASSIGN_OR_RETURN(std::vector<KernelText> kernels, code.finish());
    executable.code = imageOf(kernels);
    choosePlans(executable, device.index, libraries(), tuning);
    return writeExecutable(executable);
  }

 private:
  runtime::CodeStore* code_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<DeviceCompiler>> createCudaCompiler(runtime::CodeStore* code) {
  return std::make_unique<CudaCompiler>(code);
}

}  // namespace graphrun::devices::cuda
