// A SampleOrder shuffles samples without memory.
#ifndef GRAPHRUN_RUNTIME_DATA_SAMPLE_ORDER_H_
#define GRAPHRUN_RUNTIME_DATA_SAMPLE_ORDER_H_

#include <cstdint>

namespace graphrun::runtime {

/// A permutation of [0, count) for each epoch, of which each element is computed by itself: who
/// goes on in the middle of an epoch, or takes every n-th sample, needs a number and no list. It is
/// a Feistel network of eight rounds on pairs of half-words (Luby and Rackoff, 1988) over the next
/// power of four, applied until the result is below `count`: fewer than four times on average
/// (cycle walking; Black and Rogaway, "Ciphers with Arbitrary Finite Domains", 2002). The rounds
/// mix as SplitMix64 does (Steele, Lea and Flood, 2014). It is a shuffle, and keeps nothing secret.
/// The same on every machine and in every version: checkpoints rely on it. Thread-safe.
class SampleOrder {
 public:
  /// `count` is at least 1.
  SampleOrder(int64_t count, uint64_t seed);

  /// The sample at position `i`, in [0, count), of an epoch.
  int64_t at(uint64_t epoch, int64_t i) const;

 private:
  uint64_t count_;
  uint64_t seed_;
  unsigned halfBits_ = 0;
};

}  // namespace graphrun::runtime

#endif  // GRAPHRUN_RUNTIME_DATA_SAMPLE_ORDER_H_
