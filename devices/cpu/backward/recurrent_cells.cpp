#include "devices/cpu/backward/recurrent_cells.h"

#include <algorithm>

#include "devices/cpu/kernels/given_layouts.h"

namespace graphrun::devices::cpu {
namespace {

absl::Status declined(const Instruction& instruction, absl::string_view what) {
  return absl::UnimplementedError(absl::StrCat(instruction.operation, ": panels are for ", what));
}

}  // namespace

absl::StatusOr<RecurrentPlan> RecurrentPlan::of(const Instruction& instruction, int64_t steps,
                                                int64_t batch, int64_t hidden) {
  GR_ASSIGN_OR_RETURN(std::string name, attribute<std::string>(instruction, "cell"));
  GR_ASSIGN_OR_RETURN(auto names, attribute<std::vector<std::string>>(instruction, "activations"));
  GR_ASSIGN_OR_RETURN(double clip, attributeOr(instruction, "clip", 0.0));
  GR_ASSIGN_OR_RETURN(bool inputForget, attributeOr(instruction, "input_forget", false));
  GR_ASSIGN_OR_RETURN(bool linear, attributeOr(instruction, "linear_before_reset", false));
  GR_ASSIGN_OR_RETURN(bool reverse, attributeOr(instruction, "reverse", false));
  const auto* cell = functions::activations::cellOf(name);
  if (cell == nullptr || !cell->isUsual(names) || clip > 0 || inputForget ||
      (linear && name != "gru") || !instruction.postOps.empty()) {
    return declined(instruction, "the usual activations without options");
  }
  auto isTaken = [](const Argument& a) {
    return a.desc.type == runtime::ElementType::kF32 && (a.desc.any || isDense(a.desc));
  };
  if (!std::all_of(instruction.inputs.begin(), instruction.inputs.end(), isTaken) ||
      !std::all_of(instruction.outputs.begin(), instruction.outputs.end(), isTaken) ||
      std::min({steps, batch, hidden}) < 1) {
    return declined(instruction, "dense tensors of f32 that are not empty");
  }
  return RecurrentPlan{
      cell->kind, cell->gates, steps, batch, hidden, reverse, name == "gru" && !linear};
}

LayoutChoice denseLayouts(const Instruction& instruction, int64_t floats) {
  LayoutChoice choice = givenLayouts(instruction);
  for (TensorDesc& input : choice.inputs) {
    input = {input.type, input.dims};
  }
  for (const Argument& output : instruction.outputs) {
    choice.outputs.push_back({output.desc.type, output.desc.dims});
  }
  choice.scratchBytes = static_cast<uint64_t>(floats) * sizeof(float);
  choice.implementation = "panels";
  return choice;
}

bool haveDims(const std::vector<Argument>& arguments,
              const std::vector<std::vector<int64_t>>& dims) {
  return std::equal(arguments.begin(), arguments.end(), dims.begin(), dims.end(),
                    [](const Argument& a, const auto& wanted) { return a.desc.dims == wanted; });
}

}  // namespace graphrun::devices::cpu
