// The list of device compilers, a row a kind.
#include "placement/planner/device_compilers.h"

#include "devices/cpu/compiler/cpu_compiler.h"
#include "devices/cpu/cpu_kind.h"
#include "devices/cuda/compiler/cuda_compiler.h"
#include "devices/cuda/cuda_kind.h"

namespace graphrun::devices {
namespace {

constexpr CompilerRow kRows[] = {
    {cpu::cpuKind,
     [](runtime::CodeStore* code) -> absl::StatusOr<std::unique_ptr<DeviceCompiler>> {
       return std::make_unique<cpu::CpuCompiler>(code);
     }},
    {cuda::cudaKind, cuda::createCudaCompiler},
};

}  // namespace

absl::Span<const CompilerRow> compilerRows() { return kRows; }

}  // namespace graphrun::devices
