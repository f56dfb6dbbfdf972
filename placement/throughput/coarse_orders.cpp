#include "placement/throughput/coarse_orders.h"

#include <algorithm>
#include <cmath>
#include <queue>
#include <tuple>

namespace graphrun::placement {
namespace {

/// After so many random orders without a better one, the search counts for as much as what is
/// After so many orders chance weighs as much as the memory that a node opens.
constexpr int kSteady = 50;

double uniform(std::mt19937_64& random) {
  return std::uniform_real_distribution<double>(0, 1)(random);
}

/// By coarse node: of backward nodes alone, and of no importance for contiguity.
std::vector<bool> freeNodes(const PlacementProblem& problem, const CoarseGraph& coarse) {
  std::vector<bool> free;
  for (int p = 0; p < coarse.count(); ++p) {
    const std::vector<int>& nodes = coarse.node(p).nodes;
    bool backward = std::all_of(nodes.begin(), nodes.end(),
                                [&](int node) { return problem.graph().node(node).backward; });
    free.push_back(backward && coarse.before[p].empty() && coarse.after[p].empty());
  }
  return free;
}

/// By coarse node, what a cut just behind it has to carry more than one just before it: about the
/// time of its outputs less its share in that of its inputs.
std::vector<double> openedBy(const PlacementProblem& problem, const CoarseGraph& coarse) {
  std::vector<double> opens(coarse.nodes.size(), 0);
  const LinkTable& links = problem.simulator.links();
  int last = problem.deviceCount() - 1;
  for (const CoarseTensor& entry : coarse.tensors) {
    const CostTensor& tensor = problem.graph().tensor(entry.tensor);
    auto cost = static_cast<double>(tensor.portNs);
    if (last > 0) {
      cost += static_cast<double>(links.link(links.id(0, last)).model.transferNs(tensor.bytes));
    }
    if (entry.producer >= 0) {
      opens[static_cast<size_t>(entry.producer)] += cost;
    }
    for (int consumer : entry.consumers) {
      opens[static_cast<size_t>(consumer)] -=
          cost / 2 / static_cast<double>(entry.consumers.size());
    }
  }
  return opens;
}

/// By free coarse node, what it stands behind: the way back is seen from its end.
std::vector<std::vector<int>> freeFollows(const PlacementProblem& problem,
                                          const CoarseGraph& coarse,
                                          const std::vector<bool>& free) {
  const CostGraph& graph = problem.graph();
  std::vector<std::vector<int>> follows(free.size());
  for (const CostTensor& tensor : graph.tensors) {
    for (int consumer : tensor.consumers) {
      if (tensor.producer >= 0) {
        bool back = graph.node(tensor.producer).backward;
        int from = coarse.of[static_cast<size_t>(back ? consumer : tensor.producer)];
        int to = coarse.of[static_cast<size_t>(back ? tensor.producer : consumer)];
        if (free[static_cast<size_t>(to)] && from != to) {
          follows[static_cast<size_t>(to)].push_back(from);
        }
      }
    }
  }
  return follows;
}

}  // namespace

CoarseOrders::CoarseOrders(const PlacementProblem& problem, const CoarseGraph& coarse,
                           uint64_t seed)
    : coarse_(coarse),
      free_(freeNodes(problem, coarse)),
      opens_(openedBy(problem, coarse)),
      random_(seed) {
  std::vector<std::vector<int>> behind = freeFollows(problem, coarse, free_);
  for (int p = 0; p < coarse.count(); ++p) {
    for (int other : coarse.before[p]) {
      follows_.add(other);
    }
    for (int other : behind[static_cast<size_t>(p)]) {
      follows_.add(other);
    }
    follows_.endList();
  }
  leads_ = follows_.reversed();
  for (double opened : opens_) {
    spread_ += 2 * std::abs(opened) / static_cast<double>(opens_.size());
  }
}

double CoarseOrders::keyOf(int coarseNode, size_t turn) {
  auto age = static_cast<double>(turn);
  switch (made_) {
    case 0:
      return -age;
    case 1:
      return age;
    case 2:
      return opens_[static_cast<size_t>(coarseNode)];
    default:
      return opens_[static_cast<size_t>(coarseNode)] * 2 * uniform(random_) +
             spread_ * uniform(random_) * made_ / kSteady;
  }
}

std::vector<int> CoarseOrders::next() {
  std::vector<int> missing;
  missing.reserve(free_.size());
  std::vector<int> order;
  std::vector<bool> listed(free_.size(), false);
  // The free ones at once, then the least key, the last to come of equals.
  std::priority_queue<std::tuple<bool, double, size_t, int>> ready;
  auto push = [&](int p) {
    listed[static_cast<size_t>(p)] = true;
    size_t turn = order.size() + ready.size();
    ready.emplace(free_[static_cast<size_t>(p)], -keyOf(p, turn), turn, p);
  };
  for (int p = 0; p < coarse_.count(); ++p) {
    missing.push_back(static_cast<int>(follows_[p].size()));
  }
  for (int p = 0; p < coarse_.count(); ++p) {
    if (missing[static_cast<size_t>(p)] == 0) {
      push(p);
    }
  }
  // Free coarse nodes may wait for each other: they come when nothing else is left.
  for (int waiting = 0; order.size() < free_.size();) {
    while (!ready.empty()) {
      int p = std::get<int>(ready.top());
      ready.pop();
      order.push_back(p);
      for (int other : leads_[p]) {
        if (--missing[static_cast<size_t>(other)] == 0 && !listed[static_cast<size_t>(other)]) {
          push(other);
        }
      }
    }
    for (; waiting < coarse_.count() && ready.empty(); ++waiting) {
      if (!listed[static_cast<size_t>(waiting)]) {
        push(waiting);
      }
    }
  }
  ++made_;
  return order;
}

std::vector<int> CoarseOrders::changed(std::vector<int> order) {
  size_t count = order.size();
  size_t at = random_() % count;
  size_t reach = 1 + random_() % (1 + count / 4);
  size_t far = random_() % reach;
  std::vector<bool> moves(count, false);  // by coarse node
  moves[static_cast<size_t>(order[at])] = true;
  auto follow = [&](int coarseNode, const IntLists& neighbours) {
    auto list = neighbours[coarseNode];
    bool moved = std::any_of(list.begin(), list.end(),
                             [&](int other) { return moves[static_cast<size_t>(other)]; });
    moves[static_cast<size_t>(coarseNode)] = moves[static_cast<size_t>(coarseNode)] || moved;
  };
  auto isMoved = [&](int coarseNode) { return moves[static_cast<size_t>(coarseNode)]; };
  bool later = random_() % 2 == 0;
  size_t from = later ? at : at - std::min(at, far);
  size_t to = later ? std::min(at + far, count - 1) : at;
  for (size_t i = from; later && i <= to; ++i) {
    follow(order[i], coarse_.before);
  }
  for (size_t i = to + 1; !later && i-- > from;) {
    follow(order[i], coarse_.after);
  }
  std::stable_partition(order.begin() + static_cast<std::ptrdiff_t>(from),
                        order.begin() + static_cast<std::ptrdiff_t>(to) + 1,
                        [&](int coarseNode) { return isMoved(coarseNode) != later; });
  return order;
}

}  // namespace graphrun::placement
