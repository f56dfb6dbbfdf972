#include "runtime/session/stage_input.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace graphrun::runtime {
namespace {

/// Largest input whose elements may decide shapes: plans are kept by these elements.
constexpr size_t kMaxDecidingBytes = size_t{1} << 20;

}  // namespace

std::string signatureOf(const Stage& stage, absl::Span<const PlannedInput> inputs) {
  std::string signature = absl::StrCat(stage.id.graph, "#",
                                       stage.remainder == nullptr ? 0 : stage.remainder->hash, ":");
  for (const PlannedInput& input : inputs) {
    absl::StrAppend(&signature, input.spec.toString(), ";");
    if (input.elements != nullptr) {
      signature += '=';  // tells "no elements" from "not given"
      signature.append(static_cast<const char*>(input.elements->data()),
                       input.elements->byteSize());
      for (const std::string& string : input.elements->strings()) {
        absl::StrAppend(&signature, string.size(), "'", string);
      }
    }
  }
  return signature;
}

std::vector<PlannedInput> plannedInputs(absl::Span<const NamedSpec> specs) {
  std::vector<PlannedInput> inputs;
  for (const NamedSpec& spec : specs) {
    inputs.push_back({spec.name, spec.spec, nullptr});
  }
  return inputs;
}

std::vector<PlannedInput> plannedInputs(absl::Span<const StageInput> given) {
  std::vector<PlannedInput> inputs;
  for (const StageInput& input : given) {
    inputs.push_back({input.name, input.tensor->spec(), nullptr});
  }
  return inputs;
}

absl::Status addElements(const std::vector<std::string>& needed,
                         absl::Span<const StageInput> values, std::vector<PlannedInput>& inputs) {
  for (const std::string& name : needed) {
    auto at = std::find_if(values.begin(), values.end(),
                           [&](const StageInput& value) { return value.name == name; });
    auto index = static_cast<size_t>(at - values.begin());
    if (at == values.end() || inputs[index].elements != nullptr) {
      return absl::InternalError(absl::StrCat("the planner asks for the elements of '", name,
                                              "', which is no input or was given"));
    }
    size_t bytes = at->tensor->byteSize();
    for (const std::string& string : at->tensor->strings()) {
      bytes += string.size();
    }
    if (bytes > kMaxDecidingBytes) {
      return absl::InvalidArgumentError(
          absl::StrCat("planning depends on the elements of '", name, "', which has ", bytes,
                       " bytes, expected at most ", kMaxDecidingBytes,
                       " for a value that decides shapes or from which text is computed"));
    }
    inputs[index].elements = at->tensor;
  }
  return absl::OkStatus();
}

std::vector<StageInput> numbered(absl::Span<const StageInput> values, RunStrings& strings) {
  std::vector<StageInput> inputs(values.begin(), values.end());
  for (StageInput& input : inputs) {
    if (input.tensor->spec().type == ElementType::kString) {
      input.owner = std::make_shared<HostTensor>(strings.numbersOf(*input.tensor));
      input.tensor = input.owner.get();
    }
  }
  return inputs;
}

absl::StatusOr<std::vector<StageInput>> stageInputs(const std::vector<std::string>& sources,
                                                    absl::Span<const StageInput> made,
                                                    absl::Span<const NamedTensor> results,
                                                    absl::Span<const StageInput> values) {
  std::vector<StageInput> inputs;
  for (const std::string& source : sources) {
    StageInput input;
    auto take = [&](const StageInput& value) {
      if (value.name == source && input.tensor == nullptr) {
        input = value;
      }
    };
    std::for_each(made.begin(), made.end(), take);
    for (const NamedTensor& result : results) {
      take({result.name, &result.tensor, nullptr});
    }
    std::for_each(values.begin(), values.end(), take);
    if (input.tensor == nullptr) {
      return absl::InternalError(absl::StrCat("no stage made the value '", source, "'"));
    }
    input.name = absl::StrCat("value ", inputs.size());
    inputs.push_back(std::move(input));
  }
  return inputs;
}

}  // namespace graphrun::runtime
