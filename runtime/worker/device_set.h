// A device set makes each device of this process once.
#ifndef GRAPHRUN_RUNTIME_WORKER_DEVICE_SET_H_
#define GRAPHRUN_RUNTIME_WORKER_DEVICE_SET_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "devices/device.h"
#include "runtime/executor/exclusive_runner.h"

namespace graphrun::runtime {

/// Makes a device; devices::createDevice but in tests.
using DeviceFactory = std::function<absl::StatusOr<std::unique_ptr<devices::Device>>(
    const devices::DeviceDescription&)>;

/// A device and who runs on it.
struct SharedDevice {
  explicit SharedDevice(std::unique_ptr<devices::Device> made)
      : device(std::move(made)), turns(device.get()) {}

  std::unique_ptr<devices::Device> device;
  ExclusiveRunner turns;
};

/// The most devices that are kept though no plan has them: a plan that is loaded again finds its
/// own.
inline constexpr size_t kMaxIdleDevices = 16;

/// Plans share devices, and with them packed weights and threads; so do sessions with the same set.
/// Of those that nobody has any more the last used stay, up to kMaxIdleDevices. Thread-safe.
class DeviceSet {
 public:
  explicit DeviceSet(DeviceFactory factory) : factory_(std::move(factory)) {}

  absl::StatusOr<std::shared_ptr<SharedDevice>> get(const devices::DeviceDescription& description);

 private:
  struct Entry {
    std::shared_ptr<SharedDevice> device;
    uint64_t lastUse = 0;
  };
  std::vector<std::shared_ptr<SharedDevice>> takeIdle();

  const DeviceFactory factory_;
  std::mutex mutex_;
  std::map<std::string, Entry> devices_;
  uint64_t uses_ = 0;
};

}  // namespace graphrun::runtime

#endif  // GRAPHRUN_RUNTIME_WORKER_DEVICE_SET_H_
