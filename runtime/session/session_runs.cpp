#include "runtime/session/session_runs.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "runtime/base/clock.h"
#include "runtime/base/status.h"
#include "runtime/compiler_loader/compiler_api.h"
#include "runtime/control/first_cause.h"
#include "runtime/format/weight_table.h"
#include "runtime/session/error_domain.h"
#include "runtime/session/strings.h"

namespace graphrun::runtime {
namespace {

/// Hands out what a stage made for SessionOptions::dumped. Names begin with numbers that put them
/// in the order of the graph.
void tellDumps(const SessionOptions& options, absl::Span<const StageInput> made) {
  for (const StageInput& value : made) {
    absl::string_view name = value.name;
    if (absl::ConsumePrefix(&name, GR_DUMP_PREFIX) && options.dumped) {
      options.dumped(std::string(name.substr(GR_DUMP_DIGITS)), *value.tensor);
    }
  }
}

/// The time that a run which began at `begin` has left for its stage `number`; DeadlineExceeded
/// where that is none.
absl::StatusOr<Millis> timeLeft(Millis timeout, int64_t begin, size_t number) {
  const auto spent =
      std::chrono::duration_cast<Millis>(std::chrono::nanoseconds(nowNanos() - begin));
  if (spent < timeout) {
    return timeout - spent;
  }
  return absl::DeadlineExceededError(absl::StrCat(
      "the run was not done after ", timeout.count(), " ms, ", number,
      " parts of it were: values of the model decide how many there are; allow it more time, or "
      "look for a loop that does not end"));
}

std::vector<std::string> edgeNames(const ActivePlan& active) {
  std::vector<std::string> edges;
  const format::PlanFile& plan = *active.found.plan;
  edges.reserve(plan.edgeCount());
  for (size_t i = 0; i < plan.edgeCount(); ++i) {
    edges.emplace_back(format::textOf(plan.edge(i).name()));
  }
  return edges;
}

}  // namespace

absl::Status SessionRuns::run(absl::string_view name, const std::vector<StageInput>& given,
                              std::vector<NamedTensor>& results, RunQueue::Begun begun) {
  GR_ASSIGN_OR_RETURN(const ModelGraph* graph, setup_.findGraph(name));
  std::vector<NamedSpec> specs;
  specs.reserve(given.size());
  for (const StageInput& input : given) {
    specs.push_back({input.name, input.tensor->spec()});
  }
  Flights::Lock lock(mutex_);
  GR_ASSIGN_OR_RETURN(std::vector<NamedSpec> shapes, graph->inOrder(specs));
  std::vector<StageInput> values;
  for (const NamedSpec& shape : shapes) {
    for (const StageInput& input : given) {
      if (input.name == shape.name) {
        values.push_back(input);
      }
    }
  }
  size_t count = 0;
  results.resize(graph->outputs.size());
  for (const ModelPort& port : graph->outputs) {
    if (!port.isList) {
      results[count++].name = port.name;
    }
  }
  results.resize(count);  // the tensors in lists follow
  GR_RETURN_IF_ERROR(runOrdered(*graph, std::move(values), results, lock, begun));
  lock.unlock();
  statistics_.noteRun();
  return absl::OkStatus();
}

absl::StatusOr<TensorMap> SessionRuns::runByName(absl::string_view graph, const TensorMap& given,
                                                 RunQueue::Begun begun) {
  std::vector<StageInput> values;
  for (const auto& [input, tensor] : given) {
    values.push_back({input, &tensor, nullptr});
  }
  std::vector<NamedTensor> results;
  GR_RETURN_IF_ERROR(run(graph, values, results, begun));
  TensorMap named;
  for (NamedTensor& result : results) {
    named.insert_or_assign(std::move(result.name), std::move(result.tensor));
  }
  return named;
}

Flights::Lock SessionRuns::alone() {
  Flights::Lock lock(mutex_);
  flights_.waitAlone(lock);
  return lock;
}

absl::Status SessionRuns::runOnce(ActivePlan& plan, absl::Span<const StageInput> values) {
  std::vector<NamedTensor> results;
  std::vector<StageInput> made;
  return runStage(plan, 0, values, results, made,
                  [this](ActivePlan& one) { return runAlone(one, setup_.timeout()); });
}

absl::Status SessionRuns::writeTrace(const std::string& path) const {
  if (!failed_.empty()) {
    return writeChromeTrace(path, failed_, failedEdges_);
  }
  const ActivePlan* last = plans_.last();
  return last == nullptr ? writeChromeTrace(path, {}, {})
                         : writeChromeTrace(path, plans_.tracesOf(*last), edgeNames(*last));
}

/// Runs the model once with its inputs in their order, in flight beside other runs where the plan
/// allows that, else alone. `begun` is told in the first case, when its step has its number.
absl::Status SessionRuns::runOrdered(const ModelGraph& graph, std::vector<StageInput> values,
                                     std::vector<NamedTensor>& results, Flights::Lock& lock,
                                     RunQueue::Begun begun) {
  while (ActivePlan* plan = plans_.planInFlight(graph.name, values)) {
    if (std::optional<size_t> lane = flights_.take(*plan)) {
      std::optional<absl::Status> status = fly(*plan, *lane, values, results, lock, begun);
      if (status.has_value()) {
        return *status;
      }
    } else if (flights_.wantsLanes(*plan)) {
      flights_.waitAlone(lock);
      if (plan == plans_.planInFlight(graph.name, values)) {
        GR_RETURN_IF_ERROR(plan->own->openLanes(plan->nextStep));
      }
    } else {
      flights_.wait(lock, *plan);
    }
  }
  flights_.waitAlone(lock);
  GR_RETURN_IF_ERROR(runStages(graph, std::move(values), results));
  failed_.clear();
  return absl::OkStatus();
}

/// The plan for a stage, with its kernels chosen. Where those that were measured need more memory
/// than there is, the plan is one that leaves them more.
absl::StatusOr<ActivePlan*> SessionRuns::tunedPlanFor(const Stage& stage,
                                                      absl::Span<const StageInput> values) {
  GR_ASSIGN_OR_RETURN(ActivePlan * plan, plans_.planFor(stage, plannedInputs(values), values));
  const absl::Status tuned = plans_.tuneIfDue(*plan);
  if (isDeviceTooSmall(tuned)) {
    return plans_.planFor(stage, plannedInputs(values), values);
  }
  GR_RETURN_IF_ERROR(tuned);
  return plan;
}

/// Runs stage after stage: each plan leaves what is to do with the values that it made.
absl::Status SessionRuns::runStages(const ModelGraph& graph, std::vector<StageInput> values,
                                    std::vector<NamedTensor>& results) {
  std::shared_ptr<const Remainder> remainder;
  Stage stage{{graph.name}};
  std::optional<int64_t> began;  // the first stage; plans of the others are part of the run
  do {
    const int64_t begin = nowNanos();
    GR_ASSIGN_OR_RETURN(ActivePlan * plan, tunedPlanFor(stage, values));
    ++stage.id.number;
    statistics_.notePrepared(begin);
    began = began.value_or(nowNanos());
    absl::StatusOr<Millis> left = timeLeft(setup_.timeout(), *began, stage.id.number - 1);
    std::vector<StageInput> made;
    absl::Status status = left.ok()
                              ? runStage(*plan, 0, values, results, made,
                                         [&](ActivePlan& one) { return runAlone(one, *left); })
                              : left.status();
    if (!status.ok()) {
      noteFailure(*plan);
      return inDomain(status, ErrorDomain::kRun);
    }
    tellDumps(setup_.options, made);
    remainder = plan->found.remainder;
    stage.remainder = remainder.get();
    GR_ASSIGN_OR_RETURN(values, stageInputs(plan->found.remainderInputs, made, results, values));
  } while (remainder != nullptr);
  return absl::OkStatus();
}

/// Runs a plan once. Outputs of the model go to `results`, what only later stages read to `made`.
absl::Status SessionRuns::runStage(ActivePlan& plan, size_t lane,
                                   absl::Span<const StageInput> values,
                                   std::vector<NamedTensor>& results, std::vector<StageInput>& made,
                                   Execute execute) {
  GR_ASSIGN_OR_RETURN(const ModelGraph* graph, setup_.findGraph(plan.stage.graph));
  for (const auto& [output, endpoint] : plan.own->outputs()) {
    if (std::any_of(graph->outputs.begin(), graph->outputs.end(),
                    [&](const ModelPort& port) { return isInList(port, output); })) {
      results.push_back({output, {}});
    }
  }
  std::map<std::string, HostTensor*> targets;
  for (const auto& [output, endpoint] : plan.own->outputs()) {
    auto known = std::find_if(results.begin(), results.end(),
                              [&](const NamedTensor& result) { return result.name == output; });
    if (known != results.end()) {
      targets[output] = &known->tensor;
      continue;
    }
    std::shared_ptr<HostTensor>& tensor = plan.forStages[output];
    if (tensor == nullptr || tensor.use_count() > 1) {  // an input, when a stage follows itself
      tensor = std::make_shared<HostTensor>();
    }
    targets[output] = tensor.get();
    made.push_back({output, tensor.get(), tensor});
  }
  RunStrings strings(plan.strings);
  std::map<std::string, HostTensor> numbers;  // what the plan makes of outputs of strings
  std::vector<StageInput> inputs = numbered(values, strings);  // read until the run has ended
  GR_RETURN_IF_ERROR(plan.bindInputs(lane, inputs));
  for (const auto& [output, tensor] : targets) {
    plan.bindOutput(lane, output, plan.strings.has(output) ? numbers[output] : *tensor);
  }
  GR_RETURN_IF_ERROR(execute(plan));
  for (const auto& [output, tensor] : targets) {
    if (plan.strings.has(output)) {
      plan.fetchOutput(lane, output, numbers[output]);
      GR_RETURN_IF_ERROR(strings.stringsOf(output, numbers[output], *tensor));
    } else {
      plan.fetchOutput(lane, output, *tensor);
    }
  }
  return absl::OkStatus();
}

absl::Status SessionRuns::runAlone(ActivePlan& plan, Millis timeout) {
  const int64_t begin = nowNanos();
  absl::Status status = setup_.coordinator->run(plan.own, plan.nextStep++, timeout);
  noteStep(plan, begin, status.ok());
  return status;
}

/// Runs a step on a lane that was taken for it, and lets go of the mutex meanwhile. Nothing where
/// the plan broke before the step began: it has to be loaded again first.
std::optional<absl::Status> SessionRuns::fly(ActivePlan& plan, size_t lane,
                                             absl::Span<const StageInput> values,
                                             std::vector<NamedTensor>& results, Flights::Lock& lock,
                                             RunQueue::Begun begun) {
  const size_t given = results.size();
  statistics_.noteHit();
  lock.unlock();
  std::optional<int64_t> begin;
  auto execute = [&](ActivePlan& one) -> absl::Status {
    lock.lock();
    absl::StatusOr<Coordinator::Flight> flight =
        setup_.coordinator->begin(one.own, one.nextStep++, setup_.timeout());
    if (flight.ok()) {
      begin = nowNanos();
    }
    lock.unlock();
    GR_RETURN_IF_ERROR(flight.status());
    begun();
    return setup_.coordinator->finish(*std::move(flight), lane);
  };
  std::vector<StageInput> made;
  absl::Status status = runStage(plan, lane, values, results, made, execute);
  lock.lock();
  if (begin.has_value()) {
    noteStep(plan, *begin, status.ok());
  }
  const bool isBroken = plan.own->broken();
  if (flights_.giveBack(lane) && isBroken) {
    noteFailure(plan);
  }
  if (!begin.has_value() && isBroken && setup_.coordinator->lost().ok()) {
    results.resize(given);
    return std::nullopt;
  }
  return status.ok() ? status : inDomain(status, ErrorDomain::kRun);
}

void SessionRuns::noteStep(ActivePlan& plan, int64_t begin, bool ok) {
  plan.noteRun(begin);
  plan.clientTime.noteRun(plan.lastRuns.back().beside, [this] {
    const uint64_t idle = setup_.core->idleNanos();
    return std::max(processNanos(), idle) - idle;
  });
  statistics_.noteStep(plan, ok);
}

/// A run of the plan failed, and nothing is in flight.
void SessionRuns::noteFailure(ActivePlan& plan) {
  if (setup_.options.traceFailures) {
    failed_ = plans_.tracesOf(plan);
    failedEdges_ = edgeNames(plan);
  }
  if (plan.own->broken() && setup_.coordinator->lost().ok()) {
    plans_.drop(plan);  // the next run loads it again
  }
}

}  // namespace graphrun::runtime
