#include "placement/search/schedule.h"

#include "placement/problem/problem.h"
#include "placement/strategies/strategy.h"
#include "tests/placement/graphs.h"

namespace graphrun::placement {
namespace {

using testing::giveLibraries;
using testing::makeProblem;
using testing::randomGraph;

/// A random change in the window, if there is one, that keeps the placement valid.
void changeSomething(Schedule& schedule, const CostGraph& graph, std::mt19937& random) {
  auto pick = [&](int low, int high) {
    return std::uniform_int_distribution<int>(low, high)(random);
  };
  auto [first, end] = schedule.window();
  int node = schedule.nodeAt(pick(first, end - 1));
  if (pick(0, 2) == 0) {
    auto [low, high] = schedule.rankRange(node);
    schedule.setRank(node, pick(low, high));
    return;
  }
  std::vector<int> devices;
  for (size_t d = 0; d < graph.node(node).timeNs.size(); ++d) {
    if (graph.node(node).supports(static_cast<int>(d))) {
      devices.push_back(static_cast<int>(d));
    }
  }
  schedule.setDevice(node,
                     devices[static_cast<size_t>(pick(0, static_cast<int>(devices.size()) - 1))]);
}

void requireSame(Schedule& schedule, const PlacementProblem& problem) {
  int64_t step = schedule.stepNs();
  auto full = problem.simulator.run(schedule.placement("test"));
  INFO(testing::messageOf(full.status()));
  REQUIRE(full.ok());
  for (int n = 0; n < problem.graph().nodeCount(); ++n) {
    INFO("node " << n);
    REQUIRE(schedule.time(n).start == full->ops[static_cast<size_t>(n)].start);
    REQUIRE(schedule.time(n).finish == full->ops[static_cast<size_t>(n)].finish);
  }
  REQUIRE(step == full->latencyNs());
}

/// Workers with two devices each: what these send to another worker shares a link.
Cluster pairedCluster(int count) {
  Cluster cluster;
  for (int i = 0; 2 * i < count; ++i) {
    Worker worker;
    worker.name = absl::StrCat("n", i);
    worker.address = absl::StrCat("10.0.0.", i + 1, ":7070");
    worker.devicesGiven = true;
    worker.specs.resize(static_cast<size_t>(std::min(2, count - 2 * i)));
    for (size_t d = 0; d < worker.specs.size(); ++d) {
      worker.specs[d].cores = {static_cast<int>(d)};
    }
    cluster.workers.push_back(worker);
    for (int j = kClient; j < i; ++j) {
      cluster.links.push_back({j, i, 10, 1e9});
    }
  }
  cluster.rebuildDevices();
  return cluster;
}

/// Lets steps on some numbers of workers take something to start; one worker may be the client's.
void giveStarts(std::mt19937& random, Cluster& cluster) {
  for (int workers = 1; workers < 4; ++workers) {
    if (random() % 2 == 0) {
      LinkModel start;
      start.latencyNs = static_cast<int64_t>(random() % 3000);
      start.bytesPerSecond = 1e9 / static_cast<double>(1 + random() % 3);
      cluster.stepStarts.push_back({workers, start});
    }
  }
  cluster.workers.front().inClient = random() % 3 == 0;
}

/// Puts some workers, and perhaps the client, behind interfaces.
void giveInterfaces(std::mt19937& random, Cluster& cluster) {
  cluster.interfaces.resize(1 + random() % 3);
  for (Interface& interface : cluster.interfaces) {
    interface.bytesPerSecond = 1e9 * static_cast<double>(1 + random() % 3) / 2;
  }
  for (int w = kClient; w < static_cast<int>(cluster.workers.size()); ++w) {
    if (random() % 4 != 0) {
      cluster.interfaces[random() % cluster.interfaces.size()].workers.push_back(w);
    }
  }
}

/// Lets devices hold each other up: those of one worker each, or of all.
void giveCrowds(std::mt19937& random, Cluster& cluster) {
  const bool together = random() % 2 == 0;
  for (int w = 0; w < static_cast<int>(cluster.workers.size()); ++w) {
    if (!together || cluster.crowds.empty()) {
      cluster.crowds.push_back({{}, static_cast<double>(1 + random() % 4) / 8});
    }
    cluster.crowds.back().workers.push_back(w);
  }
}

/// One of the clusters on which schedules are tried, by its number.
Cluster clusterOf(int number, int devices, std::mt19937& random) {
  if (number % 4 == 0) {
    return pairedCluster(devices);
  }
  return number % 4 == 1 ? testing::randomCoreCluster(random, devices)
                         : testing::simpleCluster(devices);
}

/// Of each trial another mix of what a cluster may have.
Cluster variedCluster(int trial, int devices, std::mt19937& random) {
  Cluster cluster = clusterOf(trial / 4, devices, random);
  giveLibraries(random, cluster);
  if (trial % 5 < 2) {
    giveStarts(random, cluster);
  }
  if (trial % 7 < 3) {
    giveInterfaces(random, cluster);
  }
  if (trial % 11 < 4) {
    giveCrowds(random, cluster);
  }
  for (LinkOverride& link : cluster.links) {
    link.readNsPerByte = trial % 3 == 1 ? static_cast<double>(random() % 3) / 2 : 0;
    link.sendNsPerByte = trial % 5 == 1 ? static_cast<double>(random() % 3) / 2 : 0;
    link.queues = trial % 3 != 0 || random() % 2 == 0;
  }
  return cluster;
}

void followRandomChanges(unsigned seed, int trials) {
  std::mt19937 random(seed);
  for (int trial = 0; trial < trials; ++trial) {
    CAPTURE(trial);
    testing::RandomOptions options;
    options.devices = 1 + trial % 6;
    options.maxNodes = trial % 7 == 0 ? 120 : 40;
    options.shares = trial % 2 == 1;
    options.collectives = trial % 4 == 3;
    if (trial % 25 == 0) {
      options.minNodes = options.maxNodes = 1500;
    }
    CostGraph graph = randomGraph(random, options);
    Cluster cluster = variedCluster(trial, options.devices, random);
    PlacementProblem problem = makeProblem(graph, cluster);
    auto start = placeRandom(problem, static_cast<uint64_t>(trial));
    REQUIRE(start.ok());
    auto schedule = Schedule::create(problem.simulator, start->placement);
    REQUIRE(schedule.ok());
    requireSame(*schedule, problem);
    for (int move = 0; move < 50; ++move) {
      for (int changes = 1 + static_cast<int>(random() % 3); changes > 0; --changes) {
        changeSomething(*schedule, graph, random);
      }
      if (random() % 2 == 0) {
        requireSame(*schedule, problem);
      }
      if (random() % 2 == 0) {
        schedule->undo();
        requireSame(*schedule, problem);
      } else {
        schedule->keep();
      }
    }
    requireSame(*schedule, problem);
  }
}

TEST_CASE("times that follow changes are those of the simulator") { followRandomChanges(1, 1000); }

TEST_CASE("times that follow ten times as many changes are those of the simulator", "[.slow]") {
  followRandomChanges(2, 10'000);
}

/// Windows of the order, one after the other, with changes in each; what came of them all.
void changeInWindows(Schedule& schedule, const CostGraph& graph, std::mt19937& random) {
  int size = 2 + static_cast<int>(random() % 30);
  int64_t step = schedule.stepNs();
  schedule.keep();
  schedule.learnTails();
  for (int first = 0; first < graph.nodeCount(); first += size) {
    schedule.openWindow(first, std::min(first + size, graph.nodeCount()));
    int64_t now = schedule.stepNs();
    REQUIRE((first > 0 || now <= step));  // ways that pass the window by are not seen
    for (int change = 0; change < 10; ++change) {
      changeSomething(schedule, graph, random);
      int64_t changed = schedule.stepNs();
      for (int node : schedule.criticalNodes()) {
        REQUIRE(schedule.rank(node) >= first);
        REQUIRE(schedule.rank(node) < first + size);
      }
      if (random() % 2 == 0) {
        schedule.undo();
        REQUIRE(schedule.stepNs() == now);
      } else {
        schedule.keep();
        REQUIRE(schedule.stepNs() == changed);
        now = changed;
      }
    }
  }
  schedule.closeWindow();
}

TEST_CASE("what windows put off is done when they are closed") {
  std::mt19937 random(2);
  for (int trial = 0; trial < 400; ++trial) {
    CAPTURE(trial);
    testing::RandomOptions options;
    options.devices = 1 + trial % 6;
    options.maxNodes = trial % 25 == 0 ? 1500 : 120;
    options.shares = trial % 2 == 1;
    options.collectives = trial % 4 == 3;
    CostGraph graph = randomGraph(random, options);
    Cluster cluster = variedCluster(trial, options.devices, random);
    PlacementProblem problem = makeProblem(graph, cluster);
    auto start = placeRandom(problem, static_cast<uint64_t>(trial));
    REQUIRE(start.ok());
    auto schedule = Schedule::create(problem.simulator, start->placement);
    REQUIRE(schedule.ok());
    for (int sweep = 0; sweep < 3; ++sweep) {
      changeInWindows(*schedule, graph, random);
      requireSame(*schedule, problem);
      schedule->keep();
    }
  }
}

TEST_CASE("a window tells the step as it is while nothing is changed") {
  for (unsigned seed = 0; seed < 200; ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    testing::RandomOptions options;
    options.minNodes = 30;
    options.devices = 4;
    CostGraph graph = randomGraph(random, options);
    for (CostTensor& tensor : graph.tensors) {
      tensor.isOutput = false;  // so that no way ends before the last window
    }
    Cluster cluster = pairedCluster(4);
    PlacementProblem problem = makeProblem(graph, cluster);
    auto schedule =
        Schedule::create(problem.simulator, placeRandom(problem, seed).value().placement);
    int64_t step = schedule->stepNs();
    schedule->learnTails();
    schedule->openWindow(0, graph.nodeCount() / 2);
    CHECK(schedule->stepNs() <= step);  // links that are not free yet after it are not seen
    CHECK(schedule->stepNs() > 0.9 * static_cast<double>(step));
    schedule->openWindow(graph.nodeCount() / 2, graph.nodeCount());
    CHECK(schedule->stepNs() == step);
  }
}

TEST_CASE("critical nodes end when the next one, or what that waits for, starts") {
  for (unsigned seed = 0; seed < 300; ++seed) {
    std::mt19937 random(seed);
    testing::RandomOptions options;
    options.minNodes = 2;
    CostGraph graph = randomGraph(random, options);
    Cluster cluster = clusterOf(static_cast<int>(seed), 3, random);
    PlacementProblem problem = makeProblem(graph, cluster);
    auto schedule =
        Schedule::create(problem.simulator, placeRandom(problem, seed).value().placement);
    std::vector<int> critical = schedule->criticalNodes();
    REQUIRE(!critical.empty());
    for (size_t i = 1; i < critical.size(); ++i) {
      CHECK(schedule->time(critical[i]).finish <= schedule->time(critical[i - 1]).start);
    }
    OpTime first = schedule->time(critical.front());
    CHECK(first.finish <= schedule->stepNs());
  }
}

}  // namespace
}  // namespace graphrun::placement
