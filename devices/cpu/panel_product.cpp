#include "devices/cpu/panel_product.h"

#include <algorithm>
#include <array>
#include <utility>

#include "devices/cpu/vector.h"
#include "devices/cpu/wide.h"

namespace graphrun::devices::cpu {
namespace {

constexpr int64_t kVectors = kPanel / kVectorLanes;
/// Rows whose sums stay in registers.
constexpr int64_t kRows = 6;
/// Depth of the part of a panel that stays in the first-level cache while many rows use it.
constexpr int64_t kDepth = 96;

template <int64_t rows>
using Sums = std::array<std::array<Vector, kVectors>, rows>;

/// `body(i)` for the constants i in [0, count): arrays stay in registers where their indices are
/// constants.
template <int64_t count, typename Body>
[[gnu::always_inline]] inline void unrolled(const Body& body) {
  [&]<int64_t... i>(std::integer_sequence<int64_t, i...>) __attribute__((always_inline)) {
    (body(std::integral_constant<int64_t, i>()), ...);
  }(std::make_integer_sequence<int64_t, count>());
}

/// `body(row, vector)` for all sums of a block.
template <int64_t rows, typename Body>
[[gnu::always_inline]] inline void forSums(const Body& body) {
  unrolled<rows>([&](auto r) __attribute__((always_inline)) {
    unrolled<kVectors>([&](auto v) __attribute__((always_inline)) { body(r, v); });
  });
}

/// The product of `rows` rows. Few rows are summed in several streams, so that additions need not
/// wait for each other.
template <int64_t rows>
[[gnu::always_inline]] inline void addRows(const float* x, int64_t stride, int64_t depth,
                                           const float* panel, float* sums) {
  constexpr int64_t kStreams = rows == 1 ? 4 : rows == 2 ? 2 : 1;
  const auto* weights = reinterpret_cast<const Vector*>(panel);
  auto* to = reinterpret_cast<Vector*>(sums);
  std::array<Sums<rows>, kStreams> parts = {};
  auto addElement = [&](int64_t k, auto stream) __attribute__((always_inline)) {
    forSums<rows>([&](auto r, auto v) __attribute__((always_inline)) {
      parts[stream][r][v] += x[r * stride + k] * weights[k * kVectors + v];
    });
  };
  forSums<rows>([&](auto r, auto v)
                    __attribute__((always_inline)) { parts[0][r][v] = to[r * kVectors + v]; });
  int64_t k = 0;
  for (; k + kStreams <= depth; k += kStreams) {
    unrolled<kStreams>([&](auto s) __attribute__((always_inline)) { addElement(k + s, s); });
  }
  for (; k < depth; ++k) {
    addElement(k, std::integral_constant<int64_t, 0>());
  }
  forSums<rows>([&](auto r, auto v) __attribute__((always_inline)) {
    unrolled<kStreams - 1>(
        [&](auto s) __attribute__((always_inline)) { parts[0][r][v] += parts[s + 1][r][v]; });
    to[r * kVectors + v] = parts[0][r][v];
  });
}

/// All rows, in blocks of at most kRows that are as equal as can be.
[[gnu::always_inline]] inline void addBlocks(const float* x, int64_t stride, int64_t rows,
                                             int64_t depth, const float* panel, float* sums) {
  int64_t blocks = (rows + kRows - 1) / kRows;
  for (int64_t b = 0; b < blocks; ++b) {
    int64_t first = rows * b / blocks;
    int64_t count = rows * (b + 1) / blocks - first;
    unrolled<kRows>([&](auto i) __attribute__((always_inline)) {
      if (count == i + 1) {
        addRows<i + 1>(x + first * stride, stride, depth, panel, sums + first * kPanel);
      }
    });
  }
}

}  // namespace

void addPanelProduct(const float* x, int64_t stride, int64_t rows, int64_t depth,
                     const float* panel, float* sums) {
  int64_t part = rows <= kRows ? depth : kDepth;
  runWide([&] {
    for (int64_t k = 0; k < depth; k += part) {
      addBlocks(x + k, stride, rows, std::min(part, depth - k), panel + k * kPanel, sums);
    }
  });
}

}  // namespace graphrun::devices::cpu
