#include "runtime/session/coordinator.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <random>
#include <set>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
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

/// A worker's last job may take so long to end.
constexpr Millis kBusyPatience{300};
/// Between two attempts to have all workers.
constexpr Millis kLeastPause{100};
constexpr Millis kMostPause{1'000};

/// Files that are open for the network's libraries, and for each worker: both to within some.
constexpr uint64_t kFilesOfNetwork = 16;
constexpr uint64_t kFilesAWorker = 4;
/// Address space for each worker, in bytes, beside a thread's.
constexpr uint64_t kBytesAWorker = uint64_t{4} << 20;

/// The first failure of several threads.
class FirstFailure {
 public:
  void update(const absl::Status& status) {
    std::lock_guard lock(mutex_);
    if (first_.ok()) {
      first_ = status;
    }
  }
  absl::Status get() {
    std::lock_guard lock(mutex_);
    return first_;
  }

 private:
  std::mutex mutex_;
  absl::Status first_;
};

/// The worker of a device, by name.
absl::string_view workerOf(const format::PlanFile& plan, uint32_t device) {
  return format::textOf(plan.worker(plan.device(device).worker()).name());
}

/// The same of a partition.
absl::string_view workerOf(const format::PlanFile& plan, const format::Partition& partition) {
  return workerOf(plan, partition.device());
}

absl::string_view bytesOf(const format::PlanFile& plan) {
  return {reinterpret_cast<const char*>(plan.bytes().data()), plan.bytes().size()};
}

bool needsOthers(const format::PlanFile& plan) {
  const auto& partitions = *plan.plan().partitions();
  return std::any_of(partitions.begin(), partitions.end(), [&](const format::Partition* partition) {
    return workerOf(plan, *partition) != kClientName;
  });
}

/// Returns whether a worker gets something from a device of this process that computes nothing, and
/// so sends it at once.
bool getsInputs(const format::PlanFile& plan, const std::string& worker) {
  for (uint32_t i = 0; i < plan.edgeCount(); ++i) {
    const format::Edge& edge = plan.edge(i);
    if (workerOf(plan, edge.source()) == kClientName && workerOf(plan, edge.target()) == worker &&
        format::sizeOf(plan.partitionOn(edge.source())->nodes()) == 0) {
      return true;
    }
  }
  return false;
}

/// Weights of the model that a worker's partitions read.
std::set<uint32_t> weightsOf(const format::PlanFile& plan, const std::string& worker) {
  std::set<uint32_t> indices;
  for (const format::Partition* partition : *plan.plan().partitions()) {
    if (workerOf(plan, *partition) != worker || partition->weights() == nullptr) {
      continue;
    }
    for (uint32_t index : *partition->weights()) {
      if (!plan.plan().weights()->Get(index)->in_plan()) {
        indices.insert(index);
      }
    }
  }
  return indices;
}

/// Returns whether a step may have failed in this way because a worker was lost. A kernel's own
/// failure is none of these; libraries that carry out collectives tell of a lost member as of an
/// error inside.
bool mayFollowLoss(const absl::Status& status) {
  return status.ok() || absl::IsUnavailable(status) || absl::IsCancelled(status) ||
         absl::IsDeadlineExceeded(status) || absl::IsInternal(status);
}

/// A worker that does not answer any more, as against one that tells of a failure at an operation.
bool isSilence(const absl::Status& status) {
  std::optional<FirstCause> cause = firstCauseOf(status);
  return absl::IsUnavailable(status) && cause.has_value() && cause->device.empty() &&
         cause->node.empty();
}

}  // namespace

std::string interfacesFor(absl::Span<const GivenWorker> workers) {
  std::set<std::string> interfaces;
  for (const GivenWorker& worker : workers) {
    absl::StatusOr<Address> address = parseAddress(worker.address);
    const bool here = worker.isLocal() || (address.ok() && address->isLocal());
    interfaces.insert(here           ? loopbackInterface()
                      : address.ok() ? interfaceTowards(address->host)
                                     : "");  // a wrong address is told on joining
  }
  interfaces.erase("");
  return absl::StrJoin(interfaces, ",");
}

