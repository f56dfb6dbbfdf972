// The device: what it is, its memory, what happens when there is none.
#include <set>

#include "devices/cuda/driver/device_memory.h"
#include "devices/cuda/driver/pinned_pool.h"
#include "tests/devices/cuda/gpu_fixture.h"

namespace graphrun::devices::cuda {
namespace {

constexpr size_t kMiB = size_t{1} << 20;

/// A context of its own.
struct ContextFixture {
  explicit ContextFixture(size_t bytes) {
    testing::resetGpus(1, bytes);
    const DriverApi& driver = *libraries.driver().value();
    context = Context::create(driver, findGpu(driver, 0).value()).value();
  }
  ~ContextFixture() {
    context.reset();
    CHECK(testing::gpuCounts().alive() == 0);
  }
  Libraries libraries{simulatedFiles()};
  ContextPointer context;
};

}  // namespace

TEST_CASE("a GPU says what it is and how much memory programs may have") {
  GpuFixture gpu(size_t{8} << 30);
  CHECK(gpu.device->description().memoryBytes == (size_t{8} << 30) - 256 * kMiB);
  CHECK(gpu.device->fingerprint() ==
        "cuda Simulated GPU sm_90 driver 13.0.0 cublasLt 13.1.0 cudnn 9.19.0 nccl none");
  CHECK(computeCapabilityOf(gpu.device->fingerprint()).value() == 90);
  CHECK(computeCapabilityOf("cuda The sm_1 GPU sm_120 driver 13.0.0").value() == 120);
  CHECK(absl::IsInvalidArgument(computeCapabilityOf("cpu some processor").status()));
  DeviceDescription limited{"test/cuda:0", "cuda", 0, {}, 1000, 0};
  CHECK(createCudaDevice(limited, gpu.libraries).value()->description().memoryBytes == 1000);
}

TEST_CASE("each GPU is offered, with whole GiB of what is free") {
  testing::resetGpus(2, (size_t{8} << 30) + 5 * kMiB);
  Libraries libraries(simulatedFiles());
  std::vector<DeviceDescription> devices = discoverCudaDevices(libraries);
  REQUIRE(devices.size() == 2);
  CHECK(devices[1].name == "cuda:1");
  CHECK(devices[1].kind == "cuda");
  CHECK(devices[1].index == 1);
  CHECK(devices[1].memoryBytes == size_t{7} << 30);
  CHECK(testing::gpuCounts().alive() == 0);
  std::vector<std::string> lines = cudaFindings(libraries);
  REQUIRE(lines.size() == 8);
  CHECK(lines[5] == "cuda:1 Simulated GPU, sm_90, 8197 MiB");
  CHECK(lines[6] == "cuda:0 to cuda:1 directly");
  CHECK(lines[7] == "cuda:1 to cuda:0 directly");
  CHECK(testing::gpuCounts().alive() == 0);
  CHECK(lines[2] == std::string("cudnn 9.19.0 (") + SIMULATOR + ")");
  CHECK_THAT(lines[3], Catch::Contains("nccl: /nonexistent/libnccl.so cannot be loaded"));
}

TEST_CASE("what is free of a GPU's memory is found without a context where NVML tells it") {
  for (bool managed : {true, false}) {
    CAPTURE(managed);
    testing::resetGpus(2, (size_t{8} << 30) - kMiB);
    testing::setManaged(managed);
    Libraries libraries(simulatedFiles());
    CHECK(discoverCudaDevices(libraries).size() == 2);
    testing::failCall("cuDevicePrimaryCtxRetain", CUDA_ERROR_OUT_OF_MEMORY);
    std::vector<DeviceDescription> devices = discoverCudaDevices(libraries);
    REQUIRE(devices.size() == (managed ? 2 : 1));
    CHECK(devices.back().memoryBytes == size_t{7} << 30);
  }
}

TEST_CASE("a GPU that is not there is refused with how many there are") {
  testing::resetGpus(1);
  Libraries libraries(simulatedFiles());
  absl::Status status = createCudaDevice({"node0/cuda:3", "cuda", 3, {}, 0, 0}, libraries).status();
  CHECK(absl::IsNotFound(status));
  CHECK_THAT(std::string(status.message()),
             Catch::Contains("device node0/cuda:3: there is no GPU 3, the driver offers 1"));
}

TEST_CASE("a device that cannot be made leaves nothing behind") {
  for (const char* call :
       {"cuDevicePrimaryCtxRetain", "cuStreamCreate", "cuMemPoolCreate", "cuMemPoolSetAttribute",
        "cuMemGetInfo", "cuDeviceGetName", "cuDeviceGetAttribute"}) {
    CAPTURE(call);
    testing::resetGpus();
    testing::failCall(call, CUDA_ERROR_OUT_OF_MEMORY);
    Libraries libraries(simulatedFiles());
    absl::Status status =
        createCudaDevice({"test/cuda:0", "cuda", 0, {}, 0, 0}, libraries).status();
    CHECK(absl::IsResourceExhausted(status));
    CHECK_THAT(std::string(status.message()), Catch::Contains(call));
    CHECK(testing::gpuCounts().alive() == 0);
  }
}

TEST_CASE("memory that is bound to programs is the host's, aligned, and kept for the next") {
  GpuFixture gpu;
  std::set<void*> seen;
  for (size_t bytes : {size_t{0}, size_t{1}, 5 * kMiB, 300 * kMiB}) {
    void* memory = gpu.device->allocate(bytes).value();
    CHECK(reinterpret_cast<uintptr_t>(memory) % runtime::kTensorAlignment == 0);
    std::vector<uint8_t> out(bytes, 3);
    std::vector<uint8_t> in(bytes, 0);
    std::copy(out.begin(), out.end(), static_cast<uint8_t*>(memory));
    std::copy_n(static_cast<const uint8_t*>(memory), bytes, in.begin());
    CHECK(in == out);
    gpu.device->deallocate(memory);
    seen.insert(memory);
  }
  CHECK(testing::gpuCounts().hostMemory == 2);  // the largest one went back to the system
  void* again = gpu.device->allocate(4096).value();
  CHECK(seen.contains(again));
  gpu.device->deallocate(again);
  CHECK(absl::IsResourceExhausted(gpu.device->allocate(size_t{1} << 62).status()));
  CHECK(absl::IsResourceExhausted(gpu.device->allocate(size_t{1} << 45).status()));
}

TEST_CASE("a pool gives memory of the GPU back, and says what is free when there is none") {
  ContextFixture gpu(4 * kMiB);
  auto pool = MemoryPool::create(gpu.context).value();
  auto memory = pool->allocate(3 * kMiB);
  REQUIRE(memory.ok());
  CHECK((*memory)->address() % 256 == 0);
  absl::Status status = pool->allocate(2 * kMiB).status();
  CHECK(absl::IsResourceExhausted(status));
  CHECK_THAT(
      std::string(status.message()),
      Catch::Contains("cannot allocate 2097152 bytes of the GPU's memory, 1048576 are free"));
  memory->reset();
  CHECK(pool->allocate(4 * kMiB).ok());
}

TEST_CASE("locked memory that is given back serves whoever asks for as much") {
  ContextFixture gpu(4 * kMiB);
  PinnedPool pool(gpu.context);
  void* first = pool.allocate(5000).value();
  pool.deallocate(first);
  CHECK(pool.allocate(8192).value() == first);
  void* second = pool.allocate(8192).value();
  CHECK(second != first);
  for (void* memory : {first, second, static_cast<void*>(nullptr)}) {
    pool.deallocate(memory);
  }
  CHECK(testing::gpuCounts().hostMemory == 2);
}

}  // namespace graphrun::devices::cuda
