#include "devices/executable/instruction_text.h"

#include <algorithm>

#include "absl/strings/str_join.h"

namespace graphrun::devices {
namespace {

struct AttributeText {
  std::string operator()(int64_t value) const { return absl::StrCat(value); }
  std::string operator()(double value) const { return absl::StrCat(value); }
  std::string operator()(bool value) const { return value ? "true" : "false"; }
  std::string operator()(const std::string& value) const { return value; }
  std::string operator()(const runtime::TensorSpec& value) const { return value.toString(); }
  template <typename T>
  std::string operator()(const std::vector<T>& values) const {
    return absl::StrJoin(values, ",");
  }
};

/// The parameters of a post-op where they decide what it takes: numbers to calculate with do not,
/// unless there are others for the same.
std::string describeParameters(const std::vector<PostOp>& postOps, size_t index) {
  const std::string& algorithm = postOps[index].algorithm;
  if (onlyScales(postOps, index)) {
    return "*";
  }
  int same = 0;
  for (size_t i = 0; i < postOps.size(); ++i) {
    same += postOps[i].algorithm == algorithm && !onlyScales(postOps, i) ? 1 : 0;
  }
  bool calculates = algorithm == "linear" || algorithm == "gr.clip";
  return calculates && same == 1
             ? ""
             : absl::StrCat(",", postOps[index].alpha, ",", postOps[index].beta);
}

}  // namespace

std::string textOfInstruction(const Instruction& instruction, TensorText tensor) {
  std::string text = instruction.operation;
  for (const auto& [name, value] : instruction.attributes) {
    // Scales are many numbers, of which none takes longer than another.
    const auto* scales = name == "scales" ? std::get_if<std::vector<double>>(&value) : nullptr;
    absl::StrAppend(
        &text, " ", name, "=",
        scales != nullptr ? absl::StrCat(scales->size()) : std::visit(AttributeText(), value));
  }
  for (const Argument& input : instruction.inputs) {
    text += tensor(input.desc, TensorRole::kInput);
  }
  text += " ->";
  for (const Argument& output : instruction.outputs) {
    text += tensor(output.desc, TensorRole::kOther);
  }
  for (size_t i = 0; i < instruction.postOps.size(); ++i) {
    const PostOp& post = instruction.postOps[i];
    absl::StrAppend(&text, " +", static_cast<int>(post.kind), post.algorithm,
                    describeParameters(instruction.postOps, i));
    if (post.operand) {
      text += tensor(post.operand->desc, TensorRole::kOther);
    }
  }
  // A name in an attribute must not look like the end of a line, or of a column.
  std::replace_if(text.begin(), text.end(), [](char c) { return c == '\n' || c == '\t'; }, ' ');
  return text;
}

}  // namespace graphrun::devices
