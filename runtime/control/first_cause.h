// The first cause says where a failure began; absl::Status carries it as a payload from the kernel
// to the user.
#ifndef GRAPHRUN_RUNTIME_CONTROL_FIRST_CAUSE_H_
#define GRAPHRUN_RUNTIME_CONTROL_FIRST_CAUSE_H_

#include <optional>
#include <string>

#include "absl/status/status.h"

namespace graphrun::runtime {

/// Where a failure happened; parts that are not known are empty.
struct FirstCause {
  std::string node;    // name of the operation in the model
  std::string op;      // "gr.conv"
  std::string device;  // "node0/cpu:0"
  std::string worker;  // "node0"

  bool operator==(const FirstCause&) const = default;
  /// "node 'conv1' (gr.conv) on node0/cpu:0 of worker node0"; "" when nothing is known.
  std::string toString() const;
};

/// Adds `cause` to a failed status unless it has one: the first one stays. OK stays OK.
absl::Status withFirstCause(absl::Status status, const FirstCause& cause);

/// The cause that a status carries, or nothing.
std::optional<FirstCause> firstCauseOf(const absl::Status& status);

/// Returns whether a device refused its part of a plan for want of memory: another plan may do. A
/// full disk, or too few file descriptors, are of a process and name no device.
bool isDeviceTooSmall(const absl::Status& status);

/// `status` with `context` before its message; unlike annotate, keeps the first cause.
absl::Status annotateKeepingCause(const absl::Status& status, absl::string_view context);

}  // namespace graphrun::runtime

#endif  // GRAPHRUN_RUNTIME_CONTROL_FIRST_CAUSE_H_
