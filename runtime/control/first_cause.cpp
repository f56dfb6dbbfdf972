#include "runtime/control/first_cause.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "runtime/base/status_payload.h"
#include "runtime/control/limits.h"

namespace graphrun::runtime {
namespace {

constexpr absl::string_view kPayloadUrl = "graphrun/first_cause";

constexpr char kSeparator = '\0';  // of the parts in the payload

std::string bounded(const std::string& text) {
  std::string part = text.substr(0, kMaxNameBytes);
  std::replace(part.begin(), part.end(), kSeparator, '?');
  return part;
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
  std::string parts[] = {bounded(cause.node), bounded(cause.op), bounded(cause.device),
                         bounded(cause.worker)};
  const std::string text = absl::StrJoin(parts, absl::string_view(&kSeparator, 1));
  setTextPayload(status, kPayloadUrl, text);
  return status;
}

std::optional<FirstCause> firstCauseOf(const absl::Status& status) {
  auto payload = status.GetPayload(kPayloadUrl);
  std::vector<std::string> parts;
  if (payload) {
    parts = absl::StrSplit(std::string(*payload), kSeparator);
  }
  if (parts.size() != 4) {
    return std::nullopt;
  }
  return FirstCause{parts[0], parts[1], parts[2], parts[3]};
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
