#include "devices/compiler/assignment.h"

#include <algorithm>
#include <cassert>
#include <functional>
#include <limits>

namespace graphrun::devices {
namespace {

constexpr uint32_t kOpen = std::numeric_limits<uint32_t>::max();
/// Neighbours of a node that is taken out without loss.
constexpr size_t kEasy = 2;
constexpr int kMostRounds = 16;

}  // namespace

uint32_t AssignmentProblem::addNode(std::vector<double> costs) {
  assert(!costs.empty());
  nodes_.push_back({std::move(costs), {}});
  return nodes_.size() - 1;
}

void AssignmentProblem::addHalf(uint32_t a, uint32_t b, const std::vector<double>& costs,
                                bool transposed) {
  size_t rows = nodes_[a].costs.size();
  size_t columns = nodes_[b].costs.size();
  std::vector<double>& sum = nodes_[a].edges[b];
  sum.resize(rows * columns);
  for (size_t i = 0; i < rows; ++i) {
    for (size_t j = 0; j < columns; ++j) {
      sum[i * columns + j] += transposed ? costs[j * rows + i] : costs[i * columns + j];
    }
  }
}

void AssignmentProblem::addEdge(uint32_t a, uint32_t b, const std::vector<double>& costs) {
  assert(a != b && costs.size() == nodes_[a].costs.size() * nodes_[b].costs.size());
  if (nodes_[a].costs.size() == 1 || nodes_[b].costs.size() == 1) {
    std::vector<double>& chooser = nodes_[nodes_[b].costs.size() == 1 ? a : b].costs;
    std::transform(chooser.begin(), chooser.end(), costs.begin(), chooser.begin(), std::plus<>());
    return;
  }
  addHalf(a, b, costs, false);
  addHalf(b, a, costs, true);
}

void AssignmentProblem::remove(uint32_t node) {
  easy_.erase(node);
  for (const auto& [neighbour, costs] : nodes_[node].edges) {
    nodes_[neighbour].edges.erase(node);
    if (nodes_[neighbour].edges.size() <= kEasy) {
      easy_.insert(neighbour);
    }
  }
}

void AssignmentProblem::foldLeaf(uint32_t node, uint32_t neighbour) {
  const Node& leaf = nodes_[node];
  const std::vector<double>& edge = leaf.edges.at(neighbour);
  std::vector<double>& costs = nodes_[neighbour].costs;
  for (size_t j = 0; j < costs.size(); ++j) {
    double best = std::numeric_limits<double>::infinity();
    for (size_t i = 0; i < leaf.costs.size(); ++i) {
      best = std::min(best, leaf.costs[i] + edge[i * costs.size() + j]);
    }
    costs[j] += best;
  }
}

void AssignmentProblem::foldPath(uint32_t node, uint32_t a, uint32_t b) {
  const Node& middle = nodes_[node];
  size_t rows = nodes_[a].costs.size();
  size_t columns = nodes_[b].costs.size();
  std::vector<double> folded(rows * columns, std::numeric_limits<double>::infinity());
  for (size_t k = 0; k < middle.costs.size(); ++k) {
    for (size_t i = 0; i < rows; ++i) {
      for (size_t j = 0; j < columns; ++j) {
        double cost = middle.costs[k] + middle.edges.at(a)[k * rows + i] +
                      middle.edges.at(b)[k * columns + j];
        folded[i * columns + j] = std::min(folded[i * columns + j], cost);
      }
    }
  }
  addEdge(a, b, folded);
}

/// Decides a node of many neighbours: each of them is taken to answer as it likes best.
void AssignmentProblem::fix(uint32_t node) {
  Node& fixed = nodes_[node];
  std::vector<double> outlook = fixed.costs;
  for (const auto& [neighbour, edge] : fixed.edges) {
    const std::vector<double>& other = nodes_[neighbour].costs;
    for (size_t i = 0; i < outlook.size(); ++i) {
      double best = std::numeric_limits<double>::infinity();
      for (size_t j = 0; j < other.size(); ++j) {
        best = std::min(best, edge[i * other.size() + j] + other[j]);
      }
      outlook[i] += best;
    }
  }
  size_t chosen = std::min_element(outlook.begin(), outlook.end()) - outlook.begin();
  for (const auto& [neighbour, edge] : fixed.edges) {
    std::vector<double>& other = nodes_[neighbour].costs;
    for (size_t j = 0; j < other.size(); ++j) {
      other[j] += edge[chosen * other.size() + j];
    }
  }
  // Whatever is asked of it later, it answers with this.
  for (size_t i = 0; i < fixed.costs.size(); ++i) {
    fixed.costs[i] = i == chosen ? 0 : std::numeric_limits<double>::max() / 4;
  }
}

std::optional<uint32_t> AssignmentProblem::next() {
  if (!easy_.empty()) {
    return *easy_.begin();
  }
  while (!hard_.empty()) {
    Hard widest = hard_.top();
    hard_.pop();
    size_t neighbours = nodes_[widest.node].edges.size();
    if (neighbours == widest.neighbours) {
      return widest.node;
    }
    if (neighbours > kEasy) {  // else it was easy, and is gone
      hard_.push({neighbours, widest.node});
    }
  }
  return std::nullopt;
}

double AssignmentProblem::costOf(const Node& node, uint32_t alternative,
                                 const std::vector<uint32_t>& choice) const {
  double cost = node.costs[alternative];
  for (const auto& [neighbour, edge] : node.edges) {
    if (choice[neighbour] != kOpen) {
      cost += edge[alternative * nodes_[neighbour].costs.size() + choice[neighbour]];
    }
  }
  return cost;
}

void AssignmentProblem::improve(const std::vector<Node>& original,
                                std::vector<uint32_t>& choice) const {
  bool changed = true;
  for (int round = 0; changed && round < kMostRounds; ++round) {
    changed = false;
    for (uint32_t i = 0; i < original.size(); ++i) {
      for (uint32_t k = 0; k < original[i].costs.size(); ++k) {
        if (costOf(original[i], k, choice) < costOf(original[i], choice[i], choice)) {
          choice[i] = k;
          changed = true;
        }
      }
    }
  }
}

std::vector<uint32_t> AssignmentProblem::solve() {
  const std::vector<Node> original = nodes_;
  for (uint32_t i = 0; i < nodes_.size(); ++i) {
    if (nodes_[i].edges.size() <= kEasy) {
      easy_.insert(i);
    } else {
      hard_.push({nodes_[i].edges.size(), i});
    }
  }
  std::vector<uint32_t> order;
  while (std::optional<uint32_t> node = next()) {
    const Node& taken = nodes_[*node];
    if (taken.edges.size() == 1) {
      foldLeaf(*node, taken.edges.begin()->first);
    } else if (taken.edges.size() == 2) {
      foldPath(*node, taken.edges.begin()->first, taken.edges.rbegin()->first);
    } else if (taken.edges.size() > kEasy) {
      fix(*node);
    }
    remove(*node);
    order.push_back(*node);
  }
  std::vector<uint32_t> choice(nodes_.size(), kOpen);
  for (size_t i = order.size(); i-- > 0;) {
    const Node& node = nodes_[order[i]];
    uint32_t best = 0;
    for (uint32_t k = 1; k < node.costs.size(); ++k) {
      if (costOf(node, k, choice) < costOf(node, best, choice)) {
        best = k;
      }
    }
    choice[order[i]] = best;
  }
  improve(original, choice);
  return choice;
}

}  // namespace graphrun::devices
