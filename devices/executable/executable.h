// An executable as plain data: what a device's compiler fills in, what kernels are made from. The
// file form is executable.fbs. Layouts and code are the device's own.
#ifndef GRAPHRUN_DEVICES_EXECUTABLE_EXECUTABLE_H_
#define GRAPHRUN_DEVICES_EXECUTABLE_EXECUTABLE_H_

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/base/status.h"
#include "runtime/base/tensor.h"

namespace graphrun::devices {

/// Type, dims and layout of a tensor in memory.
struct TensorDesc {
  runtime::ElementType type = runtime::ElementType::kInvalid;
  std::vector<int64_t> dims;
  /// In the device's own form (cpu/onednn_layouts.h, cuda/layouts.h); empty: dense row-major.
  std::vector<uint8_t> layout;
  /// Only while compiling: the kernel may choose the layout (KernelEntry::choose).
  bool any = false;

  bool operator==(const TensorDesc&) const = default;
  runtime::TensorSpec spec() const { return {type, dims}; }
};

/// Row-major strides of `dims`, in elements.
inline std::vector<int64_t> denseStrides(const std::vector<int64_t>& dims) {
  std::vector<int64_t> strides(dims.size(), 1);
  for (size_t d = dims.size(); d > 1; --d) {
    strides[d - 2] = strides[d - 1] * std::max<int64_t>(dims[d - 1], 1);
  }
  return strides;
}

enum class BufferKind : uint8_t {
  kArena,
  kWeight,
  kConstant,
  kInput,
  kOutput,
  kReceive,
  kState,
  kNextState
};

/// Elements of an 8-bit floating-point type, each of which stands for `factor` times itself.
struct Quantization {
  runtime::ElementType type = runtime::ElementType::kInvalid;
  float factor = 1;
};

struct Buffer {
  BufferKind kind = BufferKind::kArena;
  uint64_t offset = 0;  ///< kArena
  uint64_t bytes = 0;   ///< in `desc`'s layout
  uint32_t index = 0;   ///< kWeight: in the plan; kInput, kOutput: endpoint; kReceive: edge;
                        ///< kState, kNextState: in Executable::states
  TensorDesc desc;      ///< kWeight, kConstant: the layout that kernels expect
  std::optional<TensorDesc> source;  ///< kWeight, kConstant: how to read the given bytes
  bool splat = false;                ///< kWeight: one element stands for all
  std::vector<uint8_t> data;         ///< kConstant
  /// kWeight, kConstant: what the given elements are, in place of the source's type (see
  /// devices/executable/quantized_elements.h).
  std::optional<Quantization> quantized;
  /// Only while compiling: the arena buffer that this one is a part of; `offset` counts from there.
  std::optional<uint32_t> within;

  /// Returns whether the program holds its content, from load on.
  bool isStored() const { return kind == BufferKind::kWeight || kind == BufferKind::kConstant; }
};

/// An operand or result: a buffer, seen as a tensor.
struct Argument {
  uint32_t buffer = 0;
  TensorDesc desc;
};

/// The alternatives of format.Attribute, Weight excepted.
using AttributeValue =
    std::variant<int64_t, double, bool, std::string, std::vector<int64_t>, std::vector<double>,
                 std::vector<bool>, std::vector<std::string>, runtime::TensorSpec>;
using Attributes = std::map<std::string, AttributeValue>;

enum class PostOpKind : uint8_t {
  kEltwise,
  kSum,
  kBinaryAdd,
  kBinaryMul,
  kBinaryMax,
  kBinaryMin,
  kBinarySub,
  kBinaryDiv
};

/// A PostOp is what a kernel does with its result before it is stored.
struct PostOp {
  PostOpKind kind = PostOpKind::kEltwise;
  std::string algorithm;            ///< kEltwise: the gr operation
  float alpha = 0;                  ///< kEltwise: its first parameter (alpha, low)
  float beta = 0;                   ///< kEltwise: its second parameter (beta, high)
  std::optional<Argument> operand;  ///< kBinary…
};

/// True where the post-op at `index` only scales what an element-wise one before it gives: the
/// library has a factor behind each.
inline bool onlyScales(const std::vector<PostOp>& postOps, size_t index) {
  return index > 0 && postOps[index].algorithm == "linear" && postOps[index].beta == 0 &&
         postOps[index - 1].kind == PostOpKind::kEltwise &&
         postOps[index - 1].algorithm != "linear";
}

/// Blocks of a launch, or threads of a block; all 0: none.
struct Extent {
  uint32_t x = 0;
  uint32_t y = 0;
  uint32_t z = 0;

