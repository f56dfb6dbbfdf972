#include "runtime/control/status_grpc.h"

#include <optional>

#include "runtime/control/limits.h"
#include "runtime/control/run_ledger.h"
#include "runtime/control/versions.h"
#include "test_util.h"

namespace graphrun::runtime {

TEST_CASE("a status crosses the wire with its code, message and first cause") {
  FirstCause cause{"conv\xff", "gr.conv", "node0/cpu:0", "node0"};  // names need not be UTF-8
  for (int code = 1; code <= 16; ++code) {
    absl::Status status(static_cast<absl::StatusCode>(code), "it broke");
    absl::Status back = fromGrpc(toGrpc(withFirstCause(status, cause)));
    REQUIRE(back.code() == status.code());
    REQUIRE(back.message() == "it broke");
    REQUIRE(firstCauseOf(back) == cause);
    REQUIRE(fromCause(toCause(back)) == back);
  }
  REQUIRE(fromGrpc(toGrpc(absl::OkStatus())).ok());
}

TEST_CASE("a hostile status is tamed") {
  absl::Status longOne = absl::InternalError(std::string(100'000, 'x'));
  REQUIRE(fromGrpc(toGrpc(longOne)).message().size() < kMaxErrorBytes + 100);
  REQUIRE(fromGrpc(grpc::Status(static_cast<grpc::StatusCode>(30), "m")).code() ==
          absl::StatusCode::kUnknown);
  absl::Status garbage =
      fromGrpc(grpc::Status(grpc::StatusCode::INTERNAL, "m", "\xff\xff\xff garbage"));
  REQUIRE(garbage.code() == absl::StatusCode::kInternal);
  REQUIRE_FALSE(firstCauseOf(garbage));
  REQUIRE_FALSE(fromCause(control::Cause()).ok());
}

TEST_CASE("the first cause stays, also through annotation") {
  absl::Status status =
      withFirstCause(absl::InternalError("m"), {.node = "first", .worker = "node1"});
  status = withFirstCause(status, {.node = "second"});
  status = annotateKeepingCause(status, "step 7");
  REQUIRE(status.message() == "step 7: m");
  REQUIRE(firstCauseOf(status)->node == "first");
  REQUIRE(firstCauseOf(status)->toString() == "node 'first' of worker node1");
  REQUIRE(withFirstCause(absl::OkStatus(), {.node = "x"}).ok());
}

TEST_CASE("who prints a status gets text, and odd names come back") {
  FirstCause cause{"a; op=b\n\x01", "gr.conv", "node0/cpu:0", ""};
  absl::Status status = withFirstCause(absl::InternalError("m"), cause);
  REQUIRE(firstCauseOf(status) == cause);
  std::string text(*status.GetPayload("graphrun/first_cause"));
  REQUIRE(text == "node=a\\073 op=b\\n\\001; op=gr.conv; device=node0/cpu:0; worker=");
}

TEST_CASE("builds that do not fit are told apart") {
  BuildVersions ours{"0.1.0", "1.13.1"};
  requireOk(checkCompatible(ours, kControlProtocol, {"0.1.0", "1.13.9"}));
  requireOk(checkCompatible(ours, kControlProtocol, {"0.1.0", ""}));
  requireError(checkCompatible(ours, 7, ours), absl::StatusCode::kFailedPrecondition,
               {"control protocol", "7"});
  requireError(checkCompatible(ours, kControlProtocol, {"0.2.0", "1.13.1"}),
               absl::StatusCode::kFailedPrecondition, {"GraphRun", "0.1.0", "0.2.0"});
  requireError(checkCompatible(ours, kControlProtocol, {"0.1.0", "1.15.0"}),
               absl::StatusCode::kFailedPrecondition, {"UCX", "1.15.0"});
}

TEST_CASE("tokens are one a pair, and secrets differ") {
  LinkTokens tokens;
  std::string token = *tokens.tokenOf(0, 1);
  REQUIRE(token.size() == kSecretBytes);
  REQUIRE(*tokens.tokenOf(1, 0) == token);
  REQUIRE(*tokens.tokenOf(0, 2) != token);
  REQUIRE(*randomSecret() != *randomSecret());
  REQUIRE(*randomIncarnation() != *randomIncarnation());
}

TEST_CASE("a cancellation also meets the run that comes after it") {
  RunLedger ledger;
  auto first = std::make_optional(ledger.begin(1));
  requireOk(first->status());
  ledger.cancel(2, absl::AbortedError("node1 failed"));
  REQUIRE_FALSE(ledger.settled(10ms));
  requireError(ledger.begin(2).status(), absl::StatusCode::kAborted, {"node1 failed"});
  requireOk(ledger.begin(3).status());
  first.reset();
  REQUIRE(ledger.settled(10ms));
  ledger.reset();
  requireOk(ledger.begin(1).status());
}

}  // namespace graphrun::runtime
