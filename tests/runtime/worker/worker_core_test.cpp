// Two workers of one plan in this process, joined over the real tensor network, with toy programs.
#include "runtime/worker/worker_core.h"

#include <catch2/catch.hpp>
#include <fstream>
#include <future>
#include <iterator>

#include "runtime/base/clock.h"
#include "runtime/control/first_cause.h"
#include "runtime/format/compiler_api_generated.h"
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
  explicit ToyPlan(const std::vector<std::string>& ops = {"toy.add", "toy.add"}) {
    testing::writeToyModel(folder_.file("toy.fb"), ops);
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

/// Runs step 0 of a prepared plan, within so many nanoseconds.
absl::Status runStep(WorkerCore& core, uint64_t plan, uint64_t nanos) {
  return core.prepared(plan).value()->run(0, 1, nowNanos() + static_cast<int64_t>(nanos));
}

/// All workers of the plan, linked; with the plan prepared, unless it has to be met for it.
struct ToyCluster {
  explicit ToyCluster(const std::vector<std::string>& ops = {"toy.add", "toy.add"},
                      bool isPrepared = true)
      : plan(ops) {
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
    for (std::future<absl::Status>& status :
         prepare(isPrepared ? cores.size() : 0, std::vector<CommunicatorId>())) {
      REQUIRE(status.get() == absl::OkStatus());
    }
  }

  /// The first workers do, each on a thread.
  std::vector<std::future<absl::Status>> prepare(
      size_t count, const std::vector<CommunicatorId>& communicatorIds) {
    std::vector<std::future<absl::Status>> prepared;
    prepared.reserve(count);
    for (size_t i = 0; i < count; ++i) {
      prepared.push_back(std::async(std::launch::async, [this, i, communicatorIds] {
        return cores[i]->preparePlan(plan.hash, 0, communicatorIds).status();
      }));
    }
    return prepared;
  }

  /// Where the plan's communicator meets, as its first member says.
  std::vector<CommunicatorId> meet() {
    return {{0, cores[1]->newCommunicatorIds(plan.hash, {0}).value()[0]}};
  }

  ToyPlan plan;
  std::vector<std::unique_ptr<WorkerCore>> cores;
};

TEST_CASE("of devices that nobody has any more the last used stay, those in use all") {
  size_t made = 0;
  DeviceSet set([&](const devices::DeviceDescription& description) {
    ++made;
    return testing::makeToyDevice(description);
  });
  auto get = [&](uint64_t limit) {
    devices::DeviceDescription description;
    description.name = "node0/toy:0";
    description.kind = "toy";
    description.memoryBytes = limit;
    return set.get(description).value();
  };
  std::shared_ptr<SharedDevice> held = get(1);
  std::weak_ptr<SharedDevice> first = get(2);
  for (uint64_t limit = 3; limit < 3 + kMaxIdleDevices; ++limit) {
    get(limit);
  }
  CHECK_FALSE(first.expired());  // the one asked for last was in use then
  get(100);
  CHECK(first.expired());
  size_t before = made;
  CHECK(get(1) == held);
  get(100);
  CHECK(made == before);
  get(2);
  CHECK(made == before + 1);
}

// Nobody runs the client's part and that of the first worker, as if both were caught in a deadlock.
TEST_CASE("a link to a peer that is gone fails as links do, with its name") {
  ToyPlan plan;
  auto one = plan.worker("one");
  auto other = plan.worker("other");
  const std::string address = *other->networkAddress();
  other.reset();
  const PeerInfo peer{2, "other", address, std::string(kSecretBytes, 'a')};
  absl::Status status = one->connectPeers(1, {peer});
  CAPTURE(status);
  CHECK(absl::IsUnavailable(status));
  CHECK_THAT(std::string(status.message()), Contains("link from worker one to worker other"));
  CHECK(firstCauseOf(status)->worker == "other");
}

TEST_CASE("a worker's own deadline ends its wait for a peer, and says for what it waited") {
  ToyCluster cluster;
  int64_t begin = nowNanos();
  absl::Status status = runStep(*cluster.cores[2], cluster.plan.hash, 300'000'000);
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

/// What workers do with the steps that a coordinator starts.
struct Served {
  explicit Served(ToyCluster& cluster, uint64_t run) : cluster(cluster) {
    for (uint32_t rank : {1, 2}) {
      ended.push_back(std::async(std::launch::async, [&cluster, rank, run] {
        return cluster.cores[rank]->serveSteps(run);
      }));
      lines.push_back(cluster.cores[0]->openLine(rank, run).value());
    }
  }
  absl::Status start(const StepStart& start) {
    absl::Status status;
    for (const auto& line : lines) {
      absl::StatusOr<uint64_t> number =
          line->start(start, false, WaitOptions::within(20 * kSecond));
      status.Update(number.status());
      last = number.value_or(last);
    }
    return status;
  }
  /// Until both are done with the last start.
  absl::Status wait() {
    for (const auto& line : lines) {
      absl::Status status = cluster.cores[0]->waitForNetwork([&] { return line->takeDone(last); },
                                                             WaitOptions::within(20 * kSecond));
      if (!status.ok()) {
        return status;
      }
    }
    return absl::OkStatus();
  }
  ToyCluster& cluster;
  uint64_t last = 0;
  std::vector<std::unique_ptr<StepStarter>> lines;
  std::vector<std::future<absl::Status>> ended;
};

TEST_CASE("workers run the steps that are started on their lines until they are cancelled") {
  ToyCluster cluster;
  std::shared_ptr<LoadedPlan> own = *cluster.cores[0]->prepared(cluster.plan.hash);
  HostTensor x(own->inputs().at("x").spec);
  HostTensor y(own->outputs().at("y").spec);
  own->bindInput(own->inputs().at("x"), x.data());
  own->bindOutput(own->outputs().at("y"), y.data());
  for (uint64_t run : {1, 2}) {  // a line of its own each time
    Served served(cluster, run);
    for (uint64_t step = 0; step < 3 * kStepLineSlots; ++step) {
      x.as<float>()[0] = static_cast<float>(step);
      REQUIRE(served.start({cluster.plan.hash, 100 * run + step, 20ull * kSecond, 1}).ok());
      REQUIRE(own->run(100 * run + step, 1, nowNanos() + 20 * kSecond).ok());
      REQUIRE(served.wait().ok());
      REQUIRE(y.as<float>()[0] == static_cast<float>(step) + 3);
    }
    for (uint32_t rank : {1, 2}) {
      CHECK(served.ended[rank - 1].wait_for(Millis(0)) == std::future_status::timeout);
      cluster.cores[rank]->cancel(absl::CancelledError("no more steps"));
      CHECK(absl::IsCancelled(served.ended[rank - 1].get()));
    }
  }
}

TEST_CASE("a start that is none, or of a plan that is not there, ends what serves steps") {
  ToyCluster cluster;
  const uint64_t hash = cluster.plan.hash;
  auto endOf = [&](const StepStart& start) {
    Served served(cluster, 1);
    CHECK(served.start(start).ok());
    std::string text = served.ended[0].get().ToString();
    CHECK(served.ended[1].get().ToString() == text);
    return text;
  };
  SECTION("no step") {
    CHECK_THAT(endOf({hash, 0, 1000, 0}),
               Contains("a start of 0 steps from 0 on within 1000 ns, expected 1 to"));
  }
  SECTION("no time") {
    CHECK_THAT(endOf({hash, 0, 0, 1}), Contains("1 steps from 0 on within 0 ns"));
  }
  SECTION("beyond the last number") {
    CHECK_THAT(endOf({hash, kMaxStep + 1, 1000, 1}), Contains("from at most"));
  }
  SECTION("for ever") { CHECK_THAT(endOf({hash, 0, UINT64_MAX, 1}), Contains("ns, expected")); }
  SECTION("more steps than there are numbers") {
    CHECK_THAT(endOf({hash, 0, 1000, uint64_t{1} << 32}), Contains("a start of 4294967296 steps"));
  }
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

TEST_CASE("members of a communicator join at load, whoever comes first, and meet in steps") {
  ToyCluster cluster({"toy.add", "toy.collective", "toy.add"}, false);
  for (std::future<absl::Status>& status : cluster.prepare(3, cluster.meet())) {
    CHECK(status.get().ToString() == "OK");
  }
  std::vector<std::shared_ptr<LoadedPlan>> parts;
  parts.reserve(cluster.cores.size());
  for (const auto& core : cluster.cores) {
    parts.push_back(*core->prepared(cluster.plan.hash));
  }
  HostTensor x(parts[0]->inputs().at("x").spec);
  HostTensor y(parts[0]->outputs().at("y").spec);
  x.as<float>()[0] = 4;
  parts[0]->bindInput(parts[0]->inputs().at("x"), x.data());
  parts[0]->bindOutput(parts[0]->outputs().at("y"), y.data());
  std::vector<std::future<absl::Status>> ran;
  ran.reserve(parts.size());
  for (const auto& part : parts) {
    ran.push_back(
        std::async(std::launch::async, [&] { return part->run(0, 3, nowNanos() + 20 * kSecond); }));
  }
  for (std::future<absl::Status>& status : ran) {
    CHECK(status.get().ToString() == "OK");
  }
  CHECK(y.as<float>()[0] == 7);
}

TEST_CASE("where a communicator meets is asked of its first member, and told to all") {
  ToyCluster cluster({"toy.add", "toy.collective", "toy.add"}, false);
  CHECK_THAT(
      cluster.cores[2]->newCommunicatorIds(cluster.plan.hash, {0}).status().ToString(),
      Contains("the first member of communicator 0 is one/toy:0, which worker other has not"));
  CHECK_THAT(cluster.cores[1]->newCommunicatorIds(cluster.plan.hash, {1}).status().ToString(),
             Contains("the plan has no communicator 1"));
  CHECK_THAT(
      cluster.cores[1]->preparePlan(cluster.plan.hash, 0, {}).status().ToString(),
      Contains("one/toy:0: nobody told where communicator 0 (one/toy:0, other/toy:0) meets"));
}

TEST_CASE("a member that does not come at load is waited for until that is cancelled") {
  ToyCluster cluster({"toy.add", "toy.collective", "toy.add"}, false);
  std::vector<std::future<absl::Status>> prepared = cluster.prepare(2, cluster.meet());
  CHECK(prepared[0].get().ok());  // the client is no member
  CHECK(prepared[1].wait_for(Millis(50)) == std::future_status::timeout);
  cluster.cores[1]->cancel(absl::CancelledError("the other one failed"));
  CHECK_THAT(prepared[1].get().ToString(),
             Contains("one/toy:0: not all members of communicator 0 (one/toy:0, other/toy:0) have "
                      "come"));
}

TEST_CASE("a member that does not come in a step is waited for until it is stopped or too late") {
  ToyCluster cluster({"toy.collective", "toy.add", "toy.add"}, false);
  for (std::future<absl::Status>& status : cluster.prepare(3, cluster.meet())) {
    REQUIRE(status.get().ok());
  }
  WorkerCore& core = *cluster.cores[1];
  auto run = [&](Millis timeout) {
    const auto nanos = static_cast<uint64_t>(std::chrono::nanoseconds(timeout).count());
    return runStep(core, cluster.plan.hash, nanos);
  };
  SECTION("stopped") {
    auto step = std::async(std::launch::async, run, Millis(20'000));
    CHECK(step.wait_for(Millis(50)) == std::future_status::timeout);
    core.cancel(absl::CancelledError("worker other is lost"));
    CHECK_THAT(step.get().ToString(), Contains("worker other is lost"));
  }
  SECTION("too late") { CHECK_THAT(run(Millis(50)).ToString(), Contains("toy kernel returned 9")); }
  CHECK_THAT(run(Millis(50)).ToString(), Contains("load it again"));  // as after a broken edge
}

}  // namespace
}  // namespace graphrun::runtime
