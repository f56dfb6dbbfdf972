// Offsets for blocks of memory whose lifetimes are known.
#ifndef GRAPHRUN_RUNTIME_MEMORY_ARENA_PACKING_H_
#define GRAPHRUN_RUNTIME_MEMORY_ARENA_PACKING_H_

#include <cstdint>
#include <limits>
#include <vector>

namespace graphrun::runtime {

/// Buffers that share an offset, or a single one.
struct ArenaBlock {
  uint64_t bytes = 0;  ///< multiple of the alignment
  uint32_t first = std::numeric_limits<uint32_t>::max();
  uint32_t last = 0;
};

struct ArenaPacking {
  std::vector<uint64_t> offsets;  ///< by block
  uint64_t bytes = std::numeric_limits<uint64_t>::max();
};

/// The smallest of several greedy packings, or the first that needs no more than `lowerBound`.
///
/// Blocks in the order of their first use are packed by a list of what is free, in O(n log n). In
/// other orders each block is compared with all that are live beside it: so many of these packings
/// are tried as there is work allowed for, which is all of them unless thousands of blocks are live
/// at once. What is tried depends on the arguments alone.
ArenaPacking packArena(const std::vector<ArenaBlock>& blocks, uint64_t lowerBound);

}  // namespace graphrun::runtime

#endif  // GRAPHRUN_RUNTIME_MEMORY_ARENA_PACKING_H_
