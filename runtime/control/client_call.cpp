#include "runtime/control/client_call.h"

#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/control/first_cause.h"
#include "runtime/control/job_gate.h"
#include "runtime/control/status_grpc.h"
#include "runtime/control/worker_rpcs.h"

namespace graphrun::runtime {

ClientCalls::ClientCalls(std::string worker, std::string address, std::string job)
    : worker_(std::move(worker)), address_(std::move(address)), job_(std::move(job)) {}

void ClientCalls::fail(const absl::Status& why) {
  std::lock_guard lock(mutex_);
  if (!failure_.ok()) {
    return;
  }
  failure_ = why;
  for (grpc::ClientContext* context : active_) {
    context->TryCancel();
  }
}

bool ClientCalls::failed() {
  std::lock_guard lock(mutex_);
  return !failure_.ok();
}

void ClientCalls::drain() {
  std::unique_lock lock(mutex_);
  empty_.wait(lock, [this] { return open_ == 0; });
}

std::string ClientCalls::label() const {
  return absl::StrCat("worker ", worker_, " (", address_, ")");
}

ClientCall::ClientCall(ClientCalls* calls, const char* name, Millis timeout)
    : calls_(calls), name_(name), timeout_(timeout) {
  context_->set_deadline(std::chrono::system_clock::now() + timeout);
  context_->AddMetadata(kJobKey, calls->job_);
  std::lock_guard lock(calls->mutex_);
  ++calls->open_;
  calls->active_.insert(context_.get());
  if (!calls->failure_.ok()) {
    context_->TryCancel();
  }
}

ClientCall::~ClientCall() {
  {
    std::lock_guard lock(calls_->mutex_);
    calls_->active_.erase(context_.get());
  }
  // The context keeps the channel. Were it the last to do so, on a thread of gRPC, that thread
  // would join itself and free what it runs on: only what has let go of it lets drain() return.
  context_.reset();
  std::lock_guard lock(calls_->mutex_);
  if (--calls_->open_ == 0) {
    calls_->empty_.notify_all();
  }
}

bool ClientCall::answered() const {
  return context_->GetServerTrailingMetadata().count(kAnswerKey) > 0;
}

absl::Status ClientCall::finish(const grpc::Status& status) {
  if (status.ok()) {
    return absl::OkStatus();
  }
  {
    std::lock_guard lock(calls_->mutex_);
    if (!calls_->failure_.ok()) {
      return calls_->failure_;
    }
  }
  return describe(status);
}

absl::Status ClientCall::describe(const grpc::Status& status) const {
  absl::Status plain = fromGrpc(status);
  std::string call = absl::StrCat(calls_->label(), ": ", name_);
  FirstCause here{.worker = calls_->worker()};
  if (answered()) {
    return withFirstCause(annotateKeepingCause(plain, call), here);
  }
  std::string text;
  switch (plain.code()) {
    case absl::StatusCode::kUnavailable:
      text = absl::StrCat("not reachable, its process ended or the network is cut (",
                          plain.message(), ")");
      break;
    case absl::StatusCode::kDeadlineExceeded:
      text = absl::StrCat("no answer within ", timeout_.count(), " ms");
      break;
    case absl::StatusCode::kUnimplemented:
      text = absl::StrCat("what answers is not a GraphRun worker of this version (",
                          plain.message(), ")");
      break;
    default:
      text = std::string(plain.message());
  }
  return withFirstCause(absl::Status(plain.code(), absl::StrCat(call, ": ", text)), here);
}

}  // namespace graphrun::runtime
