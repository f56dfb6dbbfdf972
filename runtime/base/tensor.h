// Tensors in host memory: a shape, and an owning buffer that is aligned for every kernel.
#ifndef GRAPHRUN_RUNTIME_BASE_TENSOR_H_
#define GRAPHRUN_RUNTIME_BASE_TENSOR_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/base/element_type.h"

namespace graphrun::runtime {

/// Alignment in bytes of every tensor: a cache line, and the widest vector register.
inline constexpr size_t kTensorAlignment = 64;

/// Rounds `bytes` up to a multiple of kTensorAlignment. `bytes` is at most SIZE_MAX - 63.
constexpr size_t alignTensor(size_t bytes) {
  return (bytes + kTensorAlignment - 1) / kTensorAlignment * kTensorAlignment;
}

/// Type and shape of a dense row-major tensor with known dims.
struct TensorSpec {
  ElementType type = ElementType::kInvalid;
  std::vector<int64_t> dims;

  bool operator==(const TensorSpec&) const = default;

  /// Number of elements; 1 for a scalar. All dims must be >= 0.
  int64_t elementCount() const;
  /// Bytes of the dense data, on devices.
  size_t byteSize() const { return static_cast<size_t>(elementCount()) * elementSize(type); }
  /// "2x3xf32", "f32" for a scalar.
  std::string toString() const;
};

/// Bytes of a tensor of `type` and `dims`, or InvalidArgument for a negative dim, an invalid type
/// or a size over 2^62 (hostile files reach this).
absl::StatusOr<size_t> checkedByteSize(ElementType type, absl::Span<const int64_t> dims);

/// An owning tensor in host memory. Movable, not copyable; `clone` copies on purpose.
/// Not synchronised: one writer, or many readers.
class HostTensor {
 public:
  HostTensor() = default;
  /// Allocates uninitialised memory for `spec`, aligned to kTensorAlignment. A tensor of strings
  /// has empty ones instead, in `strings`, and no bytes.
  explicit HostTensor(TensorSpec spec);
  /// In `memory`, of as many bytes as `spec` has, aligned to kTensorAlignment; the tensor keeps it.
  /// Not for strings.
  HostTensor(TensorSpec spec, const std::shared_ptr<void>& memory);
  /// A tensor of strings; as many as `dims` say.
  HostTensor(std::vector<int64_t> dims, std::vector<std::string> strings);

  const TensorSpec& spec() const { return spec_; }
  /// Bytes behind `data`; 0 for a tensor of strings.
  size_t byteSize() const { return bytes_; }
  /// The elements of a tensor of strings, row-major; empty for other types.
  absl::Span<std::string> strings() { return absl::MakeSpan(strings_); }
  absl::Span<const std::string> strings() const { return strings_; }
  void* data() { return data_.get(); }
  const void* data() const { return data_.get(); }

  /// The elements as `T`; sizeof(T) must be the element's size.
  template <typename T>
  absl::Span<T> as() {
    return {static_cast<T*>(data()), bytes_ / sizeof(T)};
  }
  template <typename T>
  absl::Span<const T> as() const {
    return {static_cast<const T*>(data()), bytes_ / sizeof(T)};
  }

  HostTensor clone() const;

 private:
  struct Free {
    std::shared_ptr<void> owner;  // of memory that was lent; null: it is the tensor's own
    void operator()(void* p) const;
  };
  TensorSpec spec_;
  size_t bytes_ = 0;
  std::unique_ptr<void, Free> data_;
  std::vector<std::string> strings_;
};

/// A tensor's name and value: an input or output of a model.
struct NamedTensor {
  std::string name;
  HostTensor tensor;
};

}  // namespace graphrun::runtime

#endif  // GRAPHRUN_RUNTIME_BASE_TENSOR_H_
