// The worker's gate: it decides which coordinator is served, which calls run, and how both end.
#ifndef GRAPHRUN_RUNTIME_CONTROL_JOB_GATE_H_
#define GRAPHRUN_RUNTIME_CONTROL_JOB_GATE_H_

#include <grpcpp/server_context.h>

#include <condition_variable>
#include <mutex>
#include <set>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/control/limits.h"

namespace graphrun::runtime {

/// gRPC metadata key of the job id.
inline constexpr char kJobKey[] = "graphrun-job-bin";

/// Admits the calls of one job at a time. Thread-safe.
class JobGate {
 public:
  /// A call that was let in; the job cannot end while one exists.
  class Pass {
   public:
    Pass(JobGate* gate, grpc::ServerContext* context) : gate_(gate), context_(context) {}
    Pass(Pass&& other) noexcept : gate_(other.gate_), context_(other.context_) {
      other.gate_ = nullptr;
    }
    Pass& operator=(Pass&&) = delete;
    ~Pass();

   private:
    JobGate* gate_;
    grpc::ServerContext* context_;
  };

  /// Opens the gate for `job`. Unavailable while another job holds the worker: the asker may retry.
  absl::StatusOr<Pass> open(const std::string& job, const std::string& coordinator,
                            grpc::ServerContext* context);
  /// Lets in a call of the current job, told by its metadata; FailedPrecondition for any other.
  absl::StatusOr<Pass> enter(grpc::ServerContext* context);
  /// Closes the gate for `job` ("" for any), because of `why`. True if it was open; then drain()
  /// and release() must follow.
  bool close(const std::string& job, const absl::Status& why);
  /// Cancels the calls inside: streams that wait for data do not end in another way.
  void interrupt();
  /// Returns why a call of a job that has been closed failed: not `status`, but why the job was
  /// closed.
  absl::Status causeOf(const grpc::ServerContext& context, const absl::Status& status);
  /// Waits for the calls that were let in; true once they have ended, false after `patience`.
  bool drain(Millis patience);
  /// Lets the next coordinator in.
  void release();

 private:
  enum class State { kFree, kOpen, kClosing };
  std::mutex mutex_;
  std::condition_variable empty_;
  State state_ = State::kFree;
  std::string job_;
  std::string coordinator_;
  std::string endedJob_;  // the last one that was closed
  absl::Status endedWhy_;
  std::set<grpc::ServerContext*> calls_;
};

/// The job id in a call's metadata; "" without one.
std::string jobOf(const grpc::ServerContext& context);

}  // namespace graphrun::runtime

#endif  // GRAPHRUN_RUNTIME_CONTROL_JOB_GATE_H_
