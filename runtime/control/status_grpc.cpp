#include "runtime/control/status_grpc.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/control/first_cause.h"
#include "runtime/control/limits.h"

namespace graphrun::runtime {
namespace {

constexpr size_t kMaxDetailBytes = 5 * kMaxNameBytes;

std::string boundedMessage(absl::string_view message) {
  if (message.size() <= kMaxErrorBytes) {
    return std::string(message);
  }
  return absl::StrCat(message.substr(0, kMaxErrorBytes), " … (", message.size() - kMaxErrorBytes,
                      " more bytes)");
}

absl::StatusCode codeOf(int code) {
  bool known = code >= 0 && code <= static_cast<int>(absl::StatusCode::kUnauthenticated);
  return known ? static_cast<absl::StatusCode>(code) : absl::StatusCode::kUnknown;
}

control::FirstCause toWire(const FirstCause& cause) {
  control::FirstCause wire;
  wire.set_node(cause.node);
  wire.set_op(cause.op);
  wire.set_device(cause.device);
  wire.set_worker(cause.worker);
  return wire;
}

FirstCause fromWire(const control::FirstCause& wire) {
  return {wire.node(), wire.op(), wire.device(), wire.worker()};
}

}  // namespace

grpc::Status toGrpc(const absl::Status& status) {
  if (status.ok()) {
    return grpc::Status::OK;
  }
  auto cause = firstCauseOf(status);
  return grpc::Status(static_cast<grpc::StatusCode>(status.raw_code()),
                      boundedMessage(status.message()),
                      cause ? toWire(*cause).SerializeAsString() : std::string());
}

absl::Status fromGrpc(const grpc::Status& status) {
  if (status.ok()) {
    return absl::OkStatus();
  }
  absl::Status result(codeOf(status.error_code()), boundedMessage(status.error_message()));
  control::FirstCause wire;
  const std::string& details = status.error_details();
  if (!details.empty() && details.size() <= kMaxDetailBytes && wire.ParseFromString(details)) {
    result = withFirstCause(std::move(result), fromWire(wire));
  }
  return result;
}

control::Cause toCause(const absl::Status& status) {
  control::Cause cause;
  cause.set_code(status.raw_code());
  cause.set_message(boundedMessage(status.message()));
  if (auto first = firstCauseOf(status)) {
    *cause.mutable_first() = toWire(*first);
  }
  return cause;
}

absl::Status fromCause(const control::Cause& cause) {
  absl::StatusCode code = codeOf(cause.code());
  if (code == absl::StatusCode::kOk) {
    code = absl::StatusCode::kCancelled;
  }
  absl::Status status(code, boundedMessage(cause.message()));
  if (cause.has_first()) {
    status = withFirstCause(std::move(status), fromWire(cause.first()));
  }
  return status;
}

}  // namespace graphrun::runtime
