#include "devices/cpu/kernels/pad_kernel.h"

#include <algorithm>

#include "devices/cpu/base/dim_order.h"
#include "devices/cpu/kernels/given_layouts.h"
#include "devices/cpu/reference/reference_support.h"

namespace graphrun::devices::cpu {
namespace {

constexpr const char* kMessages[] = {"the pads do not give the result's shape"};

absl::Status declined(absl::string_view what) {
  return absl::UnimplementedError(absl::StrCat("gr.pad: rows are copied ", what));
}

absl::Status checkInstruction(const Instruction& instruction) {
  size_t rank = instruction.outputs.empty() ? 0 : instruction.outputs[0].desc.dims.size();
  if (instruction.inputs.size() != 3 || instruction.outputs.size() != 1 || rank == 0 ||
      instruction.inputs[0].desc.dims.size() != rank ||
      instruction.inputs[1].desc.dims != Dims{2 * static_cast<int64_t>(rank)} ||
      countOf(instruction.inputs[2].desc.dims) < 1) {
    return declined("where pads, value and shapes fit");
  }
  for (const Argument* same : {&instruction.inputs[2], &instruction.outputs[0]}) {
    if (same->desc.type != instruction.inputs[0].desc.type) {
      return invalidInstruction(instruction, "is not defined on these element types");
    }
  }
  GR_ASSIGN_OR_RETURN(std::string mode, attribute<std::string>(instruction, "mode"));
  bool plain = instruction.postOps.empty() && isDense(instruction.inputs[1].desc) &&
               isDense(instruction.inputs[2].desc);
  return mode == "constant" && plain ? absl::OkStatus() : declined("in mode \"constant\"");
}

/// The dims as they lie, slowest first, and the pads before them.
class Padding {
 public:
  static absl::StatusOr<Padding> make(const Instruction& instruction) {
    Padding padding;
    GR_ASSIGN_OR_RETURN(padding.order_, dimOrder(instruction.inputs[0].desc));
    GR_ASSIGN_OR_RETURN(padding.pads_, IntOperand::make(instruction, 1));
    for (size_t d : padding.order_) {
      padding.in_.push_back(instruction.inputs[0].desc.dims[d]);
      padding.out_.push_back(instruction.outputs[0].desc.dims[d]);
    }
    padding.begin_.resize(padding.in_.size());
    return padding;
  }

  /// Reads the pads; false when the result has another shape.
  bool update(void* const* buffers) {
    auto rank = static_cast<int64_t>(order_.size());
    rowDim_ = 0;
    for (size_t i = 0; i < order_.size(); ++i) {
      auto d = static_cast<int64_t>(order_[i]);
      int64_t begin = pads_.at(buffers, d);
      int64_t end = pads_.at(buffers, d + rank);
      constexpr int64_t kFar = int64_t{1} << 61;
      if (begin <= -kFar || begin >= kFar || end <= -kFar || end >= kFar ||
          in_[i] + begin + end != out_[i]) {
        return false;
      }
      begin_[i] = begin;
      rowDim_ = begin != 0 || end != 0 ? i : rowDim_;
    }
    return true;
  }

  /// A row is all that lies behind the last padded dim, and that dim.
  template <typename T>
  void copy(const T* from, T value, T* to) const {
    int64_t inner = countOf(absl::MakeConstSpan(in_).subspan(rowDim_ + 1));
    int64_t length = out_[rowDim_] * inner;
    int64_t first = std::clamp<int64_t>(begin_[rowDim_], 0, out_[rowDim_]);
    int64_t last = std::clamp<int64_t>(begin_[rowDim_] + in_[rowDim_], first, out_[rowDim_]);
    parallelFor(countOf(absl::MakeConstSpan(out_).subspan(0, rowDim_)), length, [&](int64_t row) {
      T* at = to + row * length;
      int64_t source = rowOf(row);
      if (source < 0 || first == last) {
        std::fill_n(at, length, value);
        return;
      }
      const T* begin = from + (source * in_[rowDim_] + first - begin_[rowDim_]) * inner;
      at = std::fill_n(at, first * inner, value);
      at = std::copy_n(begin, (last - first) * inner, at);
      std::fill_n(at, (out_[rowDim_] - last) * inner, value);
    });
  }

 private:
  /// The row of the operand that lies at `row` of the result, or -1 in the padding.
  int64_t rowOf(int64_t row) const {
    int64_t source = 0;
    int64_t stride = 1;
    for (size_t i = rowDim_; i-- > 0;) {
      int64_t at = row % out_[i] - begin_[i];
      if (at < 0 || at >= in_[i]) {
        return -1;
      }
      source += at * stride;
      stride *= in_[i];
      row /= out_[i];
    }
    return source;
  }

  std::vector<size_t> order_;
  Dims in_, out_, begin_;
  IntOperand pads_{};
  size_t rowDim_ = 0;
};

}  // namespace

absl::StatusOr<LayoutChoice> choosePad(const Instruction& instruction) {
  GR_RETURN_IF_ERROR(checkInstruction(instruction));
  GR_ASSIGN_OR_RETURN(std::vector<size_t> order, dimOrder(instruction.inputs[0].desc));
  LayoutChoice choice = givenLayouts(instruction);
  GR_ASSIGN_OR_RETURN(TensorDesc result, inDimOrder(instruction.outputs[0].desc, order));
  if (!mayLieAs(instruction, result)) {
    return declined("where operand and result lie alike");
  }
  choice.outputs.push_back(std::move(result));
  choice.implementation = "rows";
  return choice;
}

absl::StatusOr<std::unique_ptr<Kernel>> createPad(const Instruction& instruction, KernelContext&) {
  GR_RETURN_IF_ERROR(choosePad(instruction).status());
  GR_ASSIGN_OR_RETURN(Padding padding, Padding::make(instruction));
  uint32_t in = instruction.inputs[0].buffer;
  uint32_t value = instruction.inputs[2].buffer;
  uint32_t out = instruction.outputs[0].buffer;
  return dispatchSize(instruction.outputs[0].desc.type, [&]<typename T>() -> KernelOr {
    return makeKernel(
        [=, padding = std::move(padding)](void* const* buffers) mutable {
          if (!padding.update(buffers)) {
            return 1;
          }
          padding.copy(static_cast<const T*>(buffers[in]), *static_cast<const T*>(buffers[value]),
                       static_cast<T*>(buffers[out]));
          return 0;
        },
        kMessages);
  });
}

}  // namespace graphrun::devices::cpu
