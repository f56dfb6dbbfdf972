// Plans on several devices that give way to one device, or take its place again.
#include "runtime/session/fall_back.h"

#include <catch2/catch.hpp>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "tests/runtime/format/samples.h"

namespace graphrun::runtime {
namespace {

/// A plan of three devices, or with all that is computed on the first of them, that promises steps
/// of so many nanoseconds.
FoundPlan planOf(uint64_t promised, bool isSingle, bool isMeasured = true) {
  format::PlanT plan = format::samplePlan();
  plan.predicted_step_ns = promised;
  plan.predicted_period_ns = promised / 2;
  for (size_t p = 0; p < plan.partitions.size(); ++p) {
    if (isSingle && p > 0) {
      plan.partitions[p]->nodes.clear();
    }
    for (auto& node : plan.partitions[p]->nodes) {
      node->measured = isMeasured;
    }
  }
  FoundPlan found;
  found.plan = format::PlanFile::parse(format::planBytes(plan)).value();
  found.response = {1};
  return found;
}

/// A session whose runs of a plan take as long as a test says.
struct Judged {
  Judged(FoundPlan first, uint64_t runNanos) { load(std::move(first), runNanos); }

  void load(FoundPlan found, uint64_t runNanos) {
    plan = std::make_unique<ActivePlan>();
    plan->found = std::move(found);
    take(runNanos);
  }
  /// Runs take so long one by one, the first a bit longer, and beside others half of that.
  void take(uint64_t runNanos) {
    plan->lastRuns.assign({LastRun{runNanos + 50, false}, LastRun{runNanos, false},
                           LastRun{runNanos, false}, LastRun{runNanos / 2, true},
                           LastRun{runNanos, false}});
  }
  ActivePlan& judge() {
    return *runtime::judge(*plan, {[&] {
                                     ++asked;
                                     return absl::StatusOr<FoundPlan>(single);
                                   },
                                   [&](const FoundPlan& found) { kept = found.plan; },
                                   [&](const ActivePlan&) { ++learned; },
                                   [&](ActivePlan&, FoundPlan found) {
                                     load(std::move(found), 0);
                                     plan->lastRuns.clear();
                                     return absl::StatusOr<ActivePlan*>(plan.get());
                                   },
                                   [&](const FoundPlan& found, uint64_t nanos) {
                                     remembered = {found.plan, nanos};
                                   },
                                   [&](const FoundPlan& found) {
                                     return remembered.first == found.plan ? remembered.second : 0;
                                   },
                                   isForMany})
                .value();
  }

