// A client call is one gRPC call of a client: it has a deadline, job id, cancellation, and errors
// that name the worker.
#ifndef GRAPHRUN_RUNTIME_CONTROL_CLIENT_CALL_H_
#define GRAPHRUN_RUNTIME_CONTROL_CLIENT_CALL_H_

#include <grpcpp/client_context.h>
#include <grpcpp/support/status.h>

#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <set>
#include <string>

#include "absl/status/status.h"
#include "runtime/control/limits.h"

namespace graphrun::runtime {

/// The calls under way to one worker. Thread-safe.
class ClientCalls {
 public:
  ClientCalls(std::string worker, std::string address, std::string job);

  /// Fails the calls under way and all later ones with `why`. Only the first counts.
  void fail(const absl::Status& why);
  /// True after fail().
  bool failed();
  /// Waits until no call is under way and none holds on to its channel.
  void drain();
  /// "worker node0 (10.0.0.1:7070)".
  std::string label() const;
  const std::string& worker() const { return worker_; }
  const std::string& address() const { return address_; }

 private:
  friend class ClientCall;
  const std::string worker_;
  const std::string address_;
  const std::string job_;
  std::mutex mutex_;
  std::condition_variable empty_;
  size_t open_ = 0;                        ///< calls whose contexts exist
  std::set<grpc::ClientContext*> active_;  ///< those that may be cancelled
  absl::Status failure_;
};

/// A call from its begin to its status. For one thread.
class ClientCall {
 public:
  /// `name` is the method's, for messages.
  ClientCall(ClientCalls* calls, const char* name, Millis timeout);
  ~ClientCall();
  ClientCall(const ClientCall&) = delete;
  ClientCall& operator=(const ClientCall&) = delete;

  grpc::ClientContext* context() { return context_.get(); }
  /// The result for the caller.
  absl::Status finish(const grpc::Status& status);
  /// True if the status came from the worker itself, not from the connection. After the call's end.
  bool answered() const;

 private:
  absl::Status describe(const grpc::Status& status) const;

  ClientCalls* const calls_;
  const char* const name_;
  const Millis timeout_;
  std::unique_ptr<grpc::ClientContext> context_ = std::make_unique<grpc::ClientContext>();
};

}  // namespace graphrun::runtime

#endif  // GRAPHRUN_RUNTIME_CONTROL_CLIENT_CALL_H_
