#include "devices/executable/kernel_refusals.h"

#include <iterator>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "devices/executable/instruction_text.h"
#include "runtime/base/status.h"
#include "runtime/base/status_payload.h"

namespace graphrun::devices {
namespace {

/// The payload is text, for whoever prints the status: a line a refusal, its parts escaped.
constexpr absl::string_view kPayloadUrl = "graphrun/refused_kernels";

std::string tensorText(const TensorDesc& desc, TensorRole) {
  return absl::StrCat(" ", desc.spec().toString(), desc.layout.empty() ? "" : "@",
                      absl::BytesToHexString(
                          {reinterpret_cast<const char*>(desc.layout.data()), desc.layout.size()}));
}

/// Returns an instruction's line without its library's first plan, which decides nothing: all were
/// tried.
std::string lineOf(const Instruction& instruction, absl::string_view kernel) {
  Instruction asked = instruction;
  asked.attributes.erase("plan");
  return absl::StrCat(kernel, " ", textOfInstruction(asked, tensorText));
}

/// Returns whether an error is about the instruction, not about the device's state.
bool isRefusal(const absl::Status& made, const Instruction& instruction) {
  return instruction.kernel != "generated" && instruction.kernel != "copy" &&
         (absl::IsUnimplemented(made) || absl::IsInvalidArgument(made) ||
          absl::IsFailedPrecondition(made));
}

}  // namespace

RefusedKernels::RefusedKernels(absl::string_view text) {
  for (absl::string_view line : absl::StrSplit(text, '\n', absl::SkipEmpty())) {
    instructions_.emplace(line);
  }
}

bool RefusedKernels::contains(const Instruction& instruction, absl::string_view kernel) const {
  return !instructions_.empty() && instructions_.contains(lineOf(instruction, kernel));
}

bool RefusedKernels::add(const KernelRefusal& refusal) {
  return instructions_.insert(refusal.instruction).second;
}

std::string RefusedKernels::text() const { return absl::StrJoin(instructions_, "\n"); }

absl::Status RefusalCollector::take(const absl::Status& made, const Instruction& instruction,
                                    size_t index) {
  absl::Status told =
      runtime::annotate(made, absl::StrCat("instruction ", index, " ", instruction.label, " (",
                                           instruction.kernel, " ", instruction.operation, ")"));
  if (!isRefusal(made, instruction)) {
    return told;
  }
  first_.Update(told);
  refusals_.push_back({instruction.label, instruction.kernel, std::string(made.message()),
                       lineOf(instruction, instruction.kernel)});
  return absl::OkStatus();
}

absl::Status RefusalCollector::status() const {
  if (refusals_.empty()) {
    return absl::OkStatus();
  }
  absl::Status status = first_;
  std::string lines;
  for (const KernelRefusal& refusal : refusals_) {
    const std::string* parts[] = {&refusal.label, &refusal.kernel, &refusal.reason,
                                  &refusal.instruction};
    for (size_t i = 0; i < std::size(parts); ++i) {
      absl::StrAppend(&lines, i == 0 ? "" : "\t", absl::CEscape(*parts[i]));
    }
    lines += '\n';
  }
  runtime::setTextPayload(status, kPayloadUrl, lines);
  return status;
}

std::vector<KernelRefusal> refusalsOf(const absl::Status& status) {
  std::vector<KernelRefusal> refusals;
  auto payload = status.GetPayload(kPayloadUrl);
  const std::string lines = payload ? std::string(*payload) : "";
  for (absl::string_view line : absl::StrSplit(lines, '\n', absl::SkipEmpty())) {
    KernelRefusal refusal;
    std::string* parts[] = {&refusal.label, &refusal.kernel, &refusal.reason, &refusal.instruction};
    const std::vector<absl::string_view> texts = absl::StrSplit(line, '\t');
    bool isWhole = texts.size() == std::size(parts);
    for (size_t i = 0; isWhole && i < std::size(parts); ++i) {
      isWhole = absl::CUnescape(texts[i], parts[i]);
    }
    if (isWhole) {
      refusals.push_back(std::move(refusal));
    }
  }
  return refusals;
}

absl::Status annotateKeepingRefusals(const absl::Status& status, absl::string_view context) {
  absl::Status annotated = runtime::annotate(status, context);
  if (auto lines = status.GetPayload(kPayloadUrl)) {
    annotated.SetPayload(kPayloadUrl, *std::move(lines));
  }
  return annotated;
}

}  // namespace graphrun::devices
