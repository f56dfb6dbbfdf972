// Where a run first leaves the finite numbers.
#ifndef GRAPHRUN_RUNTIME_SESSION_NOT_FINITE_H_
#define GRAPHRUN_RUNTIME_SESSION_NOT_FINITE_H_

#include <string>

#include "absl/status/statusor.h"
#include "runtime/session/session.h"

namespace graphrun::runtime {

/// See Session::firstNotFinite. `options` are those of the session that asks, `modelPath` is its
/// model.fb, and `states` are its states.
absl::StatusOr<std::string> firstNotFinite(const std::string& modelPath, SessionOptions options,
                                           const std::string& graph, const TensorMap& inputs,
                                           const TensorMap& states);

}  // namespace graphrun::runtime

#endif  // GRAPHRUN_RUNTIME_SESSION_NOT_FINITE_H_
