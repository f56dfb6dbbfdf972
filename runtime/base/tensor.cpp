#include "runtime/base/tensor.h"

#include <cassert>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

#include "absl/strings/str_cat.h"

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
