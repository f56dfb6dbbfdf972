// Programs: launches and graphs, copies, edges, errors, and what is left when they go.
#include <thread>

#include "absl/strings/string_view.h"
#include "devices/cuda/kernels/kernel_errors.h"
#include "tests/devices/cuda/gpu_fixture.h"

namespace graphrun::devices::cuda {
namespace {

constexpr int64_t kCount = 4;

Instruction add(const std::string& name, uint32_t from, uint32_t to) {
  return generated(name, {{from, f32({kCount})}}, {to, f32({kCount})}, kCount);
}

/// y = x + 2 by two kernels, through the arena.
Executable addsTwo() {
  Executable e;
  e.buffers = {bufferOf(BufferKind::kInput, 16), bufferOf(BufferKind::kOutput, 16),
               bufferOf(BufferKind::kArena, 16)};
  e.arenaBytes = 64;
  e.instructions = {add("add_one", 0, 2), add("add_one", 2, 1)};
  e.instructions[1].label = "second";
  e.inputs = {{"x", 0, f32({kCount})}};
  e.outputs = {{"y", 1, f32({kCount})}};
  e.code = codeOf({"add_one"});
  return e;
}

/// Receives edge 7, sends what it gives + 1 on edge 8, has it + 2 as output.
Executable passesOn() {
  Executable e = addsTwo();
  e.buffers[0] = bufferOf(BufferKind::kReceive, 16, 7);
  e.inputs.clear();
  e.instructions.insert(e.instructions.begin(), edgeInstruction(false, 7, {0, f32({kCount})}));
  e.instructions.insert(e.instructions.begin() + 2, edgeInstruction(true, 8, {2, f32({kCount})}));
  return e;
}

std::vector<float> plus(std::vector<float> values, float more) {
  for (float& value : values) {
    value += more;
  }
  return values;
}

std::string whyNot(GpuFixture& gpu, const Executable& executable) {
  ListedWeights none;
  absl::Status status = load(gpu, executable, none).status();
  CHECK(!status.ok());
  return std::string(status.ToString());
}

}  // namespace

TEST_CASE("a step is launched kernel by kernel, then recorded, then replayed") {
  GpuFixture gpu;
  ListedWeights none;
  auto program = load(gpu, addsTwo(), none).value();
  CHECK(program->labels()[0] == "launch add_one … second (2 instructions)");
  for (int step = 0; step < 4; ++step) {
    // Other memory each time: graphs hold no address of the host.
    std::vector<float> x(kCount, static_cast<float>(step));
    std::vector<float> y(kCount, -1);
    program->buffers()[0] = x.data();
    program->buffers()[1] = y.data();
    REQUIRE(runCompute(*program).ToString() == "OK");
    CHECK(y == plus(x, 2));
    CHECK(testing::gpuCounts().graphLaunches == std::max(0, step));
    CHECK(testing::gpuCounts().launches == 2 * (step + 1));
  }
}

TEST_CASE("instructions are timed by the GPU's clock in the first launches of a graph") {
  GpuFixture gpu;
  ListedWeights none;
  auto program = load(gpu, addsTwo(), none).value();
  std::vector<float> x(kCount, 1);
  std::vector<float> y(kCount);
  program->buffers()[0] = x.data();
  program->buffers()[1] = y.data();
  const int before = testing::gpuCounts().events;
  for (int step = 0; step < 6; ++step) {  // one without a graph
    REQUIRE(program->kernelTimes().has_value());
    CHECK(program->kernelTimes()->empty());
    REQUIRE(runCompute(*program).ToString() == "OK");
    CHECK(testing::gpuCounts().events == before + (step == 0 || step == 5 ? 0 : 3));
  }
  std::vector<runtime::KernelTime> times = program->kernelTimes().value();
  REQUIRE(times.size() == 2);
  CHECK(times[0].label == "add_one");
  CHECK(times[1].label == "second");
  CHECK(times[0].ns > 0);
  CHECK(times[0].ns < 1'000'000'000);
  REQUIRE(runCompute(*program).ToString() == "OK");  // by a graph without a clock
  CHECK(testing::gpuCounts().graphs == 1);
  CHECK(program->kernelTimes().value() == times);
  CHECK(y == plus(x, 2));
}

TEST_CASE("what is sent is on the host when its turn comes, and later work is under way") {
  GpuFixture gpu;
  ListedWeights none;
  auto program = load(gpu, passesOn(), none).value();
  REQUIRE(program->edges().size() == 2);
  CHECK(!program->edges()[0].send);
  CHECK(program->edges()[1].edge == 8);
  for (int step = 0; step < 3; ++step) {
    std::vector<float> slot(kCount, static_cast<float>(10 * step));
    std::vector<float> y(kCount, -1);
    program->buffers()[1] = y.data();
    for (const OpRecord& record : program->records()) {
      void*& bound = program->buffers()[record.buffer];
      if (record.kind == OpRecord::Kind::kReceive) {
        bound = slot.data();
      } else if (record.kind == OpRecord::Kind::kSend) {
        const auto* sent = static_cast<const float*>(bound);
        CHECK(std::vector<float>(sent, sent + kCount) == plus(slot, 1));
      } else {
        REQUIRE(record.run(record.state, program->buffers().data()) == 0);
      }
    }
    CHECK(y == plus(slot, 2));
  }
}

TEST_CASE("a weight that is sent has memory on the host") {
  GpuFixture gpu;
  Executable e;
  e.buffers = {bufferOf(BufferKind::kWeight, 16)};
  e.buffers[0].desc = f32({kCount});
  e.instructions = {edgeInstruction(true, 3, {0, f32({kCount})})};
  ListedWeights weights;
  weights.values = {{1, 2, 3, 4}};
  auto program = load(gpu, e, weights).value();
  REQUIRE(program->records().size() == 1);
  CHECK(static_cast<const float*>(program->buffers()[0])[3] == 4);
}

TEST_CASE("tensors without elements are not copied") {
  GpuFixture gpu;
  Executable e = addsTwo();
  e.buffers[0].bytes = e.buffers[1].bytes = 0;
  e.inputs[0].desc = e.outputs[0].desc = f32({0});
  e.instructions = {generated("add_one", {{0, f32({0})}}, {1, f32({0})}, 0)};
  ListedWeights none;
  auto program = load(gpu, e, none).value();
  CHECK(runCompute(*program).ToString() == "OK");  // nothing is bound
  CHECK(testing::gpuCounts().copies == 0);
}

TEST_CASE("kernels may come in several texts") {
  GpuFixture gpu;
  Executable e = addsTwo();
  e.instructions[1].symbol = "same";
  e.code.push_back(0);
  std::vector<uint8_t> more = codeOf({"same"});
  e.code.insert(e.code.end(), more.begin(), more.end());
  ListedWeights none;
  auto program = load(gpu, e, none).value();
  CHECK(testing::gpuCounts().modules == 2);
  std::vector<float> x = {1, 2, 3, 4};
  std::vector<float> y(kCount);
  program->buffers()[0] = x.data();
  program->buffers()[1] = y.data();
  REQUIRE(runCompute(*program).ok());
  CHECK(y == plus(x, 2));
}

TEST_CASE("a copy instruction copies on the GPU") {
  GpuFixture gpu;
  Executable e = addsTwo();
  e.instructions = {add("copy", 0, 1)};
  e.instructions[0].kernel = "copy";
  ListedWeights none;
  auto program = load(gpu, e, none).value();
  std::vector<float> x = {1, 2, 3, 4};
  std::vector<float> y(kCount);
  program->buffers()[0] = x.data();
  program->buffers()[1] = y.data();
  REQUIRE(runCompute(*program).ok());
  CHECK(y == x);
}

TEST_CASE("a launch that fails names its instruction; the next step can go on") {
  GpuFixture gpu;
  ListedWeights none;
  auto program = load(gpu, addsTwo(), none).value();
  std::vector<float> x(kCount, 1);
  std::vector<float> y(kCount);
  program->buffers()[0] = x.data();
  program->buffers()[1] = y.data();
  testing::failCall("cuLaunchKernel", CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, 1);
  absl::Status status = runCompute(*program);
  CHECK(absl::IsResourceExhausted(status));
  CHECK_THAT(std::string(status.message()), Catch::Contains("second: cuLaunchKernel: "));
  CHECK(runCompute(*program).ToString() == "OK");
  CHECK(y == plus(x, 2));
}

TEST_CASE("what cannot be recorded is launched kernel by kernel") {
  for (const char* call :
       {"cuStreamBeginCapture", "cuGraphInstantiateWithFlags", "cuLaunchKernel"}) {
    CAPTURE(call);
    GpuFixture gpu;
    ListedWeights none;
    auto program = load(gpu, addsTwo(), none).value();
    for (int step = 0; step < 4; ++step) {
      std::vector<float> x(kCount, static_cast<float>(step));
      std::vector<float> y(kCount, -1);
      program->buffers()[0] = x.data();
      program->buffers()[1] = y.data();
      if (step == 1) {
        testing::failCall(call, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
      }
      REQUIRE(runCompute(*program).ToString() == "OK");
      CHECK(y == plus(x, 2));
    }
    CHECK(testing::gpuCounts().graphLaunches == 0);
  }
}

/// addsTwo() with an instruction between that complains of an index where x[0] is negative.
Executable complains() {
  Executable e = addsTwo();
  e.instructions.insert(e.instructions.begin() + 1, add("complain", 0, 2));
  e.instructions[1].label = "chooser";
  e.instructions[1].attributes[kReportsErrors] = true;
  e.code = codeOf({"add_one"});
  absl::string_view text = R"(.visible .entry complain(.param .u64 from, .param .u64 to,
    .param .u64 count, .param .u64 errors, .param .u64 base) {
  .reg .pred %bad;
  .reg .b32 %value, %old, %word;
  .reg .b64 %source, %errors, %base;
  ld.param.u64 %source, [from];
  ld.param.u64 %errors, [errors];
  ld.param.u64 %base, [base];
  ld.global.u32 %value, [%source];
  setp.lt.s32 %bad, %value, 0;
  cvt.u32.u64 %word, %base;
  add.u32 %word, %word, 1;
  @%bad atom.global.cas.b32 %old, [%errors], 0, %word;
  ret;
}
)";
  e.code.insert(e.code.end(), text.begin(), text.end());
  return e;
}

TEST_CASE("what a kernel complains of fails the step, at its end; the next step is not touched") {
  GpuFixture gpu;
  ListedWeights none;
  auto program = load(gpu, complains(), none).value();
  for (int step = 0; step < 8; ++step) {  // kernel by kernel, then as graphs
    bool isBad = step % 2 == 0;
    std::vector<float> x(kCount, isBad ? -1.0F : 1.0F), y(kCount, -1);
    program->buffers()[0] = x.data();
    program->buffers()[1] = y.data();
    std::string status = runCompute(*program).ToString();
    CAPTURE(step);
    CHECK(status == (isBad ? "INVALID_ARGUMENT: chooser: an index is out of range" : "OK"));
    CHECK((isBad || y == plus(x, 2)));
  }
  CHECK(testing::gpuCounts().graphLaunches > 4);
  // A step that ended before anybody looked leaves nothing behind.
  std::vector<float> x(kCount, -1), y(kCount, 0);
  program->buffers()[0] = x.data();
  program->buffers()[1] = y.data();
  const OpRecord& launch = program->records()[0];
  REQUIRE(launch.run(launch.state, program->buffers().data()) == 0);
  program->synchronize();
  x.assign(kCount, 2);
  CHECK(runCompute(*program).ToString() == "OK");
}

TEST_CASE("what goes wrong on the GPU is told by whoever waits") {
  GpuFixture gpu;
  Executable e = addsTwo();
  e.instructions[1].sizes = {1000};
  e.instructions[1].block = {1000, 1, 1};
  ListedWeights none;
  auto program = load(gpu, e, none).value();
  std::vector<float> data(kCount);
  program->buffers()[0] = program->buffers()[1] = data.data();
  absl::Status status = runCompute(*program);
  CHECK(absl::IsInternal(status));
  CHECK_THAT(std::string(status.message()),
             Catch::Contains("wait for the end") && Catch::Contains("CUDA_ERROR_ILLEGAL_ADDRESS") &&
                 Catch::Contains("kernel add_one, line 19: ld.global.f32 of 4 bytes at 0x") &&
                 Catch::Contains("takes no more work of this process"));
  testing::reviveGpus();
}

TEST_CASE("a step that ends early can be settled: nothing touches bound memory afterwards") {
  GpuFixture gpu;
  ListedWeights none;
  auto program = load(gpu, addsTwo(), none).value();
  std::vector<float> x(kCount, 1);
  auto y = std::make_unique<std::vector<float>>(kCount, -1.0F);
  program->buffers()[0] = x.data();
  program->buffers()[1] = y->data();
  const OpRecord& launch = program->records()[0];
  REQUIRE(launch.run(launch.state, program->buffers().data()) == 0);
  CHECK(*y == std::vector<float>(kCount, -1));  // nobody has waited
  program->synchronize();
  CHECK(*y == plus(x, 2));
  y.reset();
}

TEST_CASE("executables that cannot be loaded are refused with the reason") {
  GpuFixture gpu;
  Executable unknown = addsTwo();
  unknown.instructions[1].kernel = "onednn.conv";
  CHECK_THAT(whyNot(gpu, unknown), Catch::Contains("instruction 1 second") &&
                                       Catch::Contains("there is no kernel \"onednn.conv\""));
  Executable symbol = addsTwo();
  symbol.instructions[0].symbol = "nobody";
  CHECK_THAT(whyNot(gpu, symbol), Catch::Contains("the code has no kernel \"nobody\""));
  Executable noCode = addsTwo();
  noCode.code.clear();
  CHECK_THAT(whyNot(gpu, noCode), Catch::Contains("the executable has no code"));
  Executable bad = addsTwo();
  bad.code = {'x', 'y'};
  CHECK_THAT(whyNot(gpu, bad),
             Catch::Contains("INVALID_ARGUMENT") && Catch::Contains("line 1: no .version"));
  Executable wide = addsTwo();
  wide.instructions[0].block = {2048, 1, 1};
  CHECK_THAT(whyNot(gpu, wide), Catch::Contains("2048 x 1 x 1 threads"));
  Executable shared = addsTwo();
  shared.instructions[0].sharedBytes = 1 << 20;
  CHECK_THAT(whyNot(gpu, shared), Catch::Contains("1048576 bytes of shared memory"));
  Executable arena = addsTwo();
  arena.arenaBytes = uint64_t{1} << 40;
  CHECK_THAT(whyNot(gpu, arena), Catch::Contains("RESOURCE_EXHAUSTED: test/cuda:0: needs"));
  ListedWeights none;
  std::vector<uint8_t> other = writeExecutable(addsTwo());
  CHECK_THAT(std::string(gpu.device->load(other, none).status().message()),
             Catch::Contains("compile it again"));
  CHECK(absl::IsInvalidArgument(gpu.device->load(std::vector<uint8_t>(256, 7), none).status()));
}

TEST_CASE("kernels may have more shared memory than usual, each as much as any wants") {
  GpuFixture gpu;
  Executable e = addsTwo();
  e.instructions[0].sharedBytes = 100 << 10;
  e.instructions[1].sharedBytes = 60 << 10;
  ListedWeights none;
  auto program = load(gpu, e, none).value();
  std::vector<float> data(kCount);
  program->buffers()[0] = program->buffers()[1] = data.data();
  CHECK(runCompute(*program).ToString() == "OK");
}

TEST_CASE("memory beyond the limit and beyond the GPU is refused, and nothing is left behind") {
  GpuFixture gpu(size_t{1} << 30);
  Executable e = addsTwo();
  e.arenaBytes = 900 << 20;
  CHECK_THAT(whyNot(gpu, e), Catch::Contains("the limit is 805306368; give it 138412544 more"));
  e.arenaBytes = 600 << 20;
  ListedWeights none;
  auto first = load(gpu, e, none).value();
  CHECK(first->memory().bytes == e.arenaBytes + 512);
  CHECK_THAT(whyNot(gpu, e), Catch::Contains("of the GPU's memory") && Catch::Contains("are free"));
  first.reset();
  CHECK(load(gpu, e, none).ok());
}

TEST_CASE("whatever fails while a program is loaded, nothing is left behind") {
  GpuFixture gpu;
  int before = testing::gpuCounts().alive();
  for (const char* call :
       {"cuStreamCreate", "cuEventCreate", "cuModuleLoadDataEx", "cuModuleGetFunction",
        "cuMemAllocFromPoolAsync", "cuMemHostAlloc", "cuFuncGetAttribute", "cuStreamSynchronize"}) {
    for (int passed : {0, 1, 2}) {
      CAPTURE(call, passed);
      testing::failCall(call, CUDA_ERROR_UNKNOWN, passed);
      ListedWeights none;
      auto program = load(gpu, passesOn(), none);
      CHECK((program.ok() || program.status().message().find(call) != std::string::npos));
      program = absl::UnknownError("");
      testing::clearFaults();
      CHECK(testing::gpuCounts().alive() - testing::gpuCounts().hostMemory <= before);
    }
  }
}

TEST_CASE("programs on several threads do not meet") {
  GpuFixture gpu;
  std::vector<std::thread> threads;
  std::atomic<int> right{0};
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&gpu, &right, t] {
      ListedWeights none;
      auto program = load(gpu, addsTwo(), none);
      if (!program.ok() || !gpu.device->attachThread().ok()) {
        return;
      }
      for (int step = 0; step < 50; ++step) {
        std::vector<float> x(kCount, static_cast<float>(100 * t + step));
        std::vector<float> y(kCount);
        (*program)->buffers()[0] = x.data();
        (*program)->buffers()[1] = y.data();
        right += runCompute(**program).ok() && y == plus(x, 2) ? 1 : 0;
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  CHECK(right == 150);
}

}  // namespace graphrun::devices::cuda
