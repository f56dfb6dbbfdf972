#include "placement/throughput/piece_orders.h"

#include <algorithm>
#include <cmath>
#include <queue>
#include <tuple>
#include <utility>

namespace graphrun::placement {
namespace {

/// Of orders with chance, so many until it counts for as much as what is opened.
constexpr int kSteady = 50;

double uniform(std::mt19937_64& random) {
  return std::uniform_real_distribution<double>(0, 1)(random);
}

/// By piece: of backward nodes alone, and of no importance for contiguity.
std::vector<bool> freePieces(const PlacementProblem& problem, const Pieces& pieces) {
  std::vector<bool> free;
  for (int p = 0; p < pieces.count(); ++p) {
    const std::vector<int>& nodes = pieces.piece(p).nodes;
    bool backward = std::all_of(nodes.begin(), nodes.end(),
                                [&](int node) { return problem.graph().node(node).backward; });
    free.push_back(backward && pieces.before[p].empty() && pieces.after[p].empty());
  }
  return free;
}

/// By piece, what a cut just behind it has to carry more than one just before it: about the time
/// of its outputs less its share in that of its inputs.
std::vector<double> openedBy(const PlacementProblem& problem, const Pieces& pieces) {
  std::vector<double> opens(pieces.pieces.size(), 0);
  const LinkTable& links = problem.simulator.links();
  int last = problem.deviceCount() - 1;
  for (const PieceTensor& entry : pieces.tensors) {
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

/// By free piece, what it stands behind: the way back is seen from its end.
std::vector<std::vector<int>> freeFollows(const PlacementProblem& problem, const Pieces& pieces,
                                          const std::vector<bool>& free) {
  const CostGraph& graph = problem.graph();
  std::vector<std::vector<int>> follows(free.size());
  for (const CostTensor& tensor : graph.tensors) {
    for (int consumer : tensor.consumers) {
      if (tensor.producer >= 0) {
        bool back = graph.node(tensor.producer).backward;
        int from = pieces.of[static_cast<size_t>(back ? consumer : tensor.producer)];
        int to = pieces.of[static_cast<size_t>(back ? tensor.producer : consumer)];
        if (free[static_cast<size_t>(to)] && from != to) {
          follows[static_cast<size_t>(to)].push_back(from);
        }
      }
    }
  }
  return follows;
}

}  // namespace

PieceOrders::PieceOrders(const PlacementProblem& problem, const Pieces& pieces, uint64_t seed)
    : pieces_(pieces),
      free_(freePieces(problem, pieces)),
      opens_(openedBy(problem, pieces)),
      random_(seed) {
  std::vector<std::vector<int>> behind = freeFollows(problem, pieces, free_);
  for (int p = 0; p < pieces.count(); ++p) {
    for (int other : pieces.before[p]) {
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

double PieceOrders::keyOf(int piece, size_t turn) {
  auto age = static_cast<double>(turn);
  switch (made_) {
    case 0:
      return -age;
    case 1:
      return age;
    case 2:
      return opens_[static_cast<size_t>(piece)];
    default:
      return opens_[static_cast<size_t>(piece)] * 2 * uniform(random_) +
             spread_ * uniform(random_) * made_ / kSteady;
  }
}

std::vector<int> PieceOrders::next() {
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
  for (int p = 0; p < pieces_.count(); ++p) {
    missing.push_back(static_cast<int>(follows_[p].size()));
  }
  for (int p = 0; p < pieces_.count(); ++p) {
    if (missing[static_cast<size_t>(p)] == 0) {
      push(p);
    }
  }
  // Free pieces may wait for each other: they come when nothing else is left.
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
    for (; waiting < pieces_.count() && ready.empty(); ++waiting) {
      if (!listed[static_cast<size_t>(waiting)]) {
        push(waiting);
      }
    }
  }
  ++made_;
  return order;
}

std::vector<int> PieceOrders::changed(std::vector<int> order) {
  size_t count = order.size();
  size_t at = random_() % count;
  size_t reach = 1 + random_() % (1 + count / 4);
  size_t far = random_() % reach;
  std::vector<bool> moves(count, false);  // by piece
  moves[static_cast<size_t>(order[at])] = true;
  auto follow = [&](int piece, const IntLists& neighbours) {
    auto list = neighbours[piece];
    bool moved = std::any_of(list.begin(), list.end(),
                             [&](int other) { return moves[static_cast<size_t>(other)]; });
    moves[static_cast<size_t>(piece)] = moves[static_cast<size_t>(piece)] || moved;
  };
  auto isMoved = [&](int piece) { return moves[static_cast<size_t>(piece)]; };
  bool later = random_() % 2 == 0;
  size_t from = later ? at : at - std::min(at, far);
  size_t to = later ? std::min(at + far, count - 1) : at;
  for (size_t i = from; later && i <= to; ++i) {
    follow(order[i], pieces_.before);
  }
  for (size_t i = to + 1; !later && i-- > from;) {
    follow(order[i], pieces_.after);
  }
  std::stable_partition(order.begin() + static_cast<std::ptrdiff_t>(from),
                        order.begin() + static_cast<std::ptrdiff_t>(to) + 1,
                        [&](int piece) { return isMoved(piece) != later; });
  return order;
}

}  // namespace graphrun::placement
