// The list of device compilers, a row a kind; see devices/device_compiler.h.
#include "absl/strings/str_cat.h"
#include "devices/cpu/compiler/cpu_compiler.h"
#include "devices/cpu/cpu_kind.h"
#include "devices/cuda/compiler/cuda_compiler.h"
#include "devices/cuda/cuda_kind.h"
#include "devices/device_compiler.h"

namespace graphrun::devices {
namespace {

using Compiler = absl::StatusOr<std::unique_ptr<DeviceCompiler>>;

struct Row {
  runtime::DeviceKind (*record)();
  Compiler (*create)(CodeStore* code);
};

constexpr Row kRows[] = {
    {cpu::cpuKind,
     [](CodeStore* code) -> Compiler { return std::make_unique<cpu::CpuCompiler>(code); }},
    {cuda::cudaKind, cuda::createCudaCompiler},
};

}  // namespace

std::vector<runtime::DeviceKind> compilerKinds() {
  std::vector<runtime::DeviceKind> kinds;
  for (const Row& row : kRows) {
    kinds.push_back(row.record());
  }
  return kinds;
}

Compiler createDeviceCompiler(const std::string& kind, CodeStore* code) {
  for (const Row& row : kRows) {
    if (row.record().name == kind) {
      return row.create(code);
    }
  }
  return absl::NotFoundError(
      absl::StrCat("no compiler for devices of kind '", kind, "' is built in; expected one of ",
                   runtime::kindNames(compilerKinds()), "; remove the device from cluster.yaml"));
}

}  // namespace graphrun::devices
