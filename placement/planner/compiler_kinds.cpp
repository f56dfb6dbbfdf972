// These calls ask the compilers of all kinds of devices (devices/device_compiler.h).
#include "absl/strings/str_cat.h"
#include "devices/device_compiler.h"
#include "placement/planner/device_compilers.h"

namespace graphrun::devices {

std::vector<runtime::DeviceKind> compilerKinds() {
  std::vector<runtime::DeviceKind> kinds;
  for (const CompilerRow& row : compilerRows()) {
    kinds.push_back(row.record());
  }
  return kinds;
}

absl::StatusOr<std::unique_ptr<DeviceCompiler>> createDeviceCompiler(const std::string& kind,
                                                                     runtime::CodeStore* code) {
  for (const CompilerRow& row : compilerRows()) {
    if (row.record().name == kind) {
      return row.create(code);
    }
  }
  return absl::NotFoundError(
      absl::StrCat("no compiler for devices of kind '", kind, "' is built in; expected one of ",
                   runtime::kindNames(compilerKinds()), "; remove the device from cluster.yaml"));
}

}  // namespace graphrun::devices
