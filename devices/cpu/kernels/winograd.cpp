#include "devices/cpu/kernels/winograd.h"

#include <omp.h>

#include <atomic>
#include <bit>

#include "devices/cpu/kernels/winograd_range.h"
#include "devices/cpu/kernels/winograd_transform.h"
#include "devices/cpu/threading/parallel.h"
#include "devices/cpu/vectors/wide.h"

namespace graphrun::devices::cpu {
namespace {

/// A transformed filter of so many floats stays in the second-level cache, beside a block's tiles
/// and products of kNearBlock. A larger one is read for every block: these are larger then.
constexpr int64_t kNearFilter = 160 << 10;
constexpr int64_t kNearBlock = 64 << 10;
constexpr int64_t kFarBlock = 1 << 20;

int64_t blocksOf(const WinogradShape& shape) {
  const WinogradFilter& filter = shape.filter;
  int64_t floats = filter.transformedFloats() <= kNearFilter ? kNearBlock : kFarBlock;
  int64_t perTile = filter.elements() * (filter.depth() + filter.widthOf(0));
  int64_t most = std::max<int64_t>(1, floats / perTile);
  return (shape.tiles() + most - 1) / most;
}

/// Returns whether threads are about equally busy when each takes some of `count` parts.
bool divides(int64_t count, int threads) {
  constexpr int64_t kMany = 4;
  return count % threads == 0 || count >= kMany * threads;
}

/// `body(i, thread)` for i in [0, count), by threads that each take some where `apart`.
template <typename Body>
void forParts(int64_t count, int threads, bool apart, const Body& body) {
  if (!apart || threads == 1) {
    for (int64_t i = 0; i < count; ++i) {
      body(i, 0);
    }
    return;
  }
  std::atomic<int64_t> taken{0};
#pragma omp parallel num_threads(threads)
  for (int64_t i = taken++; i < count; i = taken++) {
    body(i, omp_get_thread_num());
  }
}

/// A Position is where a tile's results begin.
struct Position {
  int64_t image, row, column;

  int64_t in(const WinogradImages& images) const {
    return image * images.image + row * images.row + column * images.column;
  }
};

/// `body(i, j)` for the constant indices of the elements of a square.
template <int64_t side, typename Body>
[[gnu::always_inline]] inline void forSquare(const Body& body) {
  unrolled<side>([&](auto i) __attribute__((always_inline)) {
    unrolled<side>([&](auto j) __attribute__((always_inline)) { body(i, j); });
  });
}

}  // namespace

/// One block of tiles, in a run.
template <int64_t tile>
class Winograd::Block {
 public:
  static constexpr int64_t kSide = tile + 2;
  static constexpr int64_t kElements = kSide * kSide;

  Block(const Winograd& whole, const Operands& operands, int64_t first, int64_t count, int slot)
      : whole_(whole),
        shape_(whole.shape_),
        operands_(operands),
        first_(first),
        count_(count),
        tiles_(operands.scratch + slot * whole.slotFloats()),
        direct_(tiles_ + kElements * whole.sourceStride()),
        slot_(slot) {
    int64_t slots = whole.apart_ ? whole.threads_ : 1;
    products_ = operands.scratch + slots * whole.slotFloats();
  }

  void run() const {
    parallelFor(count_, shape_.filter.depth() * kElements,
                [&](int64_t t) { runWide([&] { transformTile(t); }); });
    int64_t panels = shape_.filter.panels();
    bool apart = !whole_.apart_ && divides(panels, whole_.threads_);
    forParts(panels, whole_.threads_, apart, [&](int64_t panel, int thread) {
      float* products = products_ + (slot_ + thread) * kElements * whole_.productStride();
      multiply(panel, products);
      finish(panel, products);
    });
  }

 private:
  Position positionOf(int64_t t) const {
    int64_t across = shape_.tilesAcross();
    int64_t perImage = across * shape_.tilesDown();
    int64_t at = first_ + t;
    return {at / perImage, at % perImage / across * tile, at % across * tile};
  }

  /// All channels of one tile.
  [[gnu::always_inline]] void transformTile(int64_t t) const {
    const WinogradImages images = shape_.source;
    Position position = positionOf(t);
    Range resultRows(position.row, tile, shape_.result.height);
    Range resultColumns(position.column, tile, shape_.result.width);
    position.row -= shape_.top;
    position.column -= shape_.left;
    Range rows(position.row, kSide, images.height);
    Range columns(position.column, kSide, images.width);
    const float* from = operands_.source + position.in(images);
    WinogradRange<tile> range;
    range.read(from, images, shape_.filter.depth() / kVectorLanes, rows, columns);
    direct_[t] = range.isNarrow(resultRows, resultColumns) ? 0 : 1;
    float* to = tiles_ + t * kVectorLanes;
    int64_t stride = whole_.blockTiles() * kVectorLanes;
    for (int64_t c = shape_.filter.depth(); c > 0; c -= kVectorLanes) {
      transformVectors(from, images, rows, columns, to);
      from += images.block;
      to += stride;
    }
  }

