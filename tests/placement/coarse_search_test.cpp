// Searches for throughput and for calls, beside the simulator and beside all placements there are.
#include <algorithm>
#include <chrono>
#include <functional>
#include <limits>
#include <optional>

#include "placement/bounds/lower_bounds.h"
#include "placement/cost_file_searches/cost_file_searches.h"
#include "placement/cost_file_searches/offload_bound.h"
#include "placement/cost_file_searches/offload_times.h"
#include "placement/list_scheduling/memory_budget.h"
#include "placement/problem/contiguity.h"
#include "placement/problem/problem.h"
#include "placement/problem/validate.h"
#include "placement/strategies/strategy.h"
#include "placement/throughput/coarse_orders.h"
#include "placement/throughput/segment_plan.h"
#include "placement/throughput/throughput_searches.h"
#include "tests/placement/graphs.h"

namespace graphrun::placement {
namespace {

using namespace testing;

struct Case {
  CostGraph graph;
  Cluster cluster;

  PlacementProblem problem(Objective objective, bool contiguous) const {
    PlacementProblem problem = makeProblem(graph, cluster);
    problem.objective = objective;
    problem.contiguous = contiguous;
    return problem;
  }
};

enum class Devices : uint8_t { kAny, kOffload, kOffloadAndOthers };

/// A random graph whose tensors take time at ports, backward nodes at its end, and devices with and
/// without ports, lanes, links and shared cores. kOffloadAndOthers: one of the kind that
/// isForOffload.
Case randomCase(unsigned seed, int nodes, int devices, Devices kind, bool constraints = true) {
  std::mt19937 random(seed);
  auto pick = [&](int most) { return std::uniform_int_distribution<int>(0, most)(random); };
  RandomOptions options;
  options.maxNodes = nodes;
  options.devices = devices;
  options.constraints = constraints;
  Case made{randomGraph(random, options), simpleCluster(devices)};
  for (CostTensor& tensor : made.graph.tensors) {
    tensor.portNs = pick(200);
  }
  if (kind == Devices::kAny && pick(1) == 0) {
    for (size_t n = made.graph.nodes.size() / 2; n < made.graph.nodes.size(); ++n) {
      made.graph.nodes[n].backward = true;
    }
  }
  for (size_t d = 0; d < made.cluster.devices.size(); ++d) {
    Device& device = made.cluster.devices[d];
    device.hasPort = pick(2) > 0;
    device.isOffload = kind != Devices::kAny && (kind == Devices::kOffload || d > 0);
    device.lanes = device.isOffload                     ? 1
                   : kind == Devices::kOffloadAndOthers ? 0
                   : pick(3) == 0                       ? 2
                                                        : 1;
  }
  if (kind == Devices::kOffloadAndOthers || pick(1) == 0) {
    made.cluster.links.clear();
    made.cluster.otherLinks =
        LinkModel{LinkKind::kGiven, 0, std::numeric_limits<double>::infinity()};
  }
  bool shares = kind == Devices::kAny && pick(2) == 0;
  for (Worker& worker : made.cluster.workers) {
    worker.address = shares ? "10.0.0.1:7070" : worker.address;
  }
  for (Device& device : made.cluster.devices) {
    device.onAnyCore = false;  // as in cost files: some have lanes
    for (int core = 0; shares && device.lanes == 1 && core < 3; ++core) {
      if (pick(1) == 0) {
        device.cores.push_back(core);
      }
    }
  }
  return made;
}

/// The best of all that nodes may be on, in the orders that strategies know: by rank, the lean one,
/// and the program's. Nothing if none of them fits.
std::optional<int64_t> leastNs(const PlacementProblem& problem) {
  std::vector<int> device(problem.graph().nodes.size(), 0);
  std::optional<int64_t> least;
  std::function<void(size_t)> choose = [&](size_t unit) {
    if (unit < problem.constraints.units.size()) {
      for (int d : problem.constraints.units[unit].allowed) {
        for (int node : problem.constraints.units[unit].nodes) {
          device[static_cast<size_t>(node)] = d;
        }
        choose(unit + 1);
      }
      return;
    }
    auto consider = [&](const absl::Status& feasible, const Simulation& simulation) {
      if (feasible.ok()) {
        least = std::min(least.value_or(kUnlimited), problem.objectiveNs(simulation));
      }
    };
    auto tried = tryDevices(problem, device, "all");
    if (!tried.ok()) {
      return;  // the simulator refuses it
    }
    consider(tried->feasible, tried->result.simulation);
    Placement placement = tried->result.placement;
    placement.setOrder(problem.graph().topologicalOrder);
    auto simulation = problem.simulator.run(placement);
    REQUIRE(simulation.ok());
    consider(checkFeasible(problem, placement, *simulation), *simulation);
  };
  choose(0);
  return least;
}

std::vector<int> randomDevices(const CoarseGraph& coarse, std::mt19937& random) {
  std::vector<int> device;
  for (const CoarseNode& coarseNode : coarse.nodes) {
    device.push_back(coarseNode.allowed[random() % coarseNode.allowed.size()]);
  }
  return device;
}

TEST_CASE("loads after moves are those of the simulator") {
  for (unsigned seed = 0; seed < 200; ++seed) {
    CAPTURE(seed);
    Case made = randomCase(seed, 30, 3, Devices::kAny);
    for (LinkOverride& link : made.cluster.links) {
      link.sendNsPerByte = seed % 4 == 1 ? 0.5 : 0;
    }
    for (int w = 0; seed % 3 == 1 && w < static_cast<int>(made.cluster.workers.size()); ++w) {
      made.cluster.crowds.resize(1);
      made.cluster.crowds.front().share = 0.25;
      made.cluster.crowds.front().workers.push_back(w);
    }
    for (int w = 0; seed % 5 < 2 && w < static_cast<int>(made.cluster.workers.size()); ++w) {
      ClientWork& client = made.cluster.client;
      client.work = {{1, {.latencyNs = 300, .bytesPerSecond = 1e9}}, {3, {.latencyNs = 900}}};
      client.cores = 1 + static_cast<int>(seed % 4);
      if (w > 0 || seed % 2 == 0) {
        client.workers.push_back(w);
      }
    }
    PlacementProblem problem = made.problem(Objective::kThroughput, false);
    CoarseGraph coarse = coarsenUnits(problem);
    std::mt19937 random(seed);
    DeviceLoads loads(problem, coarse, randomDevices(coarse, random));
    for (int i = 0; i < 20; ++i) {
      std::vector<int> to = randomDevices(coarse, random);
      int coarseNode = static_cast<int>(random() % coarse.nodes.size());
      loads.move(coarseNode, to[static_cast<size_t>(coarseNode)]);
    }
    Simulation simulation =
        tryDevices(problem, coarse.deviceByNode(loads.devices()), "test")->result.simulation;
    REQUIRE(loads.periodNs() == simulation.periodNs);
    for (int d = 0; d < problem.deviceCount(); ++d) {
      const DeviceUse& use = simulation.devices[static_cast<size_t>(d)];
      bool isAlone = !problem.simulator.cores().isShared(d);
      REQUIRE((!isAlone || loads.busyNs(d) == use.busyNs + use.portNs));
      REQUIRE(loads.fixedBytes(d) == use.weightBytes + use.receiveBytes);
    }
    double energy = loads.energy();
    DeviceLoads fresh(problem, coarse, loads.devices());
    loads.setScale(simulation.periodNs + 1);
    fresh.setScale(simulation.periodNs + 1);
    REQUIRE(loads.energy() == Approx(fresh.energy()));
    REQUIRE(energy >= 0);
  }
}

TEST_CASE("steps with calls are those of the simulator") {
  int waiting = 0;
  for (unsigned seed = 0; seed < 300; ++seed) {
    CAPTURE(seed);
    Case made = randomCase(seed, 12, 3, Devices::kOffloadAndOthers);
    PlacementProblem problem = made.problem(Objective::kLatency, false);
    REQUIRE(isForOffload(problem));
    CoarseGraph coarse = coarsenUnits(problem);
    OffloadTimes times(problem, coarse);
    std::mt19937 random(seed);
    DeviceLoads loads(problem, coarse, randomDevices(coarse, random));
    auto tried = tryDevices(problem, coarse.deviceByNode(loads.devices()), "test");
    int64_t step = tried.ok() ? tried->result.simulation.stepNs : kUnlimited;
    REQUIRE(times.stepNs(loads) == step);
    REQUIRE(offloadPathBound(problem) <= step);
    waiting += tried.ok() ? 0 : 1;
  }
  CHECK(waiting > 50);
  CHECK(waiting < 250);
}

TEST_CASE("parts of orders of contiguous pieces are contiguous") {
  for (unsigned seed = 0; seed < 200; ++seed) {
    CAPTURE(seed);
    Case made = randomCase(seed, 40, 3, Devices::kAny);
    PlacementProblem problem = made.problem(Objective::kThroughput, true);
    CoarseGraph coarse = coarsenContiguous(problem).value();
    CoarseOrders orders(problem, coarse, seed);
    std::vector<int> order;
    for (int i = 0; i < 10; ++i) {
      order = i < 6 ? orders.next() : orders.changed(order);
      std::vector<int> place(order.size(), -1);
      for (size_t at = 0; at < order.size(); ++at) {
        place[static_cast<size_t>(order[at])] = static_cast<int>(at);
      }
      REQUIRE(std::count(place.begin(), place.end(), -1) == 0);
      for (int p = 0; p < coarse.count(); ++p) {
        for (int other : coarse.before[p]) {
          REQUIRE(place[static_cast<size_t>(other)] < place[static_cast<size_t>(p)]);
        }
      }
    }
  }
}

/// Every strategy's answer is valid, and no heuristic's is better than that of `auto`.
void checkStrategies(const PlacementProblem& problem) {
  auto best = placeWith(problem, *findStrategy("auto").value());
  CAPTURE(messageOf(best.status()));
  REQUIRE(best.ok());
  auto again = placeWith(problem, *findStrategy("auto").value());
  REQUIRE(best->placement.device == again->placement.device);
  REQUIRE(lowerBounds(problem).ns() <= problem.objectiveNs(best->simulation));
  for (const Strategy& strategy : strategies()) {
    CAPTURE(strategy.name);
    if (strategy.isFor(problem)) {
      auto result = placeWith(problem, strategy);
      if (result.ok()) {
        std::vector<std::string> violations = placementViolations(problem, result->placement);
        CAPTURE(violations);
        REQUIRE(violations.empty());
        bool searched = strategy.improve != nullptr;  // from elsewhere
        REQUIRE((searched ||
                 problem.objectiveNs(best->simulation) <= problem.objectiveNs(result->simulation)));
        REQUIRE(result->boundNs <= problem.objectiveNs(result->simulation));
      }
    }
  }
}

TEST_CASE("every strategy gives a valid placement for throughput and for calls") {
  for (unsigned seed = 0; seed < 16; ++seed) {
    CAPTURE(seed);
    int devices = 1 + static_cast<int>(seed % 4);
    checkStrategies(randomCase(seed, 25, devices, Devices::kAny)
                        .problem(Objective::kThroughput, seed % 2 == 0));
    checkStrategies(randomCase(seed, 25, devices + 1, Devices::kOffloadAndOthers)
                        .problem(Objective::kLatency, seed % 2 == 0));
  }
}

TEST_CASE("small graphs: the least period and the shortest step with calls are found") {
  int kinds = 0;
  for (unsigned seed = 0; seed < 60; ++seed) {
    CAPTURE(seed);
    for (Devices kind : {Devices::kAny, Devices::kOffload, Devices::kOffloadAndOthers}) {
      Objective objective =
          kind == Devices::kOffloadAndOthers ? Objective::kLatency : Objective::kThroughput;
      Case made = randomCase(seed, 7, 2 + static_cast<int>(seed % 2), kind, kind == Devices::kAny);
      PlacementProblem problem = made.problem(objective, false);
      std::optional<int64_t> least = leastNs(problem);
      REQUIRE(least.has_value());
      auto found = placeWith(problem, *findStrategy("auto").value());
      REQUIRE(found.ok());
      CHECK(problem.objectiveNs(found->simulation) == *least);
      REQUIRE(std::max(found->boundNs, lowerBounds(problem).ns()) <= *least);
      ++kinds;
    }
  }
  CHECK(kinds == 180);
}

TEST_CASE("limits hold, and what does not fit is told") {
  int feasible = 0;
  int placed = 0;
  int optimal = 0;
  for (unsigned seed = 0; seed < 100; ++seed) {
    CAPTURE(seed);
    Case made = randomCase(seed, 7, 2, Devices::kAny, false);
    int64_t weights = 0;
    for (CostNode& node : made.graph.nodes) {
      weights += node.weightBytes += 100;
    }
    for (Device& device : made.cluster.devices) {
      device.memoryBytes = weights * 7 / 10 + 2000;
    }
    PlacementProblem problem = made.problem(Objective::kThroughput, false);
    std::optional<int64_t> least = leastNs(problem);
    auto found = placeWith(problem, *findStrategy("auto").value());
    REQUIRE((found.ok() || absl::IsResourceExhausted(found.status())));
    REQUIRE((!found.ok() || placementViolations(problem, found->placement).empty()));
    REQUIRE((!found.ok() || least.has_value()));
    feasible += least.has_value() ? 1 : 0;
    placed += found.ok() ? 1 : 0;
    optimal += found.ok() && problem.objectiveNs(found->simulation) == least ? 1 : 0;
  }
  WARN(feasible << " of 100 fit, " << placed << " were placed, " << optimal << " optimally");
  CHECK(feasible < 90);
  CHECK(placed * 100 >= feasible * 95);
  CHECK(optimal * 100 >= feasible * 80);
  Case made = randomCase(1, 7, 2, Devices::kAny, false);
  made.cluster.devices[0].memoryBytes = 1;
  made.cluster.devices[1].memoryBytes = 1;
  auto refused = improveBySegments(made.problem(Objective::kThroughput, true), nullptr);
  CHECK(absl::IsResourceExhausted(refused.status()));
}

TEST_CASE("nodes that wait for each other's group are one piece") {
  CostGraph graph;
  for (const char* name : {"a", "b", "c", "d"}) {
    addNode(graph, name, {10, 10});
  }
  addTensor(graph, 0, {1}, 0);
  addTensor(graph, 1, {2}, 0);
  addTensor(graph, 2, {3}, 0);
  graph.colocation = {{0, 2}};
  REQUIRE(graph.finish(2).ok());
  Cluster cluster = simpleCluster(2);
  PlacementProblem problem = makeProblem(graph, cluster);
  CoarseGraph coarse = coarsenContiguous(problem).value();
  REQUIRE(coarse.count() == 2);
  CHECK(coarse.node(0).nodes == std::vector<int>{0, 1, 2});
  CHECK(coarsenUnits(problem).count() == 3);
}

TEST_CASE("more work gives no worse a placement") {
  enum class Kind : uint8_t { kThroughput, kContiguous, kOffload };
  for (Kind kind : {Kind::kThroughput, Kind::kContiguous, Kind::kOffload}) {
    CAPTURE(static_cast<int>(kind));
    bool isOffload = kind == Kind::kOffload;
    int improved = 0;
    for (unsigned seed = 0; seed < 15; ++seed) {
      CAPTURE(seed);
      Case made =
          randomCase(seed, 40, 4, isOffload ? Devices::kOffloadAndOthers : Devices::kAny, false);
      PlacementProblem problem = made.problem(
          isOffload ? Objective::kLatency : Objective::kThroughput, kind == Kind::kContiguous);
      improved += improvesWithWork(problem, 20'000) ? 1 : 0;
    }
    CHECK(improved > 5);
  }
}

TEST_CASE("a search ends when its budget does") {
  Case made = randomCase(3, 40, 3, Devices::kAny, false);
  PlacementProblem problem = made.problem(Objective::kThroughput, false);
  problem.search.budgetNs = 20'000'000;
  auto begin = std::chrono::steady_clock::now();
  REQUIRE(placeWith(problem, *findStrategy("auto").value()).ok());
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(2));
}

}  // namespace
}  // namespace graphrun::placement
