#include "runtime/session/session_statistics.h"

#include "runtime/base/clock.h"

namespace graphrun::runtime {
namespace {

uint64_t since(int64_t begin) { return static_cast<uint64_t>(nowNanos() - begin); }

}  // namespace

SessionStats SessionStatistics::read() const {
  std::lock_guard lock(mutex_);
  return stats_;
}

void SessionStatistics::noteOpened(bool imported, int64_t begin) {
  std::lock_guard lock(mutex_);
  stats_.imported = imported;
  stats_.openNanos = since(begin);
}

void SessionStatistics::noteFound(const FoundPlan& found, int64_t begin) {
  std::lock_guard lock(mutex_);
  stats_.lastPlanNanos = since(begin);
  if (found.neededInputs.empty()) {
    ++(found.fromDisk ? stats_.planDiskHits : stats_.plansMade);
  }
}

void SessionStatistics::noteHit() {
  std::lock_guard lock(mutex_);
  ++stats_.planHits;
}

void SessionStatistics::setPlan(const ActivePlan& plan) {
  stats_.devices = plan.devices;
  stats_.predictedStepNanos = plan.found.plan->plan().predicted_step_ns();
  stats_.predictedPeriodNanos =
      plan.own->mostLanes() > 1 ? plan.found.plan->plan().predicted_period_ns() : 0;
}

void SessionStatistics::noteLoad(const ActivePlan& plan, uint64_t evicted) {
  std::lock_guard lock(mutex_);
  setPlan(plan);
  stats_.plansEvicted = evicted;
  stats_.lastLoadNanos = plan.loadNanos;
}

void SessionStatistics::noteNewLoad(const ActivePlan& plan, uint64_t evicted) {
  noteLoad(plan, evicted);
  std::lock_guard lock(mutex_);
  ++stats_.plansLoaded;
}

void SessionStatistics::notePrepared(int64_t begin) {
  std::lock_guard lock(mutex_);
  stats_.preparedNanos += since(begin);
}

void SessionStatistics::noteStep(const ActivePlan& plan, bool ok) {
  std::lock_guard lock(mutex_);
  setPlan(plan);
  if (const auto* edges = plan.found.plan->plan().edges(); edges != nullptr && ok) {
    stats_.transfers += edges->size();
  }
}

void SessionStatistics::noteRun() {
  std::lock_guard lock(mutex_);
  ++stats_.runs;
}

}  // namespace graphrun::runtime
