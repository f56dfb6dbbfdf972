#include "devices/cpu/kernels/transpose_kernel.h"

#include <algorithm>
#include <numeric>

#include "devices/cpu/base/onednn_layouts.h"
#include "devices/cpu/reference/reference_support.h"
#include "devices/cpu/vectors/transpose_tiles.h"
#include "devices/cpu/vectors/wide.h"

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
absl::StatusOr<std::vector<size_t>> permutationOf(const Instruction& instruction) {
  const Dims& in = instruction.inputs[0].desc.dims;
  const Dims& out = instruction.outputs[0].desc.dims;
  Dims permutation(in.size());
  std::iota(permutation.begin(), permutation.end(), 0);
  if (instruction.operation == "gr.transpose") {
    GR_ASSIGN_OR_RETURN(permutation, attribute<Dims>(instruction, "permutation"));
  }
  if (permutation.size() != in.size() || out.size() != in.size()) {
    return invalidInstruction(instruction, "permutation and shapes do not fit");
  }
  std::vector<size_t> result;
  for (size_t d = 0; d < out.size(); ++d) {
    int64_t from = permutation[d];
    if (from < 0 || from >= static_cast<int64_t>(in.size()) ||
        in[static_cast<size_t>(from)] != out[d] ||
        std::count(permutation.begin(), permutation.end(), from) != 1) {
      return invalidInstruction(instruction, "permutation and shapes do not fit");
    }
    result.push_back(static_cast<size_t>(from));
  }
  return result;
}

/// The parts of all dims, by descending stride in the result; neighbours that run on are one.
absl::StatusOr<std::vector<Part>> partsOf(const Instruction& instruction) {
  TensorDesc out = instruction.outputs[0].desc;
  out.any = false;
  GR_ASSIGN_OR_RETURN(std::vector<size_t> permutation, permutationOf(instruction));
  GR_ASSIGN_OR_RETURN(Blocking from, blockingOf(instruction.inputs[0].desc));
  GR_ASSIGN_OR_RETURN(Blocking to, blockingOf(out));
  if (from.innerBlocks.size() > 1 || to.innerBlocks.size() > 1) {
    return declined("if each tensor is one block");
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

/// A matrix whose rows follow each other in the result, columns in the operand.
struct Matrix {
  int64_t rows, columns;
  int64_t fromRow, toColumn;  ///< strides of the others
};

/// A matrix, or a row where there is one column, for each index of the outer parts.
struct Plan {
  Matrix matrix;
  std::vector<Part> outer;

  template <typename Word>
  void run(const Word* from, Word* to) const {
    // Some 4096 words at a time.
    constexpr int64_t kTile = TileTransposer<Word>::kTile;
    int64_t width = std::min<int64_t>(matrix.columns, 64);
    int64_t height = std::min<int64_t>(matrix.rows, 4096 / width / kTile * kTile);
    int64_t across = (matrix.columns + width - 1) / width;
    int64_t down = (matrix.rows + height - 1) / height;
    int64_t count = 1;
    for (const Part& part : outer) {
      count *= part.size;
    }
    parallelFor(count * across * down, height * width, [&](int64_t unit) {
      auto [fromOffset, toOffset] = offsetsOf(unit / (across * down));
      int64_t column = unit % across * width;
      int64_t row = unit / across % down * height;
      int64_t rows = std::min(height, matrix.rows - row);
      int64_t columns = std::min(width, matrix.columns - column);
      const Word* source = from + fromOffset + row * matrix.fromRow + column;
      Word* target = to + toOffset + column * matrix.toColumn + row;
      if (matrix.fromRow == 1) {
        std::copy_n(source, rows, target);
      } else {
        runWide([&] {
          TileTransposer<Word>::transpose(source, rows, columns, matrix.fromRow, target,
                                          matrix.toColumn);
        });
      }
    });
  }

  /// Returns where the matrix with that index begins in the operand and in the result.
  std::pair<int64_t, int64_t> offsetsOf(int64_t index) const {
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

absl::StatusOr<Plan> planOf(const Instruction& instruction) {
  constexpr int64_t kRow = 16;  // words that are worth a copy
  GR_ASSIGN_OR_RETURN(std::vector<Part> parts, partsOf(instruction));
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

absl::Status checkInstruction(const Instruction& instruction) {
  if (instruction.inputs.size() != 1 || instruction.outputs.size() != 1 ||
      !instruction.postOps.empty() ||
      instruction.inputs[0].desc.type != instruction.outputs[0].desc.type ||
      isOpaque(instruction.inputs[0].desc) || isOpaque(instruction.outputs[0].desc) ||
      countOf(instruction.inputs[0].desc.dims) == 0) {
    return declined("if they are of one type, and nothing is fused behind");
  }
  return absl::OkStatus();
}

}  // namespace

void transposeMatrix(const float* from, int64_t rows, int64_t columns, float* to) {
  runWide([&] { TileTransposer<float>::transpose(from, rows, columns, columns, to, rows); });
}

absl::StatusOr<LayoutChoice> chooseTranspose(const Instruction& instruction) {
  GR_RETURN_IF_ERROR(checkInstruction(instruction));
  GR_RETURN_IF_ERROR(planOf(instruction).status());
  LayoutChoice choice;
  choice.inputs = {instruction.inputs[0].desc};
  choice.inputs[0].any = false;
  choice.sources = {TensorDesc{instruction.inputs[0].desc.type, instruction.inputs[0].desc.dims}};
  choice.outputs = {instruction.outputs[0].desc};
  choice.outputs[0].any = false;
  choice.implementation = "tiles";
  return choice;
}

absl::StatusOr<std::unique_ptr<Kernel>> createTransposeTiles(const Instruction& instruction,
                                                             KernelContext&) {
  GR_RETURN_IF_ERROR(checkInstruction(instruction));
  GR_ASSIGN_OR_RETURN(Plan plan, planOf(instruction));
  auto kernel = [&]<typename Word>(Word) {
    return makeKernel([plan, in = instruction.inputs[0].buffer,
                       out = instruction.outputs[0].buffer](void* const* buffers) {
      plan.run(static_cast<const Word*>(buffers[in]), static_cast<Word*>(buffers[out]));
      return 0;
    });
  };
  switch (runtime::elementSize(instruction.inputs[0].desc.type)) {
    case 1:
      return kernel(uint8_t());
    case 2:
      return kernel(uint16_t());
    case 4:
      return kernel(uint32_t());
    case 8:
      return kernel(uint64_t());
    default:
      return declined("if elements have 8 to 64 bits");
  }
}

}  // namespace graphrun::devices::cpu
