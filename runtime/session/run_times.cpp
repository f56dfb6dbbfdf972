#include "runtime/session/run_times.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "devices/device.h"
#include "runtime/base/log.h"
#include "runtime/base/median.h"
#include "runtime/format/weight_table.h"
#include "runtime/session/profile/companions.h"

namespace graphrun::runtime {
namespace {

using NodeId = std::pair<uint32_t, uint32_t>;  // device, position in its partition
using Labels = std::map<std::string, uint32_t>;

/// Nodes of a partition by the labels that their kernels may have.
Labels nodesByLabel(const format::Partition& partition) {
  Labels nodes;
  for (uint32_t n = 0; n < format::sizeOf(partition.nodes()); ++n) {
    nodes[partition.nodes()->Get(n)->label()->str()] = n;
  }
  for (uint32_t n = 0; n < format::sizeOf(partition.nodes()); ++n) {
    const auto* members = partition.nodes()->Get(n)->members();
    for (uint32_t i = 0; i < format::sizeOf(members); ++i) {
      nodes.try_emplace(members->Get(i)->str(), n);
    }
  }
  return nodes;
}

/// A NodeRun is a step's record of a node.
struct NodeRun {
  int64_t ns = 0;
  int64_t start = std::numeric_limits<int64_t>::max();  // of its first kernel
  int64_t end = 0;                                      // of its last
};

/// A Passage is a step's record of an edge. Times of the first process's clock; -1: nothing.
struct Passage {
  int64_t sendStart = -1;
  int64_t sendEnd = -1;
  int64_t receiveStart = -1;
  int64_t receiveEnd = -1;
  int64_t sendLayoutNs = 0;  // changes of layout for it, at both ends
  int64_t readLayoutNs = 0;

  bool isWhole() const { return sendStart >= 0 && receiveStart >= 0; }
  /// Returns the time that the sender is busy with it, until the receiver has it if that is sooner.
  int64_t sendNs() const {
    return sendLayoutNs + (isWaitedFor() ? std::min(sendEnd, receiveEnd) : sendEnd) - sendStart;
  }
  bool isWaitedFor() const { return isWhole() && receiveStart < sendEnd && receiveEnd > sendStart; }
  int64_t ns() const { return isWaitedFor() ? std::max<int64_t>(receiveEnd - sendEnd, 0) : 0; }

  /// Returns whether it may have been under way during a part of `run`. One that nobody waited for
  /// may have come long before it was received.
  bool meets(const NodeRun& run) const {
    return sendStart >= 0 && sendStart < run.end && receiveEnd > run.start;
  }
};

/// One step of all devices.
struct Step {
  std::map<NodeId, NodeRun> nodes;
  std::map<uint32_t, Passage> edges;
  std::set<std::pair<uint32_t, NodeId>> ends;           // edges and nodes that send or receive them
  int64_t begin = std::numeric_limits<int64_t>::max();  // of the first node's first kernel
  int64_t end = 0;
  std::set<uint32_t> devices;  // that recorded it whole
};

/// Adds what one device recorded to the steps.
class StreamReader {
 public:
  StreamReader(const TraceStream& stream, int64_t clockOffset, uint32_t device, const Labels& nodes,
               std::map<uint64_t, Step>& steps)
      : stream_(stream), offset_(clockOffset), device_(device), steps_(steps) {
    for (const auto& [label, node] : nodes) {
      nodes_.insert(node);
    }
    kernels_.reserve(stream.kernelNames.size());
    for (const std::string& name : stream.kernelNames) {
      auto found = nodes.find(name);
      kernels_.push_back(found == nodes.end() ? std::nullopt : std::optional(found->second));
    }
  }

  /// A step is whole when its events have not given way: all between its first record and its last.
  void read() {
    std::vector<TraceEvent> events;
    bool first = true;
    for (const TraceEvent& event : stream_.events) {
      if (event.kind != TraceKind::kStep) {
        events.push_back(event);
        continue;
      }
      if (!first || (!events.empty() && events.front().startNs == event.startNs)) {
        add(events, event);
      }
      first = false;
      events.clear();
    }
  }

 private:
  void add(const std::vector<TraceEvent>& events, const TraceEvent& whole) {
    Step& step = steps_[whole.step];
    step.end = std::max(step.end, whole.endNs + offset_);
    step.devices.insert(device_);
    for (uint32_t node : nodes_) {
      if (!stream_.kernelTimes.has_value()) {
        step.nodes.try_emplace({device_, node});
      }
    }
    layoutNs_ = 0;
    received_.clear();
    last_.reset();
    for (const TraceEvent& event : events) {
      switch (event.kind) {
        case TraceKind::kKernel:
          addKernel(event, step);
          break;
        case TraceKind::kSend:
          addSend(event, step);
          break;
        case TraceKind::kReceive: {
          Passage& passage = step.edges[event.id];
          passage.receiveStart = event.startNs + offset_;
          passage.receiveEnd = event.endNs + offset_;
          received_.push_back(event.id);
          break;
        }
        case TraceKind::kStep:
          break;
      }
    }
  }

