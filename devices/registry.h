// The registry has the kinds of devices of a build, a row each.
#ifndef GRAPHRUN_DEVICES_REGISTRY_H_
#define GRAPHRUN_DEVICES_REGISTRY_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "devices/device.h"

namespace graphrun::devices {

/// A KindRow is the run world's entry for a kind.
struct KindRow {
  runtime::DeviceKind (*record)();
  absl::StatusOr<std::unique_ptr<Device>> (*create)(const DeviceDescription&);
  absl::Status (*check)(const DeviceDescription&);  ///< null: always there
  std::vector<DeviceDescription> (*discover)();     ///< null: never offered by itself
  std::vector<std::string> (*findings)();           ///< null: needs nothing
  std::string (*traits)();                          ///< null: plans do not depend on the machine
};

/// registry.cpp has those of the product. A program that is linked with a definition of its own, as
/// tests are, has other kinds.
absl::Span<const KindRow> kindRows();

}  // namespace graphrun::devices

#endif  // GRAPHRUN_DEVICES_REGISTRY_H_
