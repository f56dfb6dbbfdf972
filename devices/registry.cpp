// The devices of this build: one explicit list.
#include "devices/registry.h"

#include "devices/cpu/cpu_kind.h"
#include "devices/cpu/runtime/cpu_device.h"
#include "devices/cuda/cuda_kind.h"
#include "devices/cuda/program/cuda_device.h"
#include "devices/null/null_device.h"
#include "devices/null/null_kind.h"

namespace graphrun::devices {
namespace {

constexpr KindRow kRows[] = {
    {cpu::cpuKind, cpu::createCpuDevice, cpu::checkCpuDevice, cpu::discoverCpuDevices,
     cpu::cpuFindings, cpu::cpuTraits},
    {cuda::cudaKind, cuda::createCudaDevice, cuda::checkCudaDevice, cuda::discoverCudaDevices,
     cuda::cudaFindings, nullptr},
    {nullKind, createNullDevice, nullptr, nullptr, nullptr, nullptr},
};

}  // namespace

absl::Span<const KindRow> kindRows() { return kRows; }

}  // namespace graphrun::devices
