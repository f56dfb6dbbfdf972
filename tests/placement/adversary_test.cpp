// Graphs made against each heuristic: `auto` must not fall for what they fall for.
#include <algorithm>
#include <cmath>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "placement/bounds/lower_bounds.h"
#include "placement/problem/problem.h"
#include "placement/problem/validate.h"
#include "placement/strategies/strategy.h"
#include "tests/placement/graphs.h"

namespace graphrun::placement {
namespace {

using namespace testing;

/// All nodes on one device in program order, where constraints allow that.
std::optional<int64_t> stepOn(const PlacementProblem& problem, int device) {
  Placement placement;
  for (int n = 0; n < problem.graph().nodeCount(); ++n) {
    const Unit& unit = problem.constraints.unit(n);
    placement.device.push_back(unit.pinned ? unit.allowed[0] : device);
    if (!unit.allows(placement.device.back())) {
      return std::nullopt;
    }
  }
  placement.setOrder(problem.graph().topologicalOrder);
  return problem.simulator.run(placement)->stepNs;
}

/// The step of `auto`, which is valid, and no longer than that of any heuristic or single device.
int64_t checkedStep(const PlacementProblem& problem) {
  auto best = placeWith(problem, *findStrategy("auto").value());
  REQUIRE(best.ok());
  int64_t step = best->simulation.stepNs;
  std::vector<std::string> violations = placementViolations(problem, best->placement);
  CAPTURE(violations);
  REQUIRE(violations.empty());
  REQUIRE(step >= lowerBounds(problem).ns());
  for (const Strategy& strategy : strategies()) {
    CAPTURE(strategy.name);
    if (strategy.place != nullptr) {
      auto other = strategy.place(problem);
      REQUIRE((!other.ok() || step <= other->simulation.stepNs));
    }
  }
  for (int device = 0; device < problem.deviceCount(); ++device) {
    REQUIRE(step <= stepOn(problem, device).value_or(step));
  }
  return step;
}

/// Place of a cell in a table of `columns`; of the row behind the last, how many there are.
size_t cellOf(int row, int columns, int column = 0) {
  return static_cast<size_t>(row) * static_cast<size_t>(columns) + static_cast<size_t>(column);
}

/// What an instance is made of: all of it may be changed at random.
struct Instance {
  std::vector<int> times;        // by node
  std::vector<double> slowness;  // by device
  std::vector<double> affinity;  // [node][device]
  std::vector<int> sizes;        // [from][to], bytes; 0: no edge
  int64_t latencyNs = 10;
  double bytesPerSecond = 1e9;
  bool queues = true;
};

/// Changes an instance so that one heuristic becomes ever worse beside `auto`, by simulated
/// annealing. Source: Coleman, Krishnamachari, "PISA: An Adversarial Approach To Comparing Task
/// Graph Scheduling Algorithms", 2024.
class Adversary {
 public:
  /// `shares`: the first device has the cores of all others, too.
  Adversary(const Strategy& victim, uint64_t seed, bool shares)
      : victim_(victim), random_(seed), shares_(shares) {
    nodes_ = 4 + below(9);
    devices_ = 2 + below(3);
    for (int n = 0; n < nodes_; ++n) {
      now_.times.push_back(drawTime());
    }
    now_.slowness.assign(static_cast<size_t>(devices_), 1);
    now_.affinity.assign(cellOf(nodes_, devices_), 1);
    now_.sizes.assign(cellOf(nodes_, nodes_), 0);
    for (int i = 0; i < 2 * nodes_; ++i) {
      size() = drawSize();
    }
    now_.queues = below(2) == 0;
  }

  /// The largest ratio that was found.
  double evolve(int steps) {
    double ratio = judge(now_);
    double worst = ratio;
    for (int i = 1; i < steps; ++i) {
      Instance before = now_;
      change();
      double found = judge(now_);
      double heat = 0.2 * (1 - static_cast<double>(i) / steps) + 1e-9;
      if (found < ratio && uniform() >= std::exp((found - ratio) / heat)) {
        now_ = std::move(before);
        continue;
      }
      ratio = found;
      worst = std::max(worst, ratio);
    }
    return worst;
  }

 private:
  int below(int count) { return static_cast<int>(random_() % static_cast<uint64_t>(count)); }
  double uniform() { return std::uniform_real_distribution<double>(0, 1)(random_); }
  int drawTime() { return below(4) == 0 ? below(2000) : below(100); }
  int drawSize() { return below(3) == 0 ? 0 : 1 + drawTime(); }

