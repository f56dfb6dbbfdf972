#include "runtime/worker/loaded_plan.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/clock.h"
#include "runtime/base/status.h"
#include "runtime/control/first_cause.h"
#include "runtime/control/limits.h"
#include "runtime/format/weight_table.h"

namespace graphrun::runtime {
namespace {

constexpr uint32_t kClientWorker = 0;  // in every plan
constexpr int64_t kPeerWaitNanos = 20'000'000'000;

std::string textOf(const flatbuffers::String* text) { return std::string(format::textOf(text)); }

devices::DeviceDescription describe(const format::PlanDevice& device) {
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

}  // namespace

struct LoadedPlan::Memory {
  struct Part {
    uint32_t device = 0;  // in the plan
    std::shared_ptr<SharedDevice> owner;
    LoadedProgram loaded;
    std::vector<void*> allocated;
    std::vector<void*> own;  // of the device
    uint64_t ownBytes = 0;
  };
  ~Memory() {
    for (Part& part : parts) {
      part.loaded.program.reset();
      for (void* memory : part.allocated) {
        part.owner->device->deallocate(memory);
      }
      for (void* memory : part.own) {
        part.owner->device->deallocateOwn(memory);
      }
    }
  }
  std::vector<Part> parts;
};

LoadedPlan::LoadedPlan(std::shared_ptr<const format::PlanFile> plan, const PlanHome& home)
    : plan_(std::move(plan)),
      worker_(home.worker),
      local_(home.local),
      network_(home.network),
      control_(home.network == nullptr ? std::vector{home.local.get()}
                                       : std::vector{home.local.get(), home.network.get()}),
      memory_(std::make_shared<Memory>()) {}

// Receivers first: an in-place receiver may not outlive its sender's memory.
LoadedPlan::~LoadedPlan() {
  threads_.clear();
  executors_.clear();
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
  GR_RETURN_IF_ERROR(loaded->waitForPeers(home));
  GR_RETURN_IF_ERROR(loaded->openEdges(home));
  GR_RETURN_IF_ERROR(loaded->checkPartMemory());
  loaded->collectEndpoints();
  GR_RETURN_IF_ERROR(loaded->stageEndpoints());
  if (loaded->executors_.size() > 1 || loaded->pinsUser()) {
    // A hand-over less, and no thread that waits awake on a core that the others want.
    for (size_t i = loaded->isPinned() ? 0 : 1; i < loaded->executors_.size(); ++i) {
      loaded->threads_.push_back(std::make_unique<ExecutorThread>());
    }
  }
  return loaded;
}

/// Whether a device would pin the thread of the user, who has other things to do on it.
bool LoadedPlan::pinsUser() const {
  const auto& partitions = *plan_->plan().partitions();
  return plan_->findWorker(worker_) == kClientWorker &&
         std::any_of(partitions.begin(), partitions.end(), [&](const format::Partition* partition) {
           const format::PlanDevice& device = plan_->device(partition->device());
           return device.worker() == kClientWorker && device.cores() != nullptr &&
                  device.cores()->size() != 0;
         });
}

/// Whether a device of this process keeps to some cores.
bool LoadedPlan::isPinned() const {
  return std::any_of(memory_->parts.begin(), memory_->parts.end(), [&](const Memory::Part& part) {
    return format::sizeOf(plan_->device(part.device).cores()) != 0;
  });
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
  part.device = plan_->plan().partitions()->Get(index)->device();
  devices::DeviceDescription description = describe(plan_->device(part.device));
  GR_ASSIGN_OR_RETURN(part.owner, home.device(description));
  absl::StatusOr<LoadedProgram> loaded =
      home.loader->load(*plan_, index, *part.owner->device, weights, home.tuneNanos);
  // Slots on the host are not the device's.
  uint64_t slotBytes = part.owner->device->bindsHostMemory() ? 0 : plan_->slotBytes(part.device);
  if (absl::IsResourceExhausted(loaded.status()) && slotBytes != 0) {
    loaded = absl::ResourceExhaustedError(
        absl::StrCat(loaded.status().message(), ", and ", slotBytes, " for what it receives"));
  }
  if (!loaded.ok()) {
    return withFirstCause(loaded.status(), {"", "", description.name, worker_});
  }
  part.loaded = *std::move(loaded);
  uint64_t programBytes = part.loaded.program->memoryBytes();
  if (description.memoryBytes != 0 && programBytes + slotBytes > description.memoryBytes) {
    return absl::ResourceExhaustedError(absl::StrCat(
        description.name, ": needs ", programBytes, " bytes for weights and arena and ", slotBytes,
        " for what it receives, the limit is ", description.memoryBytes, "; give it ",
        programBytes + slotBytes - description.memoryBytes, " more"));
  }
  DeviceReport report;
  report.device = description.name;
  report.peakBytes = programBytes + slotBytes;
  report.sharedBytes = part.loaded.program->sharedBytes();
  report.prepareNanos = part.loaded.prepareNanos;
  report.fromCache = part.loaded.fromCache;
  report.tuned = part.loaded.tuned;
  report.fingerprint = part.owner->device->fingerprint();
  reports_.push_back(std::move(report));
  memory_->parts.push_back(std::move(part));
  return absl::OkStatus();
}

/// Slots in a GPU's memory, and what it sends from there, came after the rest.
absl::Status LoadedPlan::recountMemory(size_t part) {
  const Memory::Part& counted = memory_->parts[part];
  const devices::Device& device = *counted.owner->device;
  if (!device.bindsHostMemory()) {
    return absl::OkStatus();
  }
  reports_[part].peakBytes = counted.loaded.program->memoryBytes() + counted.ownBytes;
  const uint64_t limit = device.description().memoryBytes;
  return limit == 0 || reports_[part].peakBytes <= limit
             ? absl::OkStatus()
             : absl::ResourceExhaustedError(
                   absl::StrCat(reports_[part].device, ": needs ", reports_[part].peakBytes,
                                " bytes with what it receives, the limit is ", limit, "; give it ",
                                reports_[part].peakBytes - limit, " more"));
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
      return absl::ResourceExhaustedError(
          absl::StrCat(textOf(device.name()), " and the other parts of its device need more than ",
                       sum, " bytes, its limit is ", device.memory_bytes(), "; try --split never"));
    }
  }
  return absl::OkStatus();
}

