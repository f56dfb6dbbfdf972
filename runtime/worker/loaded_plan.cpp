#include "runtime/worker/loaded_plan.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/clock.h"
#include "runtime/base/objective.h"
#include "runtime/base/status.h"
#include "runtime/control/first_cause.h"
#include "runtime/format/weight_table.h"
#include "runtime/worker/plan_memory.h"
#include "runtime/worker/step_line.h"

namespace graphrun::runtime {
namespace {

constexpr uint32_t kClientWorker = 0;  // in every plan
static_assert(kMostStepsInFlight < kStepLineSlots);

std::string textOf(const flatbuffers::String* text) { return std::string(format::textOf(text)); }

}  // namespace

devices::DeviceDescription descriptionOf(const format::PlanDevice& device) {
  devices::DeviceDescription description;
  description.name = textOf(device.name());
  description.kind = textOf(device.kind());
  description.index = device.index();
  if (device.cores() != nullptr) {
    description.cores.assign(device.cores()->begin(), device.cores()->end());
  }
  description.memoryBytes = device.memory_bytes();
  description.threads = device.threads();
  return description;
}

LoadedPlan::LoadedPlan(std::shared_ptr<const format::PlanFile> plan, const PlanHome& home)
    : plan_(std::move(plan)),
      worker_(home.worker),
      local_(home.local),
      network_(home.network),
      control_(home.network == nullptr ? std::vector{home.local.get()}
                                       : std::vector{home.local.get(), home.network.get()}),
      memory_(std::make_shared<Memory>()),
      loader_(home.loader),
      weights_(home.weights) {
  lanes_.push_back(std::make_unique<Lane>());
}

// Receivers first: an in-place receiver may not outlive its sender's memory.
LoadedPlan::~LoadedPlan() {
  threads_.clear();
  lanes_.clear();
  executors_.clear();
  for (const Memory::Part& part : memory_->parts) {
    if (devices::CollectiveProgram* program = part.loaded.program->collectives()) {
      program->beginShutdown();
    }
  }
  for (const OpenEdge& edge : edges_) {
    if (edge.end.receive != nullptr) {
      edge.transport->close(edge.end.receive);
    }
  }
  for (const OpenEdge& edge : edges_) {
    if (edge.end.send != nullptr) {
      edge.transport->close(edge.end.send);
    }
  }
  for (const auto& [transport, memory] : registered_) {
    transport->unregisterMemory(memory);
  }
}

absl::StatusOr<std::unique_ptr<LoadedPlan>> LoadedPlan::load(
    std::shared_ptr<const format::PlanFile> plan, const PlanHome& home) {
  std::unique_ptr<LoadedPlan> loaded(new LoadedPlan(std::move(plan), home));
  GR_RETURN_IF_ERROR(loaded->loadPartitions(home));
  GR_RETURN_IF_ERROR(loaded->handOverEdges());
  loaded->lockSources();
  GR_RETURN_IF_ERROR(loaded->waitForPeers(home));
  GR_RETURN_IF_ERROR(loaded->openEdges(home));
  GR_RETURN_IF_ERROR(loaded->checkPartMemory());
  for (const auto& executor : loaded->executors_) {
    collectEndpoints(*executor, *loaded->lanes_[0]);
  }
  GR_RETURN_IF_ERROR(loaded->stageEndpoints());
  GR_RETURN_IF_ERROR(loaded->joinCommunicators(home));
  const std::optional<uint32_t> worker = loaded->plan_->findWorker(loaded->worker_);
  loaded->overlaps_ =
      worker.has_value() && *worker != kClientWorker && loaded->plan_->stagesOn(*worker) > 1;
  if (loaded->executors_.size() > 1 || loaded->pinsUser()) {
    // A hand-over less, and no thread that waits awake on a core that the others want.
    const bool hasAll = loaded->overlaps_ || loaded->isPinned();
    for (size_t i = hasAll ? 0 : 1; i < loaded->executors_.size(); ++i) {
      loaded->threads_.push_back(std::make_unique<ExecutorThread>());
    }
  }
  loaded->mostLanes_ = loaded->countLanes();
  return loaded;
}

/// Returns whether a device would pin the thread of the user, who has other things to do on it.
bool LoadedPlan::pinsUser() const {
  const auto& partitions = *plan_->plan().partitions();
  return plan_->findWorker(worker_) == kClientWorker &&
         std::any_of(partitions.begin(), partitions.end(), [&](const format::Partition* partition) {
           const format::PlanDevice& device = plan_->device(partition->device());
           return device.worker() == kClientWorker && device.cores() != nullptr &&
                  device.cores()->size() != 0;
         });
}

/// Returns whether a device of this process keeps to some cores.
bool LoadedPlan::isPinned() const {
  return std::any_of(memory_->parts.begin(), memory_->parts.end(), [&](const Memory::Part& part) {
    return format::sizeOf(plan_->device(part.device).cores()) != 0;
  });
}

/// Returns the error of a device that has too little memory for its part; it names the device: see
/// isDeviceTooSmall.
absl::Status LoadedPlan::tooSmall(const std::string& device, absl::string_view why) const {
  return withFirstCause(absl::ResourceExhaustedError(why), {"", "", device, worker_});
}

absl::Status LoadedPlan::loadPartitions(const PlanHome& home) {
  std::optional<uint32_t> worker = plan_->findWorker(home.worker);
  if (!worker.has_value()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the plan has no worker '", home.worker, "', which this process is"));
  }
  PlanWeights weights(plan_->plan(), home.weights);
  for (uint32_t i = 0; i < plan_->plan().partitions()->size(); ++i) {
    uint32_t device = plan_->plan().partitions()->Get(i)->device();
    if (plan_->device(device).worker() == *worker) {
      GR_RETURN_IF_ERROR(loadPartition(home, i, weights));
    }
  }
  return absl::OkStatus();
}

absl::Status LoadedPlan::loadPartition(const PlanHome& home, uint32_t index, PlanWeights& weights) {
  Memory::Part part;
  part.partition = index;
  part.device = plan_->plan().partitions()->Get(index)->device();
  devices::DeviceDescription description = descriptionOf(plan_->device(part.device));
  GR_ASSIGN_OR_RETURN(part.owner, home.device(description));
  absl::StatusOr<LoadedProgram> loaded =
      home.loader->load(*plan_, index, *part.owner->device, weights, home.tuneNanos);
  uint64_t slotBytes = ownSlotBytes(*plan_, part.device, *part.owner->device);
  if (absl::IsResourceExhausted(loaded.status()) && slotBytes != 0) {
    loaded = absl::ResourceExhaustedError(
        absl::StrCat(loaded.status().message(), ", and ", slotBytes, " for what it receives"));
  }
  if (!loaded.ok()) {
    return withFirstCause(loaded.status(), {"", "", description.name, worker_});
  }
  part.loaded = *std::move(loaded);
  GR_ASSIGN_OR_RETURN(part.states, bindStates(home, *part.loaded.program, weights, part.owner));
  part.ownBytes = communicatorBytes(*plan_, part.device);
  uint64_t programBytes = part.loaded.program->memory().bytes + part.ownBytes;
  if (description.memoryBytes != 0 && programBytes + slotBytes > description.memoryBytes) {
    return tooSmall(
        description.name,
        absl::StrCat(
            description.name, ": needs ", programBytes, " bytes for weights and arena",
            part.ownBytes > 0 ? absl::StrCat(" (", part.ownBytes, " of them for collectives)") : "",
            " and ", slotBytes, " for what it receives, the limit is ", description.memoryBytes,
            "; give it ", programBytes + slotBytes - description.memoryBytes, " more"));
  }
  DeviceReport report;
  report.device = description.name;
  report.peakBytes = programBytes + slotBytes;
  report.sharedBytes = part.loaded.program->memory().shared;
  report.prepareNanos = part.loaded.prepareNanos;
  report.fromCache = part.loaded.fromCache;
  report.tuned = part.loaded.tuned;
  report.fingerprint = part.owner->device->fingerprint();
  report.refusals = part.loaded.refusals;
  reports_.push_back(std::move(report));
  memory_->parts.push_back(std::move(part));
  return absl::OkStatus();
}

absl::StatusOr<std::vector<std::shared_ptr<StateCell>>> LoadedPlan::bindStates(
    const PlanHome& home, const devices::Program& program, PlanWeights& weights,
    const std::shared_ptr<SharedDevice>& device) {
  std::vector<std::shared_ptr<StateCell>> cells;
  for (const devices::StateBinding& state : program.states()) {
    if (home.states == nullptr) {
      return absl::InternalError(
          absl::StrCat("state '", state.name, "' has nowhere to be kept in this process"));
    }
    GR_ASSIGN_OR_RETURN(cells.emplace_back(), home.states->bind(state, weights, device));
  }
  return cells;
}

/// Slots in a GPU's memory, and what it sends from there, came after the rest.
absl::Status LoadedPlan::recountMemory(size_t part) {
  const Memory::Part& counted = memory_->parts[part];
  const devices::Device& device = *counted.owner->device;
  if (!device.bindsHostMemory()) {
    return absl::OkStatus();
  }
  reports_[part].peakBytes = counted.loaded.program->memory().bytes + counted.ownBytes;
  const uint64_t limit = device.description().memoryBytes;
  return limit == 0 || reports_[part].peakBytes <= limit
             ? absl::OkStatus()
             : tooSmall(reports_[part].device,
                        absl::StrCat(reports_[part].device, ": needs ", reports_[part].peakBytes,
                                     " bytes with what it receives, the limit is ", limit,
                                     "; give it ", reports_[part].peakBytes - limit, " more"));
}

/// The parts of a device share its memory; each by itself was held to all of it.
absl::Status LoadedPlan::checkPartMemory() const {
  std::map<std::string, uint64_t> bytes;
  for (size_t i = 0; i < memory_->parts.size(); ++i) {
    const format::PlanDevice& device = plan_->device(memory_->parts[i].device);
    std::string whole = textOf(device.part_of());
    uint64_t& sum = bytes[whole.empty() ? textOf(device.name()) : whole];
    sum += reports_[i].peakBytes;
    if (device.memory_bytes() != 0 && sum > device.memory_bytes()) {
      return tooSmall(
          textOf(device.name()),
          absl::StrCat(textOf(device.name()), " and the other parts of its device need more than ",
                       sum, " bytes, its limit is ", device.memory_bytes(), "; try --split never"));
    }
  }
  return absl::OkStatus();
}

void LoadedPlan::collectEndpoints(Executor& executor, Lane& lane) {
  auto collect = [&](absl::Span<const devices::Binding> bindings, Endpoints& endpoints) {
    for (size_t i = 0; i < bindings.size(); ++i) {
      Endpoint& endpoint = endpoints[bindings[i].name];
      endpoint.spec = bindings[i].spec;
      endpoint.bindings.emplace_back(&executor, i);
    }
  };
  collect(executor.program().inputs(), lane.inputs);
  collect(executor.program().outputs(), lane.outputs);
}

bool LoadedPlan::touchedByNetwork(const Endpoint& endpoint, bool input) const {
  for (const auto& [executor, index] : endpoint.bindings) {
    const devices::Program& program = executor->program();
    uint32_t buffer = (input ? program.inputs() : program.outputs())[index].buffer;
    for (const OpenEdge& edge : edges_) {
      if (edge.transport == network_.get() && edge.program == &program && edge.buffer == buffer) {
        return true;
      }
    }
  }
  return false;
}

absl::Status LoadedPlan::stageEndpoints() {
  Lane& lane = *lanes_[0];
  for (Endpoints* endpoints : {&lane.inputs, &lane.outputs}) {
    for (auto& [name, endpoint] : *endpoints) {
      if (touchedByNetwork(endpoint, endpoints == &lane.inputs)) {
        GR_ASSIGN_OR_RETURN(endpoint.staging, staging(endpoint));
      }
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<void*> LoadedPlan::staging(const Endpoint& endpoint) {
  return allocate(0, std::max<size_t>(endpoint.spec.byteSize(), 1));
}

/// One more than the stages that a step passes through, as the last of them ends one while the
/// first begins the next but one; one where devices of this process compute, which steps would
/// share, or where no other process does.
size_t LoadedPlan::countLanes() const {
  if (plan_->findWorker(worker_) != kClientWorker || executors_.size() != 1 || edges_.empty() ||
      hasCommunicators_ || !threads_.empty() || plan_->updatesStates()) {
    return 1;
  }
  const Memory::Part& own = memory_->parts[0];
  if (own.owner->device->bindsHostMemory() ||
      format::sizeOf(plan_->partitionOn(own.device)->nodes()) != 0) {
    return 1;
  }
  size_t stages = 0;
  for (uint32_t worker = kClientWorker + 1; worker < plan_->workerCount(); ++worker) {
    stages += plan_->stagesOn(worker);
  }
  return std::min<size_t>(stages + 1, kMostStepsInFlight);
}

absl::Status LoadedPlan::openLanes(uint64_t nextStep) {
  std::vector<std::unique_ptr<Lane>> more;
  while (lanes_.size() + more.size() < mostLanes_) {
    GR_ASSIGN_OR_RETURN(more.emplace_back(), makeLane());
  }
  if (more.empty()) {
    return absl::OkStatus();
  }
  inFlight_ = std::make_unique<StepsInFlight>(network_.get(), &control_, nextStep);
  for (std::unique_ptr<Lane>& lane : more) {
    lanes_.push_back(std::move(lane));
  }
  return absl::OkStatus();
}

/// A lane with a program of its own, which uses the edges of lane 0.
absl::StatusOr<std::unique_ptr<LoadedPlan::Lane>> LoadedPlan::makeLane() {
  Memory::Part& part = memory_->parts[0];
  PlanWeights weights(plan_->plan(), weights_);
  GR_ASSIGN_OR_RETURN(LoadedProgram loaded,
                      loader_->load(*plan_, part.partition, *part.owner->device, weights));
  auto lane = std::make_unique<Lane>();
  GR_ASSIGN_OR_RETURN(lane->executor,
                      Executor::create(part.owner->device.get(), loaded.program, ends_, &control_));
  part.lanes.push_back(std::move(loaded));
  collectEndpoints(*lane->executor, *lane);
  auto stage = [&](Endpoints& endpoints, const Endpoints& first) {
    for (auto& [name, endpoint] : endpoints) {
      if (first.at(name).staging != nullptr) {
        GR_ASSIGN_OR_RETURN(endpoint.staging, staging(endpoint));
      }
    }
    return absl::OkStatus();
  };
  GR_RETURN_IF_ERROR(stage(lane->inputs, inputs()));
  GR_RETURN_IF_ERROR(stage(lane->outputs, outputs()));
  return lane;
}

std::optional<HostTensor> LoadedPlan::makeTensor(const Endpoint& endpoint) const {
  for (const auto& [executor, index] : endpoint.bindings) {
    for (size_t part = 0; part < executors_.size(); ++part) {
      std::shared_ptr<SharedDevice> owner = memory_->parts[part].owner;
      if (executors_[part].get() != executor || !owner->device->bindsHostMemory()) {
        continue;
      }
      if (auto memory = owner->device->allocate(endpoint.spec.byteSize()); memory.ok()) {
        return HostTensor(endpoint.spec, std::shared_ptr<void>(*memory, [owner](void* bytes) {
                            owner->device->deallocate(bytes);
                          }));
      }
    }
  }
  return std::nullopt;
}

void LoadedPlan::bindInput(const Endpoint& endpoint, void* data) {
  for (const auto& [executor, index] : endpoint.bindings) {
    executor->bindInput(index, data);
  }
}

void LoadedPlan::bindOutput(const Endpoint& endpoint, void* data) {
  for (const auto& [executor, index] : endpoint.bindings) {
    executor->bindOutput(index, data);
  }
}

absl::Status LoadedPlan::checkRunnable(uint32_t steps) const {
  if (steps == 0 || (steps > 1 && plan_->updatesStates())) {
    return absl::InvalidArgumentError(
        absl::StrCat("a run has ", steps, " steps, expected ",
                     steps == 0 ? "at least one" : "one, as they update states"));
  }
  return !broken() ? absl::OkStatus()
                   : absl::FailedPreconditionError(
                         absl::StrCat("the plan was stopped by an earlier failure on worker ",
                                      worker_, "; load it again"));
}

absl::Status LoadedPlan::begin(uint64_t firstStep, uint32_t steps, int64_t deadlineNanos) {
  GR_RETURN_IF_ERROR(checkRunnable(steps));
  running_.fetch_add(1);
  std::vector<uint64_t>& asked = begun_.emplace_back();
  for (size_t i = 0; i < threads_.size(); ++i) {
    asked.push_back(threads_[i]->start(executors_[i].get(), firstStep, steps, deadlineNanos));
  }
  return absl::OkStatus();
}

absl::Status LoadedPlan::finish() {
  bool ok = true;
  for (size_t i = 0; i < threads_.size(); ++i) {
    ok = threads_[i]->wait(begun_.front()[i]) && ok;
  }
  begun_.pop_front();
  running_.fetch_sub(1);
  return ok ? absl::OkStatus() : failureStatus();
}

absl::Status LoadedPlan::run(uint64_t firstStep, uint32_t steps, int64_t deadlineNanos) {
  std::lock_guard lock(runMutex_);
  if (overlaps_) {
    GR_RETURN_IF_ERROR(begin(firstStep, steps, deadlineNanos));
    return finish();
  }
  GR_RETURN_IF_ERROR(checkRunnable(steps));
  running_.fetch_add(1);
  control_.begin(deadlineNanos);
  const bool ok = runExecutors(firstStep, steps);
  for (size_t i = 0; !ok && i < executors_.size(); ++i) {
    executors_[i]->revertStates();
  }
  running_.fetch_sub(1);
  return ok ? absl::OkStatus() : failureStatus();
}

void LoadedPlan::revertStates() {
  std::lock_guard lock(runMutex_);
  for (const auto& executor : executors_) {
    executor->revertStates();
  }
}

absl::Status LoadedPlan::runLane(uint64_t step, int64_t deadlineNanos, size_t lane,
                                 absl::FunctionRef<bool()> others) {
  if (inFlight_ == nullptr) {
    return run(step, 1, deadlineNanos);
  }
  GR_RETURN_IF_ERROR(checkRunnable(1));
  running_.fetch_add(1);
  Executor& executor = lane == 0 ? *executors_[0] : *lanes_[lane]->executor;
  const bool ok = inFlight_->run(executor, step, deadlineNanos, others);
  running_.fetch_sub(1);
  return ok ? absl::OkStatus() : failureStatus();
}

bool LoadedPlan::runExecutors(uint64_t firstStep, uint32_t steps) {
  if (executors_.empty()) {
    return true;
  }
  if (threads_.empty()) {
    Executor& only = *executors_[0];
    // Whoever shares edges or communicators with others must not keep them waiting.
    return isAlone() ? memory_->parts[0].owner->turns.run(&only, firstStep, steps)
                     : only.run(firstStep, steps);
  }
  size_t own = executors_.size() - threads_.size();
  for (size_t i = 0; i < threads_.size(); ++i) {
    threads_[i]->start(executors_[own + i].get(), firstStep, steps);
  }
  bool ok = own == 0 || executors_[0]->run(firstStep, steps);
  for (const auto& thread : threads_) {
    ok = thread->wait() && ok;
  }
  return ok;
}

absl::Status LoadedPlan::failureStatus() {
  std::optional<StepFailure> failure = control_.failure();
  if (!failure.has_value()) {
    return absl::InternalError("a step failed without a cause");
  }
  if (isAlone()) {
    control_.reset();  // nothing is left half done
  }
  if (failure->device.empty()) {
    return failure->status;
  }
  FirstCause cause{failure->label, "", failure->device, worker_};
  return withFirstCause(annotateKeepingCause(failure->status, cause.toString()), cause);
}

void LoadedPlan::cancel(const absl::Status& cause) {
  if (running_.load() > 0) {
    control_.fail({cause, "", ""});
  }
}

std::vector<TraceStream> LoadedPlan::trace() const {
  std::vector<TraceStream> streams;
  auto add = [&](const Executor& executor) {
    streams.push_back(executor.trace());
    streams.back().plan = plan_->hash();
  };
  for (const auto& executor : executors_) {
    add(*executor);
  }
  for (size_t i = 1; i < lanes_.size(); ++i) {
    add(*lanes_[i]->executor);
  }
  return streams;
}

}  // namespace graphrun::runtime
