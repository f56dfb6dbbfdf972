// What this machine has of GPUs and of NVIDIA's software.
#include <algorithm>

#include "devices/cuda/context.h"
#include "devices/cuda/cuda_device.h"
#include "devices/cuda/device_memory.h"
#include "devices/cuda/libraries.h"
#include "runtime/base/log.h"
#include "runtime/base/status.h"

namespace graphrun::devices::cuda {
namespace {

constexpr uint64_t kGiB = uint64_t{1} << 30;

absl::StatusOr<DeviceDescription> describe(const DriverApi& driver, uint32_t index) {
  GR_ASSIGN_OR_RETURN(CUdevice gpu, findGpu(driver, index));
  GR_ASSIGN_OR_RETURN(ContextPointer context, Context::create(driver, gpu));
  GR_ASSIGN_OR_RETURN(uint64_t bytes, usableBytes(*context));
  DeviceDescription description;
  description.name = absl::StrCat("cuda:", index);
  description.kind = "cuda";
  description.index = index;
  description.memoryBytes = bytes / kGiB * kGiB;
  return description;
}

absl::StatusOr<std::string> gpuLine(const DriverApi& driver, uint32_t index) {
  GR_ASSIGN_OR_RETURN(CUdevice gpu, findGpu(driver, index));
  GR_ASSIGN_OR_RETURN(GpuFacts facts, gpuFacts(driver, gpu));
  return absl::StrCat("cuda:", index, " ", facts.name, ", sm_", facts.computeCapability, ", ",
                      facts.totalBytes >> 20, " MiB");
}

std::string libraryLine(const LibraryFacts& library) {
  return library.status.ok()
             ? absl::StrCat(library.name, " ", library.version.toString(), " (", library.path, ")")
             : absl::StrCat(library.name, ": ", library.status.message());
}

absl::Status check(const DeviceDescription& description, Libraries& libraries) {
  GR_ASSIGN_OR_RETURN(const DriverApi* driver, libraries.driver());
  return findGpu(*driver, description.index).status();
}

}  // namespace

std::vector<DeviceDescription> discoverCudaDevices(Libraries& libraries) {
  std::vector<DeviceDescription> devices;
  absl::StatusOr<const DriverApi*> driver = libraries.driver();
  absl::StatusOr<int> count = driver.ok() ? gpuCount(**driver) : driver.status();
  for (int index = 0; count.ok() && index < *count; ++index) {
    absl::StatusOr<DeviceDescription> device = describe(**driver, static_cast<uint32_t>(index));
    if (device.ok()) {
      devices.push_back(*std::move(device));
    } else {
      runtime::log(runtime::LogLevel::kWarning,
                   absl::StrCat("cuda:", index, " is not used: ", device.status().message()));
    }
  }
  return devices;
}

// Once: to ask takes a context a GPU, and what is free changes from now to then.
std::vector<DeviceDescription> discoverCudaDevices() {
  static const auto* const kFound =
      new std::vector<DeviceDescription>(discoverCudaDevices(libraries()));
  return *kFound;
}

absl::Status checkCudaDevice(const DeviceDescription& description) {
  return runtime::annotate(check(description, libraries()),
                           absl::StrCat("device ", description.name));
}

std::vector<std::string> cudaFindings(Libraries& libraries) {
  std::vector<LibraryFacts> found = libraries.facts();
  std::vector<std::string> lines(found.size());
  std::transform(found.begin(), found.end(), lines.begin(), libraryLine);
  absl::StatusOr<const DriverApi*> driver = libraries.driver();
  absl::StatusOr<int> count = driver.ok() ? gpuCount(**driver) : driver.status();
  for (int index = 0; count.ok() && index < *count; ++index) {
    absl::StatusOr<std::string> line = gpuLine(**driver, static_cast<uint32_t>(index));
    lines.push_back(line.ok() ? *line : std::string(line.status().message()));
  }
  return lines;
}

std::vector<std::string> cudaFindings() { return cudaFindings(libraries()); }

}  // namespace graphrun::devices::cuda
