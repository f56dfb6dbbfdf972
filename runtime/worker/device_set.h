// The devices of this process, each made once.
#ifndef GRAPHRUN_RUNTIME_WORKER_DEVICE_SET_H_
#define GRAPHRUN_RUNTIME_WORKER_DEVICE_SET_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "absl/status/statusor.h"
#include "devices/device.h"
#include "runtime/executor/device_turns.h"

namespace graphrun::runtime {

/// Makes a device; devices::createDevice but in tests.
using DeviceFactory = std::function<absl::StatusOr<std::unique_ptr<devices::Device>>(
    const devices::DeviceDescription&)>;

/// A device and who runs on it.
struct SharedDevice {
  explicit SharedDevice(std::unique_ptr<devices::Device> made)
      : device(std::move(made)), turns(device.get()) {}

  std::unique_ptr<devices::Device> device;
  DeviceTurns turns;
};

/// Plans share devices, and with them packed weights and threads; so do sessions with the same set.
/// Thread-safe.
class DeviceSet {
 public:
  explicit DeviceSet(DeviceFactory factory) : factory_(std::move(factory)) {}

  absl::StatusOr<std::shared_ptr<SharedDevice>> get(const devices::DeviceDescription& description);

 private:
  const DeviceFactory factory_;
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<SharedDevice>> devices_;
};

}  // namespace graphrun::runtime

#endif  // GRAPHRUN_RUNTIME_WORKER_DEVICE_SET_H_
