// Values that go from one GPU to another of the process without the host's memory.
#include "devices/cuda/program/cuda_device.h"
#include "tests/devices/cuda/gpu_fixture.h"

namespace graphrun::devices::cuda {
namespace {

constexpr int64_t kCount = 4;

Instruction add(uint32_t from, uint32_t to) {
  return generated("add_one", {{from, f32({kCount})}}, {to, f32({kCount})}, kCount);
}

/// Sends x + 1 on edge 5; with `more` the same on edge 6, and it is an output.
Executable sender(bool more) {
  Executable e;
  e.buffers = {bufferOf(BufferKind::kInput, 16),
               bufferOf(more ? BufferKind::kOutput : BufferKind::kArena, 16)};
  e.arenaBytes = 64;
  e.instructions = {add(0, 1), edgeInstruction(true, 5, {1, f32({kCount})})};
  e.inputs = {{"x", 0, f32({kCount})}};
  if (more) {
    e.outputs = {{"sent", 1, f32({kCount})}};
    e.instructions.push_back(edgeInstruction(true, 6, {1, f32({kCount})}));
  }
  e.code = codeOf({"add_one"});
  return e;
}

/// Receives edge 5, gives it + 1; with `forwards` it sends it on.
Executable receiver(bool forwards) {
  Executable e;
  e.buffers = {bufferOf(BufferKind::kReceive, 16, 5), bufferOf(BufferKind::kOutput, 16)};
  e.instructions = {edgeInstruction(false, 5, {0, f32({kCount})}), add(0, 1)};
  e.outputs = {{"y", 1, f32({kCount})}};
  e.code = codeOf({"add_one"});
  if (forwards) {
    e.instructions.push_back(edgeInstruction(true, 9, {0, f32({kCount})}));
  }
  return e;
}

/// Two GPUs; at its end nothing may be alive.
struct TwoGpus {
  explicit TwoGpus(testing::Peers peers = testing::Peers::kAll) {
    testing::resetGpus(2);
    testing::setPeers(peers);
    for (uint32_t i : {0, 1}) {
      devices.push_back(createCudaDevice({"test/cuda", "cuda", i, {}, 0, 0}, libraries).value());
    }
  }
  ~TwoGpus() {
    devices.clear();
    CHECK(testing::gpuCounts().alive() == 0);
  }
  std::unique_ptr<Program> load(size_t device, Executable executable) {
    ListedWeights none;
    executable.fingerprint = devices[device]->fingerprint();
    return devices[device]->load(writeExecutable(executable), none).value();
  }

