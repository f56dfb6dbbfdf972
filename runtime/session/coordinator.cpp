#include "runtime/session/coordinator.h"

#include <algorithm>
#include <atomic>
#include <set>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "devices/device.h"
#include "runtime/base/clock.h"
#include "runtime/base/log.h"
#include "runtime/base/process.h"
#include "runtime/base/status.h"
#include "runtime/base/units.h"
#include "runtime/control/address.h"
#include "runtime/control/first_cause.h"
#include "runtime/control/job.h"
#include "runtime/format/weight_table.h"
#include "runtime/session/error_domain.h"
#include "runtime/session/own_devices.h"
#include "runtime/worker/network_interface.h"
#include "runtime/worker/worker_main.h"
#include "runtime/worker/worker_trace.h"

namespace graphrun::runtime {
namespace {

constexpr Millis kCancelGrace{2'000};
constexpr Millis kCancelRepeat{50};
/// For the workers to say what they waited for when the deadline passed: all see it at about once.
constexpr Millis kWaitsGrace{500};

absl::string_view bytesOf(const format::PlanFile& plan) {
  return {reinterpret_cast<const char*>(plan.bytes().data()), plan.bytes().size()};
}

/// Returns whether a step may have failed in this way because a worker was lost. A kernel's own
/// failure is none of these; libraries that carry out collectives tell of a lost member as of an
/// error inside.
bool mayFollowLoss(const absl::Status& status) {
  return status.ok() || absl::IsUnavailable(status) || absl::IsCancelled(status) ||
         absl::IsDeadlineExceeded(status) || absl::IsInternal(status);
}

}  // namespace

Coordinator::Coordinator(CoordinatorOptions options, WorkerCore* core)
    : options_(std::move(options)),
      core_(core),
      team_(options_, core,
            [this](const std::string& worker, const absl::Status& why) { onLost(worker, why); }),
      steps_(std::make_shared<StepsUnderWay>(core)) {}

Coordinator::~Coordinator() { team_.end(absl::CancelledError("the session ended")); }

absl::Status Coordinator::lost() const {
  std::lock_guard lock(mutex_);
  return lost_;
}

absl::Status Coordinator::start() {
  GR_RETURN_IF_ERROR(lost());
  if (started_) {
    return absl::OkStatus();
  }
  absl::Status status = team_.start();
  started_ = status.ok();
  if (!started_) {
    team_.end(status);
    stepPlan_.reset();
    std::lock_guard lock(mutex_);
    lost_ = absl::OkStatus();  // who was lost is not kept either
  }
  return status;
}

void Coordinator::onLost(const std::string& name, const absl::Status& why) {
  absl::Status status = withFirstCause(absl::UnavailableError(why.message()), {.worker = name});
  std::shared_ptr<LoadedPlan> running;
  {
    std::lock_guard lock(mutex_);
    if (lost_.ok()) {
      lost_ = status;
    }
    running = running_;
  }
  if (running != nullptr) {
    running->stop(status);  // before the links fail: this is the cause
  }
  for (size_t i = 0; i < options_.workers.size(); ++i) {
    if (options_.workers[i].name == name) {
      core_->markPeerFailed(static_cast<uint32_t>(i + 1), status);
    }
  }
}

std::vector<TeamWorker*> Coordinator::workersOf(const format::PlanFile& plan) {
  std::set<std::string> names;
  for (const format::Partition* partition : *plan.plan().partitions()) {
    names.insert(std::string(workerOf(plan, *partition)));
  }
  std::vector<TeamWorker*> found;
  for (TeamWorker& worker : team_.workers()) {
    if (names.contains(worker.name)) {
      found.push_back(&worker);
    }
  }
  return found;
}

// Nothing of another plan is in flight then, see begin.
const std::vector<Coordinator::StepWorker>& Coordinator::workersOfStep(
    const format::PlanFile& plan) {
  if (stepPlan_ != plan.hash()) {
    stepWorkers_.clear();
    stepPlan_ = plan.hash();
    std::set<uint32_t> ranks;
    for (TeamWorker* worker : workersOf(plan)) {
      stepWorkers_.push_back({worker, getsInputs(plan, worker->name)});
      ranks.insert(worker->rank);
    }
    std::lock_guard lock(steps_->mutex);
    steps_->taking = std::move(ranks);
  }
  return stepWorkers_;
}

/// The worker of a communicator's first member says where all meet.
absl::StatusOr<Coordinator::CommunicatorIds> Coordinator::meet(const format::PlanFile& plan) {
  std::map<std::string, std::vector<uint32_t>> byWorker;
  const auto* communicators = plan.plan().communicators();
  for (uint32_t i = 0; i < format::sizeOf(communicators); ++i) {
    const uint32_t first = communicators->Get(i)->devices()->Get(0);
    byWorker[std::string(format::textOf(plan.worker(plan.device(first).worker()).name()))]
        .push_back(i);
  }
  CommunicatorIds communicatorIds;
  for (const auto& [worker, ids] : byWorker) {
    GR_ASSIGN_OR_RETURN(std::vector<std::string> made, newCommunicatorIds(worker, plan, ids));
    for (size_t i = 0; i < ids.size(); ++i) {
      communicatorIds.push_back({ids[i], std::move(made[i])});
    }
  }
  return communicatorIds;
}

absl::StatusOr<std::vector<std::string>> Coordinator::newCommunicatorIds(
    const std::string& name, const format::PlanFile& plan,
    absl::Span<const uint32_t> communicators) {
  if (name == kClientName) {
    return core_->newCommunicatorIds(plan.hash(), communicators);
  }
  for (TeamWorker& worker : team_.workers()) {
    if (worker.name == name) {
      return worker.client->newCommunicatorIds(plan.hash(), communicators);
    }
  }
  return absl::InternalError(absl::StrCat("the plan has a worker '", name, "', the cluster not"));
}

/// Sends what the worker lacks of the plan's weights, each only once: `sent` is kept from call to
/// call. Gives how many those were.
absl::StatusOr<size_t> Coordinator::sendWeights(TeamWorker& worker, const format::PlanFile& plan,
                                                std::set<uint32_t>& sent) {
  std::set<uint32_t> needed = weightsOf(plan, worker.name);
  std::vector<uint32_t> indices(needed.begin(), needed.end());
  std::vector<WeightId> ids;
  for (uint32_t index : indices) {
    const format::WeightEntry& entry = *plan.plan().weights()->Get(index);
    ids.push_back({entry.checksum(), entry.length()});
  }
  GR_ASSIGN_OR_RETURN(std::vector<bool> present, worker.client->hasWeights(plan.hash(), ids));
  std::vector<WeightSource> missing;
  std::vector<devices::Weight> owners;
  for (size_t i = 0; i < ids.size() && i < present.size(); ++i) {
    if (!present[i] && sent.insert(indices[i]).second) {
      GR_ASSIGN_OR_RETURN(devices::Weight weight, core_->weights().get(ids[i]));
      missing.push_back({indices[i], ids[i].checksum,
                         absl::string_view(reinterpret_cast<const char*>(weight.bytes.data()),
                                           weight.bytes.size())});
      owners.push_back(std::move(weight));
    }
  }
  if (missing.empty()) {
    return 0;
  }
  uint64_t bytes = 0;
  for (const WeightSource& source : missing) {
    bytes += source.data.size();
  }
  Progress progress{.what = absl::StrCat("sending ", formatBytes(static_cast<int64_t>(bytes)),
                                         " of weights to worker ", worker.name),
                    .total = bytes};
  team_.tell(progress);
  GR_RETURN_IF_ERROR(worker.client->putWeights(plan.hash(), missing, [&](uint64_t sent) {
    progress.done = sent;
    team_.tell(progress);
  }));
  return missing.size();
}

/// A worker finds out when it reads a weight that its disk damaged it: it then fails with NotFound,
/// and lacks that weight from then on.
absl::StatusOr<std::vector<DeviceReport>> Coordinator::prepareOn(
    TeamWorker& worker, const format::PlanFile& plan, uint64_t tuneNanos,
    const CommunicatorIds& communicatorIds) {
  std::set<uint32_t> sent;
  GR_RETURN_IF_ERROR(sendWeights(worker, plan, sent).status());
  while (true) {
    absl::StatusOr<std::vector<DeviceReport>> reports =
        worker.client->preparePlan(plan.hash(), tuneNanos, communicatorIds);
    if (!absl::IsNotFound(reports.status())) {
      return reports;
    }
    GR_ASSIGN_OR_RETURN(size_t again, sendWeights(worker, plan, sent));
    if (again == 0) {
      return reports;
    }
  }
}

/// Calls `there` for the workers of a plan and `here` for this process, side by side; returns when
/// all are done, with the first failure. What one that failed leaves others waiting for is ended.
absl::Status Coordinator::onAll(const format::PlanFile& plan,
                                absl::FunctionRef<absl::Status(TeamWorker& worker)> there,
                                absl::FunctionRef<absl::Status()> here) {
  std::vector<TeamWorker*> workers = workersOf(plan);
  FirstFailure failure;
  std::atomic<size_t> pending{workers.size() + 1};
  auto note = [&](const absl::Status& status) {
    --pending;
    failure.update(status);
    while (!status.ok() && pending != 0) {  // what waits for this one may only begin to
      core_->cancel(status);
      for (TeamWorker* worker : workers) {
        worker->client->cancel(status).IgnoreError();
      }
      std::this_thread::sleep_for(kCancelRepeat);
    }
  };
  std::thread others(
      [&] { WorkerTeam::forEach(workers, [&](TeamWorker& worker) { note(there(worker)); }); });
  note(here());
  others.join();
  return failure.get();
}

absl::Status Coordinator::handOut(const format::PlanFile& plan) {
  return onAll(
      plan, [&](TeamWorker& worker) { return worker.client->loadPlan(plan.hash(), bytesOf(plan)); },
      [&] { return core_->loadPlan(plan.hash(), std::string(bytesOf(plan))); });
}

/// With the weights that workers lack: while one gets them, others compile.
absl::StatusOr<Coordinator::Reports> Coordinator::prepare(const format::PlanFile& plan,
                                                          uint64_t tuneNanos,
                                                          const CommunicatorIds& communicatorIds) {
  std::mutex mutex;
  Reports reports;
  auto note = [&](const std::string& name, absl::StatusOr<std::vector<DeviceReport>> got) {
    GR_RETURN_IF_ERROR(got.status());
    std::lock_guard lock(mutex);
    reports[name] = *std::move(got);
    return absl::OkStatus();
  };
  GR_RETURN_IF_ERROR(onAll(
      plan,
      [&](TeamWorker& worker) {
        return note(worker.name, prepareOn(worker, plan, tuneNanos, communicatorIds));
      },
      [&] {
        return note(kClientName, core_->preparePlan(plan.hash(), tuneNanos, communicatorIds));
      }));
  return reports;
}

// In three turns: an id is asked of a worker that has the plan, and told to all.
absl::StatusOr<std::map<std::string, std::vector<DeviceReport>>> Coordinator::load(
    const format::PlanFile& plan, uint64_t tuneNanos) {
  GR_RETURN_IF_ERROR(lost());
  if (needsOthers(plan)) {
    GR_RETURN_IF_ERROR(start());
  }
  if (absl::Status status = handOut(plan); !status.ok()) {
    return giveUp(plan, status);
  }
  absl::StatusOr<CommunicatorIds> communicatorIds = meet(plan);
  if (!communicatorIds.ok()) {
    return giveUp(plan, communicatorIds.status());
  }
  absl::StatusOr<Reports> reports = prepare(plan, tuneNanos, *communicatorIds);
  return reports.ok() ? std::move(reports) : giveUp(plan, reports.status());
}

/// Drops a plan that could not be loaded, and says why not: a lost worker is the cause of all else.
absl::Status Coordinator::giveUp(const format::PlanFile& plan, const absl::Status& why) {
  unload(plan);
  absl::Status gone = lost();
  return gone.ok() ? why : gone;
}

// Side by side: members of communicators leave them together.
void Coordinator::unload(const format::PlanFile& plan) {
  std::vector<TeamWorker*> workers = workersOf(plan);
  std::thread others([&] {
    WorkerTeam::forEach(workers, [&](TeamWorker& worker) {
      if (absl::Status status = worker.client->unloadPlan(plan.hash()); !status.ok()) {
        log(LogLevel::kInfo, absl::StrCat("unloading a plan: ", status.message()));
      }
    });
  });
  core_->unloadPlan(plan.hash()).IgnoreError();
  others.join();
}

/// Starts a step on a worker, which is asked to serve steps first if it does not. The number of
/// the start.
absl::StatusOr<uint64_t> Coordinator::startOn(const StepWorker& at, const StepStart& start) {
  TeamWorker& worker = *at.worker;
  if (!steps_->isServing(worker.rank)) {
    worker.line.reset();
    {
      std::lock_guard lock(steps_->mutex);
      steps_->serving.insert(worker.rank);
    }
    const uint64_t run = worker.client->serveStepsAsync(
        [steps = steps_, rank = worker.rank](const absl::Status& why) { steps->ended(rank, why); });
    GR_ASSIGN_OR_RETURN(worker.line, core_->openLine(worker.rank, run));
  }
  return worker.line->start(
      start, at.getsInputs,
      WaitOptions::within(static_cast<int64_t>(start.timeoutNanos), &steps_->failed));
}

bool Coordinator::Flight::isDone() {
  return std::all_of(starts.begin(), starts.end(), [](Start& start) {
    start.done =
        start.done || (start.number.has_value() && start.worker->line->takeDone(*start.number));
    return start.done;
  });
}

/// Waits until all workers are done with the step, or a step in flight failed, maybe this one.
absl::Status Coordinator::waitUntilDone(Flight& flight) {
  const int64_t grace = std::chrono::nanoseconds(kCancelGrace).count();
  absl::Status waited =
      core_->waitForNetwork([&] { return flight.isDone() || steps_->failed.load(); },
                            WaitOptions{flight.deadlineNanos + grace});
  if (waited.ok() || flight.isDone()) {
    return absl::OkStatus();
  }
  std::vector<std::string> missing;
  for (const Start& start : flight.starts) {
    if (!start.done) {
      missing.push_back(start.worker->name);
    }
  }
  return annotate(waited, absl::StrCat("step on worker ", absl::StrJoin(missing, ", "),
                                       ", which told neither that it is done nor why not"));
}

/// Ends the steps in flight, of which one failed, on all workers that have a part of them; they
/// serve no steps from then on. Gives the first failure.
absl::Status Coordinator::abandon(const Flight& flight) {
  std::unique_lock lock(steps_->mutex);
  if (absl::IsDeadlineExceeded(steps_->first)) {
    steps_->changed.wait_for(lock, kWaitsGrace, [&] { return steps_->settled(); });
  }
  if (!steps_->settled() && !std::exchange(steps_->cancelled, true)) {
    absl::Status cause = steps_->first;
    std::vector<TeamWorker*> workers;
    workers.reserve(flight.starts.size());
    for (const Start& start : flight.starts) {
      workers.push_back(start.worker);
    }
    lock.unlock();
    WorkerTeam::forEach(workers,
                        [&](TeamWorker& worker) { worker.client->cancel(cause).IgnoreError(); });
    lock.lock();
  }
  steps_->changed.wait(lock, [&] { return steps_->settled(); });
  return steps_->first;
}

absl::StatusOr<Coordinator::Flight> Coordinator::begin(const std::shared_ptr<LoadedPlan>& ownPart,
                                                       uint64_t step, Millis timeout) {
  const int64_t nanos = std::chrono::nanoseconds(timeout).count();
  Flight flight{ownPart, step, nowNanos() + nanos, {}};
  const std::vector<StepWorker>& workers = workersOfStep(ownPart->plan());
  {
    std::lock_guard lock(mutex_);
    GR_RETURN_IF_ERROR(lost_);
    GR_RETURN_IF_ERROR(steps_->begin(ownPart));
    running_ = ownPart;
  }
  for (const StepWorker& worker : workers) {
    absl::StatusOr<uint64_t> number =
        startOn(worker, {ownPart->plan().hash(), step, static_cast<uint64_t>(nanos), 1});
    if (!number.ok()) {
      steps_->fail(number.status());
    }
    flight.starts.push_back({worker.worker, number.ok() ? std::optional(*number) : std::nullopt});
  }
  return flight;
}

absl::Status Coordinator::finish(Flight flight, size_t lane) {
  absl::Status status = flight.own->runLane(flight.step, flight.deadlineNanos, lane, [&] {
    return flight.isDone() || steps_->failed.load();
  });
  if (status.ok() && !flight.starts.empty()) {
    status = waitUntilDone(flight);
  }
  if (!status.ok()) {
    steps_->fail(status);
  }
  const bool isDone = status.ok() && flight.isDone();
  if (!isDone && !flight.starts.empty()) {
    // Also if this part was done: the others are loaded anew.
    flight.own->stop(abandon(flight));
  }
  std::lock_guard lock(mutex_);
  absl::Status cause = steps_->end();
  if (steps_->own == nullptr) {
    running_.reset();
  }
  absl::Status ended = isDone ? absl::OkStatus() : cause;
  return lost_.ok() || !mayFollowLoss(ended) ? ended : lost_;
}

absl::Status Coordinator::run(const std::shared_ptr<LoadedPlan>& ownPart, uint64_t step,
                              Millis timeout) {
  GR_ASSIGN_OR_RETURN(Flight flight, begin(ownPart, step, timeout));
  return finish(std::move(flight), 0);
}

std::vector<TraceProcess> Coordinator::traces() {
  std::vector<TraceProcess> processes;
  for (TeamWorker& worker : team_.workers()) {
    absl::StatusOr<std::string> text = worker.client->trace();
    absl::StatusOr<std::vector<TraceStream>> streams =
        text.ok() ? readWorkerTrace(*text) : text.status();
    if (!streams.ok()) {
      log(LogLevel::kWarning,
          absl::StrCat("no trace of worker ", worker.name, ": ", streams.status().message()));
      continue;
    }
    // Processes of one machine have one clock, which no message could tell as exactly.
    absl::StatusOr<Address> address = parseAddress(worker.client->address());
    bool isHere = address.ok() && address->isLocal();
    int64_t offset = isHere ? 0 : team_.clockOffsetNanos(worker.name).value_or(0);
    processes.push_back({worker.name, -offset, *std::move(streams)});
  }
  return processes;
}

}  // namespace graphrun::runtime
