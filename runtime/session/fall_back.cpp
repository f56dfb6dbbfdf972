#include "runtime/session/fall_back.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "runtime/base/status.h"
#include "runtime/format/weight_table.h"

namespace graphrun::runtime {
namespace {

/// So many runs tell what one takes, whatever they are like.
constexpr size_t kManyRuns = 16;
/// So many do if none is longer than the shortest by more than this part: of a plan that comes for
/// the first time, and in a trial, which holds it against another.
constexpr size_t kCalmRuns = 3;
constexpr size_t kCalmTrialRuns = 2;
constexpr double kCalm = 0.03;
/// Runs that take no more than so many times what was promised are as promised.
constexpr double kAsPromised = 1.02;
/// The single device is tried where it promises at most this part of the time that runs take, and
/// stays where its own runs take at most this part of that.
constexpr double kPromised = 0.98;

double promisedNanos(const FoundPlan& found, const JudgingSession& session) {
  const format::Plan& plan = found.plan->plan();
  return static_cast<double>(session.isForMany ? plan.predicted_period_ns()
                                               : plan.predicted_step_ns());
}

uint64_t takenNanos(const ActivePlan& plan, const JudgingSession& session) {
  return session.isForMany ? plan.typicalPeriodNanos() : plan.settledRunNanos();
}

bool isAsPromised(const ActivePlan& plan, const JudgingSession& session) {
  return static_cast<double>(takenNanos(plan, session)) <=
         kAsPromised * promisedNanos(plan.found, session);
}

/// Returns whether nothing was promised, all that is computed is on one device, or runs have
/// decided already that it is not.
bool isBeyondDoubt(const FoundPlan& found, const JudgingSession& session) {
  const format::Plan& plan = found.plan->plan();
  const auto& partitions = *plan.partitions();
  auto computing = std::count_if(partitions.begin(), partitions.end(), [](const auto* partition) {
    return format::sizeOf(partition->nodes()) > 0;
  });
  return promisedNanos(found, session) == 0 || computing < 2 ||
         plan.splits() == static_cast<uint8_t>(format::SplitChoice::Tried);
}

bool isShorter(uint64_t single, uint64_t several) {
  return static_cast<double>(single) <= kPromised * static_cast<double>(several);
}

/// Loads `next` for the next part of the trial, or without one as the plan that stays. Where it
/// cannot be loaded the old one stays.
absl::StatusOr<ActivePlan*> goOn(ActivePlan& plan, const FoundPlan& next,
                                 std::optional<ActivePlan::Trial> trial,
                                 const JudgingSession& session) {
  const std::shared_ptr<const format::PlanFile> wanted = next.plan;
  GR_ASSIGN_OR_RETURN(ActivePlan * loaded, session.replace(plan, next));
  loaded->judged = !trial.has_value() || loaded->found.plan != wanted;
  loaded->trial = loaded->judged ? std::nullopt : std::move(trial);
  return loaded;
}

/// Goes on with a trial whose plan has run.
absl::StatusOr<ActivePlan*> decide(ActivePlan& plan, ActivePlan::Trial trial,
                                   const JudgingSession& session) {
  const uint64_t taken = takenNanos(plan, session);
  if (trial.singleNanos == 0) {  // it is the single device that has run
    trial.singleNanos = taken;
    if (isShorter(taken, trial.severalNanos)) {
      const FoundPlan several = trial.several;
      return goOn(plan, several, std::move(trial), session);
    }
    session.rememberSingle(trial.several, taken);
    return goOn(plan, trial.several, std::nullopt, session);
  }
  if (!isShorter(trial.singleNanos, taken)) {
    session.rememberSingle(plan.found, trial.singleNanos);
    plan.judged = true;
    plan.trial.reset();
    return &plan;
  }
  session.keep(trial.single);
  trial.single.response.clear();
  return goOn(plan, trial.single, std::nullopt, session);
}

}  // namespace

bool haveRunsSettled(const ActivePlan& plan, bool isForMany) {
  if (isForMany && plan.settled) {
    return plan.runsBeside() >= kManyRuns;
  }
  const size_t runs = plan.lastRuns.size();
  const size_t calm = plan.trial.has_value() ? kCalmTrialRuns : kCalmRuns;
  if (isForMany || runs <= calm || runs >= kManyRuns) {
    return runs >= kManyRuns;
  }
  auto [least, most] =
      std::minmax_element(plan.lastRuns.end() - static_cast<ptrdiff_t>(calm), plan.lastRuns.end(),
                          [](const LastRun& a, const LastRun& b) { return a.nanos < b.nanos; });
  return static_cast<double>(most->nanos) <= (1 + kCalm) * static_cast<double>(least->nanos);
}

absl::StatusOr<ActivePlan*> judge(ActivePlan& plan, const JudgingSession& session) {
  if (plan.trial.has_value()) {
    return decide(plan, ActivePlan::Trial(*plan.trial), session);
  }
  plan.judged = true;
  if (isBeyondDoubt(plan.found, session) || isAsPromised(plan, session)) {
    return &plan;
  }
  const uint64_t taken = takenNanos(plan, session);
  // To plan for one device takes longer than many runs.
  if (const uint64_t known = session.rememberedSingle(plan.found);
      known > 0 && !isShorter(known, taken)) {
    return &plan;
  }
  session.learn(plan);
  absl::StatusOr<FoundPlan> single = session.findSingle();
  // One device may lack the memory, or an operation; and what it takes must not be a guess.
  if (!single.ok() || !single->neededInputs.empty() || isEstimated(*single->plan)) {
    return &plan;
  }
  const auto promised = static_cast<uint64_t>(promisedNanos(*single, session));
  if (!isShorter(promised, taken)) {
    session.rememberSingle(plan.found, promised);
    return &plan;
  }
  return goOn(plan, *single, ActivePlan::Trial{plan.found, *single, taken, 0}, session);
}

}  // namespace graphrun::runtime
