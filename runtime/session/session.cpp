#include "runtime/session/session.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "devices/device.h"
#include "runtime/base/cgroup.h"
#include "runtime/base/clock.h"
#include "runtime/base/log.h"
#include "runtime/base/status.h"
#include "runtime/compiler_loader/compiler_api.h"
#include "runtime/control/address.h"
#include "runtime/control/first_cause.h"
#include "runtime/format/weight_table.h"
#include "runtime/session/active_plans.h"
#include "runtime/session/coordinator.h"
#include "runtime/session/error_domain.h"
#include "runtime/session/fall_back.h"
#include "runtime/session/flights.h"
#include "runtime/session/model_source.h"
#include "runtime/session/own_devices.h"
#include "runtime/session/plan_source.h"
#include "runtime/session/profile_recorder.h"
#include "runtime/session/progress.h"
#include "runtime/session/run_queue.h"
#include "runtime/session/split_trial.h"
#include "runtime/session/stage_input.h"
#include "runtime/session/strings.h"
#include "runtime/session/worker_program.h"

namespace graphrun::runtime {
namespace {

constexpr uint64_t kModelCacheBytes = uint64_t{32} << 30;
constexpr uint64_t kPlanCacheBytes = uint64_t{1} << 30;
constexpr uint64_t kCostCacheBytes = uint64_t{256} << 20;

uint64_t since(int64_t begin) { return static_cast<uint64_t>(nowNanos() - begin); }

std::string folder(const SessionOptions& options, const char* name) {
  return absl::StrCat(
      options.cacheDirectory.empty() ? defaultCacheDirectory() : options.cacheDirectory, "/", name);
}

/// With as many threads as the environment wishes, where that is fewer than there may be and the
/// caller says nothing.
SessionOptions withThreads(SessionOptions options) {
  options.threads = options.threads != 0 ? options.threads : fewerThreads();
  return options;
}

/// Returns how a worker that is started here is told to say as much as this process.
const char* verbosityOption() {
  switch (logThreshold()) {
    case LogLevel::kDebug:
      return "-vv";
    case LogLevel::kInfo:
      return "-v";
    case LogLevel::kWarning:
      return "";
    case LogLevel::kError:
      return "-q";
  }
  return "";
}

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

/// Returns what is asked of devices that only cluster.yaml gives: what carries out collectives
/// between them, and what a CPU that is not this machine's computes well.
std::vector<DeviceOffer> traitsOf(const GivenWorker& worker, std::vector<DeviceOffer> offers) {
  std::erase_if(offers, [&](const DeviceOffer& offer) {
    return offer.collectives.empty() && (worker.isLocal() || offer.kind != kHostKind);
  });
  for (DeviceOffer& offer : offers) {
    offer.cores.clear();
    offer.memoryBytes = 0;
  }
  return offers;
}

/// Returns whether the cluster file itself names devices that might carry out collectives.
bool mayHaveCollectives(const ClusterFile& cluster) {
  size_t able = 0;
  for (const GivenWorker& worker : cluster.processes()) {
    able += static_cast<size_t>(std::count_if(
        worker.devices.begin(), worker.devices.end(),
        [](const GivenDevice& device) { return devices::kindNamed(device.kind).collectives; }));
  }
  return able > 1;
}

/// Hands out what a stage made for SessionOptions::dumped.
void tellDumps(const SessionOptions& options, absl::Span<const StageInput> made) {
  for (const StageInput& value : made) {
    absl::string_view name = value.name;
    if (absl::ConsumePrefix(&name, GR_DUMP_PREFIX) && options.dumped) {
      options.dumped(std::string(name), *value.tensor);
    }
  }
}

absl::Status checkOptions(const SessionOptions& options) {
  if (options.stepTimeout >= Millis{0} && options.stepTimeout <= kMaxStepTimeout) {
    return absl::OkStatus();
  }
  return inDomain(absl::InvalidArgumentError(absl::StrCat("a run may take 0 (an hour) to ",
                                                          kMaxStepTimeout.count(), " ms, got ",
                                                          options.stepTimeout.count(), " ms")),
                  ErrorDomain::kInput);
}

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

}  // namespace

struct Session::Impl {
  explicit Impl(const SessionOptions& given)
      : options(withThreads(given)),
        models(folder(given, "models"), kModelCacheBytes),
        planCache(folder(given, "plans"), kPlanCacheBytes),
        costCache(folder(given, "costs"), kCostCacheBytes),
        compiler(given.compiler != nullptr ? given.compiler : &loader),
        planSource(compiler, &planCache),
        progress(given.progress) {}

