#include "runtime/worker/device_set.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/base/status.h"

namespace graphrun::runtime {

absl::StatusOr<std::shared_ptr<SharedDevice>> DeviceSet::get(
    const devices::DeviceDescription& description) {
  std::string key = absl::StrCat(description.name, " ", description.kind, " ", description.index,
                                 " ", description.memoryBytes, " ", description.threads, " ",
                                 absl::StrJoin(description.cores, ","));
  std::vector<std::shared_ptr<SharedDevice>> dropped;  // end outside the lock
  std::lock_guard lock(mutex_);
  Entry& entry = devices_[key];
  if (entry.device == nullptr) {
    absl::StatusOr<std::unique_ptr<devices::Device>> made = factory_(description);
    if (!made.ok()) {
      devices_.erase(key);
      return made.status();
    }
    entry.device = std::make_shared<SharedDevice>(*std::move(made));
  }
  entry.lastUse = ++uses_;
  std::shared_ptr<SharedDevice> device = entry.device;
  dropped = takeIdle();
  return device;
}

/// The devices that go: of those that only this set has, the ones used longest ago.
std::vector<std::shared_ptr<SharedDevice>> DeviceSet::takeIdle() {
  std::map<uint64_t, std::map<std::string, Entry>::iterator> idle;  // by their last use
  for (auto it = devices_.begin(); it != devices_.end(); ++it) {
    if (it->second.device.use_count() == 1) {
      idle.emplace(it->second.lastUse, it);
    }
  }
  std::vector<std::shared_ptr<SharedDevice>> taken;
  for (auto it = idle.begin(); idle.size() - taken.size() > kMaxIdleDevices; ++it) {
    taken.push_back(std::move(it->second->second.device));
    devices_.erase(it->second);
  }
  return taken;
}

}  // namespace graphrun::runtime
