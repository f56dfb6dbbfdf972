#include "placement/simulator/simulator.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "placement/simulator/memory_profile.h"
#include "placement/simulator/placed_costs.h"
#include "placement/simulator/ports.h"
#include "placement/simulator/step_totals.h"
#include "placement/simulator/steps_in_flight.h"
#include "runtime/base/status.h"

namespace graphrun::placement {
namespace {

absl::Status checkPlacement(const CostGraph& graph, const Cluster& cluster,
                            const Placement& placement) {
  size_t count = graph.nodes.size();
  if (placement.device.size() != count || placement.rank.size() != count) {
    return absl::InvalidArgumentError(absl::StrCat("placement: got ", placement.device.size(),
                                                   " devices and ", placement.rank.size(),
                                                   " ranks, expected ", count, " of each"));
  }
  std::vector<bool> seen(count, false);
  for (size_t n = 0; n < count; ++n) {
    int device = placement.device[n];
    int rank = placement.rank[n];
    if (device < 0 || device >= static_cast<int>(cluster.devices.size()) ||
        !graph.nodes[n].supports(device)) {
      return absl::InvalidArgumentError(absl::StrCat("placement: node '", graph.nodes[n].name,
                                                     "' cannot run on device ", device));
    }
    if (rank < 0 || rank >= static_cast<int>(count) || seen[static_cast<size_t>(rank)]) {
      return absl::InvalidArgumentError(
          absl::StrCat("placement: node '", graph.nodes[n].name, "' has rank ", rank,
                       ", expected a permutation of 0 to ", count - 1));
    }
    seen[static_cast<size_t>(rank)] = true;
  }
  return absl::OkStatus();
}

/// The state of one run. An event is the end of a node or of a transfer.
class Run {
 public:
  Run(const Simulator& simulator, const Placement& placement)
      : simulator_(simulator),
        graph_(simulator.graph()),
        cores_(simulator.cores()),
        collectives_(simulator.collectives()),
        placement_(placement),
        placed_{placement},
        byDevice_(simulator.cluster().devices.size()),
        byCore_(cores_.isShared() ? static_cast<size_t>(cores_.count()) : 0),
        onCore_(static_cast<size_t>(cores_.count())),
        ports_(portUse(graph_, simulator.cluster(), placement)),
        toCome_(byDevice_.size(), 0),
        missing_(graph_.nodes.size(), 0),
        linkFree_(simulator.links().links().size(), 0),
        sideFree_(simulator.links().sides().size(), 0),
        sideBusy_(sideFree_.size(), 0) {
    result_.ops.resize(graph_.nodes.size());
    result_.firstTransfer.assign(graph_.tensors.size(), -1);
    result_.devices.resize(byDevice_.size());
    result_.links.resize(linkFree_.size());
    for (int n : placement.order()) {
      byDevice_[static_cast<size_t>(deviceOf(n))].push_back(n);
      missing_[static_cast<size_t>(n)] = static_cast<int>(graph_.node(n).inputs.size());
      if (cores_.isShared()) {
        forCores(n, [&](int core) { byCore_[static_cast<size_t>(core)].push_back(n); });
      }
    }
    for (int c = 0; c < cores_.count(); ++c) {
      auto id = static_cast<size_t>(c);
      core(c).nodes = cores_.isShared() ? byCore_[id] : byDevice_[id];
      core(c).lanes = device(static_cast<size_t>(cores_.devices(c).front())).lanes;
    }
    for (size_t d = 0; d < byDevice_.size(); ++d) {
      toCome_[d] = ports_[d].arrivals;
    }
    findWaiting();
  }

  absl::StatusOr<Simulation> run() {
    start();
    while (!events_.empty()) {
      auto [time, rank, isTransfer, id] = events_.top();
      events_.pop();
      result_.stepNs = std::max(result_.stepNs, time);
      isTransfer ? finishTransfer(id, time) : finishNode(id, time);
    }
    GR_RETURN_IF_ERROR(checkAllRan());
    addTotals(simulator_, byDevice_, ports_, sideBusy_, result_);
    profileMemory(simulator_, placement_, byDevice_, result_);
    return std::move(result_);
  }

 private:
  /// Time; rank of the node or of the transfer's producer; is a transfer; node or transfer. What
  /// happens at one time happens in the order of ranks, so that no cause comes after its effect.
  using Event = std::tuple<int64_t, int, bool, int>;

