// The devices of this build: one explicit list.
#include <vector>

#include "devices/cpu/cpu_device.h"
#include "devices/device.h"
#include "devices/null/null_device.h"
#include "runtime/base/status.h"

namespace graphrun::devices {
namespace {

struct Kind {
  absl::string_view name;
  absl::StatusOr<std::unique_ptr<Device>> (*create)(const DeviceDescription&);
  std::vector<DeviceDescription> (*discover)();  ///< null: never offered by itself
};

constexpr Kind kKinds[] = {
    {"cpu", cpu::createCpuDevice, cpu::discoverCpuDevices},
    {"null", createNullDevice, nullptr},
};

}  // namespace

absl::StatusOr<std::unique_ptr<Device>> createDevice(const DeviceDescription& description) {
  std::string known;
  for (const Kind& kind : kKinds) {
    if (kind.name == description.kind) {
      return kind.create(description);
    }
    absl::StrAppend(&known, known.empty() ? "" : ", ", kind.name);
  }
  return absl::NotFoundError(absl::StrCat("device ", description.name, ": kind \"",
                                          description.kind, "\" is not in this build, which has ",
                                          known));
}

std::vector<DeviceDescription> discoverDevices() {
  std::vector<DeviceDescription> devices;
  for (const Kind& kind : kKinds) {
    if (kind.discover != nullptr) {
      for (DeviceDescription& device : kind.discover()) {
        devices.push_back(std::move(device));
      }
    }
  }
  return devices;
}

}  // namespace graphrun::devices
