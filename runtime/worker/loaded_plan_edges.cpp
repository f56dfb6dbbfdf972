// The edges of a loaded plan: which devices move values themselves, the other ends, the slots.
#include <algorithm>
#include <set>

#include "absl/strings/str_cat.h"
#include "runtime/base/log.h"
#include "runtime/base/status.h"
#include "runtime/control/limits.h"
#include "runtime/format/weight_table.h"
#include "runtime/worker/plan_memory.h"

namespace graphrun::runtime {
namespace {

constexpr int64_t kPeerWaitNanos = 20'000'000'000;

/// The name of the device that an edge comes from.
absl::string_view sourceOf(const format::PlanFile& plan, uint32_t edge) {
  return format::textOf(plan.device(plan.edge(edge).source()).name());
}

}  // namespace

absl::Status LoadedPlan::waitForPeers(const PlanHome& home) {
  std::set<std::string> peers;
  for (const Memory::Part& part : memory_->parts) {
    auto addPeer = [&](uint32_t device) {
      peers.emplace(format::textOf(plan_->worker(plan_->device(device).worker()).name()));
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

bool LoadedPlan::canTransferDirectly(devices::Program& program, size_t edge) {
  const devices::DirectEdges* edges = program.directEdges();
  return edges != nullptr && edges->canTransferDirectly(edge);
}

/// Lets devices of this process move a value themselves where they can.
absl::Status LoadedPlan::handOverEdges() {
  for (size_t part = 0; part < memory_->parts.size(); ++part) {
    devices::Program& program = *memory_->parts[part].loaded.program;
    for (size_t edge = 0; edge < program.edges().size(); ++edge) {
      if (program.edges()[edge].send && canTransferDirectly(program, edge)) {
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
    if (to == from || end == ends.end() || !canTransferDirectly(*target.loaded.program, index)) {
      continue;
    }
    devices::DirectTransfers* transfers = source.owner->device->directTransfers();
    absl::Status access = transfers == nullptr
                              ? absl::UnimplementedError("no device of this kind does")
                              : transfers->canAccessPeer(*target.owner->device);
    if (!access.ok()) {
      if (!absl::IsUnimplemented(access)) {
        noteHostTransfer(to, id, access.message());
      }
      continue;
    }
    GR_RETURN_IF_ERROR(source.loaded.program->directEdges()->transferDirectly(
        edge, devices::DirectTransfer::kPeerCopy));
    GR_RETURN_IF_ERROR(target.loaded.program->directEdges()->transferDirectly(
        index, devices::DirectTransfer::kPeerCopy));
    ++reports_[to].handedOver;
    return absl::OkStatus();
  }
  return absl::OkStatus();
}

/// Tells why what part `part` gets by an edge goes by the host.
void LoadedPlan::noteHostTransfer(size_t part, uint32_t edge, absl::string_view why) {
  note(part, absl::StrCat("what comes from ", sourceOf(*plan_, edge),
                          " goes through the host's memory: ", why));
}

/// Adds to a part's notes what is not there yet; whether it did.
bool LoadedPlan::note(size_t part, const std::string& note) {
  std::vector<std::string>& notes = reports_[part].notes;
  bool isNew =
      notes.size() < kMaxWorkerNotes && std::find(notes.begin(), notes.end(), note) == notes.end();
  if (isNew) {
    notes.push_back(note);
  }
  return isNew;
}

/// Devices that copy what other devices of this process have on the host copy faster from locked
/// memory: whole arenas, as drivers refuse to copy what is locked in part.
void LoadedPlan::lockSources() {
  for (size_t to = 0; to < memory_->parts.size(); ++to) {
    const Memory::Part& target = memory_->parts[to];
    if (!target.owner->device->bindsHostMemory()) {
      continue;
    }
    for (const devices::EdgeBinding& end : target.loaded.program->edges()) {
      if (end.send || end.edge >= plan_->edgeCount()) {  // openEdge refuses the latter
        continue;
      }
      absl::Status locked = lockSource(to, end);
      std::string text =
          absl::StrCat("what comes from ", sourceOf(*plan_, end.edge),
                       " is copied from memory that is not locked: ", locked.message());
      if (!locked.ok() && note(to, text)) {
        log(LogLevel::kInfo, absl::StrCat(reports_[to].device, ": ", text));
      }
    }
  }
}

/// The arena from which part `to` copies what it receives; OK where that is not of this process, or
/// of a device that locks its memory itself.
absl::Status LoadedPlan::lockSource(size_t to, const devices::EdgeBinding& end) {
  auto source = std::find_if(
      memory_->parts.begin(), memory_->parts.end(),
      [&](const Memory::Part& part) { return part.device == plan_->edge(end.edge).source(); });
  if (source == memory_->parts.end() || source->owner->device->bindsHostMemory()) {
    return absl::OkStatus();
  }
  devices::Program& program = *source->loaded.program;
  absl::Span<uint8_t> arena = program.memory().hostArena;
  for (const devices::EdgeBinding& sent : program.edges()) {
    if (!sent.send || sent.edge != end.edge) {
      continue;
    }
    const auto* memory = static_cast<const uint8_t*>(program.buffers()[sent.buffer]);
    if (memory < arena.data() || memory >= arena.data() + arena.size()) {
      return absl::FailedPreconditionError("it is bound from outside, or a constant");
    }
  }
  if (source->lock == nullptr) {
    GR_ASSIGN_OR_RETURN(source->lock, memory_->parts[to].owner->device->pinHostMemory(arena));
  }
  return absl::OkStatus();
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
    executor->bindStates(part.states);
    executors_.push_back(std::move(executor));
    ends_ = std::move(ends);
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
  std::string peer(format::textOf(plan_->worker(plan_->device(other).worker()).name()));
  bool here = peer == worker_;
  Transport* transport = here ? local_.get() : network_.get();
  EdgeSpec spec;
  spec.plan = plan_->hash();
  spec.edge = binding.edge;
  spec.peer = here ? local_->rank() : home.ranks.at(peer);
  spec.maxBytes = edge.bytes();
  spec.slots = edge.slots();
  spec.inPlace = here && edge.mode() == format::TransferMode::InProcess;
  if (!here) {
    GR_ASSIGN_OR_RETURN(spec.memory, carryGpuMemory(home, part, binding, peer));
  }
  spec.owner = memory_;
  spec.name = absl::StrCat("'", format::textOf(edge.name()), "' from ",
                           format::textOf(plan_->device(edge.source()).name()), " to ",
                           format::textOf(plan_->device(edge.target()).name()));
  EdgeEnd end;
  if (binding.send) {
    GR_ASSIGN_OR_RETURN(end.send, transport->openSend(spec));
  } else {
    GR_ASSIGN_OR_RETURN(end, openReceiver(transport, spec, part, format::slotStride(edge)));
  }
  edges_.push_back({transport, end, memory_->parts[part].loaded.program.get(), binding.buffer});
  return end;
}

/// Returns where the payloads of an edge to or from another process lie at this end: in the
/// device's own memory if the networks of both carry that, as they agreed when they were linked.
absl::StatusOr<std::string> LoadedPlan::carryGpuMemory(const PlanHome& home, size_t part,
                                                       const devices::EdgeBinding& binding,
                                                       const std::string& peer) {
  Memory::Part& end = memory_->parts[part];
  devices::Program& program = *end.loaded.program;
  const auto index = static_cast<size_t>(&binding - program.edges().data());
  devices::DirectTransfers* transfers = end.owner->device->directTransfers();
  if (transfers == nullptr || !canTransferDirectly(program, index)) {
    return std::string();
  }
  if (!home.gpuPeers.contains(peer) || !network_->carries(transfers->memory())) {
    const format::PlanDevice& source = plan_->device(plan_->edge(binding.edge).source());
    if (!binding.send && format::textOf(source.kind()) == end.owner->device->description().kind) {
      noteHostTransfer(part, binding.edge,
                       !home.carriesGpuMemory.ok()
                           ? std::string(home.carriesGpuMemory.message())
                           : absl::StrCat("the network of worker ", peer, " carries nothing else"));
    }
    return std::string();
  }
  GR_RETURN_IF_ERROR(
      program.directEdges()->transferDirectly(index, devices::DirectTransfer::kNetwork));
  reports_[part].handedOver += binding.send ? 0 : 1;
  return std::string(transfers->memory());
}

absl::StatusOr<EdgeEnd> LoadedPlan::openReceiver(Transport* transport, const EdgeSpec& spec,
                                                 size_t part, size_t stride) {
  std::vector<void*> slots;
  if (!spec.inPlace) {
    GR_ASSIGN_OR_RETURN(void* memory, allocate(part, stride * spec.slots, !spec.memory.empty()));
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

absl::StatusOr<void*> LoadedPlan::allocate(size_t part, size_t bytes, bool isOwn) {
  Memory::Part& owner = memory_->parts[part];
  if (isOwn) {
    GR_ASSIGN_OR_RETURN(void* own, owner.owner->device->directTransfers()->allocateDevice(bytes));
    owner.own.push_back(own);
    owner.ownBytes += bytes;
    return own;
  }
  GR_ASSIGN_OR_RETURN(void* memory, owner.owner->device->allocate(bytes));
  owner.allocated.push_back(memory);
  return memory;
}

}  // namespace graphrun::runtime