  bool operator==(const Extent&) const = default;
  uint64_t volume() const { return uint64_t{x} * y * z; }
};

/// The name of an instruction that is one member's part in a collective: it has the operation's
/// attributes.
inline constexpr char kCollectiveMember[] = "gr.collective_member";

struct Instruction {
  std::string kernel;     ///< name in the kernel list, or "send", "receive"
  std::string operation;  ///< "gr.conv"
  std::string label;      ///< for messages and traces
  std::vector<Argument> inputs;
  std::vector<Argument> outputs;
  Attributes attributes;
  std::vector<PostOp> postOps;
  std::optional<Argument> scratch;
  std::string symbol;   ///< "generated": function in the code image
  uint64_t extent = 0;  ///< "generated": iterations of the outermost parallel loop
  uint64_t grain = 0;   ///< "generated": least iterations worth a thread
  uint32_t edge = 0;    ///< "send", "receive"
  /// "generated": the function's last argument. A GPU's kernel has 64-bit parameters: addresses of
  /// inputs, outputs and scratch (if there is one), then these.
  std::vector<int64_t> sizes;
  uint32_t threads = 0;      ///< that the kernel uses; 0: all of the device
  Extent grid;               ///< "generated" on a GPU: blocks of the launch
  Extent block;              ///< "generated" on a GPU: threads of a block
  uint32_t sharedBytes = 0;  ///< "generated" on a GPU: dynamic shared memory of a block
};

/// An input or output of the executable. Always dense row-major.
struct Endpoint {
  std::string name;
  uint32_t buffer = 0;
  TensorDesc desc;
};

/// A tensor that outlives steps and programs. Always dense row-major.
struct State {
  std::string name;
  uint32_t buffer = 0;           ///< of its value when the step begins
  std::optional<uint32_t> next;  ///< of its value when the next one begins, if it changes
  Buffer first;                  ///< its first value, in no buffer of the program: isStored()
};

struct Executable {
  std::string fingerprint;
  std::vector<Buffer> buffers;
  std::vector<Instruction> instructions;
  std::vector<Endpoint> inputs;
  std::vector<Endpoint> outputs;
  std::vector<State> states;
  uint64_t arenaBytes = 0;
  std::vector<uint8_t> code;  ///< an image as the device loads it; empty: none
};

/// Bytes that a tensor occupies in its layout; InvalidArgument for malformed dims, types, layouts.
using LayoutBytes = absl::StatusOr<uint64_t> (*)(const TensorDesc& desc);

/// Reads and checks the file form: whatever the bytes are, the result is an executable whose
/// buffers, indices and extents are consistent, or InvalidArgument. Kernels check their own
/// operands. `layoutBytes` is the device's.
absl::StatusOr<Executable> readExecutable(absl::Span<const uint8_t> bytes, LayoutBytes layoutBytes);

/// The file form of `executable`.
std::vector<uint8_t> writeExecutable(const Executable& executable);

/// Returns the bytes of weights as they are laid out, of states and of the arena. InvalidArgument
/// when that is more than can be.
absl::StatusOr<uint64_t> memoryOf(const Executable& executable);

/// The consistency that readExecutable demands.
absl::Status checkExecutable(const Executable& executable, LayoutBytes layoutBytes);

/// InvalidArgument that names the instruction's operation.
inline absl::Status invalidInstruction(const Instruction& instruction, absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat(instruction.operation, ": ", what));
}

/// Attribute `name` of `instruction`: `otherwise` when there is none, InvalidArgument when it is of
/// another kind. An int64_t is accepted where a double is wanted.
template <typename T>
absl::StatusOr<T> attributeOr(const Instruction& instruction, const std::string& name,
                              T otherwise) {
  auto found = instruction.attributes.find(name);
  if (found == instruction.attributes.end()) {
    return otherwise;
  }
  if (const T* value = std::get_if<T>(&found->second)) {
    return *value;
  }
  if constexpr (std::is_same_v<T, double>) {
    if (const int64_t* value = std::get_if<int64_t>(&found->second)) {
      return static_cast<double>(*value);
    }
  }
  return absl::InvalidArgumentError(
      absl::StrCat(instruction.operation, " has attribute ", name, " of the wrong kind"));
}

/// Attribute `name` of `instruction`; InvalidArgument when there is none.
template <typename T>
absl::StatusOr<T> attribute(const Instruction& instruction, const std::string& name) {
  if (!instruction.attributes.contains(name)) {
    return absl::InvalidArgumentError(
        absl::StrCat(instruction.operation, " lacks its attribute ", name));
  }
  return attributeOr<T>(instruction, name, T());
}

}  // namespace graphrun::devices

#endif  // GRAPHRUN_DEVICES_EXECUTABLE_EXECUTABLE_H_
