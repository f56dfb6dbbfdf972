// Every call, against a service in this process: over a Unix socket and over TCP.
#include "runtime/control/limits.h"
#include "runtime/control/transfer.h"
#include "test_util.h"

namespace graphrun::runtime {

TEST_CASE("join exchanges what both ends must know") {
  TempDir dir;
  std::string listen = GENERATE(as<std::string>(), "127.0.0.1:0", "unix:", "[::1]:0");
  InProcess p(listen == "unix:" ? "unix:" + dir.path + "/w.sock" : listen);
  auto joined = p.client->join();  // again: a lost reply is asked for twice
  requireOk(joined.status());
  REQUIRE(joined->incarnation == p.service->incarnation());
  REQUIRE(joined->offer.transportAddress == "transport of node0");
  REQUIRE(joined->offer.devices.size() == 2);
  REQUIRE(joined->offer.devices[0].name == "cpu:0");
  REQUIRE(joined->offer.devices[0].cores == std::vector<uint32_t>{0, 1});
  REQUIRE(joined->offer.devices[0].memoryBytes == 1 << 30);
  REQUIRE(joined->offer.devices[0].collectives.empty());
  REQUIRE(joined->offer.devices[1].collectives == "toy 1");
  REQUIRE(joined->versions.ucx == "1.13.1");
}

TEST_CASE("a plan of several chunks arrives, is prepared and unloaded") {
  InProcess p;
  std::string plan(3 * kChunkBytes + 17, 'p');
  plan[kChunkBytes] = 'q';
  requireOk(p.client->loadPlan(kPlanQuick, plan));
  REQUIRE(p.handler.planBytes(kPlanQuick) == plan);
  auto report = p.client->preparePlan(kPlanQuick, 0, {});
  requireOk(report.status());
  REQUIRE((*report)[0].device == "node0/cpu:0");
  REQUIRE((*report)[0].peakBytes == 4096);
  REQUIRE((*report)[0].fromCache);
  REQUIRE_FALSE((*report)[0].tuned);
  REQUIRE((*p.client->preparePlan(kPlanQuick, 1'000'000, {}))[0].tuned);
  requireOk(p.client->unloadPlan(kPlanQuick));
  requireError(p.client->preparePlan(kPlanQuick, 0, {}).status(), absl::StatusCode::kNotFound,
               {"worker node0", p.service->address(), "PreparePlan", "plan 1 is not loaded"});
}

TEST_CASE("members of communicators are told where they meet") {
  InProcess p;
  requireOk(p.client->loadPlan(kPlanQuick, "plan"));
  absl::StatusOr<std::vector<std::string>> communicatorIds =
      p.client->newCommunicatorIds(kPlanQuick, {4, 2});
  requireOk(communicatorIds.status());
  REQUIRE(*communicatorIds == std::vector<std::string>{"plan 1, 4", "plan 1, 2"});
  requireOk(p.client->preparePlan(kPlanQuick, 0, {{2, (*communicatorIds)[1]}, {7, ""}}).status());
  REQUIRE(absl::StrContains(*p.client->metrics(), "met=2: plan 1, 2; 7: ; "));
}

TEST_CASE("both ends bound what communicators meet by") {
  InProcess p;
  const std::vector<uint32_t> many(kMaxCommunicators + 1, 0);
  requireError(p.client->newCommunicatorIds(kPlanQuick, many).status(),
               absl::StatusCode::kInvalidArgument, {"1025 communicators, the limit is 1024"});
  requireError(
      p.client->newCommunicatorIds(kPlanFails, {0}).status(), absl::StatusCode::kInternal,
      {"worker node0", "NewCommunicatorIds answered for 1 of 1", "more than 1024 bytes for one"});
  requireError(
      p.client->preparePlan(kPlanQuick, 0, {{3, std::string(kMaxCommunicatorIdBytes + 1, 'x')}})
          .status(),
      absl::StatusCode::kInvalidArgument,
      {"communicator 3 meets by 1025 bytes, the limit is 1024"});
  const std::vector<CommunicatorId> communicatorIds(kMaxCommunicators + 1);
  requireError(p.client->preparePlan(kPlanQuick, 0, communicatorIds).status(),
               absl::StatusCode::kInvalidArgument, {"1025 communicators"});
}

TEST_CASE("only missing weights need to travel, and arrive whole") {
  InProcess p;
  std::string big(2 * kChunkBytes + 5, 'w');
  std::string small = "tiny";
  std::vector<WeightSource> weights = {
      {0, checksumOf(big), big}, {1, checksumOf(small), small}, {2, checksumOf(""), ""}};
  std::vector<WeightId> ids;
  for (const WeightSource& weight : weights) {
    ids.push_back({weight.checksum, weight.data.size()});
  }
  REQUIRE(*p.client->hasWeights(1, ids) == std::vector<bool>{false, false, false});
  std::vector<uint64_t> told;
  requireOk(p.client->putWeights(1, weights, [&](uint64_t bytes) { told.push_back(bytes); }));
  REQUIRE(told == std::vector<uint64_t>{kChunkBytes, 2 * kChunkBytes, big.size(), big.size() + 4,
                                        big.size() + 4});
  REQUIRE(*p.client->hasWeights(1, ids) == std::vector<bool>{true, true, true});
  REQUIRE(absl::StrContains(*p.client->metrics(), absl::StrCat("bytes=", big.size() + 4)));
}

TEST_CASE("a model file that changed under its checksums is noticed") {
  InProcess p;
  std::string data = "abcdef";
  const std::vector<WeightSource> weights = {{7, checksumOf("abcdeg"), data}};
  requireError(p.client->putWeights(1, weights, [](uint64_t) {}), absl::StatusCode::kDataLoss,
               {"worker node0", "PutWeights", "weight 7"});
}

TEST_CASE("peers get each other's address and token") {
  InProcess p;
  LinkTokens tokens;
  requireOk(p.client->connectPeers(
      0, std::vector<PeerInfo>{{1, "node1", "addr1", *tokens.tokenOf(0, 1)}}));
  REQUIRE(absl::StrContains(*p.client->metrics(), "rank 0, 1=node1@addr1#16"));
  requireError(p.client->connectPeers(0, std::vector<PeerInfo>{{1, "node1", "addr1", "short"}}),
               absl::StatusCode::kInvalidArgument, {"token of 5 bytes"});
}

TEST_CASE("the failure of a step comes back with its first cause") {
  InProcess p;
  p.handler.endSteps(withFirstCause(absl::InternalError("division of nothing by nothing"),
                                    {"conv1", "gr.conv", "node0/cpu:0", ""}));
  Serving failing(*p.client);
  REQUIRE(failing.run == 1);
  absl::Status failed = failing.wait();
  requireError(failed, absl::StatusCode::kInternal, {"worker node0", "division"});
  REQUIRE(firstCauseOf(failed) == FirstCause{"conv1", "gr.conv", "node0/cpu:0", ""});
  p.handler.endSteps(absl::FailedPreconditionError("plan 99 is not loaded"));
  Serving next(*p.client);
  REQUIRE(firstCauseOf(next.wait())->worker == "node0");
  REQUIRE(next.run == 2);  // the number of its line on the tensor plane, at both ends
  REQUIRE(absl::StrContains(*p.client->metrics(), "served=2"));
}

TEST_CASE("a worker that stops serving steps without a reason has failed") {
  InProcess p;
  p.handler.endSteps(absl::OkStatus());
  requireError(Serving(*p.client).wait(), absl::StatusCode::kInternal,
               {"worker node0", "stopped serving steps without a reason"});
}

TEST_CASE("cancel ends what serves steps, and the worker is free again") {
  InProcess p;
  requireOk(p.client->cancel(absl::CancelledError("nothing is there")));
  Serving serving(*p.client);
  absl::Status cause =
      withFirstCause(absl::UnavailableError("lost worker node1"), {.worker = "node1"});
  requireOk(p.client->cancel(cause));  // may overtake the call
  absl::Status status = serving.wait();
  requireError(status, absl::StatusCode::kUnavailable, {"lost worker node1"});
  REQUIRE(firstCauseOf(status)->worker == "node1");
  p.handler.endSteps(absl::InternalError("the next one"));
  requireError(Serving(*p.client).wait(), absl::StatusCode::kInternal, {"the next one"});
}

TEST_CASE("what a handler throws is a failure of the call, which can be cancelled and made anew") {
  InProcess p;
  p.handler.throwInSteps(true);
  requireError(Serving(*p.client).wait(), absl::StatusCode::kResourceExhausted,
               {"worker node0", "no memory left"});
  const auto begin = std::chrono::steady_clock::now();
  requireOk(p.client->cancel(absl::CancelledError("it failed")));
  REQUIRE(std::chrono::steady_clock::now() - begin < 2s);  // it waits for 5 for what still runs
  p.handler.throwInSteps(false);
  p.handler.endSteps(absl::InternalError("the next one"));
  requireError(Serving(*p.client).wait(), absl::StatusCode::kInternal, {"the next one"});
}

TEST_CASE("a trace longer than a message comes whole") {
  InProcess p;
  auto trace = p.client->trace();
  requireOk(trace.status());
  REQUIRE(*trace == std::string(3'500'000, 't'));
}

TEST_CASE("a worker serves one coordinator at a time and is free when it leaves") {
  InProcess p;
  auto options = clientOptions("node0", p.service->address());
  options.joinTimeout = 300ms;
  auto second = *WorkerClient::create(options);
  requireError(second->join().status(), absl::StatusCode::kUnavailable,
               {"worker node0", "did not join within 0.3 s", "busy with job"});
  requireError(second->metrics().status(), absl::StatusCode::kFailedPrecondition, {"not part of"});
  requireOk(p.client->leave(absl::CancelledError("done")));
  REQUIRE(p.handler.waitEnded(1s)[0].message() == "done");
  requireOk(second->join().status());
  requireError(p.client->metrics().status(), absl::StatusCode::kFailedPrecondition,
               {"not part of"});
  requireError(p.client->leave(absl::CancelledError("twice")),
               absl::StatusCode::kFailedPrecondition);
}

TEST_CASE("nothing is answered before join") {
  InProcess p;
  requireOk(p.client->leave(absl::CancelledError("done")));
  requireError(p.client->loadPlan(1, "x"), absl::StatusCode::kFailedPrecondition, {"not part of"});
  requireError(Serving(*p.client).wait(), absl::StatusCode::kFailedPrecondition);
  requireError(p.client->shutdown(1s), absl::StatusCode::kFailedPrecondition);
}

TEST_CASE("other versions are refused at once, with both named") {
  InProcess p;
  requireOk(p.client->leave(absl::CancelledError("done")));
  auto options = clientOptions("node0", p.service->address());
  options.versions.ucx = "1.17.0";
  auto client = *WorkerClient::create(options);
  auto start = std::chrono::steady_clock::now();
  requireError(client->join().status(), absl::StatusCode::kFailedPrecondition,
               {"worker node0", "UCX", "1.13.1", "1.17.0"});
  REQUIRE(std::chrono::steady_clock::now() - start < 2s);
}

TEST_CASE("stopping the service ends a step and the job") {
  InProcess p;
  Serving step(*p.client);
  std::this_thread::sleep_for(100ms);
  p.service->stop();
  requireError(step.wait(), absl::StatusCode::kUnavailable,
               {"worker node0", "ServeSteps", "its process was told to end"});
  REQUIRE(p.handler.waitEnded(1s).size() == 1);
}

TEST_CASE("one address, one worker") {
  InProcess p;
  FakeHandler other;
  requireError(WorkerService::start({p.service->address(), {}, kTestVersions}, &other).status(),
               absl::StatusCode::kAlreadyExists, {p.service->address()});
}

}  // namespace graphrun::runtime
