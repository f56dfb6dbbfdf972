// Plans and weights in pieces: checks of what arrives. No gRPC, so that tests and fuzzers reach it.
#ifndef GRAPHRUN_RUNTIME_CONTROL_TRANSFER_H_
#define GRAPHRUN_RUNTIME_CONTROL_TRANSFER_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "runtime/control/control.pb.h"
#include "runtime/control/worker_handler.h"

struct XXH3_state_s;

namespace graphrun::runtime {

/// XXH3-64 of `data`, as weights, plans and chunks carry it. Detects damage, not malice.
uint64_t checksumOf(absl::string_view data);

/// Puts a plan together. One stream, one thread.
class PlanAssembler {
 public:
  /// InvalidArgument when a chunk contradicts the first one or goes beyond kMaxPlanBytes.
  absl::Status add(const control::PlanChunk& chunk);
  /// The whole plan, or DataLoss when bytes are missing or damaged.
  absl::StatusOr<std::string> finish();
  uint64_t plan() const { return plan_; }

 private:
  bool started_ = false;
  uint64_t plan_ = 0;
  uint64_t total_ = 0;
  uint64_t checksum_ = 0;
  std::string bytes_;
};

/// Checks a stream of weights. One stream, one thread.
class WeightChecker {
 public:
  WeightChecker();
  ~WeightChecker();
  /// The piece in `chunk` (which must outlive it), or DataLoss / InvalidArgument naming the weight
  /// and the offset when it is damaged, out of order or beyond its weight.
  absl::StatusOr<WeightPiece> add(const control::WeightChunk& chunk);
  /// DataLoss if the stream ended inside a weight.
  absl::Status finish() const;

 private:
  absl::Status begin(const control::WeightChunk& chunk);
  absl::Status checkPosition(const control::WeightChunk& chunk) const;

  struct FreeState {
    void operator()(XXH3_state_s* state) const;
  };
  std::unique_ptr<XXH3_state_s, FreeState> hash_;
  bool inside_ = false;
  uint64_t plan_ = 0;
  uint32_t index_ = 0;
  WeightId id_;
  uint64_t next_ = 0;  // offset that the next chunk must have
};

}  // namespace graphrun::runtime

#endif  // GRAPHRUN_RUNTIME_CONTROL_TRANSFER_H_
