#include "runtime/executor/step_control.h"

namespace graphrun::runtime {

void StepControl::fail(StepFailure failure) {
  {
    std::lock_guard lock(mutex_);
    if (failure_.has_value()) {
      return;
    }
    failure_ = std::move(failure);
    stopped_.store(true);
  }
  for (devices::CollectiveProgram* program : collectives_) {
    program->interrupt();
  }
  for (Transport* transport : transports_) {
    transport->wakeWaiters();
  }
}

std::optional<StepFailure> StepControl::failure() const {
  std::lock_guard lock(mutex_);
  return failure_;
}

void StepControl::reset() {
  std::lock_guard lock(mutex_);
  failure_.reset();
  stopped_.store(false);
}

}  // namespace graphrun::runtime