  int& size() {  // of an edge from a node to a later one
    int to = 1 + below(nodes_ - 1);
    return now_.sizes[cellOf(below(to), nodes_, to)];
  }

  void change() {
    switch (below(6)) {
      case 0:
        now_.slowness[static_cast<size_t>(below(devices_))] = 0.5 + 3 * uniform();
        break;
      case 1:
        now_.affinity[static_cast<size_t>(below(nodes_ * devices_))] = 0.25 + 4 * uniform();
        break;
      case 2:
        now_.bytesPerSecond = 1e9 * (0.1 + 2 * uniform());
        now_.latencyNs = below(100);
        break;
      case 3:
        now_.times[static_cast<size_t>(below(nodes_))] = drawTime();
        break;
      default:
        size() = drawSize();
    }
  }

  CostGraph graphOf(const Instance& instance) const {
    CostGraph graph;
    for (int n = 0; n < nodes_; ++n) {
      std::vector<int64_t> times;
      for (int d = 0; d < devices_; ++d) {
        times.push_back(std::llround(instance.times[static_cast<size_t>(n)] *
                                     instance.slowness[static_cast<size_t>(d)] *
                                     instance.affinity[cellOf(n, devices_, d)]));
      }
      addNode(graph, absl::StrCat("n", n), std::move(times));
    }
    for (int from = 0; from < nodes_; ++from) {
      for (int to = from + 1; to < nodes_; ++to) {
        if (int bytes = instance.sizes[cellOf(from, nodes_, to)]; bytes > 0) {
          addTensor(graph, from, {to}, bytes, to == nodes_ - 1);
        }
      }
    }
    REQUIRE(graph.finish(devices_).ok());
    return graph;
  }

  Cluster wholeAndParts() const {
    std::vector<std::vector<int>> cores(static_cast<size_t>(devices_));
    for (int d = 1; d < devices_; ++d) {
      cores[0].push_back(d);
      cores[static_cast<size_t>(d)] = {d};
    }
    return coreCluster({cores});
  }

  double judge(const Instance& instance) const {
    CostGraph graph = graphOf(instance);
    Cluster cluster = shares_ ? wholeAndParts() : simpleCluster(devices_);
    for (LinkOverride& link : cluster.links) {
      link.latencyNs = instance.latencyNs;
      link.bytesPerSecond = instance.bytesPerSecond;
      link.queues = instance.queues;
    }
    PlacementProblem problem = makeProblem(graph, cluster);
    int64_t best = std::max<int64_t>(1, checkedStep(problem));
    return static_cast<double>(victim_.place(problem)->simulation.stepNs) /
           static_cast<double>(best);
  }

  const Strategy& victim_;
  std::mt19937_64 random_;
  bool shares_;
  int nodes_;
  int devices_;
  Instance now_;
};

/// So many graphs made against each heuristic, in so many steps each time, and by the way how bad
/// they became.
void attackAll(int seeds, int steps) {
  std::string told;
  for (const Strategy& strategy : strategies()) {
    if (strategy.place == nullptr) {
      continue;
    }
    double worst = 0;
    for (int i = 0; i < 2 * seeds; ++i) {
      CAPTURE(strategy.name, i);
      auto seed = static_cast<uint64_t>(i / 2);
      worst = std::max(worst, Adversary(strategy, seed, i % 2 != 0).evolve(steps));
    }
    CHECK(worst > 1);  // there is something to beat
    absl::StrAppend(&told, " ", std::string(strategy.name), " ", worst);
  }
  WARN("beside auto, at worst:" << told);
}

void checkRandom(unsigned graphs) {
  for (unsigned seed = 0; seed < graphs; ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    RandomOptions options;
    options.devices = 2 + static_cast<int>(seed % 4);
    CostGraph graph = randomGraph(random, options);
    Cluster cluster =
        seed % 3 == 0 ? randomCoreCluster(random, options.devices) : simpleCluster(options.devices);
    PlacementProblem problem = makeProblem(graph, cluster);
    checkedStep(problem);
  }
}

TEST_CASE("auto is never worse than a heuristic or a device on graphs made against them") {
  attackAll(1, 50);
  checkRandom(150);
}

TEST_CASE("auto is never worse on 10,000 random and adversarial graphs", "[.slow]") {
  attackAll(10, 100);
  checkRandom(3'000);
}

}  // namespace
}  // namespace graphrun::placement