/// Steps is the state that the steps under way, all of one plan, and the calls by which workers
/// serve steps share. Those calls last from step to step, and gRPC may end them at any time: it
/// shares this.
struct Coordinator::Steps {
  explicit Steps(WorkerCore* workerCore) : core(workerCore) {}

  WorkerCore* const core;  // valid while a step is under way
  std::mutex mutex;
  std::condition_variable changed;
  std::set<uint32_t> serving;  // ranks of workers whose call has not ended
  // Of the steps under way:
  std::set<uint32_t> taking;  // the workers that have a part of them
  size_t count = 0;
  std::shared_ptr<LoadedPlan> own;  // null between steps
  bool cancelled = false;           // on the workers
  absl::Status first;
  std::vector<std::string> otherWaits;  // when the deadline passed: of those after the first
  std::atomic<bool> failed{false};

  /// Aborted: a step of the plan failed.
  absl::Status begin(const std::shared_ptr<LoadedPlan>& ownPart) {
    std::lock_guard lock(mutex);
    if ((count > 0 && failed.load()) || ownPart->broken()) {
      return absl::AbortedError("a step of the plan failed; load it again");
    }
    if (count++ > 0) {
      return absl::OkStatus();
    }
    own = ownPart;
    cancelled = false;
    first = absl::OkStatus();
    otherWaits.clear();
    failed.store(false);
    return absl::OkStatus();
  }
  /// A step is over; once all are, no call fails them any more. Why they failed, or OK.
  absl::Status end() {
    std::lock_guard lock(mutex);
    if (--count == 0) {
      own.reset();
    }
    return cause();
  }
  void fail(const absl::Status& status) {
    std::lock_guard lock(mutex);
    keep(status);
  }
  /// Keeps the cause, and ends the wait for the workers. A broken link is not it when the worker at
  /// its other end turns out to be gone. `mutex` is held.
  void keep(const absl::Status& status) {
    if (absl::IsDeadlineExceeded(first) && absl::IsDeadlineExceeded(status)) {
      if (first.message() != status.message()) {
        otherWaits.emplace_back(status.message());
      }
    } else if (first.ok() ||
               (absl::IsUnavailable(first) && !isSilence(first) && isSilence(status))) {
      first = status;
    }
    failed.store(true);
    changed.notify_all();
  }
  /// A worker serves no longer: it failed in the step under way, if it has a part of that.
  void ended(uint32_t rank, const absl::Status& why) {
    std::shared_ptr<LoadedPlan> stopped;
    {
      std::lock_guard lock(mutex);
      stopped = taking.contains(rank) ? own : nullptr;
      if (stopped != nullptr) {
        keep(why);
      }
    }
    if (stopped != nullptr) {
      if (!absl::IsDeadlineExceeded(why)) {  // else its own deadline passes, and says more
        stopped->stop(why);
      }
      core->wakeNetwork();
    }
    stopped.reset();  // whoever waits for this loads the plan again, when its edges must be closed
    std::lock_guard lock(mutex);
    serving.erase(rank);
    changed.notify_all();
  }
  bool isServing(uint32_t rank) {
    std::lock_guard lock(mutex);
    return serving.contains(rank);
  }
  /// Returns whether no worker with a part of the step serves any more; `mutex` is held.
  bool settled() const {
    return std::none_of(taking.begin(), taking.end(),
                        [&](uint32_t rank) { return serving.contains(rank); });
  }
  /// Returns the first failure; of a deadline, with all waits that it ended. `mutex` is held.
  absl::Status cause() const {
    if (otherWaits.empty()) {
      return first;
    }
    absl::Status all = absl::DeadlineExceededError(
        absl::StrCat(first.message(), "; so did: ", absl::StrJoin(otherWaits, "; ")));
    return withFirstCause(all, firstCauseOf(first).value_or(FirstCause{}));
  }
};

Coordinator::Coordinator(CoordinatorOptions options, WorkerCore* core)
    : options_(std::move(options)), core_(core), steps_(std::make_shared<Steps>(core)) {}

Coordinator::~Coordinator() { endAll(absl::CancelledError("the session ended")); }

