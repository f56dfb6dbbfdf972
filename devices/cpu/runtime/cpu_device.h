// A CPU device is some logical CPUs of this machine.
#ifndef GRAPHRUN_DEVICES_CPU_RUNTIME_CPU_DEVICE_H_
#define GRAPHRUN_DEVICES_CPU_RUNTIME_CPU_DEVICE_H_

#include <memory>
#include <string>
#include <vector>

#include "devices/cpu/runtime/packed_weights.h"
#include "devices/device.h"

namespace graphrun::devices::cpu {

/// Several may live in one process, each with cores of its own or, if the cluster file says so,
/// with shared ones. Thread-safe but for `attachThread`.
class CpuDevice : public Device {
 public:
  /// `description.cores` empty: all that the process may use, and threads are not pinned.
  explicit CpuDevice(DeviceDescription description);

  const DeviceDescription& description() const override { return description_; }
  std::string fingerprint() const override;
  absl::StatusOr<void*> allocate(size_t bytes) override;
  void deallocate(void* memory) override;
  /// FailedPrecondition when the executable was made for another fingerprint; InvalidArgument for a
  /// damaged one; ResourceExhausted beyond the device's memory limit.
  absl::StatusOr<std::unique_ptr<Program>> load(absl::Span<const uint8_t> executable,
                                                WeightSource& weights) override;
  absl::Status attachThread() override;
  void detachThread() override;
  /// True where two kernels at a time would have more threads than there are cores.
  bool takesTurns() const override;

  /// Threads that a kernel may use: the number of cores.
  int threads() const { return threads_; }

 private:
  DeviceDescription description_;
  int threads_;
  size_t cores_;  ///< that its threads run on
  PackedWeights packed_;
};

/// Threads that kernels of the device run on: as the description says, else one for each of its
/// cores, else one for each core that the process may use.
int threadsOf(const DeviceDescription& description);

/// InvalidArgument for cores that the process may not use, and for a wrong limit of instructions
/// (instructions.h).
absl::Status checkCpuDevice(const DeviceDescription& description);
absl::StatusOr<std::unique_ptr<Device>> createCpuDevice(const DeviceDescription& description);

/// One device with all cores and all memory that the process may use; none where the limit of
/// instructions is wrong.
std::vector<DeviceDescription> discoverCpuDevices();

/// Returns which instructions are used.
std::vector<std::string> cpuFindings();

/// All that the CPU's compiler asks of this machine while it plans (multipliesBytes).
std::string cpuTraits();

}  // namespace graphrun::devices::cpu

#endif  // GRAPHRUN_DEVICES_CPU_RUNTIME_CPU_DEVICE_H_
