#include "runtime/session/session.h"

#include <cstring>
#include <filesystem>
#include <list>
#include <map>
#include <mutex>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/clock.h"
#include "runtime/base/status.h"
#include "runtime/control/address.h"
#include "runtime/format/weight_table.h"
#include "runtime/session/coordinator.h"
#include "runtime/session/model_source.h"
#include "runtime/session/plan_source.h"
#include "runtime/session/session_stage.h"
#include "runtime/session/worker_program.h"
#include "runtime/worker/network_interface.h"

namespace graphrun::runtime {
namespace {

constexpr uint64_t kModelCacheBytes = uint64_t{32} << 30;
constexpr uint64_t kPlanCacheBytes = uint64_t{1} << 30;
constexpr Millis kLongestStep{3'600'000};

uint64_t since(int64_t begin) { return static_cast<uint64_t>(nowNanos() - begin); }

bool isAligned(const void* data) {
  return reinterpret_cast<uintptr_t>(data) % kTensorAlignment == 0;
}

std::string folder(const SessionOptions& options, const char* name) {
  return absl::StrCat(
      options.cacheDirectory.empty() ? defaultCacheDirectory() : options.cacheDirectory, "/", name);
}

/// The interface towards the first worker on another machine; "" if all are here.
std::string interfaceFor(const ClusterFile& cluster) {
  for (const ClusterWorker& worker : cluster.workers) {
    absl::StatusOr<Address> address = parseAddress(worker.address);
    if (worker.address != "local" && address.ok() && !address->isLocal()) {
      return interfaceTowards(address->host);
    }
  }
  return "";
}

/// Which plan a run needs: the shapes of its inputs in the model's order.
std::string signatureOf(absl::Span<const NamedSpec> inputs) {
  std::string signature;
  for (const NamedSpec& input : inputs) {
    absl::StrAppend(&signature, input.spec.toString(), ";");
  }
  return signature;
}

}  // namespace

/// A plan in use.
struct ActivePlan {
  std::string signature;
  FoundPlan found;
  std::shared_ptr<LoadedPlan> own;
  std::vector<DeviceStats> devices;
  uint64_t nextStep = 0;
  std::map<std::string, HostTensor> aligned;  // copies of inputs that were not
};

struct Session::Impl {
  explicit Impl(const SessionOptions& given)
      : options(given),
        models(folder(given, "models"), kModelCacheBytes),
        planCache(folder(given, "plans"), kPlanCacheBytes),
        compiler(given.compiler != nullptr ? given.compiler : &door),
        planSource(compiler, &planCache) {}
  ~Impl();

  absl::Status open(const std::string& modelPath);
  WorkerCoreOptions coreOptions() const;
  CoordinatorOptions coordinatorOptions() const;
  absl::StatusOr<std::vector<NamedSpec>> inOrder(absl::Span<const NamedSpec> inputs) const;
  absl::StatusOr<std::map<std::string, std::vector<DeviceOffer>>> foundDevices();
  absl::StatusOr<FoundPlan> findPlan(absl::Span<const NamedSpec> inputs);
  absl::StatusOr<ActivePlan*> planFor(absl::Span<const NamedSpec> inputs);
  absl::Status load(ActivePlan& plan);
  void noteDevices(ActivePlan& plan,
                   const std::map<std::string, std::vector<DeviceReport>>& reports);
  void drop(std::list<ActivePlan>::iterator plan);
  absl::Status bindInputs(ActivePlan& plan, absl::Span<const NamedTensor> given);
  absl::Status bindOutputs(ActivePlan& plan, std::vector<NamedTensor>& outputs);
  void copyStagedOutputs(ActivePlan& plan, std::vector<NamedTensor>& outputs);
  absl::Status execute(ActivePlan& plan);

