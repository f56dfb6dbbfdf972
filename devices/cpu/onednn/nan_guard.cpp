#include "devices/cpu/onednn/nan_guard.h"

#include <algorithm>

#include "devices/cpu/base/onednn_layouts.h"
#include "devices/cpu/onednn/exact_kernel.h"
#include "devices/cpu/threading/invalid_operations.h"
#include "devices/cpu/threading/kernel_team.h"
#include "devices/cpu/threading/parallel.h"
#include "devices/cpu/vectors/wide.h"

namespace graphrun::devices::cpu {
namespace {

using runtime::ElementType;

bool isOneOf(absl::string_view name, absl::Span<const absl::string_view> names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// Element-wise functions that begin with a maximum or minimum, on one of the machines at least.
bool losesNaN(absl::string_view function) {
  constexpr absl::string_view kFunctions[] = {"gr.relu", "gr.clip"};
  return isOneOf(function, kFunctions);
}

bool losesNaN(const PostOp& op) {
  return op.kind == PostOpKind::kEltwise
             ? losesNaN(op.algorithm)
             : op.kind == PostOpKind::kBinaryMax || op.kind == PostOpKind::kBinaryMin;
}

bool isMaxPool(const Instruction& instruction) {
  auto kind = attributeOr(instruction, "kind", std::string());
  return instruction.operation == "gr.max_pool" ||
         (instruction.operation == "gr.reduce" && kind.ok() && *kind == "max");
}

/// Returns whether its results can hold a NaN: also those of a product of bytes, which is scaled
/// and to which floats are added.
bool givesFloats(const Instruction& instruction) {
  return std::all_of(
      instruction.outputs.begin(), instruction.outputs.end(), [](const Argument& result) {
        return result.desc.type == ElementType::kF32 || result.desc.type == ElementType::kBF16;
      });
}

/// The least finite number, where the library's maxima start: a window of -Inf gives it.
template <typename Bits>
bool holds(const Bits* data, int64_t count, Bits wanted) {
  std::atomic<bool> found = false;
  parallelRanges(count, [&](int64_t begin, int64_t end) {
    bool here = false;
    runWide([&] {
      unsigned any = 0;
#pragma omp simd reduction(| : any)
      for (int64_t i = begin; i < end; ++i) {
        any |= data[i] == wanted ? 1U : 0U;
      }
      here = any != 0;
    });
    if (here) {
      found.store(true, std::memory_order_relaxed);
    }
  });
  return found.load();
}

bool holdsLowest(const Argument& result, int64_t elements, void* const* buffers) {
  constexpr uint32_t kLowest = 0xff7fffff;
  constexpr uint16_t kLowestBFloat16 = 0xff7f;
  const void* data = buffers[result.buffer];
  return result.desc.type == ElementType::kF32
             ? holds(static_cast<const uint32_t*>(data), elements, kLowest)
             : holds(static_cast<const uint16_t*>(data), elements, kLowestBFloat16);
}

class GuardedKernel : public Kernel {
 public:
  GuardedKernel(std::unique_ptr<Kernel> kernel, const Instruction& instruction, PlanFunction plan,
                const OneDnn& onednn)
      : kernel_(std::move(kernel)), instruction_(instruction), plan_(plan), onednn_(onednn) {
    if (isMaxPool(instruction)) {
      uint64_t bytes = layoutBytes(instruction.outputs[0].desc).value_or(0);
      pooled_ =
          static_cast<int64_t>(bytes / runtime::elementSize(instruction.outputs[0].desc.type));
    }
  }

  int run(void* const* buffers) override {
    InvalidOperations operations;
    // Twice: on their first run some kernels for bf16 take part of their scratch memory for
    // numbers, whatever it holds.
    for (int attempt = 0; attempt < 2; ++attempt) {
      operations.forget();
      if (int code = kernel_->run(buffers); code != 0) {
        return code;
      }
      if (!operations.any()) {
        return pooled_ > 0 && holdsLowest(instruction_.outputs[0], pooled_, buffers)
                   ? runExact(buffers)
                   : 0;
      }
    }
    return runExact(buffers);
  }

  absl::Status errorMessage(int code) const override {
    if (!made_.ok()) {
      return runtime::annotate(made_, "computing the instruction again, exactly, for its NaN");
    }
    return ranExact_ ? exact_->errorMessage(code) : kernel_->errorMessage(code);
  }

 private:
  /// Models that are sound never come here: what it takes is made when it is first needed.
  int runExact(void* const* buffers) {
    if (exact_ == nullptr) {
      absl::StatusOr<std::unique_ptr<ExactKernel>> made =
          ExactKernel::make(instruction_, plan_, onednn_);
      made_ = made.status();
      if (!made.ok()) {
        return dnnl_runtime_error;
      }
      exact_ = *std::move(made);
    }
    int code = exact_->run(buffers);
    ranExact_ = code != 0;
    return code;
  }

  std::unique_ptr<Kernel> kernel_;
  Instruction instruction_;
  PlanFunction plan_;
  OneDnn onednn_;
  int64_t pooled_ = 0;  ///< elements of a maximum over windows
  std::unique_ptr<ExactKernel> exact_;
  absl::Status made_;
  bool ranExact_ = false;
};

}  // namespace

bool isProduct(const Instruction& instruction) {
  constexpr absl::string_view kProducts[] = {"gr.conv", "gr.conv_transpose", "gr.matmul"};
  return isOneOf(instruction.operation, kProducts);
}

size_t firstLosingNaN(const Instruction& instruction) {
  auto found = std::find_if(instruction.postOps.begin(), instruction.postOps.end(),
                            [](const PostOp& op) { return losesNaN(op); });
  return static_cast<size_t>(found - instruction.postOps.begin());
}

bool mayLoseNaN(const Instruction& instruction) {
  return operationMayLoseNaN(instruction) ||
         (givesFloats(instruction) && firstLosingNaN(instruction) < instruction.postOps.size());
}

bool operationMayLoseNaN(const Instruction& instruction) {
  // The library's sigmoid and tanh begin with maxima and minima too.
  constexpr absl::string_view kOperations[] = {"gr.min", "gr.max", "gr.softmax", "gr.recurrent"};
  return givesFloats(instruction) &&
         (losesNaN(instruction.operation) || isOneOf(instruction.operation, kOperations) ||
          isMaxPool(instruction));
}

bool canBeGuarded(const Instruction& instruction) {
  bool overwrites = std::any_of(instruction.postOps.begin(), instruction.postOps.end(),
                                [](const PostOp& op) { return op.kind == PostOpKind::kSum; });
  return kTellsOfNaN && KernelTeam::takesRegions() && !overwrites;
}

size_t firstLosingUnseen(const Instruction& instruction) {
  return givesFloats(instruction) && !canBeGuarded(instruction) ? firstLosingNaN(instruction)
                                                                : instruction.postOps.size();
}

std::unique_ptr<Kernel> guardNaN(std::unique_ptr<Kernel> kernel, const Instruction& instruction,
                                 PlanFunction plan, const OneDnn& onednn) {
  return std::make_unique<GuardedKernel>(std::move(kernel), instruction, plan, onednn);
}

}  // namespace graphrun::devices::cpu
