// These functions compute convolutions of f32 with 3 x 3 filters, stride 1, by Winograd's minimal
// filtering. Internal to devices/cpu.
#ifndef GRAPHRUN_DEVICES_CPU_KERNELS_WINOGRAD_H_
#define GRAPHRUN_DEVICES_CPU_KERNELS_WINOGRAD_H_

#include "absl/types/span.h"
#include "devices/cpu/kernels/winograd_filter.h"
#include "devices/cpu/vectors/vector_epilogue.h"

namespace graphrun::devices::cpu {

/// Images in memory, of whatever layout has the 16 channels of a block together. Strides are in
/// floats; `block` is the one from channels to the next 16.
struct WinogradImages {
  int64_t height, width;
  int64_t image, block, row, column;
};

/// A tile's largest element is at most so many times that of each of its results' windows.
inline constexpr float kMostWinogradRange = 16;

struct WinogradShape {
  WinogradFilter filter;
  int64_t batch;
  WinogradImages source, result;
  int64_t top, left;  ///< pads

  int64_t tilesDown() const { return (result.height + filter.tile - 1) / filter.tile; }
  int64_t tilesAcross() const { return (result.width + filter.tile - 1) / filter.tile; }
  int64_t tiles() const { return batch * tilesDown() * tilesAcross(); }
};

/// Transforms tiles of the source, multiplies each of their elements by the filter's, over all
/// channels, and transforms the products back: by blocks of tiles, whose number follows from the
/// shape. What comes out does not depend on the number of threads.
///
/// The rounding of a tile's results grows with the largest of its elements, that of a sum with the
/// largest that it adds. A tile is therefore summed directly, result by result, where its largest
/// element is over kMostWinogradRange times that of any of its results' windows, not finite, or so
/// large or small that the transforms may leave the range of f32. See winograd_error.h for the
/// bound of the others.
class Winograd {
 public:
  struct Operands {
    const float* source;
    const float* filter;  ///< see WinogradFilter
    const float* bias;    ///< null: none
    float* result;        ///< channels beyond the filter's become 0
    float* scratch;       ///< `scratchFloats` of them, aligned to 64 bytes
    absl::Span<const VectorPostOp> postOps;
  };

  Winograd(const WinogradShape& shape, int threads);

  int64_t scratchFloats() const;
  void run(const Operands& operands) const;

 private:
  template <int64_t tile>
  class Block;
  template <int64_t tile>
  void runBlocks(const Operands& operands) const;
  int64_t blockTiles() const { return (shape_.tiles() + blocks_ - 1) / blocks_; }
  /// Floats from one element of a block's transformed tiles to the next, and of its products. Not
  /// powers of two: those would meet in few lines of a cache.
  int64_t sourceStride() const { return blockTiles() * shape_.filter.depth() + kVectorLanes; }
  int64_t productStride() const { return blockTiles() * shape_.filter.widthOf(0) + kVectorLanes; }
  /// Floats of a block's transformed tiles, and of the marks of those that are summed directly.
  int64_t slotFloats() const {
    return shape_.filter.elements() * sourceStride() + WinogradFilter::wholeVectors(blockTiles());
  }

  WinogradShape shape_;
  int threads_;
  int64_t blocks_;
  bool apart_;  ///< threads take a block each; else they share each block
};

}  // namespace graphrun::devices::cpu

#endif  // GRAPHRUN_DEVICES_CPU_KERNELS_WINOGRAD_H_
