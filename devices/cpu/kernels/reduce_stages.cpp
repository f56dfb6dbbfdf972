#include "devices/cpu/kernels/reduce_stages.h"

#include <omp.h>

#include <algorithm>
#include <array>
#include <utility>

#include "devices/cpu/threading/parallel.h"
#include "devices/cpu/vectors/wide.h"
#include "devices/functions/reductions.h"
#include "runtime/base/pair_table.h"

namespace graphrun::devices::cpu {
namespace {

namespace reductions = functions::reductions;

/// Elements of a line that are combined one after the other, at most; more are combined from such
/// parts, so that sums stay exact to a few bits however long a line is.
constexpr int64_t kPart = 1024;
/// Lines side by side that are combined together.
constexpr int64_t kWidth = 512;
/// As few of them as threads share rows of memory by.
constexpr int64_t kLeastWidth = 64;
/// Rows that are combined with each other before they are with the rows above.
constexpr int64_t kRows = 4;

int64_t partsOf(int64_t length) { return std::max<int64_t>(1, (length + kPart - 1) / kPart); }

/// Returns the length of the parts of a line that long: as equal as whole rows allow.
int64_t partLength(int64_t length) {
  if (length <= kPart) {
    return length;
  }
  int64_t rows = partsOf(length) * kRows;
  return (length + rows - 1) / rows * kRows;
}

/// Combines `width` elements side by side into `to`.
template <typename Op>
void addRow(const float* x, int64_t width, float* to) {
#pragma omp simd
  for (int64_t j = 0; j < width; ++j) {
    to[j] = Op::apply(to[j], x[j]);
  }
}

/// Combines `rows` elements of each of `width` lines side by side into `to`.
template <typename Op>
void addRows(const float* x, int64_t rows, int64_t stride, int64_t width, float* to) {
  int64_t i = 0;
  for (; i + kRows <= rows; i += kRows, x += kRows * stride) {
#pragma omp simd
    for (int64_t j = 0; j < width; ++j) {
      float low = Op::apply(x[j], x[stride + j]);
      float high = Op::apply(x[2 * stride + j], x[3 * stride + j]);
      to[j] = Op::apply(to[j], Op::apply(low, high));
    }
  }
  for (; i < rows; ++i, x += stride) {
    addRow<Op>(x, width, to);
  }
}

/// Lines side by side: element i of line j lies at x[i * stride + j].
struct Bundle {
  const float* x;
  int64_t length, stride, width;

  /// Combines a part of each line.
  template <typename Op>
  void reducePart(int64_t part, float* to) const {
    int64_t most = partLength(length);
    int64_t begin = part * most;
    std::fill_n(to, width, Op::template start<float>());
    addRows<Op>(x + begin * stride, std::clamp<int64_t>(length - begin, 0, most), stride, width,
                to);
  }

