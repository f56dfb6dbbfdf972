#include "runtime/session/split_trial.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/clock.h"
#include "runtime/base/log.h"
#include "runtime/base/status.h"
#include "runtime/format/weight_table.h"

namespace graphrun::runtime {
namespace {

/// Runs that tell what one takes: so many, or fewer that take so long.
constexpr int kMostTrialRuns = 48;
constexpr int kFewestRuns = 5;
constexpr int64_t kEnoughNanos = 200'000'000;
/// Runs on split devices may take this part of the others' time: a few percent are chance.
constexpr double kWorthwhileSplit = 0.95;

bool usesParts(const format::PlanFile& plan) {
  const auto& devices = *plan.plan().devices();
  return std::any_of(devices.begin(), devices.end(), [](const format::PlanDevice* device) {
    return !format::textOf(device->part_of()).empty();
  });
}

/// The median of some runs; 0 where a few would take longer than `limit` nanoseconds.
absl::StatusOr<uint64_t> typicalRun(ActivePlan& plan, int64_t limit, const TrialSession& session) {
  const int64_t begin = nowNanos();
  plan.lastRuns.clear();
  for (int runs = 0; runs < kMostTrialRuns; ++runs) {
    const int64_t spent = nowNanos() - begin;
    if (runs < kFewestRuns && spent > limit) {
      return 0;
    }
    if (runs >= kFewestRuns && spent > std::min(limit, kEnoughNanos)) {
      break;
    }
    GR_RETURN_IF_ERROR(session.run(plan));
  }
  session.learn(plan);
  return plan.typicalRunNanos();
}

void warn(const absl::Status& status) {
  log(LogLevel::kWarning, absl::StrCat("devices are not split: ", status.message()));
}

/// Returns whether the split plan takes less than `whole` nanoseconds, once its kernels are chosen.
absl::StatusOr<bool> isFaster(ActivePlan& split, ActivePlans& plans, uint64_t whole,
                              uint64_t tuneNanos, int64_t limit, const TrialSession& session) {
  split.splitTried = true;
  GR_RETURN_IF_ERROR(session.run(split));
  GR_RETURN_IF_ERROR(plans.tune(split, tuneNanos));
  GR_ASSIGN_OR_RETURN(uint64_t parts, typicalRun(split, limit, session));
  return parts != 0 && static_cast<double>(parts) <= kWorthwhileSplit * static_cast<double>(whole);
}

}  // namespace

bool isTrialDue(const ActivePlan& plan, uint64_t tuneNanos) {
  return tuneNanos > 0 && !plan.splitTried && !plan.found.plan->updatesStates() &&
         plan.nextStep > 0 && plan.found.plan->plan().promised_step_ns() > 0 &&
         (plan.isTuned() || plan.tuneNanos > 0);
}

absl::StatusOr<ActivePlan*> trySplit(ActivePlan& plan, ActivePlans& plans, uint64_t tuneNanos,
                                     const TrialSession& session) {
  plan.splitTried = true;
  const auto limit = static_cast<int64_t>(tuneNanos / 4);
  GR_ASSIGN_OR_RETURN(uint64_t whole, typicalRun(plan, limit, session));
  if (whole == 0) {
    return &plan;
  }
  absl::StatusOr<FoundPlan> found = session.find(SplitWish::kTry);
  if (!found.ok()) {
    warn(found.status());
    return &plan;
  }
  if (!usesParts(*found->plan)) {
    session.keep(*found);
    return &plan;
  }
  const StageId stage = plan.stage;
  const std::string signature = plan.signature;
  plans.drop(plan);
  absl::StatusOr<ActivePlan*> split = plans.load(stage, signature, *found);
  absl::StatusOr<bool> faster = split.ok()
                                    ? isFaster(**split, plans, whole, tuneNanos, limit, session)
                                    : absl::StatusOr<bool>(split.status());
  if (faster.ok() && *faster) {
    session.keep(*found);
    return split;
  }
  if (!faster.ok()) {
    warn(faster.status());
  }
  if (ActivePlan* tried = plans.find(signature); tried != nullptr) {
    plans.drop(*tried);
  }
  GR_ASSIGN_OR_RETURN(FoundPlan refused, session.find(SplitWish::kRefuse));
  GR_ASSIGN_OR_RETURN(ActivePlan * kept, plans.load(stage, signature, std::move(refused)));
  kept->splitTried = true;
  return kept;
}

}  // namespace graphrun::runtime
