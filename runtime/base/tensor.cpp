#include "runtime/base/tensor.h"

#include <cassert>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"

namespace graphrun::runtime {

int64_t TensorSpec::elementCount() const {
  int64_t count = 1;
  for (int64_t dim : dims) {
    count *= dim;
  }
  return count;
}

std::string TensorSpec::toString() const {
  std::string text;
  for (int64_t dim : dims) {
    absl::StrAppend(&text, dim, "x");
  }
  absl::StrAppend(&text, elementTypeName(type));
  return text;
}

absl::StatusOr<size_t> checkedByteSize(ElementType type, absl::Span<const int64_t> dims) {
  constexpr int64_t kLimit = int64_t{1} << 62;
  auto bytes = static_cast<int64_t>(elementSize(type));
  if (bytes == 0) {
    return absl::InvalidArgumentError("tensor has an invalid element type");
  }
  bool empty = false;
  for (int64_t dim : dims) {
    if (dim < 0) {
      return absl::InvalidArgumentError(absl::StrCat("tensor has the negative dim ", dim));
    }
    empty = empty || dim == 0;
    if (dim > 0 && bytes > kLimit / dim) {
      return absl::InvalidArgumentError("tensor is larger than 2^62 bytes");
    }
    bytes *= dim > 0 ? dim : 1;
  }
  return empty ? size_t{0} : static_cast<size_t>(bytes);
}

namespace {

/// InvalidArgument unless `spec` is one of a tensor and has `count` elements.
absl::Status checkCount(const TensorSpec& spec, size_t count) {
  GR_RETURN_IF_ERROR(checkedByteSize(spec.type, spec.dims).status());
  const auto expected = static_cast<size_t>(spec.elementCount());
  return count == expected
             ? absl::OkStatus()
             : absl::InvalidArgumentError(absl::StrCat("got ", count, " values for a tensor of ",
                                                       spec.toString(), ", expected ", expected));
}

}  // namespace

absl::StatusOr<HostTensor> HostTensor::copyOf(ElementType type, std::vector<int64_t> dims,
                                              const void* values, size_t count) {
  TensorSpec spec{type, std::move(dims)};
  GR_RETURN_IF_ERROR(checkCount(spec, count));
  HostTensor tensor(std::move(spec));
  if (tensor.byteSize() > 0) {
    std::memcpy(tensor.data(), values, tensor.byteSize());
  }
  return tensor;
}

absl::StatusOr<HostTensor> HostTensor::viewOf(ElementType type, std::vector<int64_t> dims,
                                              void* values, size_t count, bool isConst) {
  TensorSpec spec{type, std::move(dims)};
  GR_RETURN_IF_ERROR(checkCount(spec, count));
  if (count == 0) {
    return HostTensor(std::move(spec));  // an empty range may have no address
  }
  HostTensor tensor(std::move(spec), std::shared_ptr<void>(values, [](void*) {}));
  tensor.isReadOnly_ = isConst;
  return tensor;
}

absl::Status HostTensor::checkElements(ElementType asked, bool toWrite) const {
  if (asked != spec_.type || asked == ElementType::kInvalid) {
    return absl::InvalidArgumentError(absl::StrCat(
        "a tensor of ", spec_.toString(), " was asked for elements of ",
        asked == ElementType::kInvalid ? "a C++ type that no element has" : elementTypeName(asked),
        ", expected ", elementTypeName(spec_.type)));
  }
  return toWrite && isReadOnly_
             ? absl::FailedPreconditionError(absl::StrCat(
                   "a tensor of ", spec_.toString(),
                   " is a view of const values; ask for its elements as const, or clone it"))
             : absl::OkStatus();
}

void HostTensor::Free::operator()(void* p) const {
  if (owner == nullptr) {
    std::free(p);
  }
}

HostTensor::HostTensor(TensorSpec spec) : spec_(std::move(spec)) {
  if (spec_.type == ElementType::kString) {
    strings_.resize(static_cast<size_t>(spec_.elementCount()));
  } else {
    bytes_ = spec_.byteSize();
  }
  // A tensor without elements still has an address, so that kernels need no null check.
  data_.reset(std::aligned_alloc(kTensorAlignment, alignTensor(bytes_ > 0 ? bytes_ : 1)));
  if (data_ == nullptr) {
    throw std::bad_alloc();
  }
}

HostTensor::HostTensor(TensorSpec spec, const std::shared_ptr<void>& memory)
    : spec_(std::move(spec)), bytes_(spec_.byteSize()), data_(memory.get(), Free{memory}) {}

HostTensor::HostTensor(std::vector<int64_t> dims, std::vector<std::string> strings)
    : HostTensor(TensorSpec{ElementType::kString, std::move(dims)}) {
  assert(strings.size() == strings_.size());
  strings_ = std::move(strings);
}

HostTensor HostTensor::clone() const {
  HostTensor copy(spec_);
  if (bytes_ > 0) {
    std::memcpy(copy.data(), data(), bytes_);
  }
  copy.strings_ = strings_;
  return copy;
}

}  // namespace graphrun::runtime
