#include "runtime/session/run_queue.h"

#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/log.h"
#include "runtime/base/objective.h"

namespace graphrun::runtime {

RunQueue::~RunQueue() {
  {
    std::lock_guard lock(mutex_);
    isEnding_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) {  // once it is ending no thread is added
    thread.join();
  }
  for (Waiting& waiting : waiting_) {
    waiting.result.set_value(absl::CancelledError("the session ended before this run began"));
  }
}

std::future<RunQueue::Result> RunQueue::add(TensorMap inputs) {
  Waiting added{std::move(inputs), {}};
  std::future<Result> result = added.result.get_future();
  std::lock_guard lock(mutex_);
  if (waiting_.size() >= limit_) {
    added.result.set_value(absl::ResourceExhaustedError(
        absl::StrCat(limit_,
                     " runs wait for their turn, the most that SessionOptions::"
                     "maxWaitingRuns allows; wait for one of them first")));
    return result;
  }
  waiting_.push_back(std::move(added));
  if (absl::Status status = provideThread(); !status.ok()) {
    waiting_.back().result.set_value(status);
    waiting_.pop_back();
  }
  return result;
}

/// A thread for the next run, if that may begin. `mutex_` is held.
absl::Status RunQueue::provideThread() {
  if (waiting_.empty() || isBeginning_ || isEnding_) {
    return absl::OkStatus();
  }
  if (free_ > 0 || threads_.size() >= kMostStepsInFlight) {
    changed_.notify_one();
    return absl::OkStatus();
  }
  try {
    threads_.emplace_back([this] { serve(); });
    ++free_;
  } catch (const std::system_error& error) {
    if (threads_.empty()) {
      return absl::ResourceExhaustedError(
          absl::StrCat("there is no thread for a run that nobody waits for: ", error.what()));
    }
    log(LogLevel::kDebug, absl::StrCat("runs have ", threads_.size(), " threads: ", error.what()));
  }
  return absl::OkStatus();
}

void RunQueue::serve() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return isEnding_ || (!isBeginning_ && !waiting_.empty()); });
    if (isEnding_) {
      return;
    }
    Waiting next = std::move(waiting_.front());
    waiting_.pop_front();
    isBeginning_ = true;
    --free_;
    lock.unlock();
    Result result = carryOut(next.inputs);
    next.result.set_value(std::move(result));
    lock.lock();
  }
}

/// The thread is free again before anybody has the result: who then adds a run needs no other.
RunQueue::Result RunQueue::carryOut(const TensorMap& inputs) {
  bool hasBegun = false;
  Result result = run_(inputs, [&] {
    hasBegun = true;
    std::lock_guard lock(mutex_);
    isBeginning_ = false;
    provideThread().IgnoreError();  // there is this one
  });
  std::lock_guard lock(mutex_);
  isBeginning_ = isBeginning_ && hasBegun;
  ++free_;
  return result;
}

}  // namespace graphrun::runtime