  /// `called`: what messages call the model.
  absl::Status open(const std::string& modelPath, const std::string& called);
  WorkerCoreOptions coreOptions() const;
  std::string networkInterface() const;
  CoordinatorOptions coordinatorOptions();
  absl::StatusOr<std::vector<NamedSpec>> inOrder(absl::Span<const NamedSpec> inputs) const;
  absl::StatusOr<std::map<std::string, std::vector<DeviceOffer>>> foundDevices(bool run);
  absl::StatusOr<FoundPlan> findPlan(const Remainder* stage, absl::Span<const PlannedInput> inputs,
                                     PlanWishes wishes = {});
  /// Returns whether there is nothing to choose between.
  bool hasOneDevice() const { return cluster == nullptr && own.size() <= 1; }
  /// Fails when a plan was found without the elements of an input.
  absl::Status checkPlaceable(const FoundPlan& found) const;
  absl::StatusOr<ActivePlan*> planFor(size_t number, const Remainder* stage,
                                      std::vector<PlannedInput> inputs,
                                      absl::Span<const StageInput> values);
  absl::StatusOr<ActivePlan*> loadWithin(size_t number, const Remainder* stage,
                                         absl::Span<const PlannedInput> inputs,
                                         const std::string& signature, FoundPlan found);
  absl::StatusOr<ActivePlan*> improve(ActivePlan& plan, const Remainder* stage,
                                      absl::Span<const PlannedInput> inputs,
                                      absl::Span<const StageInput> values);
  absl::StatusOr<ActivePlan*> trySplitPlan(ActivePlan& plan, uint64_t tuneNanos,
                                           const Remainder* stage,
                                           absl::Span<const PlannedInput> inputs,
                                           absl::Span<const StageInput> values);
  absl::StatusOr<ActivePlan*> judgePlan(ActivePlan& plan, const Remainder* stage,
                                        absl::Span<const PlannedInput> planned);
  absl::StatusOr<ActivePlan*> replace(ActivePlan& plan, FoundPlan better);
  void notePlan(const ActivePlan& plan);
  void noteLoad(const ActivePlan& plan);
  void notePrepared(int64_t begin);
  std::vector<TraceProcess> tracesOf(const ActivePlan& plan);
  void learn(const ActivePlan& plan);
  void learnAll();
  absl::Status run(const std::vector<StageInput>& given, std::vector<NamedTensor>& results,
                   RunQueue::Begun begun);
  absl::StatusOr<TensorMap> runByName(const TensorMap& given, RunQueue::Begun begun);
  absl::Status runStages(std::vector<StageInput> values, std::vector<NamedTensor>& results);
  /// Runs a step whose inputs and outputs are bound.
  using Execute = absl::FunctionRef<absl::Status(ActivePlan& plan)>;
  absl::Status runStage(ActivePlan& plan, size_t lane, absl::Span<const StageInput> values,
                        std::vector<NamedTensor>& results, std::vector<StageInput>& made,
                        Execute execute);
  absl::Status runAlone(ActivePlan& plan, Millis timeout);
  absl::Status runOrdered(std::vector<StageInput> values, std::vector<NamedTensor>& results,
                          Flights::Lock& lock, RunQueue::Begun begun);
  ActivePlan* planInFlight(absl::Span<const StageInput> values);
  bool mayTrySplit(const ActivePlan& plan, absl::Span<const StageInput> values) const;
  bool mayImprove(const ActivePlan& plan) const;
  bool isForMany(const ActivePlan& plan) const;
  uint64_t tuneNanos() const {
    return static_cast<uint64_t>(std::chrono::nanoseconds(options.tuneBudget).count());
  }
  std::optional<absl::Status> fly(ActivePlan& plan, size_t lane,
                                  absl::Span<const StageInput> values,
                                  std::vector<NamedTensor>& results, Flights::Lock& lock,
                                  RunQueue::Begun begun);
  void noteFailure(ActivePlan& plan);
  void noteStep(ActivePlan& plan, int64_t begin, bool ok);
  Flights::Lock alone();
  Millis timeout() const {
    return options.stepTimeout.count() > 0 ? options.stepTimeout : kStepTimeout;
  }

