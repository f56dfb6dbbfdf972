// Finds the GPUs and NVIDIA's software on this machine.
#include <algorithm>
#include <optional>

#include "devices/cuda/driver/context.h"
#include "devices/cuda/driver/device_memory.h"
#include "devices/cuda/driver/libraries.h"
#include "devices/cuda/driver/peers.h"
#include "devices/cuda/driver/vendor_status.h"
#include "devices/cuda/program/cuda_device.h"
#include "runtime/base/log.h"
#include "runtime/base/status.h"

namespace graphrun::devices::cuda {
namespace {

constexpr uint64_t kGiB = uint64_t{1} << 30;

/// About the memory that the context of a process takes.
constexpr uint64_t kContextBytes = uint64_t{512} << 20;

/// "00112233-4455-…".
std::string textOf(const CUuuid& uuid) {
  std::string text;
  for (size_t i = 0; i < std::size(uuid.bytes); ++i) {
    const bool isFirstOfPart = i == 4 || i == 6 || i == 8 || i == 10;
    const auto byte = static_cast<uint8_t>(uuid.bytes[i]);
    absl::StrAppend(&text, isFirstOfPart ? "-" : "", absl::Hex(byte, absl::kZeroPad2));
  }
  return text;
}

/// The bytes that programs may have on the GPU, found without a context. NotFound where NVML does
/// not tell.
absl::StatusOr<uint64_t> usableBytesByNvml(const DriverApi& driver, CUdevice gpu,
                                           Libraries& libraries) {
  GR_ASSIGN_OR_RETURN(const NvmlApi* nvml, libraries.nvml());
  CUuuid uuid{};
  GR_RETURN_IF_ERROR(GR_CU(driver, cuDeviceGetUuid_v2, &uuid, gpu));
  for (const char* kind : {"GPU-", "MIG-"}) {  // the latter: a part of a GPU
    nvmlDevice_t device = nullptr;
    nvmlMemory_t memory{};
    if (nvml->nvmlDeviceGetHandleByUUID((kind + textOf(uuid)).c_str(), &device) == 0 &&
        nvml->nvmlDeviceGetMemoryInfo(device, &memory) == 0) {
      return lessMargin(memory.free - std::min<uint64_t>(memory.free, kContextBytes), memory.total);
    }
  }
  return absl::NotFoundError("NVML does not know the GPU");
}

/// A context takes long to make; a session that looks which devices there are has no use for one.
absl::StatusOr<uint64_t> freeBytes(const DriverApi& driver, CUdevice gpu, Libraries& libraries) {
  if (absl::StatusOr<uint64_t> bytes = usableBytesByNvml(driver, gpu, libraries); bytes.ok()) {
    return bytes;
  }
  GR_ASSIGN_OR_RETURN(ContextPointer context, Context::create(driver, gpu));
  return usableBytes(*context);
}

/// "nccl 2.28.9", or "" without the library.
std::string collectivesOf(Libraries& libraries) {
  std::optional<Version> version = libraries.ncclVersion();
  return version ? absl::StrCat("nccl ", version->toString()) : "";
}

absl::StatusOr<DeviceDescription> describe(const DriverApi& driver, uint32_t index,
                                           Libraries& libraries) {
  GR_ASSIGN_OR_RETURN(CUdevice gpu, findGpu(driver, index));
  GR_ASSIGN_OR_RETURN(uint64_t bytes, freeBytes(driver, gpu, libraries));
  DeviceDescription description;
  description.name = absl::StrCat("cuda:", index);
  description.kind = "cuda";
  description.index = index;
  description.memoryBytes = bytes / kGiB * kGiB;
  description.collectives = collectivesOf(libraries);
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

using Pool = absl::StatusOr<std::shared_ptr<const MemoryPool>>;

Pool poolOf(const DriverApi& driver, uint32_t index) {
  GR_ASSIGN_OR_RETURN(CUdevice gpu, findGpu(driver, index));
  GR_ASSIGN_OR_RETURN(ContextPointer context, Context::create(driver, gpu));
  return MemoryPool::create(context);
}

/// How tensors go from each GPU to each other one, tried.
std::vector<std::string> peerLines(const DriverApi& driver, uint32_t count) {
  std::vector<Pool> pools;
  pools.reserve(count);
  for (uint32_t index = 0; count > 1 && index < count; ++index) {
    pools.push_back(poolOf(driver, index));
  }
  std::vector<std::string> lines;
  for (size_t from = 0; from < pools.size(); ++from) {
    for (size_t to = 0; to < pools.size(); ++to) {
      if (from == to || !pools[from].ok() || !pools[to].ok()) {
        continue;
      }
      absl::Status direct = checkPeers(*pools[from], *pools[to]);
      lines.push_back(absl::StrCat(
          "cuda:", from, " to cuda:", to, " ",
          direct.ok() ? "directly"
                      : absl::StrCat("through the host's memory: ", direct.message())));
    }
  }
  return lines;
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
    absl::StatusOr<DeviceDescription> device =
        describe(**driver, static_cast<uint32_t>(index), libraries);
    if (device.ok()) {
      devices.push_back(*std::move(device));
    } else {
      runtime::log(runtime::LogLevel::kWarning,
                   absl::StrCat("cuda:", index, " is not used: ", device.status().message()));
    }
  }
  return devices;
}

// Once: what is free changes from now to then.
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
  if (count.ok()) {
    for (std::string& line : peerLines(**driver, static_cast<uint32_t>(*count))) {
      lines.push_back(std::move(line));
    }
  }
  return lines;
}

std::vector<std::string> cudaFindings() { return cudaFindings(libraries()); }

}  // namespace graphrun::devices::cuda
