#include "runtime/worker/served_steps.h"

#include <utility>

#include "runtime/base/clock.h"
#include "runtime/base/status.h"

namespace graphrun::runtime {

ServedSteps::~ServedSteps() {
  for (Begun& begun : begun_) {  // nobody waits for these any more
    begun.plan->cancel(absl::CancelledError("an earlier step of the worker failed"));
    begun.plan->finish().IgnoreError();
  }
}

absl::Status ServedSteps::serve(const WaitOptions& options) {
  while (true) {
    // Who waits for a start meanwhile can do with one that is there, not with one to come.
    const bool takes = begun_.empty() || (hasRoom() && line_->hasNext());
    GR_RETURN_IF_ERROR(takes ? takeNext(options) : finishFirst(options));
  }
}

bool ServedSteps::hasRoom() const { return begun_.size() < kMostStepsInFlight; }

absl::Status ServedSteps::takeNext(const WaitOptions& options) {
  GR_ASSIGN_OR_RETURN(StepStart start, line_->next(options));
  GR_ASSIGN_OR_RETURN(std::shared_ptr<LoadedPlan> plan, find_(start.plan));
  const auto steps = static_cast<uint32_t>(start.steps);
  const int64_t deadline = nowNanos() + static_cast<int64_t>(start.timeoutNanos);
  while (!begun_.empty() && begun_.back().plan != plan) {
    GR_RETURN_IF_ERROR(finishFirst(options));
  }
  if (plan->overlaps()) {
    GR_RETURN_IF_ERROR(plan->begin(start.firstStep, steps, deadline));
    begun_.push_back({std::move(plan), start.steps});
    return absl::OkStatus();
  }
  GR_RETURN_IF_ERROR(plan->run(start.firstStep, steps, deadline));
  return tellDone(start.steps, options);
}

absl::Status ServedSteps::finishFirst(const WaitOptions& options) {
  const Begun first = std::move(begun_.front());
  begun_.pop_front();
  GR_RETURN_IF_ERROR(first.plan->finish());
  return tellDone(first.steps, options);
}

absl::Status ServedSteps::tellDone(uint64_t steps, const WaitOptions& options) {
  ran_->fetch_add(steps);
  return line_->done(options);
}

}  // namespace graphrun::runtime
