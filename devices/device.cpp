// These calls ask all kinds of devices of a build (devices/device.h).
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "devices/device.h"
#include "devices/executable/machine_traits.h"
#include "devices/registry.h"
#include "runtime/base/status.h"

namespace graphrun::devices {
namespace {

absl::StatusOr<const KindRow*> findRow(const DeviceDescription& description) {
  std::string known;
  for (const KindRow& kind : kindRows()) {
    const std::string name = kind.record().name;
    if (name == description.kind) {
      return &kind;
    }
    absl::StrAppend(&known, known.empty() ? "" : ", ", name);
  }
  return absl::NotFoundError(absl::StrCat("device ", description.name, ": kind \"",
                                          description.kind, "\" is not in this build, which has ",
                                          known));
}

}  // namespace

absl::StatusOr<std::unique_ptr<Device>> createDevice(const DeviceDescription& description) {
  GR_ASSIGN_OR_RETURN(const KindRow* kind, findRow(description));
  return kind->create(description);
}

absl::Status checkDevice(const DeviceDescription& description) {
  GR_ASSIGN_OR_RETURN(const KindRow* kind, findRow(description));
  return kind->check == nullptr ? absl::OkStatus() : kind->check(description);
}

std::vector<runtime::DeviceKind> deviceKinds() {
  std::vector<runtime::DeviceKind> kinds;
  for (const KindRow& kind : kindRows()) {
    if (runtime::DeviceKind record = kind.record(); record.computes) {
      kinds.push_back(std::move(record));
    }
  }
  return kinds;
}

runtime::DeviceKind kindNamed(absl::string_view name) {
  for (const KindRow& kind : kindRows()) {
    if (runtime::DeviceKind record = kind.record(); record.name == name) {
      return record;
    }
  }
  runtime::DeviceKind unknown;
  unknown.name = std::string(name);
  unknown.computes = false;
  unknown.onHostCores = false;
  return unknown;
}

std::vector<DeviceDescription> discoverDevices() {
  std::vector<DeviceDescription> devices;
  for (const KindRow& kind : kindRows()) {
    if (kind.discover != nullptr) {
      for (DeviceDescription& device : kind.discover()) {
        devices.push_back(std::move(device));
      }
    }
  }
  return devices;
}

std::vector<KindFindings> findKinds() {
  std::vector<KindFindings> findings;
  for (const KindRow& kind : kindRows()) {
    if (kind.findings != nullptr) {
      findings.push_back({kind.record().name, kind.findings()});
    }
  }
  return findings;
}

std::string machineTraits() {
  std::string traits;
  for (const KindRow& kind : kindRows()) {
    if (kind.traits != nullptr) {
      absl::StrAppend(&traits, kind.traits(), "\n");
    }
  }
  return traits;
}

std::vector<std::string> missingKinds() {
  std::vector<std::string> lines;
  for (const KindRow& kind : kindRows()) {
    if (kind.discover != nullptr && kind.check != nullptr && kind.discover().empty()) {
      DeviceDescription first;
      first.kind = kind.record().name;
      first.name = absl::StrCat(first.kind, ":0");
      if (absl::Status why = kind.check(first); !why.ok()) {
        lines.emplace_back(why.message());
      }
    }
  }
  return lines;
}

}  // namespace graphrun::devices
