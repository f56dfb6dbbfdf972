// IDX files, in which MNIST and its relatives come, hold one tensor a file.
#ifndef GRAPHRUN_RUNTIME_DATA_IDX_FILE_H_
#define GRAPHRUN_RUNTIME_DATA_IDX_FILE_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "runtime/base/tensor.h"

namespace graphrun::runtime {

/// Reads an IDX file (yann.lecun.com/exdb/mnist: two zero bytes, the element type, the number of
/// dims, the dims and the elements row-major, all big-endian), plain or compressed by gzip, which
/// its first bytes tell. Types are u8, i8, i16, i32, f32 and f64; at most 8 dims. Fails with
/// NotFound or PermissionDenied, with InvalidArgument for what is no IDX file or not exactly as
/// long as its header says, with ResourceExhausted where memory has no room. A header never makes
/// it allocate more than 1,032 times the size of the file.
absl::StatusOr<HostTensor> readIdx(const std::string& path);

/// As readIdx, of a file in memory; `name` is for messages.
absl::StatusOr<HostTensor> parseIdx(absl::Span<const uint8_t> bytes, absl::string_view name);

}  // namespace graphrun::runtime

#endif  // GRAPHRUN_RUNTIME_DATA_IDX_FILE_H_
