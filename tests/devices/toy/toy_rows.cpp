// The registry of the run world with a row of toys, in place of the product's: for what is linked
// with this, or has it preloaded.
#include "devices/cpu/cpu_kind.h"
#include "devices/cpu/runtime/cpu_device.h"
#include "devices/registry.h"
#include "tests/devices/toy/toy_device.h"
#include "tests/devices/toy/toy_kind.h"

namespace graphrun::devices {
namespace {

std::vector<DeviceDescription> discoverToys() { return {{"toy:0", "toy", 0, {}, 0}}; }

constexpr KindRow kRows[] = {
    {cpu::cpuKind, cpu::createCpuDevice, cpu::checkCpuDevice, cpu::discoverCpuDevices,
     cpu::cpuFindings, cpu::cpuTraits},
    {toyKind, createToyDevice, nullptr, discoverToys, nullptr, nullptr},
};

}  // namespace

absl::Span<const KindRow> kindRows() { return kRows; }

}  // namespace graphrun::devices
