#include "runtime/memory/arena_planner.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <ctime>
#include <map>
#include <random>
#include <string>

namespace graphrun::runtime {
namespace {

using Catch::Matchers::Contains;
using Aliases = std::vector<std::pair<uint32_t, uint32_t>>;

bool aliased(const Aliases& aliases, size_t a, size_t b, size_t count) {
  // Reachability, the slow way: the planner's own union is what is tested.
  std::vector<bool> reached(count, false);
  reached[a] = true;
  for (size_t round = 0; round < aliases.size(); ++round) {
    for (const auto& [x, y] : aliases) {
      bool either = reached[x] || reached[y];
      reached[x] = reached[x] || either;
      reached[y] = reached[y] || either;
    }
  }
  return reached[b];
}

void checkPlan(const std::vector<ArenaBuffer>& buffers, const Aliases& aliases,
               const ArenaPlan& plan) {
  uint64_t sum = 0;
  REQUIRE(plan.offsets.size() == buffers.size());
  for (size_t i = 0; i < buffers.size(); ++i) {
    REQUIRE(plan.offsets[i] % kTensorAlignment == 0);
    REQUIRE(plan.offsets[i] + buffers[i].bytes <= plan.arenaBytes);
    sum += alignTensor(buffers[i].bytes);
    for (size_t j = 0; j < i; ++j) {
      const ArenaBuffer& a = buffers[i];
      const ArenaBuffer& b = buffers[j];
      if (!aliases.empty() && aliased(aliases, i, j, buffers.size())) {
        REQUIRE(plan.offsets[i] == plan.offsets[j]);
        continue;
      }
      bool live = a.firstUse <= b.lastUse && b.firstUse <= a.lastUse;
      bool apart = plan.offsets[i] + a.bytes <= plan.offsets[j] ||
                   plan.offsets[j] + b.bytes <= plan.offsets[i];
      REQUIRE((!live || apart));
    }
  }
  CHECK(plan.arenaBytes <= sum);
  CHECK(plan.arenaBytes >= plan.lowerBound);
}

ArenaPlan planned(const std::vector<ArenaBuffer>& buffers, const Aliases& aliases = {}) {
  auto plan = planArena(buffers, aliases);
  REQUIRE(plan.status() == absl::OkStatus());
  checkPlan(buffers, aliases, *plan);
  return *std::move(plan);
}

TEST_CASE("small cases reach the lower bound") {
  CHECK(planned({}).arenaBytes == 0);
  CHECK(planned({{0, 0, 5}}).arenaBytes == 0);
  CHECK(planned({{1, 0, 0}}).arenaBytes == 64);
  // A chain: each buffer is read by the next step only.
  std::vector<ArenaBuffer> chain;
  for (uint32_t i = 0; i < 100; ++i) {
    chain.push_back({1024, i, i + 1});
  }
  CHECK(planned(chain).arenaBytes == 2048);
  // A residual: one buffer outlives a chain of two.
  CHECK(planned({{100, 0, 3}, {200, 0, 1}, {200, 1, 2}, {100, 2, 3}}).arenaBytes ==
        planned({{100, 0, 3}, {200, 0, 1}, {200, 1, 2}, {100, 2, 3}}).lowerBound);
  // Growing and shrinking, as in an encoder and decoder with skips.
  std::vector<ArenaBuffer> skips;
  for (uint32_t i = 0; i < 6; ++i) {
    skips.push_back({uint64_t{4096} >> i, i, 12 - i});
  }
  ArenaPlan plan = planned(skips);
  CHECK(plan.arenaBytes == plan.lowerBound);
  CHECK(plan.lowerBound == 4096 + 2048 + 1024 + 512 + 256 + 128);
}

TEST_CASE("aliases share their offset") {
  // An operation in place: input 0 becomes output 1.
  ArenaPlan plan = planned({{256, 0, 1}, {128, 1, 2}, {256, 2, 3}}, {{0, 1}});
  CHECK(plan.offsets[0] == plan.offsets[1]);
  CHECK(plan.arenaBytes == 512);
  CHECK(planned({{64, 0, 0}, {64, 1, 1}, {64, 2, 2}}, {{2, 1}, {0, 1}, {1, 1}}).arenaBytes == 64);
}

TEST_CASE("random lifetimes never overlap") {
  std::mt19937 generator(20240607);
  auto random = [&] { return static_cast<uint32_t>(generator()); };
  double worst = 1.0;
  for (int round = 0; round < 200; ++round) {
    std::vector<ArenaBuffer> buffers;
    Aliases aliases;
    uint32_t count = 1 + random() % 80;
    uint32_t steps = 1 + random() % 60;
    for (uint32_t i = 0; i < count; ++i) {
      uint32_t first = random() % steps;
      uint32_t last = std::min(first + random() % (1 + random() % steps), steps - 1);
      buffers.push_back({random() % 4 == 0 ? 0 : random() % 100000, first, last});
      if (round % 2 == 1 && i > 0 && random() % 8 == 0) {
        aliases.emplace_back(i, random() % i);
      }
    }
    CAPTURE(round);
    ArenaPlan plan = planned(buffers, aliases);
    if (plan.lowerBound > 0) {
      worst = std::max(worst,
                       static_cast<double>(plan.arenaBytes) / static_cast<double>(plan.lowerBound));
    }
  }
  // Not a promise, but a packing that wastes half has gone wrong.
  CHECK(worst < 1.5);
}

TEST_CASE("the same arguments give the same plan, and steps may be far apart") {
  std::vector<ArenaBuffer> buffers = {
      {64, 0, 4000000000U}, {64, 4000000000U, 4294967295U}, {64, 7, 9}};
  CHECK(planned(buffers).offsets == planned(buffers).offsets);
  CHECK(planned(buffers).arenaBytes == 128);
}

TEST_CASE("ten thousand operations are planned quickly") {
  std::mt19937 generator(3);
  auto random = [&] { return static_cast<uint32_t>(generator()); };
  std::vector<ArenaBuffer> buffers;
  for (uint32_t i = 0; i < 10000; ++i) {
    buffers.push_back({random() % 1000000, i, i + 1 + random() % 20});
  }
  std::clock_t start = std::clock();  // of this process, on a loaded machine too
  REQUIRE(planArena(buffers).ok());
  CHECK(std::clock() - start < 5 * CLOCKS_PER_SEC);
}

/// Whether buffers that are live together lie apart, found by walking through the steps.
bool liveApart(const std::vector<ArenaBuffer>& buffers, const ArenaPlan& plan) {
  struct Change {
    uint32_t step;
    bool begins;
    size_t buffer;
  };
  std::vector<Change> changes;
  for (size_t i = 0; i < buffers.size(); ++i) {
    changes.push_back({buffers[i].firstUse, true, i});
    changes.push_back({buffers[i].lastUse + 1, false, i});
  }
  std::sort(changes.begin(), changes.end(), [](const Change& a, const Change& b) {
    return a.step != b.step ? a.step < b.step : a.begins < b.begins;
  });
  std::map<uint64_t, uint64_t> taken;  // end by begin
  for (const Change& change : changes) {
    uint64_t begin = plan.offsets[change.buffer];
    uint64_t end = begin + buffers[change.buffer].bytes;
    if (!change.begins) {
      taken.erase(begin);
      continue;
    }
    auto next = taken.lower_bound(begin);
    if ((next != taken.end() && next->first < end) ||
        (next != taken.begin() && std::prev(next)->second > begin) || end > plan.arenaBytes) {
      return false;
    }
    taken[begin] = end;
  }
  return true;
}

TEST_CASE("fifty thousand operations are planned quickly where much is live") {
  constexpr uint32_t kCount = 50000;
  std::mt19937 generator(7);
  auto random = [&] { return static_cast<uint32_t>(generator()); };
  std::vector<ArenaBuffer> stacked, kept, anyhow;
  for (uint32_t i = 0; i < kCount; ++i) {
    uint32_t bytes = 1 + random() % 100000;
    uint32_t back = 2 * kCount - i;
    stacked.push_back({bytes, i, back});  // forward and back
    kept.push_back({bytes, i, 2 * kCount});
    uint32_t other = random() % kCount;
    anyhow.push_back({bytes, std::min(i, other), std::max(i, other)});
  }
  for (const auto* buffers : {&stacked, &kept, &anyhow}) {
    std::clock_t start = std::clock();  // of this process, on a loaded machine too
    auto plan = planArena(*buffers);
    CHECK(std::clock() - start < 5 * CLOCKS_PER_SEC);
    REQUIRE(plan.ok());
    CHECK(liveApart(*buffers, *plan));
    CHECK(static_cast<double>(plan->arenaBytes) < 1.1 * static_cast<double>(plan->lowerBound));
  }
}

TEST_CASE("bad arguments are refused") {
  std::vector<ArenaBuffer> backwards = {{64, 2, 1}};
  CHECK_THAT(std::string(planArena(backwards).status().message()),
             Contains("buffer 0 is last used at step 1"));
  std::vector<ArenaBuffer> huge = {{uint64_t{1} << 62, 0, 1}, {64, 0, 1}};
  CHECK_THAT(std::string(planArena(huge).status().message()), Contains("2^62"));
  huge[0].bytes = ~uint64_t{0};
  CHECK_FALSE(planArena(huge).ok());
  std::vector<ArenaBuffer> one = {{64, 0, 1}};
  Aliases outside = {{0, 1}};
  CHECK_THAT(std::string(planArena(one, outside).status().message()),
             Contains("alias of buffers 0 and 1"));
}

}  // namespace
}  // namespace graphrun::runtime
