// The devices of this build: one explicit list.
#include <vector>

#include "devices/cpu/cpu_device.h"
#include "devices/cpu/cpu_kind.h"
#include "devices/cuda/cuda_device.h"
#include "devices/cuda/cuda_kind.h"
#include "devices/device.h"
#include "devices/machine_traits.h"
#include "devices/null/null_device.h"
#include "devices/null/null_kind.h"
#include "runtime/base/status.h"

namespace graphrun::devices {
namespace {

struct Kind {
  runtime::DeviceKind (*record)();
  absl::StatusOr<std::unique_ptr<Device>> (*create)(const DeviceDescription&);
  absl::Status (*check)(const DeviceDescription&);  ///< null: always there
  std::vector<DeviceDescription> (*discover)();     ///< null: never offered by itself
  std::vector<std::string> (*findings)();           ///< null: needs nothing
  std::string (*traits)();                          ///< null: plans do not depend on the machine
};

constexpr Kind kKinds[] = {
    {cpu::cpuKind, cpu::createCpuDevice, cpu::checkCpuDevice, cpu::discoverCpuDevices,
     cpu::cpuFindings, cpu::cpuTraits},
    {cuda::cudaKind, cuda::createCudaDevice, cuda::checkCudaDevice, cuda::discoverCudaDevices,
     cuda::cudaFindings, nullptr},
    {nullKind, createNullDevice, nullptr, nullptr, nullptr, nullptr},
};

absl::StatusOr<const Kind*> findKind(const DeviceDescription& description) {
  std::string known;
  for (const Kind& kind : kKinds) {
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
  GR_ASSIGN_OR_RETURN(const Kind* kind, findKind(description));
  return kind->create(description);
}

absl::Status checkDevice(const DeviceDescription& description) {
  GR_ASSIGN_OR_RETURN(const Kind* kind, findKind(description));
  return kind->check == nullptr ? absl::OkStatus() : kind->check(description);
}

std::vector<runtime::DeviceKind> deviceKinds() {
  std::vector<runtime::DeviceKind> kinds;
  for (const Kind& kind : kKinds) {
    if (runtime::DeviceKind record = kind.record(); record.computes) {
      kinds.push_back(std::move(record));
    }
  }
  return kinds;
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

std::vector<KindFindings> findKinds() {
  std::vector<KindFindings> findings;
  for (const Kind& kind : kKinds) {
    if (kind.findings != nullptr) {
      findings.push_back({kind.record().name, kind.findings()});
    }
  }
  return findings;
}

std::string machineTraits() {
  std::string traits;
  for (const Kind& kind : kKinds) {
    if (kind.traits != nullptr) {
      absl::StrAppend(&traits, kind.traits(), "\n");
    }
  }
  return traits;
}

std::vector<std::string> missingKinds() {
  std::vector<std::string> lines;
  for (const Kind& kind : kKinds) {
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