  /// A Core holds the queue of what runs on it.
  struct Core {
    absl::Span<const int> nodes;  // in their order
    size_t next = 0;              // nodes that have started
    int running = 0;
    int lanes = 1;
  };

  /// The nodes that wait for a tensor on one endpoint: a range of `receivers_`.
  struct Delivery {
    size_t begin;
    size_t end;
  };

  const Device& device(size_t d) const { return simulator_.cluster().devices[d]; }
  int deviceOf(int node) const { return placement_.device[static_cast<size_t>(node)]; }
  /// Calls `visit` with each core of the node's device.
  template <typename Visit>
  void forCores(int node, const Visit& visit) const {
    if (!cores_.isShared()) {
      visit(deviceOf(node));
      return;
    }
    for (int core : cores_.of(deviceOf(node))) {
      visit(core);
    }
  }
  Core& core(int id) { return onCore_[static_cast<size_t>(id)]; }
  /// The first core of a device.
  Core& coreOf(size_t device) {
    return core(cores_.isShared() ? cores_.of(static_cast<int>(device)).front()
                                  : static_cast<int>(device));
  }
  /// Finds which nodes wait for what other devices do before they come to a collective.
  void findWaiting() {
    waiting_.resize(collectives_.empty() ? 0 : graph_.nodes.size());
    for (size_t n = 0; n < waiting_.size(); ++n) {
      const int node = static_cast<int>(n);
      if (!collectives_.isEntry(placed_, node)) {
        continue;
      }
      const int collective = graph_.node(node).collective;
      const int first = collectives_.firstStep(collective, placed_);
      for (int device : collectives_.devicesOf(collective, placed_)) {
        for (int id : cores_.of(device)) {
          if (int last = lastBefore(first, id); last >= 0) {
            waiting_[static_cast<size_t>(last)].push_back(node);
            ++missing_[n];
          }
        }
      }
    }
  }

  /// The last node on a core that comes before a node; -1: none.
  int lastBefore(int node, int id) const {
    absl::Span<const int> nodes = onCore_[static_cast<size_t>(id)].nodes;
    auto after = std::partition_point(nodes.begin(), nodes.end(),
                                      [&](int other) { return rankOf(other) < rankOf(node); });
    return after == nodes.begin() ? -1 : *(after - 1);
  }

  int rankOf(int node) const { return node < 0 ? -1 : placement_.rank[static_cast<size_t>(node)]; }

  void start() {
    for (int t = 0; t < graph_.tensorCount(); ++t) {
      if (graph_.tensor(t).producer < 0) {
        publish(t, graph_.tensor(t).inputHome, 0);
      }
    }
    for (size_t d = 0; d < byDevice_.size(); ++d) {
      startDevice(d);
    }
  }

  void startDevice(size_t d) {
    if (device(d).isOffload) {
      startOffload(d, 0);
      return;
    }
    startNext(coreOf(d), 0);
    for (int n : byDevice_[d]) {
      if (device(d).lanes == 0 && graph_.node(n).inputs.empty()) {
        startNode(n, 0);
      }
    }
  }

  /// The tensor exists on `home`: hands it to the consumers there and queues it for the others.
  void publish(int t, int home, int64_t now) {
    const CostTensor& tensor = graph_.tensor(t);
    size_t begin = receivers_.size();
    receivers_.insert(receivers_.end(), tensor.consumers.begin(), tensor.consumers.end());
    std::sort(receivers_.begin() + static_cast<std::ptrdiff_t>(begin), receivers_.end(),
              [&](int a, int b) { return std::pair(deviceOf(a), a) < std::pair(deviceOf(b), b); });
    bool outputSent = !tensor.isOutput || tensor.outputHome == home;
    begin = deliverSpared(t, home, begin, now);
    while (begin < receivers_.size()) {
      int device = deviceOf(receivers_[begin]);
      size_t end = begin;
      while (end < receivers_.size() && deviceOf(receivers_[end]) == device) {
        ++end;
      }
      if (!outputSent && tensor.outputHome < device) {
        send(t, home, tensor.outputHome, now, {begin, begin});
        outputSent = true;
      }
      outputSent = outputSent || device == tensor.outputHome;
      device == home ? deliver({begin, end}, now) : send(t, home, device, now, {begin, end});
      begin = end;
    }
    if (!outputSent) {
      send(t, home, tensor.outputHome, now, {begin, begin});
    }
  }

