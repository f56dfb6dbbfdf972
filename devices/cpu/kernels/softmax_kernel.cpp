#include "devices/cpu/kernels/softmax_kernel.h"

#include <omp.h>

#include <algorithm>

#include "devices/cpu/base/dim_order.h"
#include "devices/cpu/kernels/given_layouts.h"
#include "devices/cpu/kernels/softmax_rows.h"
#include "devices/cpu/reference/reference_support.h"
#include "devices/cpu/vectors/bfloat16_rows.h"

namespace graphrun::devices::cpu {
namespace {

absl::Status declined(absl::string_view what) {
  return absl::UnimplementedError(absl::StrCat("gr.softmax: rows are ", what));
}

bool isTaken(ElementType type) { return type == ElementType::kF32 || type == ElementType::kBF16; }

/// The dense tensor of `desc` with the elements along `axis` behind each other.
absl::StatusOr<TensorDesc> withLast(const TensorDesc& desc, std::vector<size_t> order,
                                    size_t axis) {
  std::rotate(std::find(order.begin(), order.end(), axis),
              std::find(order.begin(), order.end(), axis) + 1, order.end());
  return inDimOrder(desc, order);
}

/// Returns how the instruction's tensors are to lie, dense with the axis last; Unimplemented where
/// they cannot.
absl::StatusOr<TensorDesc> rowsOf(const Instruction& instruction) {
  if (instruction.inputs.size() != 1 || instruction.outputs.size() != 1 ||
      !instruction.postOps.empty() || !isTaken(instruction.inputs[0].desc.type) ||
      instruction.inputs[0].desc.type != instruction.outputs[0].desc.type ||
      instruction.inputs[0].desc.dims != instruction.outputs[0].desc.dims ||
      countOf(instruction.inputs[0].desc.dims) == 0) {
    return declined("if they are of f32 or bf16, not empty, and nothing is fused behind");
  }
  TensorDesc in = instruction.inputs[0].desc;
  in.any = false;
  GR_ASSIGN_OR_RETURN(int64_t axis, attributeOr<int64_t>(instruction, "axis", -1));
  GR_ASSIGN_OR_RETURN(axis, normalizeAxis(instruction, axis, in.dims.size()));
  GR_ASSIGN_OR_RETURN(std::vector<size_t> order, dimOrder(in));
  if (order.back() != static_cast<size_t>(axis) && !isDense(in)) {
    return declined("along the axis whose elements follow each other");
  }
  if (order.back() != static_cast<size_t>(axis)) {
    GR_ASSIGN_OR_RETURN(in, withLast(in, order, static_cast<size_t>(axis)));
  }
  if (!mayLieAs(instruction, in)) {
    return declined("where operand and result lie alike");
  }
  return in;
}

/// Rows of one instruction. Short ones are worth a call together.
struct Rows {
  int64_t count, width;
  bool log;

  int64_t height() const { return std::max<int64_t>(1, 4096 / width); }
  /// Elements of rows that are treated together.
  int64_t part() const { return height() * width; }

  /// Calls `body(first, rows)` for all rows, on the threads of the caller.
  template <typename Body>
  void forParts(const Body& body) const {
    parallelFor((count + height() - 1) / height(), 4 * part(), [&](int64_t i) {
      int64_t first = i * height();
      body(first, std::min(height(), count - first));
    });
  }

  void run(const float* x, float* y) const {
    forParts([&](int64_t first, int64_t rows) {
      softmaxRows(x + first * width, rows, width, log, y + first * width);
    });
  }

  /// Computed in f32, in `scratch` of scratchBytes(), and rounded once.
  void run(const BFloat16* x, BFloat16* y, float* scratch) const {
    forParts([&](int64_t first, int64_t rows) {
      float* mine = scratch + omp_get_thread_num() * part();
      widenRow(x + first * width, mine, rows * width);
      softmaxRows(mine, rows, width, log, mine);
      narrowRow(mine, y + first * width, rows * width);
    });
  }
  uint64_t scratchBytes() const {
    return static_cast<uint64_t>(omp_get_max_threads() * part()) * sizeof(float);
  }
};

absl::StatusOr<Rows> plannedRows(const Instruction& instruction, const TensorDesc& desc) {
  GR_ASSIGN_OR_RETURN(bool log, attributeOr(instruction, "log", false));
  GR_ASSIGN_OR_RETURN(int64_t axis, attributeOr<int64_t>(instruction, "axis", -1));
  GR_ASSIGN_OR_RETURN(axis, normalizeAxis(instruction, axis, desc.dims.size()));
  int64_t width = desc.dims[static_cast<size_t>(axis)];
  return Rows{countOf(desc.dims) / width, width, log};
}

}  // namespace

absl::StatusOr<LayoutChoice> chooseSoftmax(const Instruction& instruction) {
  GR_ASSIGN_OR_RETURN(TensorDesc desc, rowsOf(instruction));
  GR_ASSIGN_OR_RETURN(Rows rows, plannedRows(instruction, desc));
  LayoutChoice choice;
  choice.scratchBytes = desc.type == ElementType::kBF16 ? rows.scratchBytes() : 0;
  choice.inputs = {desc};
  choice.sources = {TensorDesc{desc.type, desc.dims}};
  choice.outputs = {std::move(desc)};
  choice.implementation = "rows";
  return choice;
}

absl::StatusOr<std::unique_ptr<Kernel>> createSoftmaxRows(const Instruction& instruction,
                                                          KernelContext&) {
  GR_ASSIGN_OR_RETURN(TensorDesc desc, rowsOf(instruction));
  if (!sameLayout(desc, instruction.inputs[0].desc) ||
      !sameLayout(desc, instruction.outputs[0].desc)) {
    return absl::InvalidArgumentError("gr.softmax: an operand is not laid out as rows");
  }
  GR_ASSIGN_OR_RETURN(Rows rows, plannedRows(instruction, desc));
  uint32_t in = instruction.inputs[0].buffer, out = instruction.outputs[0].buffer;
  if (desc.type == ElementType::kF32) {
    return makeKernel([=](void* const* buffers) {
      rows.run(static_cast<const float*>(buffers[in]), static_cast<float*>(buffers[out]));
      return 0;
    });
  }
  GR_ASSIGN_OR_RETURN(uint32_t scratch, scratchBuffer(instruction, rows.scratchBytes()));
  return makeKernel([=](void* const* buffers) {
    rows.run(static_cast<const BFloat16*>(buffers[in]), static_cast<BFloat16*>(buffers[out]),
             static_cast<float*>(buffers[scratch]));
    return 0;
  });
}

}  // namespace graphrun::devices::cpu
