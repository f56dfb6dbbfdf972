// These functions add and multiply numbers that a file or a peer gave: none of them wraps around.
#ifndef GRAPHRUN_RUNTIME_BASE_CHECKED_H_
#define GRAPHRUN_RUNTIME_BASE_CHECKED_H_

#include <cstdint>
#include <optional>

namespace graphrun::runtime {

/// The most bytes that anything in a file or a message may say it has. Sums of two such numbers,
/// and roundings of one, stay within 64 bits.
inline constexpr uint64_t kMostBytes = uint64_t{1} << 62;

/// a + b; nothing where that is over `most`.
constexpr std::optional<uint64_t> checkedSum(uint64_t a, uint64_t b, uint64_t most = kMostBytes) {
  return a <= most && b <= most - a ? std::optional(a + b) : std::nullopt;
}

/// a * b; nothing where that is over `most`.
constexpr std::optional<uint64_t> checkedProduct(uint64_t a, uint64_t b,
                                                 uint64_t most = kMostBytes) {
  return b == 0 || a <= most / b ? std::optional(a * b) : std::nullopt;
}

}  // namespace graphrun::runtime

#endif  // GRAPHRUN_RUNTIME_BASE_CHECKED_H_
