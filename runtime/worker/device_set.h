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

namespace graphrun::runtime {

/// Makes a device; devices::createDevice but in tests.
using DeviceFactory = std::function<absl::StatusOr<std::unique_ptr<devices::Device>>(
    const devices::DeviceDescription&)>;

/// Plans share devices, and with them packed weights; so do sessions with the same set.
/// Thread-safe.
class DeviceSet {
 public:
  explicit DeviceSet(DeviceFactory factory) : factory_(std::move(factory)) {}

  absl::StatusOr<std::shared_ptr<devices::Device>> get(
      const devices::DeviceDescription& description);

 private:
  const DeviceFactory factory_;
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<devices::Device>> devices_;
};

}  // namespace graphrun::runtime

#endif  // GRAPHRUN_RUNTIME_WORKER_DEVICE_SET_H_
