// The client's time is the CPU time that steps take of the process that asks for them.
#ifndef GRAPHRUN_RUNTIME_SESSION_PROFILE_CLIENT_TIME_H_
#define GRAPHRUN_RUNTIME_SESSION_PROFILE_CLIENT_TIME_H_

#include <cstddef>
#include <cstdint>
#include <deque>

#include "absl/functional/function_ref.h"

namespace graphrun::runtime {

/// CPU time of this process so far, user's and system's, of all threads. ns.
uint64_t processNanos();

/// CPU time of this process for each of many steps that are in flight beside each other: what it
/// does for them is done on cores that its workers may want. All that it does counts, what its
/// callers do between runs too, but for polling that gives way: that takes nothing from anybody.
/// Not thread-safe.
class ClientTime {
 public:
  /// Steps that are measured as one: the clock is asked in vain for fewer.
  static constexpr size_t kBatch = 16;

  /// A run has ended, in flight beside others or not. `worked`: CPU time of this process so far, in
  /// ns, without polling that gave way; asked once a batch.
  void noteRun(bool beside, absl::FunctionRef<uint64_t()> worked);

  /// Batches that were measured, the last ones.
  size_t batches() const { return perStep_.size(); }
  /// ns for a step: the median over batches, of which there must be one.
  uint64_t typicalNanos() const;

 private:
  std::deque<uint64_t> perStep_;  // by batch
  uint64_t began_ = 0;            // `worked` when the batch under way began
  size_t steps_ = 0;              // of that; 0: there is none
};

}  // namespace graphrun::runtime

#endif  // GRAPHRUN_RUNTIME_SESSION_PROFILE_CLIENT_TIME_H_
