// The order of samples.
#include "runtime/data/sample_order.h"

#include <catch2/catch.hpp>
#include <vector>

namespace graphrun::runtime {
namespace {

std::vector<int64_t> orderOf(int64_t count, uint64_t seed, uint64_t epoch) {
  SampleOrder order(count, seed);
  std::vector<int64_t> samples;
  for (int64_t i = 0; i < count; ++i) {
    samples.push_back(order.at(epoch, i));
  }
  return samples;
}

TEST_CASE("each epoch is a permutation") {
  for (int64_t count : {1, 2, 3, 4, 5, 16, 17, 63, 64, 65, 1000, 4097}) {
    for (uint64_t epoch : {0, 1, 7}) {
      std::vector<bool> seen(static_cast<size_t>(count));
      for (int64_t sample : orderOf(count, 3, epoch)) {
        REQUIRE(sample >= 0);
        REQUIRE(sample < count);
        REQUIRE_FALSE(seen[static_cast<size_t>(sample)]);
        seen[static_cast<size_t>(sample)] = true;
      }
    }
  }
}

TEST_CASE("a very large dataset has an order, too") {
  const int64_t count = (int64_t{1} << 61) + 12345;
  SampleOrder order(count, 1);
  for (int64_t i : {int64_t{0}, count / 2, count - 1}) {
    CHECK(order.at(0, i) >= 0);
    CHECK(order.at(0, i) < count);
  }
}

TEST_CASE("the order depends on seed and epoch") {
  CHECK(orderOf(100, 1, 0) == orderOf(100, 1, 0));
  CHECK(orderOf(100, 1, 0) != orderOf(100, 1, 1));
  CHECK(orderOf(100, 1, 0) != orderOf(100, 2, 0));
}

TEST_CASE("the order never changes, as checkpoints rely on it") {
  CHECK(orderOf(10, 1, 0) == std::vector<int64_t>{4, 7, 3, 2, 5, 9, 6, 0, 8, 1});
  CHECK(orderOf(10, 1, 1) == std::vector<int64_t>{7, 6, 8, 2, 5, 4, 1, 0, 3, 9});
}

TEST_CASE("each sample comes to each position as often, and neighbours are independent") {
  constexpr int kCount = 10;
  constexpr int kEpochs = 20'000;
  std::vector<int> at(kCount * kCount);
  std::vector<int> next(kCount * kCount);
  for (uint64_t epoch = 0; epoch < kEpochs; ++epoch) {
    const std::vector<int64_t> order = orderOf(kCount, 5, epoch);
    for (size_t i = 0; i < kCount; ++i) {
      ++at[i * kCount + static_cast<size_t>(order[i])];
      if (i + 1 < kCount) {
        ++next[static_cast<size_t>(order[i] * kCount + order[i + 1])];
      }
    }
  }
  double positions = 0;
  double neighbours = 0;
  for (int a = 0; a < kCount; ++a) {
    for (int b = 0; b < kCount; ++b) {
      const double off = at[a * kCount + b] - kEpochs / 10.0;
      positions += off * off / (kEpochs / 10.0);
      if (a != b) {
        const double mean = kEpochs * 9 / 90.0;
        neighbours += (next[a * kCount + b] - mean) * (next[a * kCount + b] - mean) / mean;
      }
    }
  }
  // Chi-squared of 81 and about 89 degrees of freedom: 130 and 140 are passed once in 2,000 times.
  CHECK(positions < 130);
  CHECK(neighbours < 140);
}

}  // namespace
}  // namespace graphrun::runtime
