#include "devices/cuda/segment.h"

#include <utility>

#include "devices/cuda/vendor_status.h"
#include "runtime/base/status.h"

namespace graphrun::devices::cuda {

Segment::~Segment() {
  if (graph_ != nullptr) {
    context_->driver().cuGraphExecDestroy(graph_);
  }
}

void Segment::add(std::unique_ptr<Kernel> kernel, std::string label) {
  kernels_.push_back(std::move(kernel));
  labels_.push_back(std::move(label));
}

std::string Segment::label() const {
  return labels_.size() == 1 ? labels_[0]
                             : absl::StrCat(labels_.front(), " … ", labels_.back(), " (",
                                            labels_.size(), " steps)");
}

absl::Status Segment::launch(const Stream& stream) {
  if (kernels_.size() == 1 || !std::exchange(warm_, true)) {
    return enqueue(stream.get());
  }
  if (graph_ == nullptr) {
    GR_RETURN_IF_ERROR(runtime::annotate(record(stream.get()), label()));
  }
  return runtime::annotate(GR_CU(context_->driver(), cuGraphLaunch, graph_, stream.get()), label());
}

absl::Status Segment::enqueue(CUstream stream) {
  for (size_t i = 0; i < kernels_.size(); ++i) {
    absl::Status status = kernels_[i]->enqueue(stream);
    if (!status.ok()) {
      return runtime::annotate(status, labels_[i]);
    }
  }
  return absl::OkStatus();
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