  const SessionOptions options;
  CompilerLoader loader;
  DiskCache models;
  DiskCache planCache;
  DiskCache costCache;
  Compiler* compiler;
  PlanSource planSource;
  ProgressReport progress;
  std::string name;  // the path that the user gave, or the graph's name, for messages
  std::optional<MemoryFile> inMemory;
  OpenModel model;
  std::vector<ModelPort> inputs;
  std::vector<ModelPort> outputs;
  std::unique_ptr<ClusterFile> cluster;  // null: this machine alone
  std::vector<DeviceOffer> own;          // what that has, once a plan was asked for
  std::unique_ptr<ProfileRecorder> costs;
  std::unique_ptr<WorkerCore> core;
  std::unique_ptr<Coordinator> coordinator;
  std::unique_ptr<ActivePlans>
      plans;  // goes before the coordinator and with it their edges' network
  std::mutex mutex;
  Flights flights;
  // Inputs whose elements decide shapes, by the signature without them.
  std::map<std::string, std::vector<std::string>> deciding;
  std::vector<TraceProcess> failed;  // what a run did that failed
  std::vector<std::string> failedEdges;
  mutable std::mutex statsMutex;
  SessionStats stats;
  std::set<std::string> noted;  // notes of plans that the user was told
  std::unique_ptr<RunQueue> queue = std::make_unique<RunQueue>(
      [this](const TensorMap& given, RunQueue::Begun begun) { return runByName(given, begun); },
      options.maxWaitingRuns);
};

absl::Status Session::Impl::open(const std::string& modelPath, const std::string& called) {
  GR_RETURN_IF_ERROR(checkOptions(options));
  const int64_t begin = nowNanos();
  name = called;
  {
    const ProgressReport::Busy busy(progress, absl::StrCat("reading ", called));
    GR_ASSIGN_OR_RETURN(model, openModel(modelPath, *compiler, models));
  }
  inputs = inputPorts(model.model->graph());
  outputs = outputPorts(model.model->graph());
  if (!options.cluster.empty()) {
    absl::StatusOr<ClusterFile> file = readClusterFile(options.cluster, devices::deviceKinds());
    if (!file.ok()) {
      return inDomain(file.status(), ErrorDomain::kModel);
    }
    cluster = std::make_unique<ClusterFile>(*std::move(file));
  }
  costs = std::make_unique<ProfileRecorder>(cluster.get(), options.threads, &costCache);
  core = std::make_unique<WorkerCore>(coreOptions());
  core->addModel(model.model);
  coordinator = std::make_unique<Coordinator>(coordinatorOptions(), core.get());
  plans = std::make_unique<ActivePlans>(options, *coordinator, *core, progress);
  stats.imported = model.imported;
  stats.openNanos = since(begin);
  return absl::OkStatus();
}

std::string Session::Impl::networkInterface() const {
  return !options.networkInterface.empty() || cluster == nullptr
             ? options.networkInterface
             : interfacesFor(cluster->processes());
}

WorkerCoreOptions Session::Impl::coreOptions() const {
  WorkerCoreOptions core;
  core.name = kClientName;
  core.compiler = compiler;
  core.cacheDirectory = options.cacheDirectory;
  core.threads = options.threads;
  core.networkInterface = networkInterface();
  core.devices = options.devices;
  if (options.makeDevice) {
    core.makeDevice = options.makeDevice;
  }
  return core;
}

CoordinatorOptions Session::Impl::coordinatorOptions() {
  CoordinatorOptions coordinator;
  if (cluster != nullptr) {
    coordinator.workers = cluster->processes();
    if (const std::optional<GivenSecurity>& files = cluster->description.security) {
      coordinator.security = {files->ca, files->cert, files->key};
    }
  }
  coordinator.workerCommand =
      options.workerCommand.empty() ? findWorkerCommand() : options.workerCommand;
  coordinator.workerArguments = {"--weights-from", model.path};
  if (const char* option = verbosityOption(); *option != '\0') {
    coordinator.workerArguments.emplace_back(option);
  }
  coordinator.progress = &progress;
  coordinator.joinTimeout = options.joinTimeout;
  return coordinator;
}

/// `inputs` in the model's order, checked.
absl::StatusOr<std::vector<NamedSpec>> Session::Impl::inOrder(
    absl::Span<const NamedSpec> given) const {
  GR_RETURN_IF_ERROR(checkInputs(inputs, given));
  std::vector<NamedSpec> ordered;
  for (const ModelPort& port : inputs) {
    for (const NamedSpec& input : given) {
      if (input.name == port.name || isInList(port, input.name)) {
        ordered.push_back(input);
      }
    }
  }
  return ordered;
}

/// Devices of workers for which cluster.yaml gives none; without a cluster, those of this process.
/// Of the others what devices carry out together and which instructions they have: of workers that
/// were reached, and to `run` on several GPUs, or where others have started them, they have to be.
absl::StatusOr<std::map<std::string, std::vector<DeviceOffer>>> Session::Impl::foundDevices(
    bool run) {
  std::map<std::string, std::vector<DeviceOffer>> found;
  if (cluster == nullptr) {
    if (own.empty()) {
      own = core->offers();
    }
    if (own.empty()) {
      return inDomain(
          absl::FailedPreconditionError(absl::StrCat("this machine has no device to run on: ",
                                                     absl::StrJoin(devices::missingKinds(), "; "))),
          ErrorDomain::kInput);
    }
    GR_RETURN_IF_ERROR(checkNamedHardware(options, own));
    found[kClientName] = own;
    return found;
  }
  if (run) {
    GR_RETURN_IF_ERROR(checkOwnCores(cluster->description));  // before anything is started
  }
  const bool isAsked = run && mayHaveCollectives(*cluster);
  for (const GivenWorker& worker : cluster->processes()) {
    if (!worker.devicesGiven || isAsked || (run && !worker.isLocal())) {
      GR_RETURN_IF_ERROR(coordinator->start());
    }
    const auto joined = coordinator->joined().find(worker.name);
    if (joined != coordinator->joined().end()) {
      const std::vector<DeviceOffer>& offers = joined->second.offer.devices;
      found[worker.name] = worker.devicesGiven ? traitsOf(worker, offers) : offers;
    }
  }
  return found;
}

absl::StatusOr<FoundPlan> Session::Impl::findPlan(const Remainder* stage,
                                                  absl::Span<const PlannedInput> planned,
                                                  PlanWishes wishes) {
  const int64_t begin = nowNanos();
  GR_ASSIGN_OR_RETURN(auto devices, foundDevices(wishes.runs && wishes.explain == nullptr));
  if (absl::Status same = model.model->checkUnchanged(); !same.ok()) {
    return inDomain(same, ErrorDomain::kModel);
  }
  const ProgressReport::Busy busy(progress, "planning", options.planBudget);
  GR_ASSIGN_OR_RETURN(FoundPlan found,
                      planSource.find(*model.model, model.model->bytes(), name,
                                      planRequest(options, cluster.get(), stage, planned, devices),
                                      *costs, wishes));
  std::lock_guard lock(statsMutex);
  stats.lastPlanNanos = since(begin);
  if (found.neededInputs.empty()) {
    ++(found.fromDisk ? stats.planDiskHits : stats.plansMade);
  }
  for (const std::string& note : found.notes) {
    if (noted.size() < kMaxNotes && noted.insert(note).second) {
      log(LogLevel::kWarning, absl::StrCat("model '", name, "': ", note));
    }
  }
  return found;
}

absl::Status Session::Impl::checkPlaceable(const FoundPlan& found) const {
  if (found.neededInputs.empty()) {
    return absl::OkStatus();
  }
  return inDomain(absl::InvalidArgumentError(absl::StrCat(
                      "model '", name, "': shapes depend on the elements of input '",
                      absl::StrJoin(found.neededInputs, "', '"),
                      "', so there is no one placement; run it instead, with --report")),
                  ErrorDomain::kInput);
}

/// The plan is now the last one.
void Session::Impl::notePlan(const ActivePlan& plan) {
  std::lock_guard lock(statsMutex);
  stats.devices = plan.devices;
  stats.predictedStepNanos = plan.found.plan->plan().predicted_step_ns();
  stats.predictedPeriodNanos =
      plan.own->mostLanes() > 1 ? plan.found.plan->plan().predicted_period_ns() : 0;
}

/// A run's stage is about to begin, which has been made ready for since `begin`.
void Session::Impl::notePrepared(int64_t begin) {
  std::lock_guard lock(statsMutex);
  stats.preparedNanos += since(begin);
}

void Session::Impl::noteLoad(const ActivePlan& plan) {
  notePlan(plan);
  std::lock_guard lock(statsMutex);
  stats.plansEvicted = plans->evicted();
  stats.lastLoadNanos = plan.loadNanos;
}

/// The plan for the stage with this number, loaded. `values` give elements when the planner needs
/// some; null when it does and there are none.
absl::StatusOr<ActivePlan*> Session::Impl::planFor(size_t number, const Remainder* stage,
                                                   std::vector<PlannedInput> planned,
                                                   absl::Span<const StageInput> values) {
  if (!options.whatIf.empty()) {
    return inDomain(absl::FailedPreconditionError(
                        "a cluster with hypothetical devices or links runs nothing; explain it"),
                    ErrorDomain::kPlacement);
  }
  for (;;) {
    std::string signature = signatureOf(stage, planned);
    if (ActivePlan* plan = plans->find(signature)) {
      {
        std::lock_guard lock(statsMutex);
        ++stats.planHits;
      }
      return improve(*plan, stage, planned, values);
    }
    auto remembered = deciding.find(signature);
    if (remembered == deciding.end()) {
      GR_ASSIGN_OR_RETURN(FoundPlan found, findPlan(stage, planned));
      if (found.neededInputs.empty()) {
        GR_ASSIGN_OR_RETURN(ActivePlan * plan,
                            loadWithin(number, stage, planned, signature, std::move(found)));
        noteLoad(*plan);
        std::lock_guard lock(statsMutex);
        ++stats.plansLoaded;
        return plan;
      }
      if (deciding.size() >= kMaxRemembered) {
        deciding.clear();
      }
      remembered = deciding.emplace(signature, std::move(found.neededInputs)).first;
    }
    if (values.empty()) {
      return nullptr;
    }
    GR_RETURN_IF_ERROR(addElements(remembered->second, values, planned));
  }
}

/// Loads a plan; where it needs more memory than was predicted, one that was made to use less of
/// the limits.
absl::StatusOr<ActivePlan*> Session::Impl::loadWithin(size_t number, const Remainder* stage,
                                                      absl::Span<const PlannedInput> planned,
                                                      const std::string& signature,
                                                      FoundPlan found) {
  absl::StatusOr<ActivePlan*> loaded = plans->load(number, signature, std::move(found));
  for (float share : kMemoryShares) {
    if (!isDeviceTooSmall(loaded.status())) {
      break;
    }
    absl::StatusOr<FoundPlan> smaller =
        findPlan(stage, planned, {.anew = true, .memoryShare = share});
    if (!smaller.ok()) {
      break;
    }
    loaded = plans->load(number, signature, *std::move(smaller));
  }
  return loaded;
}

/// Returns whether it is due to try the plan on split devices.
bool Session::Impl::mayTrySplit(const ActivePlan& plan, absl::Span<const StageInput> values) const {
  return !values.empty() && isTrialDue(plan, tuneNanos());
}

/// Returns whether what counts is how often steps of the plan end.
bool Session::Impl::isForMany(const ActivePlan& plan) const {
  return options.objective == Objective::kThroughput && plan.own->mostLanes() > 1;
}

/// Returns whether it is due to look for a better placement, or to judge the plan by its runs.
/// Those that come one by one say nothing of many that follow each other.
bool Session::Impl::mayImprove(const ActivePlan& plan) const {
  if ((plan.settled && plan.judged) || hasOneDevice()) {
    return false;
  }
  return haveRunsSettled(plan, isForMany(plan));
}

/// The plan itself, or in its place one with a better placement: after some runs of a plan that was
/// placed by guessed times it is known what its parts take, and the search is done again. Once;
/// after that runs tell whether it is better than one device.
absl::StatusOr<ActivePlan*> Session::Impl::improve(ActivePlan& plan, const Remainder* stage,
                                                   absl::Span<const PlannedInput> planned,
                                                   absl::Span<const StageInput> values) {
  if (mayTrySplit(plan, values)) {
    return trySplitPlan(plan, tuneNanos(), stage, planned, values);
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
  absl::StatusOr<FoundPlan> found = findPlan(stage, planned, {.anew = true});
  if (!found.ok()) {  // what was measured, memory above all, may leave no placement: this one runs
    log(LogLevel::kWarning,
        absl::StrCat("model '", name, "': the plan stays as it is: ", found.status().message()));
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
absl::StatusOr<ActivePlan*> Session::Impl::judgePlan(ActivePlan& plan, const Remainder* stage,
                                                     absl::Span<const PlannedInput> planned) {
  const bool isAuto = options.strategy.empty() || options.strategy == "auto";
  if (!isAuto || !options.from.empty() || options.split > 1) {
    plan.judged = true;  // as the user wants it
    return &plan;
  }
  return judge(plan,
               {[&] { return findPlan(stage, planned, {.anew = true, .single = true}); },
                [&](const FoundPlan& found) { planSource.keep(found); },
                [&](const ActivePlan& run) { learn(run); },
                [&](ActivePlan& old, FoundPlan better) { return replace(old, std::move(better)); },
                [&](const FoundPlan& found, uint64_t ns) { planSource.rememberSingle(found, ns); },
                [&](const FoundPlan& found) { return planSource.rememberedSingle(found); },
                isForMany(plan)});
}

/// Loads a better plan in the place of one; where that fails, the old one again.
absl::StatusOr<ActivePlan*> Session::Impl::replace(ActivePlan& plan, FoundPlan better) {
  size_t number = plan.stage;
  std::string signature = plan.signature;
  FoundPlan old = plan.found;
  plans->drop(plan);
  absl::StatusOr<ActivePlan*> loaded = plans->load(number, signature, std::move(better));
  if (!loaded.ok()) {
    log(LogLevel::kWarning, absl::StrCat("model '", name, "': the better plan cannot be loaded: ",
                                         loaded.status().message()));
    loaded = plans->load(number, std::move(signature), std::move(old));
  }
  GR_RETURN_IF_ERROR(loaded.status());
  (*loaded)->settled = true;
  noteLoad(**loaded);
  return loaded;
}

/// The plan itself or one on split devices, whichever runs faster; see split_trial.h.
absl::StatusOr<ActivePlan*> Session::Impl::trySplitPlan(ActivePlan& plan, uint64_t tuneNanos,
                                                        const Remainder* stage,
                                                        absl::Span<const PlannedInput> planned,
                                                        absl::Span<const StageInput> values) {
  TrialSession session{
      [&](SplitWish split) { return findPlan(stage, planned, {.anew = true, .split = split}); },
      [&](const FoundPlan& found) { planSource.keep(found); },
      [&](ActivePlan& tried) {
        std::vector<NamedTensor> results;
        std::vector<StageInput> made;
        return runStage(tried, 0, values, results, made,
                        [this](ActivePlan& one) { return runAlone(one, timeout()); });
      },
      [&](const ActivePlan& tried) { learn(tried); }};
  GR_ASSIGN_OR_RETURN(ActivePlan * best, trySplit(plan, *plans, tuneNanos, session));
  noteLoad(*best);
  return best;
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

/// Returns the last events of the plan, on all workers.
std::vector<TraceProcess> Session::Impl::tracesOf(const ActivePlan& plan) {
  std::vector<TraceProcess> processes = {{kClientName, 0, plan.own->trace()}};
  if (plan.found.plan->workerCount() > 1) {
    for (TraceProcess& process : coordinator->traces()) {
      processes.push_back(std::move(process));
    }
  }
  return processes;
}

/// Keeps what the plan's runs took, unless kernels were still to be chosen.
void Session::Impl::learn(const ActivePlan& plan) {
  bool isChosen = plan.isTuned() || plan.tuneNanos > 0 || options.tuneBudget.count() == 0;
  if (options.learnCosts && isChosen && plan.lastRuns.size() >= ProfileRecorder::kFewestSteps &&
      !plan.own->broken()) {
    costs->learn(plan, tracesOf(plan));
  }
}

void Session::Impl::learnAll() {
  if (coordinator == nullptr || !coordinator->lost().ok()) {
    return;
  }
  for (const ActivePlan& plan : plans->all()) {
    learn(plan);
  }
}

/// Runs a plan once. Outputs of the model go to `results`, what only later stages read to `made`.
absl::Status Session::Impl::runStage(ActivePlan& plan, size_t lane,
                                     absl::Span<const StageInput> values,
                                     std::vector<NamedTensor>& results,
                                     std::vector<StageInput>& made, Execute execute) {
  for (const auto& [output, endpoint] : plan.own->outputs()) {
    if (std::any_of(outputs.begin(), outputs.end(),
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

/// Runs stage after stage: each plan leaves what is to do with the values that it made.
absl::Status Session::Impl::runStages(std::vector<StageInput> values,
                                      std::vector<NamedTensor>& results) {
  std::shared_ptr<const Remainder> stage;
  size_t number = 0;
  std::optional<int64_t> began;  // the first stage; plans of the others are part of the run
  do {
    const int64_t begin = nowNanos();
    GR_ASSIGN_OR_RETURN(ActivePlan * plan,
                        planFor(number++, stage.get(), plannedInputs(values), values));
    GR_ASSIGN_OR_RETURN(bool tuned, plans->tuneIfDue(*plan));
    if (tuned) {
      noteLoad(*plan);
    }
    notePrepared(begin);
    began = began.value_or(nowNanos());
    absl::StatusOr<Millis> left = timeLeft(timeout(), *began, number - 1);
    std::vector<StageInput> made;
    absl::Status status = left.ok()
                              ? runStage(*plan, 0, values, results, made,
                                         [&](ActivePlan& one) { return runAlone(one, *left); })
                              : left.status();
    if (!status.ok()) {
      noteFailure(*plan);
      return inDomain(status, ErrorDomain::kRun);
    }
    tellDumps(options, made);
    stage = plan->found.remainder;
    GR_ASSIGN_OR_RETURN(values, stageInputs(plan->found.remainderInputs, made, results, values));
  } while (stage != nullptr);
  return absl::OkStatus();
}

absl::Status Session::Impl::runAlone(ActivePlan& plan, Millis timeout) {
  const int64_t begin = nowNanos();
  absl::Status status = coordinator->run(plan.own, plan.nextStep++, timeout);
  noteStep(plan, begin, status.ok());
  return status;
}

void Session::Impl::noteStep(ActivePlan& plan, int64_t begin, bool ok) {
  plan.noteRun(begin);
  plan.clientTime.noteRun(plan.lastRuns.back().beside, [this] {
    const uint64_t idle = core->idleNanos();
    return std::max(processNanos(), idle) - idle;
  });
  notePlan(plan);
  if (const auto* edges = plan.found.plan->plan().edges(); edges != nullptr && ok) {
    std::lock_guard lock(statsMutex);
    stats.transfers += edges->size();
  }
}

/// A run of the plan failed, and nothing is in flight.
void Session::Impl::noteFailure(ActivePlan& plan) {
  if (options.traceFailures) {
    failed = tracesOf(plan);
    failedEdges = edgeNames(plan);
  }
  if (plan.own->broken() && coordinator->lost().ok()) {
    plans->drop(plan);  // the next run loads it again
  }
}

/// The session's mutex, once no run is in flight.
Flights::Lock Session::Impl::alone() {
  Flights::Lock lock(mutex);
  flights.waitAlone(lock);
  return lock;
}

/// The plan for `values` if it is loaded, nothing is due before its next run, and its runs may be
/// in flight beside each other.
ActivePlan* Session::Impl::planInFlight(absl::Span<const StageInput> values) {
  const ActivePlan* last = plans->last();
  if (last == nullptr || last->own->mostLanes() == 1 || !options.dumps.empty()) {
    return nullptr;
  }
  ActivePlan* plan = plans->find(signatureOf(nullptr, plannedInputs(values)));
  bool isReady = plan != nullptr && plan->own->mostLanes() > 1 && !plan->own->broken() &&
                 plan->found.remainder == nullptr && !mayTrySplit(*plan, values) &&
                 !mayImprove(*plan) && !plans->isTuneDue(*plan);
  return isReady ? plan : nullptr;
}

/// Runs the model once with its inputs in their order, in flight beside other runs where the plan
/// allows that, else alone. `begun` is told in the first case, when its step has its number.
absl::Status Session::Impl::runOrdered(std::vector<StageInput> values,
                                       std::vector<NamedTensor>& results, Flights::Lock& lock,
                                       RunQueue::Begun begun) {
  while (ActivePlan* plan = planInFlight(values)) {
    if (std::optional<size_t> lane = flights.take(*plan)) {
      std::optional<absl::Status> status = fly(*plan, *lane, values, results, lock, begun);
      if (status.has_value()) {
        return *status;
      }
    } else if (flights.wantsLanes(*plan)) {
      flights.waitAlone(lock);
      if (plan == planInFlight(values)) {
        GR_RETURN_IF_ERROR(plan->own->openLanes(plan->nextStep));
      }
    } else {
      flights.wait(lock, *plan);
    }
  }
  flights.waitAlone(lock);
  GR_RETURN_IF_ERROR(runStages(std::move(values), results));
  failed.clear();
  return absl::OkStatus();
}

/// Runs a step on a lane that was taken for it, and lets go of the mutex meanwhile. Nothing where
/// the plan broke before the step began: it has to be loaded again first.
std::optional<absl::Status> Session::Impl::fly(ActivePlan& plan, size_t lane,
                                               absl::Span<const StageInput> values,
                                               std::vector<NamedTensor>& results,
                                               Flights::Lock& lock, RunQueue::Begun begun) {
  const size_t given = results.size();
  {
    std::lock_guard statsLock(statsMutex);
    ++stats.planHits;
  }
  lock.unlock();
  std::optional<int64_t> begin;
  auto execute = [&](ActivePlan& one) -> absl::Status {
    lock.lock();
    absl::StatusOr<Coordinator::Flight> flight =
        coordinator->begin(one.own, one.nextStep++, timeout());
    if (flight.ok()) {
      begin = nowNanos();
    }
    lock.unlock();
    GR_RETURN_IF_ERROR(flight.status());
    begun();
    return coordinator->finish(*std::move(flight), lane);
  };
  std::vector<StageInput> made;
  absl::Status status = runStage(plan, lane, values, results, made, execute);
  lock.lock();
  if (begin.has_value()) {
    noteStep(plan, *begin, status.ok());
  }
  const bool isBroken = plan.own->broken();
  if (flights.giveBack(lane) && isBroken) {
    noteFailure(plan);
  }
  if (!begin.has_value() && isBroken && coordinator->lost().ok()) {
    results.resize(given);
    return std::nullopt;
  }
  return status.ok() ? status : inDomain(status, ErrorDomain::kRun);
}

std::shared_ptr<DeviceSet> makeDeviceSet() {
  return std::make_shared<DeviceSet>(devices::createDevice);
}

/// Runs the model once; see Session::run.
absl::Status Session::Impl::run(const std::vector<StageInput>& given,
                                std::vector<NamedTensor>& results, RunQueue::Begun begun) {
  std::vector<NamedSpec> specs;
  specs.reserve(given.size());
  for (const StageInput& input : given) {
    specs.push_back({input.name, input.tensor->spec()});
  }
  Flights::Lock lock(mutex);
  GR_ASSIGN_OR_RETURN(std::vector<NamedSpec> shapes, inOrder(specs));
  std::vector<StageInput> values;
  for (const NamedSpec& shape : shapes) {
    for (const StageInput& input : given) {
      if (input.name == shape.name) {
        values.push_back(input);
      }
    }
  }
  size_t count = 0;
  results.resize(outputs.size());
  for (const ModelPort& port : outputs) {
    if (!port.isList) {
      results[count++].name = port.name;
    }
  }
  results.resize(count);  // the tensors in lists follow
  GR_RETURN_IF_ERROR(runOrdered(std::move(values), results, lock, begun));
  lock.unlock();
  std::lock_guard statsLock(statsMutex);
  ++stats.runs;
  return absl::OkStatus();
}

absl::StatusOr<TensorMap> Session::Impl::runByName(const TensorMap& given, RunQueue::Begun begun) {
  std::vector<StageInput> values;
  for (const auto& [input, tensor] : given) {
    values.push_back({input, &tensor, nullptr});
  }
  std::vector<NamedTensor> results;
  GR_RETURN_IF_ERROR(run(values, results, begun));
  TensorMap named;
  for (NamedTensor& result : results) {
    named.insert_or_assign(std::move(result.name), std::move(result.tensor));
  }
  return named;
}

Session::Session(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Session::~Session() {
  impl_->queue.reset();
  impl_->learnAll();
}

absl::StatusOr<std::unique_ptr<Session>> Session::create(const std::string& modelPath,
                                                         const SessionOptions& options) {
  return opened(std::make_unique<Impl>(options), modelPath, modelPath);
}

absl::StatusOr<std::unique_ptr<Session>> Session::create(absl::StatusOr<MemoryFile> model,
                                                         const SessionOptions& options) {
  if (!model.ok()) {
    return modelError(model.status());
  }
  auto impl = std::make_unique<Impl>(options);
  const MemoryFile& file = impl->inMemory.emplace(*std::move(model));
  return opened(std::move(impl), file.path(), file.name());
}

absl::StatusOr<std::unique_ptr<Session>> Session::opened(std::unique_ptr<Impl> impl,
                                                         const std::string& modelPath,
                                                         const std::string& called) {
  GR_RETURN_IF_ERROR(impl->open(modelPath, called));
  return std::unique_ptr<Session>(new Session(std::move(impl)));
}

const std::vector<ModelPort>& Session::inputs() const { return impl_->inputs; }
const std::vector<ModelPort>& Session::outputs() const { return impl_->outputs; }

absl::Status Session::run(absl::Span<const NamedTensor> inputs, std::vector<NamedTensor>& outputs) {
  std::vector<StageInput> values;
  for (const NamedTensor& input : inputs) {
    values.push_back({input.name, &input.tensor, nullptr});
  }
  return impl_->run(values, outputs, [] {});
}

absl::StatusOr<TensorMap> Session::run(const TensorMap& inputs) {
  return impl_->runByName(inputs, [] {});
}

std::future<absl::StatusOr<TensorMap>> Session::runAsync(TensorMap inputs) {
  return impl_->queue->add(std::move(inputs));
}

absl::Status Session::prepare(absl::Span<const NamedSpec> inputs) {
  Flights::Lock lock = impl_->alone();
  GR_ASSIGN_OR_RETURN(std::vector<NamedSpec> shapes, impl_->inOrder(inputs));
  return impl_->planFor(0, nullptr, plannedInputs(shapes), {}).status();
}

std::optional<HostTensor> Session::makeInput(const NamedSpec& input) const {
  std::lock_guard lock(impl_->mutex);
  if (const ActivePlan* last = impl_->plans->last()) {
    auto endpoint = last->own->inputs().find(input.name);
    if (endpoint != last->own->inputs().end() && endpoint->second.spec == input.spec) {
      return last->own->makeTensor(endpoint->second);
    }
  }
  return std::nullopt;
}

absl::StatusOr<std::string> Session::explain(absl::Span<const NamedSpec> inputs) {
  Flights::Lock lock = impl_->alone();
  GR_ASSIGN_OR_RETURN(std::vector<NamedSpec> shapes, impl_->inOrder(inputs));
  // What was measured since a plan was made counts for what is told of it now.
  GR_ASSIGN_OR_RETURN(FoundPlan found,
                      impl_->findPlan(nullptr, plannedInputs(shapes),
                                      {.anew = true, .explain = &impl_->options.explain}));
  GR_RETURN_IF_ERROR(impl_->checkPlaceable(found));
  return found.explanation;
}

absl::StatusOr<std::string> Session::costs(absl::Span<const NamedSpec> inputs) {
  Flights::Lock lock = impl_->alone();
  GR_ASSIGN_OR_RETURN(std::vector<NamedSpec> shapes, impl_->inOrder(inputs));
  std::vector<PlannedInput> planned = plannedInputs(shapes);
  GR_ASSIGN_OR_RETURN(FoundPlan found,  // tells what is wrong
                      impl_->findPlan(nullptr, planned, {.runs = false}));
  GR_RETURN_IF_ERROR(impl_->checkPlaceable(found));
  GR_ASSIGN_OR_RETURN(auto devices, impl_->foundDevices(false));
  std::string request = withCosts(
      planRequest(impl_->options, impl_->cluster.get(), nullptr, planned, devices), *impl_->costs);
  auto bytes =
      absl::MakeConstSpan(reinterpret_cast<const uint8_t*>(request.data()), request.size());
  absl::StatusOr<std::string> text =
      impl_->compiler->costs(impl_->model.model->bytes(), impl_->name, bytes);
  return text.ok() ? text : planError(text.status());
}

std::vector<LearnedCosts> Session::learned() {
  Flights::Lock lock = impl_->alone();
  return impl_->costs->learned();
}

absl::StatusOr<std::string> Session::inspect(absl::Span<const NamedSpec> inputs) {
  if (absl::Status checked = impl_->model.model->verifyWeights(); !checked.ok()) {
    return inDomain(checked, ErrorDomain::kModel);
  }
  if (!inputs.empty()) {
    GR_RETURN_IF_ERROR(checkInputs(impl_->inputs, inputs));
  }
  std::string request = planRequest(impl_->options, nullptr, nullptr, plannedInputs(inputs), {});
  auto bytes =
      absl::MakeConstSpan(reinterpret_cast<const uint8_t*>(request.data()), request.size());
  absl::StatusOr<std::string> text =
      impl_->compiler->inspect(impl_->model.model->bytes(), impl_->name, bytes);
  GR_RETURN_IF_ERROR(modelError(text.status()));
  return text;
}

SessionStats Session::stats() const {
  std::lock_guard lock(impl_->statsMutex);
  SessionStats stats = impl_->stats;
  stats.compilerLoaded = impl_->loader.loaded();
  return stats;
}

StepTimes Session::times() {
  Flights::Lock lock = impl_->alone();
  const ActivePlan* last = impl_->plans->last();
  return last == nullptr ? StepTimes() : timesOf(*last->found.plan, impl_->tracesOf(*last));
}

uint64_t Session::parameterCount() const {
  uint64_t count = 0;
  for (size_t i = 0; i < impl_->model.model->weightCount(); ++i) {
    count += static_cast<uint64_t>(impl_->model.model->weightSpec(i).elementCount());
  }
  return count;
}

uint64_t Session::weightBytes() const {
  uint64_t bytes = 0;
  for (size_t i = 0; i < impl_->model.model->weightCount(); ++i) {
    bytes += impl_->model.model->model().weights()->Get(static_cast<uint32_t>(i))->length();
  }
  return bytes;
}

absl::Status Session::writeTrace(const std::string& path) {
  Flights::Lock lock = impl_->alone();
  if (!impl_->failed.empty()) {
    return writeChromeTrace(path, impl_->failed, impl_->failedEdges);
  }
  const ActivePlan* last = impl_->plans->last();
  return last == nullptr ? writeChromeTrace(path, {}, {})
                         : writeChromeTrace(path, impl_->tracesOf(*last), edgeNames(*last));
}

absl::StatusOr<std::string> importModel(const std::string& onnxPath, const std::string& outPath,
                                        Compiler* compiler) {
  CompilerLoader loader;
  absl::StatusOr<std::string> warnings =
      (compiler != nullptr ? compiler : &loader)->importOnnx(onnxPath, outPath);
  GR_RETURN_IF_ERROR(modelError(warnings.status()));
  return warnings;
}

absl::StatusOr<std::string> annotateModel(const std::string& onnxPath,
                                          const std::string& explanation,
                                          const std::string& outPath, Compiler* compiler) {
  CompilerLoader loader;
  absl::StatusOr<std::string> warnings =
      (compiler != nullptr ? compiler : &loader)->annotateOnnx(onnxPath, explanation, outPath);
  if (warnings.ok()) {
    return warnings;
  }
  return absl::IsFailedPrecondition(warnings.status())
             ? inDomain(warnings.status(), ErrorDomain::kInput)
             : modelError(warnings.status());
}

absl::StatusOr<std::string> calibrationModel(uint32_t number, const std::string& outPath,
                                             Compiler* compiler) {
  CompilerLoader loader;
  return (compiler != nullptr ? compiler : &loader)->calibrationModel(number, outPath);
}

absl::StatusOr<std::string> placeCosts(const GrCosts& costs, Compiler* compiler) {
  CompilerLoader loader;
  if (compiler == nullptr) {
    GR_RETURN_IF_ERROR(loader.check());
    compiler = &loader;
  }
  absl::StatusOr<std::string> answer = compiler->placeCosts(costs);
  switch (answer.status().code()) {
    case absl::StatusCode::kInvalidArgument:
      return inDomain(answer.status(), ErrorDomain::kModel);
    case absl::StatusCode::kNotFound:
      return inDomain(answer.status(), ErrorDomain::kInput);
    case absl::StatusCode::kFailedPrecondition:
      return inDomain(answer.status(), ErrorDomain::kPlacement);
    default:
      return answer;
  }
}

}  // namespace graphrun::runtime
