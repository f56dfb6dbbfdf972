#include "runtime/control/address.h"

#include "runtime/control/credentials.h"
#include "test_util.h"

namespace graphrun::runtime {

TEST_CASE("addresses are read in all three forms") {
  auto unixAddress = parseAddress("unix:/run/x.sock");
  REQUIRE(unixAddress->path == "/run/x.sock");
  REQUIRE(unixAddress->isLocal());
  REQUIRE(parseAddress("127.0.0.3:70")->isLocal());
  REQUIRE(parseAddress("localhost:70")->toString() == "127.0.0.1:70");
  REQUIRE(parseAddress("[::1]:70")->isLocal());
  REQUIRE(parseAddress("[::1]:70")->grpcTarget() == "ipv6:[::1]:70");
  REQUIRE_FALSE(parseAddress("0.0.0.0:70")->isLocal());
  REQUIRE_FALSE(parseAddress("10.0.0.1:70")->isLocal());
  REQUIRE_FALSE(parseAddress("node1:70")->isLocal());
  REQUIRE(parseAddress("node1:70")->grpcTarget() == "dns:///node1:70");
}

TEST_CASE("bad addresses say what was expected") {
  for (std::string bad : {"", "node1", ":70", "node1:x", "node1:70000", "::1:70", "[10.0.0.1]:70",
                          "unix:relative", "a/b:70", "a b:70"}) {
    INFO(bad);
    requireError(parseAddress(bad).status(), absl::StatusCode::kInvalidArgument, {"expected"});
  }
  requireError(parseAddress("unix:/" + std::string(120, 'a')).status(),
               absl::StatusCode::kInvalidArgument, {"takes 107"});
}

TEST_CASE("beyond this machine nothing goes without certificates") {
  for (std::string far : {"10.0.0.1:70", "0.0.0.0:70", "node1:70", "[2001:db8::1]:70"}) {
    Address address = *parseAddress(far);
    requireError(serverCredentials(address, {}).status(), absl::StatusCode::kFailedPrecondition,
                 {far, "graphrun certs DIR"});
    requireError(channelCredentials(address, {}).status(), absl::StatusCode::kFailedPrecondition,
                 {far, "graphrun certs DIR"});
  }
  FakeHandler handler;
  requireError(WorkerService::start({"0.0.0.0:0", {}, kTestVersions}, &handler).status(),
               absl::StatusCode::kFailedPrecondition, {"graphrun certs DIR"});
  requireError(WorkerClient::create(clientOptions("node7", "10.0.0.1:70")).status(),
               absl::StatusCode::kFailedPrecondition, {"node7", "graphrun certs DIR"});
}

}  // namespace graphrun::runtime
