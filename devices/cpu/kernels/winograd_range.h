// The range is that of the elements that a Winograd convolution transforms together. Internal to
// devices/cpu.
#ifndef GRAPHRUN_DEVICES_CPU_KERNELS_WINOGRAD_RANGE_H_
#define GRAPHRUN_DEVICES_CPU_KERNELS_WINOGRAD_RANGE_H_

#include <algorithm>
#include <array>
#include <bit>
#include <limits>

#include "devices/cpu/kernels/winograd.h"
#include "devices/cpu/vectors/vector.h"

namespace graphrun::devices::cpu {

/// Indices of a tile along one dim that are inside an image.
struct Range {
  int64_t begin, end;
  Range(int64_t first, int64_t side, int64_t size)
      : begin(std::max<int64_t>(0, -first)), end(std::min(side, size - first)) {}
  bool has(int64_t i) const { return i >= begin && i < end; }
};

/// Magnitudes of 16 floats as integers: ordered as the magnitudes are, NaN above infinity.
using Magnitudes [[gnu::vector_size(kVectorLanes * sizeof(int32_t))]] = int32_t;

[[gnu::always_inline]] inline void keepLarger(Magnitudes& a, const Magnitudes& b) {
  a = a > b ? a : b;
}

/// Both vectors have groups of `group` lanes. Combines the halves of each by `keep`, and leaves
/// those of `b` behind those of `a` in `a`.
template <int64_t group, typename Keep>
[[gnu::always_inline]] inline void foldGroups(Magnitudes& a, const Magnitudes& b,
                                              const Keep& keep) {
  constexpr int64_t kHalf = group / 2;
  [&]<int64_t... i>(std::integer_sequence<int64_t, i...>) __attribute__((always_inline)) {
    constexpr int64_t kFromA = kVectorLanes / 2;
    Magnitudes first = __builtin_shufflevector(
        a, b, (i / kFromA * kVectorLanes + i % kFromA / kHalf * group + i % kHalf)...);
    Magnitudes second = __builtin_shufflevector(
        a, b, (i / kFromA * kVectorLanes + i % kFromA / kHalf * group + i % kHalf + kHalf)...);
    keep(first, second);
    a = first;
  }(std::make_integer_sequence<int64_t, kVectorLanes>());
}

/// Applies `keep` to all lanes.
template <typename Keep>
[[gnu::always_inline]] inline int32_t foldLanes(const Magnitudes& lanes, const Keep& keep) {
  Magnitudes v = lanes;
  foldGroups<16>(v, v, keep);
  foldGroups<8>(v, v, keep);
  foldGroups<4>(v, v, keep);
  foldGroups<2>(v, v, keep);
  return v[0];
}

/// Largest magnitudes of the windows of one tile, over all channels.
template <int64_t tile>
class WinogradRange {
 public:
  /// Reads `blocks` blocks of 16 channels; elements outside of `rows` and `columns` are pads.
  [[gnu::always_inline]] void read(const float* from, const WinogradImages& images, int64_t blocks,
                                   const Range& rows, const Range& columns) {
    unrolled<kSide>([&](auto i) __attribute__((always_inline)) {
      std::array<Magnitudes, kSide> line = {};
      const float* row = from + i * images.row;
      if (rows.has(i) && columns.begin == 0 && columns.end == kSide) {
        readLine<true>(row, images, blocks, columns, line);
      } else if (rows.has(i)) {
        readLine<false>(row, images, blocks, columns, line);
      }
      unrolled<tile>([&](auto j) __attribute__((always_inline)) {
        lines_[i][j] = line[j];
        keepLarger(lines_[i][j], line[j + 1]);
        keepLarger(lines_[i][j], line[j + 2]);
      });
    });
  }

  /// Returns whether the transforms do no harm to the results in `rows` and `columns`: see
  /// Winograd.
  [[gnu::always_inline]] bool isNarrow(const Range& rows, const Range& columns) const {
    constexpr float kLeast = 0x1p-40F;
    constexpr float kMost = 0x1p40F;
    Magnitudes windows;
    ofWindows(windows);
    Magnitudes valid = windows;
    if (rows.end < tile || columns.end < tile) {
      excludeOutside(rows, columns, valid);
    }
    auto smaller = [](Magnitudes& a, const Magnitudes& b)
                       __attribute__((always_inline)) { a = a < b ? a : b; };
    const auto largest = std::bit_cast<float>(foldLanes(windows, keepLarger));
    const auto least = std::bit_cast<float>(foldLanes(valid, smaller));
    return largest == 0 ||
           (largest >= kLeast && largest <= kMost && largest <= kMostWinogradRange * least);
  }

 private:
  static constexpr int64_t kSide = tile + 2;

  /// Makes windows whose result is not there as large as can be.
  [[gnu::always_inline]] static void excludeOutside(const Range& rows, const Range& columns,
                                                    Magnitudes& windows) {
    for (int64_t lane = 0; lane < kVectorLanes; ++lane) {
      if (!rows.has(lane / tile % tile) || !columns.has(lane % tile)) {
        windows[lane] = std::numeric_limits<int32_t>::max();
      }
    }
  }

  /// The largest magnitudes of each element of a row. `whole`: none is a pad.
  template <bool whole>
  [[gnu::always_inline]] static void readLine(const float* from, const WinogradImages& images,
                                              int64_t blocks, const Range& columns,
                                              std::array<Magnitudes, kSide>& line) {
    constexpr int32_t kNoSign = std::numeric_limits<int32_t>::max();
    for (int64_t block = 0; block < blocks; ++block, from += images.block) {
      unrolled<kSide>([&](auto j) __attribute__((always_inline)) {
        if (whole || columns.has(j)) {
          Magnitudes read;
          std::memcpy(&read, from + j * images.column, sizeof(read));
          keepLarger(line[j], read & kNoSign);
        }
      });
    }
  }

  /// Adds the magnitude of window i in lane i and, of fewer windows than lanes, in all that are i
  /// modulo their number.
  [[gnu::always_inline]] void ofWindows(Magnitudes& to) const {
    std::array<Magnitudes, tile * tile> windows;
    unrolled<tile>([&](auto i) __attribute__((always_inline)) {
      unrolled<tile>([&](auto j) __attribute__((always_inline)) {
        Magnitudes& window = windows[i * tile + j];
        window = lines_[i][j];
        keepLarger(window, lines_[i + 1][j]);
        keepLarger(window, lines_[i + 2][j]);
      });
    });
    foldPairs<kVectorLanes, tile * tile>(windows);
    to = windows[0];
  }

  /// Folds the first `count` of `windows`, with groups of `group` lanes, into one without groups.
  template <int64_t group, int64_t count>
  [[gnu::always_inline]] static void foldPairs(std::array<Magnitudes, tile * tile>& windows) {
    if constexpr (group > 1) {
      constexpr int64_t kPairs = std::max<int64_t>(1, count / 2);
      unrolled<kPairs>([&](auto i) __attribute__((always_inline)) {
        Magnitudes first = windows[count > 1 ? 2 * i : 0];
        foldGroups<group>(first, windows[count > 1 ? 2 * i + 1 : 0], keepLarger);
        windows[i] = first;
      });
      foldPairs<group / 2, kPairs>(windows);
    }
  }

  std::array<std::array<Magnitudes, tile>, kSide> lines_;  ///< of three elements of a row each
};

}  // namespace graphrun::devices::cpu

#endif  // GRAPHRUN_DEVICES_CPU_KERNELS_WINOGRAD_RANGE_H_
