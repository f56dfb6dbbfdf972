// Kernels that read positions at run time, and say which of them is wrong. Internal to devices/cpu.
#ifndef GRAPHRUN_DEVICES_CPU_INDEX_KERNEL_H_
#define GRAPHRUN_DEVICES_CPU_INDEX_KERNEL_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "devices/cpu/reference_support.h"

namespace graphrun::devices::cpu {

/// The code of a run that met an index out of range.
inline constexpr int kWrongIndex = 1;

/// A callable `int(void* const* buffers)` that returns kWrongIndex, before it writes anything that
/// it reads, where an index is out of range. Which one it was is then looked for.
template <typename Run>
class IndexKernel : public Kernel {
 public:
  /// `shape`: dims of the indices. Index i must be in [-b, b), b the bound i % bounds.size().
  IndexKernel(Run run, IntOperand indices, Dims shape, Dims bounds)
      : run_(std::move(run)),
        indices_(indices),
        shape_(std::move(shape)),
        bounds_(std::move(bounds)) {}

  int run(void* const* buffers) override {
    int code = run_(buffers);
    if (code == kWrongIndex) {
      find(buffers);
    }
    return code;
  }

  absl::Status errorMessage(int code) const override {
    if (code != kWrongIndex) {
      return Kernel::errorMessage(code);
    }
    return absl::InvalidArgumentError(absl::StrCat("index ", index_, " at ", position(),
                                                   " of the indices is out of range, expected ",
                                                   -bound_, " to ", bound_ - 1));
  }

 private:
  int64_t boundOf(int64_t i) const { return bounds_[static_cast<size_t>(i) % bounds_.size()]; }
  void find(void* const* buffers) {
    for (place_ = 0; place_ < indices_.count; ++place_) {
      index_ = indices_.at(buffers, place_);
      bound_ = boundOf(place_);
      if (index_ < -bound_ || index_ >= bound_) {
        return;
      }
    }
  }
  /// "[0, 3]".
  std::string position() const {
    std::vector<int64_t> at(shape_.size());
    int64_t rest = place_;
    for (size_t d = at.size(); d-- > 0;) {
      at[d] = rest % shape_[d];
      rest /= shape_[d];
    }
    return absl::StrCat("[", absl::StrJoin(at, ", "), "]");
  }

  Run run_;
  IntOperand indices_;
  Dims shape_;
  Dims bounds_;
  int64_t place_ = 0;  // of the index that was out of range last
  int64_t index_ = 0;
  int64_t bound_ = 0;
};

template <typename Run>
std::unique_ptr<Kernel> makeIndexKernel(const Step& step, const IntOperand& indices, Dims bounds,
                                        Run run) {
  return std::make_unique<IndexKernel<Run>>(std::move(run), indices, step.inputs[1].desc.dims,
                                            std::move(bounds));
}

}  // namespace graphrun::devices::cpu

#endif  // GRAPHRUN_DEVICES_CPU_INDEX_KERNEL_H_
