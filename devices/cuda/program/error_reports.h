// The errors that a program's kernels report in the GPU's memory. Internal to devices/cuda.
#ifndef GRAPHRUN_DEVICES_CUDA_PROGRAM_ERROR_REPORTS_H_
#define GRAPHRUN_DEVICES_CUDA_PROGRAM_ERROR_REPORTS_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "devices/cuda/program/device_parts.h"
#include "devices/executable/executable.h"

namespace graphrun::devices::cuda {

/// An ErrorRecord (kernel_errors.h) on the GPU, which kernels write, and its copy on the host. The
/// context must be the thread's in all calls, and when it goes.
class ErrorReports {
 public:
  /// Null where no kernel of `executable` reports errors. The record is clear when this returns.
  static absl::StatusOr<std::unique_ptr<ErrorReports>> create(const Executable& executable,
                                                              const DeviceParts& device,
                                                              const Stream& stream);

  /// The record on the GPU.
  CUdeviceptr address() const { return record_->address(); }
  /// Puts the copy to the host into `stream`.
  absl::Status fetch(const Stream& stream);
  /// When the copy is there: OK, or the error that it tells. The record is cleared then, and
  /// `instruction` gets the label of the one that reported.
  absl::Status read(const Stream& stream, std::string& instruction);
  /// Returns when the record is clear.
  absl::Status clear(const Stream& stream);

 private:
  ErrorReports() = default;

  std::unique_ptr<DeviceMemory> record_;
  PinnedMemory seen_;                ///< the record at the end of a step
  std::vector<std::string> labels_;  ///< of the instructions
};

}  // namespace graphrun::devices::cuda

#endif  // GRAPHRUN_DEVICES_CUDA_PROGRAM_ERROR_REPORTS_H_