  /// Adds a kernel that is no node's own, and so changes a layout: for what was just received, else
  /// for the node or send that comes next.
  void addKernel(const TraceEvent& event, Step& step) {
    int64_t ns = event.endNs - event.startNs;
    if (stream_.kernelTimes.has_value()) {  // a launch, or a wait
      step.begin = std::min(step.begin, event.startNs + offset_);
      return;
    }
    std::optional<uint32_t> node = event.id < kernels_.size() ? kernels_[event.id] : std::nullopt;
    if (!node.has_value()) {
      layoutNs_ += ns;
      return;
    }
    if (received_.empty()) {
      ns += layoutNs_;
    }
    for (uint32_t edge : received_) {
      step.edges[edge].readLayoutNs += layoutNs_ / static_cast<int64_t>(received_.size());
      step.ends.insert({edge, {device_, *node}});
    }
    layoutNs_ = 0;
    received_.clear();
    last_ = node;
    NodeRun& run = step.nodes[{device_, *node}];
    run.ns += ns;
    run.start = std::min(run.start, event.startNs + offset_);
    run.end = std::max(run.end, event.endNs + offset_);
    step.begin = std::min(step.begin, event.startNs + offset_);
  }

  void addSend(const TraceEvent& event, Step& step) {
    Passage& passage = step.edges[event.id];
    passage.sendStart = event.startNs + offset_;
    passage.sendEnd = event.endNs + offset_;
    passage.sendLayoutNs += layoutNs_;
    layoutNs_ = 0;
    if (last_.has_value()) {
      step.ends.insert({event.id, {device_, *last_}});
    }
  }

  const TraceStream& stream_;
  int64_t offset_;
  uint32_t device_;
  std::map<uint64_t, Step>& steps_;
  std::set<uint32_t> nodes_;
  std::vector<std::optional<uint32_t>> kernels_;  // by TraceEvent::id: the node
  int64_t layoutNs_ = 0;                          // that nothing has been charged with
  std::vector<uint32_t> received_;                // edges since the last node
  std::optional<uint32_t> last_;                  // node
};

/// Bytes that the kernels of a node need.
using Memory = std::map<NodeId, devices::RecordMemory>;

/// ns by nodes of devices with a clock of their own.
using OwnTimes = std::map<NodeId, int64_t>;

/// Adds what a stream says of its kernels; scratch of kernels that follow each other is one. Each
/// stream of a device has all of its kernels: the most that one says counts.
void addMemory(const TraceStream& stream, uint32_t device, const Labels& nodes, Memory& memory) {
  size_t known = std::min(
      {stream.kernelNames.size(), stream.kernelWeights.size(), stream.kernelScratch.size()});
  std::map<uint32_t, devices::RecordMemory> sums;
  for (size_t i = 0; i < known; ++i) {
    if (auto node = nodes.find(stream.kernelNames[i]); node != nodes.end()) {
      devices::RecordMemory& sum = sums[node->second];
      sum.weights += stream.kernelWeights[i];
      sum.scratch = std::max(sum.scratch, stream.kernelScratch[i]);
    }
  }
  for (const auto& [node, sum] : sums) {
    devices::RecordMemory& most = memory[{device, node}];
    most.weights = std::max(most.weights, sum.weights);
    most.scratch = std::max(most.scratch, sum.scratch);
  }
}

uint64_t typicalNanos(std::vector<int64_t> values) {
  return static_cast<uint64_t>(std::max<int64_t>(median(std::move(values)), 0));
}

/// Nodes of a device by its own clock; all of them as soon as it has told anything. What runs its
/// kernels by turns measures each for itself: the longest counts.
void addKernelTimes(const TraceStream& stream, uint32_t device, const Labels& nodes,
                    OwnTimes& times) {
  if (!stream.kernelTimes.has_value() || stream.kernelTimes->empty()) {
    return;
  }
  for (const auto& [label, node] : nodes) {
    times.try_emplace({device, node}, 0);
  }
  std::map<uint32_t, int64_t> sums;
  for (const KernelTime& kernel : *stream.kernelTimes) {
    if (auto node = nodes.find(kernel.label); node != nodes.end()) {
      sums[node->second] += static_cast<int64_t>(kernel.ns);
    }
  }
  for (const auto& [node, ns] : sums) {
    int64_t& longest = times[{device, node}];
    longest = std::max(longest, ns);
  }
}

/// NodeRuns are the steps' records of a node.
struct NodeRuns {
  std::vector<int64_t> ns;
  size_t disturbed = 0;         // of them: while a tensor was under way from or to the worker
  std::vector<double> company;  // RunTimes::Node::company
};

/// EdgeRuns are the steps' records of an edge.
struct EdgeRuns {
  std::vector<int64_t> ns;  // where it was waited for
  std::vector<int64_t> sendNs;
  std::vector<int64_t> readNs;

