#include "devices/cuda/program/segment.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "devices/cuda/driver/vendor_status.h"
#include "runtime/base/log.h"
#include "runtime/base/status.h"

namespace graphrun::devices::cuda {

namespace {

constexpr size_t kTimedRuns = 5;

}  // namespace

Segment::~Segment() { dropGraph(); }

void Segment::dropGraph() {
  if (graph_ != nullptr) {
    context_->driver().cuGraphExecDestroy(std::exchange(graph_, nullptr));
  }
}

void Segment::add(std::unique_ptr<Kernel> kernel, std::string label) {
  kernels_.push_back(std::move(kernel));
  labels_.push_back(std::move(label));
}

std::string Segment::label() const {
  return labels_.size() == 1 ? labels_[0]
                             : absl::StrCat(labels_.front(), " … ", labels_.back(), " (",
                                            labels_.size(), " instructions)");
}

absl::Status Segment::launch(const Stream& stream) {
  const bool isTimed = !nanos_.empty();
  if (!std::exchange(warm_, true) || (kernels_.size() == 1 && isTimed)) {
    return enqueue(stream.get());
  }
  if (clock_ == nullptr && graph_ == nullptr && !isTimed) {
    GR_ASSIGN_OR_RETURN(clock_, KernelClock::create(context_, kernels_.size()));
  }
  if (!isRecorded_) {
    return enqueue(stream.get());
  }
  if (graph_ == nullptr) {
    absl::Status recorded = record(stream.get());
    if (!recorded.ok()) {
      runtime::log(runtime::LogLevel::kWarning,
                   absl::StrCat(label(), ": cannot be recorded (", recorded.message(),
                                "); its kernels are launched one by one, which takes longer"));
      isRecorded_ = false;
      clock_.reset();  // its marks are a graph's
      return enqueue(stream.get());
    }
  }
  return runtime::annotate(GR_CU(context_->driver(), cuGraphLaunch, graph_, stream.get()), label());
}

absl::Status Segment::enqueue(CUstream stream) {
  for (size_t i = 0; i < kernels_.size(); ++i) {
    absl::Status status =
        clock_ == nullptr ? absl::OkStatus() : clock_->mark(stream, i, isRecorded_);
    status = status.ok() ? kernels_[i]->enqueue(stream) : status;
    if (!status.ok()) {
      return runtime::annotate(status, labels_[i]);
    }
  }
  return clock_ == nullptr ? absl::OkStatus() : clock_->mark(stream, kernels_.size(), isRecorded_);
}

absl::StatusOr<bool> Segment::readClock() {
  if (clock_ == nullptr) {
    return !nanos_.empty();
  }
  GR_RETURN_IF_ERROR(runtime::annotate(clock_->read(), label()));
  if (clock_->runs() < kTimedRuns) {
    return false;
  }
  nanos_ = clock_->medians();
  clock_.reset();
  dropGraph();
  return true;
}

void Segment::addTimes(std::vector<runtime::KernelTime>& times) const {
  for (size_t i = 0; i < nanos_.size(); ++i) {
    times.push_back({labels_[i], nanos_[i]});
  }
}

// Other threads may go on allocating meanwhile: only this thread's calls are watched.
absl::Status Segment::record(CUstream stream) {
  const DriverApi& driver = context_->driver();
  GR_RETURN_IF_ERROR(
      GR_CU(driver, cuStreamBeginCapture_v2, stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
  absl::Status enqueued = enqueue(stream);
  CUgraph graph = nullptr;
  absl::Status ended = GR_CU(driver, cuStreamEndCapture, stream, &graph);
  if (graph == nullptr) {
    return enqueued.ok() ? ended : enqueued;
  }
  absl::Status status = enqueued;
  if (status.ok()) {
    status = GR_CU(driver, cuGraphInstantiateWithFlags, &graph_, graph, 0);
  }
  driver.cuGraphDestroy(graph);
  return status;
}

}  // namespace graphrun::devices::cuda
