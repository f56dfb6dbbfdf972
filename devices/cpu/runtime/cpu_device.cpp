#include "devices/cpu/runtime/cpu_device.h"

#include <omp.h>

#include <algorithm>

#include "absl/strings/str_join.h"
#include "devices/cpu/base/cpu_memory.h"
#include "devices/cpu/base/onednn_layouts.h"
#include "devices/cpu/runtime/cpu_program.h"
#include "devices/cpu/runtime/cpu_topology.h"
#include "devices/cpu/threading/kernel_team.h"
#include "devices/cpu/vectors/instructions.h"
#include "devices/executable/kernel_refusals.h"
#include "runtime/base/cgroup.h"
#include "runtime/base/status.h"

namespace graphrun::devices::cpu {
int threadsOf(const DeviceDescription& description) {
  if (description.threads != 0) {
    return static_cast<int>(description.threads);
  }
  return static_cast<int>(description.cores.empty() ? allowedCores().size()
                                                    : description.cores.size());
}

CpuDevice::CpuDevice(DeviceDescription description)
    : description_(std::move(description)),
      threads_(threadsOf(description_)),
      cores_((description_.cores.empty() ? allowedCores() : description_.cores).size()) {}

std::string CpuDevice::fingerprint() const {
  // The library blocks its loops for a number of threads: layouts and scratch sizes depend on it.
  return absl::StrCat("cpu ", processorFingerprint(), " threads ", threads_);
}

absl::StatusOr<void*> CpuDevice::allocate(size_t bytes) {
  GR_ASSIGN_OR_RETURN(Memory memory, allocateMemory(bytes));
  return memory.release();
}

void CpuDevice::deallocate(void* memory) { FreeMemory()(memory); }

absl::StatusOr<std::unique_ptr<Program>> CpuDevice::load(absl::Span<const uint8_t> executable,
                                                         WeightSource& weights) {
  ScopedThreads scope(threads_);
  auto program =
      CpuProgram::load(executable, weights, packed_, fingerprint(), description_.memoryBytes);
  if (!program.ok()) {
    return annotateKeepingRefusals(program.status(), description_.name);
  }
  return *std::move(program);
}

absl::Status CpuDevice::attachThread() {
  if (!description_.cores.empty()) {
    GR_RETURN_IF_ERROR(runtime::annotate(pinThread(description_.cores), description_.name));
  }
  omp_set_num_threads(threads_);
  return absl::OkStatus();
}

void CpuDevice::detachThread() {
  KernelTeam::end();
  omp_pause_resource_all(omp_pause_soft);
}

bool CpuDevice::takesTurns() const {
  return threads_ > 1 && 2 * static_cast<size_t>(threads_) > cores_;
}

absl::Status checkCpuDevice(const DeviceDescription& description) {
  GR_RETURN_IF_ERROR(runtime::annotate(instructionLimit().status(), description.name));
  std::vector<uint32_t> allowed = allowedCores();
  for (uint32_t core : description.cores) {
    if (std::find(allowed.begin(), allowed.end(), core) == allowed.end()) {
      return absl::InvalidArgumentError(
          absl::StrCat("device ", description.name, ": logical CPU ", core,
                       " is not there or not allowed; this process may use ",
                       absl::StrJoin(allowed, ","), " (affinity mask and cgroup quota)"));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Device>> createCpuDevice(const DeviceDescription& description) {
  GR_RETURN_IF_ERROR(checkCpuDevice(description));
  return std::make_unique<CpuDevice>(description);
}

std::vector<DeviceDescription> discoverCpuDevices() {
  if (!instructionLimit().ok()) {
    return {};
  }
  DeviceDescription device{"cpu:0", "cpu", 0, allowedCores(), runtime::usableMemory()};
  device.multipliesBytes = sumsBytesExactly();
  return {device};
}

std::vector<std::string> cpuFindings() { return {describeInstructions()}; }

std::string cpuTraits() { return absl::StrCat("cpu ", processorFingerprint()); }

}  // namespace graphrun::devices::cpu
