#include "runtime/worker/worker_core.h"

#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "runtime/base/clock.h"
#include "runtime/base/log.h"
#include "runtime/base/status.h"
#include "runtime/control/first_cause.h"
#include "runtime/control/limits.h"
#include "runtime/transport/inproc.h"
#include "runtime/transport/ucx.h"
#include "runtime/worker/gpu_memory_trial.h"
#include "runtime/worker/served_steps.h"
#include "runtime/worker/worker_trace.h"

namespace graphrun::runtime {
namespace {

constexpr uint64_t kExecutableCacheBytes = uint64_t{4} << 30;
constexpr uint64_t kTimingsCacheBytes = uint64_t{64} << 20;
constexpr uint64_t kCodeCacheBytes = uint64_t{256} << 20;
constexpr uint64_t kWeightCacheBytes = uint64_t{64} << 30;

LinkToken toToken(const std::string& secret) {
  LinkToken token;
  static_assert(sizeof token == kSecretBytes);
  std::memcpy(&token, secret.data(), std::min(secret.size(), sizeof token));
  return token;
}

std::string cacheFolder(const WorkerCoreOptions& options, const char* name) {
  return absl::StrCat(
      options.cacheDirectory.empty() ? defaultCacheDirectory() : options.cacheDirectory, "/", name);
}

std::string hashText(uint64_t plan) { return absl::StrFormat("%016x", plan); }

}  // namespace

WorkerCore::WorkerCore(WorkerCoreOptions options)
    : options_(std::move(options)),
      executables_(cacheFolder(options_, "executables"), kExecutableCacheBytes),
      timings_(cacheFolder(options_, "timings"), kTimingsCacheBytes),
      code_(cacheFolder(options_, "code"), kCodeCacheBytes),
      weightCache_(cacheFolder(options_, "weights"), kWeightCacheBytes),
      weights_(&weightCache_),
      loader_(options_.compiler, &executables_, &timings_, &code_),
      devices_(options_.devices != nullptr ? options_.devices
                                           : std::make_shared<DeviceSet>(options_.makeDevice)),
      name_(options_.name) {}

WorkerCore::~WorkerCore() { endJob(absl::CancelledError("the process ends")); }

absl::StatusOr<std::shared_ptr<Transport>> WorkerCore::local() {
  if (local_ == nullptr) {
    GR_ASSIGN_OR_RETURN(std::unique_ptr<Transport> made, makeInprocTransport(makeInprocHub(), 0));
    GR_RETURN_IF_ERROR(made->connect(0, made->localAddress(), LinkToken{}));
    local_ = std::move(made);
  }
  return local_;
}

absl::StatusOr<std::unique_ptr<Transport>> WorkerCore::makeNetwork(uint32_t rank) const {
  UcxOptions options;
  options.rank = rank;
  options.networkInterface = options_.networkInterface;
  return makeUcxTransport(options);
}

absl::StatusOr<std::shared_ptr<Transport>> WorkerCore::network() {
  if (network_ == nullptr) {
    absl::StatusOr<std::unique_ptr<Transport>> made = makeNetwork(0);
    if (!made.ok()) {
      return annotate(made.status(), absl::StrCat("tensor network of worker ", name_));
    }
    network_ = *std::move(made);
  }
  return network_;
}

absl::Status WorkerCore::carriesGpuMemory() {
  std::lock_guard lock(mutex_);
  if (!carriesGpuMemory_) {
    carriesGpuMemory_ = tryGpus();
  }
  return *carriesGpuMemory_;
}

/// With the first device whose memory the network's library knows: it either knows all of a kind or
/// none.
absl::Status WorkerCore::tryGpus() {
  GR_ASSIGN_OR_RETURN(std::shared_ptr<Transport> transport, network());
  absl::Status none = absl::NotFoundError("no device here has memory of its own");
  std::set<std::string> carried;
  for (const DeviceKind& kind : devices::deviceKinds()) {
    if (kind.hasOwnMemory() && transport->carries(kind.memory)) {
      carried.insert(kind.name);
    } else if (kind.hasOwnMemory()) {
      none = noGpuMemory(kind.memory);
    }
  }
  if (carried.empty()) {  // the usual case, for which no device is opened
    return none;
  }
  for (const devices::DeviceDescription& found : options_.discover()) {
    if (carried.contains(found.kind)) {
      GR_ASSIGN_OR_RETURN(std::shared_ptr<SharedDevice> gpu, devices_->get(found));
      devices::DirectTransfers* transfers = gpu->device->directTransfers();
      return transfers == nullptr
                 ? none
                 : tryGpuMemory([this](uint32_t rank) { return makeNetwork(rank); }, *transfers);
    }
  }
  return none;
}

absl::StatusOr<std::string> WorkerCore::networkAddress() {
  std::lock_guard lock(mutex_);
  GR_ASSIGN_OR_RETURN(std::shared_ptr<Transport> transport, network());
  return transport->localAddress();
}

absl::StatusOr<WorkerOffer> WorkerCore::join(const JobInfo& job) {
  WorkerOffer offer;
  offer.carriesGpuMemory = carriesGpuMemory().ok();
  std::lock_guard lock(mutex_);
  name_ = job.worker;
  setLogName(name_);
  GR_ASSIGN_OR_RETURN(std::shared_ptr<Transport> transport, network());
  offer.transportAddress = transport->localAddress();
  offer.devices = offers();
  offer.missing = devices::missingKinds();
  return offer;
}

absl::Status WorkerCore::loadPlan(uint64_t plan, std::string bytes) {
  absl::StatusOr<std::shared_ptr<const format::PlanFile>> file = format::PlanFile::parse(
      absl::MakeConstSpan(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()));
  if (!file.ok()) {
    return annotate(file.status(), absl::StrCat("plan ", hashText(plan)));
  }
  if ((*file)->hash() != plan) {
    return absl::InvalidArgumentError(
        absl::StrCat("plan ", hashText(plan), " says that it is ", hashText((*file)->hash())));
  }
  std::lock_guard lock(mutex_);
  if (plans_.contains(plan)) {
    return absl::OkStatus();
  }
  if (plans_.size() >= kMaxLoadedPlans) {
    return absl::ResourceExhaustedError(
        absl::StrCat("worker ", name_, " holds ", kMaxLoadedPlans, " plans; unload one first"));
  }
  plans_[plan].file = *std::move(file);
  return absl::OkStatus();
}

absl::StatusOr<std::vector<bool>> WorkerCore::hasWeights(uint64_t,
                                                         absl::Span<const WeightId> weights) {
  std::vector<bool> present;
  for (const WeightId& id : weights) {
    present.push_back(weights_.has(id));
  }
  return present;
}

absl::Status WorkerCore::putWeights(const WeightPiece& piece) { return weights_.put(piece); }

/// Why there is no link to a peer. Libraries tell of one that died in many ways, as of errors
/// inside as well.
absl::Status WorkerCore::linkFailure(const absl::Status& status, const std::string& peer) const {
  if (status.ok()) {
    return status;
  }
  return withFirstCause(
      absl::UnavailableError(absl::StrCat("link from worker ", name_, " to worker ", peer, ": ",
                                          status.message(), "; has its process ended?")),
      {.worker = peer});
}

absl::Status WorkerCore::connectPeers(uint32_t rank, absl::Span<const PeerInfo> peers) {
  const bool carries = carriesGpuMemory().ok();
  std::lock_guard lock(mutex_);
  GR_ASSIGN_OR_RETURN(std::shared_ptr<Transport> transport, network());
  GR_RETURN_IF_ERROR(transport->setRank(rank));
  for (const PeerInfo& peer : peers) {
    if (ranks_.contains(peer.name)) {
      continue;  // asked twice, because the first reply was lost
    }
    GR_RETURN_IF_ERROR(linkFailure(
        transport->connect(peer.rank, peer.transportAddress, toToken(peer.token)), peer.name));
    transport->namePeer(peer.rank, peer.rank == kCoordinatorRank
                                       ? std::string("the client")
                                       : absl::StrCat("worker ", peer.name));
    ranks_[peer.name] = peer.rank;
    if (peer.carriesGpuMemory && carries) {
      gpuPeers_.insert(peer.name);
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<WorkerCore::Plan> WorkerCore::find(uint64_t plan) {
  std::lock_guard lock(mutex_);
  auto found = plans_.find(plan);
  if (found == plans_.end()) {
    return absl::FailedPreconditionError(absl::StrCat(
        "worker ", name_, " has no plan ", hashText(plan), " (it holds ", plans_.size(),
        " others); coordinator and worker do not speak of the same plan"));
  }
  return found->second;
}

absl::StatusOr<PlanHome> WorkerCore::home() {
  std::lock_guard lock(mutex_);
  PlanHome home;
  home.worker = name_;
  home.loader = &loader_;
  home.weights = &weights_;
  home.states = &states_;
  GR_ASSIGN_OR_RETURN(home.local, local());
  home.network = network_;
  home.ranks = ranks_;
  home.gpuPeers = gpuPeers_;
  home.carriesGpuMemory = carriesGpuMemory_.value_or(absl::OkStatus());
  home.cancelled = &cancelled_;
  home.device = [this](devices::DeviceDescription description) {
    if (description.cores.empty() && description.threads == 0) {
      description.threads = options_.threads;
    }
    return devices_->get(description);
  };
  return home;
}

absl::StatusOr<std::vector<std::string>> WorkerCore::newCommunicatorIds(
    uint64_t plan, absl::Span<const uint32_t> communicators) {
  GR_ASSIGN_OR_RETURN(Plan entry, find(plan));
  GR_ASSIGN_OR_RETURN(PlanHome where, home());
  std::vector<std::string> communicatorIds;
  communicatorIds.reserve(communicators.size());
  for (uint32_t communicator : communicators) {
    GR_ASSIGN_OR_RETURN(communicatorIds.emplace_back(),
                        LoadedPlan::newCommunicatorId(*entry.file, where, communicator));
  }
  return communicatorIds;
}

absl::StatusOr<std::vector<DeviceReport>> WorkerCore::preparePlan(
    uint64_t plan, uint64_t tuneNanos, absl::Span<const CommunicatorId> communicatorIds) {
  const int64_t begin = nowNanos();
  GR_ASSIGN_OR_RETURN(Plan entry, find(plan));
  cancelled_.store(false);
  if (entry.loaded == nullptr) {
    GR_ASSIGN_OR_RETURN(PlanHome where, home());
    where.tuneNanos = tuneNanos;
    for (const CommunicatorId& communicatorId : communicatorIds) {
      where.communicatorIds[communicatorId.communicator] = communicatorId.data;
    }
    // Whoever asked is told by us, before their own patience ends.
    where.deadlineNanos = begin + std::chrono::nanoseconds(kPrepareTimeout - kCallTimeout).count();
    GR_ASSIGN_OR_RETURN(entry.loaded, LoadedPlan::load(entry.file, where));
    std::lock_guard lock(mutex_);
    auto found = plans_.find(plan);
    if (found == plans_.end()) {
      return absl::CancelledError("the plan was unloaded while it was prepared");
    }
    found->second.loaded = entry.loaded;
    log(LogLevel::kInfo, absl::StrFormat("plan %s is ready after %.1f ms", hashText(plan),
                                         static_cast<double>(nowNanos() - begin) / 1e6));
  }
  return entry.loaded->reports();
}

absl::StatusOr<std::shared_ptr<LoadedPlan>> WorkerCore::prepared(uint64_t plan) {
  GR_ASSIGN_OR_RETURN(Plan entry, find(plan));
  if (entry.loaded == nullptr) {
    return absl::FailedPreconditionError(
        absl::StrCat("plan ", hashText(plan), " is loaded but not prepared"));
  }
  return entry.loaded;
}

// A cancellation comes again as long as this runs: one that came before the flag was reset is not
// lost.
absl::Status WorkerCore::serveSteps(uint64_t run) {
  stopServing_.store(false);
  GR_ASSIGN_OR_RETURN(std::shared_ptr<Transport> transport, linked());
  GR_ASSIGN_OR_RETURN(std::unique_ptr<StepServer> line, StepServer::open(transport, run));
  const WaitOptions untilStopped{std::numeric_limits<int64_t>::max(), &stopServing_};
  ServedSteps steps([this](uint64_t plan) { return prepared(plan); }, line.get(), &steps_);
  return steps.serve(untilStopped);
}

absl::StatusOr<std::unique_ptr<StepStarter>> WorkerCore::openLine(uint32_t rank, uint64_t run) {
  GR_ASSIGN_OR_RETURN(std::shared_ptr<Transport> transport, linked());
  return StepStarter::open(std::move(transport), rank, run);
}

absl::Status WorkerCore::waitForNetwork(absl::FunctionRef<bool()> ready,
                                        const WaitOptions& options) {
  GR_ASSIGN_OR_RETURN(std::shared_ptr<Transport> transport, linked());
  return transport->wait(ready, options);
}

uint64_t WorkerCore::idleNanos() {
  absl::StatusOr<std::shared_ptr<Transport>> transport = linked();
  return transport.ok() ? (*transport)->stats().idleNanos : 0;
}

void WorkerCore::wakeNetwork() {
  if (absl::StatusOr<std::shared_ptr<Transport>> transport = linked(); transport.ok()) {
    (*transport)->wakeWaiters();
  }
}

/// The tensor network, once peers are linked by it.
absl::StatusOr<std::shared_ptr<Transport>> WorkerCore::linked() {
  std::lock_guard lock(mutex_);
  if (network_ == nullptr) {
    return absl::FailedPreconditionError(
        absl::StrCat("worker ", name_, " has no links to others; connect the peers first"));
  }
  return network_;
}

std::vector<std::shared_ptr<LoadedPlan>> WorkerCore::loadedPlans() {
  std::lock_guard lock(mutex_);
  std::vector<std::shared_ptr<LoadedPlan>> loaded;
  for (const auto& [hash, plan] : plans_) {
    if (plan.loaded != nullptr) {
      loaded.push_back(plan.loaded);
    }
  }
  return loaded;
}

void WorkerCore::cancel(const absl::Status& cause) {
  cancelled_.store(true);
  for (const auto& plan : loadedPlans()) {
    plan->cancel(cause);
  }
  stopServing_.store(true);
  wakeNetwork();
}

absl::Status WorkerCore::unloadPlan(uint64_t plan) {
  Plan dropped;  // ends outside the lock
  std::lock_guard lock(mutex_);
  if (auto found = plans_.find(plan); found != plans_.end()) {
    dropped = std::move(found->second);
    plans_.erase(found);
  }
  return absl::OkStatus();
}

void WorkerCore::endJob(const absl::Status& why) {
  cancel(why);
  std::map<uint64_t, Plan> plans;
  std::shared_ptr<Transport> network;
  {
    std::lock_guard lock(mutex_);
    plans.swap(plans_);
    network = std::move(network_);
    ranks_.clear();
    gpuPeers_.clear();
  }
  weights_.endJob();
  if (network != nullptr) {
    network->leave();  // the peers end the job too, and some are sooner done with it
  }
  plans.clear();  // before the network, which they have edges on
  states_.clear();
}

void WorkerCore::markPeerFailed(uint32_t rank, const absl::Status& cause) {
  std::lock_guard lock(mutex_);
  if (network_ != nullptr) {
    network_->markPeerFailed(rank, cause);
  }
}

absl::Status WorkerCore::shutdown() {
  {
    std::lock_guard lock(shutMutex_);
    shutdown_ = true;
  }
  shut_.notify_all();
  return absl::OkStatus();
}

void WorkerCore::waitShutdown() {
  std::unique_lock lock(shutMutex_);
  shut_.wait(lock, [this] { return shutdown_; });
}

absl::StatusOr<std::string> WorkerCore::metrics() {
  nlohmann::json plans = nlohmann::json::array();
  for (const auto& plan : loadedPlans()) {
    nlohmann::json devices = nlohmann::json::array();
    for (const DeviceReport& report : plan->reports()) {
      devices.push_back({{"device", report.device}, {"bytes", report.peakBytes}});
    }
    plans.push_back({{"hash", hashText(plan->plan().hash())}, {"devices", devices}});
  }
  std::lock_guard lock(mutex_);
  nlohmann::json all = {{"worker", name_}, {"steps", steps_.load()}, {"plans", plans}};
  if (network_ != nullptr) {
    TransportStats stats = network_->stats();
    all["network"] = {{"open_edges", stats.openEdges},
                      {"retired_edges", stats.retiredEdges},
                      {"dropped_messages", stats.droppedMessages}};
  }
  return all.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

absl::StatusOr<std::string> WorkerCore::trace() {
  std::vector<TraceStream> streams;
  for (const auto& plan : loadedPlans()) {
    for (TraceStream& stream : plan->trace()) {
      streams.push_back(std::move(stream));
    }
  }
  return writeWorkerTrace(streams);
}

}  // namespace graphrun::runtime