  template <typename Op>
  void reduce(float* to) const {
    std::array<float, kWidth> part;
    reducePart<Op>(0, to);
    for (int64_t i = 1; i < partsOf(length); ++i) {
      reducePart<Op>(i, part.data());
      addRow<Op>(part.data(), width, to);
    }
  }
};

/// Lines that are combined together where the elements of a line follow each other, and the lanes
/// of each.
constexpr int64_t kLanes = 16;
using Lanes = std::array<float, kLanes>;

/// A line of `count` elements, taken for kLanes lines side by side.
Bundle lanesOf(const float* x, int64_t count) { return {x, count / kLanes, kLanes, kLanes}; }

/// The elements behind the last whole row of lanes.
template <typename Op>
void addRest(const float* x, int64_t count, Lanes& to) {
  x += count / kLanes * kLanes;
  count %= kLanes;
  if (count == 0) {
    return;
  }
#pragma omp simd
  for (int64_t j = 0; j < kLanes; ++j) {
    to[j] = Op::apply(to[j], j < count ? x[j] : Op::template start<float>());
  }
}

template <typename Op>
void reduceLine(const float* x, int64_t count, Lanes& to) {
  lanesOf(x, count).reduce<Op>(to.data());
  addRest<Op>(x, count, to);
}

/// Each line's lanes, of at most kLanes lines.
template <typename Op>
void reduceLanes(std::array<Lanes, kLanes>& all, int64_t lines, float* to) {
  for (int64_t half = kLanes / 2; half > 0; half /= 2) {
    for (int64_t line = 0; line < lines; ++line) {
      float* lanes = all[static_cast<size_t>(line)].data();
      addRow<Op>(lanes + half, half, lanes);
    }
  }
  for (int64_t line = 0; line < lines; ++line) {
    to[line] = all[static_cast<size_t>(line)][0];
  }
}

/// At most kLanes lines of `count` elements, which follow each other.
template <typename Op>
void reduceRuns(const float* x, int64_t lines, int64_t count, float* to) {
  std::array<Lanes, kLanes> all;
  for (int64_t line = 0; line < lines; ++line) {
    reduceLine<Op>(x + line * count, count, all[static_cast<size_t>(line)]);
  }
  reduceLanes<Op>(all, lines, to);
}

/// Bundle `index` of a stage.
Bundle bundleOf(const ReduceStage& s, const float* x, int64_t index) {
  if (s.inner() == 1) {
    return lanesOf(x + index * s.dim(), s.dim());
  }
  int64_t begin = index % s.blocks() * s.width();
  return {x + index / s.blocks() * s.dim() * s.inner() + begin, s.dim(), s.inner(),
          std::min(s.width(), s.inner() - begin)};
}

/// Returns where the results of a bundle go.
int64_t offsetOf(const ReduceStage& s, int64_t index) {
  return index / s.blocks() * s.inner() + index % s.blocks() * s.width();
}

template <typename Op>
void reduceWhole(const ReduceStage& s, const float* x, float* to) {
  if (s.inner() == 1) {
    // A vector of lines at a time, as long as each thread has some.
    int64_t lines = std::clamp<int64_t>(s.outer() / omp_get_max_threads(), 1, kLanes);
    parallelFor((s.outer() + lines - 1) / lines, s.dim() * lines, [&](int64_t unit) {
      int64_t first = unit * lines;
      runWide([&] {
        reduceRuns<Op>(x + first * s.dim(), std::min(lines, s.outer() - first), s.dim(),
                       to + first);
      });
    });
    return;
  }
  parallelFor(s.pieces(), s.dim() * std::min(s.inner(), s.width()), [&](int64_t i) {
    runWide([&] { bundleOf(s, x, i).template reduce<Op>(to + offsetOf(s, i)); });
  });
}

/// Combines what a bundle's parts have left.
template <typename Op>
void reducePartials(const ReduceStage& s, int64_t index, const float* x, const float* partials,
                    float* to) {
  Bundle lines = bundleOf(s, x, index);
  std::array<float, kWidth> all;
  std::copy_n(partials, lines.width, all.begin());
  for (int64_t i = 1; i < s.parts(); ++i) {
    addRow<Op>(partials + i * s.width(), lines.width, all.data());
  }
  if (s.inner() > 1) {
    std::copy_n(all.begin(), lines.width, to + offsetOf(s, index));
    return;
  }
  std::array<Lanes, kLanes> lanes;
  std::copy_n(all.begin(), kLanes, lanes[0].begin());
  addRest<Op>(lines.x, s.dim(), lanes[0]);
  reduceLanes<Op>(lanes, 1, to + index);
}

/// A part of a bundle, for reducePartials.
template <typename Op>
void reducePiece(const ReduceStage& s, int64_t index, int64_t part, const float* x, float* to) {
  if (s.inner() > 1) {
    bundleOf(s, x, index).reducePart<Op>(part, to);
    return;
  }
  Lanes lanes;  // stay in registers
  lanesOf(x + index * s.dim(), s.dim()).reducePart<Op>(part, lanes.data());
  std::copy_n(lanes.begin(), kLanes, to);
}

/// The bits are those of reduceWhole.
template <typename Op>
void reduceShared(const ReduceStage& s, const float* x, float* partials, float* to) {
  const int64_t parts = s.parts();
  parallelFor(s.pieces(), s.length() / parts * s.width(), [&](int64_t i) {
    runWide([&] { reducePiece<Op>(s, i / parts, i % parts, x, partials + i * s.width()); });
  });
  parallelFor(s.pieces() / parts, parts * s.width(), [&](int64_t i) {
    runWide([&] { reducePartials<Op>(s, i, x, partials + i * parts * s.width(), to); });
  });
}

template <typename Op>
void runStage(const ReduceStage& s, const float* x, float* partials, float* to) {
  s.sharesParts() ? reduceShared<Op>(s, x, partials, to) : reduceWhole<Op>(s, x, to);
}

/// Returns how long the longest of `threads` takes for `pieces`, in pieces.
int64_t rounds(int64_t pieces, int threads) { return (pieces + threads - 1) / threads; }

}  // namespace

ReduceStage::ReduceStage(int64_t outer, int64_t dim, int64_t inner, int threads)
    : outer_(outer),
      dim_(dim),
      inner_(inner),
      width_(inner == 1 ? kLanes : kWidth),
      blocks_((inner + width_ - 1) / width_) {
  while (inner > 1 && width_ > kLeastWidth && bundles() * parts() < threads) {
    width_ /= 2;
    blocks_ = (inner + width_ - 1) / width_;
  }
  // A second round of the threads costs more than a few parts.
  constexpr double kGain = 0.9;
  auto whole = static_cast<double>(rounds(bundles(), threads) * parts());
  sharesParts_ = outer * dim * inner >= kParallelWork &&
                 static_cast<double>(rounds(bundles() * parts(), threads)) < kGain * whole;
}

int64_t ReduceStage::parts() const { return partsOf(length()); }

int64_t ReduceStage::partialFloats() const { return sharesParts_ ? pieces() * width_ : 0; }

ReduceFunction reduceFunction(absl::string_view kind) {
  static constexpr std::pair<absl::string_view, ReduceFunction> kFunctions[] = {
#define GR_REDUCTION(Kind, name, rule, flops, nothing, onnx, axesInput, Combine, end) \
  {#name, runStage<reductions::Combine>},
#include "devices/functions/reductions.def"
  };
  return runtime::valueFor(kFunctions, kind).value_or(nullptr);
}

}  // namespace graphrun::devices::cpu
