#include "runtime/session/error_domain.h"

#include <iterator>

#include "runtime/base/status_payload.h"

namespace graphrun::runtime {
namespace {

constexpr absl::string_view kPayloadUrl = "graphrun/session_stage";

/// By stage; the payload is text, for whoever prints the status.
constexpr absl::string_view kNames[] = {"model", "input", "placement", "run"};

}  // namespace

absl::Status inDomain(absl::Status status, ErrorDomain stage) {
  if (!status.ok() && !status.GetPayload(kPayloadUrl)) {
    setTextPayload(status, kPayloadUrl, kNames[static_cast<size_t>(stage)]);
  }
  return status;
}

ErrorDomain domainOf(const absl::Status& status) {
  auto payload = status.GetPayload(kPayloadUrl);
  for (size_t i = 0; payload && i < std::size(kNames); ++i) {
    if (*payload == kNames[i]) {
      return static_cast<ErrorDomain>(i);
    }
  }
  return ErrorDomain::kRun;
}

}  // namespace graphrun::runtime
