#include "runtime/control/first_cause.h"

#include <iterator>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "runtime/base/status_payload.h"
#include "runtime/control/limits.h"

namespace graphrun::runtime {
namespace {

constexpr absl::string_view kPayloadUrl = "graphrun/first_cause";

/// The payload is text, for whoever prints the status: "node=conv1; op=gr.conv; device=;
/// worker=w1". In its parts what is no plain character is escaped, and so is what ends them.
constexpr absl::string_view kSeparator = "; ";
constexpr absl::string_view kKeys[] = {"node=", "op=", "device=", "worker="};

std::string bounded(const std::string& text) {
  return absl::StrReplaceAll(absl::CEscape(text.substr(0, kMaxNameBytes)), {{";", "\\073"}});
}

}  // namespace

std::string FirstCause::toString() const {
  std::string text;
  if (!node.empty()) {
    absl::StrAppend(&text, "node '", node, "'");
  }
  if (!op.empty()) {
    absl::StrAppend(&text, text.empty() ? "" : " ", "(", op, ")");
  }
  if (!device.empty()) {
    absl::StrAppend(&text, text.empty() ? "" : " ", "on ", device);
  }
  if (!worker.empty()) {
    absl::StrAppend(&text, text.empty() ? "" : " of ", "worker ", worker);
  }
  return text;
}

absl::Status withFirstCause(absl::Status status, const FirstCause& cause) {
  if (status.ok() || status.GetPayload(kPayloadUrl)) {
    return status;
  }
  const std::string* values[] = {&cause.node, &cause.op, &cause.device, &cause.worker};
  std::string text;
  for (size_t i = 0; i < std::size(values); ++i) {
    absl::StrAppend(&text, i == 0 ? "" : kSeparator, kKeys[i], bounded(*values[i]));
  }
  setTextPayload(status, kPayloadUrl, text);
  return status;
}

std::optional<FirstCause> firstCauseOf(const absl::Status& status) {
  auto payload = status.GetPayload(kPayloadUrl);
  if (!payload) {
    return std::nullopt;
  }
  FirstCause cause;
  std::string* values[] = {&cause.node, &cause.op, &cause.device, &cause.worker};
  std::vector<std::string> parts = absl::StrSplit(std::string(*payload), kSeparator);
  for (size_t i = 0; i < std::size(values); ++i) {
    absl::string_view part = parts.size() == std::size(values) ? parts[i] : absl::string_view();
    if (!absl::ConsumePrefix(&part, kKeys[i]) || !absl::CUnescape(part, values[i])) {
      return std::nullopt;
    }
  }
  return cause;
}

bool isDeviceTooSmall(const absl::Status& status) {
  return absl::IsResourceExhausted(status) &&
         !firstCauseOf(status).value_or(FirstCause{}).device.empty();
}

absl::Status annotateKeepingCause(const absl::Status& status, absl::string_view context) {
  if (status.ok()) {
    return status;
  }
  absl::Status annotated(status.code(), absl::StrCat(context, ": ", status.message()));
  if (auto cause = firstCauseOf(status)) {
    annotated = withFirstCause(std::move(annotated), *cause);
  }
  return annotated;
}

}  // namespace graphrun::runtime