  /// 16 channels of one tile.
  [[gnu::always_inline]] void transformVectors(const float* from, const WinogradImages& images,
                                               const Range& rows, const Range& columns,
                                               float* to) const {
    using Transform = WinogradTransform<tile>;
    std::array<Line<kSide>, kSide> square;
    unrolled<kSide>([&](auto j) __attribute__((always_inline)) {
      Line<kSide> column = {};
      unrolled<kSide>([&](auto i) __attribute__((always_inline)) {
        if (rows.has(i) && columns.has(j)) {
          const float* at = from + i * images.row + j * images.column;
          __builtin_prefetch(at + images.block);  // of the next channels
          loadVector(at, column[i]);
        }
      });
      Transform::source(column);
      unrolled<kSide>([&](auto i) __attribute__((always_inline)) { square[i][j] = column[i]; });
    });
    int64_t stride = whole_.sourceStride();
    unrolled<kSide>([&](auto i) __attribute__((always_inline)) {
      Transform::source(square[i]);
      unrolled<kSide>([&](auto j) __attribute__((always_inline)) {
        storeVector(square[i][j], to + (i * kSide + j) * stride);
      });
    });
  }

  /// The products of all elements for one panel of results.
  void multiply(int64_t panel, float* products) const {
    const WinogradFilter& filter = shape_.filter;
    int64_t width = filter.widthOf(panel);
    const float* weights = operands_.filter + filter.panelAt(panel);
    parallelFor(kElements, count_ * filter.depth() * width, [&](int64_t e) {
      PanelRows rows{tiles_ + e * whole_.sourceStride(), kVectorLanes,
                     whole_.blockTiles() * kVectorLanes};
      makePanelProduct({rows, count_, filter.depth(), weights + e * filter.depth() * width, width},
                       products + e * whole_.productStride());
    });
  }

  void finish(int64_t panel, const float* products) const {
    int64_t width = shape_.filter.widthOf(panel);
    parallelFor(count_, width * kElements, [&](int64_t t) {
      Position position = positionOf(t);
      runWide([&] {
        alignas(64) std::array<float, tile * tile * kPanel> sums;
        bool isDirect = direct_[t] != 0;
        if (isDirect) {
          sumDirectly(position, panel, sums.data());
        }
        for (int64_t c = 0; c < width; c += kVectorLanes) {
          finishVectors(position, panel * kPanel + c, products + t * width + c,
                        isDirect ? sums.data() + c : nullptr);
        }
      });
    });
  }

  /// A tile's results of one panel, each from its window alone. Rare, and so no part of the loop.
  [[gnu::noinline]] void sumDirectly(const Position& position, int64_t panel, float* sums) const {
    int64_t width = shape_.filter.widthOf(panel);
    std::fill_n(sums, tile * tile * width, 0.0F);
    for (int64_t i = 0; i < tile; ++i) {
      for (int64_t tap = 0; tap < WinogradFilter::kTaps; ++tap) {
        addTap(position, panel, i, tap, sums + i * tile * width);
      }
    }
  }

  /// Adds what one tap gives for row `i` of a tile's results to `sums`, those of one panel.
  void addTap(const Position& position, int64_t panel, int64_t i, int64_t tap, float* sums) const {
    const WinogradImages images = shape_.source;
    const WinogradFilter& filter = shape_.filter;
    Position from{position.image, position.row + i - shape_.top + tap / 3,
                  position.column - shape_.left + tap % 3};
    Range columns(from.column, std::min(tile, shape_.result.width - position.column), images.width);
    if (from.row < 0 || from.row >= images.height || columns.begin >= columns.end) {
      return;
    }
    int64_t width = filter.widthOf(panel);
    from.column += columns.begin;
    const float* weights = operands_.filter + filter.tapsAt(panel) + tap * filter.depth() * width;
    PanelRows rows{operands_.source + from.in(images), images.column, images.block};
    addPanelProduct({rows, columns.end - columns.begin, filter.depth(), weights, width},
                    sums + columns.begin * width);
  }

  /// A Target is where 16 channels of one tile's results go.
  struct Target {
    int64_t rows, columns, lanes;  ///< that there are
    int64_t offset;                ///< of the first, in the result
    Vector bias;
  };

  [[gnu::always_inline]] Target targetOf(const Position& position, int64_t channel) const {
    const WinogradImages images = shape_.result;
    Target target{images.height - position.row,
                  std::min(tile, images.width - position.column),
                  std::min(kVectorLanes, shape_.filter.out - channel),
                  position.in(images) + channel / kVectorLanes * images.block,
                  {}};
    if (operands_.bias != nullptr) {
      const float* from = operands_.bias + channel;
      target.lanes == kVectorLanes ? loadVector(from, target.bias)
                                   : loadPart(from, target.lanes, 0, target.bias);
    }
    return target;
  }

