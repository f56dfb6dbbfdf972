#include "placement/simulator/critical_path.h"

#include <algorithm>

namespace graphrun::placement {
namespace {

class Walker {
 public:
  Walker(const Simulator& simulator, const Placement& placement, const Simulation& simulation)
      : graph_(simulator.graph()),
        cores_(simulator.cores()),
        collectives_(simulator.collectives()),
        placement_(placement),
        simulation_(simulation) {
    if (cores_.isShared()) {
      findNodesBefore();
    }
  }

  CriticalPath run() {
    startAtEnd();
    while (node_ >= 0 || transfer_ >= 0) {
      node_ >= 0 ? stepNode() : stepTransfer();
    }
    std::reverse(path_.segments.begin(), path_.segments.end());
    return std::move(path_);
  }

 private:
  int deviceOf(int node) const { return placement_.device[static_cast<size_t>(node)]; }
  int64_t finishOf(int node) const { return simulation_.ops[static_cast<size_t>(node)].finish; }

  /// By node: what had a core of its device last before it.
  void findNodesBefore() {
    before_.assign(graph_.nodes.size(), -1);
    std::vector<int> last(static_cast<size_t>(cores_.count()), -1);
    for (int n : placement_.order()) {
      int& before = before_[static_cast<size_t>(n)];
      for (int core : cores_.of(deviceOf(n))) {
        int& other = last[static_cast<size_t>(core)];
        before = before < 0 || (other >= 0 && finishOf(other) > finishOf(before)) ? other : before;
        other = n;
      }
    }
  }

  /// Returns the last node that a device of a node's collective ran before it came to that; -1
  /// where it meets nobody.
  int lastBefore(int node) const {
    const PlacedBy placed{placement_};
    if (!collectives_.isEntry(placed, node)) {
      return -1;
    }
    const int collective = graph_.node(node).collective;
    const std::vector<int> devices = collectives_.devicesOf(collective, placed);
    const int begin = placed.rank(collectives_.firstStep(collective, placed));
    int last = -1;
    for (int n = 0; n < graph_.nodeCount(); ++n) {
      bool isBefore =
          placed.rank(n) < begin && std::binary_search(devices.begin(), devices.end(), deviceOf(n));
      last = isBefore && (last < 0 || finishOf(n) > finishOf(last)) ? n : last;
    }
    return last;
  }

  void addWait(int node, int64_t start, int64_t finish) {
    int behind = before_.empty() ? -1 : before_[static_cast<size_t>(node)];
    if (int last = lastBefore(node); last >= 0) {
      behind = behind < 0 || finishOf(last) > finishOf(behind) ? last : behind;
    }
    bool isOther = behind >= 0 && deviceOf(behind) != deviceOf(node);
    add(isOther ? PathKind::kCoreWait : PathKind::kDeviceWait, node, start, finish,
        isOther ? behind : -1);
  }

  /// The last transfer of the step, else the last node.
  void startAtEnd() {
    for (size_t i = 0; i < simulation_.transfers.size() && transfer_ < 0; ++i) {
      if (simulation_.transfers[i].finish == simulation_.stepNs) {
        transfer_ = static_cast<int>(i);
      }
    }
    for (size_t n = 0; n < simulation_.ops.size() && transfer_ < 0 && node_ < 0; ++n) {
      if (simulation_.ops[n].finish == simulation_.stepNs) {
        node_ = static_cast<int>(n);
      }
    }
  }

  void add(PathKind kind, int id, int64_t start, int64_t finish, int behind = -1) {
    if (finish <= start) {
      return;
    }
    path_.segments.push_back({kind, id, start, finish, behind});
    int64_t& sum = kind == PathKind::kCompute ? path_.computeNs
                   : kind == PathKind::kLink  ? path_.linkNs
                                              : path_.waitNs;
    sum += finish - start;
  }

  void stepNode() {
    int n = node_;
    OpTime time = simulation_.ops[static_cast<size_t>(n)];
    int device = deviceOf(n);
    add(PathKind::kCompute, n, time.start, time.finish);
    int64_t latest = -1;
    for (int t : graph_.node(n).inputs) {
      bool isSpared = collectives_.isSpared(t, n, PlacedBy{placement_});
      const Transfer* transfer = isSpared ? nullptr : simulation_.transfer(t, device);
      int producer = graph_.tensor(t).producer;
      int64_t arrival = transfer != nullptr ? transfer->finish
                        : producer >= 0     ? finishOf(producer)
                                            : 0;
      if (arrival > latest) {
        latest = arrival;
        node_ = transfer != nullptr ? -1 : producer;
        transfer_ =
            transfer != nullptr ? static_cast<int>(transfer - simulation_.transfers.data()) : -1;
      }
    }
    if (latest < 0) {
      node_ = transfer_ = -1;
    }
    addWait(n, std::max<int64_t>(latest, 0), time.start);
  }

  void stepTransfer() {
    const Transfer& transfer = simulation_.transfers[static_cast<size_t>(transfer_)];
    add(PathKind::kLink, transfer_, transfer.start, transfer.finish);
    add(PathKind::kLinkWait, transfer_, transfer.ready, transfer.start);
    node_ = graph_.tensor(transfer.tensor).producer;
    transfer_ = -1;
    if (node_ >= 0) {  // what a call makes leaves when the call ends
      add(PathKind::kDeviceWait, node_, finishOf(node_), transfer.ready);
    }
  }

  const CostGraph& graph_;
  const CoreTable& cores_;
  const CollectiveGroups& collectives_;
  const Placement& placement_;
  const Simulation& simulation_;
  std::vector<int> before_;  // by node; empty if no devices share cores
  CriticalPath path_;
  int node_ = -1;
  int transfer_ = -1;
};

}  // namespace

absl::string_view pathKindName(PathKind kind) {
  static constexpr absl::string_view kNames[] = {"compute", "link", "device wait", "core wait",
                                                 "link wait"};
  return kNames[static_cast<size_t>(kind)];
}

CriticalPath criticalPath(const Simulator& simulator, const Placement& placement,
                          const Simulation& simulation) {
  return Walker(simulator, placement, simulation).run();
}

}  // namespace graphrun::placement
