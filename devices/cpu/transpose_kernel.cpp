#include "devices/cpu/transpose_kernel.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "devices/cpu/onednn_layouts.h"
#include "devices/cpu/reference_support.h"
#include "devices/cpu/wide.h"

namespace graphrun::devices::cpu {
namespace {

absl::Status declined(absl::string_view what) {
  return absl::UnimplementedError(absl::StrCat("tiles are transposed ", what));
}

/// A dim, or a part of it that lies evenly in operand and result.
struct Part {
  int64_t size, from, to;  ///< strides in elements
};

/// Adds the parts of a dim of `size` that lies in blocks of `from` and `to` elements (1: none).
absl::Status addParts(int64_t size, int64_t fromBlock, int64_t toBlock, int64_t from, int64_t to,
                      std::vector<Part>& parts) {
  int64_t block = std::max(fromBlock, toBlock);
  if (block == 1) {
    parts.push_back({size, from, to});
    return absl::OkStatus();
  }
  bool even = size % block == 0 && (fromBlock == 1 || fromBlock == block) &&
              (toBlock == 1 || toBlock == block);
  if (!even) {
    return declined("where blocks are full");
  }
  // An index within a block is one element further there; elsewhere a step of the dim.
  parts.push_back(
      {size / block, fromBlock == 1 ? from * block : from, toBlock == 1 ? to * block : to});
  parts.push_back({block, fromBlock == 1 ? from : 1, toBlock == 1 ? to : 1});
  return absl::OkStatus();
}

/// For each dim of the result, the operand's.
absl::StatusOr<std::vector<size_t>> permutationOf(const Step& step) {
  const Dims& in = step.inputs[0].desc.dims;
  const Dims& out = step.outputs[0].desc.dims;
  Dims permutation(in.size());
  std::iota(permutation.begin(), permutation.end(), 0);
  if (step.operation == "gr.transpose") {
    GR_ASSIGN_OR_RETURN(permutation, attribute<Dims>(step, "permutation"));
  }
  if (permutation.size() != in.size() || out.size() != in.size()) {
    return invalidStep(step, "permutation and shapes do not fit");
  }
  std::vector<size_t> result;
  for (size_t d = 0; d < out.size(); ++d) {
    int64_t from = permutation[d];
    if (from < 0 || from >= static_cast<int64_t>(in.size()) ||
        in[static_cast<size_t>(from)] != out[d] ||
        std::count(permutation.begin(), permutation.end(), from) != 1) {
      return invalidStep(step, "permutation and shapes do not fit");
    }
    result.push_back(static_cast<size_t>(from));
  }
  return result;
}

/// The parts of all dims, by descending stride in the result; neighbours that run on are one.
absl::StatusOr<std::vector<Part>> partsOf(const Step& step) {
  TensorDesc out = step.outputs[0].desc;
  out.any = false;
  GR_ASSIGN_OR_RETURN(std::vector<size_t> permutation, permutationOf(step));
  GR_ASSIGN_OR_RETURN(Blocking from, blockingOf(step.inputs[0].desc));
  GR_ASSIGN_OR_RETURN(Blocking to, blockingOf(out));
  if (from.innerBlocks.size() > 1 || to.innerBlocks.size() > 1) {
    return declined("of one block a tensor");
  }
  std::vector<Part> parts;
  for (size_t d = 0; d < permutation.size(); ++d) {
    size_t source = permutation[d];
    GR_RETURN_IF_ERROR(addParts(out.dims[d], from.blockOf(static_cast<int>(source)),
                                to.blockOf(static_cast<int>(d)), from.strides[source],
                                to.strides[d], parts));
  }
  std::erase_if(parts, [](const Part& part) { return part.size == 1; });
  std::stable_sort(parts.begin(), parts.end(),
                   [](const Part& a, const Part& b) { return a.to > b.to; });
  std::vector<Part> merged;
  for (const Part& part : parts) {
    if (!merged.empty() && merged.back().from == part.size * part.from &&
        merged.back().to == part.size * part.to) {
      merged.back() = {merged.back().size * part.size, part.from, part.to};
    } else {
      merged.push_back(part);
    }
  }
  return merged;
}

using Word = uint32_t;
using Quad = Word __attribute__((vector_size(16)));
constexpr int64_t kTile = 16;

Quad load4(const Word* from) {
  Quad quad;
  std::memcpy(&quad, from, sizeof(quad));
  return quad;
}
void store4(Word* to, Quad quad) { std::memcpy(to, &quad, sizeof(quad)); }

/// to[b][a] = from[a][b] for 4 x 4 words.
void transpose4(const Word* from, int64_t fromStride, Word* to) {
  Quad a = load4(from), b = load4(from + fromStride), c = load4(from + 2 * fromStride),
       d = load4(from + 3 * fromStride);
  Quad low = __builtin_shufflevector(a, b, 0, 4, 1, 5);
  Quad high = __builtin_shufflevector(a, b, 2, 6, 3, 7);
  Quad low2 = __builtin_shufflevector(c, d, 0, 4, 1, 5);
  Quad high2 = __builtin_shufflevector(c, d, 2, 6, 3, 7);
  store4(to, __builtin_shufflevector(low, low2, 0, 1, 4, 5));
  store4(to + kTile, __builtin_shufflevector(low, low2, 2, 3, 6, 7));
  store4(to + 2 * kTile, __builtin_shufflevector(high, high2, 0, 1, 4, 5));
  store4(to + 3 * kTile, __builtin_shufflevector(high, high2, 2, 3, 6, 7));
}

/// The same for a square of kTile words: whole lines of the cache are read, and written.
void transposeTile(const Word* from, int64_t fromStride, Word* to, int64_t toStride) {
  alignas(64) std::array<Word, kTile * kTile> tile;
  for (int64_t a = 0; a < kTile; a += 4) {
    for (int64_t b = 0; b < kTile; b += 4) {
      transpose4(from + a * fromStride + b, fromStride, tile.data() + b * kTile + a);
    }
  }
  for (int64_t b = 0; b < kTile; ++b) {
    std::memcpy(to + b * toStride, tile.data() + b * kTile, kTile * sizeof(Word));
  }
}

/// A matrix of `rows` x `columns`, rows following each other in the result, columns in the operand.
struct Matrix {
  int64_t rows, columns;
  int64_t fromRow, toColumn;  ///< strides of the others

