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
  wait();
  start(nullptr, 0, 0);
  thread_.join();
}

uint64_t ExecutorThread::start(Executor* executor, uint64_t firstStep, uint32_t steps,
                               std::optional<int64_t> deadlineNanos) {
  const uint64_t number = asked_.load() + 1;
  order(number) = {executor, firstStep, steps, deadlineNanos, false};
  asked_.store(number);
  asking_.notify();
  return number;
}

bool ExecutorThread::wait(uint64_t number) {
  awaitAtLeast(done_, number, finishing_);
  return order(number).result;
}

void ExecutorThread::loop() {
  for (uint64_t number = 1;; ++number) {
    awaitAtLeast(asked_, number, asking_);
    Order& next = order(number);
    if (next.executor == nullptr) {
      return;
    }
    if (next.deadlineNanos.has_value()) {
      next.executor->setDeadline(*next.deadlineNanos);
    }
    next.result = next.executor->run(next.firstStep, next.steps);
    done_.store(number);
    finishing_.notify();
  }
}

}  // namespace graphrun::runtime
