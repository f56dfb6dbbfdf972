// absl::Status becomes grpc::Status and back, with the first cause in the error details.
#ifndef GRAPHRUN_RUNTIME_CONTROL_STATUS_GRPC_H_
#define GRAPHRUN_RUNTIME_CONTROL_STATUS_GRPC_H_

#include <grpcpp/support/status.h>

#include "absl/status/status.h"
#include "runtime/control/control.pb.h"

namespace graphrun::runtime {

/// For the wire: same code, message cut at kMaxErrorBytes, first cause as details.
grpc::Status toGrpc(const absl::Status& status);

/// From the wire: an unknown code becomes kUnknown; malformed details are dropped.
absl::Status fromGrpc(const grpc::Status& status);

/// The message form that Cancel and Leave carry.
control::Cause toCause(const absl::Status& status);
/// Inverse of toCause; code 0 or an unknown one becomes kCancelled or kUnknown: a cause is a
/// failure.
absl::Status fromCause(const control::Cause& cause);

}  // namespace graphrun::runtime

#endif  // GRAPHRUN_RUNTIME_CONTROL_STATUS_GRPC_H_
