// The CUDA device of a build that was made without the toolkit: it is never there.
#include "absl/strings/str_cat.h"
#include "devices/cuda/program/cuda_device.h"

namespace graphrun::devices::cuda {
namespace {

constexpr absl::string_view kWhy =
    "this build has no CUDA: install CUDA 13, cuDNN 9 and NCCL with their headers, then configure "
    "and build again";

}  // namespace

absl::StatusOr<std::unique_ptr<Device>> createCudaDevice(const DeviceDescription& description) {
  return checkCudaDevice(description);
}

std::vector<DeviceDescription> discoverCudaDevices() { return {}; }

absl::Status checkCudaDevice(const DeviceDescription& description) {
  return absl::NotFoundError(absl::StrCat("device ", description.name, ": ", kWhy));
}

std::vector<std::string> cudaFindings() { return {std::string(kWhy)}; }

}  // namespace graphrun::devices::cuda
