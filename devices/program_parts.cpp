#include "devices/program_parts.h"

#include <limits>
#include <set>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"

namespace graphrun::devices {

absl::Status checkFingerprint(const Executable& executable, const std::string& fingerprint) {
  if (executable.fingerprint != fingerprint) {
    return absl::FailedPreconditionError(absl::StrCat("the executable was made for \"",
                                                      executable.fingerprint, "\", this is \"",
                                                      fingerprint, "\"; compile it again"));
  }
  return absl::OkStatus();
}

absl::Status checkMemoryLimit(uint64_t bytes, uint64_t limit, absl::string_view what) {
  if (limit != 0 && bytes > limit) {
    return absl::ResourceExhaustedError(absl::StrCat("needs ", bytes, " bytes for ", what,
                                                     ", the limit is ", limit, "; give it ",
                                                     bytes - limit, " more"));
  }
  return absl::OkStatus();
}

std::vector<Binding> bindingsOf(const std::vector<Endpoint>& endpoints) {
  std::vector<Binding> bindings;
  bindings.reserve(endpoints.size());
  for (const Endpoint& endpoint : endpoints) {
    bindings.push_back({endpoint.name, endpoint.buffer, endpoint.desc.spec()});
  }
  return bindings;
}

std::vector<StateBinding> statesOf(const std::vector<State>& states) {
  std::vector<StateBinding> bindings;
  bindings.reserve(states.size());
  for (const State& state : states) {
    StateBinding binding{state.name, state.buffer, state.next, state.first.desc.spec(), {}};
    binding.first.bytes = state.first.data;
    binding.first.splat = state.first.splat;
    if (state.first.kind == BufferKind::kWeight) {
      binding.first.weight = state.first.index;
    }
    bindings.push_back(std::move(binding));
  }
  return bindings;
}

EdgeBinding bindEdge(const Instruction& instruction, OpRecord& record) {
  const bool send = instruction.kernel == "send";
  const Argument& end = send ? instruction.inputs[0] : instruction.outputs[0];
  record.kind = send ? OpRecord::Kind::kSend : OpRecord::Kind::kReceive;
  record.buffer = end.buffer;
  record.edge = instruction.edge;
  return {instruction.edge, end.buffer, end.desc.spec(), send};
}

absl::StatusOr<std::vector<uint32_t>> communicatorsOf(const Executable& executable) {
  std::set<uint32_t> ids;
  for (const Instruction& instruction : executable.instructions) {
    if (instruction.operation == kCollectiveMember) {
      GR_ASSIGN_OR_RETURN(int64_t id, attribute<int64_t>(instruction, "communicator"));
      if (id < 0 || id > std::numeric_limits<uint32_t>::max()) {
        return absl::InvalidArgumentError(
            absl::StrCat("executable: ", instruction.label, ": there is no communicator ", id));
      }
      ids.insert(static_cast<uint32_t>(id));
    }
  }
  return std::vector<uint32_t>(ids.begin(), ids.end());
}

}  // namespace graphrun::devices
