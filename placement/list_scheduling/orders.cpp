#include "placement/list_scheduling/orders.h"

#include <algorithm>
#include <queue>
#include <set>
#include <utility>

#include "placement/cost_graph/longest_paths.h"
#include "placement/cost_graph/ready_nodes.h"
#include "placement/list_scheduling/mean_costs.h"

namespace graphrun::placement {
namespace {

/// Picks ready nodes by the bytes that stay live after them.
class LeanOrder {
 public:
  explicit LeanOrder(const CostGraph& graph)
      : graph_(graph), nodes_(graph), isDone_(graph.nodes.size(), false) {
    users_.reserve(graph.tensors.size());
    for (const CostTensor& tensor : graph.tensors) {
      users_.push_back(static_cast<int>(tensor.consumers.size()));
    }
  }

  std::vector<int> run() {
    std::vector<int> order;
    nodes_.forFirst([&](int n) { ready_.insert({growth(n), n}); });
    while (!ready_.empty()) {
      int n = ready_.begin()->second;
      ready_.erase(ready_.begin());
      isDone_[static_cast<size_t>(n)] = true;
      order.push_back(n);
      retire(n);
    }
    return order;
  }

 private:
  /// Live bytes after the node minus live bytes before it.
  int64_t growth(int n) const {
    int64_t bytes = 0;
    for (int t : graph_.node(n).outputs) {
      const CostTensor& tensor = graph_.tensor(t);
      bytes += tensor.isOutput || !tensor.consumers.empty() ? tensor.liveBytes() : 0;
    }
    for (int t : graph_.node(n).inputs) {
      bytes -= freedBy(t) ? graph_.tensor(t).liveBytes() : 0;
    }
    return bytes;
  }

  bool freedBy(int t) const {
    const CostTensor& tensor = graph_.tensor(t);
    return users_[static_cast<size_t>(t)] == 1 && tensor.producer >= 0 && !tensor.isOutput;
  }

  void retire(int n) {
    for (int t : graph_.node(n).inputs) {
      // The growth of a last user changes when the user before it is done: its key is renewed.
      int& users = users_[static_cast<size_t>(t)];
      int last = users == 2 ? lastUser(t) : -1;
      bool queued = last >= 0 && ready_.erase({growth(last), last}) > 0;
      --users;
      if (queued) {
        ready_.insert({growth(last), last});
      }
    }
    nodes_.done(n, [&](int next) { ready_.insert({growth(next), next}); });
  }

  int lastUser(int t) const {
    for (int consumer : graph_.tensor(t).consumers) {
      if (!isDone_[static_cast<size_t>(consumer)]) {
        return consumer;
      }
    }
    return -1;
  }

  const CostGraph& graph_;
  ReadyNodes nodes_;
  std::vector<bool> isDone_;  // by node
  std::vector<int> users_;    // by tensor: consumers to come
  std::set<std::pair<int64_t, int>> ready_;
};

/// By descending rank. Equal ranks keep their topological positions, or they could turn an edge
/// round.
std::vector<int> byRank(const CostGraph& graph, const std::vector<double>& rank) {
  const std::vector<int>& order = graph.topologicalOrder;
  std::vector<std::pair<double, size_t>> keys;
  keys.reserve(order.size());
  for (size_t i = 0; i < order.size(); ++i) {
    keys.emplace_back(-rank[static_cast<size_t>(order[i])], i);
  }
  std::sort(keys.begin(), keys.end());
  std::vector<int> result;
  result.reserve(order.size());
  for (const auto& key : keys) {
    result.push_back(order[key.second]);
  }
  return result;
}

}  // namespace

std::vector<int> leanOrder(const CostGraph& graph) { return LeanOrder(graph).run(); }

std::vector<int> upwardRankOrder(const PlacementProblem& problem) {
  return byRank(problem.graph(), upwardRanks(problem));
}

std::vector<int> upwardRankOrder(const PlacementProblem& problem, const std::vector<int>& device) {
  const CostGraph& graph = problem.graph();
  const LinkTable& table = problem.simulator.links();
  auto deviceOf = [&](int node) { return device[static_cast<size_t>(node)]; };
  auto time = [&](int node) {
    return static_cast<double>(graph.node(node).timeNs[static_cast<size_t>(deviceOf(node))]);
  };
  auto transfer = [&](int t, int producer, int consumer) {
    int from = deviceOf(producer);
    int to = deviceOf(consumer);
    return from == to ? 0.0
                      : static_cast<double>(
                            table.link(table.id(from, to)).model.transferNs(graph.tensor(t).bytes));
  };
  return byRank(graph, pathsToEnd<double>(graph, time, transfer).whole);
}

std::vector<int> priorityOrder(const CostGraph& graph, const std::vector<double>& priority) {
  ReadyNodes nodes(graph);
  std::priority_queue<std::pair<double, int>> ready;  // the lower id of equals
  auto push = [&](int n) { ready.emplace(priority[static_cast<size_t>(n)], -n); };
  nodes.forFirst(push);
  std::vector<int> order;
  while (!ready.empty()) {
    int n = -ready.top().second;
    ready.pop();
    order.push_back(n);
    nodes.done(n, push);
  }
  return order;
}

}  // namespace graphrun::placement
