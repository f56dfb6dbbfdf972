// The steps that a worker was asked for on one line.
#ifndef GRAPHRUN_RUNTIME_WORKER_SERVED_STEPS_H_
#define GRAPHRUN_RUNTIME_WORKER_SERVED_STEPS_H_

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/base/objective.h"
#include "runtime/worker/loaded_plan.h"
#include "runtime/worker/step_line.h"

namespace graphrun::runtime {

/// Runs them in the order in which they come: those of a plan whose devices can be at different
/// steps begin as soon as there is a thread free for them, others when the one before has ended.
class ServedSteps {
 public:
  using Find = std::function<absl::StatusOr<std::shared_ptr<LoadedPlan>>(uint64_t plan)>;

  /// `ran` counts steps; `line` and it must outlive this.
  ServedSteps(Find find, StepServer* line, std::atomic<uint64_t>* ran)
      : find_(std::move(find)), line_(line), ran_(ran) {}
  /// Stops what has begun, and waits for its end.
  ~ServedSteps();

  /// Until something fails, or the wait for the next start ends.
  absl::Status serve(const WaitOptions& options);

 private:
  struct Begun {
    std::shared_ptr<LoadedPlan> plan;
    uint64_t steps;
  };
  bool hasRoom() const;
  absl::Status takeNext(const WaitOptions& options);
  absl::Status finishFirst(const WaitOptions& options);
  absl::Status tellDone(uint64_t steps, const WaitOptions& options);

  Find find_;
  StepServer* line_;
  std::atomic<uint64_t>* ran_;
  std::deque<Begun> begun_;
};

}  // namespace graphrun::runtime

#endif  // GRAPHRUN_RUNTIME_WORKER_SERVED_STEPS_H_