absl::Status LoadedPlan::waitForPeers(const PlanHome& home) {
  std::set<std::string> peers;
  for (const Memory::Part& part : memory_->parts) {
    auto addPeer = [&](uint32_t device) {
      peers.insert(textOf(plan_->worker(plan_->device(device).worker()).name()));
    };
    for (uint32_t edge : plan_->edgesFrom(part.device)) {
      addPeer(plan_->edge(edge).target());
    }
    for (uint32_t edge : plan_->edgesInto(part.device)) {
      addPeer(plan_->edge(edge).source());
    }
  }
  peers.erase(worker_);
  for (const std::string& peer : peers) {
    auto rank = home.ranks.find(peer);
    if (network_ == nullptr || rank == home.ranks.end()) {
      return absl::FailedPreconditionError(
          absl::StrCat("worker ", worker_, " has no link to worker ", peer,
                       ", which the plan needs; connect the peers first"));
    }
    GR_RETURN_IF_ERROR(annotate(
        network_->waitConnected(rank->second, WaitOptions::within(kPeerWaitNanos, home.cancelled)),
        absl::StrCat("link from worker ", worker_, " to worker ", peer)));
  }
  return absl::OkStatus();
}

/// Where devices of this process can move a value themselves, they do.
absl::Status LoadedPlan::handOverEdges() {
  for (size_t part = 0; part < memory_->parts.size(); ++part) {
    const devices::Program& program = *memory_->parts[part].loaded.program;
    for (size_t edge = 0; edge < program.edges().size(); ++edge) {
      if (program.edges()[edge].send && program.canHandOver(edge)) {
        GR_RETURN_IF_ERROR(annotate(handOver(part, edge), reports_[part].device));
      }
    }
  }
  return absl::OkStatus();
}

/// The edge `edge` that part `from` sends, if it ends in this process, too.
absl::Status LoadedPlan::handOver(size_t from, size_t edge) {
  Memory::Part& source = memory_->parts[from];
  const uint32_t id = source.loaded.program->edges()[edge].edge;
  if (id >= plan_->edgeCount()) {
    return absl::OkStatus();  // openEdge refuses it
  }
  for (size_t to = 0; to < memory_->parts.size(); ++to) {
    Memory::Part& target = memory_->parts[to];
    absl::Span<const devices::EdgeBinding> ends = target.loaded.program->edges();
    auto end = std::find_if(ends.begin(), ends.end(), [&](const devices::EdgeBinding& binding) {
      return !binding.send && binding.edge == id;
    });
    const auto index = static_cast<size_t>(end - ends.begin());
    if (to == from || end == ends.end() || !target.loaded.program->canHandOver(index)) {
      continue;
    }
    if (absl::Status way = source.owner->device->reaches(*target.owner->device); !way.ok()) {
      if (!absl::IsUnimplemented(way)) {
        noteHostWay(to, id, way.message());
      }
      continue;
    }
    GR_RETURN_IF_ERROR(source.loaded.program->handOver(edge, devices::EdgeWay::kFetched));
    GR_RETURN_IF_ERROR(target.loaded.program->handOver(index, devices::EdgeWay::kFetched));
    ++reports_[to].handedOver;
    return absl::OkStatus();
  }
  return absl::OkStatus();
}

