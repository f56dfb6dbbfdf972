#include "runtime/session/fall_back.h"

#include <algorithm>

#include "runtime/base/status.h"
#include "runtime/format/weight_table.h"

namespace graphrun::runtime {
namespace {

/// Runs that take no more than so many times what was promised are as promised.
constexpr double kAsPromised = 1.03;
/// What the single device must promise of what runs take, to be tried; and what its own runs may
/// take of that, to stay.
constexpr double kPromised = 0.98;

double promisedNanos(const FoundPlan& found, const JudgingSession& session) {
  const format::Plan& plan = found.plan->plan();
  return static_cast<double>(session.isForMany ? plan.predicted_period_ns()
                                               : plan.predicted_step_ns());
}

uint64_t takenNanos(const ActivePlan& plan, const JudgingSession& session) {
  return session.isForMany ? plan.typicalPeriodNanos() : plan.typicalRunNanos();
}

bool isAsPromised(const ActivePlan& plan, const JudgingSession& session) {
  return static_cast<double>(takenNanos(plan, session)) <=
         kAsPromised * promisedNanos(plan.found, session);
}

/// Whether nothing was promised, all that is computed is on one device, or runs have decided
/// already that it is not.
bool isBeyondDoubt(const FoundPlan& found, const JudgingSession& session) {
  const format::Plan& plan = found.plan->plan();
  const auto& partitions = *plan.partitions();
  auto computing = std::count_if(partitions.begin(), partitions.end(), [](const auto* partition) {
    return format::sizeOf(partition->nodes()) > 0;
  });
  return promisedNanos(found, session) == 0 || computing < 2 ||
         plan.splits() == static_cast<uint8_t>(format::SplitChoice::Tried);
}

/// Decides whether a plan that was tried in the place of another stays.
absl::StatusOr<ActivePlan*> decide(ActivePlan& plan, const ActivePlan::Rival& rival,
                                   const JudgingSession& session) {
  if (static_cast<double>(takenNanos(plan, session)) <=
      kPromised * static_cast<double>(rival.runNanos)) {
    session.keep(plan.found);
    plan.found.response.clear();
    plan.rival.reset();
    return &plan;
  }
  GR_ASSIGN_OR_RETURN(ActivePlan * back, session.replace(plan, rival.found));
  back->judged = true;
  return back;
}

}  // namespace

absl::StatusOr<ActivePlan*> judge(ActivePlan& plan, const JudgingSession& session) {
  plan.judged = true;
  if (plan.rival.has_value()) {
    return decide(plan, ActivePlan::Rival(*plan.rival), session);
  }
  if (isBeyondDoubt(plan.found, session) || isAsPromised(plan, session)) {
    return &plan;
  }
  session.learn(plan);
  absl::StatusOr<FoundPlan> single = session.findSingle();
  // One device may lack the memory, or an operation; and what it takes must not be a guess.
  if (!single.ok() || !single->neededInputs.empty() || isEstimated(*single->plan)) {
    return &plan;
  }
  const ActivePlan::Rival rival{plan.found, takenNanos(plan, session)};
  if (promisedNanos(*single, session) > kPromised * static_cast<double>(rival.runNanos)) {
    return &plan;
  }
  GR_ASSIGN_OR_RETURN(ActivePlan * tried, session.replace(plan, *single));
  if (tried->found.plan == single->plan) {
    tried->rival = rival;
  } else {
    tried->judged = true;  // the single device could not load it
  }
  return tried;
}

}  // namespace graphrun::runtime
