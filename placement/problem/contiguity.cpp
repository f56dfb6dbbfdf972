#include "placement/problem/contiguity.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "placement/problem/memory_limits.h"
#include "runtime/base/status.h"

namespace graphrun::placement {
namespace {

/// Looks for a way back to one device at a time.
class ReturnFinder {
 public:
  ReturnFinder(const CostGraph& graph, const Placement& placement)
      : graph_(graph), placement_(placement), left_(graph.nodes.size()) {}

  /// The node that a path comes back to, with the node where it left; {-1, -1} without one.
  std::pair<int, int> find(int device) {
    for (int n : graph_.topologicalOrder) {
      int from = graph_.node(n).backward ? -1 : leftAt(n, device);
      left_[static_cast<size_t>(n)] = from;
      if (from >= 0 && deviceOf(n) == device) {
        return {from, n};
      }
    }
    return {-1, -1};
  }

 private:
  int deviceOf(int node) const { return placement_.device[static_cast<size_t>(node)]; }

  /// Returns where a path that is outside of the device just before `n` left it, -1 if none does.
  int leftAt(int n, int device) const {
    for (int t : graph_.node(n).inputs) {
      int producer = graph_.tensor(t).producer;
      if (producer < 0 || graph_.node(producer).backward) {
        continue;
      }
      bool leaves = deviceOf(producer) == device && deviceOf(n) != device;
      int from = leaves ? producer : left_[static_cast<size_t>(producer)];
      if (from >= 0) {
        return from;
      }
    }
    return -1;
  }

  const CostGraph& graph_;
  const Placement& placement_;
  std::vector<int> left_;  // by node: the last node on the device of a path that is outside of it
};

}  // namespace

std::vector<std::string> brokenContiguity(const PlacementProblem& problem,
                                          const Placement& placement) {
  std::vector<std::string> broken;
  ReturnFinder finder(problem.graph(), placement);
  for (int d = 0; d < problem.deviceCount(); ++d) {
    auto [from, to] = finder.find(d);
    if (to >= 0) {
      broken.push_back(absl::StrCat(problem.cluster().devices[static_cast<size_t>(d)].name,
                                    " is not contiguous: a path leaves it at '",
                                    problem.graph().node(from).name, "' and comes back at '",
                                    problem.graph().node(to).name, "'"));
    }
  }
  return broken;
}

absl::Status checkFeasible(const PlacementProblem& problem, const Placement& placement,
                           const Simulation& simulation) {
  GR_RETURN_IF_ERROR(checkLimits(problem, simulation));
  if (problem.contiguous) {
    std::vector<std::string> broken = brokenContiguity(problem, placement);
    if (!broken.empty()) {
      return absl::FailedPreconditionError(
          absl::StrCat(placement.strategy, ": ", absl::StrJoin(broken, "; ")));
    }
  }
  return absl::OkStatus();
}

}  // namespace graphrun::placement