  const SessionOptions options;
  CompilerDoor door;
  DiskCache models;
  DiskCache planCache;
  Compiler* compiler;
  PlanSource planSource;
  std::string name;  // the path that the user gave, for messages
  OpenModel model;
  std::vector<ModelPort> inputs;
  std::vector<ModelPort> outputs;
  std::unique_ptr<ClusterFile> cluster;  // null: this machine alone
  std::unique_ptr<WorkerCore> core;
  std::unique_ptr<Coordinator> coordinator;
  std::mutex mutex;
  std::list<ActivePlan> plans;  // the one used last comes first
  mutable std::mutex statsMutex;
  SessionStats stats;
};

// Plans go before the coordinator, which ends the job and with it their edges' network.
Session::Impl::~Impl() {
  plans.clear();
  coordinator.reset();
}

absl::Status Session::Impl::open(const std::string& modelPath) {
  const int64_t begin = nowNanos();
  name = modelPath;
  GR_ASSIGN_OR_RETURN(model, openModel(modelPath, *compiler, models));
  inputs = inputPorts(model.model->graph());
  outputs = outputPorts(model.model->graph());
  if (!options.cluster.empty()) {
    absl::StatusOr<ClusterFile> file = readClusterFile(options.cluster);
    if (!file.ok()) {
      return atStage(file.status(), SessionStage::kModel);
    }
    cluster = std::make_unique<ClusterFile>(*std::move(file));
  }
  core = std::make_unique<WorkerCore>(coreOptions());
  core->addModel(model.model);
  coordinator = std::make_unique<Coordinator>(coordinatorOptions(), core.get());
  stats.imported = model.imported;
  stats.openNanos = since(begin);
  return absl::OkStatus();
}

WorkerCoreOptions Session::Impl::coreOptions() const {
  WorkerCoreOptions core;
  core.name = kClientName;
  core.compiler = compiler;
  core.cacheDirectory = options.cacheDirectory;
  core.threads = options.threads;
  core.networkInterface = !options.networkInterface.empty() ? options.networkInterface
                          : cluster != nullptr              ? interfaceFor(*cluster)
                                                            : "";
  if (options.makeDevice) {
    core.makeDevice = options.makeDevice;
  }
  return core;
}

CoordinatorOptions Session::Impl::coordinatorOptions() const {
  CoordinatorOptions coordinator;
  if (cluster != nullptr) {
    coordinator.cluster = *cluster;
  }
  coordinator.workerCommand =
      options.workerCommand.empty() ? findWorkerCommand() : options.workerCommand;
  coordinator.workerArguments = {"--weights-from", model.path};
  coordinator.networkInterface = options.networkInterface;
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
      if (input.name == port.name) {
        ordered.push_back(input);
      }
    }
  }
  return ordered;
}

/// Devices of workers for which cluster.yaml gives none.
absl::StatusOr<std::map<std::string, std::vector<DeviceOffer>>> Session::Impl::foundDevices() {
  std::map<std::string, std::vector<DeviceOffer>> found;
  if (cluster == nullptr) {
    return found;
  }
  for (const ClusterWorker& worker : cluster->workers) {
    if (!worker.devicesGiven) {
      GR_RETURN_IF_ERROR(coordinator->start());
      found[worker.name] = coordinator->joined().at(worker.name).offer.devices;
    }
  }
  return found;
}

absl::StatusOr<FoundPlan> Session::Impl::findPlan(absl::Span<const NamedSpec> shapes) {
  const int64_t begin = nowNanos();
  GR_ASSIGN_OR_RETURN(auto devices, foundDevices());
  GR_ASSIGN_OR_RETURN(FoundPlan found,
                      planSource.find(*model.model, model.file.bytes(), name,
                                      planRequest(options, cluster.get(), shapes, devices)));
  std::lock_guard lock(statsMutex);
  stats.lastPlanNanos = since(begin);
  ++(found.fromDisk ? stats.planDiskHits : stats.plansMade);
  return found;
}

absl::StatusOr<ActivePlan*> Session::Impl::planFor(absl::Span<const NamedSpec> shapes) {
  std::string signature = signatureOf(shapes);
  for (auto plan = plans.begin(); plan != plans.end(); ++plan) {
    if (plan->signature == signature) {
      plans.splice(plans.begin(), plans, plan);
      std::lock_guard lock(statsMutex);
      ++stats.planHits;
      return &plans.front();
    }
  }
  ActivePlan plan;
  plan.signature = std::move(signature);
  GR_ASSIGN_OR_RETURN(plan.found, findPlan(shapes));
  while (!plans.empty() && plans.size() >= std::max<size_t>(options.maxPlans, 1)) {
    drop(std::prev(plans.end()));
  }
  GR_RETURN_IF_ERROR(load(plan));
  plans.push_front(std::move(plan));
  return &plans.front();
}

