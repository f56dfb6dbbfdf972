#include "runtime/data/sample_order.h"

#include <array>
#include <cassert>

namespace graphrun::runtime {
namespace {

constexpr uint64_t kRounds = 8;
constexpr uint64_t kGolden =
    0x9e3779b97f4a7c15;  // 2^64 / golden ratio: the increment of SplitMix64

/// The finaliser of SplitMix64: a bijection in which each bit depends on every one.
uint64_t mix(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

}  // namespace

SampleOrder::SampleOrder(int64_t count, uint64_t seed)
    : count_(static_cast<uint64_t>(count)), seed_(mix(seed + kGolden)) {
  assert(count >= 1);
  while ((uint64_t{1} << (2 * halfBits_)) < count_) {
    ++halfBits_;
  }
}

int64_t SampleOrder::at(uint64_t epoch, int64_t i) const {
  assert(i >= 0 && static_cast<uint64_t>(i) < count_);
  std::array<uint64_t, kRounds> keys{};
  for (uint64_t round = 0; round < kRounds; ++round) {
    keys[round] = mix(mix(seed_ ^ epoch) + (round + 1) * kGolden);
  }
  const uint64_t mask = (uint64_t{1} << halfBits_) - 1;
  auto x = static_cast<uint64_t>(i);
  do {
    uint64_t left = x >> halfBits_;
    uint64_t right = x & mask;
    for (uint64_t key : keys) {
      const uint64_t next = left ^ (mix(right ^ key) & mask);
      left = right;
      right = next;
    }
    x = left << halfBits_ | right;
  } while (x >= count_);
  return static_cast<int64_t>(x);
}

}  // namespace graphrun::runtime
