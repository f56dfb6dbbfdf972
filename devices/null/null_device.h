// A device that runs nothing: the skeleton to copy for a new one.
#ifndef GRAPHRUN_DEVICES_NULL_NULL_DEVICE_H_
#define GRAPHRUN_DEVICES_NULL_NULL_DEVICE_H_

#include <memory>
#include <string>

#include "devices/device.h"

namespace graphrun::devices {

/// Host memory and no kernels: `load` gives Unimplemented. Thread-safe.
class NullDevice : public Device {
 public:
  explicit NullDevice(DeviceDescription description) : description_(std::move(description)) {}

  const DeviceDescription& description() const override { return description_; }
  std::string fingerprint() const override { return "null"; }
  absl::StatusOr<void*> allocate(size_t bytes) override;
  void deallocate(void* memory) override;
  absl::StatusOr<std::unique_ptr<Program>> load(absl::Span<const uint8_t> executable,
                                                WeightSource& weights) override;
  absl::Status attachThread() override { return absl::OkStatus(); }

 private:
  DeviceDescription description_;
};

/// Always OK.
absl::StatusOr<std::unique_ptr<Device>> createNullDevice(const DeviceDescription& description);

}  // namespace graphrun::devices

#endif  // GRAPHRUN_DEVICES_NULL_NULL_DEVICE_H_
