#include "devices/cuda/program/cuda_device.h"

#include <map>
#include <mutex>
#include <utility>

#include "absl/strings/numbers.h"
#include "devices/cuda/cuda_kind.h"
#include "devices/cuda/driver/libraries.h"
#include "devices/cuda/driver/peers.h"
#include "devices/cuda/driver/vendor_status.h"
#include "devices/cuda/program/cuda_program.h"
#include "devices/executable/kernel_refusals.h"
#include "runtime/base/status.h"

namespace graphrun::devices::cuda {
namespace {

constexpr absl::string_view kCapability = " sm_";

std::string fingerprintOf(const GpuFacts& gpu, Libraries& libraries) {
  std::string text = absl::StrCat("cuda ", gpu.name, kCapability, gpu.computeCapability);
  for (const LibraryFacts& library : libraries.facts()) {
    absl::StrAppend(&text, " ", library.name, " ",
                    library.status.ok() ? library.version.toString() : "none");
  }
  return text;
}

class CudaDevice : public Device, public DirectTransfers, public Collectives {
 public:
  CudaDevice(DeviceDescription description, std::string fingerprint, DeviceParts parts)
      : description_(std::move(description)),
        fingerprint_(std::move(fingerprint)),
        parts_(std::move(parts)) {}

  const DeviceDescription& description() const override { return description_; }
  std::string fingerprint() const override { return fingerprint_; }

  absl::StatusOr<void*> allocate(size_t bytes) override {
    absl::StatusOr<void*> memory = parts_.pinned->allocate(bytes);
    if (!memory.ok()) {
      return runtime::annotate(memory.status(), description_.name);
    }
    return memory;
  }
  void deallocate(void* memory) override { parts_.pinned->deallocate(memory); }

  bool bindsHostMemory() const override { return true; }

  absl::StatusOr<std::shared_ptr<void>> pinHostMemory(absl::Span<uint8_t> pages) override {
    return lockPages(parts_.context, pages);
  }

  DirectTransfers* directTransfers() override { return this; }
  Collectives* collectives() override { return this; }
  absl::string_view memory() const override { return memory_; }

  absl::Status canAccessPeer(Device& to) override {
    auto* other = dynamic_cast<CudaDevice*>(&to);
    if (other == nullptr) {
      return absl::UnimplementedError("they are of different kinds");
    }
    std::lock_guard lock(mutex_);
    auto [known, isNew] = reached_.try_emplace(other->parts_.context->gpu());
    if (isNew) {
      known->second = checkPeers(parts_.memory, other->parts_.memory);
    }
    return known->second;
  }

  absl::StatusOr<void*> allocateDevice(size_t bytes) override {
    GR_ASSIGN_OR_RETURN(std::unique_ptr<OwnMemory> memory,
                        OwnMemory::allocate(parts_.context, bytes));
    std::lock_guard lock(mutex_);
    void* bound = memory->bound();
    own_[bound] = std::move(memory);
    return bound;
  }
  void deallocateDevice(void* memory) override {
    std::lock_guard lock(mutex_);
    own_.erase(memory);
  }
  absl::Status copyToDevice(void* to, const void* from, size_t bytes) override {
    return copyAndWait([&](const Stream& stream) {
      return GR_CU(parts_.context->driver(), cuMemcpyHtoDAsync_v2,
                   reinterpret_cast<CUdeviceptr>(to), from, bytes, stream.get());
    });
  }
  absl::Status copyFromDevice(void* to, const void* from, size_t bytes) override {
    return copyAndWait([&](const Stream& stream) {
      return GR_CU(parts_.context->driver(), cuMemcpyDtoHAsync_v2, to,
                   reinterpret_cast<CUdeviceptr>(from), bytes, stream.get());
    });
  }

  absl::StatusOr<std::string> newCommunicatorId() override {
    ScopedContext scope(*parts_.context);
    return cuda::newCommunicatorId(*parts_.libraries);
  }

  absl::StatusOr<std::unique_ptr<Program>> load(absl::Span<const uint8_t> executable,
                                                WeightSource& weights) override {
    auto program =
        CudaProgram::load(executable, weights, parts_, fingerprint_, description_.memoryBytes);
    if (!program.ok()) {
      return annotateKeepingRefusals(program.status(), description_.name);
    }
    return *std::move(program);
  }

  /// The thread may be the user's, who has a context of their own: records make theirs the
  /// thread's while they run.
  absl::Status attachThread() override { return absl::OkStatus(); }

 private:
  template <typename Copy>
  absl::Status copyAndWait(Copy copy) {
    ScopedContext scope(*parts_.context);
    GR_ASSIGN_OR_RETURN(std::unique_ptr<Stream> stream, Stream::create(parts_.context));
    absl::Status status = copy(*stream);
    absl::Status done = stream->synchronize();
    return status.ok() ? done : status;
  }

  DeviceDescription description_;
  std::string fingerprint_;
  std::string memory_ = cudaKind().memory;
  DeviceParts parts_;
  std::mutex mutex_;
  std::map<CUdevice, absl::Status> reached_;         ///< guarded by mutex_
  std::map<void*, std::unique_ptr<OwnMemory>> own_;  ///< guarded by mutex_
};

absl::StatusOr<std::unique_ptr<Device>> create(DeviceDescription description,
                                               Libraries& libraries) {
  GR_ASSIGN_OR_RETURN(const DriverApi* driver, libraries.driver());
  GR_ASSIGN_OR_RETURN(CUdevice gpu, findGpu(*driver, description.index));
  GR_ASSIGN_OR_RETURN(GpuFacts facts, gpuFacts(*driver, gpu));
  DeviceParts parts;
  GR_ASSIGN_OR_RETURN(parts.context, Context::create(*driver, gpu));
  GR_ASSIGN_OR_RETURN(parts.memory, MemoryPool::create(parts.context));
  parts.pinned = std::make_shared<PinnedPool>(parts.context);
  parts.weights = std::make_shared<SharedWeights>(parts.context, parts.memory);
  parts.products = std::make_shared<ProductLibrary>(parts.context, libraries);
  parts.cudnn = std::make_shared<CudnnLibrary>(parts.context, libraries);
  parts.libraries = &libraries;
  if (description.memoryBytes == 0) {
    GR_ASSIGN_OR_RETURN(description.memoryBytes, usableBytes(*parts.context));
  }
  return std::make_unique<CudaDevice>(std::move(description), fingerprintOf(facts, libraries),
                                      std::move(parts));
}

}  // namespace

absl::StatusOr<std::unique_ptr<Device>> createCudaDevice(const DeviceDescription& description,
                                                         Libraries& libraries) {
  absl::StatusOr<std::unique_ptr<Device>> device = create(description, libraries);
  if (!device.ok()) {
    return runtime::annotate(device.status(), absl::StrCat("device ", description.name));
  }
  return device;
}

absl::StatusOr<std::unique_ptr<Device>> createCudaDevice(const DeviceDescription& description) {
  return createCudaDevice(description, libraries());
}

absl::StatusOr<int> computeCapabilityOf(absl::string_view fingerprint) {
  size_t begin = fingerprint.rfind(kCapability);  // a GPU may be called anything
  absl::string_view digits =
      begin == absl::string_view::npos ? "" : fingerprint.substr(begin + kCapability.size());
  int capability = 0;
  if (!absl::SimpleAtoi(digits.substr(0, digits.find(' ')), &capability)) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", fingerprint, "' is the fingerprint of no GPU"));
  }
  return capability;
}

}  // namespace graphrun::devices::cuda
