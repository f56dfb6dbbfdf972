#include "devices/null/null_device.h"

#include <cstdlib>

#include "runtime/base/status.h"

namespace graphrun::devices {

absl::StatusOr<void*> NullDevice::allocate(size_t bytes) {
  constexpr size_t kMost = size_t{1} << 40;
  void* memory = nullptr;
  if (bytes <= kMost) {
    memory =
        std::aligned_alloc(runtime::kTensorAlignment, runtime::alignTensor(bytes > 0 ? bytes : 1));
  }
  if (memory == nullptr) {
    return absl::ResourceExhaustedError(
        absl::StrCat(description_.name, ": cannot allocate ", bytes, " bytes"));
  }
  return memory;
}

void NullDevice::deallocate(void* memory) { std::free(memory); }

absl::StatusOr<std::unique_ptr<Program>> NullDevice::load(absl::Span<const uint8_t>,
                                                          WeightSource&) {
  return absl::UnimplementedError(
      absl::StrCat(description_.name,
                   ": a device of kind \"null\" runs no operation; name a device "
                   "of another kind (cpu) in the cluster"));
}

absl::StatusOr<std::unique_ptr<Device>> createNullDevice(const DeviceDescription& description) {
  return std::make_unique<NullDevice>(description);
}

}  // namespace graphrun::devices
