#include "devices/cpu/vectors/panel_product.h"

#include <algorithm>
#include <array>

#include "devices/cpu/vectors/wide.h"

namespace graphrun::devices::cpu {
namespace {

/// Rows whose sums stay in registers.
constexpr int64_t kRows = 6;
/// Depth of the part of a panel that stays in the first-level cache while many rows use it.
constexpr int64_t kDepth = 96;
/// A panel is asked for so far ahead, in rows of it: panels come from memory or a distant cache.
constexpr int64_t kAhead = 48;

template <int64_t rows, int64_t vectors>
using Sums = std::array<std::array<Vector, vectors>, rows>;

/// `body(row, vector)` for all sums of a block.
template <int64_t rows, int64_t vectors, typename Body>
[[gnu::always_inline]] inline void forSums(const Body& body) {
  unrolled<rows>([&](auto r) __attribute__((always_inline)) {
    unrolled<vectors>([&](auto v) __attribute__((always_inline)) { body(r, v); });
  });
}

/// The product of `rows` rows with panels of `vectors` vectors. Few rows are summed in several
/// streams, so that additions need not wait for each other.
template <int64_t rows, int64_t vectors>
[[gnu::always_inline]] inline void addRows(const PanelRows& x, int64_t depth, const float* panel,
                                           bool adds, float* sums) {
  constexpr int64_t kStreams = rows == 1 ? 4 : rows == 2 ? 2 : 1;
  const auto* weights = reinterpret_cast<const Vector*>(panel);
  auto* to = reinterpret_cast<Vector*>(sums);
  std::array<Sums<rows, vectors>, kStreams> parts = {};
  if (adds) {
    forSums<rows, vectors>([&](auto r, auto v) __attribute__((always_inline)) {
      parts[0][r][v] = to[r * vectors + v];
    });
  }
  const float* block = x.data;
  auto addElement = [&](int64_t k, auto stream) __attribute__((always_inline)) {
    if constexpr (rows > 1) {  // one row passes too fast for that: the machine foresees its reads
      unrolled<vectors>([&](auto v) __attribute__((always_inline)) {
        __builtin_prefetch(weights + kAhead * vectors + v);
      });
    }
    forSums<rows, vectors>([&](auto r, auto v) __attribute__((always_inline)) {
      parts[stream][r][v] += block[r * x.stride + k] * weights[v];
    });
    weights += vectors;
  };
  for (int64_t left = depth; left > 0; left -= kVectorLanes, block += x.block) {
    int64_t count = std::min(kVectorLanes, left);
    int64_t k = 0;
    for (; k + kStreams <= count; k += kStreams) {
      unrolled<kStreams>([&](auto s) __attribute__((always_inline)) { addElement(k + s, s); });
    }
    for (; k < count; ++k) {
      addElement(k, std::integral_constant<int64_t, 0>());
    }
  }
  forSums<rows, vectors>([&](auto r, auto v) __attribute__((always_inline)) {
    unrolled<kStreams - 1>(
        [&](auto s) __attribute__((always_inline)) { parts[0][r][v] += parts[s + 1][r][v]; });
    to[r * vectors + v] = parts[0][r][v];
  });
}

/// All rows, in blocks of at most kRows that are as equal as can be.
template <int64_t vectors>
[[gnu::always_inline]] inline void addBlocks(const PanelProduct& product, bool adds, float* sums) {
  const PanelRows& x = product.x;
  int64_t blocks = (product.rows + kRows - 1) / kRows;
  for (int64_t b = 0; b < blocks; ++b) {
    int64_t first = product.rows * b / blocks;
    int64_t count = product.rows * (b + 1) / blocks - first;
    PanelRows rows{x.data + first * x.stride, x.stride, x.block};
    float* to = sums + first * vectors * kVectorLanes;
    unrolled<kRows>([&](auto i) __attribute__((always_inline)) {
      if (count == i + 1) {
        addRows<i + 1, vectors>(rows, product.depth, product.panel, adds, to);
      }
    });
  }
}

/// In parts of the depth; those behind the first add to what that has left.
template <int64_t vectors>
[[gnu::always_inline]] inline void addParts(const PanelProduct& whole, bool adds, float* sums) {
  int64_t depth = whole.rows <= kRows ? whole.depth : kDepth;
  PanelProduct part = whole;
  for (int64_t k = 0; k < whole.depth; k += depth) {
    part.depth = std::min(depth, whole.depth - k);
    addBlocks<vectors>(part, adds || k > 0, sums);
    part.x.data += depth / kVectorLanes * whole.x.block;
    part.panel += depth * whole.width;
  }
}

void multiply(const PanelProduct& product, bool adds, float* sums) {
  runWide([&] {
    unrolled<kPanel / kVectorLanes>([&](auto i) __attribute__((always_inline)) {
      if (product.width == (i + 1) * kVectorLanes) {
        addParts<i + 1>(product, adds, sums);
      }
    });
  });
}

}  // namespace

void makePanelProduct(const PanelProduct& product, float* sums) { multiply(product, false, sums); }

void addPanelProduct(const PanelProduct& product, float* sums) { multiply(product, true, sums); }

}  // namespace graphrun::devices::cpu
