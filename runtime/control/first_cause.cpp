#include "runtime/control/first_cause.h"

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "runtime/control/control.pb.h"
#include "runtime/control/limits.h"

namespace graphrun::runtime {
namespace {

constexpr absl::string_view kPayloadUrl = "graphrun/first_cause";

std::string bounded(const std::string& text) { return text.substr(0, kMaxNameBytes); }

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
  control::FirstCause wire;
  wire.set_node(bounded(cause.node));
  wire.set_op(bounded(cause.op));
  wire.set_device(bounded(cause.device));
  wire.set_worker(bounded(cause.worker));
  status.SetPayload(kPayloadUrl, absl::Cord(wire.SerializeAsString()));
  return status;
}

std::optional<FirstCause> firstCauseOf(const absl::Status& status) {
  auto payload = status.GetPayload(kPayloadUrl);
  control::FirstCause wire;
  if (!payload || !wire.ParseFromString(std::string(*payload))) {
    return std::nullopt;
  }
  return FirstCause{wire.node(), wire.op(), wire.device(), wire.worker()};
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
