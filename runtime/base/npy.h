// NumPy's .npy files hold one tensor a file.
#ifndef GRAPHRUN_RUNTIME_BASE_NPY_H_
#define GRAPHRUN_RUNTIME_BASE_NPY_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "runtime/base/tensor.h"

namespace graphrun::runtime {

/// Reads a .npy file of format 1.0, 2.0 or 3.0 (numpy.lib.format): all element types of GraphRun,
/// either byte order, C or Fortran order (the result is row-major). bf16, which NumPy does not
/// have, is the 2-byte void "V2" that the ml_dtypes package writes. The reduced types are all "V1"
/// there (f8e5m2 also "f1"): such a file is read as `expected`, which must be one of them; for
/// other files it does not matter. Fails with NotFound or PermissionDenied, with InvalidArgument
/// for a dtype that GraphRun has not, a damaged header, or data that is not exactly as long as the
/// header says; nothing is allocated before that is known.
absl::StatusOr<HostTensor> readNpy(const std::string& path,
                                   ElementType expected = ElementType::kInvalid);

/// As readNpy, of a file in memory; `name` is for messages.
absl::StatusOr<HostTensor> parseNpy(absl::Span<const uint8_t> bytes, absl::string_view name,
                                    ElementType expected = ElementType::kInvalid);

/// Writes `tensor` in format 1.0, C order, little-endian; `path` appears whole or not at all.
absl::Status writeNpy(const std::string& path, const HostTensor& tensor);

/// The bytes of the header that writeNpy puts before the data; a multiple of 64 long.
std::vector<uint8_t> npyHeader(const TensorSpec& spec);

}  // namespace graphrun::runtime

#endif  // GRAPHRUN_RUNTIME_BASE_NPY_H_
