// Runs the records of a program in a step, and ends a step.
#include "devices/cuda/driver/vendor_status.h"
#include "devices/cuda/kernels/kernel_errors.h"
#include "devices/cuda/program/cuda_program.h"
#include "runtime/base/status.h"

namespace graphrun::devices::cuda {

int CudaProgram::runRecord(void* state, void* const* buffers) {
  auto& record = *static_cast<Record*>(state);
  CudaProgram& program = *record.program;
  ScopedContext scope(*program.device_.context);
  absl::Status status = record.kind == Action::Kind::kLaunch  ? program.launch(record, buffers)
                        : record.kind == Action::Kind::kAwait ? program.await(record)
                                                              : program.finish();
  if (status.ok()) {
    return 0;
  }
  if (record.kind != Action::Kind::kFinish) {
    program.failedInstruction_.clear();
  }
  program.failure_ = std::move(status);
  return 1;
}

absl::Status CudaProgram::copyIn(const Transfer& transfer, void* const* buffers) {
  const DriverApi& driver = device_.context->driver();
  void* from = buffers[transfer.bound];
  switch (transfer.storage) {
    case Storage::kOther:
      return fetch(*static_cast<const DeviceValue*>(from), *device_.context, transfer.address,
                   transfer.bytes, *copyIn_);
    case Storage::kOwn:
      return GR_CU(driver, cuMemcpyDtoDAsync_v2, transfer.address,
                   reinterpret_cast<CUdeviceptr>(from), transfer.bytes, copyIn_->get());
    case Storage::kHost:
      break;
  }
  return GR_CU(driver, cuMemcpyHtoDAsync_v2, transfer.address, from, transfer.bytes,
               copyIn_->get());
}

absl::Status CudaProgram::copyOut(const Transfer& transfer, void* const* buffers) {
  const DriverApi& driver = device_.context->driver();
  void* to = buffers[transfer.bound];
  GR_RETURN_IF_ERROR(transfer.storage == Storage::kOwn
                         ? GR_CU(driver, cuMemcpyDtoDAsync_v2, reinterpret_cast<CUdeviceptr>(to),
                                 transfer.address, transfer.bytes, copyOut_->get())
                         : GR_CU(driver, cuMemcpyDtoHAsync_v2, to, transfer.address, transfer.bytes,
                                 copyOut_->get()));
  return transfer.arrived->record(*copyOut_);
}

absl::Status CudaProgram::launch(Record& record, void* const* buffers) {
  for (const Transfer& transfer : record.in) {
    GR_RETURN_IF_ERROR(copyIn(transfer, buffers));
  }
  if (!record.in.empty()) {
    GR_RETURN_IF_ERROR(given_->record(*copyIn_));
    GR_RETURN_IF_ERROR(given_->holdUp(*compute_));
  }
  GR_RETURN_IF_ERROR(record.segment->launch(*compute_));
  GR_RETURN_IF_ERROR(record.met == nullptr ? absl::OkStatus() : record.met->record(*compute_));
  for (Event* made : record.made) {
    GR_RETURN_IF_ERROR(made->record(*compute_));
  }
  if (record.out.empty()) {
    return absl::OkStatus();
  }
  GR_RETURN_IF_ERROR(computed_->record(*compute_));
  GR_RETURN_IF_ERROR(computed_->holdUp(*copyOut_));
  for (const Transfer& transfer : record.out) {
    GR_RETURN_IF_ERROR(copyOut(transfer, buffers));
  }
  return absl::OkStatus();
}

// Copies to the GPU hold up the compute stream, which holds up the copies back.
absl::Status CudaProgram::finish() {
  failedInstruction_.clear();
  if (errors_ != nullptr) {
    GR_RETURN_IF_ERROR(GR_CU(device_.context->driver(), cuMemcpyDtoHAsync_v2, seenErrors_.get(),
                             errors_->address(), sizeof(ErrorRecord), compute_->get()));
  }
  GR_RETURN_IF_ERROR(computed_->record(*compute_));
  GR_RETURN_IF_ERROR(computed_->holdUp(*copyOut_));
  GR_RETURN_IF_ERROR(finished_->record(*copyOut_));
  GR_RETURN_IF_ERROR(waitFor(*finished_));
  GR_RETURN_IF_ERROR(isTimed_ ? absl::OkStatus() : readClocks());
  return errors_ == nullptr ? absl::OkStatus() : readErrors();
}

absl::Status CudaProgram::clearErrors() {
  GR_RETURN_IF_ERROR(GR_CU(device_.context->driver(), cuMemsetD8Async, errors_->address(), 0,
                           sizeof(ErrorRecord), compute_->get()));
  return compute_->synchronize();
}

absl::Status CudaProgram::readErrors() {
  const ErrorRecord error = *static_cast<const ErrorRecord*>(seenErrors_.get());
  if (error.word == 0) {
    return absl::OkStatus();
  }
  GR_RETURN_IF_ERROR(clearErrors());
  uint32_t instruction = instructionOfError(error.word);
  failedInstruction_ = instruction < instructionLabels_.size() ? instructionLabels_[instruction]
                                                               : "unknown instruction";
  return statusOfError(error);
}

absl::Status CudaProgram::readClocks() {
  bool areAll = true;
  for (const std::unique_ptr<Record>& record : states_) {
    if (record->segment != nullptr) {
      GR_ASSIGN_OR_RETURN(bool isRead, record->segment->readClock());
      areAll = areAll && isRead;
    }
  }
  if (areAll) {
    std::lock_guard lock(mutex_);
    for (const std::unique_ptr<Record>& record : states_) {
      if (record->segment != nullptr) {
        record->segment->addTimes(kernelTimes_);
      }
    }
    isTimed_ = true;
  }
  return absl::OkStatus();
}

absl::Status CudaProgram::await(const Record& record) {
  return record.awaited == nullptr ? absl::OkStatus() : waitFor(*record.awaited);
}

/// A collective waits for other members, which may never come.
absl::Status CudaProgram::waitFor(const Event& event) {
  return communicators_->ids().empty() ? event.wait() : event.wait([this] {
    return communicators_->check([this] { return pendingCollective(); });
  });
}

/// The label of the first collective that was launched and is not done; empty when there is none.
std::string CudaProgram::pendingCollective() const {
  for (const std::unique_ptr<Record>& record : states_) {
    if (record->met != nullptr && record->met->isPending()) {
      return record->segment->label();
    }
  }
  return "";
}

std::optional<std::vector<runtime::KernelTime>> CudaProgram::kernelTimes() const {
  std::lock_guard lock(mutex_);
  return kernelTimes_;
}

absl::Status CudaProgram::errorMessage(const OpRecord& record, int) const {
  std::string where = record.label < labels_.size() ? labels_[record.label] : "unknown instruction";
  return runtime::annotate(failure_, failedInstruction_.empty() ? where : failedInstruction_);
}

absl::Status CudaProgram::join(const CommunicatorRank& rank) {
  ScopedContext scope(*device_.context);
  return communicators_->join(rank);
}

absl::StatusOr<bool> CudaProgram::hasJoined(uint32_t communicator) {
  ScopedContext scope(*device_.context);
  return communicators_->hasJoined(communicator);
}

void CudaProgram::beginShutdown() {
  ScopedContext scope(*device_.context);
  communicators_->beginShutdown();
}

/// Members that are a different number of collectives on do not meet again.
void CudaProgram::synchronize() {
  ScopedContext scope(*device_.context);
  communicators_->breakOff(absl::CancelledError("a step ended early")).IgnoreError();
  waitForStreams();
  if (errors_ != nullptr) {
    static_cast<void>(clearErrors());  // nobody will read what the step left there
  }
}

void CudaProgram::waitForStreams() const {
  for (const std::unique_ptr<Stream>* stream : {&copyIn_, &compute_, &copyOut_}) {
    if (*stream != nullptr) {
      static_cast<void>((*stream)->synchronize());  // what failed was told
    }
  }
}

}  // namespace graphrun::devices::cuda
