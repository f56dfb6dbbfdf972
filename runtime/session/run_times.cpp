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

/// What a step recorded of a node.
struct NodeRun {
  int64_t ns = 0;
  int64_t start = std::numeric_limits<int64_t>::max();  // of its first kernel
  int64_t end = 0;                                      // of its last
};

/// What a step recorded of an edge. Times of the first process's clock; -1: nothing.
struct Passage {
  int64_t sendStart = -1;
  int64_t sendEnd = -1;
  int64_t receiveStart = -1;
  int64_t receiveEnd = -1;
  int64_t layoutNs = 0;  // changes of layout for it, at both ends

  std::optional<int64_t> ns() const {
    bool whole = sendStart >= 0 && receiveStart >= 0;
    return whole && receiveStart < sendEnd && receiveEnd > sendStart
               ? std::optional(receiveEnd - sendStart + layoutNs)
               : std::nullopt;
  }

  /// Whether it may have been under way during a part of `run`. One that nobody waited for may have
  /// come long before it was received.
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
      if (!stream_.stepTimes.has_value()) {
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

  /// What is no node's own kernel changes a layout: for what was just received, else for the node
  /// or send that comes next.
  void addKernel(const TraceEvent& event, Step& step) {
    int64_t ns = event.endNs - event.startNs;
    if (stream_.stepTimes.has_value()) {  // a launch, or a wait
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
      step.edges[edge].layoutNs += layoutNs_ / static_cast<int64_t>(received_.size());
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
    passage.layoutNs += layoutNs_;
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
/// steps by turns measures each for itself: the longest counts.
void addStepTimes(const TraceStream& stream, uint32_t device, const Labels& nodes,
                  OwnTimes& times) {
  if (!stream.stepTimes.has_value() || stream.stepTimes->empty()) {
    return;
  }
  for (const auto& [label, node] : nodes) {
    times.try_emplace({device, node}, 0);
  }
  std::map<uint32_t, int64_t> sums;
  for (const StepTime& step : *stream.stepTimes) {
    if (auto node = nodes.find(step.label); node != nodes.end()) {
      sums[node->second] += static_cast<int64_t>(step.ns);
    }
  }
  for (const auto& [node, ns] : sums) {
    int64_t& longest = times[{device, node}];
    longest = std::max(longest, ns);
  }
}

/// What the steps recorded of a node.
struct NodeRuns {
  std::vector<int64_t> ns;
  size_t disturbed = 0;  // of them: while a tensor was under way from or to the worker
};

/// The edges of a step between workers, by each of the two.
std::map<uint32_t, std::vector<Passage>> passagesOf(const format::PlanFile& plan,
                                                    const Step& step) {
  std::map<uint32_t, std::vector<Passage>> passages;
  for (const auto& [edge, passage] : step.edges) {
    uint32_t from = plan.device(plan.edge(edge).source()).worker();
    uint32_t to = plan.device(plan.edge(edge).target()).worker();
    if (from != to) {
      passages[from].push_back(passage);
      passages[to].push_back(passage);
    }
  }
  return passages;
}

void addNodes(const format::PlanFile& plan, const Step& step, std::map<NodeId, NodeRuns>& nodes) {
  std::map<uint32_t, std::vector<Passage>> passages = passagesOf(plan, step);
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

RunTimes mediansOf(const format::PlanFile& plan, const std::map<uint64_t, const Step*>& steps,
                   const OwnTimes& own, const Memory& memory) {
  std::map<NodeId, NodeRuns> nodes;
  for (const auto& [node, ns] : own) {
    nodes[node].ns = {ns};
  }
  std::map<uint32_t, std::vector<int64_t>> edges;
  std::set<std::pair<uint32_t, NodeId>> ends;
  RunTimes times;
  for (const auto& [number, step] : steps) {
    addNodes(plan, *step, nodes);
    for (const auto& [edge, passage] : step->edges) {
      if (std::optional<int64_t> ns = passage.ns()) {
        edges[edge].push_back(*ns);
      }
    }
    ends.insert(step->ends.begin(), step->ends.end());
    times.spans[number] = static_cast<uint64_t>(std::max<int64_t>(step->end - step->begin, 0));
  }
  times.steps = steps.size();
  for (auto& [node, runs] : nodes) {
    auto bytes = memory.find(node);
    devices::RecordMemory known = bytes == memory.end() ? devices::RecordMemory() : bytes->second;
    bool isCalm = 2 * runs.disturbed < runs.ns.size();
    times.nodes.push_back({node.first, node.second, typicalNanos(std::move(runs.ns)), isCalm,
                           known.weights, known.scratch});
  }
  for (const auto& [edge, node] : ends) {
    times.ends.push_back(
        {edge, static_cast<size_t>(std::distance(nodes.begin(), nodes.find(node)))});
  }
  for (auto& [edge, values] : edges) {
    times.edges.push_back({edge, typicalNanos(std::move(values))});
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

RunTimes runTimes(const format::PlanFile& plan, absl::Span<const TraceProcess> processes) {
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
        addStepTimes(stream, *device, nodes, own);
      }
    }
  }
  std::map<uint64_t, const Step*> whole;
  for (const auto& [number, step] : steps) {
    if (step.devices.size() == format::sizeOf(plan.plan().partitions())) {
      whole[number] = &step;
    }
  }
  return mediansOf(plan, whole, own, memory);
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
    const format::Edge& edge = plan.edge(time.edge);
    step.edges.push_back({std::string(format::textOf(edge.name())),
                          plan.device(edge.source()).name()->str(),
                          plan.device(edge.target()).name()->str(), edge.bytes(), time.ns});
  }
  return step;
}

}  // namespace graphrun::runtime
