#include "runtime/session/session_states.h"

#include <cstring>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/base/status.h"
#include "runtime/format/graph_states.h"
#include "runtime/format/weight_table.h"
#include "runtime/session/error_domain.h"

namespace graphrun::runtime {

std::map<std::string, uint32_t> SessionStates::known() const {
  std::map<std::string, uint32_t> states;
  for (const format::Graph* graph : setup_.model.model->graphs()) {
    for (const format::GraphState& state : format::statesOf(*graph)) {
      states.emplace(state.name, state.first);
    }
  }
  return states;
}

absl::Status SessionStates::checkIsHere(const std::string& state) const {
  auto worker = workers_.find(state);
  return worker == workers_.end() || worker->second == kClientName
             ? absl::OkStatus()
             : inDomain(absl::UnimplementedError(absl::StrCat(
                            "state '", state, "' is on worker ", worker->second,
                            ", and only states of this process can be read and set; run the "
                            "graphs on devices of this process")),
                        ErrorDomain::kRun);
}

absl::Status SessionStates::checkAreHere() const {
  for (const auto& [name, first] : known()) {
    GR_RETURN_IF_ERROR(checkIsHere(name));
  }
  return absl::OkStatus();
}

absl::StatusOr<HostTensor> SessionStates::firstValue(uint32_t weight) const {
  const format::ModelFile& model = *setup_.model.model;
  absl::StatusOr<absl::Span<const uint8_t>> bytes = model.weight(weight);
  if (!bytes.ok()) {
    return inDomain(bytes.status(), ErrorDomain::kModel);
  }
  HostTensor value(model.weightSpec(weight));
  auto* target = static_cast<uint8_t*>(value.data());
  for (size_t at = 0; at < value.byteSize() && !bytes->empty(); at += bytes->size()) {
    std::memcpy(target + at, bytes->data(), bytes->size());  // of a splat, element after element
  }
  return value;
}

absl::StatusOr<TensorMap> SessionStates::get() {
  TensorMap values;
  for (const auto& [name, first] : known()) {
    GR_RETURN_IF_ERROR(checkIsHere(name));
    std::optional<HostTensor> value = setup_.core->states().get(name);
    if (!value) {
      GR_ASSIGN_OR_RETURN(value, firstValue(first));
    }
    values.emplace(name, *std::move(value));
  }
  return values;
}

absl::Status SessionStates::set(const TensorMap& values) {
  const std::map<std::string, uint32_t> states = known();
  std::vector<std::string> problems;
  bool isMissing = false;
  for (const auto& [name, value] : values) {
    auto state = states.find(name);
    if (state == states.end()) {
      isMissing = true;
      problems.push_back(absl::StrCat("the model has no state '", name, "'"));
      continue;
    }
    GR_RETURN_IF_ERROR(checkIsHere(name));
    const TensorSpec expected = setup_.model.model->weightSpec(state->second);
    if (value.spec() != expected) {
      problems.push_back(absl::StrCat("state '", name, "' is of ", expected.toString(), ", got ",
                                      value.spec().toString()));
    }
  }
  if (!problems.empty()) {
    const std::string text =
        absl::StrCat("model '", setup_.name, "': no state is set: ", absl::StrJoin(problems, "; "));
    return inDomain(
        isMissing ? absl::NotFoundError(text) : absl::Status(absl::InvalidArgumentError(text)),
        ErrorDomain::kInput);
  }
  for (const auto& [name, value] : values) {
    GR_RETURN_IF_ERROR(setup_.core->states().set(name, value));
  }
  return absl::OkStatus();
}

}  // namespace graphrun::runtime
