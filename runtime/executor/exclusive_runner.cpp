#include "runtime/executor/exclusive_runner.h"

namespace graphrun::runtime {

bool ExclusiveRunner::run(Executor* executor, uint64_t firstStep, uint32_t steps) {
  if (!device_->takesTurns()) {
    return executor->run(firstStep, steps);
  }
  std::lock_guard turn(mutex_);
  const std::thread::id caller = std::this_thread::get_id();
  if (first_ == std::thread::id()) {
    first_ = caller;
  }
  if (thread_ == nullptr && first_ == caller) {
    return executor->run(firstStep, steps);
  }
  device_->detachThread();  // the caller's team: of earlier runs, or of packing weights
  if (thread_ == nullptr) {
    thread_ = std::make_unique<ExecutorThread>();
  }
  thread_->start(executor, firstStep, steps);
  return thread_->wait();
}

}  // namespace graphrun::runtime