  void add(const Passage& passage) {
    if (passage.isWaitedFor()) {
      ns.push_back(passage.ns());
    }
    sendNs.push_back(passage.sendNs());
    readNs.push_back(passage.readLayoutNs);
  }
};

/// The workers at the ends of an edge, as indices in the plan.
using WorkerPair = std::pair<uint32_t, uint32_t>;

WorkerPair workersOf(const format::PlanFile& plan, uint32_t edge) {
  return {plan.device(plan.edge(edge).source()).worker(),
          plan.device(plan.edge(edge).target()).worker()};
}

/// By their workers, how long tensors are under way at most, as far as those tell that were waited
/// for.
std::map<WorkerPair, int64_t> longestPassages(const format::PlanFile& plan,
                                              const std::map<uint64_t, const Step*>& steps) {
  constexpr int64_t kSlow = 4;  // times the median: large ones take longer
  std::map<WorkerPair, std::vector<int64_t>> times;
  for (const auto& [number, step] : steps) {
    for (const auto& [edge, passage] : step->edges) {
      if (passage.isWaitedFor()) {
        times[workersOf(plan, edge)].push_back(passage.receiveEnd - passage.sendStart);
      }
    }
  }
  std::map<WorkerPair, int64_t> longest;
  for (auto& [workers, all] : times) {
    longest[workers] = kSlow * median(std::move(all));
  }
  return longest;
}

/// The edges of a step between workers, by each of the two.
std::map<uint32_t, std::vector<Passage>> passagesOf(const format::PlanFile& plan, const Step& step,
                                                    const std::map<WorkerPair, int64_t>& longest) {
  std::map<uint32_t, std::vector<Passage>> passages;
  for (const auto& [edge, recorded] : step.edges) {
    const WorkerPair workers = workersOf(plan, edge);
    Passage passage = recorded;
    if (auto known = longest.find(workers); known != longest.end() && !passage.isWaitedFor()) {
      passage.receiveEnd = std::min(passage.receiveEnd, passage.sendEnd + known->second);
    }
    if (workers.first != workers.second) {
      passages[workers.first].push_back(passage);
      passages[workers.second].push_back(passage);
    }
  }
  return passages;
}

void addNodes(const format::PlanFile& plan, const Step& step,
              const std::map<WorkerPair, int64_t>& longest, std::map<NodeId, NodeRuns>& nodes) {
  std::map<uint32_t, std::vector<Passage>> passages = passagesOf(plan, step, longest);
  for (const auto& entry : step.nodes) {
    const NodeRun& run = entry.second;
    const std::vector<Passage>& around = passages[plan.device(entry.first.first).worker()];
    NodeRuns& runs = nodes[entry.first];
    runs.ns.push_back(run.ns);
    if (std::any_of(around.begin(), around.end(),
                    [&](const Passage& passage) { return passage.meets(run); })) {
      ++runs.disturbed;
    }
  }
}

/// Steps may be in flight beside each other, so that nodes of one have company of another.
void addCompany(const format::PlanFile& plan, const std::map<uint64_t, const Step*>& steps,
                absl::Span<const std::string> machines, std::map<NodeId, NodeRuns>& nodes) {
  if (machines.empty()) {
    return;
  }
  Companions companions(plan, machines);
  auto forRuns = [&](const auto& visit) {
    for (const auto& [number, step] : steps) {
      for (const auto& [node, run] : step->nodes) {
        if (run.end > run.start) {
          visit(node, run);
        }
      }
    }
  };
  forRuns([&](const NodeId& node, const NodeRun& run) {
    companions.add(node.first, run.start, run.end);
  });
  forRuns([&](const NodeId& node, const NodeRun& run) {
    nodes[node].company.push_back(companions.of(node.first, run.start, run.end));
  });
}

RunTimes mediansOf(const format::PlanFile& plan, const std::map<uint64_t, const Step*>& steps,
                   absl::Span<const std::string> machines, const OwnTimes& own,
                   const Memory& memory) {
  std::map<NodeId, NodeRuns> nodes;
  for (const auto& [node, ns] : own) {
    nodes[node].ns = {ns};
  }
  std::map<uint32_t, EdgeRuns> edges;
  std::set<std::pair<uint32_t, NodeId>> ends;
  RunTimes times;
  const std::map<WorkerPair, int64_t> longest = longestPassages(plan, steps);
  for (const auto& [number, step] : steps) {
    addNodes(plan, *step, longest, nodes);
    for (const auto& [edge, passage] : step->edges) {
      if (passage.isWhole()) {
        edges[edge].add(passage);
      }
    }
    ends.insert(step->ends.begin(), step->ends.end());
    times.spans[number] = static_cast<uint64_t>(std::max<int64_t>(step->end - step->begin, 0));
  }
  times.steps = steps.size();
  addCompany(plan, steps, machines, nodes);
  for (auto& [node, runs] : nodes) {
    auto bytes = memory.find(node);
    devices::RecordMemory known = bytes == memory.end() ? devices::RecordMemory() : bytes->second;
    bool isCalm = 2 * runs.disturbed < runs.ns.size();
    const double company = runs.company.empty() ? 0 : median(std::move(runs.company));
    times.nodes.push_back({node.first, node.second, typicalNanos(std::move(runs.ns)), isCalm,
                           company, known.weights, known.scratch});
  }
  for (const auto& [edge, node] : ends) {
    times.ends.push_back(
        {edge, static_cast<size_t>(std::distance(nodes.begin(), nodes.find(node)))});
  }
  for (auto& [edge, runs] : edges) {
    const bool isWaitedFor = !runs.ns.empty();
    times.edges.push_back({edge, isWaitedFor ? typicalNanos(std::move(runs.ns)) : 0, isWaitedFor,
                           typicalNanos(std::move(runs.sendNs)),
                           typicalNanos(std::move(runs.readNs))});
  }
  return times;
}

/// The first edge that a worker says its device sent or received and that the plan does not give to
/// that device; nothing where there is none.
std::optional<uint32_t> foreignEdge(const format::PlanFile& plan, uint32_t device,
                                    const TraceStream& stream) {
  for (const TraceEvent& event : stream.events) {
    const bool sends = event.kind == TraceKind::kSend;
    if (!sends && event.kind != TraceKind::kReceive) {
      continue;
    }
    if (event.id >= plan.edgeCount() ||
        (sends ? plan.edge(event.id).source() : plan.edge(event.id).target()) != device) {
      return event.id;
    }
  }
  return std::nullopt;
}

}  // namespace

RunTimes runTimes(const format::PlanFile& plan, absl::Span<const TraceProcess> processes,
                  absl::Span<const std::string> machines) {
  std::map<uint64_t, Step> steps;
  Memory memory;
  OwnTimes own;
  for (const TraceProcess& process : processes) {
    for (const TraceStream& stream : process.streams) {
      std::optional<uint32_t> device = plan.findDevice(stream.name);
      if (!device.has_value() || stream.plan != plan.hash()) {
        continue;
      }
      if (std::optional<uint32_t> edge = foreignEdge(plan, *device, stream)) {
        log(LogLevel::kWarning, absl::StrCat("what worker ", process.name, " recorded of ",
                                             stream.name, " is not used: it names edge ", *edge,
                                             ", which the plan does not give it"));
        continue;
      }
      if (const format::Partition* partition = plan.partitionOn(*device)) {
        Labels nodes = nodesByLabel(*partition);
        StreamReader(stream, process.clockOffsetNs, *device, nodes, steps).read();
        addMemory(stream, *device, nodes, memory);
        addKernelTimes(stream, *device, nodes, own);
      }
    }
  }
  std::map<uint64_t, const Step*> whole;
  for (const auto& [number, step] : steps) {
    if (step.devices.size() == format::sizeOf(plan.plan().partitions())) {
      whole[number] = &step;
    }
  }
  return mediansOf(plan, whole, machines, own, memory);
}

StepTimes timesOf(const format::PlanFile& plan, absl::Span<const TraceProcess> processes) {
  RunTimes times = runTimes(plan, processes);
  StepTimes step;
  step.steps = times.steps;
  step.nodes.reserve(times.nodes.size());
  for (const RunTimes::Node& time : times.nodes) {
    const format::PlanNode& node = *plan.partitionOn(time.device)->nodes()->Get(time.node);
    step.nodes.push_back({node.label()->str(), plan.device(time.device).name()->str(),
                          node.predicted_ns(), node.measured(), time.ns});
  }
  step.edges.reserve(times.edges.size());
  for (const RunTimes::Edge& time : times.edges) {
    if (!time.isWaitedFor) {
      continue;
    }
    const format::Edge& edge = plan.edge(time.edge);
    step.edges.push_back({std::string(format::textOf(edge.name())),
                          plan.device(edge.source()).name()->str(),
                          plan.device(edge.target()).name()->str(), edge.bytes(), time.wholeNs()});
  }
  return step;
}

}  // namespace graphrun::runtime
