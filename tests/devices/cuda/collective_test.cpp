// Collectives between GPUs: programs of one process, as many threads.
#include <map>
#include <thread>

#include "devices/cuda/nccl/communicators.h"
#include "devices/cuda/nccl/nccl_collective.h"
#include "devices/cuda/program/cuda_device.h"
#include "runtime/base/clock.h"
#include "tests/devices/cuda/gpu_fixture.h"

namespace graphrun::devices::cuda {
namespace {

constexpr int64_t kCount = 6;
constexpr int64_t kSecond = 1'000'000'000;

Instruction meet(const std::string& collective, const std::string& kind, Argument from, Argument to,
                 int64_t communicator = 0) {
  Instruction instruction;
  instruction.kernel = "nccl.collective";
  instruction.operation = kCollectiveMember;
  instruction.label = collective;
  instruction.inputs = {std::move(from)};
  instruction.outputs = {std::move(to)};
  instruction.attributes = {
      {"collective", collective}, {"kind", kind}, {"communicator", communicator}};
  return instruction;
}

/// y = what the collective makes of x.
Executable just(const std::string& collective, const std::string& kind, int64_t in, int64_t out) {
  Executable e;
  const auto bytes = [](int64_t count) { return static_cast<uint64_t>(count) * sizeof(float); };
  e.buffers = {bufferOf(BufferKind::kInput, bytes(in)), bufferOf(BufferKind::kOutput, bytes(out))};
  e.instructions = {meet(collective, kind, {0, f32({in})}, {1, f32({out})})};
  e.inputs = {{"x", 0, f32({in})}};
  e.outputs = {{"y", 1, f32({out})}};
  return e;
}

/// y = (sum of all x + 1) + 1, in place in the middle, and twice, in communicators 0 and 3.
Executable chain() {
  Executable e;
  const Argument arena{2, f32({kCount})};
  e.buffers = {bufferOf(BufferKind::kInput, 24), bufferOf(BufferKind::kOutput, 24),
               bufferOf(BufferKind::kArena, 24)};
  e.arenaBytes = 64;
  e.instructions = {generated("add_one", {{0, f32({kCount})}}, arena, kCount),
                    meet("all_reduce", "sum", arena, arena, 0),
                    meet("all_reduce", "max", arena, arena, 3),
                    generated("add_one", {arena}, {1, f32({kCount})}, kCount)};
  e.inputs = {{"x", 0, f32({kCount})}};
  e.outputs = {{"y", 1, f32({kCount})}};
  e.code = codeOf({"add_one"});
  return e;
}

/// GPUs with a program each. At its end nothing may be alive.
struct Gpus {
  explicit Gpus(uint32_t count, LibraryFiles files = withCollectives())
      : libraries(std::move(files)) {
    testing::resetGpus(static_cast<int>(count));
    for (uint32_t i = 0; i < count; ++i) {
      devices.push_back(createCudaDevice({"test/cuda", "cuda", i, {}, 0, 0}, libraries).value());
    }
  }
  ~Gpus() {
    end();
    devices.clear();
    CHECK(testing::gpuCounts().alive() == 0);
  }
  void end() {
    for (const auto& program : programs) {
      program->collectives()->beginShutdown();
    }
    programs.clear();
  }

  void load(size_t device, Executable executable) {
    ListedWeights none;
    executable.fingerprint = devices[device]->fingerprint();
    programs.push_back(devices[device]->load(writeExecutable(executable), none).value());
    const auto values = [](const std::vector<Endpoint>& ends) {
      return static_cast<size_t>(ends[0].desc.spec().elementCount());
    };
    x.emplace_back(values(executable.inputs), 1.0F);
    y.emplace_back(values(executable.outputs), -1.0F);
  }
  void loadAll(const Executable& executable) {
    for (size_t i = 0; i < devices.size(); ++i) {
      load(i, executable);
    }
  }

