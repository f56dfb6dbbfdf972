// Memory of the host that a GPU copies from and to, locked or not.
#include <cstdlib>

#include "devices/cpu/base/cpu_memory.h"
#include "devices/cuda/driver/device_memory.h"
#include "devices/cuda/program/cuda_device.h"
#include "tests/devices/cuda/gpu_fixture.h"

namespace graphrun::devices::cuda {
namespace {

constexpr size_t kPage = 4096;

/// A GPU, memory of its own, and pages of the host.
struct HostMemoryFixture : GpuFixture {
  HostMemoryFixture() {
    memory = cpu::allocatePages(3 * kPage - 100, pages).value();
    own = device->directTransfers()->allocateDevice(pages.size()).value();
  }
  ~HostMemoryFixture() { device->directTransfers()->deallocateDevice(own); }

  /// Of these bytes of the pages, there and back.
  absl::Status copy(size_t begin, size_t end) {
    absl::Status there =
        device->directTransfers()->copyToDevice(own, pages.data() + begin, end - begin);
    return there.ok()
               ? device->directTransfers()->copyFromDevice(pages.data() + begin, own, end - begin)
               : there;
  }
  static int pageableCopies() { return testing::gpuCounts().pageableCopies; }

  absl::Span<uint8_t> pages;
  cpu::Memory memory;
  void* own = nullptr;
};

}  // namespace

TEST_CASE("arenas of CPUs are whole pages") {
  for (size_t bytes : {size_t{0}, size_t{1}, kPage, kPage + 1, (size_t{2} << 20) + 1}) {
    CAPTURE(bytes);
    absl::Span<uint8_t> pages;
    cpu::Memory memory = cpu::allocatePages(bytes, pages).value();
    CHECK(pages.data() == memory.get());
    CHECK(reinterpret_cast<uintptr_t>(pages.data()) % kPage == 0);
    CHECK(pages.size() % kPage == 0);
    CHECK(pages.size() >= bytes);
    CHECK(pages.size() < bytes + kPage);
  }
}

TEST_CASE("a GPU copies memory that was locked without a detour, as long as it is") {
  HostMemoryFixture gpu;
  REQUIRE(gpu.pages.size() == 3 * kPage);
  CHECK(gpu.copy(0, gpu.pages.size()).ok());
  CHECK(HostMemoryFixture::pageableCopies() == 2);
  auto lock = gpu.device->pinHostMemory(gpu.pages);
  REQUIRE(lock.ok());
  CHECK(gpu.copy(0, gpu.pages.size()).ok());
  CHECK(gpu.copy(100, 5000).ok());
  CHECK(HostMemoryFixture::pageableCopies() == 2);
  CHECK_FALSE(gpu.device->pinHostMemory(gpu.pages).ok());
  lock->reset();
  CHECK(gpu.copy(100, 5000).ok());
  CHECK(HostMemoryFixture::pageableCopies() == 4);
}

TEST_CASE("the driver copies nothing that is locked in part, and locks whole pages") {
  HostMemoryFixture gpu;
  auto lock = gpu.device->pinHostMemory(gpu.pages.subspan(kPage, kPage));
  REQUIRE(lock.ok());
  CHECK(gpu.copy(0, kPage).ok());
  CHECK(gpu.copy(kPage, 2 * kPage).ok());
  CHECK(gpu.copy(2 * kPage, 3 * kPage).ok());
  CHECK_FALSE(gpu.copy(kPage - 1, kPage + 1).ok());
  CHECK_FALSE(gpu.copy(2 * kPage - 1, 2 * kPage + 1).ok());
  CHECK_FALSE(gpu.copy(0, 3 * kPage).ok());
  CHECK_FALSE(gpu.device->pinHostMemory(gpu.pages.subspan(1, kPage)).ok());
}

TEST_CASE("where nothing can be locked that is said, with the size") {
  HostMemoryFixture gpu;
  testing::setHostMemory(testing::HostMemory::kNeverLocked);
  absl::Status status = gpu.device->pinHostMemory(gpu.pages).status();
  CHECK(absl::IsResourceExhausted(status));
  CHECK_THAT(std::string(status.message()),
             Catch::StartsWith("locking 12288 bytes of host memory: "));
}

}  // namespace graphrun::devices::cuda
