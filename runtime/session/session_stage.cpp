#include "runtime/session/session_stage.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "runtime/base/status_payload.h"

namespace graphrun::runtime {
namespace {

constexpr absl::string_view kPayloadUrl = "graphrun/session_stage";

}  // namespace

absl::Status atStage(absl::Status status, SessionStage stage) {
  if (!status.ok() && !status.GetPayload(kPayloadUrl)) {
    const std::string text = absl::StrCat(static_cast<int>(stage));
    setTextPayload(status, kPayloadUrl, text);
  }
  return status;
}

SessionStage stageOf(const absl::Status& status) {
  auto payload = status.GetPayload(kPayloadUrl);
  if (!payload || payload->size() != 1) {
    return SessionStage::kRun;
  }
  return static_cast<SessionStage>((*payload)[0] - '0');
}

}  // namespace graphrun::runtime
