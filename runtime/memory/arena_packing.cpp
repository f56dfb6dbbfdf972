#include "runtime/memory/arena_packing.h"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <queue>
#include <set>
#include <utility>

namespace graphrun::runtime {
namespace {

enum class Fit { kLowest, kTightest };

using Before = bool (*)(const ArenaBlock&, const ArenaBlock&);

/// A Heuristic packs blocks in an order, and compares neighbours.
struct Heuristic {
  Before before;
  Fit fit;
};

/// Pairs of blocks that may be compared for one arena: half a second.
constexpr uint64_t kMostPairs = uint64_t{1} << 24;

uint64_t lengthOf(const ArenaBlock& block) { return uint64_t{block.last} - block.first + 1; }

double areaOf(const ArenaBlock& block) {
  return static_cast<double>(block.bytes) * static_cast<double>(lengthOf(block));
}

bool isLarger(const ArenaBlock& a, const ArenaBlock& b) { return a.bytes > b.bytes; }

bool hasMoreArea(const ArenaBlock& a, const ArenaBlock& b) { return areaOf(a) > areaOf(b); }

bool livesLonger(const ArenaBlock& a, const ArenaBlock& b) {
  return lengthOf(a) != lengthOf(b) ? lengthOf(a) > lengthOf(b) : isLarger(a, b);
}

bool isUsedEarlier(const ArenaBlock& a, const ArenaBlock& b) {
  return a.first != b.first ? a.first < b.first : isLarger(a, b);
}

constexpr Heuristic kHeuristics[] = {
    {isLarger, Fit::kTightest},    {isLarger, Fit::kLowest},      {hasMoreArea, Fit::kTightest},
    {hasMoreArea, Fit::kLowest},   {livesLonger, Fit::kTightest}, {livesLonger, Fit::kLowest},
    {isUsedEarlier, Fit::kLowest},
};

std::vector<uint32_t> sortedBy(Before before, const std::vector<ArenaBlock>& blocks) {
  std::vector<uint32_t> order(blocks.size());
  std::iota(order.begin(), order.end(), 0U);
  std::stable_sort(order.begin(), order.end(),
                   [&](uint32_t a, uint32_t b) { return before(blocks[a], blocks[b]); });
  return order;
}

/// FreeSpace tracks the free ranges below the end of the used ones.
class FreeSpace {
 public:
  /// The tightest gap that fits, the lowest of equal ones; else at the end.
  uint64_t take(uint64_t bytes) {
    auto found = bySize_.lower_bound({bytes, 0});
    if (found == bySize_.end()) {
      end_ += bytes;
      return end_ - bytes;
    }
    auto [size, offset] = *found;
    eraseGap(byOffset_.find(offset));
    if (size > bytes) {
      addGap(offset + bytes, size - bytes);
    }
    return offset;
  }

  void release(uint64_t offset, uint64_t bytes) {
    auto next = byOffset_.lower_bound(offset);
    if (next != byOffset_.end() && next->first == offset + bytes) {
      bytes += next->second;
      next = eraseGap(next);
    }
    if (next != byOffset_.begin()) {
      auto before = std::prev(next);
      if (before->first + before->second == offset) {
        offset = before->first;
        bytes += before->second;
        eraseGap(before);
      }
    }
    if (offset + bytes == end_) {
      end_ = offset;
    } else {
      addGap(offset, bytes);
    }
  }

 private:
  using Gaps = std::map<uint64_t, uint64_t>;

  void addGap(uint64_t offset, uint64_t bytes) {
    byOffset_[offset] = bytes;
    bySize_.insert({bytes, offset});
  }
  Gaps::iterator eraseGap(Gaps::iterator gap) {
    bySize_.erase({gap->second, gap->first});
    return byOffset_.erase(gap);
  }

  Gaps byOffset_;
  std::set<std::pair<uint64_t, uint64_t>> bySize_;  // bytes, offset
  uint64_t end_ = 0;
};

/// By first use, each where it fits tightest among what is live then.
ArenaPacking packInTurns(const std::vector<ArenaBlock>& blocks) {
  using Live = std::pair<uint32_t, uint32_t>;  // last use, block
  std::priority_queue<Live, std::vector<Live>, std::greater<>> live;
  FreeSpace space;
  ArenaPacking packing{std::vector<uint64_t>(blocks.size(), 0), 0};
  for (uint32_t index : sortedBy(isUsedEarlier, blocks)) {
    const ArenaBlock& block = blocks[index];
    if (block.bytes == 0) {
      continue;
    }
    for (; !live.empty() && live.top().first < block.first; live.pop()) {
      uint32_t ended = live.top().second;
      space.release(packing.offsets[ended], blocks[ended].bytes);
    }
    packing.offsets[index] = space.take(block.bytes);
    packing.bytes = std::max(packing.bytes, packing.offsets[index] + block.bytes);
    live.emplace(block.last, index);
  }
  return packing;
}

/// Lifetimes in steps at which a block begins: no others tell which are live together.
struct Lifetimes {
  explicit Lifetimes(const std::vector<ArenaBlock>& blocks) {
    std::vector<uint32_t> begins;
    for (const ArenaBlock& block : blocks) {
      begins.push_back(block.first);
    }
    std::sort(begins.begin(), begins.end());
    begins.erase(std::unique(begins.begin(), begins.end()), begins.end());
    auto stepOf = [&](uint32_t time) {
      auto next = std::upper_bound(begins.begin(), begins.end(), time);
      return static_cast<uint32_t>(next - begins.begin()) - 1;
    };
    for (const ArenaBlock& block : blocks) {
      first.push_back(stepOf(block.first));
      last.push_back(stepOf(block.last));
    }
    steps = static_cast<uint32_t>(begins.size());
  }

