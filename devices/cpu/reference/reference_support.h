// Reference kernels share these helpers: checks of operands, and broadcast loops. Internal to
// devices/cpu.
#ifndef GRAPHRUN_DEVICES_CPU_REFERENCE_REFERENCE_SUPPORT_H_
#define GRAPHRUN_DEVICES_CPU_REFERENCE_REFERENCE_SUPPORT_H_

#include <vector>

#include "devices/cpu/base/kernel.h"
#include "devices/cpu/base/onednn_layouts.h"
#include "devices/cpu/reference/reference.h"
#include "devices/cpu/threading/parallel.h"
#include "devices/cpu/vectors/element.h"
#include "devices/executable/broadcast_strides.h"

namespace graphrun::devices::cpu {

using runtime::ElementType;
using Dims = std::vector<int64_t>;
using KernelOr = absl::StatusOr<std::unique_ptr<Kernel>>;

int64_t countOf(absl::Span<const int64_t> dims);

/// The buffer of the instruction's scratch memory; InvalidArgument unless it has that many bytes
/// (as KernelEntry::choose asked).
absl::StatusOr<uint32_t> scratchBuffer(const Instruction& instruction, uint64_t bytes);

/// `axis` counted from the front, or InvalidArgument when it is out of range.
absl::StatusOr<int64_t> normalizeAxis(const Instruction& instruction, int64_t axis, size_t rank);

/// A broadcast of operands to a result as nested loops: rows of `inner` elements, operand i
/// stepping by innerStrides[i]; row r starts at offset(r, i).
class Broadcast {
 public:
  /// InvalidArgument when an operand does not broadcast to `result`.
  static absl::StatusOr<Broadcast> make(const Instruction& instruction, const Dims& result,
                                        absl::Span<const Dims> operands);

  int64_t rows() const { return rows_; }
  int64_t inner() const { return inner_; }
  int64_t innerStride(size_t operand) const { return innerStrides_[operand]; }
  int64_t offset(int64_t row, size_t operand) const {
    int64_t at = 0;
    for (size_t d = outer_.size(); d > 0 && row > 0; --d) {
      at += row % outer_[d - 1] * strides_[operand][d - 1];
      row /= outer_[d - 1];
    }
    return at;
  }

 private:
  Dims outer_;                 ///< dims of the rows
  std::vector<Dims> strides_;  ///< of each operand over them
  Dims innerStrides_;
  int64_t rows_ = 1;
  int64_t inner_ = 1;
};

/// Merges neighbouring dims over which every one of `strides` runs on; dims of 1 go.
void mergeDims(Dims& dims, std::vector<Dims>& strides);

/// A kernel with messages for its codes from 1 on.
class MessageKernel : public Kernel {
 public:
  explicit MessageKernel(absl::Span<const char* const> messages) : messages_(messages) {}
  absl::Status errorMessage(int code) const final;

 private:
  absl::Span<const char* const> messages_;
};

/// A kernel that is a callable `int(void* const* buffers)`.
template <typename Run>
class CallableKernel final : public MessageKernel {
 public:
  CallableKernel(Run run, absl::Span<const char* const> messages)
      : MessageKernel(messages), run_(std::move(run)) {}
  int run(void* const* buffers) override { return run_(buffers); }

 private:
  Run run_;
};

/// `messages` must live for ever (a constant).
template <typename Run>
std::unique_ptr<Kernel> makeKernel(Run run, absl::Span<const char* const> messages = {}) {
  return std::make_unique<CallableKernel<Run>>(std::move(run), messages);
}

/// Calls `f.template operator()<T>()` with an unsigned type of the element's size.
template <typename F>
auto dispatchSize(ElementType type, const F& f) {
  switch (runtime::elementSize(type)) {
    case 8:
      return f.template operator()<uint64_t>();
    case 4:
      return f.template operator()<uint32_t>();
    case 2:
      return f.template operator()<uint16_t>();
    default:
      return f.template operator()<uint8_t>();
  }
}

/// Reads element `i` of an integer tensor.
using ReadInt = int64_t (*)(const void* data, int64_t i);
/// InvalidArgument for a tensor that is not of an integer type.
absl::StatusOr<ReadInt> intReader(const Instruction& instruction, const TensorDesc& desc);

/// An operand that holds positions, read at run time.
struct IntOperand {
  uint32_t buffer;
  ReadInt read;
  int64_t count;
  bool wide;  ///< of i64, as most are: read without a call

  static absl::StatusOr<IntOperand> make(const Instruction& instruction, size_t index) {
    const Argument& argument = instruction.inputs[index];
    GR_ASSIGN_OR_RETURN(ReadInt read, intReader(instruction, argument.desc));
    return IntOperand{argument.buffer, read, countOf(argument.desc.dims),
                      argument.desc.type == ElementType::kI64};
  }
  int64_t at(void* const* buffers, int64_t i) const {
    return wide ? static_cast<const int64_t*>(buffers[buffer])[i] : read(buffers[buffer], i);
  }
};

/// A tensor as lines along an axis: before it, along it, behind it.
struct Lines {
  int64_t outer = 1, dim = 1, inner = 1;

  /// `axis` in [0, rank).
  Lines(absl::Span<const int64_t> dims, int64_t axis)
      : outer(countOf(dims.subspan(0, static_cast<size_t>(axis)))),
        dim(dims[static_cast<size_t>(axis)]),
        inner(countOf(dims.subspan(static_cast<size_t>(axis) + 1))) {}

  int64_t count() const { return outer * inner; }
  /// Offset of element 0 of a line; element i is `i * inner` behind it.
  int64_t start(int64_t line) const { return line / inner * dim * inner + line % inner; }
};

}  // namespace graphrun::devices::cpu

#endif  // GRAPHRUN_DEVICES_CPU_REFERENCE_REFERENCE_SUPPORT_H_
