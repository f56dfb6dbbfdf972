// The loader of every device makes these parts of an executable.
#ifndef GRAPHRUN_DEVICES_PROGRAM_PARTS_H_
#define GRAPHRUN_DEVICES_PROGRAM_PARTS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "devices/device.h"
#include "devices/executable/executable.h"

namespace graphrun::devices {

/// FailedPrecondition for an executable that was made for another device than that of
/// `fingerprint`.
absl::Status checkFingerprint(const Executable& executable, const std::string& fingerprint);

/// ResourceExhausted when `bytes`, needed for `what`, are more than `limit`; 0: there is none.
absl::Status checkMemoryLimit(uint64_t bytes, uint64_t limit, absl::string_view what);

/// Program::inputs or outputs.
std::vector<Binding> bindingsOf(const std::vector<Endpoint>& endpoints);

/// ProgramBindings::states.
std::vector<StateBinding> statesOf(const std::vector<State>& states);

/// Makes `record` that of a send or receive instruction; its label is left as it is. Returns the
/// edge.
EdgeBinding bindEdge(const Instruction& instruction, OpRecord& record);

/// CollectiveProgram::communicators. InvalidArgument for a member's instruction that names none.
absl::StatusOr<std::vector<uint32_t>> communicatorsOf(const Executable& executable);

}  // namespace graphrun::devices

#endif  // GRAPHRUN_DEVICES_PROGRAM_PARTS_H_
