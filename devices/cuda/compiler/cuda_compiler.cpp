#include "devices/cuda/compiler/cuda_compiler.h"

#include <algorithm>
#include <array>
#include <limits>

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

/// Scratch memory of a library's instruction at most, attempt by attempt: with less, libraries have
/// fewer algorithms. First what they ask for.
constexpr std::array<uint64_t, 4> kMostScratch = {std::numeric_limits<uint64_t>::max(),
                                                  uint64_t{4} << 20, uint64_t{1} << 18, 0};

void capScratch(std::vector<WorkItem>& items, uint64_t most) {
  for (WorkItem& item : items) {
    for (WorkCandidate& candidate : item.candidates) {
      candidate.library.scratchBytes = std::min(candidate.library.scratchBytes, most);
    }
  }
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
    KernelCode code(*partition.getContext(), std::move(target), code_);
    const RefusedKernels refused(tuning.refused);
    GR_ASSIGN_OR_RETURN(
        std::vector<WorkItem> items,
        collectWorkItems(partition, {tuning.precision, capability, tuning.numerics, &refused}));
    const std::vector<uint32_t> chosen = selectKernels(items);
    Executable executable;
    for (const uint64_t most : kMostScratch) {  // loading refuses what is still too large
      capScratch(items, most);
      executable = Executable();
      executable.fingerprint = fingerprint;
      GR_RETURN_IF_ERROR(Lowering(executable, code, weightIndex).lower(partition, items, chosen));
      GR_RETURN_IF_ERROR(placeBuffers(executable, kBufferAlignment));
      GR_ASSIGN_OR_RETURN(const uint64_t bytes, memoryOf(executable));
      if (device.memoryBytes == 0 || bytes <= device.memoryBytes) {
        break;
      }
    }
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