absl::Status Session::Impl::load(ActivePlan& plan) {
  const int64_t begin = nowNanos();
  const format::PlanFile& file = *plan.found.plan;
  auto reports = coordinator->load(file);
  if (!reports.ok()) {
    bool room = absl::IsResourceExhausted(reports.status());
    return atStage(reports.status(), room ? SessionStage::kPlacement : SessionStage::kRun);
  }
  GR_ASSIGN_OR_RETURN(plan.own, core->prepared(file.hash()));
  noteDevices(plan, *reports);
  std::lock_guard lock(statsMutex);
  stats.lastLoadNanos = since(begin);
  return absl::OkStatus();
}

void Session::Impl::noteDevices(ActivePlan& plan,
                                const std::map<std::string, std::vector<DeviceReport>>& reports) {
  const format::PlanFile& file = *plan.found.plan;
  for (const auto& [worker, devices] : reports) {
    for (const DeviceReport& report : devices) {
      DeviceStats device{report.device,       worker,          report.peakBytes, 0,
                         report.prepareNanos, report.fromCache};
      std::optional<uint32_t> index = file.findDevice(report.device);
      if (index.has_value() && file.partitionOn(*index) != nullptr) {
        device.predictedBytes = file.partitionOn(*index)->predicted_peak_bytes();
      }
      plan.devices.push_back(std::move(device));
    }
  }
}

void Session::Impl::drop(std::list<ActivePlan>::iterator plan) {
  auto file = plan->found.plan;
  plans.erase(plan);
  coordinator->unload(*file);
}

absl::Status Session::Impl::bindInputs(ActivePlan& plan, absl::Span<const NamedTensor> given) {
  for (const NamedTensor& input : given) {
    auto endpoint = plan.own->inputs().find(input.name);
    if (endpoint == plan.own->inputs().end()) {
      continue;  // nothing reads it
    }
    size_t bytes = input.tensor.byteSize();
    void* data = const_cast<void*>(input.tensor.data());
    if (endpoint->second.spec.byteSize() != bytes) {
      return absl::InternalError(absl::StrCat("the plan takes input '", input.name, "' as ",
                                              endpoint->second.spec.toString(), ", not ",
                                              input.tensor.spec().toString()));
    }
    void* use = endpoint->second.staging;
    if (use == nullptr && !isAligned(data)) {
      HostTensor& copy = plan.aligned[input.name];
      if (copy.data() == nullptr) {
        copy = HostTensor(input.tensor.spec());
      }
      use = copy.data();
    }
    if (use != nullptr && bytes != 0) {
      std::memcpy(use, data, bytes);
    }
    plan.own->bindInput(endpoint->second, use != nullptr ? use : data);
  }
  return absl::OkStatus();
}

absl::Status Session::Impl::bindOutputs(ActivePlan& plan, std::vector<NamedTensor>& results) {
  results.resize(outputs.size());
  for (size_t i = 0; i < outputs.size(); ++i) {
    auto endpoint = plan.own->outputs().find(outputs[i].name);
    if (endpoint == plan.own->outputs().end()) {
      return absl::InternalError(
          absl::StrCat("the plan makes no output '", outputs[i].name, "' in this process"));
    }
    NamedTensor& result = results[i];
    if (result.name != outputs[i].name || result.tensor.spec() != endpoint->second.spec ||
        result.tensor.data() == nullptr) {
      result = {outputs[i].name, HostTensor(endpoint->second.spec)};
    }
    void* staging = endpoint->second.staging;
    plan.own->bindOutput(endpoint->second, staging != nullptr ? staging : result.tensor.data());
  }
  return absl::OkStatus();
}

void Session::Impl::copyStagedOutputs(ActivePlan& plan, std::vector<NamedTensor>& results) {
  for (NamedTensor& result : results) {
    const LoadedPlan::Endpoint& endpoint = plan.own->outputs().at(result.name);
    if (endpoint.staging != nullptr && result.tensor.byteSize() != 0) {
      std::memcpy(result.tensor.data(), endpoint.staging, result.tensor.byteSize());
    }
  }
}

absl::Status Session::Impl::execute(ActivePlan& plan) {
  Millis timeout = options.stepTimeout.count() > 0 ? options.stepTimeout : kLongestStep;
  absl::Status status = coordinator->run(plan.own, plan.nextStep++, timeout);
  std::lock_guard lock(statsMutex);
  ++stats.runs;
  stats.devices = plan.devices;
  stats.predictedStepNanos = plan.found.plan->plan().predicted_step_ns();
  return status;
}