  void transpose(const Word* from, Word* to) const {
    int64_t b = 0;
    for (; b + kTile <= columns; b += kTile) {
      int64_t a = 0;
      for (; a + kTile <= rows; a += kTile) {
        transposeTile(from + a * fromRow + b, fromRow, to + b * toColumn + a, toColumn);
      }
      transposeRest(from, to, a, b, b + kTile);
    }
    transposeRest(from, to, 0, b, columns);
  }

  /// Rows from `row` on of columns [begin, end), too few for tiles: along the longer side.
  void transposeRest(const Word* from, Word* to, int64_t row, int64_t begin, int64_t end) const {
    if (end - begin < rows - row) {
      for (int64_t b = begin; b < end; ++b) {
#pragma omp simd
        for (int64_t a = row; a < rows; ++a) {
          to[b * toColumn + a] = from[a * fromRow + b];
        }
      }
      return;
    }
    for (int64_t a = row; a < rows; ++a) {
#pragma omp simd
      for (int64_t b = begin; b < end; ++b) {
        to[b * toColumn + a] = from[a * fromRow + b];
      }
    }
  }
};

/// A matrix, or a row where there is one column, for each index of the outer parts.
struct Plan {
  Matrix matrix;
  std::vector<Part> outer;

  void run(const Word* from, Word* to) const {
    // Some 16 KiB at a time.
    int64_t width = std::min<int64_t>(matrix.columns, 64);
    int64_t height = std::min<int64_t>(matrix.rows, 4096 / width / kTile * kTile);
    int64_t across = (matrix.columns + width - 1) / width;
    int64_t down = (matrix.rows + height - 1) / height;
    int64_t count = 1;
    for (const Part& part : outer) {
      count *= part.size;
    }
    parallelFor(count * across * down, height * width, [&](int64_t unit) {
      auto [fromPlace, toPlace] = placesOf(unit / (across * down));
      int64_t column = unit % across * width;
      int64_t row = unit / across % down * height;
      Matrix part = matrix;
      part.rows = std::min(height, matrix.rows - row);
      part.columns = std::min(width, matrix.columns - column);
      const Word* source = from + fromPlace + row * matrix.fromRow + column;
      Word* target = to + toPlace + column * matrix.toColumn + row;
      if (matrix.fromRow == 1) {
        std::copy_n(source, part.rows, target);
      } else {
        runWide([&] { part.transpose(source, target); });
      }
    });
  }

