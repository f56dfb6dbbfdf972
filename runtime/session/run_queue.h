// Runs that their caller does not wait for.
#ifndef GRAPHRUN_RUNTIME_SESSION_RUN_QUEUE_H_
#define GRAPHRUN_RUNTIME_SESSION_RUN_QUEUE_H_

#include <condition_variable>
#include <deque>
#include <functional>
#include <future>
#include <mutex>
#include <thread>
#include <vector>

#include "absl/functional/function_ref.h"
#include "runtime/session/session.h"

namespace graphrun::runtime {

/// Carries out what is added: a run begins when the one before it has begun or, if that lets no
/// other begin beside it, has ended. A thread is started when none is free for a run that may
/// begin, kMostStepsInFlight of them at most. Thread-safe.
class RunQueue {
 public:
  using Result = absl::StatusOr<TensorMap>;
  /// Told by a run, once at most: the next may begin.
  using Begun = absl::FunctionRef<void()>;
  using Run = std::function<Result(const TensorMap& inputs, Begun begun)>;

  /// At most `limit` runs wait for their turn.
  RunQueue(Run run, size_t limit) : run_(std::move(run)), limit_(limit) {}
  /// Waits for the runs that threads have taken; those that wait end with Cancelled.
  ~RunQueue();

  /// ResourceExhausted, at once, where `limit` are waiting or there is no thread to be had.
  std::future<Result> add(TensorMap inputs);

 private:
  struct Waiting {
    TensorMap inputs;
    std::promise<Result> result;
  };

  void serve();
  Result carryOut(const TensorMap& inputs);
  absl::Status provideThread();

  const Run run_;
  const size_t limit_;
  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  std::deque<Waiting> waiting_;
  bool isBeginning_ = false;  // a run that was taken has not begun
  bool isEnding_ = false;
  size_t free_ = 0;  // threads without a run
  std::vector<std::thread> threads_;
};

}  // namespace graphrun::runtime

#endif  // GRAPHRUN_RUNTIME_SESSION_RUN_QUEUE_H_