  /// Hands the tensor to those elsewhere that need not have it; the others begin at what it
  /// returns.
  size_t deliverSpared(int t, int home, size_t begin, int64_t now) {
    if (collectives_.empty()) {
      return begin;
    }
    auto isSpared = [&](int node) {
      return deviceOf(node) != home && collectives_.isSpared(t, node, placed_);
    };
    auto others = std::stable_partition(receivers_.begin() + static_cast<std::ptrdiff_t>(begin),
                                        receivers_.end(), isSpared);
    auto end = static_cast<size_t>(others - receivers_.begin());
    deliver({begin, end}, now);
    return end;
  }

  /// When a transfer has its turn on a side of an interface, if it asks at `now`.
  int64_t pass(int side, int64_t bytes, int64_t now) {
    if (side < 0) {
      return now;
    }
    int64_t& freeAt = sideFree_[static_cast<size_t>(side)];
    const int64_t begin = std::max(now, freeAt);
    const int64_t duration = simulator_.links().side(side).nanos(bytes);
    freeAt = begin + duration;
    sideBusy_[static_cast<size_t>(side)] += duration;
    return begin;
  }

  void send(int t, int from, int to, int64_t now, Delivery delivery) {
    int link = simulator_.links().id(from, to);
    int64_t bytes = graph_.tensor(t).bytes;
    const LinkInfo& info = simulator_.links().link(link);
    int64_t duration = simulator_.links().nanos(link, bytes);
    int64_t& freeAt = linkFree_[static_cast<size_t>(link)];
    int64_t begin = info.model.queues ? std::max(now, freeAt) : now;
    begin = pass(info.leaves, bytes, begin);
    const int64_t sent = info.leaves < 0 ? 0 : sideFree_[static_cast<size_t>(info.leaves)];
    begin = pass(info.enters, bytes, begin);
    int64_t end = begin + duration;
    freeAt = end;
    LinkUse& use = result_.links[static_cast<size_t>(link)];
    use.busyNs += duration;
    use.bytes += bytes;
    use.transfers += 1;
    int id = static_cast<int>(result_.transfers.size());
    if (result_.firstTransfer[static_cast<size_t>(t)] < 0) {
      result_.firstTransfer[static_cast<size_t>(t)] = id;
    }
    result_.transfers.push_back({t, from, to, link, now, begin, end, sent});
    deliveries_.push_back(delivery);
    events_.emplace(end, rankOf(graph_.tensor(t).producer), true, id);
  }

  void deliver(Delivery delivery, int64_t now) {
    for (size_t i = delivery.begin; i < delivery.end; ++i) {
      arrive(receivers_[i], now);
    }
  }

  /// One thing less that a node waits for.
  void arrive(int node, int64_t now) {
    auto d = static_cast<size_t>(deviceOf(node));
    if (--missing_[static_cast<size_t>(node)] == 0 && !device(d).isOffload) {
      device(d).lanes == 0 ? startNode(node, now) : startNext(coreOf(d), now);
    }
  }

  /// Returns whether the node is the next one on each core of its device.
  bool hasTurn(int node) {
    absl::Span<const int> cores = cores_.of(deviceOf(node));
    return std::all_of(cores.begin(), cores.end(), [&](int id) {
      const Core& at = core(id);
      return at.running < at.lanes && at.next < at.nodes.size() && at.nodes[at.next] == node;
    });
  }

  /// Starts nodes of a core in rank order while it is their turn.
  void startNext(Core& at, int64_t now) {
    while (at.running < at.lanes && at.next < at.nodes.size()) {
      int node = at.nodes[at.next];
      if (missing_[static_cast<size_t>(node)] > 0 || (cores_.isShared() && !hasTurn(node))) {
        return;
      }
      startNode(node, now);
    }
  }

  void startNode(int node, int64_t now) {
    forCores(node, [&](int id) {
      ++core(id).next;
      ++core(id).running;
    });
    int64_t finish = runNode(node, now);
    events_.emplace(finish, rankOf(node), false, node);
  }

  int64_t runNode(int node, int64_t now) {
    auto d = static_cast<size_t>(deviceOf(node));
    int64_t duration = PlacedCosts(simulator_, placed_).nodeNs(node);
    result_.ops[static_cast<size_t>(node)] = {now, now + duration};
    result_.devices[d].busyNs += duration;
    return now + duration;
  }

  /// All nodes of the device, if what they read from elsewhere is there. The event of its end is
  /// that of its last node.
  void startOffload(size_t d, int64_t now) {
    if (toCome_[d] > 0 || byDevice_[d].empty()) {
      return;
    }
    int64_t time = now + ports_[d].inNs;
    for (int n : byDevice_[d]) {
      time = runNode(n, time);
    }
    coreOf(d).next = byDevice_[d].size();
    int last = byDevice_[d].back();
    events_.emplace(time + ports_[d].outNs, rankOf(last), false, last);
  }

