// SessionStates reads and sets the states of a session's model.
#ifndef GRAPHRUN_RUNTIME_SESSION_SESSION_STATES_H_
#define GRAPHRUN_RUNTIME_SESSION_SESSION_STATES_H_

#include <map>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/session/session_setup.h"

namespace graphrun::runtime {

/// For whoever is alone with the session: no run is in flight.
class SessionStates {
 public:
  /// `workers`: those that have states, by the states' names. Both must outlive it.
  SessionStates(SessionSetup& setup, const std::map<std::string, std::string>& workers)
      : setup_(setup), workers_(workers) {}

  /// See Session::states and Session::setStates.
  absl::StatusOr<TensorMap> get();
  absl::Status set(const TensorMap& values);
  /// Unimplemented names a state on another process's worker.
  absl::Status checkAreHere() const;

 private:
  /// The states of all graphs: the indices of their first values in the model's weights.
  std::map<std::string, uint32_t> known() const;
  absl::Status checkIsHere(const std::string& state) const;
  absl::StatusOr<HostTensor> firstValue(uint32_t weight) const;

  SessionSetup& setup_;
  const std::map<std::string, std::string>& workers_;
};

}  // namespace graphrun::runtime

#endif  // GRAPHRUN_RUNTIME_SESSION_SESSION_STATES_H_
