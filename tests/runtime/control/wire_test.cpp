// What a worker does with clients that do not keep to the protocol.
#include <arpa/inet.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <future>
#include <limits>

#include "absl/strings/str_cat.h"
#include "runtime/control/address.h"
#include "runtime/control/control.grpc.pb.h"
#include "runtime/control/job_gate.h"
#include "runtime/control/limits.h"
#include "runtime/control/transfer.h"
#include "test_util.h"

namespace graphrun::runtime {
namespace {

/// A joined client without the checks of WorkerClient.
struct Raw {
  Raw() {
    auto started = WorkerService::start({"127.0.0.1:0", {}, kTestVersions}, &handler);
    requireOk(started.status());
    service = std::move(*started);
    stub = control::Worker::NewStub(grpc::CreateChannel(
        parseAddress(service->address())->grpcTarget(), grpc::InsecureChannelCredentials()));
  }
  std::unique_ptr<grpc::ClientContext> context() {
    auto context = std::make_unique<grpc::ClientContext>();
    context->set_deadline(std::chrono::system_clock::now() + 10s);
    context->AddMetadata(kJobKey, job);
    return context;
  }
  control::JoinRequest joinRequest() {
    control::JoinRequest request;
    request.mutable_versions()->set_protocol(kControlProtocol);
    request.mutable_versions()->set_graphrun(kTestVersions.graphrun);
    request.mutable_versions()->set_ucx(kTestVersions.ucx);
    request.set_job(job);
    request.set_worker("node0");
    request.set_heartbeat_timeout_ms(60'000);
    return request;
  }
  grpc::Status join(const control::JoinRequest& request) {
    control::JoinReply reply;
    return stub->Join(context().get(), request, &reply);
  }
  grpc::Status put(const control::WeightChunk& chunk) {
    auto c = context();
    control::Done done;
    auto writer = stub->PutWeights(c.get(), &done);
    writer->Write(chunk);
    writer->WritesDone();
    return writer->Finish();
  }
  std::string job = *randomSecret();
  FakeHandler handler;
  std::unique_ptr<WorkerService> service;
  std::unique_ptr<control::Worker::Stub> stub;
};

control::WeightChunk goodChunk(const std::string& data) {
  control::WeightChunk chunk;
  chunk.set_index(3);
  chunk.mutable_id()->set_checksum(checksumOf(data));
  chunk.mutable_id()->set_bytes(data.size());
  chunk.set_data(data);
  chunk.set_chunk_checksum(checksumOf(data));
  return chunk;
}

/// A worker that tells any time as its clock's.
struct WrongClock : control::Worker::Service {
  explicit WrongClock(int64_t time) : clock(time) {
    grpc::ServerBuilder builder;
    int port = 0;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
    builder.RegisterService(this);
    server = builder.BuildAndStart();
    address = absl::StrCat("127.0.0.1:", port);
  }
  ~WrongClock() override { server->Shutdown(); }
  grpc::Status Heartbeat(grpc::ServerContext*, const control::HeartbeatRequest*,
                         control::HeartbeatReply* reply) override {
    reply->set_clock_ns(clock);
    return grpc::Status::OK;
  }
  const int64_t clock;
  std::string address;
  std::unique_ptr<grpc::Server> server;
};

absl::StatusOr<HeartbeatSample> beatOf(int64_t clock) {
  const WrongClock worker(clock);
  auto client = *WorkerClient::create(clientOptions("node0", worker.address));
  std::promise<absl::StatusOr<HeartbeatSample>> answer;
  client->heartbeatAsync(5s, [&](const auto& sample) { answer.set_value(sample); });
  return answer.get_future().get();
}

}  // namespace

TEST_CASE("a clock that no machine has is refused, and the worker with it") {
  requireOk(beatOf(kMaxClockNanos).status());
  requireOk(beatOf(-kMaxClockNanos).status());
  for (int64_t clock : {kMaxClockNanos + 1, -kMaxClockNanos - 1,
                        std::numeric_limits<int64_t>::max(), std::numeric_limits<int64_t>::min()}) {
    requireError(beatOf(clock).status(), absl::StatusCode::kFailedPrecondition,
                 {"worker node0", absl::StrCat(clock, " ns, which no clock reaches")});
  }
}

TEST_CASE("a message over the limit is refused and the worker goes on") {
  Raw raw;
  REQUIRE(raw.join(raw.joinRequest()).ok());
  grpc::Status tooLong = raw.put(goodChunk(std::string(kMaxMessageBytes + 1, 'x')));
  REQUIRE(tooLong.error_code() == grpc::StatusCode::RESOURCE_EXHAUSTED);
  REQUIRE(raw.put(goodChunk("small")).ok());
}

TEST_CASE("damage on the way is told with weight and offset") {
  Raw raw;
  REQUIRE(raw.join(raw.joinRequest()).ok());
  control::WeightChunk chunk = goodChunk("0123456789");
  chunk.mutable_data()->at(4) ^= 0x10;
  grpc::Status status = raw.put(chunk);
  REQUIRE(status.error_code() == grpc::StatusCode::DATA_LOSS);
  REQUIRE(absl::StrContains(status.error_message(), "weight 3 at offset 0 of 10"));
}

TEST_CASE("a call without a job, or with a wrong one, parses nothing") {
  Raw raw;
  REQUIRE(raw.join(raw.joinRequest()).ok());
  raw.job = *randomSecret();
  REQUIRE(raw.put(goodChunk("x")).error_code() == grpc::StatusCode::FAILED_PRECONDITION);
  grpc::ClientContext bare;
  control::Bytes reply;
  REQUIRE(raw.stub->GetMetrics(&bare, control::Done(), &reply).error_code() ==
          grpc::StatusCode::FAILED_PRECONDITION);
}

TEST_CASE("a join that is not in order is refused") {
  Raw raw;
  control::JoinRequest request = raw.joinRequest();
  SECTION("job id") { request.set_job("short"); }
  SECTION("name") { request.set_worker(std::string(kMaxNameBytes + 1, 'n')); }
  REQUIRE(raw.join(request).error_code() == grpc::StatusCode::INVALID_ARGUMENT);
  REQUIRE(raw.join(raw.joinRequest()).ok());
}

TEST_CASE("a protocol that is not ours is refused") {
  Raw raw;
  control::JoinRequest request = raw.joinRequest();
  request.mutable_versions()->set_protocol(kControlProtocol + 1);
  REQUIRE(raw.join(request).error_code() == grpc::StatusCode::FAILED_PRECONDITION);
}

TEST_CASE("noise on the port does not hurt") {
  Raw raw;
  sockaddr_in where{};
  where.sin_family = AF_INET;
  where.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  where.sin_port = htons(static_cast<uint16_t>(parseAddress(raw.service->address())->port));
  for (int i = 0; i < 20; ++i) {
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    REQUIRE(connect(fd, reinterpret_cast<sockaddr*>(&where), sizeof(where)) == 0);
    std::string noise(1000 * i, static_cast<char>(i));
    ssize_t sent = send(fd, noise.data(), noise.size(), MSG_NOSIGNAL);
    static_cast<void>(sent);
    close(fd);
  }
  REQUIRE(raw.join(raw.joinRequest()).ok());
}

}  // namespace graphrun::runtime
