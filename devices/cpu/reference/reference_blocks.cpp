// Images put together of blocks.
#include <algorithm>
#include <array>

#include "devices/cpu/reference/reference_support.h"

namespace graphrun::devices::cpu {
namespace {

constexpr size_t kMostSpatial = 8;

constexpr const char* kBlockMessages[] = {
    "the block, the image and the number of columns do not fit each other"};

/// BlockPositions say where the columns of gr.col2im lie in the image, along each dim.
struct BlockPositions {
  Dims image, strides, dilations, pads;
  int64_t columns;   ///< of the input
  int64_t elements;  ///< of a block
  IntOperand block;

  struct Side {
    int64_t block, positions;
  };

  /// Reads the block; false when shapes do not fit.
  bool read(void* const* buffers, std::array<Side, kMostSpatial>& sides) const {
    int64_t blocks = 1;
    int64_t positions = 1;
    for (size_t d = 0; d < image.size(); ++d) {
      Side& side = sides[d];
      side.block = block.at(buffers, static_cast<int64_t>(d));
      if (side.block < 1 || side.block > elements) {
        return false;
      }
      int64_t slack = image[d] + pads[d] + pads[image.size() + d] - dilations[d] * (side.block - 1);
      side.positions = slack < 1 ? 0 : (slack - 1) / strides[d] + 1;
      blocks *= side.block;
      positions *= side.positions;
      if (blocks > elements || positions > columns) {
        return false;
      }
    }
    return blocks == elements && positions == columns;
  }

  /// The column in which block element `k` meets image position `at`; -1 when there is none.
  int64_t column(const std::array<Side, kMostSpatial>& sides,
                 const std::array<int64_t, kMostSpatial>& at, int64_t k) const {
    int64_t flat = 0;
    int64_t step = 1;
    for (size_t d = image.size(); d > 0; --d) {
      const Side& side = sides[d - 1];
      int64_t from = at[d - 1] + pads[d - 1] - k % side.block * dilations[d - 1];
      k /= side.block;
      if (from < 0 || from % strides[d - 1] != 0 || from / strides[d - 1] >= side.positions) {
        return -1;
      }
      flat += from / strides[d - 1] * step;
      step *= side.positions;
    }
    return flat;
  }
};

absl::StatusOr<BlockPositions> blockPositions(const Instruction& instruction) {
  constexpr int64_t kLimit = int64_t{1} << 31;  // products of two stay within 64 bits
  const Dims& in = instruction.inputs[0].desc.dims;
  const Dims& out = instruction.outputs[0].desc.dims;
  GR_ASSIGN_OR_RETURN(Dims strides, attribute<Dims>(instruction, "strides"));
  GR_ASSIGN_OR_RETURN(Dims dilations, attribute<Dims>(instruction, "dilations"));
  GR_ASSIGN_OR_RETURN(Dims pads, attribute<Dims>(instruction, "pads"));
  GR_ASSIGN_OR_RETURN(IntOperand block, IntOperand::make(instruction, 2));
  size_t rank = strides.size();
  auto tooSmall = [](int64_t v) { return v < 1 || v > kLimit; };
  auto tooFar = [](int64_t v) { return v < -kLimit || v > kLimit; };
  bool fits = rank >= 1 && rank <= kMostSpatial && in.size() == 3 && out.size() == rank + 2 &&
              dilations.size() == rank && pads.size() == 2 * rank && out[0] == in[0] &&
              out[1] > 0 && in[1] % out[1] == 0 && block.count == static_cast<int64_t>(rank) &&
              std::none_of(strides.begin(), strides.end(), tooSmall) &&
              std::none_of(dilations.begin(), dilations.end(), tooSmall) &&
              std::none_of(pads.begin(), pads.end(), tooFar) &&
              std::none_of(in.begin(), in.end(), tooFar) &&
              std::none_of(out.begin(), out.end(), tooFar);
  if (!fits) {
    return invalidInstruction(instruction,
                              "the shapes of input, image, block and attributes do not fit");
  }
  return BlockPositions{Dims(out.begin() + 2, out.end()),
                        std::move(strides),
                        std::move(dilations),
                        std::move(pads),
                        in[2],
                        in[1] / out[1],
                        block};
}

KernelOr createCol2Im(const Instruction& instruction) {
  GR_ASSIGN_OR_RETURN(BlockPositions b, blockPositions(instruction));
  const Dims& out = instruction.outputs[0].desc.dims;
  int64_t planes = out[0] * out[1];
  int64_t plane = countOf(b.image);
  uint32_t from = instruction.inputs[0].buffer;
  uint32_t to = instruction.outputs[0].buffer;
  return dispatchElement(instruction.outputs[0].desc.type, [&]<typename T>() -> KernelOr {
    return makeKernel(
        [=, b = std::move(b)](void* const* buffers) {
          std::array<BlockPositions::Side, kMostSpatial> sides{};
          if (!b.read(buffers, sides)) {
            return 1;
          }
          parallelFor(planes * plane, b.elements, [&](int64_t i) {
            std::array<int64_t, kMostSpatial> at{};
            for (int64_t d = static_cast<int64_t>(b.image.size()) - 1, rest = i % plane; d >= 0;
                 --d) {
              auto dim = static_cast<size_t>(d);
              at[dim] = rest % b.image[dim];
              rest /= b.image[dim];
            }
            const T* x = static_cast<const T*>(buffers[from]) + i / plane * b.elements * b.columns;
            Sum<T> sum = 0;
            for (int64_t k = 0; k < b.elements; ++k) {
              int64_t column = b.column(sides, at, k);
              sum += column < 0 ? Sum<T>(0) : static_cast<Sum<T>>(load(x[k * b.columns + column]));
            }
            static_cast<T*>(buffers[to])[i] = store<T>(convert<Compute<T>>(sum));
          });
          return 0;
        },
        kBlockMessages);
  });
}

constexpr ReferenceEntry kEntries[] = {
    {"gr.col2im", TypeRule::kAccumulate, createCol2Im, 3},
};

}  // namespace

absl::Span<const ReferenceEntry> referenceBlocks() { return kEntries; }

}  // namespace graphrun::devices::cpu