  /// Every program joins all that it uses, one after the other on this thread.
  absl::Status join() {
    std::map<uint32_t, std::string> communicatorIds;
    for (uint32_t member = 0; member < programs.size(); ++member) {
      for (uint32_t id : programs[member]->collectives()->communicators()) {
        if (communicatorIds[id].empty()) {
          communicatorIds[id] = devices[member]->collectives()->newCommunicatorId().value();
        }
        absl::Status status = programs[member]->collectives()->join(
            {id, member, static_cast<uint32_t>(programs.size()), communicatorIds[id]});
        if (!status.ok()) {
          return status;
        }
      }
    }
    return wait();
  }
  /// Until all have joined, one never will, or the time is over.
  absl::Status wait(int64_t nanos = 20 * kSecond) {
    const int64_t enough = runtime::nowNanos() + nanos;
    while (runtime::nowNanos() < enough) {
      bool areAll = true;
      for (const auto& program : programs) {
        for (uint32_t id : program->collectives()->communicators()) {
          absl::StatusOr<bool> has = program->collectives()->hasJoined(id);
          if (!has.ok()) {
            return has.status();
          }
          areAll = areAll && *has;
        }
      }
      if (areAll) {
        return absl::OkStatus();
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return absl::DeadlineExceededError("they have not all joined");
  }

  /// A step of program `i`, which may take `nanos`.
  absl::Status run(size_t i, int64_t nanos = 20 * kSecond) {
    programs[i]->buffers()[0] = x[i].data();
    programs[i]->buffers()[1] = y[i].data();
    programs[i]->collectives()->setDeadline(runtime::nowNanos() + nanos);
    return runCompute(*programs[i]);
  }
  std::vector<absl::Status> runAll(int64_t nanos = 20 * kSecond) {
    std::vector<absl::Status> results(programs.size());
    std::vector<std::thread> threads;
    threads.reserve(programs.size());
    for (size_t i = 0; i < programs.size(); ++i) {
      threads.emplace_back([&, i] { results[i] = run(i, nanos); });
    }
    for (std::thread& thread : threads) {
      thread.join();
    }
    return results;
  }

  Libraries libraries;
  std::vector<std::unique_ptr<Device>> devices;
  std::vector<std::unique_ptr<Program>> programs;
  std::vector<std::vector<float>> x;
  std::vector<std::vector<float>> y;
};

void checkOk(const std::vector<absl::Status>& results) {
  for (const absl::Status& status : results) {
    CHECK(status.ToString() == "OK");
  }
}

}  // namespace

TEST_CASE("GPUs combine what they have, in every kind") {
  for (auto [kind, expected] :
       {std::pair{"sum", 9.0F}, std::pair{"prod", 24.0F}, std::pair{"max", 4.0F},
        std::pair{"min", 2.0F}, std::pair{"mean", 3.0F}}) {
    CAPTURE(kind);
    Gpus gpus(3);
    gpus.loadAll(just("all_reduce", kind, kCount, kCount));
    REQUIRE(gpus.join().ToString() == "OK");
    for (size_t i = 0; i < 3; ++i) {
      gpus.x[i].assign(kCount, static_cast<float>(i) + 2);
    }
    checkOk(gpus.runAll());
    for (const std::vector<float>& y : gpus.y) {
      CHECK(y == std::vector<float>(kCount, expected));
    }
  }
}

TEST_CASE("what a collective takes is measured, as what is recorded in a graph is") {
  Gpus gpus(2);
  gpus.loadAll(chain());
  REQUIRE(gpus.join().ToString() == "OK");
  for (int step = 0; step < 8; ++step) {
    checkOk(gpus.runAll());
  }
  for (const auto& program : gpus.programs) {
    const std::vector<runtime::KernelTime> measured = program->kernelTimes().value();
    std::map<std::string, int> times;
    for (const runtime::KernelTime& kernel : measured) {
      ++times[kernel.label];
      CHECK(kernel.ns > 0);
    }
    CHECK(times == std::map<std::string, int>{{"add_one", 2}, {"all_reduce", 2}});
  }
}

TEST_CASE("GPUs gather what they have") {
  Gpus gpus(2);
  gpus.loadAll(just("all_gather", "", 3, 6));
  REQUIRE(gpus.join().ToString() == "OK");
  gpus.x = {{1, 2, 3}, {4, 5, 6}};
  checkOk(gpus.runAll());
  CHECK(gpus.y[0] == std::vector<float>{1, 2, 3, 4, 5, 6});
  CHECK(gpus.y[1] == gpus.y[0]);
}

TEST_CASE("GPUs have a part each of what they combine") {
  Gpus gpus(2);
  gpus.loadAll(just("reduce_scatter", "sum", 4, 2));
  REQUIRE(gpus.join().ToString() == "OK");
  gpus.x = {{1, 2, 3, 4}, {10, 20, 30, 40}};
  checkOk(gpus.runAll());
  CHECK(gpus.y[0] == std::vector<float>{11, 22});
  CHECK(gpus.y[1] == std::vector<float>{33, 44});
}

TEST_CASE("collectives lie between graphs, in several communicators, step after step") {
  Gpus gpus(2);
  gpus.loadAll(chain());
  CHECK(gpus.programs[0]->collectives()->communicators() == absl::Span<const uint32_t>({0, 3}));
  REQUIRE(gpus.join().ToString() == "OK");
  const int before = testing::gpuCounts().graphLaunches;
  for (int step = 0; step < 5; ++step) {
    gpus.x[0].assign(kCount, static_cast<float>(step));
    gpus.x[1].assign(kCount, 10);
    checkOk(gpus.runAll());
    CHECK(gpus.y[0] == std::vector<float>(kCount, static_cast<float>(step + 13)));
    CHECK(gpus.y[1] == gpus.y[0]);
  }
  CHECK(testing::gpuCounts().collectives == 20);
  CHECK(testing::gpuCounts().graphLaunches > before);  // of what lies around them
}

TEST_CASE("a program waits for members at load without blocking, and says who is missing") {
  Gpus gpus(2);
  gpus.load(0, just("all_reduce", "sum", kCount, kCount));
  const std::string communicatorId = gpus.devices[0]->collectives()->newCommunicatorId().value();
  REQUIRE(gpus.programs[0]->collectives()->join({0, 0, 2, communicatorId}).ok());
  CHECK(!gpus.programs[0]->collectives()->hasJoined(0).value());
  CHECK(gpus.wait(kSecond / 20).ToString() == "DEADLINE_EXCEEDED: they have not all joined");
  CHECK(
      absl::IsFailedPrecondition(gpus.programs[0]->collectives()->join({0, 0, 2, communicatorId})));
  CHECK(absl::IsFailedPrecondition(gpus.run(0)));  // it goes without waiting for the other
}

TEST_CASE("who joins what is not there is told so") {
  Gpus gpus(2);
  gpus.load(0, just("all_reduce", "sum", kCount, kCount));
  CHECK_THAT(gpus.programs[0]->collectives()->join({7, 0, 2, std::string(128, 'x')}).ToString(),
             Catch::Contains("the program has no use for communicator 7"));
  CHECK_THAT(
      gpus.programs[0]->collectives()->join({0, 0, 2, "short"}).ToString(),
      Catch::Contains("communicator 0: member 0 of 2 was told 5 bytes to meet by, expected"));
  CHECK(absl::IsInvalidArgument(
      gpus.programs[0]->collectives()->join({0, 2, 2, std::string(128, 'x')})));
  CHECK_THAT(gpus.programs[0]->collectives()->join({0, 0, 2, std::string(128, 'x')}).ToString(),
             Catch::Contains("communicator 0, of whose 2 members this is number 0: "
                             "ncclCommInitRankConfig: unhandled system error"));
  CHECK(absl::IsFailedPrecondition(gpus.programs[0]->collectives()->hasJoined(3).status()));
}

TEST_CASE("members that contradict each other do not join") {
  Gpus gpus(2);
  gpus.loadAll(just("all_reduce", "sum", kCount, kCount));
  const std::string communicatorId = gpus.devices[0]->collectives()->newCommunicatorId().value();
  SECTION("another number of members") {
    REQUIRE(gpus.programs[0]->collectives()->join({0, 0, 2, communicatorId}).ok());
    REQUIRE(gpus.programs[1]->collectives()->join({0, 1, 3, communicatorId}).ok());
    CHECK_THAT(gpus.wait().ToString(), Catch::Contains("invalid usage: rank 1 says that there are "
                                                       "3 ranks, others 2; it is broken off"));
  }
  SECTION("the same place twice") {
    REQUIRE(gpus.programs[0]->collectives()->join({0, 0, 2, communicatorId}).ok());
    REQUIRE(gpus.programs[1]->collectives()->join({0, 0, 2, communicatorId}).ok());
    CHECK_THAT(gpus.wait().ToString(), Catch::Contains("there are two of rank 0"));
  }
  SECTION("two on one GPU") {
    gpus.programs.pop_back();
    gpus.load(0, just("all_reduce", "sum", kCount, kCount));
    REQUIRE(gpus.programs[0]->collectives()->join({0, 0, 2, communicatorId}).ok());
    REQUIRE(gpus.programs[1]->collectives()->join({0, 1, 2, communicatorId}).ok());
    CHECK_THAT(gpus.wait().ToString(), Catch::Contains("Duplicate GPU detected"));
  }
}

TEST_CASE("a member that never comes is waited for until the step is stopped") {
  Gpus gpus(2);
  gpus.loadAll(chain());
  REQUIRE(gpus.join().ok());
  SECTION("before anything was connected") {}
  SECTION("when it came before") { checkOk(gpus.runAll()); }
  absl::Status status;
  std::thread alone([&] { status = gpus.run(0); });
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  const int64_t begin = runtime::nowNanos();
  gpus.programs[0]->collectives()->interrupt();
  alone.join();
  CHECK(runtime::nowNanos() - begin < kSecond / 2);
  CHECK(absl::IsCancelled(status));
  CHECK_THAT(status.ToString(),
             Catch::Contains("communicator 0, of whose 2 members this is number 0: the step was "
                             "stopped while "
                             "the other members were waited for; it is broken off"));
  CHECK_THAT(gpus.run(0).ToString(), Catch::Contains("it is broken off"));  // from now on
  gpus.programs[1]->collectives()->interrupt();
}

TEST_CASE("a member that never comes is waited for until the step's time is over") {
  Gpus gpus(2);
  gpus.loadAll(just("all_reduce", "sum", kCount, kCount));
  REQUIRE(gpus.join().ok());
  checkOk(gpus.runAll());
  absl::Status status = gpus.run(0, kSecond / 20);
  CHECK(absl::IsDeadlineExceeded(status));
  CHECK_THAT(status.ToString(), Catch::Contains("the time of the step ended while the other"));
  CHECK_THAT(status.ToString(), Catch::Contains("all_reduce: communicator 0"));
  gpus.programs[1]->collectives()->interrupt();
}

TEST_CASE("members that do different things are told, and wait no longer") {
  Gpus gpus(2);
  gpus.load(0, just("all_reduce", "sum", kCount, kCount));
  gpus.load(1, just("all_reduce", "max", kCount, kCount));
  REQUIRE(gpus.join().ok());
  for (const absl::Status& status : gpus.runAll()) {
    CHECK_THAT(status.ToString(),
               Catch::Contains("NCCL: invalid usage: rank 0 comes with all_reduce of 6 elements of "
                               "type 7 by 0, rank 1 with all_reduce of 6 elements of type 7 by 2"));
  }
}

TEST_CASE("a program whose step ended early takes no part any more, and goes at once") {
  Gpus gpus(2);
  gpus.loadAll(just("all_reduce", "sum", kCount, kCount));
  REQUIRE(gpus.join().ok());
  gpus.programs[0]->synchronize();
  CHECK_THAT(gpus.run(0).ToString(), Catch::Contains("a step ended early; it is broken off"));
  const int64_t begin = runtime::nowNanos();
  gpus.programs[1]->collectives()->interrupt();
  gpus.end();
  CHECK(runtime::nowNanos() - begin < kSecond / 2);
}

TEST_CASE("what was computed by others is there when the last of them has gone") {
  Gpus gpus(2);
  gpus.loadAll(just("all_reduce", "sum", kCount, kCount));
  REQUIRE(gpus.join().ok());
  checkOk(gpus.runAll());
  const int64_t begin = runtime::nowNanos();
  gpus.end();  // together
  CHECK(runtime::nowNanos() - begin < kSecond / 2);
  gpus.x.clear();
  gpus.y.clear();
  gpus.loadAll(just("all_reduce", "sum", kCount, kCount));
  REQUIRE(gpus.join().ok());
  gpus.programs.pop_back();  // alone: the other one is waited for, but not long
  CHECK(runtime::nowNanos() - begin < 3 * kSecond);
}

TEST_CASE("collectives that NCCL cannot do are declined with the reason") {
  const Instruction good = just("all_reduce", "sum", kCount, kCount).instructions[0];
  CHECK(chooseCollective(good).value().implementation == "ncclAllReduce");
  auto why = [&](auto change) {
    Instruction instruction = good;
    change(instruction);
    return chooseCollective(instruction).status();
  };
  auto retype = [](Instruction& instruction, runtime::ElementType type) {
    instruction.inputs[0].desc.type = instruction.outputs[0].desc.type = type;
  };
  absl::Status status =
      why([&](Instruction& instruction) { retype(instruction, runtime::ElementType::kI16); });
  CHECK(absl::IsUnimplemented(status));
  CHECK(status.message() == "NCCL does not combine elements of i16 by sum");
  status = why([&](Instruction& instruction) {
    retype(instruction, runtime::ElementType::kI32);
    instruction.attributes["kind"] = std::string("mean");
  });
  CHECK(status.message() == "NCCL does not combine elements of i32 by mean");
  CHECK(why([&](Instruction& instruction) {  // bytes, whatever they are
          retype(instruction, runtime::ElementType::kI16);
          instruction.attributes["collective"] = std::string("all_gather");
        })
            .ok());
  status = why([](Instruction& instruction) {
    instruction.attributes["collective"] = std::string("broadcast");
  });
  CHECK(status.message() == "NCCL is not used for broadcast");
  status = why([](Instruction& instruction) {
    instruction.inputs[0].desc.dims = instruction.outputs[0].desc.dims = {0};
  });
  CHECK(absl::IsUnimplemented(status));
  status = why([](Instruction& instruction) { instruction.outputs[0].desc.dims = {5}; });
  CHECK(status.message() == "a collective: 6xf32 gives 5xf32, which it cannot");
  CHECK(absl::IsInvalidArgument(why([](Instruction& instruction) { instruction.inputs.clear(); })));
  CHECK(absl::IsInvalidArgument(
      why([](Instruction& instruction) { instruction.attributes.erase("kind"); })));
}

TEST_CASE("an executable whose collective names no communicator is refused") {
  Gpus gpus(1);
  ListedWeights none;
  Executable e = just("all_reduce", "sum", kCount, kCount);
  e.fingerprint = gpus.devices[0]->fingerprint();
  e.instructions[0].attributes["communicator"] = int64_t{-1};
  CHECK_THAT(gpus.devices[0]->load(writeExecutable(e), none).status().ToString(),
             Catch::Contains("all_reduce: there is no communicator -1"));
  e.instructions[0].attributes.erase("communicator");
  CHECK_THAT(gpus.devices[0]->load(writeExecutable(e), none).status().ToString(),
             Catch::Contains("lacks its attribute communicator"));
}

TEST_CASE("without NCCL there is nowhere to meet, and GPUs say so") {
  Gpus gpus(1, simulatedFiles());
  gpus.load(0, just("all_reduce", "sum", kCount, kCount));
  CHECK_THAT(gpus.devices[0]->collectives()->newCommunicatorId().status().ToString(),
             Catch::Contains("libnccl"));
  CHECK_THAT(gpus.programs[0]->collectives()->join({0, 0, 2, std::string(128, 'x')}).ToString(),
             Catch::Contains("libnccl"));
  CHECK(discoverCudaDevices(gpus.libraries)[0].collectives.empty());
  Libraries libraries(withCollectives());
  CHECK(discoverCudaDevices(libraries)[0].collectives == "nccl 2.28.9");
}

}  // namespace graphrun::devices::cuda
