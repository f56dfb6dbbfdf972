#include "placement/orders.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <set>
#include <utility>

namespace graphrun::placement {
namespace {

/// Picks ready nodes by the bytes that stay live after them.
class LeanOrder {
 public:
  explicit LeanOrder(const CostGraph& graph)
      : graph_(graph), pending_(graph.nodes.size(), 0), users_(graph.tensors.size(), 0) {
    for (int t = 0; t < graph.tensorCount(); ++t) {
      const CostTensor& tensor = graph.tensor(t);
      users_[static_cast<size_t>(t)] = static_cast<int>(tensor.consumers.size());
      for (int consumer : tensor.consumers) {
        pending_[static_cast<size_t>(consumer)] += tensor.producer >= 0 ? 1 : 0;
      }
    }
  }

  std::vector<int> run() {
    std::vector<int> order;
    for (int n = 0; n < graph_.nodeCount(); ++n) {
      if (pending_[static_cast<size_t>(n)] == 0) {
        ready_.insert({growth(n), n});
      }
    }
    while (!ready_.empty()) {
      int n = ready_.begin()->second;
      ready_.erase(ready_.begin());
      pending_[static_cast<size_t>(n)] = -1;
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
      bytes += tensor.isOutput || !tensor.consumers.empty() ? tensor.bytes : 0;
    }
    for (int t : graph_.node(n).inputs) {
      bytes -= freedBy(t) ? graph_.tensor(t).bytes : 0;
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
    for (int t : graph_.node(n).outputs) {
      for (int consumer : graph_.tensor(t).consumers) {
        if (--pending_[static_cast<size_t>(consumer)] == 0) {
          ready_.insert({growth(consumer), consumer});
        }
      }
    }
  }

  int lastUser(int t) const {
    for (int consumer : graph_.tensor(t).consumers) {
      if (pending_[static_cast<size_t>(consumer)] >= 0) {
        return consumer;
      }
    }
    return -1;
  }

  const CostGraph& graph_;
  std::vector<int> pending_;  // by node: producers to come; -1 once it is in the order
  std::vector<int> users_;    // by tensor: consumers to come
  std::set<std::pair<int64_t, int>> ready_;
};

using NodeTime = std::function<double(int)>;
using EdgeTime = std::function<double(const CostTensor&, int)>;  // tensor, consumer

std::vector<int> byUpwardRank(const CostGraph& graph, const NodeTime& nodeTime,
                              const EdgeTime& edgeTime) {
  std::vector<double> rank(graph.nodes.size(), 0);
  const std::vector<int>& order = graph.topologicalOrder;
  for (auto it = order.rbegin(); it != order.rend(); ++it) {
    double tail = 0;
    for (int t : graph.node(*it).outputs) {
      for (int consumer : graph.tensor(t).consumers) {
        tail = std::max(tail,
                        edgeTime(graph.tensor(t), consumer) + rank[static_cast<size_t>(consumer)]);
      }
    }
    rank[static_cast<size_t>(*it)] = nodeTime(*it) + tail;
  }
  // Equal ranks keep their topological positions, or they could turn an edge round.
  std::vector<std::pair<double, size_t>> keys;
  for (size_t i = 0; i < order.size(); ++i) {
    keys.emplace_back(-rank[static_cast<size_t>(order[i])], i);
  }
  std::sort(keys.begin(), keys.end());
  std::vector<int> result;
  for (const auto& key : keys) {
    result.push_back(order[key.second]);
  }
  return result;
}

double meanNodeNs(const PlacementProblem& problem, int node) {
  double sum = 0;
  const std::vector<int>& allowed = problem.constraints.unit(node).allowed;
  for (int device : allowed) {
    sum += static_cast<double>(problem.graph().node(node).timeNs[static_cast<size_t>(device)]);
  }
  return sum / static_cast<double>(allowed.size());
}

/// Mean over all ordered pairs of devices, of which equal ones cost nothing.
struct MeanLink {
  double latencyNs = 0;
  double nsPerByte = 0;

  explicit MeanLink(const PlacementProblem& problem) {
    int count = problem.deviceCount();
    for (int a = 0; a < count; ++a) {
      for (int b = 0; b < count; ++b) {
        if (a != b) {
          const LinkTable& table = problem.simulator.links();
          const LinkModel& model = table.link(table.id(a, b)).model;
          latencyNs += static_cast<double>(model.latencyNs);
          nsPerByte += 1e9 / model.bytesPerSecond;
        }
      }
    }
    latencyNs /= static_cast<double>(count) * count;
    nsPerByte /= static_cast<double>(count) * count;
  }
};

}  // namespace

std::vector<int> leanOrder(const CostGraph& graph) { return LeanOrder(graph).run(); }

std::vector<int> upwardRankOrder(const PlacementProblem& problem) {
  MeanLink link(problem);
  return byUpwardRank(
      problem.graph(), [&](int n) { return meanNodeNs(problem, n); },
      [&](const CostTensor& tensor, int) {
        return link.latencyNs + link.nsPerByte * static_cast<double>(tensor.bytes);
      });
}

std::vector<int> upwardRankOrder(const PlacementProblem& problem, const std::vector<int>& device) {
  const CostGraph& graph = problem.graph();
  return byUpwardRank(
      graph,
      [&](int n) {
        return static_cast<double>(
            graph.node(n).timeNs[static_cast<size_t>(device[static_cast<size_t>(n)])]);
      },
      [&](const CostTensor& tensor, int consumer) {
        int from = device[static_cast<size_t>(tensor.producer)];
        int to = device[static_cast<size_t>(consumer)];
        const LinkTable& table = problem.simulator.links();
        return from == to ? 0.0
                          : static_cast<double>(
                                table.link(table.id(from, to)).model.transferNs(tensor.bytes));
      });
}

}  // namespace graphrun::placement