/// Ends the workers that were started here and leaves the others.
void Coordinator::endAll(const absl::Status& why) {
  std::vector<WorkerClient*> started;
  for (Worker& worker : workers_) {
    if (pulse_ != nullptr) {
      pulse_->remove(worker.name);
    }
    if (worker.startedHere) {
      started.push_back(worker.client.get());
    }
  }
  std::vector<Worker*> others;
  for (Worker& worker : workers_) {
    if (!worker.startedHere && joined_.contains(worker.name)) {
      others.push_back(&worker);
    }
  }
  forEach(others, [&](Worker& worker) { worker.client->leave(why).IgnoreError(); });
  core_->endJob(why);
  if (local_ != nullptr) {
    local_->stopAll(started);
  }
  local_.reset();  // calls the pulse
  pulse_.reset();
  workers_.clear();
  joined_.clear();
  stepPlan_.reset();
}

absl::Status Coordinator::lost() const {
  std::lock_guard lock(mutex_);
  return lost_;
}

absl::Status Coordinator::start() {
  GR_RETURN_IF_ERROR(lost());
  if (started_) {
    return absl::OkStatus();
  }
  absl::Status status = startAll();
  started_ = status.ok();
  if (!started_) {
    endAll(status);
    std::lock_guard lock(mutex_);
    lost_ = absl::OkStatus();  // who was lost is not kept either
  }
  return status;
}

absl::Status Coordinator::startAll() {
  const std::string who = absl::StrCat("a cluster of ", options_.workers.size(), " workers");
  GR_RETURN_IF_ERROR(
      checkFileLimit(kFilesOfNetwork + kFilesAWorker * options_.workers.size(), who));
  GR_RETURN_IF_ERROR(checkAddressSpace(kThreadsOfWorker + options_.workers.size(),
                                       kBytesOfWorker + kBytesAWorker * options_.workers.size(),
                                       who));
  GR_ASSIGN_OR_RETURN(job_, randomSecret());
  pulse_ = std::make_unique<Pulse>(
      [this](const std::string& worker, const absl::Status& why) { onLost(worker, why); });
  GR_RETURN_IF_ERROR(prepareProcesses());
  if (absl::Status made = makeClients(); !made.ok()) {
    // It reads the certificates, and reaches nobody yet.
    const bool isFile =
        absl::IsNotFound(made) || absl::IsInvalidArgument(made) || absl::IsPermissionDenied(made);
    return isFile ? inDomain(made, ErrorDomain::kModel) : made;
  }
  GR_RETURN_IF_ERROR(join());
  GR_RETURN_IF_ERROR(checkDevices());
  return linkAll();
}

/// A device that the cluster names and its worker has not is told whatever would run there.
absl::Status Coordinator::checkDevices() const {
  for (const GivenWorker& worker : options_.workers) {
    const WorkerOffer& offer = joined_.at(worker.name).offer;
    for (const GivenDevice& device : worker.devices) {
      bool offered =
          devices::kindNamed(device.kind).onHostCores ||
          std::any_of(offer.devices.begin(), offer.devices.end(), [&](const DeviceOffer& one) {
            return one.kind == device.kind && one.index == static_cast<uint32_t>(device.index);
          });
      if (!offered) {
        return inDomain(
            missingDevice(worker.name, {device.kind, static_cast<uint32_t>(device.index)},
                          worker.isLocal(), offer.missing),
            ErrorDomain::kPlacement);
      }
    }
    GR_RETURN_IF_ERROR(checkCores(worker, offer.devices));
  }
  return absl::OkStatus();
}

absl::Status Coordinator::prepareProcesses() {
  const std::vector<GivenWorker>& all = options_.workers;
  if (std::none_of(all.begin(), all.end(),
                   [](const GivenWorker& worker) { return worker.isLocal(); })) {
    return absl::OkStatus();
  }
  if (options_.workerCommand.empty()) {
    return absl::NotFoundError(
        "workers are to be started here, but the program graphrun was not found; put it on the "
        "PATH or give SessionOptions::workerCommand");
  }
  LocalWorkersOptions options;
  options.command = options_.workerCommand;
  options.readyTimeout = std::min(options.readyTimeout, options_.joinTimeout);
  options.onExit = [this](const std::string& worker, const absl::Status& why) {
    pulse_->declareLost(worker, why);
  };
  GR_ASSIGN_OR_RETURN(local_, LocalWorkers::create(std::move(options)));
  return absl::OkStatus();
}