  /// 16 channels of one tile's results, from `channel` on: a row after the other. Of `sums` where
  /// that is not null, else of `products`.
  [[gnu::always_inline]] void finishVectors(const Position& position, int64_t channel,
                                            const float* products, const float* sums) const {
    const WinogradImages images = shape_.result;
    const Target target = targetOf(position, channel);
    // Stores wait for lines that are not in a cache: they are asked for while products are
    // combined.
    forSquare<tile>([&](auto i, auto j) __attribute__((always_inline)) {
      __builtin_prefetch(operands_.result + target.offset + i * images.row + j * images.column, 1);
    });
    std::array<Line<kSide>, tile> half;
    combineRows(products, half);
    const int64_t width = shape_.filter.widthOf(channel / kPanel);
    unrolled<tile>([&](auto i) __attribute__((always_inline)) {
      Line<tile> row;
      WinogradTransform<tile>::result(half[i], row);
      if (sums != nullptr) {
        unrolled<tile>([&](auto j) __attribute__((always_inline)) {
          loadVector(sums + (i * tile + j) * width, row[j]);
        });
      }
      finishRow(row, i, target);
    });
  }

  /// Row `i` of a tile's results, the sums of products.
  [[gnu::always_inline]] void finishRow(Line<tile>& row, int64_t i, const Target& target) const {
    if (i < target.rows) {
      unrolled<tile>([&](auto j) __attribute__((always_inline)) { row[j] += target.bias; });
      storeRow(row, target.columns, target.lanes, target.offset + i * shape_.result.row);
    }
  }

  /// The first `width` results of a row, `offset` from the image's first.
  [[gnu::always_inline]] void storeRow(Line<tile>& row, int64_t width, int64_t lanes,
                                       int64_t offset) const {
    const int64_t stride = shape_.result.column;
    auto forInside = [&](const auto& body) __attribute__((always_inline)) {
      unrolled<tile>([&](auto j) __attribute__((always_inline)) {
        if (j < width) {
          body(row[j], offset + j * stride);
        }
      });
    };
    for (const VectorPostOp& op : operands_.postOps) {
      if (!op.call) {
        forInside([&](Vector& value, int64_t where) __attribute__((always_inline)) {
          Vector other;
          loadVector(op.address + where, other);
          value += other;
        });
      } else {
        applyCall(*op.call, row);
      }
    }
    if (lanes < kVectorLanes) {
      forInside([&](Vector& value, int64_t) __attribute__((always_inline)) {
        loadPart(std::bit_cast<std::array<float, kVectorLanes>>(value).data(), lanes, 0, value);
      });
    }
    forInside([&](const Vector& value, int64_t where)
                  __attribute__((always_inline)) { storeVector(value, operands_.result + where); });
  }

  /// The last transform along one dim: of columns, into rows.
  [[gnu::always_inline]] void combineRows(const float* products,
                                          std::array<Line<kSide>, tile>& rows) const {
    int64_t stride = whole_.productStride();
    unrolled<kSide>([&](auto j) __attribute__((always_inline)) {
      Line<kSide> column;
      unrolled<kSide>([&](auto i) __attribute__((always_inline)) {
        loadVector(products + (i * kSide + j) * stride, column[i]);
      });
      Line<tile> sums;
      WinogradTransform<tile>::result(column, sums);
      unrolled<tile>([&](auto i) __attribute__((always_inline)) { rows[i][j] = sums[i]; });
    });
  }

  const Winograd& whole_;
  const WinogradShape& shape_;
  const Operands& operands_;
  int64_t first_, count_;
  float* tiles_;
  float* direct_;  ///< of each tile: whether it is summed directly
  float* products_;
  int slot_;  ///< of scratch memory
};

Winograd::Winograd(const WinogradShape& shape, int threads)
    : shape_(shape),
      threads_(threads),
      blocks_(blocksOf(shape)),
      apart_(blocks_ > 1 && divides(blocks_, threads)) {}

int64_t Winograd::scratchFloats() const {
  return (apart_ ? threads_ : 1) * slotFloats() +
         shape_.filter.elements() * threads_ * productStride();
}

template <int64_t tile>
void Winograd::runBlocks(const Operands& operands) const {
  forParts(blocks_, threads_, apart_, [&](int64_t b, int slot) {
    int64_t first = shape_.tiles() * b / blocks_;
    int64_t end = shape_.tiles() * (b + 1) / blocks_;
    Block<tile>(*this, operands, first, end - first, slot).run();
  });
}

void Winograd::run(const Operands& operands) const {
  shape_.filter.tile == 2 ? runBlocks<2>(operands) : runBlocks<4>(operands);
}

}  // namespace graphrun::devices::cpu
