// Matrices are transposed in squares that stay in registers. Internal to devices/cpu; for loops
// inside runWide.
#ifndef GRAPHRUN_DEVICES_CPU_VECTORS_TRANSPOSE_TILES_H_
#define GRAPHRUN_DEVICES_CPU_VECTORS_TRANSPOSE_TILES_H_

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <utility>

namespace graphrun::devices::cpu {

/// A square of words, a vector of 16 bytes a row.
template <typename Word>
class Square {
 public:
  static constexpr int64_t kSide = 16 / sizeof(Word);

  /// to[b][a] = from[a][b], rows `fromStride` and `toStride` words apart.
  [[gnu::always_inline]] static void transpose(const Word* from, int64_t fromStride, Word* to,
                                               int64_t toStride) {
    transpose(from, fromStride, to, toStride, Indices());
  }

 private:
  using Vector [[gnu::vector_size(16)]] = Word;
  struct Row {
    Vector words;
  };
  using Rows = std::array<Row, kSide>;
  static constexpr int kLanes = kSide;
  using Indices = std::make_integer_sequence<int, kLanes>;

  /// `index` counts rows, words of a row: all that stays in registers has constant indices.
  template <int... index>
  [[gnu::always_inline]] static void transpose(const Word* from, int64_t fromStride, Word* to,
                                               int64_t toStride,
                                               std::integer_sequence<int, index...> indices) {
    Rows rows;
    (std::memcpy(&rows[index], from + index * fromStride, sizeof(Row)), ...);
    rows = interleaved<kLanes>(rows, indices);
    (std::memcpy(to + index * toStride, &rows[index], sizeof(Row)), ...);
  }

  /// Rows and those half of all further on take turns, once for each bit of their number: each time
  /// its highest bit becomes the lowest of the column's, and the column's highest its lowest.
  template <int rounds, int... index>
  [[gnu::always_inline]] static Rows interleaved(const Rows& rows,
                                                 std::integer_sequence<int, index...> indices) {
    if constexpr (rounds == 1) {
      return rows;
    } else {
      constexpr int kHalf = kLanes / 2;
      return interleaved<rounds / 2>(
          Rows{inTurns<index % 2 * kHalf>(rows[index / 2], rows[index / 2 + kHalf], indices)...},
          indices);
    }
  }

  /// Words from `first` on of the two in turns.
  template <int first, int... index>
  [[gnu::always_inline]] static Row inTurns(Row x, Row y, std::integer_sequence<int, index...>) {
    return {__builtin_shufflevector(x.words, y.words, (first + index / 2 + index % 2 * kLanes)...)};
  }
};

/// Transposes matrices whose rows follow each other in the result, columns in the operand.
template <typename Word>
class TileTransposer {
 public:
  /// Words along a side of the tiles: a line of the cache, or what fits into registers.
  static constexpr int64_t kTile = std::min<int64_t>(16, 64 / sizeof(Word));

  /// to[b * toColumn + a] = from[a * fromRow + b].
  static void transpose(const Word* from, int64_t rows, int64_t columns, int64_t fromRow, Word* to,
                        int64_t toColumn) {
    int64_t b = 0;
    for (; b + kTile <= columns; b += kTile) {
      int64_t a = 0;
      for (; a + kTile <= rows; a += kTile) {
        tile(from + a * fromRow + b, fromRow, to + b * toColumn + a, toColumn);
      }
      rest(from + a * fromRow + b, rows - a, kTile, fromRow, to + b * toColumn + a, toColumn);
    }
    rest(from + b, rows, columns - b, fromRow, to + b * toColumn, toColumn);
  }

 private:
  /// A square of kTile words: whole lines of the cache are read, and written.
  static void tile(const Word* from, int64_t fromRow, Word* to, int64_t toColumn) {
    constexpr int64_t kSide = Square<Word>::kSide;
    if constexpr (kSide == kTile) {
      Square<Word>::transpose(from, fromRow, to, toColumn);
      return;
    }
    alignas(64) std::array<Word, kTile * kTile> turned;
    for (int64_t a = 0; a < kTile; a += kSide) {
      for (int64_t b = 0; b < kTile; b += kSide) {
        Square<Word>::transpose(from + a * fromRow + b, fromRow, turned.data() + b * kTile + a,
                                kTile);
      }
    }
    for (int64_t b = 0; b < kTile; ++b) {
      std::memcpy(to + b * toColumn, turned.data() + b * kTile, kTile * sizeof(Word));
    }
  }

  /// Too few rows or columns for tiles: along the longer side.
  static void rest(const Word* from, int64_t rows, int64_t columns, int64_t fromRow, Word* to,
                   int64_t toColumn) {
    if (columns < rows) {
      for (int64_t b = 0; b < columns; ++b) {
#pragma omp simd
        for (int64_t a = 0; a < rows; ++a) {
          to[b * toColumn + a] = from[a * fromRow + b];
        }
      }
      return;
    }
    for (int64_t a = 0; a < rows; ++a) {
#pragma omp simd
      for (int64_t b = 0; b < columns; ++b) {
        to[b * toColumn + a] = from[a * fromRow + b];
      }
    }
  }
};

}  // namespace graphrun::devices::cpu

#endif  // GRAPHRUN_DEVICES_CPU_VECTORS_TRANSPOSE_TILES_H_
