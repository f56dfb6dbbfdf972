// ETF and SCT within memory limits. Sources: Hwang, Chow, Anger, Lee, "Scheduling Precedence Graphs
// in Systems with Interprocessor Communication Times", SIAM J. Computing 18(2), 1989; Hanen,
// Munier, "An Approximation Algorithm for Scheduling Dependent Tasks on m Processors with Small
// Communication Delays", 1995; with memory: Jeon et al., "Baechi", SoCC 2020.
#include <algorithm>
#include <functional>
#include <queue>
#include <tuple>

#include "placement/cost_graph/ready_nodes.h"
#include "placement/list_scheduling/heuristics.h"
#include "placement/list_scheduling/mean_costs.h"
#include "placement/list_scheduling/memory_budget.h"
#include "placement/problem/placement_result.h"
#include "runtime/base/status.h"

namespace graphrun::placement {
namespace {

/// By node: the consumer that would best run right after it on its device, -1 for none; no two have
/// the same one. The papers find it by a linear program; here the longest transfers are saved
/// first.
std::vector<int> favouriteChildren(const PlacementProblem& problem) {
  const CostGraph& graph = problem.graph();
  std::vector<std::tuple<int64_t, int, int>> edges;  // bytes, producer, consumer
  for (const CostTensor& tensor : graph.tensors) {
    for (int consumer : tensor.consumers) {
      if (tensor.producer >= 0) {
        edges.emplace_back(-tensor.bytes, tensor.producer, consumer);
      }
    }
  }
  std::sort(edges.begin(), edges.end());
  std::vector<int> child(graph.nodes.size(), -1);
  std::vector<bool> isTaken(graph.nodes.size(), false);
  for (auto [bytes, producer, consumer] : edges) {
    int& favourite = child[static_cast<size_t>(producer)];
    if (favourite < 0 && !isTaken[static_cast<size_t>(consumer)]) {
      favourite = consumer;
      isTaken[static_cast<size_t>(consumer)] = true;
    }
  }
  return child;
}

/// Trials for one node to be placed. Where many nodes are ready and contend for the same devices,
/// the first of so many is taken; of large graphs fewer, so that all nodes together take no more
/// than some `kLooksInAll`.
constexpr int64_t kMostLooks = 512;
constexpr int64_t kLeastLooks = 8;
constexpr int64_t kLooksInAll = int64_t{1} << 20;

/// Takes, of all ready nodes and devices, always the pair that starts first; of equals the node
/// with the higher rank.
class EarliestStart {
 public:
  EarliestStart(const PlacementProblem& problem, const std::vector<int64_t>& budget,
                const std::vector<double>& rank, const std::vector<int>* favourites)
      : problem_(problem),
        graph_(problem.graph()),
        mean_(problem),
        rank_(rank),
        favourites_(favourites),
        mostLooks_(std::clamp(kLooksInAll / std::max<int64_t>(1, graph_.nodeCount()), kLeastLooks,
                              kMostLooks)),
        schedule_(problem, budget, false),
        nodes_(graph_),
        isPlaced_(graph_.nodes.size(), false),
        lastOn_(budget.size(), -1),
        lastFinish_(budget.size(), 0) {}

  absl::StatusOr<Placement> run(const char* strategy) {
    nodes_.forFirst([&](int n) { ready_.push(keyOf(n, attempt(n))); });
    int64_t looks = 0;
    while (!ready_.empty()) {
      GR_RETURN_IF_ERROR(checkTime(problem_, schedule_.count()));
      int node = std::get<int>(ready_.top());
      Key known = ready_.top();
      ready_.pop();
      Trial trial = attempt(node);
      looks += static_cast<int64_t>(trials_.size());
      // Starts only get later while others are placed: a key is looked at again when it is first.
      Key now = keyOf(node, trial);
      if (looks < mostLooks_ && now > known && !ready_.empty() && now > ready_.top()) {
        ready_.push(now);
      } else if (trial.overBytes > 0) {
        return fitsNowhere(problem_, node, trials_, strategy);
      } else {
        place(node, trial);
        looks = 0;
      }
    }
    return schedule_.finish(strategy);
  }

 private:
  using Key = std::tuple<bool, double, double, int>;  // fits not, start, -rank, node

  /// When the node should start there: a device waits for the favourite of what it ran last, for as
  /// long as bringing that elsewhere would take.
  double startOf(int node, const Trial& trial) const {
    auto d = static_cast<size_t>(trial.device);
    auto start = static_cast<double>(trial.start);
    if (favourites_ == nullptr || lastOn_[d] < 0) {
      return start;
    }
    int favourite = (*favourites_)[static_cast<size_t>(lastOn_[d])];
    if (favourite < 0 || favourite == node || isPlaced_[static_cast<size_t>(favourite)]) {
      return start;
    }
    int64_t bytes = 0;
    for (int t : graph_.node(favourite).inputs) {
      bytes =
          graph_.tensor(t).producer == lastOn_[d] ? std::max(bytes, graph_.tensor(t).bytes) : bytes;
    }
    return std::max(start, static_cast<double>(lastFinish_[d]) + mean_.transferToOtherNs(bytes));
  }

  Trial attempt(int node) {
    trials_ = schedule_.attempt(node);
    auto key = [&](const Trial& trial) {
      return std::tuple(trial.overBytes > 0, startOf(node, trial), trial.finish);
    };
    return *std::min_element(trials_.begin(), trials_.end(),
                             [&](const Trial& a, const Trial& b) { return key(a) < key(b); });
  }
  Key keyOf(int node, const Trial& trial) const {
    return {trial.overBytes > 0, startOf(node, trial), -rank_[static_cast<size_t>(node)], node};
  }

  void place(int node, const Trial& trial) {
    schedule_.commit(node, trial);
    isPlaced_[static_cast<size_t>(node)] = true;
    lastOn_[static_cast<size_t>(trial.device)] = node;
    lastFinish_[static_cast<size_t>(trial.device)] = trial.finish;
    nodes_.done(node, [&](int next) { ready_.push(keyOf(next, attempt(next))); });
  }

  const PlacementProblem& problem_;
  const CostGraph& graph_;
  MeanCosts mean_;
  const std::vector<double>& rank_;
  const std::vector<int>* favourites_;
  int64_t mostLooks_;
  ListSchedule schedule_;
  ReadyNodes nodes_;
  std::vector<bool> isPlaced_;
  std::vector<int> lastOn_;          // by device: node
  std::vector<int64_t> lastFinish_;  // by device
  std::priority_queue<Key, std::vector<Key>, std::greater<>> ready_;
  absl::Span<const Trial> trials_;  // of the node that was tried last
};

absl::StatusOr<PlacementResult> placeByStart(const PlacementProblem& problem,
                                             const std::vector<int>* favourites,
                                             const char* strategy) {
  std::vector<double> rank = upwardRanks(problem);
  return placeWithinLimits(problem, {[&](const auto& budget) {
                             return EarliestStart(problem, budget, rank, favourites).run(strategy);
                           }});
}

}  // namespace

absl::StatusOr<PlacementResult> placeEtf(const PlacementProblem& problem) {
  return placeByStart(problem, nullptr, "etf");
}

absl::StatusOr<PlacementResult> placeSct(const PlacementProblem& problem) {
  std::vector<int> favourites = favouriteChildren(problem);
  return placeByStart(problem, &favourites, "sct");
}

}  // namespace graphrun::placement
