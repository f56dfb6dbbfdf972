#include "runtime/control/job_gate.h"

#include "absl/strings/str_cat.h"
#include "runtime/base/log.h"
#include "runtime/control/job.h"

namespace graphrun::runtime {

JobGate::Pass::~Pass() {
  if (gate_ == nullptr) {
    return;
  }
  std::lock_guard lock(gate_->mutex_);
  gate_->calls_.erase(context_);
  if (gate_->calls_.empty()) {
    gate_->empty_.notify_all();
  }
}

absl::StatusOr<JobGate::Pass> JobGate::open(const std::string& job, const std::string& coordinator,
                                            grpc::ServerContext* context) {
  std::lock_guard lock(mutex_);
  bool rejoin = state_ == State::kOpen && job_ == job;
  if (state_ != State::kFree && !rejoin) {
    return absl::UnavailableError(absl::StrCat("busy with job ", jobLabel(job_), " of coordinator ",
                                               coordinator_, "; a worker serves one at a time"));
  }
  if (!rejoin) {
    log(LogLevel::kInfo,
        absl::StrCat("job ", jobLabel(job), " of coordinator ", coordinator, " begins"));
  }
  state_ = State::kOpen;
  endedJob_ = endedJob_ == job ? "" : endedJob_;
  job_ = job;
  coordinator_ = coordinator;
  calls_.insert(context);
  return Pass(this, context);
}

absl::StatusOr<JobGate::Pass> JobGate::enter(grpc::ServerContext* context) {
  std::string job = jobOf(*context);
  std::lock_guard lock(mutex_);
  if (state_ != State::kOpen || job_ != job) {
    return absl::FailedPreconditionError(absl::StrCat(
        "not part of job ", jobLabel(job), ": ",
        state_ == State::kOpen
            ? absl::StrCat("it serves job ", jobLabel(job_), " of coordinator ", coordinator_)
        : job == endedJob_
            ? absl::StrCat("it ended it: ", endedWhy_.message())
            : "it was restarted, or gave the job up when its coordinator was silent"));
  }
  calls_.insert(context);
  return Pass(this, context);
}

bool JobGate::close(const std::string& job, const absl::Status& why) {
  std::lock_guard lock(mutex_);
  if (state_ != State::kOpen || (!job.empty() && job != job_)) {
    return false;
  }
  log(LogLevel::kInfo, absl::StrCat("job ", jobLabel(job_), " of coordinator ", coordinator_,
                                    " ends: ", why.message()));
  state_ = State::kClosing;
  endedJob_ = job_;
  endedWhy_ = why;
  return true;
}

void JobGate::interrupt() {
  std::lock_guard lock(mutex_);
  for (grpc::ServerContext* call : calls_) {
    call->TryCancel();
  }
}

absl::Status JobGate::causeOf(const grpc::ServerContext& context, const absl::Status& status) {
  const std::string job = jobOf(context);
  std::lock_guard lock(mutex_);
  const bool isEnded = !status.ok() && !job.empty() && job == endedJob_ &&
                       !absl::IsFailedPrecondition(status);  // which tells the same
  return isEnded ? endedWhy_ : status;
}

bool JobGate::drain(Millis patience) {
  std::unique_lock lock(mutex_);
  return empty_.wait_for(lock, patience, [this] { return calls_.empty(); });
}

void JobGate::release() {
  std::lock_guard lock(mutex_);
  state_ = State::kFree;
  job_.clear();
}

std::string jobOf(const grpc::ServerContext& context) {
  const auto& metadata = context.client_metadata();
  auto it = metadata.find(kJobKey);
  return it == metadata.end() ? std::string() : std::string(it->second.data(), it->second.size());
}

}  // namespace graphrun::runtime