/// Tells, once for each two devices, why what part `part` gets by an edge goes by the host.
void LoadedPlan::noteHostWay(size_t part, uint32_t edge, absl::string_view why) {
  std::string note =
      absl::StrCat("what comes from ", textOf(plan_->device(plan_->edge(edge).source()).name()),
                   " goes through the host's memory: ", why);
  std::vector<std::string>& notes = reports_[part].notes;
  if (notes.size() < kMaxWorkerNotes &&
      std::find(notes.begin(), notes.end(), note) == notes.end()) {
    notes.push_back(std::move(note));
  }
}

absl::Status LoadedPlan::openEdges(const PlanHome& home) {
  for (size_t i = 0; i < memory_->parts.size(); ++i) {
    Memory::Part& part = memory_->parts[i];
    std::vector<EdgeEnd> ends;
    for (const devices::EdgeBinding& binding : part.loaded.program->edges()) {
      absl::StatusOr<EdgeEnd> end = openEdge(home, i, binding);
      if (!end.ok()) {
        return annotate(end.status(), reports_[i].device);
      }
      ends.push_back(*end);
    }
    GR_RETURN_IF_ERROR(recountMemory(i));
    GR_ASSIGN_OR_RETURN(
        std::unique_ptr<Executor> executor,
        Executor::create(part.owner->device.get(), part.loaded.program, ends, &control_));
    executors_.push_back(std::move(executor));
  }
  return absl::OkStatus();
}

absl::StatusOr<EdgeEnd> LoadedPlan::openEdge(const PlanHome& home, size_t part,
                                             const devices::EdgeBinding& binding) {
  uint32_t device = memory_->parts[part].device;
  if (binding.edge >= plan_->edgeCount()) {
    return absl::InvalidArgumentError(absl::StrCat("the plan has no edge ", binding.edge));
  }
  const format::Edge& edge = plan_->edge(binding.edge);
  if ((binding.send ? edge.source() : edge.target()) != device ||
      binding.spec.byteSize() > edge.bytes()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the program's use of edge ", binding.edge, " (", binding.spec.toString(),
        ") is not what the plan says (", edge.bytes(), " bytes); remove the executable cache"));
  }
  uint32_t other = binding.send ? edge.target() : edge.source();
  std::string peer = textOf(plan_->worker(plan_->device(other).worker()).name());
  bool here = peer == worker_;
  Transport* transport = here ? local_.get() : network_.get();
  EdgeSpec spec;
  spec.plan = plan_->hash();
  spec.edge = binding.edge;
  spec.peer = here ? local_->rank() : home.ranks.at(peer);
  spec.maxBytes = edge.bytes();
  spec.slots = edge.slots();
  spec.inPlace = here;
  if (!here) {
    GR_ASSIGN_OR_RETURN(spec.memory, carryGpuMemory(home, part, binding, peer));
  }
  spec.owner = memory_;
  spec.name =
      absl::StrCat("'", textOf(edge.name()), "' from ", textOf(plan_->device(edge.source()).name()),
                   " to ", textOf(plan_->device(edge.target()).name()));
  EdgeEnd end;
  if (binding.send) {
    GR_ASSIGN_OR_RETURN(end.send, transport->openSend(spec));
  } else {
    GR_ASSIGN_OR_RETURN(end, openReceiver(transport, spec, part, format::slotStride(edge)));
  }
  edges_.push_back({transport, end, memory_->parts[part].loaded.program.get(), binding.buffer});
  return end;
}

/// Where the payloads of an edge to or from another process lie at this end: in the GPU's memory if
/// the networks of both carry that, as they agreed when they were linked.
absl::StatusOr<MemoryKind> LoadedPlan::carryGpuMemory(const PlanHome& home, size_t part,
                                                      const devices::EdgeBinding& binding,
                                                      const std::string& peer) {
  Memory::Part& end = memory_->parts[part];
  devices::Program& program = *end.loaded.program;
  const auto index = static_cast<size_t>(&binding - program.edges().data());
  if (!program.canHandOver(index)) {
    return MemoryKind::kHost;
  }
  if (!home.gpuPeers.contains(peer)) {
    const format::PlanDevice& source = plan_->device(plan_->edge(binding.edge).source());
    if (!binding.send && format::textOf(source.kind()) == end.owner->device->description().kind) {
      noteHostWay(part, binding.edge,
                  !home.carriesGpuMemory.ok()
                      ? std::string(home.carriesGpuMemory.message())
                      : absl::StrCat("the network of worker ", peer, " carries nothing else"));
    }
    return MemoryKind::kHost;
  }
  GR_RETURN_IF_ERROR(program.handOver(index, devices::EdgeWay::kCarried));
  reports_[part].handedOver += binding.send ? 0 : 1;
  return MemoryKind::kCuda;
}

