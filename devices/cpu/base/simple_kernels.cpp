#include "devices/cpu/base/simple_kernels.h"

#include <omp.h>

#include <algorithm>
#include <cstring>

#include "devices/cpu/base/code_image.h"
#include "devices/cpu/base/onednn_layouts.h"
#include "devices/cpu/threading/parallel.h"

namespace graphrun::devices::cpu {
namespace {

class GeneratedKernel : public Kernel {
 public:
  GeneratedKernel(const Instruction& instruction, GeneratedFunction function)
      : function_(function),
        extent_(static_cast<int64_t>(instruction.extent)),
        grain_(std::max<int64_t>(static_cast<int64_t>(instruction.grain), 1)),
        sizes_(instruction.sizes) {
    for (const auto* list : {&instruction.inputs, &instruction.outputs}) {
      for (const Argument& argument : *list) {
        buffers_.push_back(argument.buffer);
      }
    }
    arguments_.resize(buffers_.size() + 1);
    arguments_.back() = sizes_.data();
  }

  int run(void* const* buffers) override {
    for (size_t i = 0; i < buffers_.size(); ++i) {
      arguments_[i] = buffers[buffers_[i]];
    }
    int64_t most = extent_ < 2 * grain_ ? 1 : omp_get_max_threads();
    int64_t threads = std::clamp<int64_t>(extent_ / grain_, 1, most);
    if (threads == 1) {
      function_(arguments_.data(), 0, extent_);
      return 0;
    }
#pragma omp parallel num_threads(static_cast<int>(threads))
    {
      int64_t count = omp_get_num_threads();
      int64_t mine = omp_get_thread_num();
      function_(arguments_.data(), extent_ * mine / count, extent_ * (mine + 1) / count);
    }
    return 0;
  }

 private:
  GeneratedFunction function_;
  int64_t extent_;
  int64_t grain_;
  std::vector<int64_t> sizes_;
  std::vector<uint32_t> buffers_;
  std::vector<void*> arguments_;
};

class CopyKernel : public Kernel {
 public:
  explicit CopyKernel(const Instruction& instruction)
      : from_(instruction.inputs[0].buffer),
        to_(instruction.outputs[0].buffer),
        bytes_(static_cast<int64_t>(instruction.inputs[0].desc.spec().byteSize())) {}

  int run(void* const* buffers) override {
    const char* from = static_cast<const char*>(buffers[from_]);
    char* to = static_cast<char*>(buffers[to_]);
    if (from != to) {
      parallelRanges(bytes_, [&](int64_t begin, int64_t end) {
        std::memmove(to + begin, from + begin, static_cast<size_t>(end - begin));
      });
    }
    return 0;
  }

 private:
  uint32_t from_;
  uint32_t to_;
  int64_t bytes_;
};

/// Layouts as given; open ones dense.
LayoutChoice asGiven(const Instruction& instruction) {
  LayoutChoice choice;
  auto close = [](TensorDesc desc) {
    desc.any = false;
    return desc;
  };
  for (const Argument& input : instruction.inputs) {
    choice.inputs.push_back(close(input.desc));
    choice.sources.push_back(TensorDesc{input.desc.type, input.desc.dims, {}, false});
  }
  for (const Argument& output : instruction.outputs) {
    choice.outputs.push_back(close(output.desc));
  }
  choice.postOps.resize(instruction.postOps.size());
  return choice;
}

absl::Status checkCopy(const Instruction& instruction) {
  if (instruction.inputs.size() != 1 || instruction.outputs.size() != 1 ||
      !isDense(instruction.inputs[0].desc) || !isDense(instruction.outputs[0].desc) ||
      instruction.inputs[0].desc.spec().byteSize() !=
          instruction.outputs[0].desc.spec().byteSize()) {
    return absl::InvalidArgumentError("copy: expected one dense operand and a result of its size");
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<LayoutChoice> chooseGenerated(const Instruction& instruction) {
  LayoutChoice choice = asGiven(instruction);
  choice.implementation = "generated";
  return choice;
}

absl::StatusOr<std::unique_ptr<Kernel>> createGenerated(const Instruction& instruction,
                                                        KernelContext& context) {
  constexpr uint64_t kMaxExtent = uint64_t{1} << 40;
  if (context.code == nullptr || instruction.extent > kMaxExtent ||
      instruction.grain > kMaxExtent) {
    return absl::InvalidArgumentError(absl::StrCat(
        "generated ", instruction.symbol, ": it has no code image, or an extent beyond 2^40"));
  }
  GR_ASSIGN_OR_RETURN(GeneratedFunction function, context.code->find(instruction.symbol));
  return std::make_unique<GeneratedKernel>(instruction, function);
}

absl::StatusOr<LayoutChoice> chooseCopy(const Instruction& instruction) {
  GR_RETURN_IF_ERROR(checkCopy(instruction));
  LayoutChoice choice = asGiven(instruction);
  choice.implementation = "memcpy";
  return choice;
}

absl::StatusOr<std::unique_ptr<Kernel>> createCopy(const Instruction& instruction, KernelContext&) {
  GR_RETURN_IF_ERROR(checkCopy(instruction));
  return std::make_unique<CopyKernel>(instruction);
}

}  // namespace graphrun::devices::cpu
