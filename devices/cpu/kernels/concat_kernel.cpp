#include "devices/cpu/kernels/concat_kernel.h"

#include <algorithm>
#include <cstring>

#include "devices/cpu/base/dim_order.h"
#include "devices/cpu/kernels/given_layouts.h"
#include "devices/cpu/reference/reference_support.h"

namespace graphrun::devices::cpu {
namespace {

absl::Status declined(absl::string_view what) {
  return absl::UnimplementedError(absl::StrCat("gr.concat: rows are copied ", what));
}

/// A row of the result is one row of each operand.
struct Rows {
  int64_t count = 1;
  int64_t bytes = 0;                  ///< of a row of the result
  std::vector<int64_t> operandBytes;  ///< of a row of each operand
};

absl::Status checkInstruction(const Instruction& instruction, int64_t axis) {
  if (instruction.inputs.empty() || instruction.outputs.size() != 1 ||
      !instruction.postOps.empty()) {
    return declined("with nothing fused behind");
  }
  Dims expected = instruction.inputs[0].desc.dims;
  expected[static_cast<size_t>(axis)] = 0;
  for (const Argument& input : instruction.inputs) {
    Dims dims = input.desc.dims;
    if (dims.size() != expected.size() || input.desc.type != instruction.outputs[0].desc.type) {
      return invalidInstruction(instruction, "the operands do not fit");
    }
    expected[static_cast<size_t>(axis)] += dims[static_cast<size_t>(axis)];
    dims[static_cast<size_t>(axis)] = expected[static_cast<size_t>(axis)];
    if (dims != expected) {
      return invalidInstruction(instruction, "the operands do not fit");
    }
  }
  return expected == instruction.outputs[0].desc.dims
             ? absl::OkStatus()
             : invalidInstruction(instruction, "the result does not fit");
}

absl::StatusOr<int64_t> axisOf(const Instruction& instruction) {
  GR_ASSIGN_OR_RETURN(int64_t axis, attribute<int64_t>(instruction, "axis"));
  return instruction.inputs.empty()
             ? declined("from at least one operand")
             : normalizeAxis(instruction, axis, instruction.inputs[0].desc.dims.size());
}

Rows rowsOf(const Instruction& instruction, const std::vector<size_t>& order, int64_t axis) {
  auto position = std::find(order.begin(), order.end(), static_cast<size_t>(axis));
  Rows rows;
  for (auto d = order.begin(); d != position; ++d) {
    rows.count *= instruction.outputs[0].desc.dims[*d];
  }
  for (const Argument& input : instruction.inputs) {
    auto bytes = static_cast<int64_t>(runtime::elementSize(input.desc.type));
    for (auto d = position; d != order.end(); ++d) {
      bytes *= input.desc.dims[*d];
    }
    rows.operandBytes.push_back(bytes);
    rows.bytes += bytes;
  }
  return rows;
}

/// Short rows [begin, end) of one operand, `size` bytes each where that is not 0.
template <size_t size>
void copyRows(const char* from, int64_t begin, int64_t end, size_t bytes, char* to,
              int64_t stride) {
  for (int64_t row = begin; row < end; ++row) {
    std::memcpy(to + row * stride, from + row * static_cast<int64_t>(bytes),
                size != 0 ? size : bytes);
  }
}

/// Rows [begin, end) of the result, operand by operand: elements of the usual sizes need no calls.
void copyShort(const Rows& rows, const std::vector<uint32_t>& from, void* const* buffers,
               int64_t begin, int64_t end, char* to) {
  for (size_t i = 0; i < from.size(); ++i) {
    const char* source = static_cast<const char*>(buffers[from[i]]);
    auto bytes = static_cast<size_t>(rows.operandBytes[i]);
    auto copy = bytes == 4    ? copyRows<4>
                : bytes == 8  ? copyRows<8>
                : bytes == 16 ? copyRows<16>
                : bytes == 32 ? copyRows<32>
                              : copyRows<0>;
    copy(source, begin, end, bytes, to, rows.bytes);
    to += bytes;
  }
}

/// Bytes [begin, end) of the result.
void copyPiece(const Rows& rows, const std::vector<uint32_t>& from, void* const* buffers,
               int64_t begin, int64_t end, char* to) {
  for (int64_t row = begin / rows.bytes; row * rows.bytes < end; ++row) {
    int64_t first = row * rows.bytes;  // of the operand at hand
    for (size_t i = 0; i < from.size(); ++i) {
      int64_t bytes = rows.operandBytes[i];
      int64_t low = std::max(begin, first);
      int64_t high = std::min(end, first + bytes);
      if (low < high) {
        std::memcpy(to + low,
                    static_cast<const char*>(buffers[from[i]]) + row * bytes + low - first,
                    static_cast<size_t>(high - low));
      }
      first += bytes;
    }
  }
}

/// The order of all operands' dims; that of the first which is not dense, as a dense one may lie
/// alike (a dim of 1).
absl::StatusOr<std::vector<size_t>> commonOrder(const Instruction& instruction) {
  std::vector<size_t> order;
  for (const Argument& input : instruction.inputs) {
    if (order.empty() || std::is_sorted(order.begin(), order.end())) {
      GR_ASSIGN_OR_RETURN(order, dimOrder(input.desc));
    }
  }
  for (const Argument& input : instruction.inputs) {
    GR_ASSIGN_OR_RETURN(TensorDesc same, inDimOrder(input.desc, order));
    if (!sameLayout(same, input.desc)) {
      return declined("where the operands lie alike");
    }
  }
  return order;
}

}  // namespace

absl::StatusOr<LayoutChoice> chooseConcat(const Instruction& instruction) {
  GR_ASSIGN_OR_RETURN(int64_t axis, axisOf(instruction));
  GR_RETURN_IF_ERROR(checkInstruction(instruction, axis));
  GR_ASSIGN_OR_RETURN(std::vector<size_t> order, commonOrder(instruction));
  GR_ASSIGN_OR_RETURN(TensorDesc result, inDimOrder(instruction.outputs[0].desc, order));
  if (!mayLieAs(instruction, result)) {
    return declined("where operands and result lie alike");
  }
  LayoutChoice choice = givenLayouts(instruction);
  choice.outputs = {std::move(result)};
  choice.implementation = "rows";
  return choice;
}

absl::StatusOr<std::unique_ptr<Kernel>> createConcatRows(const Instruction& instruction,
                                                         KernelContext&) {
  GR_RETURN_IF_ERROR(chooseConcat(instruction).status());
  GR_ASSIGN_OR_RETURN(int64_t axis, axisOf(instruction));
  GR_ASSIGN_OR_RETURN(std::vector<size_t> order, commonOrder(instruction));
  std::vector<uint32_t> from;
  from.reserve(instruction.inputs.size());
  for (const Argument& input : instruction.inputs) {
    from.push_back(input.buffer);
  }
  return makeKernel([from = std::move(from), to = instruction.outputs[0].buffer,
                     rows = rowsOf(instruction, order, axis)](void* const* buffers) {
    // Some bytes of the result at a time: rows may be many and short, or one.
    constexpr int64_t kBytes = 32768;
    constexpr int64_t kShort = 256;
    char* result = static_cast<char*>(buffers[to]);
    if (rows.bytes > 0 && rows.bytes <= kShort) {
      int64_t some = kBytes / rows.bytes;
      parallelFor((rows.count + some - 1) / some, kBytes / 4, [&](int64_t piece) {
        copyShort(rows, from, buffers, piece * some, std::min(rows.count, (piece + 1) * some),
                  result);
      });
      return 0;
    }
    int64_t bytes = rows.count * rows.bytes;
    parallelFor((bytes + kBytes - 1) / kBytes, kBytes / 4, [&](int64_t piece) {
      copyPiece(rows, from, buffers, piece * kBytes, std::min(bytes, (piece + 1) * kBytes), result);
    });
    return 0;
  });
}

}  // namespace graphrun::devices::cpu
