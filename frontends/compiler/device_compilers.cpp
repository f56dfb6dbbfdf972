// The list of device compilers; see devices/device_compiler.h.
#include "absl/strings/str_cat.h"
#include "devices/cpu/compiler/cpu_compiler.h"
#include "devices/cuda/compiler/cuda_compiler.h"
#include "devices/device_compiler.h"

namespace graphrun::devices {

absl::StatusOr<std::unique_ptr<DeviceCompiler>> createDeviceCompiler(const std::string& kind,
                                                                     CodeStore* code) {
  if (kind == "cpu") {
    return std::make_unique<cpu::CpuCompiler>(code);
  }
  if (kind == "cuda") {
    return cuda::createCudaCompiler(code);
  }
  return absl::NotFoundError(
      absl::StrCat("no compiler for devices of kind '", kind, "' is built in; got '", kind,
                   "', expected cpu or cuda; remove the device from cluster.yaml"));
}

}  // namespace graphrun::devices
