#include "runtime/session/worker_team.h"

#include <algorithm>
#include <mutex>
#include <random>
#include <set>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "runtime/base/clock.h"
#include "runtime/base/process.h"
#include "runtime/base/status.h"
#include "runtime/control/address.h"
#include "runtime/control/first_cause.h"
#include "runtime/control/job.h"
#include "runtime/session/error_domain.h"
#include "runtime/session/own_devices.h"
#include "runtime/session/plan_workers.h"
#include "runtime/worker/network_interface.h"
#include "runtime/worker/worker_main.h"

namespace graphrun::runtime {
namespace {

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

absl::Status WorkerTeam::start() {
  const std::string who = absl::StrCat("a cluster of ", options_.workers.size(), " workers");
  GR_RETURN_IF_ERROR(
      checkFileLimit(kFilesOfNetwork + kFilesAWorker * options_.workers.size(), who));
  GR_RETURN_IF_ERROR(checkAddressSpace(kThreadsOfWorker + options_.workers.size(),
                                       kBytesOfWorker + kBytesAWorker * options_.workers.size(),
                                       who));
  GR_ASSIGN_OR_RETURN(job_, randomSecret());
  pulse_ = std::make_unique<Pulse>(onLost_);
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
absl::Status WorkerTeam::checkDevices() const {
  for (const GivenWorker& worker : options_.workers) {
    const WorkerOffer& offer = joined_.at(worker.name).offer;
    for (const DeviceSpec& device : worker.devices) {
      bool offered = device.kind.onHostCores ||
                     std::any_of(offer.devices.begin(), offer.devices.end(),
                                 [&](const DeviceDescription& one) {
                                   return one.kind == device.kind.name &&
                                          one.index == static_cast<uint32_t>(device.index);
                                 });
      if (!offered) {
        return inDomain(
            missingDevice(worker.name, {device.kind.name, static_cast<uint32_t>(device.index)},
                          worker.isLocal(), offer.missing),
            ErrorDomain::kPlacement);
      }
    }
    GR_RETURN_IF_ERROR(checkCores(worker, offer.devices));
  }
  return absl::OkStatus();
}

absl::Status WorkerTeam::prepareProcesses() {
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

absl::StatusOr<std::string> WorkerTeam::addressOf(const GivenWorker& worker) {
  if (!worker.isLocal()) {
    return worker.address;
  }
  std::vector<std::string> arguments = options_.workerArguments;
  if (const std::string& interface = core_->networkInterface(); !interface.empty()) {
    arguments.insert(arguments.end(), {"--interface", interface});
  }
  return local_->start(worker.name, arguments);
}

absl::Status WorkerTeam::makeClients() {
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

void WorkerTeam::forEach(absl::Span<TeamWorker* const> workers,
                         absl::FunctionRef<void(TeamWorker&)> work) {
  std::vector<std::thread> threads;
  for (TeamWorker* worker : workers) {
    threads.emplace_back([worker, work] { work(*worker); });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
}

void WorkerTeam::tell(const Progress& progress) const {
  if (options_.progress != nullptr) {
    options_.progress->tell(progress);
  }
}

/// Jobs that want some of the same workers must not each hold a part of them and wait for the rest:
/// who meets a busy one lets go of all, and tries again a little later.
absl::Status WorkerTeam::join() {
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
void WorkerTeam::letGo() {
  std::vector<TeamWorker*> held;
  for (TeamWorker& worker : workers_) {
    pulse_->remove(worker.name);
    if (joined_.contains(worker.name)) {
      held.push_back(&worker);
    }
  }
  forEach(held, [](TeamWorker& worker) {
    worker.client->leave(absl::CancelledError("another worker is busy")).IgnoreError();
  });
  joined_.clear();
}

/// Aborted when nothing but busy workers keeps from having them all.
absl::Status WorkerTeam::joinAll(Millis timeout) {
  FirstFailure failure;
  FirstFailure busy;
  std::mutex mutex;
  std::vector<TeamWorker*> all;
  std::set<std::string> waited;
  for (TeamWorker& worker : workers_) {
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
  forEach(all, [&](TeamWorker& worker) {
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

absl::Status WorkerTeam::linkAll() {
  std::vector<PeerInfo> everyone;
  GR_ASSIGN_OR_RETURN(std::string ownAddress, core_->networkAddress());
  everyone.push_back(
      {kCoordinatorRank, kClientName, ownAddress, "", core_->carriesGpuMemory().ok()});
  for (const TeamWorker& worker : workers_) {
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
  for (TeamWorker& worker : workers_) {
    GR_ASSIGN_OR_RETURN(std::vector<PeerInfo> peers, peersOf(worker.rank));
    GR_RETURN_IF_ERROR(worker.client->connectPeers(worker.rank, peers));
  }
  GR_ASSIGN_OR_RETURN(std::vector<PeerInfo> peers, peersOf(kCoordinatorRank));
  return core_->connectPeers(kCoordinatorRank, peers);
}

void WorkerTeam::end(const absl::Status& why) {
  std::vector<WorkerClient*> started;
  for (TeamWorker& worker : workers_) {
    if (pulse_ != nullptr) {
      pulse_->remove(worker.name);
    }
    if (worker.startedHere) {
      started.push_back(worker.client.get());
    }
  }
  std::vector<TeamWorker*> others;
  for (TeamWorker& worker : workers_) {
    if (!worker.startedHere && joined_.contains(worker.name)) {
      others.push_back(&worker);
    }
  }
  forEach(others, [&](TeamWorker& worker) { worker.client->leave(why).IgnoreError(); });
  core_->endJob(why);
  if (local_ != nullptr) {
    local_->stopAll(started);
  }
  local_.reset();  // calls the pulse
  pulse_.reset();
  workers_.clear();
  joined_.clear();
}

}  // namespace graphrun::runtime
