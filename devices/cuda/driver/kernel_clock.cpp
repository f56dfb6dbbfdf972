#include "devices/cuda/driver/kernel_clock.h"

#include <algorithm>

#include "runtime/base/median.h"
#include "runtime/base/status.h"

namespace graphrun::devices::cuda {

absl::StatusOr<std::unique_ptr<KernelClock>> KernelClock::create(const ContextPointer& context,
                                                                 size_t kernels) {
  auto clock = std::make_unique<KernelClock>();
  clock->times_.resize(kernels);
  clock->marks_.reserve(kernels + 1);
  for (size_t i = 0; i <= kernels; ++i) {
    GR_ASSIGN_OR_RETURN(std::unique_ptr<Event> mark, Event::create(context, Event::Use::kTime));
    clock->marks_.push_back(std::move(mark));
  }
  return clock;
}

absl::Status KernelClock::mark(CUstream stream, size_t kernel, bool inGraph) {
  return inGraph ? marks_[kernel]->recordInGraph(stream) : marks_[kernel]->record(stream);
}

absl::Status KernelClock::read() {
  constexpr double kNanosAMillisecond = 1e6;
  for (size_t i = 0; i < times_.size(); ++i) {
    GR_ASSIGN_OR_RETURN(float milliseconds, marks_[i + 1]->since(*marks_[i]));
    times_[i].push_back(static_cast<uint64_t>(kNanosAMillisecond * std::max(milliseconds, 0.0F)));
  }
  ++runs_;
  return absl::OkStatus();
}

std::vector<uint64_t> KernelClock::medians() const {
  std::vector<uint64_t> medians;
  medians.reserve(times_.size());
  for (const std::vector<uint64_t>& times : times_) {
    medians.push_back(runtime::median(times));
  }
  return medians;
}

}  // namespace graphrun::devices::cuda