absl::StatusOr<std::string> Coordinator::addressOf(const GivenWorker& worker) {
  if (!worker.isLocal()) {
    return worker.address;
  }
  std::vector<std::string> arguments = options_.workerArguments;
  if (const std::string& interface = core_->networkInterface(); !interface.empty()) {
    arguments.insert(arguments.end(), {"--interface", interface});
  }
  return local_->start(worker.name, arguments);
}

absl::Status Coordinator::makeClients() {
  for (const GivenWorker& given : options_.workers) {
    WorkerClientOptions options;
    options.name = given.name;
    if (given.isLocal()) {
      tell({.what = absl::StrCat("starting worker ", given.name),
            .done = workers_.size(),
            .total = options_.workers.size()});
    }
    GR_ASSIGN_OR_RETURN(options.address, addressOf(given));
    options.security = given.isLocal() ? Security{} : options_.security;
    options.versions = buildVersions();
    options.job = job_;
    options.joinTimeout = options_.joinTimeout;
    GR_ASSIGN_OR_RETURN(std::unique_ptr<WorkerClient> client, WorkerClient::create(options));
    workers_.push_back({given.name, static_cast<uint32_t>(workers_.size() + 1), given.isLocal(),
                        std::move(client)});
  }
  return absl::OkStatus();
}

