// Choices that cost together, against trying all of them.
#include <catch2/catch.hpp>
#include <ctime>
#include <random>

#include "devices/compiler/assignment.h"

namespace graphrun::devices::cpu {
namespace {

struct Edge {
  uint32_t a, b;
  std::vector<double> costs;
};

struct Problem {
  std::vector<std::vector<double>> nodes;
  std::vector<Edge> edges;

  double cost(const std::vector<uint32_t>& choice) const {
    double sum = 0;
    for (size_t i = 0; i < nodes.size(); ++i) {
      sum += nodes[i][choice[i]];
    }
    for (const Edge& edge : edges) {
      sum += edge.costs[choice[edge.a] * nodes[edge.b].size() + choice[edge.b]];
    }
    return sum;
  }

  double least() const {
    std::vector<uint32_t> choice(nodes.size(), 0);
    double best = cost(choice);
    for (size_t i = 0; i < nodes.size();) {
      if (++choice[i] < nodes[i].size()) {
        best = std::min(best, cost(choice));
        i = 0;
      } else {
        choice[i++] = 0;
      }
    }
    return best;
  }

  double solved() const {
    AssignmentProblem problem;
    for (const auto& node : nodes) {
      problem.addNode(node);
    }
    for (const Edge& edge : edges) {
      problem.addEdge(edge.a, edge.b, edge.costs);
    }
    std::vector<uint32_t> choice = problem.solve();
    REQUIRE(choice.size() == nodes.size());
    return cost(choice);
  }
};

/// `extra` edges beside those of a tree.
Problem randomProblem(std::mt19937& random, uint32_t nodes, int extra) {
  Problem problem;
  auto below = [&](uint32_t n) { return static_cast<uint32_t>(random() % n); };
  for (uint32_t i = 0; i < nodes; ++i) {
    problem.nodes.emplace_back();
    for (uint32_t k = 0; k < 1 + below(3); ++k) {
      problem.nodes.back().push_back(below(100));
    }
  }
  auto connect = [&](uint32_t a, uint32_t b) {
    Edge edge{a, b, {}};
    for (size_t i = 0; i < problem.nodes[a].size() * problem.nodes[b].size(); ++i) {
      edge.costs.push_back(below(60));
    }
    problem.edges.push_back(std::move(edge));
  };
  for (uint32_t i = 1; i < nodes; ++i) {
    connect(i, below(i));
  }
  for (int i = 0; i < extra; ++i) {
    uint32_t b = 1 + below(nodes - 1);
    connect(below(b), b);
  }
  return problem;
}

TEST_CASE("the best choice is found where nodes form a tree or a ring") {
  std::mt19937 random(1);
  for (int i = 0; i < 200; ++i) {
    Problem problem = randomProblem(random, 2 + i % 7, i % 2);
    CHECK(problem.solved() == problem.least());
  }
}

TEST_CASE("the choice is close to the best where many nodes are connected") {
  std::mt19937 random(2);
  double found = 0;
  double best = 0;
  for (int i = 0; i < 200; ++i) {
    Problem problem = randomProblem(random, 8, 12);
    found += problem.solved();
    best += problem.least();
  }
  CHECK(found <= 1.03 * best);
}

TEST_CASE("a chain of thousands is solved") {
  AssignmentProblem chain;
  for (uint32_t i = 0; i < 5000; ++i) {
    chain.addNode({1, 0});
    if (i > 0) {
      chain.addEdge(i - 1, i, {0, 5, 5, 0});
    }
  }
  std::vector<uint32_t> choice = chain.solve();
  CHECK(choice == std::vector<uint32_t>(5000, 1));
}

TEST_CASE("a hundred thousand nodes of many neighbours are decided quickly") {
  constexpr uint32_t kNodes = 100000;
  AssignmentProblem problem;
  for (uint32_t i = 0; i < kNodes; ++i) {
    problem.addNode({1, 0});
  }
  for (uint32_t i = 0; i < kNodes; ++i) {
    for (uint32_t step : {1U, 7U, 1000U, 17001U}) {
      problem.addEdge(i, (i + step) % kNodes, {0, 5, 5, 0});
    }
  }
  std::clock_t start = std::clock();  // of this process, on a loaded machine too
  CHECK(problem.solve() == std::vector<uint32_t>(kNodes, 1));
  CHECK(std::clock() - start < 5 * CLOCKS_PER_SEC);
}

}  // namespace
}  // namespace graphrun::devices::cpu
