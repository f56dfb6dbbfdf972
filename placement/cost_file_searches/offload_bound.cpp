#include <algorithm>
#include <vector>

#include "placement/bounds/lower_bounds.h"
#include "placement/cost_file_searches/offload_bound.h"
#include "placement/cost_file_searches/offload_times.h"
#include "placement/cost_graph/longest_paths.h"

namespace graphrun::placement {
namespace {

/// Nodes in the order of a path, and the tensor between each and the next one.
struct Path {
  std::vector<int> nodes;
  std::vector<int> tensors;
};

/// The longest path when nodes take their shortest times and each tensor its port's, `ports` times.
Path longestPath(const PlacementProblem& problem, int64_t ports) {
  const CostGraph& graph = problem.graph();
  auto fastest = [&](int n) { return fastestNs(problem, n); };
  auto atPorts = [&](int t, int, int) { return ports * graph.tensor(t).portNs; };
  auto [start, finish] = pathsFromBegin<int64_t>(graph, fastest, atPorts);
  auto isWhole = [&](int t, int n) {
    int producer = graph.tensor(t).producer;
    return producer >= 0 && finish[static_cast<size_t>(producer)] + atPorts(t, producer, n) ==
                                start[static_cast<size_t>(n)];
  };
  auto less = [&](int a, int b) {
    return finish[static_cast<size_t>(a)] < finish[static_cast<size_t>(b)];
  };
  const std::vector<int>& order = graph.topologicalOrder;
  Path path;
  path.nodes = {*std::max_element(order.begin(), order.end(), less)};
  for (bool grows = true; grows;) {
    const std::vector<int>& inputs = graph.node(path.nodes.back()).inputs;
    auto through = std::find_if(inputs.begin(), inputs.end(),
                                [&](int t) { return isWhole(t, path.nodes.back()); });
    grows = through != inputs.end();
    if (grows) {
      path.tensors.push_back(*through);
      path.nodes.push_back(graph.tensor(*through).producer);
    }
  }
  std::reverse(path.nodes.begin(), path.nodes.end());
  std::reverse(path.tensors.begin(), path.tensors.end());
  return path;
}

/// The least time of a path: it is cut into calls, each within a device's limit, and nodes
/// elsewhere. No call can be left and come back to.
class PathCutter {
 public:
  PathCutter(const PlacementProblem& problem, const Path& path)
      : problem_(problem), path_(path), least_(path.nodes.size() + 1, kUnlimited) {}

  int64_t run() {
    least_[0] = 0;
    for (size_t from = 0; from < path_.nodes.size(); ++from) {
      for (int d = 0; d < problem_.deviceCount(); ++d) {
        device(d).isOffload ? growOffload(from, d) : runNode(from, d);
      }
    }
    return least_.back();
  }

 private:
  const Device& device(int d) const { return problem_.cluster().devices[static_cast<size_t>(d)]; }
  int64_t portNs(int d, size_t edge) const {
    return edge < path_.tensors.size() && device(d).hasPort
               ? problem_.graph().tensor(path_.tensors[edge]).portNs
               : 0;
  }
  bool mayRun(size_t at, int d) const {
    return problem_.constraints.unit(path_.nodes[at]).allows(d);
  }
  int64_t timeOf(size_t at, int d) const {
    return problem_.simulator.flat().timeNs(path_.nodes[at], d);
  }
  void reach(size_t to, int64_t ns) { least_[to] = std::min(least_[to], ns); }

  void runNode(size_t at, int d) {
    if (mayRun(at, d)) {
      reach(at + 1, least_[at] + timeOf(at, d));
    }
  }

  /// All calls on the device that begin with the node at `from`.
  void growOffload(size_t from, int d) {
    // A unit's weights come with its first node.
    std::vector<int> units;
    int64_t bytes = 0;
    int64_t ns = least_[from] + (from > 0 ? portNs(d, from - 1) : 0);
    for (size_t at = from; at < path_.nodes.size() && mayRun(at, d); ++at) {
      int unit = problem_.constraints.unitOf[static_cast<size_t>(path_.nodes[at])];
      if (std::find(units.begin(), units.end(), unit) == units.end()) {
        units.push_back(unit);
        bytes += problem_.constraints.units[static_cast<size_t>(unit)].weightBytes;
      }
      if (bytes > problem_.limits[static_cast<size_t>(d)]) {
        return;
      }
      ns += timeOf(at, d);
      reach(at + 1, ns + portNs(d, at));
    }
  }

  const PlacementProblem& problem_;
  const Path& path_;
  std::vector<int64_t> least_;  // by number of nodes that have run
};

}  // namespace

int64_t offloadPathBound(const PlacementProblem& problem) {
  int64_t bound = 0;
  for (int64_t ports : {0, 1, 2}) {
    bound = std::max(bound, PathCutter(problem, longestPath(problem, ports)).run());
  }
  return bound;
}

}  // namespace graphrun::placement
