#include "devices/cuda/driver/device_memory.h"

#include <algorithm>
#include <utility>

#include "devices/cuda/driver/vendor_status.h"
#include "runtime/base/status.h"

namespace graphrun::devices::cuda {
namespace {

/// A pool keeps this much for later: it serves the next program's arena, and leaves the rest to
/// other processes.
constexpr cuuint64_t kKeptBytes = cuuint64_t{256} << 20;
/// For the code of kernels, handles of libraries, graphs, and others who use the GPU.
constexpr uint64_t kLeastMargin = uint64_t{256} << 20;

struct Bytes {
  size_t free = 0;
  size_t total = 0;
};

absl::StatusOr<Bytes> bytesOf(const Context& context) {
  ScopedContext scope(context);
  Bytes bytes;
  GR_RETURN_IF_ERROR(GR_CU(context.driver(), cuMemGetInfo_v2, &bytes.free, &bytes.total));
  return bytes;
}

}  // namespace

DeviceMemory::~DeviceMemory() {
  ScopedContext scope(*pool_->context_);
  pool_->context_->driver().cuMemFreeAsync(address_, pool_->stream_->get());
}

absl::StatusOr<std::shared_ptr<const MemoryPool>> MemoryPool::create(
    const ContextPointer& context) {
  ScopedContext scope(*context);
  const DriverApi& driver = context->driver();
  std::shared_ptr<MemoryPool> pool(new MemoryPool(context));
  GR_ASSIGN_OR_RETURN(pool->stream_, Stream::create(context));
  CUmemPoolProps properties{};
  properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, context->gpu()};
  GR_RETURN_IF_ERROR(GR_CU(driver, cuMemPoolCreate, &pool->pool_, &properties));
  cuuint64_t kept = kKeptBytes;
  GR_RETURN_IF_ERROR(
      GR_CU(driver, cuMemPoolSetAttribute, pool->pool_, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &kept));
  return std::shared_ptr<const MemoryPool>(std::move(pool));
}

MemoryPool::~MemoryPool() {
  ScopedContext scope(*context_);
  if (pool_ != nullptr) {
    static_cast<void>(stream_->synchronize());  // what was given back is back then
    context_->driver().cuMemPoolDestroy(pool_);
  }
  stream_.reset();
}

absl::StatusOr<std::unique_ptr<DeviceMemory>> MemoryPool::allocate(size_t bytes) const {
  ScopedContext scope(*context_);
  CUdeviceptr address = 0;
  absl::Status status = GR_CU(context_->driver(), cuMemAllocFromPoolAsync, &address,
                              std::max<size_t>(bytes, 1), pool_, stream_->get());
  if (status.ok()) {
    std::unique_ptr<DeviceMemory> memory(new DeviceMemory(shared_from_this(), address, bytes));
    GR_RETURN_IF_ERROR(stream_->synchronize());
    return memory;
  }
  if (absl::IsResourceExhausted(status)) {
    absl::StatusOr<Bytes> now = bytesOf(*context_);
    return absl::ResourceExhaustedError(absl::StrCat(
        "cannot allocate ", bytes, " bytes of the GPU's memory, ",
        now.ok() ? absl::StrCat(now->free) : "an unknown number", " are free: ", status.message()));
  }
  return status;
}

absl::StatusOr<std::unique_ptr<OwnMemory>> OwnMemory::allocate(ContextPointer context,
                                                               size_t bytes) {
  ScopedContext scope(*context);
  std::unique_ptr<OwnMemory> memory(new OwnMemory(std::move(context)));
  GR_RETURN_IF_ERROR(GR_CU(memory->context_->driver(), cuMemAlloc_v2, &memory->address_,
                           std::max<size_t>(bytes, 1)));
  return memory;
}

OwnMemory::~OwnMemory() {
  if (address_ != 0) {
    ScopedContext scope(*context_);
    context_->driver().cuMemFree_v2(address_);
  }
}

uint64_t lessMargin(uint64_t free, uint64_t total) {
  const uint64_t margin = std::max(total / 32, kLeastMargin);
  return free > margin ? free - margin : 0;
}

absl::StatusOr<uint64_t> usableBytes(const Context& context) {
  GR_ASSIGN_OR_RETURN(Bytes bytes, bytesOf(context));
  return lessMargin(bytes.free, bytes.total);
}

}  // namespace graphrun::devices::cuda
