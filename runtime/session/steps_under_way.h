// StepsUnderWay is what steps under way tell each other.
#ifndef GRAPHRUN_RUNTIME_SESSION_STEPS_UNDER_WAY_H_
#define GRAPHRUN_RUNTIME_SESSION_STEPS_UNDER_WAY_H_

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "runtime/worker/loaded_plan.h"
#include "runtime/worker/worker_core.h"

namespace graphrun::runtime {

/// Steps is the state that the steps under way, all of one plan, and the calls by which workers
/// serve steps share. Those calls last from step to step, and gRPC may end them at any time: it
/// shares this.
struct StepsUnderWay {
  explicit StepsUnderWay(WorkerCore* workerCore) : core(workerCore) {}

  WorkerCore* const core;  // valid while a step is under way
  std::mutex mutex;
  std::condition_variable changed;
  std::set<uint32_t> serving;  // ranks of workers whose call has not ended
  // Of the steps under way:
  std::set<uint32_t> taking;  // the workers that have a part of them
  size_t count = 0;
  std::shared_ptr<LoadedPlan> own;  // null between steps
  bool cancelled = false;           // on the workers
  absl::Status first;
  std::vector<std::string> otherWaits;  // when the deadline passed: of those after the first
  std::atomic<bool> failed{false};

  /// Aborted: a step of the plan failed.
  absl::Status begin(const std::shared_ptr<LoadedPlan>& ownPart);
  /// A step is over; once all are, no call fails them any more. Why they failed, or OK.
  absl::Status end();
  void fail(const absl::Status& status);
  /// Keeps the cause, and ends the wait for the workers. A broken link is not it when the worker at
  /// its other end turns out to be gone. `mutex` is held.
  void keep(const absl::Status& status);
  /// A worker serves no longer: it failed in the step under way, if it has a part of that.
  void ended(uint32_t rank, const absl::Status& why);
  bool isServing(uint32_t rank);
  /// Returns whether no worker with a part of the step serves any more; `mutex` is held.
  bool settled() const;
  /// Returns the first failure; of a deadline, with all waits that it ended. `mutex` is held.
  absl::Status cause() const;
};

}  // namespace graphrun::runtime

#endif  // GRAPHRUN_RUNTIME_SESSION_STEPS_UNDER_WAY_H_
