// Whether a network carries memory of GPUs is asked of the library, and then tried.
#include "runtime/worker/gpu_memory_trial.h"

#include <catch2/catch.hpp>

#include "runtime/transport/sim.h"
#include "runtime/transport/ucx.h"
#include "tests/runtime/transport/gpu_memory.h"

namespace graphrun::runtime {
namespace {

using testing::asGpu;
using testing::asHost;

/// A device with memory of its own.
class GpuLike : public devices::DirectTransfers {
 public:
  absl::Status canAccessPeer(devices::Device&) override {
    return absl::InternalError("not asked for");
  }
  absl::string_view memory() const override { return "cuda"; }
  absl::StatusOr<void*> allocateDevice(size_t bytes) override {
    ++alive;
    return asGpu(std::aligned_alloc(64, (bytes + 63) / 64 * 64));
  }
  void deallocateDevice(void* memory) override {
    --alive;
    std::free(asHost(memory));
  }
  absl::Status copyToDevice(void* to, const void* from, size_t bytes) override {
    std::memcpy(asHost(to), from, bytes);
    return absl::OkStatus();
  }
  absl::Status copyFromDevice(void* to, const void* from, size_t bytes) override {
    std::memcpy(to, asHost(from), bytes);
    return absl::OkStatus();
  }

  int alive = 0;
};

TransportFactory on(std::function<void(void*, const void*, size_t)> copy) {
  SimOptions options;
  options.copy = std::move(copy);
  return [network = makeSimNetwork(options)](uint32_t rank) {
    return makeSimTransport(network, rank);
  };
}

}  // namespace

TEST_CASE("a network that moves the bytes of a GPU's memory carries it") {
  GpuLike gpu;
  CHECK(tryGpuMemory(on(testing::copyAny), gpu).ToString() == "OK");
  CHECK(gpu.alive == 0);
}

TEST_CASE("a network that brings other bytes does not") {
  GpuLike gpu;
  absl::Status status = tryGpuMemory(on([](void* to, const void* from, size_t bytes) {
                                       testing::copyAny(to, from, bytes);
                                       if (bytes > (size_t{1} << 20)) {
                                         static_cast<uint8_t*>(asHost(to))[bytes - 1] ^= 1;
                                       }
                                     }),
                                     gpu);
  CHECK(absl::IsDataLoss(status));
  CHECK_THAT(std::string(status.message()), Catch::Contains("2097152 bytes arrived with other"));
  CHECK(gpu.alive == 0);
}

TEST_CASE("a library without such memory says so, and how to get one that has it") {
  GpuLike gpu;
  absl::Status status = tryGpuMemory(on(nullptr), gpu);
  CHECK(absl::IsUnimplemented(status));
  CHECK_THAT(std::string(status.message()), Catch::Contains("CUDA-aware UCX"));
}

TEST_CASE("the installed UCX is asked, too") {
  GpuLike gpu;
  auto made = makeUcxTransport({.rank = 9});
  if (!made.ok() || (*made)->carries("cuda")) {
    WARN("left out: this machine has no UCX, or one that would take the addresses for a GPU's");
    return;
  }
  CHECK(absl::IsUnimplemented(
      tryGpuMemory([](uint32_t rank) { return makeUcxTransport({.rank = rank}); }, gpu)));
}

}  // namespace graphrun::runtime
