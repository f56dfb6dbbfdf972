#include "devices/cuda/program/error_reports.h"

#include <algorithm>

#include "devices/cuda/driver/vendor_status.h"
#include "devices/cuda/kernels/kernel_errors.h"
#include "runtime/base/status.h"

namespace graphrun::devices::cuda {

absl::StatusOr<std::unique_ptr<ErrorReports>> ErrorReports::create(const Executable& executable,
                                                                   const DeviceParts& device,
                                                                   const Stream& stream) {
  bool reports = std::any_of(executable.instructions.begin(), executable.instructions.end(),
                             [](const Instruction& instruction) {
                               return instruction.attributes.contains(kReportsErrors);
                             });
  if (!reports) {
    return nullptr;
  }
  std::unique_ptr<ErrorReports> made(new ErrorReports);
  for (const Instruction& instruction : executable.instructions) {
    made->labels_.push_back(instruction.label);
  }
  GR_ASSIGN_OR_RETURN(made->record_, device.memory->allocate(sizeof(ErrorRecord)));
  GR_ASSIGN_OR_RETURN(void* seen, device.pinned->allocate(sizeof(ErrorRecord)));
  made->seen_ = PinnedMemory(seen, GiveBack{device.pinned});
  GR_RETURN_IF_ERROR(made->clear(stream));
  return made;
}

absl::Status ErrorReports::fetch(const Stream& stream) {
  return GR_CU(stream.context().driver(), cuMemcpyDtoHAsync_v2, seen_.get(), record_->address(),
               sizeof(ErrorRecord), stream.get());
}

absl::Status ErrorReports::read(const Stream& stream, std::string& instruction) {
  const ErrorRecord error = *static_cast<const ErrorRecord*>(seen_.get());
  if (error.word == 0) {
    return absl::OkStatus();
  }
  GR_RETURN_IF_ERROR(clear(stream));
  uint32_t index = instructionOfError(error.word);
  instruction = index < labels_.size() ? labels_[index] : "unknown instruction";
  return statusOfError(error);
}

absl::Status ErrorReports::clear(const Stream& stream) {
  GR_RETURN_IF_ERROR(GR_CU(stream.context().driver(), cuMemsetD8Async, record_->address(), 0,
                           sizeof(ErrorRecord), stream.get()));
  return stream.synchronize();
}

}  // namespace graphrun::devices::cuda
