// A BatchReader makes batches of a dataset ahead of those who use them.
#ifndef GRAPHRUN_RUNTIME_DATA_BATCH_READER_H_
#define GRAPHRUN_RUNTIME_DATA_BATCH_READER_H_

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/base/tensor.h"
#include "runtime/data/dataset.h"
#include "runtime/data/sample_order.h"

namespace graphrun::runtime {

/// A Batch holds some samples, stacked along a first dim.
struct Batch {
  int64_t epoch = 0;  ///< from 0
  bool endsEpoch = false;
  int64_t samples = 0;
  std::vector<NamedTensor> inputs;  ///< as Dataset::inputs
  HostTensor target;
};

/// BatchOptions say which batches are made of a dataset.
struct BatchOptions {
  int64_t size = 1;           ///< samples of a batch
  bool keepsSmaller = false;  ///< an epoch's last batch, of what is left over, is made, too
  bool shuffles = false;      ///< each epoch has an order of its own, else that of the dataset
  uint64_t seed = 0;          ///< of these orders
  int64_t first = 0;          ///< number of the first batch, counted over all epochs: to resume
  int64_t end = 0;            ///< the number behind the last one
};

/// Batches in one epoch of `count` samples; none of a size below 1.
int64_t batchesInEpoch(int64_t count, const BatchOptions& options);

/// A thread of its own makes the next batch while the caller uses one, and waits when it has one
/// ready and another made: at most two batches are held beside the caller's.
class BatchReader {
 public:
  /// `data` must outlive the reader. InvalidArgument for a size below 1, and for one larger than
  /// the dataset where smaller batches are left out, as no batch would be made then.
  static absl::StatusOr<std::unique_ptr<BatchReader>> create(const Dataset& data,
                                                             const BatchOptions& options);
  BatchReader(const BatchReader&) = delete;
  BatchReader& operator=(const BatchReader&) = delete;
  /// Waits for the batch that is being made.
  ~BatchReader();

  /// The next batch, waiting for it; nothing behind the last one. A failure to make one is returned
  /// in its place, then and from then on. One thread at a time.
  absl::StatusOr<std::optional<Batch>> next();

 private:
  BatchReader(const Dataset& data, const BatchOptions& options);
  void work();
  absl::StatusOr<Batch> make(int64_t number) const;

  const Dataset& data_;
  const BatchOptions options_;
  const int64_t inEpoch_;
  const SampleOrder order_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<Batch> ready_;  // these four under the mutex
  absl::Status failure_;
  bool ended_ = false;  // nothing comes behind ready_
  bool stops_ = false;
  std::thread thread_;
};

}  // namespace graphrun::runtime

#endif  // GRAPHRUN_RUNTIME_DATA_BATCH_READER_H_
