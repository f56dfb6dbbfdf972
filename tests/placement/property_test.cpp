#include "placement/bounds/lower_bounds.h"
#include "placement/list_scheduling/orders.h"
#include "placement/problem/placement_result.h"
#include "placement/problem/problem.h"
#include "placement/problem/validate.h"
#include "placement/simulator/critical_path.h"
#include "placement/simulator/placed_costs.h"
#include "placement/strategies/strategy.h"
#include "tests/placement/graphs.h"

namespace graphrun::placement {
namespace {

using namespace testing;

bool sameTimeline(const Simulation& a, const Simulation& b) {
  auto sameOp = [](const OpTime& x, const OpTime& y) {
    return x.start == y.start && x.finish == y.finish;
  };
  auto sameTransfer = [](const Transfer& x, const Transfer& y) {
    return x.tensor == y.tensor && x.to == y.to && x.start == y.start && x.finish == y.finish;
  };
  auto sameDevice = [](const DeviceUse& x, const DeviceUse& y) {
    return x.peakBytes == y.peakBytes;
  };
  return a.stepNs == b.stepNs &&
         std::equal(a.ops.begin(), a.ops.end(), b.ops.begin(), b.ops.end(), sameOp) &&
         std::equal(a.transfers.begin(), a.transfers.end(), b.transfers.begin(), b.transfers.end(),
                    sameTransfer) &&
         std::equal(a.devices.begin(), a.devices.end(), b.devices.begin(), b.devices.end(),
                    sameDevice);
}

/// Whether devices, all of one host, are one or have a core in common.
bool meet(const Cluster& cluster, int a, int b) {
  const std::vector<int>& cores = cluster.devices[static_cast<size_t>(a)].cores;
  const std::vector<int>& others = cluster.devices[static_cast<size_t>(b)].cores;
  return a == b || std::any_of(cores.begin(), cores.end(), [&](int core) {
           return std::find(others.begin(), others.end(), core) != others.end();
         });
}

/// What a node takes: nothing if one before it has done its work on the device, or there is none.
int64_t timeIn(const Placement& placement, const CostGraph& graph, int node) {
  auto deviceOf = [&](int n) { return placement.device[static_cast<size_t>(n)]; };
  int here = 0;
  int before = 0;
  const int shared = graph.node(node).shared;
  for (int n = 0; n < graph.nodeCount() && shared >= 0; ++n) {
    bool isWith = graph.node(n).shared == shared && deviceOf(n) == deviceOf(node);
    here += isWith ? 1 : 0;
    before +=
        isWith && placement.rank[static_cast<size_t>(n)] < placement.rank[static_cast<size_t>(node)]
            ? 1
            : 0;
  }
  if (shared >= 0) {
    const SharedWork& work = graph.shared[static_cast<size_t>(shared)];
    bool isNone = work.onlyApart && here == static_cast<int>(work.nodes.size());
    return before > 0 || isNone ? 0 : graph.node(node).timeNs[static_cast<size_t>(deviceOf(node))];
  }
  return graph.node(node).timeNs[static_cast<size_t>(deviceOf(node))];
}

int countHeld(const PlacementProblem& problem, const Placement& placement) {
  int held = 0;
  for (size_t m = 0; m < problem.graph().collectives.size(); ++m) {
    held +=
        problem.simulator.collectives().isHeld(static_cast<int>(m), PlacedBy{placement}) ? 1 : 0;
  }
  return held;
}

/// What every timeline must keep: one node at a time on a device and on a core, one transfer on a
/// link, inputs first.
bool isPhysical(const PlacementProblem& problem, const Placement& placement, const Simulation& s) {
  const CostGraph& graph = problem.graph();
  std::vector<int64_t> deviceFree(s.devices.size(), 0);
  bool good = true;
  for (int n : placement.order()) {
    int device = placement.device[static_cast<size_t>(n)];
    OpTime time = s.ops[static_cast<size_t>(n)];
    for (int other = 0; other < problem.deviceCount(); ++other) {
      good = good && (time.start >= deviceFree[static_cast<size_t>(other)] ||
                      !meet(problem.cluster(), device, other));
    }
    const CollectiveGroups& collectives = problem.simulator.collectives();
    const PlacedBy placed{placement};
    bool isHeld =
        graph.node(n).collective >= 0 && collectives.isHeld(graph.node(n).collective, placed);
    int64_t whole =
        isHeld ? PlacedCosts(problem.simulator, placed).nodeNs(n) : timeIn(placement, graph, n);
    good = good && time.finish - time.start == whole;
    deviceFree[static_cast<size_t>(device)] = time.finish;
    for (int t : graph.node(n).inputs) {
      const Transfer* transfer = s.transfer(t, device);
      int producer = graph.tensor(t).producer;
      bool local = producer >= 0 && placement.device[static_cast<size_t>(producer)] == device;
      local = local || collectives.isSpared(t, n, placed);
      good =
          good && (local ? producer < 0 || time.start >= s.ops[static_cast<size_t>(producer)].finish
                         : transfer != nullptr && time.start >= transfer->finish);
    }
  }
  std::vector<int64_t> linkFree(s.links.size(), 0);
  for (const Transfer& transfer : s.transfers) {
    int64_t& freeAt = linkFree[static_cast<size_t>(transfer.link)];
    good = good && transfer.start == std::max(transfer.ready, freeAt);
    freeAt = transfer.finish;
  }
  return good;
}

bool isTopological(const CostGraph& graph, const std::vector<int>& order) {
  Placement placement;
  if (order.size() != graph.nodes.size()) {
    return false;
  }
  placement.setOrder(order);
  for (const CostTensor& tensor : graph.tensors) {
    for (int consumer : tensor.consumers) {
      if (tensor.producer >= 0 && placement.rank[static_cast<size_t>(tensor.producer)] >=
                                      placement.rank[static_cast<size_t>(consumer)]) {
        return false;
      }
    }
  }
  return true;
}

void checkResult(const PlacementProblem& problem, const PlacementResult& result) {
  const Simulation& s = result.simulation;
  std::vector<std::string> violations = placementViolations(problem, result.placement);
  CAPTURE(violations);
  REQUIRE(violations.empty());
  REQUIRE(isPhysical(problem, result.placement, s));
  REQUIRE(sameTimeline(s, problem.simulator.run(result.placement).value()));
  REQUIRE(s.stepNs >= lowerBounds(problem).ns());
  CriticalPath path = criticalPath(problem.simulator, result.placement, s);
  REQUIRE(path.computeNs + path.linkNs + path.waitNs == s.stepNs);
  int64_t at = 0;
  for (const PathSegment& segment : path.segments) {
    REQUIRE(segment.start == at);
    at = segment.finish;
  }
  REQUIRE(at == s.stepNs);
}

TEST_CASE("every strategy gives a valid placement of 2000 random graphs, auto the best") {
  int beaten = 0;
  int sharing = 0;
  int collective = 0;
  for (unsigned seed = 0; seed < 2000; ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    RandomOptions options;
    options.devices = 1 + static_cast<int>(seed % 4);
    options.shares = seed % 3 == 1;
    options.collectives = seed % 6 >= 4;
    CostGraph graph = randomGraph(random, options);
    Cluster cluster =
        seed % 5 == 0 ? randomCoreCluster(random, options.devices) : simpleCluster(options.devices);
    if (options.collectives) {
      giveLibraries(random, cluster);
    }
    auto problem = PlacementProblem::create(graph, cluster);
    if (!problem.ok()) {  // a random pin meets a random colocation that device 0 cannot hold
      FAIL(messageOf(problem.status()));
    }
    auto single = place(*problem, "single");
    auto best = place(*problem, "auto");
    REQUIRE(single.ok());  // device 0 supports all
    REQUIRE(best.ok());
    for (const Strategy& strategy : strategies()) {
      CAPTURE(strategy.name);
      if (!strategy.isFor(*problem)) {
        continue;
      }
      auto result = placeWith(*problem, strategy);
      REQUIRE(result.ok());
      checkResult(*problem, *result);
      // There `auto` lets one search begin where another ended.
      bool fromElsewhere = strategy.improve != nullptr && problem->simulator.cores().isShared();
      REQUIRE((fromElsewhere || best->simulation.stepNs <= result->simulation.stepNs));
    }
    REQUIRE(sameTimeline(best->simulation, place(*problem, "auto")->simulation));
    sharing += graph.shared.empty() ? 0 : 1;
    collective += countHeld(*problem, best->placement) > 0 ? 1 : 0;
    beaten += best->simulation.stepNs < single->simulation.stepNs ? 1 : 0;
  }
  CHECK(beaten > 1000);
  CHECK(sharing > 100);
  CHECK(collective > 50);
}

/// Peak of all on the first of three devices.
int64_t wholePeak(const CostGraph& graph) {
  Cluster cluster = simpleCluster(3);
  Placement placement;
  placement.device.assign(graph.nodes.size(), 0);
  placement.setOrder(graph.topologicalOrder);
  return Simulator(graph, cluster).run(placement)->devices[0].peakBytes;
}

TEST_CASE("under random limits a placement stays within them or is refused") {
  int placed = 0;
  int spread = 0;
  for (unsigned seed = 0; seed < 1000; ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    RandomOptions options;
    options.minNodes = 5;
    options.constraints = false;
    CostGraph graph = randomGraph(random, options);
    for (CostNode& node : graph.nodes) {
      node.weightBytes *= 10;
    }
    int64_t whole = wholePeak(graph);
    std::uniform_int_distribution<int64_t> limit(whole * 3 / 10, whole * 11 / 10);
    Cluster cluster = simpleCluster(3, {limit(random), limit(random), limit(random)});
    PlacementProblem problem = makeProblem(graph, cluster);
    auto single = placeWith(problem, *findStrategy("single").value());
    auto best = placeWith(problem, *findStrategy("auto").value());
    REQUIRE((best.ok() || absl::IsResourceExhausted(best.status())));
    REQUIRE((best.ok() || !single.ok()));
    for (const Strategy& strategy : strategies()) {
      CAPTURE(strategy.name);
      auto result = placeWith(problem, strategy);
      if (result.ok()) {
        checkResult(problem, *result);
      }
    }
    placed += best.ok() ? 1 : 0;
    spread += best.ok() && !single.ok() ? 1 : 0;
  }
  CHECK(placed > 500);
  CHECK(spread > 50);
  WARN(placed << " of 1000 placed, " << spread << " of them fit on no device alone");
  CHECK(placed < 1000);
}

TEST_CASE("all orders are topological") {
  for (unsigned seed = 0; seed < 500; ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    RandomOptions options;
    options.maxNodes = 80;
    CostGraph graph = randomGraph(random, options);
    Cluster cluster = simpleCluster(3);
    PlacementProblem problem = makeProblem(graph, cluster);
    REQUIRE(isTopological(graph, graph.topologicalOrder));
    REQUIRE(isTopological(graph, leanOrder(graph)));
    REQUIRE(isTopological(graph, upwardRankOrder(problem)));
    std::vector<int> all(graph.nodes.size(), 0);
    REQUIRE(isTopological(graph, upwardRankOrder(problem, all)));
  }
}

}  // namespace
}  // namespace graphrun::placement
