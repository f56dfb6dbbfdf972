// Kernels that read positions at run time, and say which of them is wrong. Internal to devices/cpu.
#ifndef GRAPHRUN_DEVICES_CPU_REFERENCE_INDEX_KERNEL_H_
#define GRAPHRUN_DEVICES_CPU_REFERENCE_INDEX_KERNEL_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "devices/cpu/reference/reference_support.h"

namespace graphrun::devices::cpu {

/// The code of a run that met an index out of range.
inline constexpr int kWrongIndex = 1;

/// This kernel looks for the index that was wrong, and tells of it.
class IndexCheckingKernel : public Kernel {
 public:
  /// `shape`: dims of the indices. Index i must be in [-b, b), b the bound i % bounds.size().
  IndexCheckingKernel(IntOperand indices, Dims shape, Dims bounds)
      : indices_(indices), shape_(std::move(shape)), bounds_(std::move(bounds)) {}

  absl::Status errorMessage(int code) const final;

 protected:
  /// Finds the first index out of range in what a run has read.
  void find(void* const* buffers);

 private:
  int64_t boundOf(int64_t i) const { return bounds_[static_cast<size_t>(i) % bounds_.size()]; }
  /// "[0, 3]".
  std::string position() const;

  IntOperand indices_;
  Dims shape_;
  Dims bounds_;
  int64_t position_ = 0;  // of the index that was out of range last
  int64_t index_ = 0;
  int64_t bound_ = 0;
};

/// A callable `int(void* const* buffers)` that returns kWrongIndex, before it writes anything that
/// it reads, where an index is out of range. Which one it was is then looked for.
template <typename Run>
class IndexKernel final : public IndexCheckingKernel {
 public:
  IndexKernel(Run run, IntOperand indices, Dims shape, Dims bounds)
      : IndexCheckingKernel(indices, std::move(shape), std::move(bounds)), run_(std::move(run)) {}

  int run(void* const* buffers) override {
    int code = run_(buffers);
    if (code == kWrongIndex) {
      find(buffers);
    }
    return code;
  }

 private:
  Run run_;
};

template <typename Run>
std::unique_ptr<Kernel> makeIndexKernel(const Instruction& instruction, const IntOperand& indices,
                                        Dims bounds, Run run) {
  return std::make_unique<IndexKernel<Run>>(std::move(run), indices,
                                            instruction.inputs[1].desc.dims, std::move(bounds));
}

}  // namespace graphrun::devices::cpu

#endif  // GRAPHRUN_DEVICES_CPU_REFERENCE_INDEX_KERNEL_H_
