#include "devices/cuda/kernels/simple_kernels.h"

#include <algorithm>

#include "devices/cuda/driver/code_module.h"
#include "devices/cuda/driver/vendor_status.h"
#include "devices/cuda/kernels/kernel_errors.h"
#include "runtime/base/status.h"

namespace graphrun::devices::cuda {
namespace {

// What every GPU takes (CUDA programming guide, compute capabilities).
constexpr uint64_t kMostThreads = 1024;
constexpr uint32_t kMostBlocksX = 0x7fffffff;
constexpr uint32_t kMostBlocksYZ = 0xffff;

class GeneratedKernel : public Kernel {
 public:
  GeneratedKernel(const Step& step, const KernelContext& context, CUfunction function)
      : driver_(context.driver),
        function_(function),
        grid_(step.grid),
        block_(step.block),
        sharedBytes_(step.sharedBytes) {
    values_.reserve(step.inputs.size() + step.outputs.size() + step.sizes.size() + 1);
    for (const auto* list : {&step.inputs, &step.outputs}) {
      for (const Argument& argument : *list) {
        values_.push_back(context.addressOf(argument));
      }
    }
    if (step.scratch) {
      values_.push_back(context.addressOf(*step.scratch));
    }
    for (int64_t size : step.sizes) {
      values_.push_back(static_cast<uint64_t>(size));
    }
    if (step.attributes.contains(kReportsErrors)) {
      values_.push_back(context.errors);
      values_.push_back(errorBase(context.step));
    }
    parameters_.resize(values_.size());
    std::transform(values_.begin(), values_.end(), parameters_.begin(),
                   [](uint64_t& value) { return &value; });
  }

  absl::Status enqueue(CUstream stream) override {
    return GR_CU(driver_, cuLaunchKernel, function_, grid_.x, grid_.y, grid_.z, block_.x, block_.y,
                 block_.z, sharedBytes_, stream, parameters_.data(), nullptr);
  }

 private:
  const DriverApi& driver_;
  CUfunction function_;
  Extent grid_;
  Extent block_;
  uint32_t sharedBytes_;
  std::vector<uint64_t> values_;
  std::vector<void*> parameters_;  ///< into values_
};

class CopyKernel : public Kernel {
 public:
  CopyKernel(const Step& step, const KernelContext& context)
      : driver_(context.driver),
        from_(context.addressOf(step.inputs[0])),
        to_(context.addressOf(step.outputs[0])),
        bytes_(step.inputs[0].desc.spec().byteSize()) {}

  absl::Status enqueue(CUstream stream) override {
    return from_ == to_ || bytes_ == 0
               ? absl::OkStatus()
               : GR_CU(driver_, cuMemcpyDtoDAsync_v2, to_, from_, bytes_, stream);
  }

 private:
  const DriverApi& driver_;
  CUdeviceptr from_;
  CUdeviceptr to_;
  size_t bytes_;
};

/// A kernel that wants more shared memory than all have must say so, once for all its launches.
absl::Status reserveShared(const DriverApi& driver, CUfunction function, uint32_t bytes) {
  constexpr CUfunction_attribute kMost = CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
  int most = 0;
  GR_RETURN_IF_ERROR(GR_CU(driver, cuFuncGetAttribute, &most, kMost, function));
  if (bytes <= static_cast<uint32_t>(most)) {
    return absl::OkStatus();
  }
  return runtime::annotate(
      GR_CU(driver, cuFuncSetAttribute, function, kMost, static_cast<int>(bytes)),
      absl::StrCat(bytes, " bytes of shared memory"));
}

}  // namespace

absl::StatusOr<KernelChoice> chooseGenerated(const Step& step) {
  bool grid = step.grid.volume() > 0 && step.grid.x <= kMostBlocksX &&
              step.grid.y <= kMostBlocksYZ && step.grid.z <= kMostBlocksYZ;
  if (!grid || step.block.volume() == 0 || step.block.volume() > kMostThreads) {
    return absl::InvalidArgumentError(absl::StrCat(
        "generated ", step.symbol, ": ", step.grid.x, " x ", step.grid.y, " x ", step.grid.z,
        " blocks of ", step.block.x, " x ", step.block.y, " x ", step.block.z,
        " threads, expected from 1 block of 1 thread to 2^31-1 x 65535 x 65535 of 1024"));
  }
  return KernelChoice{0, "generated"};
}

absl::StatusOr<std::unique_ptr<Kernel>> createGenerated(const Step& step,
                                                        const KernelContext& context) {
  if (context.code == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat("generated ", step.symbol, ": the executable has no code"));
  }
  GR_ASSIGN_OR_RETURN(CUfunction function, context.code->find(step.symbol));
  GR_RETURN_IF_ERROR(reserveShared(context.driver, function, step.sharedBytes));
  return std::make_unique<GeneratedKernel>(step, context, function);
}

absl::StatusOr<KernelChoice> chooseCopy(const Step& step) {
  if (step.inputs.size() != 1 || step.outputs.size() != 1 || !step.inputs[0].desc.layout.empty() ||
      !step.outputs[0].desc.layout.empty() ||
      step.inputs[0].desc.spec().byteSize() != step.outputs[0].desc.spec().byteSize()) {
    return absl::InvalidArgumentError("copy: expected one dense operand and a result of its size");
  }
  return KernelChoice{0, "cuMemcpyDtoDAsync"};
}

absl::StatusOr<std::unique_ptr<Kernel>> createCopy(const Step& step, const KernelContext& context) {
  return std::make_unique<CopyKernel>(step, context);
}

}  // namespace graphrun::devices::cuda
