#include "placement/problem/validate.h"

#include <algorithm>
#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "placement/problem/contiguity.h"
#include "placement/problem/memory_limits.h"

namespace graphrun::placement {
namespace {

// Reads the cost graph's own pins and groups, not the resolved constraints that strategies use.
class Validator {
 public:
  Validator(const PlacementProblem& problem, const Placement& placement)
      : problem_(problem),
        graph_(problem.graph()),
        cluster_(problem.cluster()),
        placement_(placement) {}

  std::vector<std::string> run() {
    size_t count = graph_.nodes.size();
    if (placement_.device.size() != count || placement_.rank.size() != count) {
      violation("got ", placement_.device.size(), " devices and ", placement_.rank.size(),
                " ranks, expected one of each for ", count, " nodes");
      return violations_;
    }
    bool placed = checkDevices();
    if (placed) {
      checkPins();
      checkColocation();
    }
    if (checkRanks()) {
      checkOrder();
    }
    if (placed && problem_.contiguous) {
      for (std::string& broken : brokenContiguity(problem_, placement_)) {
        violations_.push_back(std::move(broken));
      }
    }
    if (violations_.empty()) {
      checkMemory();
    }
    return violations_;
  }

 private:
  template <typename... Args>
  void violation(const Args&... args) {
    violations_.push_back(absl::StrCat(args...));
  }
  const std::string& name(int node) const { return graph_.node(node).name; }
  int deviceOf(int node) const { return placement_.device[static_cast<size_t>(node)]; }
  int rankOf(int node) const { return placement_.rank[static_cast<size_t>(node)]; }
  const std::string& deviceName(int device) const {
    return cluster_.devices[static_cast<size_t>(device)].name;
  }

  /// True if every node has a device that exists.
  bool checkDevices() {
    bool exist = true;
    for (int n = 0; n < graph_.nodeCount(); ++n) {
      int device = deviceOf(n);
      if (device < 0 || device >= static_cast<int>(cluster_.devices.size())) {
        violation("node '", name(n), "' is on device ", device, ", which does not exist");
        exist = false;
      } else if (!graph_.node(n).supports(device)) {
        violation("node '", name(n), "' is on ", deviceName(device),
                  ", which cannot run it: ", graph_.node(n).whyUnsupported(device));
      }
    }
    return exist;
  }

  void checkPins() {
    for (const NodePin& pin : graph_.pins) {
      if (deviceOf(pin.node) != pin.device) {
        violation("node '", name(pin.node), "' is on ", deviceName(deviceOf(pin.node)),
                  ", pinned to ", deviceName(pin.device), " (", pin.source, ")");
      }
    }
  }

  void checkColocation() {
    for (const std::vector<int>& group : graph_.colocation) {
      for (int node : group) {
        if (deviceOf(node) != deviceOf(group[0])) {
          violation("node '", name(node), "' is on ", deviceName(deviceOf(node)),
                    ", must be with '", name(group[0]), "' on ", deviceName(deviceOf(group[0])));
        }
      }
    }
  }

  /// True if the ranks are a permutation.
  bool checkRanks() {
    std::vector<int> owner(graph_.nodes.size(), -1);
    size_t before = violations_.size();
    for (int n = 0; n < graph_.nodeCount(); ++n) {
      int rank = rankOf(n);
      if (rank < 0 || rank >= graph_.nodeCount()) {
        violation("node '", name(n), "' has rank ", rank, ", expected 0 to ",
                  graph_.nodeCount() - 1);
      } else if (owner[static_cast<size_t>(rank)] >= 0) {
        violation("nodes '", name(owner[static_cast<size_t>(rank)]), "' and '", name(n),
                  "' both have rank ", rank);
      } else {
        owner[static_cast<size_t>(rank)] = n;
      }
    }
    return violations_.size() == before;
  }

  void checkOrder() {
    size_t before = violations_.size();
    for (const CostTensor& tensor : graph_.tensors) {
      for (int consumer : tensor.consumers) {
        if (tensor.producer >= 0 && rankOf(tensor.producer) > rankOf(consumer)) {
          violation("node '", name(consumer), "' (rank ", rankOf(consumer), ") needs '",
                    tensor.name, "' of '", name(tensor.producer), "' (rank ",
                    rankOf(tensor.producer), ")");
        }
      }
    }
    if (violations_.size() > before) {
      checkWaits();
    }
  }

  /// Data edges together with each core's order: what is left after peeling waits for itself.
  void checkWaits() {
    std::map<int, int> previous;  // core -> node
    std::vector<std::vector<int>> after(graph_.nodes.size());
    std::vector<int> pending(graph_.nodes.size(), 0);
    auto edge = [&](int from, int to) {
      after[static_cast<size_t>(from)].push_back(to);
      ++pending[static_cast<size_t>(to)];
    };
    for (int n : placement_.order()) {
      for (int core : problem_.simulator.cores().of(deviceOf(n))) {
        auto [it, first] = previous.try_emplace(core, n);
        if (!first) {
          edge(it->second, n);
          it->second = n;
        }
      }
    }
    for (const CostTensor& tensor : graph_.tensors) {
      for (int consumer : tensor.consumers) {
        if (tensor.producer >= 0) {
          edge(tensor.producer, consumer);
        }
      }
    }
    reportStuck(peel(after, pending));
  }

  static std::vector<int> peel(const std::vector<std::vector<int>>& after,
                               std::vector<int> pending) {
    std::vector<int> ready;
    for (size_t n = 0; n < pending.size(); ++n) {
      if (pending[n] == 0) {
        ready.push_back(static_cast<int>(n));
      }
    }
    while (!ready.empty()) {
      int n = ready.back();
      ready.pop_back();
      for (int next : after[static_cast<size_t>(n)]) {
        if (--pending[static_cast<size_t>(next)] == 0) {
          ready.push_back(next);
        }
      }
    }
    return pending;
  }

  void reportStuck(const std::vector<int>& pending) {
    std::vector<std::string> stuck;
    for (size_t n = 0; n < pending.size() && stuck.size() < 5; ++n) {
      if (pending[n] > 0) {
        stuck.push_back(absl::StrCat("'", graph_.nodes[n].name, "'"));
      }
    }
    if (!stuck.empty()) {
      violation("the devices would wait for each other for ever, among others at ",
                absl::StrJoin(stuck, ", "));
    }
  }

  void checkMemory() {
    absl::StatusOr<Simulation> simulation = problem_.simulator.run(placement_);
    if (!simulation.ok()) {
      violation(simulation.status().message());
      return;
    }
    absl::Status limits = checkLimits(problem_, *simulation);
    if (!limits.ok()) {
      violation("out of memory: ", limits.message());
    }
  }

  const PlacementProblem& problem_;
  const CostGraph& graph_;
  const Cluster& cluster_;
  const Placement& placement_;
  std::vector<std::string> violations_;
};

}  // namespace

std::vector<std::string> placementViolations(const PlacementProblem& problem,
                                             const Placement& placement) {
  return Validator(problem, placement).run();
}

absl::Status validatePlacement(const PlacementProblem& problem, const Placement& placement) {
  std::vector<std::string> violations = placementViolations(problem, placement);
  return violations.empty() ? absl::OkStatus()
                            : absl::FailedPreconditionError(absl::StrCat(
                                  "invalid placement:\n", absl::StrJoin(violations, "\n")));
}

}  // namespace graphrun::placement
