#include "runtime/data/batch_reader.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/base/tensor_memory.h"

namespace graphrun::runtime {
namespace {

absl::StatusOr<HostTensor> batchTensor(const Field& field, int64_t samples) {
  TensorSpec spec = field.sample;
  spec.dims.insert(spec.dims.begin(), samples);
  return allocateTensor(spec);
}

}  // namespace

int64_t batchesInEpoch(int64_t count, const BatchOptions& options) {
  if (options.size < 1) {
    return 0;
  }
  const int64_t whole = count / options.size;
  return whole + (options.keepsSmaller && count % options.size != 0 ? 1 : 0);
}

BatchReader::BatchReader(const Dataset& data, const BatchOptions& options)
    : data_(data),
      options_(options),
      inEpoch_(batchesInEpoch(data.count(), options)),
      order_(data.count(), options.seed) {
  thread_ = std::thread([this] { work(); });
}

absl::StatusOr<std::unique_ptr<BatchReader>> BatchReader::create(const Dataset& data,
                                                                 const BatchOptions& options) {
  if (options.size < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("batch is ", options.size, ", expected at least 1"));
  }
  if (batchesInEpoch(data.count(), options) == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("batch is ", options.size, ", but the data have ", data.count(),
                     " samples, expected as many at least; make the batch smaller"));
  }
  return std::unique_ptr<BatchReader>(new BatchReader(data, options));
}

BatchReader::~BatchReader() {
  {
    std::lock_guard lock(mutex_);
    stops_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

absl::StatusOr<std::optional<Batch>> BatchReader::next() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return ready_.has_value() || ended_; });
  if (!ready_.has_value() && !failure_.ok()) {
    return failure_;
  }
  std::optional<Batch> batch = std::exchange(ready_, std::nullopt);
  lock.unlock();
  changed_.notify_all();
  return batch;
}

void BatchReader::work() {
  for (int64_t number = options_.first; number < options_.end; ++number) {
    absl::StatusOr<Batch> batch = make(number);
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return stops_ || !ready_.has_value(); });
    if (stops_) {
      return;
    }
    if (!batch.ok()) {
      failure_ = batch.status();
      break;
    }
    ready_ = *std::move(batch);
    lock.unlock();
    changed_.notify_all();
  }
  {
    std::lock_guard lock(mutex_);
    ended_ = true;
  }
  changed_.notify_all();
}

absl::StatusOr<Batch> BatchReader::make(int64_t number) const {
  Batch batch;
  batch.epoch = number / inEpoch_;
  batch.endsEpoch = number % inEpoch_ == inEpoch_ - 1;
  const int64_t begin = number % inEpoch_ * options_.size;
  batch.samples = std::min(options_.size, data_.count() - begin);
  std::vector<int64_t> indices;
  for (int64_t i = begin; i < begin + batch.samples; ++i) {
    indices.push_back(options_.shuffles ? order_.at(static_cast<uint64_t>(batch.epoch), i) : i);
  }
  std::vector<HostTensor> inputs;
  for (const Field& field : data_.inputs()) {
    GR_ASSIGN_OR_RETURN(HostTensor tensor, batchTensor(field, batch.samples));
    inputs.push_back(std::move(tensor));
  }
  GR_ASSIGN_OR_RETURN(batch.target, batchTensor(data_.target(), batch.samples));
  GR_RETURN_IF_ERROR(data_.fill(indices, absl::MakeSpan(inputs), batch.target));
  for (size_t i = 0; i < inputs.size(); ++i) {
    batch.inputs.push_back({data_.inputs()[i].name, std::move(inputs[i])});
  }
  return batch;
}

}  // namespace graphrun::runtime
