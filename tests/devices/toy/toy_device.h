// A device with memory of its own, for tests of what holds for kinds that nothing else knows: it
// computes with the CPU's kernels, on copies of what is bound.
#ifndef GRAPHRUN_TESTS_DEVICES_TOY_TOY_DEVICE_H_
#define GRAPHRUN_TESTS_DEVICES_TOY_TOY_DEVICE_H_

#include <memory>

#include "absl/status/statusor.h"
#include "devices/device.h"

namespace graphrun::devices {

/// Always OK. Its executables are those of a CPU of the same fingerprint.
absl::StatusOr<std::unique_ptr<Device>> createToyDevice(const DeviceDescription& description);

}  // namespace graphrun::devices

#endif  // GRAPHRUN_TESTS_DEVICES_TOY_TOY_DEVICE_H_
