#include "runtime/session/run_queue.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace graphrun::runtime {

RunQueue::~RunQueue() {
  {
    std::lock_guard lock(mutex_);
    isEnding_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) {
    thread_.join();
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
  if (!thread_.joinable()) {
    thread_ = std::thread([this] { serve(); });
  }
  changed_.notify_all();
  return result;
}

void RunQueue::serve() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return isEnding_ || !waiting_.empty(); });
    if (isEnding_) {
      return;
    }
    Waiting next = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    next.result.set_value(run_(next.inputs));
    lock.lock();
  }
}

}  // namespace graphrun::runtime
