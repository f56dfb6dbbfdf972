// A set of ranks that is emptied from the lowest on.
#ifndef GRAPHRUN_PLACEMENT_SEARCH_DUE_RANKS_H_
#define GRAPHRUN_PLACEMENT_SEARCH_DUE_RANKS_H_

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

namespace graphrun::placement {

/// Ranks from -1 to count - 1, as bits.
class DueRanks {
 public:
  explicit DueRanks(int count = 0)
      : words_((static_cast<size_t>(count) + 64) / 64, 0), count_(count), lowest_(count) {}

  void add(int rank) {  // -1 wraps round to the first bit
    auto bit = static_cast<size_t>(rank) + 1;
    words_[bit / 64] |= uint64_t{1} << (bit % 64);
    lowest_ = std::min(lowest_, rank);
  }
  /// Takes the lowest rank out of the set, if it is below `end`; else `end`.
  int take(int end) {
    lowest_ = next();
    if (lowest_ >= end) {
      return end;
    }
    auto bit = static_cast<size_t>(lowest_) + 1;
    words_[bit / 64] &= ~(uint64_t{1} << (bit % 64));
    return lowest_;
  }

 private:
  /// The lowest rank of the set, looked for from `lowest_` on.
  int next() const {
    auto bit = static_cast<size_t>(lowest_) + 1;
    size_t word = bit / 64;
    uint64_t bits = word < words_.size() ? words_[word] & (~uint64_t{0} << (bit % 64)) : 0;
    while (bits == 0 && word + 1 < words_.size()) {
      ++word;
      bits = words_[word];
    }
    return bits == 0
               ? count_
               : static_cast<int>(word * 64 + static_cast<size_t>(std::countr_zero(bits))) - 1;
  }

  std::vector<uint64_t> words_;
  int count_;
  int lowest_;  // no rank below it is in the set
};

}  // namespace graphrun::placement

#endif  // GRAPHRUN_PLACEMENT_SEARCH_DUE_RANKS_H_
