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
  GeneratedKernel(const Instruction& instruction, const KernelContext& context, CUfunction function)
      : driver_(context.driver),
        function_(function),
        grid_(instruction.grid),
        block_(instruction.block),
        sharedBytes_(instruction.sharedBytes) {
    values_.reserve(instruction.inputs.size() + instruction.outputs.size() +
                    instruction.sizes.size() + 1);
    for (const auto* list : {&instruction.inputs, &instruction.outputs}) {
      for (const Argument& argument : *list) {
        values_.push_back(context.addressOf(argument));
      }
    }
    if (instruction.scratch) {
      values_.push_back(context.addressOf(*instruction.scratch));
    }
    for (int64_t size : instruction.sizes) {
      values_.push_back(static_cast<uint64_t>(size));
    }
    if (instruction.attributes.contains(kReportsErrors)) {
      values_.push_back(context.errors);
      values_.push_back(errorBase(context.instruction));
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
  CopyKernel(const Instruction& instruction, const KernelContext& context)
      : driver_(context.driver),
        from_(context.addressOf(instruction.inputs[0])),
        to_(context.addressOf(instruction.outputs[0])),
        bytes_(instruction.inputs[0].desc.spec().byteSize()) {}

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

absl::StatusOr<KernelChoice> chooseGenerated(const Instruction& instruction) {
  bool grid = instruction.grid.volume() > 0 && instruction.grid.x <= kMostBlocksX &&
              instruction.grid.y <= kMostBlocksYZ && instruction.grid.z <= kMostBlocksYZ;
  if (!grid || instruction.block.volume() == 0 || instruction.block.volume() > kMostThreads) {
    return absl::InvalidArgumentError(absl::StrCat(
        "generated ", instruction.symbol, ": ", instruction.grid.x, " x ", instruction.grid.y,
        " x ", instruction.grid.z, " blocks of ", instruction.block.x, " x ", instruction.block.y,
        " x ", instruction.block.z,
        " threads, expected from 1 block of 1 thread to 2^31-1 x 65535 x 65535 of 1024"));
  }
  return KernelChoice{0, "generated"};
}

absl::StatusOr<std::unique_ptr<Kernel>> createGenerated(const Instruction& instruction,
                                                        const KernelContext& context) {
  if (context.code == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat("generated ", instruction.symbol, ": the executable has no code"));
  }
  GR_ASSIGN_OR_RETURN(CUfunction function, context.code->find(instruction.symbol));
  GR_RETURN_IF_ERROR(reserveShared(context.driver, function, instruction.sharedBytes));
  return std::make_unique<GeneratedKernel>(instruction, context, function);
}

absl::StatusOr<KernelChoice> chooseCopy(const Instruction& instruction) {
  if (instruction.inputs.size() != 1 || instruction.outputs.size() != 1 ||
      !instruction.inputs[0].desc.layout.empty() || !instruction.outputs[0].desc.layout.empty() ||
      instruction.inputs[0].desc.spec().byteSize() !=
          instruction.outputs[0].desc.spec().byteSize()) {
    return absl::InvalidArgumentError("copy: expected one dense operand and a result of its size");
  }
  return KernelChoice{0, "cuMemcpyDtoDAsync"};
}

absl::StatusOr<std::unique_ptr<Kernel>> createCopy(const Instruction& instruction,
                                                   const KernelContext& context) {
  return std::make_unique<CopyKernel>(instruction, context);
}

}  // namespace graphrun::devices::cuda
