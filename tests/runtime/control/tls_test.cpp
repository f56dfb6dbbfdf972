// Who may talk to a worker that has certificates. TLS is forced on loopback by giving them.
#include "runtime/control/certs.h"
#include "test_util.h"

namespace graphrun::runtime {
namespace {

Security filesOf(const std::string& dir, const std::string& name) {
  return {dir + "/ca.pem", dir + "/" + name + ".pem", dir + "/" + name + ".key"};
}

struct Cluster {
  Cluster() {
    requireOk(makeCertificates(ours, {{"node0", "127.0.0.1"}, {"node1", "127.0.0.1"}}));
    requireOk(makeCertificates(theirs, {{"node0", "127.0.0.1"}}));
    auto started =
        WorkerService::start({"127.0.0.1:0", filesOf(ours, "node0"), kTestVersions}, &handler);
    requireOk(started.status());
    service = std::move(*started);
  }
  absl::Status joinAs(const Security& security, std::string address = "") {
    auto options = clientOptions("node0", address.empty() ? service->address() : address);
    options.security = security;
    options.joinTimeout = 1500ms;
    auto client = WorkerClient::create(options);
    return client.ok() ? (*client)->join().status() : client.status();
  }
  TempDir dir;
  std::string ours = dir.path + "/ours";
  std::string theirs = dir.path + "/theirs";
  FakeHandler handler;
  std::unique_ptr<WorkerService> service;
};

}  // namespace

TEST_CASE("TLS: the coordinator of the same authority is taken") {
  Cluster c;
  requireOk(c.joinAs(filesOf(c.ours, "coordinator")));
}

TEST_CASE("TLS: everybody else is refused, and the handler never hears of it") {
  Cluster c;
  SECTION("no TLS at all") {
    requireError(c.joinAs({}), absl::StatusCode::kUnavailable, {"node0", "certificates"});
  }
  SECTION("a coordinator of another authority") {
    requireError(c.joinAs(filesOf(c.theirs, "coordinator")), absl::StatusCode::kUnavailable,
                 {"node0"});
  }
  SECTION("a stranger's certificate, though our authority is trusted") {
    Security mixed = filesOf(c.theirs, "coordinator");
    mixed.ca = c.ours + "/ca.pem";
    requireError(c.joinAs(mixed), absl::StatusCode::kUnavailable, {"node0"});
  }
  SECTION("another worker's certificate") {
    requireError(c.joinAs(filesOf(c.ours, "node1")), absl::StatusCode::kUnavailable, {"node0"});
  }
  SECTION("no certificate: the client does not even start") {
    requireError(c.joinAs({c.ours + "/ca.pem", "", ""}), absl::StatusCode::kInvalidArgument);
  }
  REQUIRE(c.handler.metrics()->find("plans=0") == 0);
  c.service->stop();
  REQUIRE(c.handler.waitEnded(0ms).empty());  // no job ever began
}

TEST_CASE("TLS: a worker under an address that its certificate does not name is refused") {
  Cluster c;
  FakeHandler handler;
  auto other =
      WorkerService::start({"127.0.0.2:0", filesOf(c.ours, "node0"), kTestVersions}, &handler);
  requireOk(other.status());
  requireError(c.joinAs(filesOf(c.ours, "coordinator"), (*other)->address()),
               absl::StatusCode::kUnavailable, {"127.0.0.2"});
}

TEST_CASE("TLS: a worker with the certificate of another one of its host is refused by name") {
  Cluster c;
  FakeHandler handler;
  auto other =
      WorkerService::start({"127.0.0.1:0", filesOf(c.ours, "node1"), kTestVersions}, &handler);
  requireOk(other.status());
  requireError(c.joinAs(filesOf(c.ours, "coordinator"), (*other)->address()),
               absl::StatusCode::kUnauthenticated,
               {"worker node0", "a certificate of node1, 127.0.0.1", "the name node0"});
}

TEST_CASE("TLS: the coordinator refuses a worker of another authority and a bare one") {
  Cluster c;
  FakeHandler handler;
  auto stranger =
      WorkerService::start({"127.0.0.1:0", filesOf(c.theirs, "node0"), kTestVersions}, &handler);
  requireError(c.joinAs(filesOf(c.ours, "coordinator"), (*stranger)->address()),
               absl::StatusCode::kUnavailable, {"node0"});
  auto bare = WorkerService::start({"127.0.0.1:0", {}, kTestVersions}, &handler);
  requireError(c.joinAs(filesOf(c.ours, "coordinator"), (*bare)->address()),
               absl::StatusCode::kUnavailable, {"node0"});
}

}  // namespace graphrun::runtime
