// Weights by what they are, wherever they come from: a model file at hand, or the network.
#ifndef GRAPHRUN_RUNTIME_WORKER_WEIGHT_STORE_H_
#define GRAPHRUN_RUNTIME_WORKER_WEIGHT_STORE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
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

/// The most weights that may be on their way at once; a coordinator sends one behind the other.
inline constexpr size_t kMaxArrivingWeights = 64;

/// Finds weights by checksum and length: in model files on this machine, which are mapped, or in
/// the disk cache, into which those that a coordinator sends are written. What a job asked for or
/// sent stays readable until it ends, however small the cache and whoever else uses it: it is held
/// open. Content is read once a job, when it is got. Thread-safe.
class WeightStore {
 public:
  explicit WeightStore(DiskCache* cache) : cache_(cache) {}

  /// Makes the weights of a model findable.
  void addModel(const std::shared_ptr<const format::ModelFile>& model);
  /// Returns whether the weight is here and may be got. Its content is not read: where that turns
  /// out to be damaged, get() fails, and from then on this says no.
  bool has(const WeightId& id);
  /// Takes a piece as it arrives; after the last one the weight is there. ResourceExhausted when
  /// kMaxArrivingWeights others have not come whole.
  absl::Status put(const WeightPiece& piece);
  /// The job is over: lets go of what it asked for, and of what has not come whole.
  void endJob();

  /// A weight whose content has been found right, and what keeps it mapped. NotFound; Unavailable
  /// where the address space has no room for it.
  absl::StatusOr<devices::Weight> get(const WeightId& id);
  /// Lets go of the memory of a weight that is in a model file, until it is read again.
  void release(const WeightId& id);

 private:
  using Key = std::pair<uint64_t, uint64_t>;    // checksum, bytes
  using Piece = std::pair<uint64_t, uint32_t>;  // plan, index
  struct Held {
    std::shared_ptr<const DiskCache::Entry> entry;
    bool checked = false;
  };
  struct InModel {
    std::shared_ptr<const format::ModelFile> model;
    size_t index;
  };

  std::optional<InModel> findInModel(const WeightId& id);
  /// Opens an entry of the cache, or finds it open; null if there is none.
  std::shared_ptr<const DiskCache::Entry> hold(const WeightId& id, bool* isChecked);
  absl::StatusOr<devices::Weight> getKept(const WeightId& id);
  /// Unavailable where there is an entry that cannot be opened.
  absl::Status notHeld(const WeightId& id) const;

  DiskCache* cache_;
  std::mutex mutex_;
  std::map<Key, InModel> models_;
  std::map<Key, Held> held_;
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
