#include "placement/throughput/pieces.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "placement/cost_graph/shared_weights.h"

namespace graphrun::placement {
namespace {

using Lists = std::vector<std::vector<int>>;

bool hasCalls(const PlacementProblem& problem) {
  const std::vector<Device>& devices = problem.cluster().devices;
  return std::any_of(devices.begin(), devices.end(),
                     [](const Device& device) { return device.oneCall; });
}

void sortUnique(std::vector<int>& values) {
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
}

/// By group, the groups that it leads to by an edge that counts for contiguity.
IntLists edgesAfter(const PlacementProblem& problem, const std::vector<int>& groupOf,
                    size_t groups) {
  const CostGraph& graph = problem.graph();
  bool all = hasCalls(problem);
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

/// Fills tensors and `touching` from pieces and `of`.
void addTensors(const PlacementProblem& problem, Pieces& pieces) {
  const CostGraph& graph = problem.graph();
  Lists touching(pieces.pieces.size());
  for (int t = 0; t < graph.tensorCount(); ++t) {
    const CostTensor& tensor = graph.tensor(t);
    PieceTensor entry;
    entry.tensor = t;
    entry.producer = tensor.producer < 0 ? -1 : pieces.of[static_cast<size_t>(tensor.producer)];
    for (int consumer : tensor.consumers) {
      entry.consumers.push_back(pieces.of[static_cast<size_t>(consumer)]);
    }
    sortUnique(entry.consumers);
    std::erase(entry.consumers, entry.producer);
    if (entry.consumers.empty() && !tensor.isOutput) {
      continue;
    }
    auto id = static_cast<int>(pieces.tensors.size());
    for (int piece : entry.consumers) {
      touching[static_cast<size_t>(piece)].push_back(id);
    }
    if (entry.producer >= 0) {
      touching[static_cast<size_t>(entry.producer)].push_back(id);
    }
    pieces.tensors.push_back(std::move(entry));
  }
  pieces.touching = IntLists::of(touching);
}

/// Joins the units of each group.
Pieces grouped(const PlacementProblem& problem, const std::vector<int>& groupOf) {
  const Constraints& constraints = problem.constraints;
  Pieces result;
  for (size_t u = 0; u < groupOf.size(); ++u) {
    const Unit& unit = constraints.units[u];
    auto group = static_cast<size_t>(groupOf[u]);
    if (group == result.pieces.size()) {
      result.pieces.push_back({{}, unit.allowed, 0});
    }
    Piece& piece = result.pieces[group];
    std::vector<int> both;
    std::set_intersection(piece.allowed.begin(), piece.allowed.end(), unit.allowed.begin(),
                          unit.allowed.end(), std::back_inserter(both));
    piece.allowed = std::move(both);
    piece.nodes.insert(piece.nodes.end(), unit.nodes.begin(), unit.nodes.end());
  }
  for (int unit : constraints.unitOf) {
    result.of.push_back(groupOf[static_cast<size_t>(unit)]);
  }
  for (Piece& piece : result.pieces) {
    std::sort(piece.nodes.begin(), piece.nodes.end());
    piece.weightBytes = weightBytesOf(problem.graph(), piece.nodes);
  }
  result.after = edgesAfter(problem, result.of, result.pieces.size());
  result.before = result.after.reversed();
  addTensors(problem, result);
  return result;
}

}  // namespace

bool wantsContiguity(const PlacementProblem& problem) {
  return problem.contiguous || hasCalls(problem);
}

std::vector<int> Pieces::deviceByNode(const std::vector<int>& device) const {
  std::vector<int> result;
  result.reserve(of.size());
  for (int piece : of) {
    result.push_back(device[static_cast<size_t>(piece)]);
  }
  return result;
}

Pieces unitPieces(const PlacementProblem& problem) {
  std::vector<int> alone(problem.constraints.units.size());
  std::iota(alone.begin(), alone.end(), 0);
  return grouped(problem, alone);
}

absl::StatusOr<Pieces> contiguousPieces(const PlacementProblem& problem) {
  const Constraints& constraints = problem.constraints;
  Pieces pieces = grouped(
      problem, components(edgesAfter(problem, constraints.unitOf, constraints.units.size())));
  for (const Piece& piece : pieces.pieces) {
    if (piece.allowed.empty()) {
      return absl::FailedPreconditionError(
          absl::StrCat("nodes '", problem.graph().node(piece.nodes.front()).name, "' and '",
                       problem.graph().node(piece.nodes.back()).name,
                       "' must share a device to be contiguous, and may share none"));
    }
  }
  return pieces;
}

}  // namespace graphrun::placement