  void finishNode(int node, int64_t now) {
    auto d = static_cast<size_t>(deviceOf(node));
    if (device(d).isOffload) {
      for (int n : byDevice_[d]) {
        publishOutputs(n, now);
      }
      return;
    }
    forCores(node, [&](int id) { --core(id).running; });
    publishOutputs(node, now);
    for (size_t i = 0; !waiting_.empty() && i < waiting_[static_cast<size_t>(node)].size(); ++i) {
      arrive(waiting_[static_cast<size_t>(node)][i], now);
    }
    forCores(node, [&](int id) { startNext(core(id), now); });
  }

  void publishOutputs(int node, int64_t now) {
    for (int t : graph_.node(node).outputs) {
      publish(t, deviceOf(node), now);
    }
  }

  void finishTransfer(int id, int64_t now) {
    Delivery delivery = deliveries_[static_cast<size_t>(id)];
    int to = result_.transfers[static_cast<size_t>(id)].to;
    deliver(delivery, now);
    if (delivery.begin < delivery.end && device(static_cast<size_t>(to)).isOffload) {
      --toCome_[static_cast<size_t>(to)];
      startOffload(static_cast<size_t>(to), now);
    }
  }

  absl::Status checkAllRan() const {
    for (bool calls : {true, false}) {
      for (const Core& at : onCore_) {
        bool isLeft = at.next < at.nodes.size();
        if (isLeft && device(static_cast<size_t>(deviceOf(at.nodes[at.next]))).isOffload == calls) {
          return stuck(at.nodes);
        }
      }
    }
    return absl::OkStatus();
  }

  absl::Status stuck(absl::Span<const int> nodes) const {
    int node = *std::find_if(nodes.begin(), nodes.end(), [&](int n) {
      return missing_[static_cast<size_t>(n)] > 0 || n == nodes.back();
    });
    auto d = static_cast<size_t>(deviceOf(node));
    std::string why = device(d).isOffload
                          ? ": its nodes are one call, which needs what others make of its own "
                            "outputs; they must be contiguous"
                          : absl::StrCat(" at node '", graph_.node(node).name,
                                         "': the ranks are no topological order");
    return absl::InvalidArgumentError(
        absl::StrCat("placement: ", device(d).name, " waits for ever", why));
  }

  const Simulator& simulator_;
  const CostGraph& graph_;
  const CoreTable& cores_;
  const CollectiveGroups& collectives_;
  const Placement& placement_;
  PlacedBy placed_;
  std::vector<std::vector<int>> byDevice_;
  std::vector<std::vector<int>> byCore_;  // empty if that is the same
  std::vector<Core> onCore_;
  std::vector<PortUse> ports_;
  std::vector<int> toCome_;   // by device that is one call: tensors from elsewhere
  std::vector<int> missing_;  // by node: inputs not there yet, and devices not at its collective
  std::vector<std::vector<int>>
      waiting_;  // by node: who waits for it to meet; empty if nobody meets
  std::vector<int64_t> linkFree_;
  std::vector<int64_t> sideFree_;
  std::vector<int64_t> sideBusy_;
  std::vector<int> receivers_;
  std::vector<Delivery> deliveries_;  // by transfer
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  Simulation result_;
};

}  // namespace

const Transfer* Simulation::transfer(int tensor, int to) const {
  int first = firstTransfer[static_cast<size_t>(tensor)];
  for (size_t i = static_cast<size_t>(first);
       first >= 0 && i < transfers.size() && transfers[i].tensor == tensor; ++i) {
    if (transfers[i].to == to) {
      return &transfers[i];
    }
  }
  return nullptr;
}

Simulator::Simulator(const CostGraph& graph, const Cluster& cluster, SimulatorOptions options)
    : graph_(graph),
      cluster_(cluster),
      options_(forStepsOf(cluster, options)),
      links_(cluster),
      flat_(graph),
      cores_(cluster),
      collectives_(graph, cluster, links_),
      starts_(cluster, links_),
      crowding_(cluster),
      client_(cluster, cores_) {}

absl::StatusOr<Simulation> Simulator::run(const Placement& placement) const {
  GR_RETURN_IF_ERROR(checkPlacement(graph_, cluster_, placement));
  return Run(*this, placement).run();
}

}  // namespace graphrun::placement