Session::Session(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Session::~Session() = default;

absl::StatusOr<std::unique_ptr<Session>> Session::create(const std::string& modelPath,
                                                         const SessionOptions& options) {
  auto impl = std::make_unique<Impl>(options);
  GR_RETURN_IF_ERROR(impl->open(modelPath));
  return std::unique_ptr<Session>(new Session(std::move(impl)));
}

const std::vector<ModelPort>& Session::inputs() const { return impl_->inputs; }
const std::vector<ModelPort>& Session::outputs() const { return impl_->outputs; }

absl::Status Session::run(absl::Span<const NamedTensor> inputs, std::vector<NamedTensor>& outputs) {
  std::vector<NamedSpec> given;
  for (const NamedTensor& input : inputs) {
    given.push_back({input.name, input.tensor.spec()});
  }
  std::lock_guard lock(impl_->mutex);
  GR_ASSIGN_OR_RETURN(std::vector<NamedSpec> shapes, impl_->inOrder(given));
  GR_ASSIGN_OR_RETURN(ActivePlan * plan, impl_->planFor(shapes));
  GR_RETURN_IF_ERROR(impl_->bindInputs(*plan, inputs));
  GR_RETURN_IF_ERROR(impl_->bindOutputs(*plan, outputs));
  absl::Status status = impl_->execute(*plan);
  if (status.ok()) {
    impl_->copyStagedOutputs(*plan, outputs);
  } else if (plan->own->broken() && impl_->coordinator->lost().ok()) {
    impl_->drop(impl_->plans.begin());  // the next run loads it again
  }
  return atStage(status, SessionStage::kRun);
}

absl::Status Session::prepare(absl::Span<const NamedSpec> inputs) {
  std::lock_guard lock(impl_->mutex);
  GR_ASSIGN_OR_RETURN(std::vector<NamedSpec> shapes, impl_->inOrder(inputs));
  return impl_->planFor(shapes).status();
}

absl::StatusOr<std::string> Session::explain(absl::Span<const NamedSpec> inputs) {
  std::lock_guard lock(impl_->mutex);
  GR_ASSIGN_OR_RETURN(std::vector<NamedSpec> shapes, impl_->inOrder(inputs));
  GR_ASSIGN_OR_RETURN(FoundPlan found, impl_->findPlan(shapes));
  return found.explanation;
}

absl::StatusOr<std::string> Session::inspect(absl::Span<const NamedSpec> inputs) {
  std::string request = planRequest(impl_->options, nullptr, inputs, {});
  auto bytes =
      absl::MakeConstSpan(reinterpret_cast<const uint8_t*>(request.data()), request.size());
  absl::StatusOr<std::string> text =
      impl_->compiler->inspect(impl_->model.file.bytes(), impl_->name, bytes);
  return text.ok() ? text : atStage(text.status(), SessionStage::kModel);
}

SessionStats Session::stats() const {
  std::lock_guard lock(impl_->statsMutex);
  SessionStats stats = impl_->stats;
  stats.compilerLoaded = impl_->door.loaded();
  return stats;
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
  std::lock_guard lock(impl_->mutex);
  std::vector<TraceProcess> processes;
  std::vector<std::string> edges;
  TraceProcess own{kClientName, 0, {}};
  if (!impl_->plans.empty()) {
    own.streams = impl_->plans.front().own->trace();
    const format::PlanFile& plan = *impl_->plans.front().found.plan;
    for (size_t i = 0; i < plan.edgeCount(); ++i) {
      edges.emplace_back(format::textOf(plan.edge(i).name()));
    }
  }
  processes.push_back(std::move(own));
  for (TraceProcess& process : impl_->coordinator->traces()) {
    processes.push_back(std::move(process));
  }
  return writeChromeTrace(path, processes, edges);
}

absl::StatusOr<std::string> importModel(const std::string& onnxPath, const std::string& outPath,
                                        Compiler* compiler) {
  CompilerDoor door;
  absl::StatusOr<std::string> warnings =
      (compiler != nullptr ? compiler : &door)->importOnnx(onnxPath, outPath);
  return warnings.ok() ? warnings : atStage(warnings.status(), SessionStage::kModel);
}

}  // namespace graphrun::runtime