  std::unique_ptr<ActivePlan> plan;
  FoundPlan single = planOf(900, true);
  std::shared_ptr<const format::PlanFile> kept;
  std::pair<std::shared_ptr<const format::PlanFile>, uint64_t> remembered;
  int asked = 0;
  int learned = 0;
  bool isForMany = false;
};

TEST_CASE("runs that take what was promised, or are on one device, are not doubted") {
  for (const FoundPlan& found : {planOf(1000, false), planOf(500, true), planOf(0, false)}) {
    Judged judged(found, 1020);
    CHECK(judged.judge().found.plan == found.plan);
    CHECK((judged.plan->judged && judged.asked == 0));
  }
}

TEST_CASE(
    "one device that is faster twice takes the place of several, else that has its place again") {
  const FoundPlan several = planOf(800, false);
  Judged judged(several, 1000);
  ActivePlan& tried = judged.judge();
  CHECK(judged.learned == 1);
  CHECK(tried.found.plan == judged.single.plan);
  CHECK((!tried.judged && judged.kept == nullptr));
  SECTION("it does what it promised") {
    judged.take(950);
    ActivePlan& again = judged.judge();
    CHECK((again.found.plan == several.plan && !again.judged));
    SECTION("and several take as long again") {
      judged.take(1000);
      ActivePlan& last = judged.judge();
      CHECK(last.found.plan == judged.single.plan);
      CHECK((last.judged && last.found.response.empty() && !last.trial.has_value()));
      CHECK((judged.kept == judged.single.plan && judged.remembered.second == 0));
    }
    SECTION("but several take less now, as the machine is not busy any more") {
      judged.take(820);
      ActivePlan& last = judged.judge();
      CHECK(last.found.plan == several.plan);
      CHECK((last.judged && !last.trial.has_value()));
      CHECK((judged.kept == nullptr && judged.remembered.first == several.plan));
      CHECK(judged.remembered.second == 950);
    }
  }
  SECTION("it does not") {
    judged.take(1010);
    ActivePlan& last = judged.judge();
    CHECK(last.found.plan == several.plan);
    CHECK((last.judged && judged.kept == nullptr));
    CHECK(judged.remembered.first == several.plan);
    CHECK(judged.remembered.second == 1010);
  }
}

TEST_CASE("what a session has learnt of one device holds for the next one") {
  const FoundPlan several = planOf(800, false);
  Judged judged(several, 1000);
  const uint64_t known = GENERATE(1010, 985, 970);
  judged.remembered = {several.plan, known};
  judged.judge();
  CHECK(judged.asked == (known < 980 ? 1 : 0));  // it might be faster by now
}

TEST_CASE("runs have settled when some are alike, behind the first, or when there are many") {
  Judged judged(planOf(1000, false), 0);
  auto settled = [&](const std::vector<uint64_t>& nanos) {
    judged.plan->lastRuns.clear();
    for (uint64_t run : nanos) {
      judged.plan->lastRuns.push_back({run, false});
    }
    return haveRunsSettled(*judged.plan, false);
  };
  CHECK_FALSE(settled({1000, 1000, 1000}));
  CHECK(settled({1500, 1000, 1000, 1020}));
  CHECK_FALSE(settled({1000, 1000, 1000, 1040}));
  CHECK(settled({1000, 1000, 1200, 1000, 1010, 990}));
  CHECK_FALSE(settled(std::vector<uint64_t>{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}));
  CHECK(settled(std::vector<uint64_t>{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}));
  CHECK(haveRunsSettled(*judged.plan, true));
  judged.plan->settled = true;
  CHECK_FALSE(haveRunsSettled(*judged.plan, true));  // none was beside another
  judged.plan->trial = ActivePlan::Trial{};
  CHECK(settled({1500, 1000, 1000}));
}

/// Runs of a session, of which `nanos` tells how long the one with that number takes where one
/// device or several compute. How many there were until nothing is tried any more.
template <typename Nanos>
size_t runsUntilJudged(Judged& judged, const Nanos& nanos) {
  judged.plan->lastRuns.clear();
  size_t run = 0;
  for (; run < 100 && !judged.plan->judged; ++run) {
    judged.plan->lastRuns.push_back(
        {nanos(run, judged.plan->found.plan == judged.single.plan), false});
    if (haveRunsSettled(*judged.plan, judged.isForMany)) {
      judged.judge();
    }
  }
  return run;
}

TEST_CASE("what is faster runs after few runs, however these differ") {
  for (unsigned seed = 0; seed < 200; ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    std::uniform_int_distribution<uint64_t> noise(0, 10);
    const uint64_t several = seed % 2 == 0 ? 950'000 : 880'000;
    Judged judged(planOf(800'000, false), 0);
    judged.single = planOf(900'000, true);
    const FoundPlan first = judged.plan->found;
    // The machine is busy in the first runs of some sessions, and in some others at some time.
    const uint64_t busyUntil = seed % 3 == 0 ? 4 : 0;
    const size_t disturbed = seed % 5 == 0 ? random() % 12 : 100;
    const size_t runs = runsUntilJudged(judged, [&](size_t run, bool isSingle) {
      const uint64_t usual = (isSingle ? 900'000 : several) * (1000 + noise(random)) / 1000;
      return usual * (run < busyUntil ? 130 : run == disturbed ? 150 : 100) / 100;
    });
    CHECK(judged.plan->found.plan == (seed % 2 == 0 ? judged.single.plan : first.plan));
    CHECK(runs <= (disturbed < 100 ? 14 : 10));
  }
}

TEST_CASE("for throughput runs beside others are held against the period that was promised") {
  Judged judged(planOf(1000, false), 1000);
  judged.isForMany = true;
  SECTION("as promised, however long each takes") {
    judged.plan->lastRuns.assign({LastRun{5000, false}, LastRun{5000, false}, LastRun{510, true}});
    CHECK_FALSE(judged.judge().trial.has_value());
    CHECK((judged.plan->judged && judged.asked == 0));
  }
  SECTION("not as promised, and one device is faster") {
    auto disappoint = [&] {
      judged.plan->lastRuns.assign({LastRun{400, false}, LastRun{400, false}, LastRun{600, true}});
    };
    disappoint();
    CHECK(judged.judge().found.plan == judged.single.plan);
    judged.take(1000);  // 500 beside others
    judged.judge();
    disappoint();
    CHECK(judged.judge().found.plan == judged.single.plan);
    CHECK(judged.kept == judged.single.plan);
  }
}

TEST_CASE("a device that promises no less, or of which that is a guess, is not tried") {
  for (const FoundPlan& single : {planOf(990, true), planOf(900, true, false)}) {
    Judged judged(planOf(800, false), 1000);
    const auto before = judged.plan->found.plan;
    judged.single = single;
    CHECK(judged.judge().found.plan == before);
    CHECK((judged.plan->judged && judged.asked == 1));
    CHECK(judged.remembered.second == (isEstimated(*single.plan) ? 0 : 990));
  }
}

}  // namespace
}  // namespace graphrun::runtime
