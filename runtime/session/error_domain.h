// absl::Status carries the domain of a failure as a payload.
#ifndef GRAPHRUN_RUNTIME_SESSION_ERROR_DOMAIN_H_
#define GRAPHRUN_RUNTIME_SESSION_ERROR_DOMAIN_H_

#include "absl/status/status.h"
#include "runtime/session/session.h"

namespace graphrun::runtime {

/// Marks a failed status unless it is marked already; OK stays OK.
absl::Status inDomain(absl::Status status, ErrorDomain stage);

}  // namespace graphrun::runtime

#endif  // GRAPHRUN_RUNTIME_SESSION_ERROR_DOMAIN_H_
