// Plans on several devices that give way to one device, or take its place again.
#include "runtime/session/fall_back.h"

#include <catch2/catch.hpp>
#include <memory>
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
  /// Runs take so long one by one, and beside others half of that.
  void take(uint64_t runNanos) {
    plan->lastRuns.assign(
        {LastRun{runNanos, false}, LastRun{runNanos, false}, LastRun{runNanos / 2, true}});
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
                                     return absl::StatusOr<ActivePlan*>(plan.get());
                                   },
                                   isForMany})
                .value();
  }

  std::unique_ptr<ActivePlan> plan;
  FoundPlan single = planOf(900, true);
  std::shared_ptr<const format::PlanFile> kept;
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
    "one device that promises less takes the place of several, and keeps it if it holds that") {
  const FoundPlan several = planOf(800, false);
  Judged judged(several, 1000);
  ActivePlan& tried = judged.judge();
  CHECK(judged.learned == 1);
  CHECK(tried.found.plan == judged.single.plan);
  CHECK((!tried.judged && judged.kept == nullptr));
  SECTION("it does") {
    judged.take(950);
    ActivePlan& last = judged.judge();
    CHECK(last.found.plan == judged.single.plan);
    CHECK((last.judged && last.found.response.empty()));
    CHECK(judged.kept == judged.single.plan);
  }
  SECTION("it does not") {
    judged.take(1010);
    ActivePlan& last = judged.judge();
    CHECK(last.found.plan == several.plan);
    CHECK((last.judged && judged.kept == nullptr));
  }
}

TEST_CASE("for throughput runs beside others are held against the period that was promised") {
  Judged judged(planOf(1000, false), 1000);
  judged.isForMany = true;
  SECTION("as promised, however long each takes") {
    judged.plan->lastRuns.assign({LastRun{5000, false}, LastRun{5000, false}, LastRun{510, true}});
    CHECK_FALSE(judged.judge().rival.has_value());
    CHECK((judged.plan->judged && judged.asked == 0));
  }
  SECTION("not as promised, and one device is faster") {
    judged.plan->lastRuns.assign({LastRun{400, false}, LastRun{400, false}, LastRun{600, true}});
    CHECK(judged.judge().found.plan == judged.single.plan);
    judged.take(1000);  // 500 beside others
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
  }
}

}  // namespace
}  // namespace graphrun::runtime
