#include "runtime/base/tensor_memory.h"

#include <new>

#include "absl/strings/str_cat.h"
#include "runtime/base/cgroup.h"
#include "runtime/base/status.h"
#include "runtime/base/units.h"

namespace graphrun::runtime {
namespace {

/// The limit is a look into several files, which small tensors do without.
constexpr int64_t kLarge = int64_t{64} << 20;

absl::Status tooLarge(const TensorSpec& spec, int64_t bytes, absl::string_view why) {
  return absl::ResourceExhaustedError(
      absl::StrCat("a tensor ", spec.toString(), " takes ", formatBytes(bytes), ", ", why));
}

/// Returns the bytes that the tensor allocates; for strings those of their objects.
absl::StatusOr<int64_t> bytesOf(const TensorSpec& spec) {
  bool isText = spec.type == ElementType::kString;
  constexpr int64_t kTimes = sizeof(std::string) / sizeof(double);
  GR_ASSIGN_OR_RETURN(size_t size,
                      checkedByteSize(isText ? ElementType::kF64 : spec.type, spec.dims));
  auto bytes = static_cast<int64_t>(size);
  return !isText ? bytes : bytes > INT64_MAX / kTimes ? INT64_MAX : bytes * kTimes;
}

}  // namespace

absl::StatusOr<HostTensor> allocateTensor(const TensorSpec& spec) {
  GR_ASSIGN_OR_RETURN(const int64_t bytes, bytesOf(spec));
  const int64_t usable = bytes >= kLarge ? static_cast<int64_t>(usableMemory()) : bytes;
  if (bytes > usable) {
    return tooLarge(spec, bytes,
                    absl::StrCat("and this process may use ", formatBytes(usable), " of memory"));
  }
  try {
    return HostTensor(spec);
  } catch (const std::bad_alloc&) {
    return tooLarge(spec, bytes, "which the system does not give");
  }
}

}  // namespace graphrun::runtime
