#include "placement/throughput/coarse_graph.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "placement/cost_graph/shared_weights.h"

namespace graphrun::placement {
namespace {

using Lists = std::vector<std::vector<int>>;

bool hasOffload(const PlacementProblem& problem) {
  const std::vector<Device>& devices = problem.cluster().devices;
  return std::any_of(devices.begin(), devices.end(),
                     [](const Device& device) { return device.isOffload; });
}

void sortUnique(std::vector<int>& values) {
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
}

/// By group, the groups that it leads to by an edge that counts for contiguity.
IntLists edgesAfter(const PlacementProblem& problem, const std::vector<int>& groupOf,
                    size_t groups) {
  const CostGraph& graph = problem.graph();
  bool all = hasOffload(problem);
  auto counts = [&](int node) { return all || !graph.node(node).backward; };
  Lists after(groups);
  for (const CostTensor& tensor : graph.tensors) {
    for (int consumer : tensor.consumers) {
      if (tensor.producer >= 0 && counts(tensor.producer) && counts(consumer)) {
        int from = groupOf[static_cast<size_t>(tensor.producer)];
        int to = groupOf[static_cast<size_t>(consumer)];
        if (from != to) {
          after[static_cast<size_t>(from)].push_back(to);
        }
      }
    }
  }
  std::for_each(after.begin(), after.end(), sortUnique);
  return IntLists::of(after);
}

/// Calls `leave` for each vertex that is reached from `root` and was not seen, when all that it
/// leads to has been left.
template <typename Leave>
void walkDepthFirst(const IntLists& edges, int root, std::vector<bool>& seen, Leave leave) {
  std::vector<std::pair<int, size_t>> stack;
  auto enter = [&](int vertex) {
    if (!seen[static_cast<size_t>(vertex)]) {
      seen[static_cast<size_t>(vertex)] = true;
      stack.emplace_back(vertex, 0);
    }
  };
  enter(root);
  while (!stack.empty()) {
    auto& [vertex, next] = stack.back();
    absl::Span<const int> out = edges[vertex];
    if (next < out.size()) {
      enter(out[next++]);
    } else {
      leave(vertex);
      stack.pop_back();
    }
  }
}

/// Each vertex's strongly connected component, numbered by the smallest vertex. Source: Sharir, "A
/// strong-connectivity algorithm and its applications in data flow analysis", 1981.
std::vector<int> components(const IntLists& after) {
  std::vector<int> finished;
  std::vector<bool> seen(static_cast<size_t>(after.count()), false);
  for (int v = 0; v < after.count(); ++v) {
    walkDepthFirst(after, v, seen, [&](int left) { finished.push_back(left); });
  }
  IntLists before = after.reversed();
  std::vector<int> root(seen.size(), -1);
  seen.assign(seen.size(), false);
  for (auto v = finished.rbegin(); v != finished.rend(); ++v) {
    walkDepthFirst(before, *v, seen, [&](int left) { root[static_cast<size_t>(left)] = *v; });
  }
  std::vector<int> number(root.size(), -1);
  int count = 0;
  for (int& one : root) {
    int& known = number[static_cast<size_t>(one)];
    known = known < 0 ? count++ : known;
    one = known;
  }
  return root;
}

/// Fills tensors and `touching` from coarse nodes and `of`.
void addTensors(const PlacementProblem& problem, CoarseGraph& coarse) {
  const CostGraph& graph = problem.graph();
  Lists touching(coarse.nodes.size());
  for (int t = 0; t < graph.tensorCount(); ++t) {
    const CostTensor& tensor = graph.tensor(t);
    CoarseTensor entry;
    entry.tensor = t;
    entry.producer = tensor.producer < 0 ? -1 : coarse.of[static_cast<size_t>(tensor.producer)];
    for (int consumer : tensor.consumers) {
      entry.consumers.push_back(coarse.of[static_cast<size_t>(consumer)]);
    }
    sortUnique(entry.consumers);
    std::erase(entry.consumers, entry.producer);
    if (entry.consumers.empty() && !tensor.isOutput) {
      continue;
    }
    auto id = static_cast<int>(coarse.tensors.size());
    for (int coarseNode : entry.consumers) {
      touching[static_cast<size_t>(coarseNode)].push_back(id);
    }
    if (entry.producer >= 0) {
      touching[static_cast<size_t>(entry.producer)].push_back(id);
    }
    coarse.tensors.push_back(std::move(entry));
  }
  coarse.touching = IntLists::of(touching);
}

/// Joins the units of each group.
CoarseGraph grouped(const PlacementProblem& problem, const std::vector<int>& groupOf) {
  const Constraints& constraints = problem.constraints;
  CoarseGraph result;
  for (size_t u = 0; u < groupOf.size(); ++u) {
    const Unit& unit = constraints.units[u];
    auto group = static_cast<size_t>(groupOf[u]);
    if (group == result.nodes.size()) {
      result.nodes.push_back({{}, unit.allowed, 0});
    }
    CoarseNode& coarseNode = result.nodes[group];
    std::vector<int> both;
    std::set_intersection(coarseNode.allowed.begin(), coarseNode.allowed.end(),
                          unit.allowed.begin(), unit.allowed.end(), std::back_inserter(both));
    coarseNode.allowed = std::move(both);
    coarseNode.nodes.insert(coarseNode.nodes.end(), unit.nodes.begin(), unit.nodes.end());
  }
  for (int unit : constraints.unitOf) {
    result.of.push_back(groupOf[static_cast<size_t>(unit)]);
  }
  for (CoarseNode& coarseNode : result.nodes) {
    std::sort(coarseNode.nodes.begin(), coarseNode.nodes.end());
    coarseNode.weightBytes = weightBytesOf(problem.graph(), coarseNode.nodes);
  }
  result.after = edgesAfter(problem, result.of, result.nodes.size());
  result.before = result.after.reversed();
  addTensors(problem, result);
  return result;
}

}  // namespace

bool wantsContiguity(const PlacementProblem& problem) {
  return problem.contiguous || hasOffload(problem);
}

std::vector<int> CoarseGraph::deviceByNode(const std::vector<int>& device) const {
  std::vector<int> result;
  result.reserve(of.size());
  for (int coarseNode : of) {
    result.push_back(device[static_cast<size_t>(coarseNode)]);
  }
  return result;
}

CoarseGraph coarsenUnits(const PlacementProblem& problem) {
  std::vector<int> alone(problem.constraints.units.size());
  std::iota(alone.begin(), alone.end(), 0);
  return grouped(problem, alone);
}

absl::StatusOr<CoarseGraph> coarsenContiguous(const PlacementProblem& problem) {
  const Constraints& constraints = problem.constraints;
  CoarseGraph coarse = grouped(
      problem, components(edgesAfter(problem, constraints.unitOf, constraints.units.size())));
  for (const CoarseNode& coarseNode : coarse.nodes) {
    if (coarseNode.allowed.empty()) {
      return absl::FailedPreconditionError(
          absl::StrCat("nodes '", problem.graph().node(coarseNode.nodes.front()).name, "' and '",
                       problem.graph().node(coarseNode.nodes.back()).name,
                       "' must share a device to be contiguous, and may share none"));
    }
  }
  return coarse;
}

}  // namespace graphrun::placement
