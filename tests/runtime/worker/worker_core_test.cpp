// Two workers of one plan in this process, joined over the real tensor network, with toy programs.
#include "runtime/worker/worker_core.h"

#include <catch2/catch.hpp>
#include <fstream>
#include <future>
#include <iterator>

#include "runtime/base/clock.h"
#include "runtime/control/first_cause.h"
#include "runtime/format/door_generated.h"
#include "tests/runtime/format/samples.h"
#include "tests/runtime/session/toy_world.h"

namespace graphrun::runtime {
namespace {

using Catch::Matchers::Contains;
using testing::ToyCompiler;

constexpr int64_t kSecond = 1'000'000'000;

/// The chain x + 1 + 2 with an addition on each of the workers "one" and "other"; "client" feeds
/// it.
class ToyPlan {
 public:
  ToyPlan() {
    testing::writeToyModel(folder_.file("toy.fb"), {"toy.add", "toy.add"});
    model = *format::ModelFile::open(folder_.file("toy.fb"));
    format::PlanRequestT request;
    request.cluster_yaml = "{name: one}, {name: other}";
    request.inputs.push_back(std::make_unique<format::NamedShapeT>());
    request.inputs[0]->name = "x";
    request.inputs[0]->dims = {4};
    flatbuffers::FlatBufferBuilder builder;
    builder.Finish(format::PlanRequest::Pack(builder, &request));
    std::ifstream file(folder_.file("toy.fb"), std::ios::binary);
    std::vector<uint8_t> content{std::istreambuf_iterator<char>(file), {}};
    auto response = *compiler.plan(format::AlignedBytes(content).span(), "toy.fb",
                                   {builder.GetBufferPointer(), builder.GetSize()});
    format::PlanResponseT unpacked;
    flatbuffers::GetRoot<format::PlanResponse>(response.data())->UnPackTo(&unpacked);
    bytes.assign(unpacked.plan.begin(), unpacked.plan.end());
    hash = (*format::PlanFile::parse(unpacked.plan))->hash();
  }

  std::unique_ptr<WorkerCore> worker(const std::string& name) {
    WorkerCoreOptions options;
    options.name = name;
    options.compiler = &compiler;
    options.cacheDirectory = folder_.file(name);
    options.makeDevice = testing::makeToyDevice;
    auto core = std::make_unique<WorkerCore>(options);
    core->addModel(model);
    return core;
  }

  ToyCompiler compiler;
  std::shared_ptr<const format::ModelFile> model;
  std::string bytes;
  uint64_t hash = 0;

 private:
  format::TemporaryFolder folder_;
};

/// All workers of the plan, linked, with the plan prepared.
struct ToyCluster {
  ToyCluster() {
    const std::vector<std::string> names = {"client", "one", "other"};
    for (const std::string& name : names) {
      cores.push_back(plan.worker(name));
    }
    for (uint32_t rank = 0; rank < cores.size(); ++rank) {
      std::vector<PeerInfo> peers;
      for (uint32_t peer = 0; peer < cores.size(); ++peer) {
        if (peer != rank) {
          peers.push_back({peer, names[peer], *cores[peer]->networkAddress(),
                           std::string(kSecretBytes, static_cast<char>('a' + rank + peer))});
        }
      }
      REQUIRE(cores[rank]->connectPeers(rank, peers).ok());
      REQUIRE(cores[rank]->loadPlan(plan.hash, plan.bytes).ok());
    }
    std::vector<std::future<absl::Status>> prepared;
    for (const auto& core : cores) {
      prepared.push_back(std::async(
          std::launch::async, [this, &core] { return core->preparePlan(plan.hash, 0).status(); }));
    }
    for (auto& status : prepared) {
      REQUIRE(status.get() == absl::OkStatus());
    }
  }

  ToyPlan plan;
  std::vector<std::unique_ptr<WorkerCore>> cores;
};

// Nobody runs the client's part and that of the first worker, as if both were caught in a deadlock.
TEST_CASE("a worker's own deadline ends its wait for a peer, and says for what it waited") {
  ToyCluster cluster;
  int64_t begin = nowNanos();
  absl::Status status = cluster.cores[2]->runStep({cluster.plan.hash, 0, 1, Millis{300}}).status();
  int64_t took = nowNanos() - begin;
  INFO(status.message());
  CHECK(absl::IsDeadlineExceeded(status));
  CHECK(took >= 3 * kSecond / 10);
  CHECK(took < 2 * kSecond);
  CHECK_THAT(std::string(status.message()), Contains("edge 1 'v1' from one/toy:0 to other/toy:0") &&
                                                Contains("waiting for the payload"));
  std::optional<FirstCause> cause = firstCauseOf(status);
  REQUIRE(cause.has_value());
  CHECK(cause->node == "gr.recv 1");
  CHECK(cause->device == "other/toy:0");
  CHECK(cause->worker == "other");
}

TEST_CASE("a plan that is held longer than the job lasts closes its edges on a live network") {
  ToyCluster cluster;
  std::vector<std::shared_ptr<LoadedPlan>> held;
  for (const auto& core : cluster.cores) {
    held.push_back(*core->prepared(cluster.plan.hash));
    core->endJob(absl::CancelledError("the job is over"));
  }
  cluster.cores.clear();
  held.clear();  // the last to let go may be a thread of gRPC
  SUCCEED("nothing was touched that had gone");
}

}  // namespace
}  // namespace graphrun::runtime
