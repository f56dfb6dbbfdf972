#include "placement/simulator/simulator.h"

#include <algorithm>

#include "placement/bounds/lower_bounds.h"
#include "placement/simulator/critical_path.h"
#include "runtime/memory/communicator_memory.h"
#include "tests/placement/graphs.h"

namespace graphrun::placement {
namespace {

using namespace testing;

TEST_CASE("a chain on one device: input transfer, nodes, output transfer") {
  Cluster cluster = simpleCluster(1);
  CostGraph graph;
  int a = addNode(graph, "a", {100});
  int b = addNode(graph, "b", {50});
  addTensor(graph, -1, {a}, 20);
  addTensor(graph, a, {b}, 1000);
  addTensor(graph, b, {}, 5, true);
  REQUIRE(graph.finish(1).ok());
  Placement placement = placed({0, 0});
  Simulation s = simulate(graph, cluster, placement);
  // Input 10 + 20, a to 130, b to 180, output 10 + 5.
  CHECK(s.ops[0].start == 30);
  CHECK(s.ops[0].finish == 130);
  CHECK(s.ops[1].finish == 180);
  CHECK(s.stepNs == 195);
  CHECK(s.transfers.size() == 2);
  CHECK(s.devices[0].busyNs == 150);
  CriticalPath path = criticalPath(Simulator(graph, cluster), placement, s);
  CHECK(path.computeNs == 150);
  CHECK(path.linkNs == 45);
  CHECK(path.waitNs == 0);
}

TEST_CASE("a tensor is sent once to each target, whatever the number of its consumers there") {
  Cluster cluster = simpleCluster(3);
  CostGraph graph;
  int a = addNode(graph, "a", {100, 100, 100});
  std::vector<int> users;
  for (const char* name : {"b", "c", "d", "e"}) {
    users.push_back(addNode(graph, name, {10, 10, 10}));
  }
  addTensor(graph, a, users, 40);
  REQUIRE(graph.finish(3).ok());
  Simulation s = simulate(graph, cluster, placed({0, 1, 1, 2, 0}));
  REQUIRE(s.transfers.size() == 2);
  CHECK(s.transfers[0].to == 1);
  CHECK(s.transfers[1].to == 2);
  // Links n0 -> n1 and n0 -> n2 are two: both transfers run from 100 to 150.
  CHECK(s.transfers[1].start == 100);
  CHECK(s.ops[1].start == 150);
  CHECK(s.ops[2].start == 160);
  CHECK(s.ops[3].start == 150);
  CHECK(s.ops[4].start == 100);
  CHECK(s.stepNs == 170);
}

TEST_CASE("transfers queue on a link, first come first served") {
  Cluster cluster = simpleCluster(2);
  CostGraph graph;
  int a = addNode(graph, "a", {100, 100});
  int b = addNode(graph, "b", {10, 10});
  int c = addNode(graph, "c", {10, 10});
  int d = addNode(graph, "d", {10, 10});
  addTensor(graph, a, {c}, 200);  // ready at 100
  addTensor(graph, b, {d}, 90);   // ready at 110
  REQUIRE(graph.finish(2).ok());
  Placement placement = placed({0, 0, 1, 1});
  Simulation s = simulate(graph, cluster, placement);
  // t0: 100 to 310. t1: ready 110, starts 310, ends 410. d: 410 to 420.
  CHECK(s.ops[2].start == 310);
  CHECK(s.transfers[1].ready == 110);
  CHECK(s.transfers[1].start == 310);
  CHECK(s.ops[3].start == 410);
  CHECK(s.stepNs == 420);
  CHECK(s.links[static_cast<size_t>(s.transfers[0].link)].busyNs == 310);
  CHECK(s.links[static_cast<size_t>(s.transfers[0].link)].bytes == 290);
  // Path of d: b waited for the device until 100, ran 10, its tensor waited 200 and took 100.
  CriticalPath path = criticalPath(Simulator(graph, cluster), placement, s);
  CHECK(path.computeNs == 20);
  CHECK(path.linkNs == 100);
  CHECK(path.waitNs == 300);
  REQUIRE(path.segments.size() == 5);
  CHECK(path.segments[0].kind == PathKind::kDeviceWait);
  CHECK(path.segments[2].kind == PathKind::kLinkWait);
}

TEST_CASE("transfers over a link that does not queue all start when they are ready") {
  Cluster cluster = simpleCluster(2);
  for (LinkOverride& link : cluster.links) {
    link.queues = false;
  }
  CostGraph graph;
  int a = addNode(graph, "a", {100, 100});
  int b = addNode(graph, "b", {1, 1});
  addTensor(graph, a, {b}, 1000);
  addTensor(graph, a, {b}, 500);
  addTensor(graph, b, {}, 1, true);
  addTensor(graph, a, {}, 2000, true);
  REQUIRE(graph.finish(2).ok());
  Simulation s = simulate(graph, cluster, placed({0, 1}));
  CHECK(s.transfer(0, 1)->finish == 1110);
  CHECK(s.transfer(1, 1)->start == 100);
  CHECK(s.ops[1].start == 1110);
  CHECK(s.stepNs == 2110);
  CHECK(s.periodNs == 100);  // no link is a bottleneck
}

TEST_CASE("a device keeps its order even when a later node is ready first") {
  Cluster cluster = simpleCluster(2);
  CostGraph graph;
  int slow = addNode(graph, "slow", {500, 500});
  int user = addNode(graph, "user", {10, 10});
  addNode(graph, "free", {10, 10});
  addTensor(graph, slow, {user}, 90);
  REQUIRE(graph.finish(2).ok());
  Simulation s = simulate(graph, cluster, placed({0, 1, 1}));
  CHECK(s.ops[1].start == 600);
  CHECK(s.ops[2].start == 610);
  Placement better = placed({0, 1, 1});
  better.setOrder({0, 2, 1});
  CHECK(simulate(graph, cluster, better).stepNs == 610);
}

TEST_CASE("directions of a link do not disturb each other") {
  Cluster cluster = simpleCluster(2);
  CostGraph graph;
  int a = addNode(graph, "a", {10, 10});
  int b = addNode(graph, "b", {10, 10});
  int c = addNode(graph, "c", {10, 10});
  int d = addNode(graph, "d", {10, 10});
  addTensor(graph, a, {d}, 90);
  addTensor(graph, b, {c}, 90);
  REQUIRE(graph.finish(2).ok());
  Simulation s = simulate(graph, cluster, placed({0, 1, 0, 1}));
  CHECK(s.transfers[0].start == 10);
  CHECK(s.transfers[1].start == 10);
  CHECK(s.stepNs == 120);
}

TEST_CASE("tensors at home on a device need no transfer, an input that is an output goes home") {
  Cluster cluster = simpleCluster(2);
  CostGraph graph;
  int a = addNode(graph, "a", {10, 10});
  int resident = addTensor(graph, -1, {a}, 90);
  graph.tensors[static_cast<size_t>(resident)].inputHome = 1;
  int kept = addTensor(graph, a, {}, 90, true);
  graph.tensors[static_cast<size_t>(kept)].outputHome = 1;
  REQUIRE(graph.finish(2).ok());
  CHECK(simulate(graph, cluster, placed({1})).stepNs == 10);
  CHECK(simulate(graph, cluster, placed({0})).stepNs == 210);

  int passed = addTensor(graph, -1, {}, 490, true);
  REQUIRE(graph.finish(2).ok());
  CHECK(simulate(graph, cluster, placed({1})).transfers.empty());
  graph.tensors[static_cast<size_t>(passed)].inputHome = 0;
  CHECK(simulate(graph, cluster, placed({1})).stepNs == 500);
}

/// Two nodes of 100 ns that share work, each of which has a reader; all as `placement` says.
CostGraph sharingGraph(bool onlyApart) {
  CostGraph graph;
  addNode(graph, "r/0", {100, 100});
  addNode(graph, "r/1", {100, 100});
  addNode(graph, "a", {10, 10});
  addNode(graph, "b", {10, 10});
  addTensor(graph, -1, {0, 1}, 90);
  addTensor(graph, 0, {2}, 1000);
  addTensor(graph, 1, {3}, 1000);
  graph.shared.push_back({{0, 1}, onlyApart});
  REQUIRE(graph.finish(2).ok());
  return graph;
}

TEST_CASE("work that nodes share is done once on a device, by the first of them") {
  Cluster cluster = simpleCluster(2);
  CostGraph graph = sharingGraph(false);
  Simulation together = simulate(graph, cluster, placed({0, 0, 0, 0}));
  CHECK((together.ops[0].finish == 200 && together.ops[1].finish == 200));
  CHECK(together.stepNs == 220);
  CHECK(together.devices[0].busyNs == 120);
  CHECK(together.periodNs == 120);
  // The input, and one value that both read; it goes with the second of them.
  CHECK(together.devices[0].peakBytes == 1090);
  Placement other = placed({0, 0, 0, 0});
  other.setOrder({1, 3, 0, 2});
  Simulation reversed = simulate(graph, cluster, other);
  CHECK((reversed.ops[1].finish == 200 && reversed.ops[3].finish == 210));
  CHECK((reversed.ops[0].start == 210 && reversed.ops[0].finish == 210));
  CHECK(reversed.devices[0].peakBytes == 1090);
  Simulation apart = simulate(graph, cluster, placed({0, 1, 0, 1}));
  CHECK((apart.ops[0].finish == 200 && apart.ops[1].finish == 200));
  CHECK(apart.devices[1].busyNs == 110);
  CHECK(apart.devices[1].peakBytes == 1090);
}

TEST_CASE("work that is needed only apart takes no time together") {
  Cluster cluster = simpleCluster(2);
  CostGraph graph = sharingGraph(true);
  CHECK(simulate(graph, cluster, placed({1, 1, 1, 1})).stepNs == 120);
  CHECK(simulate(graph, cluster, placed({1, 0, 1, 0})).stepNs == 210);
}

TEST_CASE("bounds count shared work once") {
  Cluster cluster = simpleCluster(2);
  CostGraph graph = sharingGraph(false);
  CHECK(lowerBounds(makeProblem(graph, cluster)).workNs == 60);  // 100 + 10 + 10 on two devices
  CostGraph apart = sharingGraph(true);
  CHECK(lowerBounds(makeProblem(apart, cluster)).ns() == 10);
  cluster.devices[0].lanes = 2;
  auto refused = PlacementProblem::create(graph, cluster);
  CHECK(messageOf(refused.status()).find("n0/cpu:0 must run one node at a time; got lanes 2") !=
        std::string::npos);
}

TEST_CASE("what a library carries out is sent by nobody and takes each device as long") {
  Cluster cluster = simpleCluster(3);
  CostGraph graph;
  addNode(graph, "a", {100, 100, 100});
  addNode(graph, "b", {150, 150, 150});
  addNode(graph, "r/0", {500, 500, 500});
  addNode(graph, "r/1", {500, 500, 500});
  addNode(graph, "end", {10, 10, 10});
  addTensor(graph, 0, {2, 3}, 4000);
  addTensor(graph, 1, {2, 3}, 4000);
  addTensor(graph, 2, {}, 4000);
  addTensor(graph, 3, {4}, 4000);
  graph.shared.push_back({{2, 3}});
  graph.collectives.push_back({{{{2}, 0}, {{3}, 1}}, 4000, 2});
  REQUIRE(graph.finish(3).ok());
  // Steps: both operands go both ways.
  Simulation steps = simulate(graph, cluster, placed({0, 1, 0, 1, 1}));
  CHECK(steps.transfers.size() == 2);
  CHECK(steps.ops[2].finish == 150 + 4010 + 500);
  cluster.devices[0].library = cluster.devices[1].library = "one";
  // A ring of two over 1 byte a ns: 2 hops between machines, each of half of the bytes, which with
  // their flags take four times as long; for more bytes the other protocol is faster.
  const int64_t ring = 6'600 + 2 * 2'700 + 4 * 4'000;
  Simulation met = simulate(graph, cluster, placed({0, 1, 0, 1, 1}));
  CHECK(met.transfers.empty());
  CHECK((met.ops[2].start == 150 && met.ops[3].start == 150));
  CHECK((met.ops[2].finish == 150 + ring && met.stepNs == 150 + ring + 10));
  CHECK(met.devices[0].receiveBytes == runtime::kCommunicatorBytes);
  CHECK(met.devices[2].receiveBytes == 0);
  // An operand has to be where its member is.
  Simulation moved = simulate(graph, cluster, placed({1, 1, 0, 1, 1}));
  REQUIRE(moved.transfers.size() == 1);
  CHECK((moved.transfers[0].tensor == 0 && moved.transfers[0].to == 0));
  // Not with another device, nor alone.
  CHECK(simulate(graph, cluster, placed({0, 1, 0, 2, 1})).transfers.size() == 4);
  CHECK(simulate(graph, cluster, placed({0, 0, 0, 0, 0})).stepNs == 760);
  graph.collectives[0].bytes = 400'000;
  CHECK(simulate(graph, cluster, placed({0, 1, 0, 1, 1})).stepNs == 160 + 8'400 + 19'200 + 400'000);
  // The least of what was measured is what they take.
  graph.collectives[0].measuredNs = {{70, 60, -1}};
  CHECK(simulate(graph, cluster, placed({0, 1, 0, 1, 1})).stepNs == 220);
}

TEST_CASE("a collective begins when all devices have come to it, and holds each until it ends") {
  Cluster cluster = simpleCluster(2);
  cluster.devices[0].library = cluster.devices[1].library = "one";
  CostGraph graph;
  for (const char* name : {"a", "busy", "r/0", "r/1", "next"}) {
    addNode(graph, name, {100, 100});
  }
  graph.nodes[1].timeNs = {700, 700};
  addTensor(graph, 0, {2, 3}, 8);
  addTensor(graph, 2, {4}, 8);
  addTensor(graph, 3, {}, 8);
  graph.collectives.push_back({{{{2}, 0}, {{3}, -1}}, 8, 2});
  graph.collectives[0].measuredNs = {{50, 50}};
  REQUIRE(graph.finish(2).ok());
  Placement placement = placed({0, 1, 0, 1, 0});
  Simulation met = simulate(graph, cluster, placement);
  CHECK((met.ops[2].start == 700 && met.ops[2].finish == 750));
  CHECK((met.ops[3].start == 700 && met.ops[3].finish == 750));
  CHECK((met.ops[4].start == 750 && met.stepNs == 850));
  CriticalPath path = criticalPath(Simulator(graph, cluster), placement, met);
  auto waits = std::find_if(path.segments.begin(), path.segments.end(), [](const auto& segment) {
    return segment.kind == PathKind::kCoreWait;
  });
  REQUIRE(waits != path.segments.end());
  CHECK((waits->behind == 1 && waits->start == 100 && waits->finish == 700));
  // Who is not of it keeps nobody waiting.
  placement.setOrder({0, 2, 3, 1, 4});
  CHECK(simulate(graph, cluster, placement).ops[2].start == 100);
}

TEST_CASE(
    "a library needs the members of each device next to each other where they have an order") {
  Cluster cluster = simpleCluster(2);
  cluster.devices[0].library = cluster.devices[1].library = "one";
  CostGraph graph;
  for (const char* name : {"g/0", "g/1", "g/2", "g/3"}) {
    addNode(graph, name, {5, 5});
  }
  CollectiveGroup collective{{{{0}, -1}, {{1}, -1}, {{2}, -1}, {{3}, -1}}, 100, 1};
  collective.ordered = true;
  graph.collectives.push_back(std::move(collective));
  REQUIRE(graph.finish(2).ok());
  auto isHeld = [&](std::vector<int> devices) {
    Placement placement = placed(std::move(devices));
    return Simulator(graph, cluster).collectives().isHeld(0, PlacedBy{placement});
  };
  CHECK((isHeld({0, 0, 1, 1}) && isHeld({1, 1, 0, 0})));
  CHECK_FALSE((isHeld({0, 1, 0, 1}) || isHeld({0, 0, 0, 1}) || isHeld({0, 0, 0, 0})));
  graph.collectives[0].ordered = false;
  CHECK((isHeld({0, 1, 0, 1}) && isHeld({0, 0, 0, 1})));
}

/// One worker with a device on both cores and one on each.
Cluster wholeAndHalves() { return coreCluster({{{0, 1}, {0}, {1}}}); }

TEST_CASE("devices with a core in common take turns in rank order") {
  Cluster cluster = wholeAndHalves();
  CostGraph graph;
  int split = addNode(graph, "split", {100, 190, 190});
  int left = addNode(graph, "left", {100, 150, 150});
  int right = addNode(graph, "right", {100, 160, 160});
  int join = addNode(graph, "join", {50, 95, 95});
  addTensor(graph, split, {left, right}, 90);
  addTensor(graph, left, {join}, 90);
  addTensor(graph, right, {join}, 90);
  REQUIRE(graph.finish(3).ok());
  Placement branches = placed({0, 1, 2, 0});
  Simulation s = simulate(graph, cluster, branches);
  // Whole: split to 100, sent to both halves until 200; halves to 350 and 360; sent until 460.
  CHECK(s.ops[1].start == 200);
  CHECK(s.ops[2].start == 200);
  CHECK(s.ops[2].finish == 360);
  CHECK(s.ops[3].start == 460);
  CHECK(s.stepNs == 510);
  CHECK(s.periodNs == 100 + 160 + 50);
  CHECK(s.devices[0].busyNs == 150);

  // right, ready at 100 on the whole, waits for left, which has the lower rank and core 0.
  s = simulate(graph, cluster, placed({0, 1, 0, 0}));
  CHECK(s.ops[1].start == 200);
  CHECK(s.ops[2].start == 350);
  CHECK(s.ops[3].start == 450);
  CHECK(s.stepNs == 500);
  CriticalPath path = criticalPath(Simulator(graph, cluster), placed({0, 1, 0, 0}), s);
  CHECK(path.computeNs == 100 + 150 + 50);
  CHECK(path.linkNs == 200);
  // join waits for left; were right made shorter, it would wait as long.
  Placement last = placed({0, 1, 0, 0});
  CostGraph loose = graph;
  loose.tensors[1].consumers.clear();
  REQUIRE(loose.finish(3).ok());
  s = simulate(loose, cluster, last);
  path = criticalPath(Simulator(loose, cluster), last, s);
  REQUIRE(path.segments.size() == 4);
  CHECK(path.segments[1].kind == PathKind::kCoreWait);
  CHECK(path.segments[1].id == right);
  CHECK(path.segments[1].behind == left);
  CHECK(path.segments[1].finish == 350);
  // With the other order it fills the time of the transfer.
  Placement swapped = placed({0, 1, 0, 0});
  swapped.setOrder({split, right, left, join});
  s = simulate(graph, cluster, swapped);
  CHECK(s.ops[2].start == 100);
  CHECK(s.ops[1].start == 200);
  CHECK(s.stepNs == 350 + 100 + 50);
}

TEST_CASE("a node waits for all cores of its device, and keeps them from those behind it") {
  Cluster cluster = wholeAndHalves();
  CostGraph graph;
  addNode(graph, "short", {9, 10, 10});
  addNode(graph, "long", {9, 30, 30});
  addNode(graph, "both", {5, 5, 5});
  addNode(graph, "instant", {0, 0, 0});
  addNode(graph, "behind", {7, 7, 7});
  REQUIRE(graph.finish(3).ok());
  Simulation s = simulate(graph, cluster, placed({1, 2, 0, 0, 1}));
  CHECK(s.ops[1].start == 0);
  CHECK(s.ops[2].start == 30);  // core 0 is idle from 10 on
  CHECK(s.ops[3].start == 35);
  CHECK(s.ops[4].start == 35);  // not at 10
  CHECK(s.stepNs == 42);
}

TEST_CASE("workers of one host that have the same core take turns") {
  CostGraph graph;
  for (const char* name : {"a", "b", "c", "d"}) {
    addNode(graph, name, {10, 10, 10});
  }
  REQUIRE(graph.finish(3).ok());
  Cluster cluster = coreCluster({{{0}}, {{0}}, {{1}}});
  Simulation s = simulate(graph, cluster, placed({0, 1, 2, 0}));
  CHECK(s.ops[1].start == 10);
  CHECK(s.ops[2].start == 0);
  CHECK(s.ops[3].start == 20);
  cluster.workers[1].address = "10.0.0.2:7070";  // another machine
  s = simulate(graph, cluster, placed({0, 1, 2, 0}));
  CHECK(s.ops[1].start == 0);
  CHECK(s.stepNs == 20);
}

TEST_CASE("an empty graph takes no time") {
  Cluster cluster = simpleCluster(1);
  CostGraph graph;
  REQUIRE(graph.finish(1).ok());
  CHECK(simulate(graph, cluster, placed({})).stepNs == 0);
}

TEST_CASE("placements that cannot run are refused") {
  Cluster cluster = simpleCluster(2);
  CostGraph graph;
  int a = addNode(graph, "a", {10, 10});
  int b = addNode(graph, "b", {10, kUnsupported});
  addTensor(graph, a, {b}, 1);
  REQUIRE(graph.finish(2).ok());
  auto errorOf = [&](const Placement& placement) {
    return messageOf(Simulator(graph, cluster).run(placement).status());
  };
  CHECK_THAT(errorOf(placed({0})), Catch::Contains("expected 2 of each"));
  CHECK_THAT(errorOf(placed({0, 1})), Catch::Contains("node 'b' cannot run on device 1"));
  CHECK_THAT(errorOf(placed({0, 5})), Catch::Contains("cannot run on device 5"));
  Placement ranks = placed({0, 0});
  ranks.rank = {0, 0};
  CHECK_THAT(errorOf(ranks), Catch::Contains("node 'b' has rank 0, expected a permutation"));
  ranks.rank = {1, 0};
  CHECK_THAT(errorOf(ranks), Catch::Contains("n0/cpu:0 waits for ever at node 'b'"));
}

}  // namespace
}  // namespace graphrun::placement
