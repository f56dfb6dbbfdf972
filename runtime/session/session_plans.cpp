#include "runtime/session/session_plans.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/base/clock.h"
#include "runtime/base/log.h"
#include "runtime/base/status.h"
#include "runtime/control/first_cause.h"
#include "runtime/format/weight_table.h"
#include "runtime/session/error_domain.h"
#include "runtime/session/fall_back.h"
#include "runtime/session/split_trial.h"

namespace graphrun::runtime {
namespace {

constexpr uint64_t kPlanCacheBytes = uint64_t{1} << 30;

/// To be worth loading, another placement must promise at most this part of the time that runs take
/// now.
constexpr double kWorthwhile = 0.95;
/// The shares of memory limits that are tried for plans whose executables turn out to need more
/// than was predicted.
constexpr float kMemoryShares[] = {0.95F, 0.9F, 0.8F, 0.65F, 0.5F};

/// At most so many different notes of plans are told.
constexpr size_t kMaxNotes = 16;
/// Signatures for which it is remembered which inputs' elements decide shapes.
constexpr size_t kMaxRemembered = 1024;

/// Device names by label of what they run.
std::map<std::string, std::string> devicesByNode(const format::PlanFile& plan) {
  std::map<std::string, std::string> devices;
  for (const format::Partition* partition : *plan.plan().partitions()) {
    for (uint32_t n = 0; n < format::sizeOf(partition->nodes()); ++n) {
      devices[partition->nodes()->Get(n)->label()->str()] =
          plan.device(partition->device()).name()->str();
    }
  }
  return devices;
}

}  // namespace

SessionPlans::SessionPlans(SessionSetup& setup, SessionStatistics& statistics, RunOnce runOnce)
    : setup_(setup),
      statistics_(statistics),
      runOnce_(std::move(runOnce)),
      cache_(SessionSetup::folder(setup.options, "plans"), kPlanCacheBytes),
      source_(setup.compiler, &cache_) {}

void SessionPlans::open() {
  active_ = std::make_unique<ActivePlans>(setup_.options, *setup_.coordinator, *setup_.core,
                                          setup_.progress);
}

void SessionPlans::warn(absl::string_view what) const {
  log(LogLevel::kWarning, absl::StrCat("model '", setup_.name, "': ", what));
}

absl::StatusOr<FoundPlan> SessionPlans::find(const Stage& stage,
                                             absl::Span<const PlannedInput> planned,
                                             PlanWishes wishes) {
  const int64_t begin = nowNanos();
  GR_ASSIGN_OR_RETURN(auto devices, setup_.foundDevices(wishes.runs && wishes.explain == nullptr));
  if (absl::Status same = setup_.model.model->checkUnchanged(); !same.ok()) {
    return inDomain(same, ErrorDomain::kModel);
  }
  const ProgressReport::Busy busy(setup_.progress, "planning", setup_.options.planBudget);
  GR_ASSIGN_OR_RETURN(FoundPlan found,
                      source_.find(*setup_.model.model, setup_.model.model->bytes(), setup_.name,
                                   planRequest(setup_.options, setup_.cluster.get(), stage, planned,
                                               devices, stateHomes_),
                                   *setup_.costs, wishes));
  statistics_.noteFound(found, begin);
  for (const std::string& note : found.notes) {
    if (noted_.size() < kMaxNotes && noted_.insert(note).second) {
      warn(note);
    }
  }
  return found;
}

absl::Status SessionPlans::checkPlaceable(const FoundPlan& found) const {
  if (found.neededInputs.empty()) {
    return absl::OkStatus();
  }
  return inDomain(absl::InvalidArgumentError(absl::StrCat(
                      "model '", setup_.name, "': shapes depend on the elements of input '",
                      absl::StrJoin(found.neededInputs, "', '"),
                      "', so there is no one placement; run it instead, with --report")),
                  ErrorDomain::kInput);
}

absl::StatusOr<ActivePlan*> SessionPlans::planFor(const Stage& stage,
                                                  std::vector<PlannedInput> planned,
                                                  absl::Span<const StageInput> values) {
  if (!setup_.options.whatIf.empty()) {
    return inDomain(absl::FailedPreconditionError(
                        "a cluster with hypothetical devices or links runs nothing; explain it"),
                    ErrorDomain::kPlacement);
  }
  for (;;) {
    std::string signature = signatureOf(stage, planned);
    if (ActivePlan* plan = active_->find(signature)) {
      statistics_.noteHit();
      return improve(*plan, stage, planned, values);
    }
    auto remembered = deciding_.find(signature);
    if (remembered == deciding_.end()) {
      GR_ASSIGN_OR_RETURN(FoundPlan found, find(stage, planned));
      if (found.neededInputs.empty()) {
        GR_ASSIGN_OR_RETURN(ActivePlan * plan,
                            loadWithin(stage, planned, signature, std::move(found)));
        statistics_.noteNewLoad(*plan, active_->evicted());
        noteStates(*plan);
        return plan;
      }
      if (deciding_.size() >= kMaxRemembered) {
        deciding_.clear();
      }
      remembered = deciding_.emplace(signature, std::move(found.neededInputs)).first;
    }
    if (values.empty()) {
      return nullptr;
    }
    GR_RETURN_IF_ERROR(addElements(remembered->second, values, planned));
  }
}

/// Loads a plan; where it needs more memory than was predicted, one that was made to use less of
/// the limits.
absl::StatusOr<ActivePlan*> SessionPlans::loadWithin(const Stage& stage,
                                                     absl::Span<const PlannedInput> planned,
                                                     const std::string& signature,
                                                     FoundPlan found) {
  absl::StatusOr<ActivePlan*> loaded = active_->load(stage.id, signature, std::move(found));
  for (float share : kMemoryShares) {
    if (!isDeviceTooSmall(loaded.status())) {
      break;
    }
    absl::StatusOr<FoundPlan> smaller = find(stage, planned, {.anew = true, .memoryShare = share});
    if (!smaller.ok()) {
      break;
    }
    loaded = active_->load(stage.id, signature, *std::move(smaller));
  }
  return loaded;
}

/// Plans that come later have states where this one does.
void SessionPlans::noteStates(const ActivePlan& plan) {
  const format::PlanFile& file = *plan.found.plan;
  for (const auto& [state, index] : file.stateDevices()) {
    const format::PlanDevice& device = file.device(index);
    const std::string whole(format::textOf(device.part_of()));
    stateHomes_.emplace(state, whole.empty() ? device.name()->str() : whole);
    stateWorkers_.emplace(state, file.worker(device.worker()).name()->str());
  }
}

absl::Status SessionPlans::tuneIfDue(ActivePlan& plan) {
  GR_ASSIGN_OR_RETURN(bool tuned, active_->tuneIfDue(plan));
  if (tuned) {
    noteLoad(plan);
  }
  return absl::OkStatus();
}

ActivePlan* SessionPlans::planInFlight(const std::string& graph,
                                       absl::Span<const StageInput> values) {
  const ActivePlan* last = active_->last();
  if (last == nullptr || last->own->mostLanes() == 1 || !setup_.options.dumps.empty()) {
    return nullptr;
  }
  ActivePlan* plan = active_->find(signatureOf({{graph}}, plannedInputs(values)));
  bool isReady = plan != nullptr && plan->own->mostLanes() > 1 && !plan->own->broken() &&
                 plan->found.remainder == nullptr && !mayTrySplit(*plan, values) &&
                 !mayImprove(*plan) && !active_->isTuneDue(*plan);
  return isReady ? plan : nullptr;
}

/// Returns whether it is due to try the plan on split devices.
bool SessionPlans::mayTrySplit(const ActivePlan& plan, absl::Span<const StageInput> values) const {
  return !values.empty() && isTrialDue(plan, setup_.tuneNanos());
}

/// Returns whether what counts is how often steps of the plan end.
bool SessionPlans::isForMany(const ActivePlan& plan) const {
  return setup_.options.objective == Objective::kThroughput && plan.own->mostLanes() > 1;
}

/// Returns whether it is due to look for a better placement, or to judge the plan by its runs.
/// Those that come one by one say nothing of many that follow each other.
bool SessionPlans::mayImprove(const ActivePlan& plan) const {
  if ((plan.settled && plan.judged) || setup_.hasOneDevice()) {
    return false;
  }
  return haveRunsSettled(plan, isForMany(plan));
}

/// The plan itself, or in its place one with a better placement: after some runs of a plan that was
/// placed by guessed times it is known what its parts take, and the search is done again. Once;
/// after that runs tell whether it is better than one device.
absl::StatusOr<ActivePlan*> SessionPlans::improve(ActivePlan& plan, const Stage& stage,
                                                  absl::Span<const PlannedInput> planned,
                                                  absl::Span<const StageInput> values) {
  if (mayTrySplit(plan, values)) {
    return trySplitPlan(plan, stage, planned, values);
  }
  if (!mayImprove(plan)) {
    return &plan;
  }
  if (plan.settled || !isEstimated(*plan.found.plan)) {
    plan.settled = true;
    return mayImprove(plan) ? judgePlan(plan, stage, planned) : &plan;
  }
  plan.settled = true;
  learn(plan);
  absl::StatusOr<FoundPlan> found = find(stage, planned, {.anew = true});
  if (!found.ok()) {  // what was measured, memory above all, may leave no placement: this one runs
    warn(absl::StrCat("the plan stays as it is: ", found.status().message()));
    return &plan;
  }
  const auto promised =
      static_cast<double>(isForMany(plan) ? found->plan->plan().predicted_period_ns()
                                          : found->plan->plan().predicted_step_ns());
  if (promised > kWorthwhile * static_cast<double>(plan.typicalRunNanos()) ||
      devicesByNode(*found->plan) == devicesByNode(*plan.found.plan)) {
    return &plan;
  }
  return replace(plan, *std::move(found));
}

/// The plan itself or the best single device, whichever runs faster; see fall_back.h.
absl::StatusOr<ActivePlan*> SessionPlans::judgePlan(ActivePlan& plan, const Stage& stage,
                                                    absl::Span<const PlannedInput> planned) {
  const bool isAuto = setup_.options.strategy.empty() || setup_.options.strategy == "auto";
  if (!isAuto || !setup_.options.from.empty() || setup_.options.split > 1) {
    plan.judged = true;  // as the user wants it
    return &plan;
  }
  return judge(
      plan,
      {[&] { return find(stage, planned, {.anew = true, .single = true}); },
       [&](const FoundPlan& found) { source_.keep(found); },
       [&](const ActivePlan& run) { learn(run); },
       [&](ActivePlan& old, FoundPlan better) { return replace(old, std::move(better)); },
       [&](const FoundPlan& found, uint64_t ns) { source_.rememberSingle(found, ns); },
       [&](const FoundPlan& found) { return source_.rememberedSingle(found); }, isForMany(plan)});
}

/// Loads a better plan in the place of one; where that fails, the old one again.
absl::StatusOr<ActivePlan*> SessionPlans::replace(ActivePlan& plan, FoundPlan better) {
  const StageId stage = plan.stage;
  std::string signature = plan.signature;
  FoundPlan old = plan.found;
  active_->drop(plan);
  absl::StatusOr<ActivePlan*> loaded = active_->load(stage, signature, std::move(better));
  if (!loaded.ok()) {
    warn(absl::StrCat("the better plan cannot be loaded: ", loaded.status().message()));
    loaded = active_->load(stage, std::move(signature), std::move(old));
  }
  GR_RETURN_IF_ERROR(loaded.status());
  (*loaded)->settled = true;
  noteLoad(**loaded);
  return loaded;
}

/// The plan itself or one on split devices, whichever runs faster; see split_trial.h.
absl::StatusOr<ActivePlan*> SessionPlans::trySplitPlan(ActivePlan& plan, const Stage& stage,
                                                       absl::Span<const PlannedInput> planned,
                                                       absl::Span<const StageInput> values) {
  TrialSession session{
      [&](SplitWish split) { return find(stage, planned, {.anew = true, .split = split}); },
      [&](const FoundPlan& found) { source_.keep(found); },
      [&](ActivePlan& tried) { return runOnce_(tried, values); },
      [&](const ActivePlan& tried) { learn(tried); }};
  GR_ASSIGN_OR_RETURN(ActivePlan * best, trySplit(plan, *active_, setup_.tuneNanos(), session));
  noteLoad(*best);
  return best;
}

std::vector<TraceProcess> SessionPlans::tracesOf(const ActivePlan& plan) const {
  std::vector<TraceProcess> processes = {{kClientName, 0, plan.own->trace()}};
  if (plan.found.plan->workerCount() > 1) {
    for (TraceProcess& process : setup_.coordinator->traces()) {
      processes.push_back(std::move(process));
    }
  }
  return processes;
}

/// Keeps what the plan's runs took, unless kernels were still to be chosen.
void SessionPlans::learn(const ActivePlan& plan) {
  bool isChosen = plan.isTuned() || plan.tuneNanos > 0 || setup_.options.tuneBudget.count() == 0;
  if (setup_.options.learnCosts && isChosen &&
      plan.lastRuns.size() >= ProfileRecorder::kFewestSteps && !plan.own->broken()) {
    setup_.costs->learn(plan, tracesOf(plan));
  }
}

void SessionPlans::learnAll() {
  if (active_ == nullptr || !setup_.coordinator->lost().ok()) {
    return;
  }
  for (const ActivePlan& plan : active_->all()) {
    learn(plan);
  }
}

}  // namespace graphrun::runtime
