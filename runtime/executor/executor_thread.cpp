#include "runtime/executor/executor_thread.h"

#include "runtime/base/clock.h"

namespace graphrun::runtime {
namespace {

constexpr int64_t kSpinNanos = 50'000;
constexpr int64_t kLongNanos = 3'600'000'000'000;

inline void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

/// Returns once `value` is at least `target`.
void awaitAtLeast(const std::atomic<uint64_t>& value, uint64_t target, EventCount& events) {
  for (int64_t until = nowNanos() + kSpinNanos; nowNanos() < until; pause()) {
    if (value.load() >= target) {
      return;
    }
  }
  while (value.load() < target) {
    uint32_t ticket = events.prepare();
    if (value.load() < target) {
      events.wait(ticket, nowNanos() + kLongNanos);
    }
    events.done();
  }
}

}  // namespace

ExecutorThread::ExecutorThread() : thread_([this] { loop(); }) {}

ExecutorThread::~ExecutorThread() {
  start(nullptr, 0, 0);
  thread_.join();
}

void ExecutorThread::start(Executor* executor, uint64_t firstStep, uint32_t steps) {
  executor_ = executor;
  firstStep_ = firstStep;
  steps_ = steps;
  asked_.fetch_add(1);
  asking_.notify();
}

bool ExecutorThread::wait() {
  awaitAtLeast(done_, asked_.load(), finishing_);
  return result_;
}

void ExecutorThread::loop() {
  for (uint64_t order = 1;; ++order) {
    awaitAtLeast(asked_, order, asking_);
    if (executor_ == nullptr) {
      return;
    }
    result_ = executor_->run(firstStep_, steps_);
    done_.store(order);
    finishing_.notify();
  }
}

}  // namespace graphrun::runtime