  Libraries libraries{simulatedFiles()};
  std::vector<std::unique_ptr<Device>> devices;
};

/// Runs a program's records; what it sends goes to `wire`, what it receives comes from there.
void run(Program& program, std::map<uint32_t, void*>& wire) {
  for (const OpRecord& record : program.records()) {
    void*& bound = program.buffers()[record.buffer];
    if (record.kind == OpRecord::Kind::kSend) {
      wire[record.edge] = bound;
    } else if (record.kind == OpRecord::Kind::kReceive) {
      bound = wire.at(record.edge);
    } else {
      REQUIRE(record.run(record.state, program.buffers().data()) == 0);
    }
  }
}

}  // namespace

TEST_CASE("a GPU fetches what another one made, and no host waits between") {
  TwoGpus gpus;
  REQUIRE(gpus.devices[0]->directTransfers()->canAccessPeer(*gpus.devices[1]).ToString() == "OK");
  auto from = gpus.load(0, sender(false));
  auto to = gpus.load(1, receiver(false));
  const int pinned = testing::gpuCounts().hostMemory;
  REQUIRE(from->directEdges()->canTransferDirectly(0));
  REQUIRE(to->directEdges()->canTransferDirectly(0));
  REQUIRE(from->directEdges()->transferDirectly(0, DirectTransfer::kPeerCopy).ok());
  REQUIRE(to->directEdges()->transferDirectly(0, DirectTransfer::kPeerCopy).ok());
  CHECK(testing::gpuCounts().hostMemory == pinned);  // the pool keeps what was given back
  for (int step = 0; step < 4; ++step) {
    std::vector<float> x(kCount, static_cast<float>(step));
    std::vector<float> y(kCount, -1);
    from->buffers()[0] = x.data();
    to->buffers()[1] = y.data();
    const testing::GpuCounts before = testing::gpuCounts();
    std::map<uint32_t, void*> wire;
    run(*from, wire);
    run(*to, wire);
    CHECK(y == std::vector<float>(kCount, static_cast<float>(step + 2)));
    CHECK(testing::gpuCounts().peerCopies == before.peerCopies + 1);
    CHECK(testing::gpuCounts().copies == before.copies + 3);  // x there, between, y back
  }
}

TEST_CASE("what the host gets as well is still copied to it") {
  TwoGpus gpus;
  REQUIRE(gpus.devices[0]->directTransfers()->canAccessPeer(*gpus.devices[1]).ok());
  auto from = gpus.load(0, sender(true));
  auto to = gpus.load(1, receiver(false));
  REQUIRE(from->directEdges()->transferDirectly(0, DirectTransfer::kPeerCopy).ok());
  REQUIRE(to->directEdges()->transferDirectly(0, DirectTransfer::kPeerCopy).ok());
  std::vector<float> x(kCount, 1);
  std::vector<float> sent(kCount, -1);
  std::vector<float> y(kCount, -1);
  from->buffers()[0] = x.data();
  from->buffers()[1] = sent.data();
  to->buffers()[1] = y.data();
  std::map<uint32_t, void*> wire;
  run(*from, wire);
  CHECK(wire.at(6) == sent.data());
  run(*to, wire);
  CHECK(sent == std::vector<float>(kCount, 2));
  CHECK(y == std::vector<float>(kCount, 3));
}

TEST_CASE("what a network carries lies in memory of the GPU, beside the program's") {
  TwoGpus gpus;
  auto from = gpus.load(0, sender(false));
  auto to = gpus.load(1, receiver(false));
  const uint64_t before = from->memory().bytes;
  REQUIRE(from->directEdges()->transferDirectly(0, DirectTransfer::kNetwork).ok());
  REQUIRE(to->directEdges()->transferDirectly(0, DirectTransfer::kNetwork).ok());
  CHECK(from->memory().bytes == before + 16);
  void* slot = gpus.devices[1]->directTransfers()->allocateDevice(16).value();
  for (int step = 0; step < 3; ++step) {
    std::vector<float> x(kCount, static_cast<float>(step));
    std::vector<float> y(kCount, -1);
    std::vector<float> carried(kCount, -1);
    from->buffers()[0] = x.data();
    to->buffers()[1] = y.data();
    std::map<uint32_t, void*> wire;
    run(*from, wire);
    REQUIRE(
        gpus.devices[0]->directTransfers()->copyFromDevice(carried.data(), wire.at(5), 16).ok());
    CHECK(carried == std::vector<float>(kCount, static_cast<float>(step + 1)));
    REQUIRE(gpus.devices[1]->directTransfers()->copyToDevice(slot, carried.data(), 16).ok());
    wire[5] = slot;
    run(*to, wire);
    CHECK(y == std::vector<float>(kCount, static_cast<float>(step + 2)));
  }
  gpus.devices[1]->directTransfers()->deallocateDevice(slot);
}

TEST_CASE("a program that sends on what it receives, or sends an input, has it on the host") {
  TwoGpus gpus;
  auto forwards = gpus.load(1, receiver(true));
  CHECK(!forwards->directEdges()->canTransferDirectly(0));
  CHECK(!forwards->directEdges()->canTransferDirectly(1));
}

TEST_CASE("GPUs that cannot reach each other, or not rightly, say so") {
  {
    TwoGpus gpus(testing::Peers::kNone);
    absl::Status why = gpus.devices[0]->directTransfers()->canAccessPeer(*gpus.devices[1]);
    CHECK(absl::IsFailedPrecondition(why));
    CHECK_THAT(std::string(why.message()), Catch::Contains("cuDeviceCanAccessPeer"));
  }
  {
    TwoGpus gpus(testing::Peers::kBroken);
    absl::Status why = gpus.devices[1]->directTransfers()->canAccessPeer(*gpus.devices[0]);
    CHECK(absl::IsDataLoss(why));
    CHECK_THAT(std::string(why.message()),
               Catch::Contains("a trial of 4194324 bytes arrived with other bytes from 0 on"));
  }
  TwoGpus gpus;
  testing::failCall("cuMemcpyPeerAsync", CUDA_ERROR_NOT_SUPPORTED);
  CHECK(!gpus.devices[0]->directTransfers()->canAccessPeer(*gpus.devices[1]).ok());
  CHECK(!gpus.devices[0]->directTransfers()->canAccessPeer(*gpus.devices[1]).ok());  // as it was
                                                                                     // found
}

}  // namespace graphrun::devices::cuda
