#include "placement/search/local_search.h"

#include <chrono>
#include <limits>
#include <random>
#include <utility>

#include "placement/bounds/lower_bounds.h"
#include "placement/list_scheduling/heuristics.h"
#include "placement/problem/placement_result.h"
#include "placement/problem/validate.h"
#include "placement/search/forced_colocation.h"
#include "placement/search/heavy_edges.h"
#include "placement/search/latency_searches.h"
#include "placement/search/live_memory.h"
#include "placement/search/resident_memory.h"
#include "tests/placement/graphs.h"
#include "tests/placement/large_graphs.h"
#include "tests/placement/planted.h"

namespace graphrun::placement {
namespace {

using namespace testing;

double gap(int64_t ns, int64_t optimum) {
  return static_cast<double>(ns) / static_cast<double>(optimum) - 1;
}

TEST_CASE("planted schedules are as short as they can be") {
  for (bool queues : {false, true}) {
    for (double slowdown : {1.0, 3.0}) {
      PlantedOptions options;
      options.ccr = 10;
      options.queues = queues;
      options.slowdown = slowdown;
      Planted planted = plant(options);
      PlacementProblem problem = makeProblem(planted.graph, planted.cluster);
      CHECK(problem.simulator.run(planted.placement)->stepNs == planted.optimumNs);
      CHECK(lowerBounds(problem).ns() <= planted.optimumNs);
      CHECK((slowdown > 1 || lowerBounds(problem).ns() == planted.optimumNs));
    }
  }
}

/// Mean gaps of HEFT and of the search without a budget, over four sizes.
std::pair<double, double> meanGaps(double ccr, bool queues) {
  double heft = 0;
  double search = 0;
  for (int devices : {2, 4, 8, 16}) {
    PlantedOptions options;
    options.tasks = 14 * devices;
    options.devices = devices;
    options.ccr = ccr;
    options.queues = queues;
    options.seed = static_cast<uint64_t>(devices);
    Planted planted = plant(options);
    PlacementProblem problem = makeProblem(planted.graph, planted.cluster);
    auto start = placeHeft(problem);
    auto found = improveBySearch(problem, &*start);
    heft += gap(start->simulation.stepNs, planted.optimumNs) / 4;
    search += gap(found->simulation.stepNs, planted.optimumNs) / 4;
  }
  return {heft, search};
}

TEST_CASE("search comes near planted optima") {
  for (bool queues : {false, true}) {
    for (double ccr : {0.1, 1.0, 10.0}) {
      auto [heft, search] = meanGaps(ccr, queues);
      CAPTURE(queues, ccr, heft, search);
      CHECK(search < 0.9 * heft);
      CHECK(search < (ccr < 10 ? (queues ? 0.15 : 0.05) : 0.45));
    }
  }
}

/// Searches with ever more work, each twice.
void searchLongerAndLonger(const PlacementProblem& problem, const std::vector<int64_t>& works) {
  auto start = placeGreedy(problem);
  int64_t last = start->simulation.stepNs;
  auto searched = [&](int64_t work) {
    LocalSearch search(problem, *start, {problem.constraints});
    SearchLimit limit(0, work);
    search.run(0, limit);
    return search.best();
  };
  for (int64_t work : works) {
    PlacementResult result = searched(work);
    CHECK(result.simulation.stepNs <= last);
    CHECK(placementViolations(problem, result.placement).empty());
    last = result.simulation.stepNs;
    PlacementResult again = searched(work);
    CHECK(again.placement.device == result.placement.device);
    CHECK(again.placement.rank == result.placement.rank);
  }
  CHECK(last < start->simulation.stepNs);
}

TEST_CASE("more work never makes it worse, and the same work gives the same") {
  PlantedOptions options;
  options.ccr = 1;
  Planted planted = plant(options);
  searchLongerAndLonger(makeProblem(planted.graph, planted.cluster),
                        {0, 1, 10, 100, 500, 1000, 3000});
}

TEST_CASE("of large graphs too, which are searched in windows") {
  LargeOptions options;
  options.nodes = 1200;
  for (const LargeGraph& made : {layeredGraph(options), blockGraph(options)}) {
    searchLongerAndLonger(makeProblem(made.graph, made.cluster), {0, 1000, 5000, 12'000});
  }
}

TEST_CASE("a search stops when its time is up, and at the bound") {
  Planted planted = plant({});
  PlacementProblem problem = makeProblem(planted.graph, planted.cluster);
  PlacementResult best{planted.placement, problem.simulator.run(planted.placement).value(), 0};
  LocalSearch search(problem, best, {problem.constraints});
  SearchLimit endless(0, std::numeric_limits<int64_t>::max());
  search.run(planted.optimumNs, endless);
  CHECK(search.best().placement.device == planted.placement.device);
  problem.search.budgetNs = 20'000'000;
  auto start = placeGreedy(problem);
  auto begin = std::chrono::steady_clock::now();
  CHECK(improveBySearch(problem, &*start).ok());
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(2));
}

TEST_CASE("where times differ by device search is no worse than what it begins with") {
  for (uint64_t seed = 0; seed < 5; ++seed) {
    PlantedOptions options;
    options.slowdown = 4;
    options.ccr = 3;
    options.seed = seed;
    Planted planted = plant(options);
    PlacementProblem problem = makeProblem(planted.graph, planted.cluster);
    auto start = placeHeft(problem);
    auto found = improveBySearch(problem, &*start);
    REQUIRE(found.ok());
    CHECK(found->simulation.stepNs < start->simulation.stepNs);
    CHECK(found->simulation.stepNs >= planted.optimumNs);
  }
}

/// What devices hold of tensors, as search follows it, with what they hold for the whole step.
void requirePeaks(const PlacementProblem& problem, const Schedule& schedule, LiveMemory& live) {
  const Placement placement = schedule.placement("test");
  const ResidentMemory fixed(problem, placement);
  auto simulation = problem.simulator.run(placement);
  REQUIRE(simulation.ok());
  for (int d = 0; d < problem.deviceCount(); ++d) {
    const DeviceUse& use = simulation->devices[static_cast<size_t>(d)];
    CHECK(fixed.bytes(d) + live.peaks()[static_cast<size_t>(d)] == use.peakBytes);
  }
}

TEST_CASE("live memory that follows changes is the simulator's") {
  std::mt19937 random(7);
  for (int trial = 0; trial < 200; ++trial) {
    CAPTURE(trial);
    RandomOptions options;
    options.devices = 1 + trial % 4;
    CostGraph graph = randomGraph(random, options);
    Cluster cluster = simpleCluster(options.devices);
    PlacementProblem problem = makeProblem(graph, cluster);
    auto schedule = Schedule::create(problem.simulator,
                                     placeRandom(problem, static_cast<uint64_t>(trial))->placement);
    LiveMemory live(problem);
    live.use(*schedule);
    for (int move = 0; move < 10; ++move) {
      const auto node = static_cast<int>(random() % graph.nodes.size());
      const Unit& unit = problem.constraints.unit(node);
      for (int other : unit.nodes) {
        schedule->setDevice(other, unit.allowed[random() % unit.allowed.size()]);
      }
      const auto [first, last] = schedule->rankRange(node);
      const auto ranks = static_cast<unsigned>(last - first + 1);
      schedule->setRank(node, first + static_cast<int>(random() % ranks));
      requirePeaks(problem, *schedule, live);
      schedule->stepNs();
      schedule->keep();
    }
    schedule->learnTails();
    const int half = graph.nodeCount() / 2;
    schedule->openWindow(half / 2, half + 1);
    live.use(*schedule);
    requirePeaks(problem, *schedule, live);
  }
}

/// Tensors that are each made, and read next, on the device that is full with two of them; the
/// other one takes longer, and has them all, made before any is read.
TEST_CASE("the way to a better placement keeps within the memory") {
  constexpr int kTensors = 40;
  constexpr int64_t kBytes = 1000;
  Cluster cluster = simpleCluster(2);
  CostGraph graph;
  std::vector<int> order;
  for (int i = 0; i < kTensors; ++i) {
    order.push_back(addNode(graph, absl::StrCat("make", i), {10, 30}));
  }
  for (int i = 0; i < kTensors; ++i) {
    order.push_back(addNode(graph, absl::StrCat("read", i), {10, 30}));
    addTensor(graph, i, {kTensors + i}, kBytes);
  }
  REQUIRE(graph.finish(2).ok());
  PlacementProblem problem = makeProblem(graph, cluster);
  problem.limits = {2 * kBytes, kUnlimited};
  PlacementResult start;
  start.placement.device.assign(order.size(), 1);
  start.placement.setOrder(order);
  start.simulation = problem.simulator.run(start.placement).value();
  LocalSearch search(problem, start, {problem.constraints});
  SearchLimit limit(0, 40'000);
  search.run(0, limit);
  CHECK(placementViolations(problem, search.best().placement).empty());
  CHECK(search.best().simulation.stepNs <= 1800);  // 2160 where it finds out afterwards
}

TEST_CASE("nodes are tied where the horizon leaves no time for a transfer") {
  Cluster cluster = simpleCluster(2);
  CostGraph graph;
  int a = addNode(graph, "a", {100, 100});
  int b = addNode(graph, "b", {100, 100});
  int c = addNode(graph, "c", {100, 100});
  addTensor(graph, a, {b}, 90);
  addTensor(graph, a, {c}, 290);
  REQUIRE(graph.finish(2).ok());
  PlacementProblem problem = makeProblem(graph, cluster);
  CHECK(forcedColocation(problem, 500)->units.size() == 3);
  CHECK(forcedColocation(problem, 499)->units.size() == 2);
  CHECK(forcedColocation(problem, 499)->unitOf[static_cast<size_t>(c)] ==
        forcedColocation(problem, 499)->unitOf[static_cast<size_t>(a)]);
  CHECK(forcedColocation(problem, 300)->units.size() == 2);
  CHECK_FALSE(forcedColocation(problem, 299).has_value());  // all three on one device
}

TEST_CASE("heavy edges join units of devices in common, up to a size") {
  Cluster cluster = simpleCluster(2);
  CostGraph graph;
  int a = addNode(graph, "a", {100, 100});
  int b = addNode(graph, "b", {100, 50});
  int c = addNode(graph, "c", {100, 100});
  int d = addNode(graph, "d", {kUnsupported, 100});
  addTensor(graph, a, {b}, 10);
  addTensor(graph, b, {c}, 30);
  addTensor(graph, c, {d}, 40);
  graph.pins = {{c, 0, "test"}};
  REQUIRE(graph.finish(2).ok());
  PlacementProblem problem = makeProblem(graph, cluster);
  auto unitOf = [&](int64_t mostNs) { return joinHeavyEdges(problem, mostNs).unitOf; };
  CHECK(unitOf(149) == std::vector<int>{0, 1, 2, 3});
  CHECK(unitOf(150) == std::vector<int>{0, 1, 1, 2});  // no device may have both c and d
  CHECK(unitOf(250) == std::vector<int>{0, 0, 0, 1});
  Constraints joined = joinHeavyEdges(problem, 250);
  CHECK(joined.units[0].allowed == std::vector<int>{0});
  CHECK(joined.units[0].pinned);
  CHECK_FALSE(forcedColocation(problem, 300).has_value());  // c and d are tied
}

TEST_CASE("coarse units find what is planted among thousands of nodes") {
  PlantedOptions options;
  options.tasks = 2000;
  options.ccr = 10;
  options.queues = true;
  Planted planted = plant(options);
  PlacementProblem problem = makeProblem(planted.graph, planted.cluster);
  auto start = placeHeft(problem);
  auto found = improveBySearch(problem, &*start);
  REQUIRE(found.ok());
  CHECK(gap(start->simulation.stepNs, planted.optimumNs) > 0.8);
  CHECK(gap(found->simulation.stepNs, planted.optimumNs) < 0.5);
}

TEST_CASE("fixed memory is that of the simulator") {
  for (unsigned seed = 0; seed < 200; ++seed) {
    std::mt19937 random(seed);
    RandomOptions options;
    options.constraints = false;
    CostGraph graph = randomGraph(random, options);
    Cluster cluster = simpleCluster(3);
    PlacementProblem problem = makeProblem(graph, cluster);
    Placement placement = placeRandom(problem, seed)->placement;
    ResidentMemory memory(problem, placement);
    for (int move = 0; move < 20; ++move) {
      auto node = static_cast<int>(random() % graph.nodes.size());
      auto device = static_cast<int>(random() % 3);
      memory.move(node, device);
      if (random() % 2 == 0) {
        memory.undo();
      } else {
        memory.keep();
        placement.device[static_cast<size_t>(node)] = device;
      }
    }
    Simulation simulation = problem.simulator.run(placement).value();
    for (size_t d = 0; d < 3; ++d) {
      int64_t fixed = simulation.devices[d].weightBytes + simulation.devices[d].receiveBytes;
      problem.limits = {kUnlimited, kUnlimited, kUnlimited};
      problem.limits[d] = fixed;
      CHECK(memory.fits());
      problem.limits[d] = fixed - 1;
      CHECK_FALSE(memory.fits());
    }
  }
}

}  // namespace
}  // namespace graphrun::placement