  /// Pairs of blocks that are live together at some step.
  uint64_t pairs() const {
    std::vector<uint64_t> begun(steps + 1, 0);
    std::vector<uint64_t> ended(steps + 1, 0);
    for (size_t i = 0; i < first.size(); ++i) {
      ++begun[first[i]];
      ++ended[last[i] + 1];
    }
    uint64_t live = 0;
    uint64_t pairs = 0;
    for (uint32_t step = 0; step < steps; ++step) {
      live -= ended[step];
      pairs += begun[step] * live + begun[step] * (begun[step] - 1) / 2;
      live += begun[step];
    }
    return pairs;
  }

  std::vector<uint32_t> first, last;  // by block
  uint32_t steps = 0;
};

/// Blocks that have an offset. Each is listed where it begins, and at the nodes of a binary tree
/// over the steps that together are its lifetime: so a block finds those that are live when it
/// begins on the way from its leaf to the root, and those that begin later step by step, each once.
class Timeline {
 public:
  explicit Timeline(const Lifetimes& lifetimes)
      : lifetimes_(lifetimes), begins_(lifetimes.steps), covers_(2 * size_t{lifetimes.steps}) {}

  void add(uint32_t index) {
    begins_[lifetimes_.first[index]].push_back(index);
    size_t left = size_t{lifetimes_.first[index]} + lifetimes_.steps;
    size_t right = size_t{lifetimes_.last[index]} + lifetimes_.steps + 1;
    for (; left < right; left /= 2, right /= 2) {
      if (left % 2 == 1) {
        covers_[left++].push_back(index);
      }
      if (right % 2 == 1) {
        covers_[--right].push_back(index);
      }
    }
  }

  /// The added blocks that are live at some step of block `index`, each once.
  void collect(uint32_t index, std::vector<uint32_t>& found) const {
    found.clear();
    auto append = [&](const std::vector<uint32_t>& list) {
      found.insert(found.end(), list.begin(), list.end());
    };
    for (size_t node = size_t{lifetimes_.first[index]} + lifetimes_.steps; node > 0; node /= 2) {
      append(covers_[node]);
    }
    for (uint32_t step = lifetimes_.first[index] + 1; step <= lifetimes_.last[index]; ++step) {
      append(begins_[step]);
    }
  }

 private:
  const Lifetimes& lifetimes_;
  std::vector<std::vector<uint32_t>> begins_;
  std::vector<std::vector<uint32_t>> covers_;
};

/// Memory that is taken.
struct Range {
  uint64_t begin, end;
  bool operator<(const Range& other) const { return begin < other.begin; }
};

/// The offset for `bytes` among neighbours in order.
uint64_t choose(const std::vector<Range>& neighbours, uint64_t bytes, Fit fit) {
  uint64_t end = 0;  // of what lies below
  uint64_t best = 0;
  uint64_t bestGap = std::numeric_limits<uint64_t>::max();
  for (const Range& other : neighbours) {
    if (other.begin > end) {
      uint64_t gap = other.begin - end;
      if (gap >= bytes && gap < bestGap) {
        best = end;
        bestGap = gap;
        if (fit == Fit::kLowest) {
          return best;
        }
      }
    }
    end = std::max(end, other.end);
  }
  return bestGap == std::numeric_limits<uint64_t>::max() ? end : best;
}

ArenaPacking pack(const std::vector<ArenaBlock>& blocks, const Lifetimes& lifetimes,
                  Heuristic heuristic) {
  Timeline placed(lifetimes);
  std::vector<uint32_t> found;
  std::vector<Range> neighbours;
  ArenaPacking packing{std::vector<uint64_t>(blocks.size(), 0), 0};
  std::vector<uint64_t>& offsets = packing.offsets;
  for (uint32_t index : sortedBy(heuristic.before, blocks)) {
    if (blocks[index].bytes == 0) {
      continue;
    }
    placed.collect(index, found);
    neighbours.clear();
    for (uint32_t other : found) {
      neighbours.push_back({offsets[other], offsets[other] + blocks[other].bytes});
    }
    std::sort(neighbours.begin(), neighbours.end());
    offsets[index] = choose(neighbours, blocks[index].bytes, heuristic.fit);
    packing.bytes = std::max(packing.bytes, offsets[index] + blocks[index].bytes);
    placed.add(index);
  }
  return packing;
}

}  // namespace

ArenaPacking packArena(const std::vector<ArenaBlock>& blocks, uint64_t lowerBound) {
  ArenaPacking best = packInTurns(blocks);
  if (best.bytes <= lowerBound) {
    return best;
  }
  Lifetimes lifetimes(blocks);
  uint64_t pairs = lifetimes.pairs();
  uint64_t compared = 0;
  for (const Heuristic& heuristic : kHeuristics) {
    compared += pairs;
    if (best.bytes <= lowerBound || compared > kMostPairs) {
      break;
    }
    ArenaPacking packing = pack(blocks, lifetimes, heuristic);
    if (packing.bytes < best.bytes) {
      best = std::move(packing);
    }
  }
  return best;
}

}  // namespace graphrun::runtime
