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
  std::lock_guard lock(mutex_);
  std::shared_ptr<SharedDevice>& device = devices_[key];
  if (device == nullptr) {
    absl::StatusOr<std::unique_ptr<devices::Device>> made = factory_(description);
    if (!made.ok()) {
      devices_.erase(key);
      return made.status();
    }
    device = std::make_shared<SharedDevice>(*std::move(made));
  }
  return device;
}

}  // namespace graphrun::runtime
