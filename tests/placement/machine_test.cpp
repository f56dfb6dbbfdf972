#include <algorithm>
#include <functional>

#include "placement/bounds/lower_bounds.h"
#include "placement/cost_file_searches/cost_file_searches.h"
#include "placement/cost_file_searches/identical_machines.h"
#include "placement/problem/problem.h"
#include "placement/problem/validate.h"
#include "placement/strategies/strategy.h"
#include "tests/placement/graphs.h"

namespace graphrun::placement {
namespace {

MachineProblem randomProblem(std::mt19937& random, int most) {
  auto pick = [&](int low, int high) {
    return std::uniform_int_distribution<int>(low, high)(random);
  };
  std::vector<int64_t> duration;
  std::vector<std::vector<int>> before;
  int count = pick(1, most);
  for (int i = 0; i < count; ++i) {
    duration.push_back(pick(0, 9));
    before.emplace_back();
    for (int b = 0; b < i; ++b) {
      if (pick(0, 3) == 0) {
        before.back().push_back(b);
      }
    }
  }
  return MachineProblem::make(pick(1, 3), std::move(duration), before);
}

void checkSchedule(const MachineProblem& p, const MachineSchedule& schedule) {
  std::vector<std::pair<int64_t, int>> changes;
  int64_t end = 0;
  for (int i = 0; i < p.taskCount(); ++i) {
    int64_t start = schedule.start[static_cast<size_t>(i)];
    int64_t duration = p.duration[static_cast<size_t>(i)];
    REQUIRE(start >= 0);
    end = std::max(end, start + duration);
    for (int b : p.before[i]) {
      REQUIRE(schedule.start[static_cast<size_t>(b)] + p.duration[static_cast<size_t>(b)] <= start);
    }
    changes.emplace_back(start + duration, -1);
    if (duration > 0) {
      changes.emplace_back(start, 1);
    } else {
      changes.pop_back();
    }
  }
  REQUIRE(end == schedule.end);
  std::sort(changes.begin(), changes.end());
  int running = 0;
  for (auto [time, change] : changes) {
    running += change;
    REQUIRE(running <= p.machines);
  }
}

/// The least end of all schedules, by trying all orders: some order of tasks, each begun as early
/// as its machine and predecessors allow, gives it.
int64_t leastEnd(const MachineProblem& p) {
  std::vector<int64_t> free(static_cast<size_t>(p.machines), 0);
  std::vector<int64_t> ends(p.duration.size(), -1);
  int64_t best = std::numeric_limits<int64_t>::max();
  std::function<void(int, int64_t)> extend = [&](int done, int64_t end) {
    if (end >= best) {
      return;
    }
    if (done == p.taskCount()) {
      best = end;
      return;
    }
    for (int i = 0; i < p.taskCount(); ++i) {
      auto t = static_cast<size_t>(i);
      int64_t ready = 0;
      bool open = ends[t] < 0;
      for (int b : p.before[i]) {
        open = open && ends[static_cast<size_t>(b)] >= 0;
        ready = std::max(ready, ends[static_cast<size_t>(b)]);
      }
      if (!open) {
        continue;
      }
      for (size_t m = 0; m < free.size(); ++m) {
        if (m > 0 && free[m] == free[m - 1]) {
          continue;
        }
        int64_t was = free[m];
        ends[t] = free[m] = std::max(was, ready) + p.duration[t];
        extend(done + 1, std::max(end, ends[t]));
        free[m] = was;
        ends[t] = -1;
      }
    }
  };
  extend(0, 0);
  return best;
}

TEST_CASE("schedules on identical machines are proved as short as they can be") {
  std::mt19937 random(5);
  for (int trial = 0; trial < 300; ++trial) {
    MachineProblem p = randomProblem(random, 7);
    int64_t least = leastEnd(p);
    int64_t bound = intervalBound(p);
    CHECK(bound <= least);
    SearchLimit few(0, 50);
    MachineSchedule first = searchPriorities(p, bound, 1, few);
    checkSchedule(p, first);
    SearchLimit many(0, 10'000'000);
    MachineProof proof = proveMachine(p, first, bound, many);
    checkSchedule(p, proof.best);
    REQUIRE(proof.best.end == least);
    REQUIRE(proof.bound == least);
  }
}

/// The problem on a cluster whose links take no time.
CostGraph graphOf(const MachineProblem& p) {
  CostGraph graph;
  for (int i = 0; i < p.taskCount(); ++i) {
    std::vector<int64_t> times(static_cast<size_t>(p.machines), p.duration[static_cast<size_t>(i)]);
    testing::addNode(graph, absl::StrCat("task", i), times);
  }
  for (int i = 0; i < p.taskCount(); ++i) {
    testing::addTensor(graph, i, {p.after[i].begin(), p.after[i].end()}, 0);
  }
  REQUIRE(graph.finish(p.machines).ok());
  return graph;
}

TEST_CASE("auto proves what it finds on equal devices with free transfers") {
  std::mt19937 random(6);
  for (int trial = 0; trial < 100; ++trial) {
    MachineProblem p = randomProblem(random, 7);
    CostGraph graph = graphOf(p);
    Cluster cluster = testing::simpleCluster(p.machines);
    cluster.links.clear();
    cluster.otherLinks = LinkModel{LinkKind::kGiven, 0, 1e18};
    PlacementProblem problem = testing::makeProblem(graph, cluster);
    REQUIRE(isForMachines(problem));
    auto result = place(problem, "auto");
    REQUIRE(result.ok());
    REQUIRE(validatePlacement(problem, result->placement).ok());
    int64_t least = leastEnd(p);
    CHECK(result->simulation.stepNs == least);
    CHECK(std::max(result->boundNs, lowerBounds(problem).ns()) == least);
  }
}

TEST_CASE("more work gives no worse a schedule of equal devices") {
  std::mt19937 random(7);
  int improved = 0;
  for (int trial = 0; trial < 20; ++trial) {
    CAPTURE(trial);
    MachineProblem p = randomProblem(random, 60);
    CostGraph graph = graphOf(p);
    Cluster cluster = testing::simpleCluster(p.machines);
    cluster.links.clear();
    cluster.otherLinks = LinkModel{LinkKind::kGiven, 0, 1e18};
    improved += testing::improvesWithWork(testing::makeProblem(graph, cluster), 20'000) ? 1 : 0;
  }
  CHECK(improved > 0);
}

TEST_CASE("devices or transfers that differ are no machines") {
  CostGraph graph;
  testing::addNode(graph, "a", {5, 5});
  testing::addNode(graph, "b", {5, 5});
  testing::addTensor(graph, 0, {1}, 8);
  REQUIRE(graph.finish(2).ok());
  Cluster cluster = testing::simpleCluster(2);
  PlacementProblem problem = testing::makeProblem(graph, cluster);
  CHECK_FALSE(isForMachines(problem));
  Cluster free = testing::coreCluster({{{0}}, {{0}}});
  free.links.clear();
  free.otherLinks = LinkModel{LinkKind::kGiven, 0, 1e9};
  graph.tensors[0].bytes = 0;
  CHECK_FALSE(isForMachines(testing::makeProblem(graph, free)));  // they take turns
  free.devices[1].cores = {1};
  CHECK(isForMachines(testing::makeProblem(graph, free)));
  auto result = place(problem, "machines");
  CHECK(absl::IsFailedPrecondition(result.status()));
  CHECK_THAT(testing::messageOf(result.status()), Catch::Contains("is not for this problem"));
}

}  // namespace
}  // namespace graphrun::placement
