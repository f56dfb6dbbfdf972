// A loaded plan with what a run binds to it.
#ifndef GRAPHRUN_RUNTIME_SESSION_ACTIVE_PLAN_H_
#define GRAPHRUN_RUNTIME_SESSION_ACTIVE_PLAN_H_

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "runtime/base/tensor.h"
#include "runtime/session/plan_source.h"
#include "runtime/session/profile/client_time.h"
#include "runtime/session/session.h"
#include "runtime/session/stage_input.h"
#include "runtime/session/strings.h"
#include "runtime/worker/loaded_plan.h"

namespace graphrun::runtime {

/// Returns whether times that the placement was chosen by were guessed.
bool isEstimated(const format::PlanFile& plan);

/// One of a plan's runs.
struct LastRun {
  uint64_t nanos = 0;   // of one beside others, from the end of the one before it
  bool beside = false;  // it began before the one before it had ended
};

/// A plan in use. Not thread-safe, but for what is done to different lanes (LoadedPlan).
struct ActivePlan {
  StageId stage;  // of the run
  std::string signature;
  FoundPlan found;
  std::shared_ptr<LoadedPlan> own;
  PlanStrings strings;
  std::vector<DeviceStats> devices;
  uint64_t nextStep = 0;
  uint64_t loadNanos = 0;        // of the last time
  std::deque<LastRun> lastRuns;  // since it was loaded last
  ClientTime clientTime;         // the same
  uint64_t ranNanos = 0;         // all runs together
  uint64_t tuneNanos = 0;        // what it was given for measuring last
  int64_t lastEnd = 0;           // of a run, of nowNanos()
  /// A lane uses these in the place of a run's inputs and outputs that are not aligned.
  struct Aligned {
    std::map<std::string, HostTensor> inputs;
    std::map<std::string, HostTensor> outputs;
  };
  std::vector<Aligned> aligned;  // by lane
  /// Outputs that only later stages read; the next run writes to the same memory.
  std::map<std::string, std::shared_ptr<HostTensor>> forStages;
  bool settled = false;  // no other placement is looked for any more
  bool judged = false;   // runs are not held against one device any more, see fall_back.h
  /// A plan on several devices and one on a single one are held against each other; this is the one
  /// that runs now, first that on the single device, then the other one again.
  struct Trial {
    FoundPlan several;
    FoundPlan single;
    uint64_t severalNanos = 0;  // what a run took
    uint64_t singleNanos = 0;   // 0: it is its turn
  };
  std::optional<Trial> trial;
  bool splitTried = false;  // see split_trial.h

  /// Returns whether no choice of a kernel waits for a measurement.
  bool isTuned() const;
  /// The median of lastRuns, which must not be empty.
  uint64_t typicalRunNanos() const;
  /// The lower median of those behind the first, if there are any: that finds nothing in any cache.
  uint64_t settledRunNanos() const;
  /// Returns how many of lastRuns were in flight beside others, and the median of these, which must
  /// not be none: what the plan takes for one of many that follow each other.
  size_t runsBeside() const;
  uint64_t typicalPeriodNanos() const;

  /// A run has ended that began at `begin`. Of runs that were in flight beside each other each
  /// counts from the end of the one before it.
  void noteRun(int64_t begin);

  /// Makes the lane's next step read `inputs`, in place where their memory allows it.
  absl::Status bindInputs(size_t lane, absl::Span<const StageInput> inputs);
  /// Makes the lane's next step write its output `name` to `tensor`, which is made anew unless it
  /// has the right shape. `name` must be one of own->outputs().
  void bindOutput(size_t lane, const std::string& name, HostTensor& tensor);
  /// After the step: output `name` where it could not be written in place.
  void fetchOutput(size_t lane, const std::string& name, HostTensor& tensor) const;
};

}  // namespace graphrun::runtime

#endif  // GRAPHRUN_RUNTIME_SESSION_ACTIVE_PLAN_H_
