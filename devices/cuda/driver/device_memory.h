// Memory of a GPU. Internal to devices/cuda.
#ifndef GRAPHRUN_DEVICES_CUDA_DRIVER_DEVICE_MEMORY_H_
#define GRAPHRUN_DEVICES_CUDA_DRIVER_DEVICE_MEMORY_H_

#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "devices/cuda/driver/context.h"

namespace graphrun::devices::cuda {

class MemoryPool;

/// A piece of a pool, given back when it goes. Nothing that uses it may be under way then.
class DeviceMemory {
 public:
  ~DeviceMemory();
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  CUdeviceptr address() const { return address_; }
  size_t bytes() const { return bytes_; }

 private:
  friend class MemoryPool;
  DeviceMemory(std::shared_ptr<const MemoryPool> pool, CUdeviceptr address, size_t bytes)
      : pool_(std::move(pool)), address_(address), bytes_(bytes) {}

  std::shared_ptr<const MemoryPool> pool_;
  CUdeviceptr address_;
  size_t bytes_;
};

/// Memory of one GPU in the driver's stream-ordered pool: what is given back is kept for the next
/// program, up to a limit. Thread-safe.
class MemoryPool : public std::enable_shared_from_this<MemoryPool> {
 public:
  static absl::StatusOr<std::shared_ptr<const MemoryPool>> create(const ContextPointer& context);
  ~MemoryPool();
  MemoryPool(const MemoryPool&) = delete;
  MemoryPool& operator=(const MemoryPool&) = delete;

  /// Aligned to 256 bytes, for use on any stream, not cleared. ResourceExhausted when there is no
  /// more, with what is free.
  absl::StatusOr<std::unique_ptr<DeviceMemory>> allocate(size_t bytes) const;

  const Context& context() const { return *context_; }
  const ContextPointer& contextPointer() const { return context_; }
  CUmemoryPool handle() const { return pool_; }

 private:
  friend class DeviceMemory;
  explicit MemoryPool(ContextPointer context) : context_(std::move(context)) {}

  ContextPointer context_;
  std::unique_ptr<Stream> stream_;  ///< in whose order memory comes and goes
  CUmemoryPool pool_ = nullptr;
};

/// Memory of a GPU outside of its pool. Libraries of networks can make it known to their adapters
/// and to other processes; memory of pools most cannot.
class OwnMemory {
 public:
  static absl::StatusOr<std::unique_ptr<OwnMemory>> allocate(ContextPointer context, size_t bytes);
  ~OwnMemory();
  OwnMemory(const OwnMemory&) = delete;
  OwnMemory& operator=(const OwnMemory&) = delete;

  CUdeviceptr address() const { return address_; }
  /// The address as tables of buffers have it.
  void* bound() const { return std::bit_cast<void*>(address_); }

 private:
  explicit OwnMemory(ContextPointer context) : context_(std::move(context)) {}

  ContextPointer context_;
  CUdeviceptr address_ = 0;
};

/// The bytes that programs may have where `free` bytes of a GPU's `total` are free: less a margin.
uint64_t lessMargin(uint64_t free, uint64_t total);

/// Bytes that programs may have on the context's GPU: what is free now, less a margin.
absl::StatusOr<uint64_t> usableBytes(const Context& context);

}  // namespace graphrun::devices::cuda

#endif  // GRAPHRUN_DEVICES_CUDA_DRIVER_DEVICE_MEMORY_H_