void Coordinator::forEach(absl::Span<Worker* const> workers,
                          absl::FunctionRef<void(Worker&)> work) {
  std::vector<std::thread> threads;
  for (Worker* worker : workers) {
    threads.emplace_back([worker, work] { work(*worker); });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
}

void Coordinator::tell(const Progress& progress) const {
  if (options_.progress != nullptr) {
    options_.progress->tell(progress);
  }
}

/// Jobs that want some of the same workers must not each hold a part of them and wait for the rest:
/// who meets a busy one lets go of all, and tries again a little later.
absl::Status Coordinator::join() {
  std::minstd_rand random(std::random_device{}());
  const int64_t end = nowNanos() + std::chrono::nanoseconds(options_.joinTimeout).count();
  Millis pause = kLeastPause;
  while (true) {
    const Millis left((end - nowNanos()) / 1'000'000 + 1);
    absl::Status status = joinAll(left);
    if (!absl::IsAborted(status)) {
      return status;
    }
    letGo();
    const Millis sleep(
        std::uniform_int_distribution<int64_t>(pause.count() / 4, pause.count())(random));
    if (nowNanos() + std::chrono::nanoseconds(sleep + kBusyPatience).count() >= end) {
      return withFirstCause(
          absl::UnavailableError(absl::StrFormat(
              "the workers were not all free within %.1f s. Last error: %s",
              static_cast<double>(options_.joinTimeout.count()) * 1e-3, status.message())),
          firstCauseOf(status).value_or(FirstCause{}));
    }
    std::this_thread::sleep_for(sleep);
    pause = std::min(2 * pause, kMostPause);
  }
}

/// Leaves the workers that have joined.
void Coordinator::letGo() {
  std::vector<Worker*> held;
  for (Worker& worker : workers_) {
    pulse_->remove(worker.name);
    if (joined_.contains(worker.name)) {
      held.push_back(&worker);
    }
  }
  forEach(held, [](Worker& worker) {
    worker.client->leave(absl::CancelledError("another worker is busy")).IgnoreError();
  });
  joined_.clear();
}

/// Aborted when nothing but busy workers keeps from having them all.
absl::Status Coordinator::joinAll(Millis timeout) {
  FirstFailure failure;
  FirstFailure busy;
  std::mutex mutex;
  std::vector<Worker*> all;
  std::set<std::string> waited;
  for (Worker& worker : workers_) {
    all.push_back(&worker);
    waited.insert(worker.name);
  }
  auto tellWaited = [&] {
    tell({.what = waited.empty() ? ""
                                 : absl::StrCat("waiting for worker ", absl::StrJoin(waited, ", ")),
          .done = all.size() - waited.size(),
          .total = all.size(),
          .most = timeout});
  };
  tellWaited();
  forEach(all, [&](Worker& worker) {
    pulse_->expect(worker.client);
    if (worker.startedHere) {  // its end may have come before anybody expected it
      absl::Status ended = local_->ended(worker.name);
      if (!ended.ok()) {
        pulse_->declareLost(worker.name, ended);
      }
    }
    absl::StatusOr<JoinedWorker> joined = worker.client->joinUnlessBusy(timeout, kBusyPatience);
    (absl::IsAborted(joined.status()) ? busy : failure).update(joined.status());
    std::lock_guard lock(mutex);
    if (joined.ok()) {
      pulse_->add(worker.client);
      joined_[worker.name] = *std::move(joined);
    }
    waited.erase(worker.name);
    tellWaited();
  });
  absl::Status failed = failure.get();
  return failed.ok() ? busy.get() : failed;
}

absl::Status Coordinator::linkAll() {
  std::vector<PeerInfo> everyone;
  GR_ASSIGN_OR_RETURN(std::string ownAddress, core_->networkAddress());
  everyone.push_back(
      {kCoordinatorRank, kClientName, ownAddress, "", core_->carriesGpuMemory().ok()});
  for (const Worker& worker : workers_) {
    const WorkerOffer& offer = joined_[worker.name].offer;
    everyone.push_back(
        {worker.rank, worker.name, offer.transportAddress, "", offer.carriesGpuMemory});
  }
  LinkTokens tokens;
  auto peersOf = [&](uint32_t rank) -> absl::StatusOr<std::vector<PeerInfo>> {
    std::vector<PeerInfo> peers;
    for (PeerInfo peer : everyone) {
      if (peer.rank != rank) {
        GR_ASSIGN_OR_RETURN(peer.token, tokens.tokenOf(rank, peer.rank));
        peers.push_back(std::move(peer));
      }
    }
    return peers;
  };
  for (Worker& worker : workers_) {
    GR_ASSIGN_OR_RETURN(std::vector<PeerInfo> peers, peersOf(worker.rank));
    GR_RETURN_IF_ERROR(worker.client->connectPeers(worker.rank, peers));
  }
  GR_ASSIGN_OR_RETURN(std::vector<PeerInfo> peers, peersOf(kCoordinatorRank));
  return core_->connectPeers(kCoordinatorRank, peers);
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

std::vector<Coordinator::Worker*> Coordinator::workersOf(const format::PlanFile& plan) {
  std::set<std::string> names;
  for (const format::Partition* partition : *plan.plan().partitions()) {
    names.insert(std::string(workerOf(plan, *partition)));
  }
  std::vector<Worker*> found;
  for (Worker& worker : workers_) {
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
    for (Worker* worker : workersOf(plan)) {
      stepWorkers_.push_back({worker, getsInputs(plan, worker->name)});
      ranks.insert(worker->rank);
    }
    std::lock_guard lock(steps_->mutex);
    steps_->taking = std::move(ranks);
  }
  return stepWorkers_;
}

/// The worker of a communicator's first member says where all meet.
absl::StatusOr<Coordinator::Meetings> Coordinator::meet(const format::PlanFile& plan) {
  std::map<std::string, std::vector<uint32_t>> byWorker;
  const auto* communicators = plan.plan().communicators();
  for (uint32_t i = 0; i < format::sizeOf(communicators); ++i) {
    const uint32_t first = communicators->Get(i)->devices()->Get(0);
    byWorker[std::string(format::textOf(plan.worker(plan.device(first).worker()).name()))]
        .push_back(i);
  }
  Meetings meetings;
  for (const auto& [worker, ids] : byWorker) {
    GR_ASSIGN_OR_RETURN(std::vector<std::string> places, newMeetings(worker, plan, ids));
    for (size_t i = 0; i < ids.size(); ++i) {
      meetings.push_back({ids[i], std::move(places[i])});
    }
  }
  return meetings;
}

absl::StatusOr<std::vector<std::string>> Coordinator::newMeetings(
    const std::string& name, const format::PlanFile& plan,
    absl::Span<const uint32_t> communicators) {
  if (name == kClientName) {
    return core_->newMeetings(plan.hash(), communicators);
  }
  for (Worker& worker : workers_) {
    if (worker.name == name) {
      return worker.client->newMeetings(plan.hash(), communicators);
    }
  }
  return absl::InternalError(absl::StrCat("the plan has a worker '", name, "', the cluster not"));
}

/// Sends what the worker lacks of the plan's weights, each only once: `sent` is kept from call to
/// call. Gives how many those were.
absl::StatusOr<size_t> Coordinator::sendWeights(Worker& worker, const format::PlanFile& plan,
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
  tell(progress);
  GR_RETURN_IF_ERROR(worker.client->putWeights(plan.hash(), missing, [&](uint64_t sent) {
    progress.done = sent;
    tell(progress);
  }));
  return missing.size();
}

/// A worker finds out when it reads a weight that its disk damaged it: it then fails with NotFound,
/// and lacks that weight from then on.
absl::StatusOr<std::vector<DeviceReport>> Coordinator::prepareOn(Worker& worker,
                                                                 const format::PlanFile& plan,
                                                                 uint64_t tuneNanos,
                                                                 const Meetings& meetings) {
  std::set<uint32_t> sent;
  GR_RETURN_IF_ERROR(sendWeights(worker, plan, sent).status());
  while (true) {
    absl::StatusOr<std::vector<DeviceReport>> reports =
        worker.client->preparePlan(plan.hash(), tuneNanos, meetings);
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
                                absl::FunctionRef<absl::Status(Worker& worker)> there,
                                absl::FunctionRef<absl::Status()> here) {
  std::vector<Worker*> workers = workersOf(plan);
  FirstFailure failure;
  std::atomic<size_t> pending{workers.size() + 1};
  auto note = [&](const absl::Status& status) {
    --pending;
    failure.update(status);
    while (!status.ok() && pending != 0) {  // what waits for this one may only begin to
      core_->cancel(status);
      for (Worker* worker : workers) {
        worker->client->cancel(status).IgnoreError();
      }
      std::this_thread::sleep_for(kCancelRepeat);
    }
  };
  std::thread others([&] { forEach(workers, [&](Worker& worker) { note(there(worker)); }); });
  note(here());
  others.join();
  return failure.get();
}

absl::Status Coordinator::handOut(const format::PlanFile& plan) {
  return onAll(
      plan, [&](Worker& worker) { return worker.client->loadPlan(plan.hash(), bytesOf(plan)); },
      [&] { return core_->loadPlan(plan.hash(), std::string(bytesOf(plan))); });
}

/// With the weights that workers lack: while one gets them, others compile.
absl::StatusOr<Coordinator::Reports> Coordinator::prepare(const format::PlanFile& plan,
                                                          uint64_t tuneNanos,
                                                          const Meetings& meetings) {
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
      [&](Worker& worker) {
        return note(worker.name, prepareOn(worker, plan, tuneNanos, meetings));
      },
      [&] { return note(kClientName, core_->preparePlan(plan.hash(), tuneNanos, meetings)); }));
  return reports;
}

// In three turns: a meeting place is asked of a worker that has the plan, and told to all.
absl::StatusOr<std::map<std::string, std::vector<DeviceReport>>> Coordinator::load(
    const format::PlanFile& plan, uint64_t tuneNanos) {
  GR_RETURN_IF_ERROR(lost());
  if (needsOthers(plan)) {
    GR_RETURN_IF_ERROR(start());
  }
  if (absl::Status status = handOut(plan); !status.ok()) {
    return giveUp(plan, status);
  }
  absl::StatusOr<Meetings> meetings = meet(plan);
  if (!meetings.ok()) {
    return giveUp(plan, meetings.status());
  }
  absl::StatusOr<Reports> reports = prepare(plan, tuneNanos, *meetings);
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
  std::vector<Worker*> workers = workersOf(plan);
  std::thread others([&] {
    forEach(workers, [&](Worker& worker) {
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
  Worker& worker = *at.worker;
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
    std::vector<Worker*> workers;
    workers.reserve(flight.starts.size());
    for (const Start& start : flight.starts) {
      workers.push_back(start.worker);
    }
    lock.unlock();
    forEach(workers, [&](Worker& worker) { worker.client->cancel(cause).IgnoreError(); });
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
  for (Worker& worker : workers_) {
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
    int64_t offset = isHere ? 0 : pulse_->clockOffsetNanos(worker.name).value_or(0);
    processes.push_back({worker.name, -offset, *std::move(streams)});
  }
  return processes;
}

}  // namespace graphrun::runtime
