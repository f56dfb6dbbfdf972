#include "runtime/session/session_setup.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "devices/device.h"
#include "runtime/base/cgroup.h"
#include "runtime/base/log.h"
#include "runtime/base/status.h"
#include "runtime/control/address.h"
#include "runtime/format/weight_table.h"
#include "runtime/session/error_domain.h"
#include "runtime/session/own_devices.h"
#include "runtime/session/worker_program.h"

namespace graphrun::runtime {
namespace {

constexpr uint64_t kModelCacheBytes = uint64_t{32} << 30;
constexpr uint64_t kCostCacheBytes = uint64_t{256} << 20;

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

/// Returns what is asked of devices that only cluster.yaml gives: what carries out collectives
/// between them, and what a CPU that is not this machine's computes well.
std::vector<DeviceDescription> traitsOf(const GivenWorker& worker,
                                        std::vector<DeviceDescription> offers) {
  std::erase_if(offers, [&](const DeviceDescription& offer) {
    return offer.collectives.empty() && (worker.isLocal() || offer.kind != kHostKind);
  });
  for (DeviceDescription& offer : offers) {
    offer.cores.clear();
    offer.memoryBytes = 0;
  }
  return offers;
}

/// Returns whether the cluster file itself names devices that might carry out collectives.
bool mayHaveCollectives(const ClusterFile& cluster) {
  size_t able = 0;
  for (const GivenWorker& worker : cluster.processes()) {
    able += static_cast<size_t>(
        std::count_if(worker.devices.begin(), worker.devices.end(),
                      [](const DeviceSpec& device) { return device.kind.collectives; }));
  }
  return able > 1;
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

}  // namespace

SessionSetup::SessionSetup(const SessionOptions& given)
    : options(withThreads(given)),
      models(folder(given, "models"), kModelCacheBytes),
      costCache(folder(given, "costs"), kCostCacheBytes),
      compiler(given.compiler != nullptr ? given.compiler : &loader),
      progress(given.progress) {}

std::string SessionSetup::folder(const SessionOptions& options, const char* name) {
  return absl::StrCat(
      options.cacheDirectory.empty() ? defaultCacheDirectory() : options.cacheDirectory, "/", name);
}

absl::Status SessionSetup::open(const std::string& modelPath, const std::string& called) {
  GR_RETURN_IF_ERROR(checkOptions(options));
  name = called;
  {
    const ProgressReport::Busy busy(progress, absl::StrCat("reading ", called));
    GR_ASSIGN_OR_RETURN(model, openModel(modelPath, *compiler, models));
  }
  for (const format::Graph* graph : model.model->graphs()) {
    graphs.push_back(
        {std::string(format::textOf(graph->name())), inputPorts(*graph), outputPorts(*graph)});
  }
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
  return absl::OkStatus();
}

WorkerCoreOptions SessionSetup::coreOptions() const {
  WorkerCoreOptions core;
  core.name = kClientName;
  core.compiler = compiler;
  core.cacheDirectory = options.cacheDirectory;
  core.threads = options.threads;
  core.networkInterface = options.networkInterface.empty() && cluster != nullptr
                              ? interfacesFor(cluster->processes())
                              : options.networkInterface;
  core.devices = options.devices;
  if (options.makeDevice) {
    core.makeDevice = options.makeDevice;
  }
  return core;
}

CoordinatorOptions SessionSetup::coordinatorOptions() {
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

absl::StatusOr<const ModelGraph*> SessionSetup::findGraph(absl::string_view graph) const {
  if (graph.empty()) {
    return &graphs.front();
  }
  std::vector<std::string> names;
  for (const ModelGraph& known : graphs) {
    if (known.name == graph) {
      return &known;
    }
    names.push_back(known.name);
  }
  return inDomain(absl::NotFoundError(absl::StrCat("model '", name, "' has no graph '", graph,
                                                   "', only '", absl::StrJoin(names, "', '"), "'")),
                  ErrorDomain::kInput);
}

absl::StatusOr<std::vector<NamedSpec>> ModelGraph::inOrder(
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

absl::StatusOr<std::map<std::string, std::vector<DeviceDescription>>> SessionSetup::foundDevices(
    bool run) {
  std::map<std::string, std::vector<DeviceDescription>> found;
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
      const std::vector<DeviceDescription>& offers = joined->second.offer.devices;
      found[worker.name] = worker.devicesGiven ? traitsOf(worker, offers) : offers;
    }
  }
  return found;
}

}  // namespace graphrun::runtime