  /// Where the matrix with that index begins in the operand and in the result.
  std::pair<int64_t, int64_t> placesOf(int64_t index) const {
    int64_t from = 0;
    int64_t to = 0;
    for (size_t i = outer.size(); i-- > 0;) {
      from += index % outer[i].size * outer[i].from;
      to += index % outer[i].size * outer[i].to;
      index /= outer[i].size;
    }
    return {from, to};
  }
};

absl::StatusOr<Plan> planOf(const Step& step) {
  constexpr int64_t kRow = 16;  // words that are worth a copy
  GR_ASSIGN_OR_RETURN(std::vector<Part> parts, partsOf(step));
  if (parts.empty()) {
    return Plan{{1, 1, 1, 1}, {}};
  }
  Part rows = parts.back();
  auto columns =
      std::find_if(parts.begin(), parts.end(), [](const Part& p) { return p.from == 1; });
  if (columns == parts.end() || rows.to != 1 || (rows.from == 1 && rows.size < kRow)) {
    return declined("where rows become columns, or stay and are long");
  }
  Plan plan{{rows.size, rows.from == 1 ? 1 : columns->size, rows.from, columns->to}, {}};
  std::copy_if(parts.begin(), parts.end() - 1, std::back_inserter(plan.outer),
               [&](const Part& part) { return &part != &*columns; });
  return plan;
}

absl::Status checkStep(const Step& step) {
  if (step.inputs.size() != 1 || step.outputs.size() != 1 || !step.postOps.empty() ||
      runtime::elementSize(step.inputs[0].desc.type) != sizeof(Word) ||
      step.inputs[0].desc.type != step.outputs[0].desc.type || isOpaque(step.inputs[0].desc) ||
      isOpaque(step.outputs[0].desc) || countOf(step.inputs[0].desc.dims) == 0) {
    return declined("of elements of 32 bits, with nothing fused behind");
  }
  return absl::OkStatus();
}

}  // namespace

void transposeMatrix(const float* from, int64_t rows, int64_t columns, float* to) {
  Matrix matrix{rows, columns, columns, rows};
  runWide(
      [&] { matrix.transpose(reinterpret_cast<const Word*>(from), reinterpret_cast<Word*>(to)); });
}

absl::StatusOr<LayoutChoice> chooseTranspose(const Step& step) {
  GR_RETURN_IF_ERROR(checkStep(step));
  GR_RETURN_IF_ERROR(planOf(step).status());
  LayoutChoice choice;
  choice.inputs = {step.inputs[0].desc};
  choice.inputs[0].any = false;
  choice.sources = {TensorDesc{step.inputs[0].desc.type, step.inputs[0].desc.dims}};
  choice.outputs = {step.outputs[0].desc};
  choice.outputs[0].any = false;
  choice.implementation = "tiles";
  return choice;
}

absl::StatusOr<std::unique_ptr<Kernel>> createTransposeTiles(const Step& step, KernelContext&) {
  GR_RETURN_IF_ERROR(checkStep(step));
  GR_ASSIGN_OR_RETURN(Plan plan, planOf(step));
  return makeKernel([plan = std::move(plan), in = step.inputs[0].buffer,
                     out = step.outputs[0].buffer](void* const* buffers) {
    plan.run(static_cast<const Word*>(buffers[in]), static_cast<Word*>(buffers[out]));
    return 0;
  });
}

}  // namespace graphrun::devices::cpu
