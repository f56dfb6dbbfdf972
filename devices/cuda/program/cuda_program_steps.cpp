// Runs the records of a program in a step, and ends a step.
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

absl::Status CudaProgram::launch(Record& record, void* const* buffers) {
  for (const Copy& copy : record.in) {
    GR_RETURN_IF_ERROR(streams_->copyIn(copy, buffers));
  }
  const Stream& compute = streams_->compute();
  GR_RETURN_IF_ERROR(record.in.empty() ? absl::OkStatus() : streams_->computeAfterCopies());
  GR_RETURN_IF_ERROR(record.segment->launch(compute));
  GR_RETURN_IF_ERROR(record.met == nullptr ? absl::OkStatus() : record.met->record(compute));
  for (Event* made : record.made) {
    GR_RETURN_IF_ERROR(made->record(compute));
  }
  GR_RETURN_IF_ERROR(record.out.empty() ? absl::OkStatus() : streams_->copyAfterCompute());
  for (const Copy& copy : record.out) {
    GR_RETURN_IF_ERROR(streams_->copyOut(copy, buffers));
  }
  return absl::OkStatus();
}

absl::Status CudaProgram::finish() {
  failedInstruction_.clear();
  if (errors_ != nullptr) {
    GR_RETURN_IF_ERROR(errors_->fetch(streams_->compute()));
  }
  GR_ASSIGN_OR_RETURN(const Event* finished, streams_->end());
  GR_RETURN_IF_ERROR(waitFor(*finished));
  GR_RETURN_IF_ERROR(isTimed_ ? absl::OkStatus() : readClocks());
  return errors_ == nullptr ? absl::OkStatus()
                            : errors_->read(streams_->compute(), failedInstruction_);
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
  streams_->synchronize();
  if (errors_ != nullptr) {
    static_cast<void>(errors_->clear(streams_->compute()));  // nobody will read what the step left
  }
}

}  // namespace graphrun::devices::cuda
