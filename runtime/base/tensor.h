// Tensors in host memory: a shape, and a buffer that is aligned for every kernel, or the caller's.
#ifndef GRAPHRUN_RUNTIME_BASE_TENSOR_H_
#define GRAPHRUN_RUNTIME_BASE_TENSOR_H_

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <ranges>
#include <string>
#include <type_traits>
#include <utility>
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

/// The element type of a C++ type: kF32 for float, kI64 for int64_t …; kInvalid for others.
template <typename T>
constexpr ElementType elementTypeFor() {
  if constexpr (std::same_as<T, bool>) {
    return ElementType::kBool;
  } else if constexpr (std::floating_point<T>) {
    return sizeof(T) == 4   ? ElementType::kF32
           : sizeof(T) == 8 ? ElementType::kF64
                            : ElementType::kInvalid;
  } else if constexpr (std::integral<T>) {
    constexpr bool kSigned = std::is_signed_v<T>;
    switch (sizeof(T)) {
      case 1:
        return kSigned ? ElementType::kI8 : ElementType::kU8;
      case 2:
        return kSigned ? ElementType::kI16 : ElementType::kU16;
      case 4:
        return kSigned ? ElementType::kI32 : ElementType::kU32;
      default:
        return kSigned ? ElementType::kI64 : ElementType::kU64;
    }
  } else {
    return ElementType::kInvalid;
  }
}

/// Values one behind the other whose C++ type is that of a tensor's elements: a vector, array or
/// span.
template <typename Values>
concept TensorValues =
    std::ranges::contiguous_range<Values> && std::ranges::sized_range<Values> &&
    elementTypeFor<std::remove_cv_t<std::ranges::range_value_t<Values>>>() != ElementType::kInvalid;

/// A tensor in host memory, which owns it unless it is a `view`. Movable, not copyable; `clone`
/// copies on purpose. Not synchronised: one writer, or many readers.
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

  /// A tensor with a copy of `values`, row-major: `HostTensor::from(pixels, {1, 3, 224, 224})`, or
  /// `HostTensor::from({1.0F, 2.0F}, {2, 1})`. InvalidArgument for another number of values than
  /// `dims` have elements.
  template <TensorValues Values>
  static absl::StatusOr<HostTensor> from(const Values& values, std::vector<int64_t> dims) {
    using T = std::remove_cv_t<std::ranges::range_value_t<Values>>;
    return copyOf(elementTypeFor<T>(), std::move(dims), std::ranges::data(values),
                  std::ranges::size(values));
  }
  template <typename T>
    requires(elementTypeFor<T>() != ElementType::kInvalid)
  static absl::StatusOr<HostTensor> from(std::initializer_list<T> values,
                                         std::vector<int64_t> dims) {
    return copyOf(elementTypeFor<T>(), std::move(dims), std::data(values), values.size());
  }

  /// A tensor whose elements are `values` themselves. They stay the caller's: they must live, and
  /// stay where they are, as long as the tensor and every run that was given it. Not of a
  /// temporary. Of const values the tensor is read-only. Where they are not aligned to
  /// kTensorAlignment a run copies them. InvalidArgument as in `from`.
  template <typename Values>
    requires TensorValues<std::remove_reference_t<Values>> && std::ranges::borrowed_range<Values>
  static absl::StatusOr<HostTensor> view(Values&& values, std::vector<int64_t> dims) {
    using Element = std::remove_reference_t<std::ranges::range_reference_t<Values>>;
    return viewOf(elementTypeFor<std::remove_cv_t<Element>>(), std::move(dims),
                  const_cast<void*>(static_cast<const void*>(std::ranges::data(values))),
                  std::ranges::size(values), std::is_const_v<Element>);
  }

  /// Returns whether its elements are const values of the caller: it is an input, and no run writes
  /// to it.
  bool isReadOnly() const { return isReadOnly_; }

  const TensorSpec& spec() const { return spec_; }
  /// Bytes behind `data`; 0 for a tensor of strings.
  size_t byteSize() const { return bytes_; }
  /// The elements of a tensor of strings, row-major; empty for other types.
  absl::Span<std::string> strings() { return absl::MakeSpan(strings_); }
  absl::Span<const std::string> strings() const { return strings_; }
  void* data() { return data_.get(); }
  const void* data() const { return data_.get(); }

  /// The elements, row-major; InvalidArgument when their type is not that of `T`
  /// (elementTypeFor). Not of a read-only tensor, except as const. Types that C++ does not have
  /// (f16, bf16 …) are reached by `as`.
  template <typename T>
  absl::StatusOr<absl::Span<T>> elements() {
    absl::Status fits = checkElements(elementTypeFor<T>(), /*toWrite=*/true);
    return fits.ok() ? absl::StatusOr<absl::Span<T>>(as<T>()) : fits;
  }
  template <typename T>
  absl::StatusOr<absl::Span<const T>> elements() const {
    absl::Status fits = checkElements(elementTypeFor<T>(), /*toWrite=*/false);
    return fits.ok() ? absl::StatusOr<absl::Span<const T>>(as<T>()) : fits;
  }

  /// The elements' bytes as `T`, not checked: sizeof(T) must be the element's size.
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
  static absl::StatusOr<HostTensor> copyOf(ElementType type, std::vector<int64_t> dims,
                                           const void* values, size_t count);
  static absl::StatusOr<HostTensor> viewOf(ElementType type, std::vector<int64_t> dims,
                                           void* values, size_t count, bool isConst);
  absl::Status checkElements(ElementType asked, bool toWrite) const;

  TensorSpec spec_;
  size_t bytes_ = 0;
  bool isReadOnly_ = false;
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