absl::StatusOr<EdgeEnd> LoadedPlan::openReceiver(Transport* transport, const EdgeSpec& spec,
                                                 size_t part, size_t stride) {
  std::vector<void*> slots;
  if (!spec.inPlace) {
    GR_ASSIGN_OR_RETURN(void* memory, allocate(part, stride * spec.slots, spec.memory));
    GR_RETURN_IF_ERROR(transport->registerMemory(memory, stride * spec.slots, spec.memory));
    registered_.emplace_back(transport, memory);
    for (uint32_t i = 0; i < spec.slots; ++i) {
      slots.push_back(static_cast<char*>(memory) + i * stride);
    }
  }
  EdgeEnd end;
  GR_ASSIGN_OR_RETURN(end.receive, transport->openRecv(spec, slots));
  return end;
}

absl::StatusOr<void*> LoadedPlan::allocate(size_t part, size_t bytes, MemoryKind kind) {
  Memory::Part& owner = memory_->parts[part];
  if (kind != MemoryKind::kHost) {
    GR_ASSIGN_OR_RETURN(void* own, owner.owner->device->allocateOwn(bytes));
    owner.own.push_back(own);
    owner.ownBytes += bytes;
    return own;
  }
  GR_ASSIGN_OR_RETURN(void* memory, owner.owner->device->allocate(bytes));
  owner.allocated.push_back(memory);
  return memory;
}

void LoadedPlan::collectEndpoints() {
  auto collect = [](Executor* executor, absl::Span<const devices::Binding> bindings,
                    std::map<std::string, Endpoint>& endpoints) {
    for (size_t i = 0; i < bindings.size(); ++i) {
      Endpoint& endpoint = endpoints[bindings[i].name];
      endpoint.spec = bindings[i].spec;
      endpoint.places.emplace_back(executor, i);
    }
  };
  for (const auto& executor : executors_) {
    collect(executor.get(), executor->program().inputs(), inputs_);
    collect(executor.get(), executor->program().outputs(), outputs_);
  }
}

bool LoadedPlan::touchedByNetwork(const Endpoint& endpoint, bool input) const {
  for (const auto& [executor, index] : endpoint.places) {
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
  for (auto* endpoints : {&inputs_, &outputs_}) {
    for (auto& [name, endpoint] : *endpoints) {
      if (touchedByNetwork(endpoint, endpoints == &inputs_)) {
        GR_ASSIGN_OR_RETURN(endpoint.staging,
                            allocate(0, std::max<size_t>(endpoint.spec.byteSize(), 1)));
      }
    }
  }
  return absl::OkStatus();
}

std::optional<HostTensor> LoadedPlan::makeTensor(const Endpoint& endpoint) const {
  for (const auto& [executor, index] : endpoint.places) {
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
  for (const auto& [executor, index] : endpoint.places) {
    executor->bindInput(index, data);
  }
}

void LoadedPlan::bindOutput(const Endpoint& endpoint, void* data) {
  for (const auto& [executor, index] : endpoint.places) {
    executor->bindOutput(index, data);
  }
}

absl::Status LoadedPlan::run(uint64_t firstStep, uint32_t steps, int64_t deadlineNanos) {
  if (steps == 0) {
    return absl::InvalidArgumentError("a run needs at least one step");
  }
  std::lock_guard lock(runMutex_);
  if (broken()) {
    return absl::FailedPreconditionError(absl::StrCat(
        "the plan was stopped by an earlier failure on worker ", worker_, "; load it again"));
  }
  control_.begin(deadlineNanos);
  running_.store(true);
  bool ok = runExecutors(firstStep, steps);
  running_.store(false);
  return ok ? absl::OkStatus() : failureStatus();
}

bool LoadedPlan::runExecutors(uint64_t firstStep, uint32_t steps) {
  if (executors_.empty()) {
    return true;
  }
  if (threads_.empty()) {
    Executor& only = *executors_[0];
    // Whoever shares an edge with others must not keep them waiting.
    return edges_.empty() ? memory_->parts[0].owner->turns.run(&only, firstStep, steps)
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
  if (edges_.empty()) {
    control_.reset();  // nothing is left half done
  }
  if (failure->device.empty()) {
    return failure->status;
  }
  FirstCause cause{failure->label, "", failure->device, worker_};
  return withFirstCause(annotateKeepingCause(failure->status, cause.toString()), cause);
}

void LoadedPlan::cancel(const absl::Status& cause) {
  if (running_.load()) {
    control_.fail({cause, "", ""});
  }
}

std::vector<TraceStream> LoadedPlan::trace() const {
  std::vector<TraceStream> streams;
  streams.reserve(executors_.size());
  for (const auto& executor : executors_) {
    streams.push_back(executor->trace());
    streams.back().plan = plan_->hash();
  }
  return streams;
}

}  // namespace graphrun::runtime
