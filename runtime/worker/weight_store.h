// Weights by what they are, wherever they come from: a model file at hand, or the network.
#ifndef GRAPHRUN_RUNTIME_WORKER_WEIGHT_STORE_H_
#define GRAPHRUN_RUNTIME_WORKER_WEIGHT_STORE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "devices/device.h"
#include "runtime/control/worker_handler.h"
#include "runtime/format/model_file.h"
#include "runtime/format/plan_file.h"
#include "runtime/worker/disk_cache.h"

namespace graphrun::runtime {

/// Finds weights by checksum and length: in model files on this machine, which are mapped, or in
/// the disk cache, into which those that a coordinator sends are written. Thread-safe.
class WeightStore {
 public:
  explicit WeightStore(DiskCache* cache) : cache_(cache) {}

  /// Makes the weights of a model findable.
  void addModel(const std::shared_ptr<const format::ModelFile>& model);
  bool has(const WeightId& id);
  /// Takes a piece as it arrives; after the last one the weight is there.
  absl::Status put(const WeightPiece& piece);
  /// Forgets weights that have not come whole.
  void dropUnfinished();

  /// A weight and what keeps it mapped. NotFound.
  absl::StatusOr<devices::Weight> get(const WeightId& id);
  /// Lets go of the memory of a weight that is in a model file, until it is read again.
  void release(const WeightId& id);

 private:
  using Key = std::pair<uint64_t, uint64_t>;    // checksum, bytes
  using Piece = std::pair<uint64_t, uint32_t>;  // plan, index

  DiskCache* cache_;
  std::mutex mutex_;
  std::map<Key, std::pair<std::shared_ptr<const format::ModelFile>, size_t>> models_;
  std::map<Piece, DiskCache::Writer> arriving_;
};

/// The weights of a plan, by their index in it; keeps them mapped. Thread-safe.
class PlanWeights final : public devices::WeightSource {
 public:
  PlanWeights(const format::Plan& plan, WeightStore* store) : plan_(plan), store_(store) {}
  absl::StatusOr<devices::Weight> weight(uint32_t index) override;
  uint64_t checksum(uint32_t index) const override;
  void release(uint32_t index) override;

 private:
  const format::Plan& plan_;
  WeightStore* store_;
  std::mutex mutex_;
  std::map<uint32_t, devices::Weight> open_;
};

}  // namespace graphrun::runtime

#endif  // GRAPHRUN_RUNTIME_WORKER_WEIGHT_STORE_H_
