// Runs that their caller does not wait for.
#ifndef GRAPHRUN_RUNTIME_SESSION_RUN_QUEUE_H_
#define GRAPHRUN_RUNTIME_SESSION_RUN_QUEUE_H_

#include <condition_variable>
#include <deque>
#include <functional>
#include <future>
#include <mutex>
#include <thread>

#include "runtime/session/session.h"

namespace graphrun::runtime {

/// Carries out what is added, one after the other, on one thread that begins with the first.
/// Thread-safe.
class RunQueue {
 public:
  using Result = absl::StatusOr<TensorMap>;
  using Run = std::function<Result(const TensorMap& inputs)>;

  /// At most `limit` runs wait for their turn.
  RunQueue(Run run, size_t limit) : run_(std::move(run)), limit_(limit) {}
  /// Waits for the run that has begun; those that wait end with Cancelled.
  ~RunQueue();

  /// ResourceExhausted, at once, where `limit` are waiting.
  std::future<Result> add(TensorMap inputs);

 private:
  struct Waiting {
    TensorMap inputs;
    std::promise<Result> result;
  };

  void serve();

  const Run run_;
  const size_t limit_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Waiting> waiting_;
  bool isEnding_ = false;
  std::thread thread_;
};

}  // namespace graphrun::runtime

#endif  // GRAPHRUN_RUNTIME_SESSION_RUN_QUEUE_H_
