#include "devices/cuda/nccl/communicators.h"

#include <algorithm>
#include <cstring>

#include "devices/cuda/driver/pause.h"
#include "devices/cuda/driver/vendor_status.h"
#include "runtime/base/clock.h"
#include "runtime/base/status.h"

namespace graphrun::devices::cuda {
namespace {

/// That members get to leave together. Those that are alive begin at about the same time.
constexpr int64_t kLeaveNanos = 1'000'000'000;

std::string nameOf(uint32_t id) { return absl::StrCat("communicator ", id); }

}  // namespace

absl::StatusOr<std::string> newCommunicatorId(Libraries& libraries) {
  GR_ASSIGN_OR_RETURN(const NcclApi* api, libraries.nccl());
  ncclUniqueId id{};
  GR_RETURN_IF_ERROR(ncclStatus(*api, api->ncclGetUniqueId(&id), "ncclGetUniqueId"));
  return std::string(id.internal, sizeof id.internal);
}

std::string Communicators::Member::name() const {
  return absl::StrCat(nameOf(id), ", of whose ", members, " members this is number ", member);
}

Communicators::~Communicators() {
  beginShutdown();
  const Pause pause;
  const int64_t enough = runtime::nowNanos() + kLeaveNanos;
  while (areLeaving() && !haveLeft() && runtime::nowNanos() < enough) {
    pause.take();
  }
  if (areLeaving() && haveLeft()) {
    for (const Member& member : members_) {
      api_->ncclCommDestroy(member.handle);
    }
    return;
  }
  breakOff(absl::CancelledError("the program ends")).IgnoreError();
}

Communicators::Member* Communicators::find(uint32_t id) {
  auto found = std::find_if(members_.begin(), members_.end(),
                            [&](const Member& member) { return member.id == id; });
  return found == members_.end() ? nullptr : &*found;
}

absl::Status Communicators::join(const CommunicatorRank& rank) {
  const std::string name = nameOf(rank.communicator);
  if (std::find(ids_.begin(), ids_.end(), rank.communicator) == ids_.end()) {
    return absl::InvalidArgumentError(absl::StrCat("the program has no use for ", name));
  }
  if (find(rank.communicator) != nullptr) {
    return absl::FailedPreconditionError(absl::StrCat(name, " was joined before"));
  }
  ncclUniqueId id;
  if (rank.id.size() != sizeof id.internal || rank.member >= rank.members) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, ": member ", rank.member, " of ", rank.members, " was told ",
                     rank.id.size(), " bytes to meet by, expected ", sizeof id.internal));
  }
  std::memcpy(id.internal, rank.id.data(), sizeof id.internal);
  GR_ASSIGN_OR_RETURN(api_, libraries_.nccl());
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  Member member{rank.communicator, rank.member, rank.members, State::kJoining, nullptr};
  ncclResult_t result = api_->ncclCommInitRankConfig(&member.handle, static_cast<int>(rank.members),
                                                     id, static_cast<int>(rank.member), &config);
  if (result == ncclInProgress) {
    result = ncclSuccess;
  }
  members_.push_back(member);
  return runtime::annotate(ncclStatus(*api_, result, "ncclCommInitRankConfig"), member.name());
}

/// True if the operation that was begun last is done; fails with any error since.
absl::StatusOr<bool> Communicators::isReady(const Member& member) const {
  ncclResult_t state = ncclSuccess;
  GR_RETURN_IF_ERROR(ncclStatus(*api_, api_->ncclCommGetAsyncError(member.handle, &state),
                                "ncclCommGetAsyncError"));
  if (state == ncclInProgress) {
    return false;
  }
  GR_RETURN_IF_ERROR(runtime::annotate(ncclStatus(*api_, state, "NCCL"), member.name()));
  return true;
}

absl::StatusOr<bool> Communicators::hasJoined(uint32_t id) {
  Member* member = find(id);
  GR_RETURN_IF_ERROR(failure_);
  if (member == nullptr) {
    return absl::FailedPreconditionError(absl::StrCat(nameOf(id), " was not joined"));
  }
  absl::StatusOr<bool> isDone = isReady(*member);
  if (!isDone.ok()) {
    return breakOff(isDone.status());
  }
  member->state = *isDone ? State::kJoined : State::kJoining;
  return *isDone;
}

absl::Status Communicators::mayWait() const {
  if (interrupted_.load()) {
    return absl::CancelledError("the step was stopped while the other members were waited for");
  }
  if (runtime::nowNanos() > deadlineNanos_) {
    return absl::DeadlineExceededError(
        "the time of the step ended while the other members were waited for");
  }
  return absl::OkStatus();
}

absl::Status Communicators::waitUntilReady(const Member& member) {
  const Pause pause;
  while (true) {
    absl::StatusOr<bool> isDone = isReady(member);
    if (!isDone.ok()) {
      return breakOff(isDone.status());
    }
    if (*isDone) {
      return absl::OkStatus();
    }
    if (absl::Status status = mayWait(); !status.ok()) {
      return breakOff(runtime::annotate(status, member.name()));
    }
    pause.take();
  }
}

absl::Status Communicators::put(uint32_t id, absl::string_view function,
                                absl::FunctionRef<ncclResult_t(const NcclApi&, ncclComm_t)> call) {
  GR_RETURN_IF_ERROR(check([] { return std::string(); }));
  const Member* member = find(id);
  if (member == nullptr || member->state != State::kJoined) {
    return absl::FailedPreconditionError(absl::StrCat(nameOf(id), " has not all of its members"));
  }
  const ncclResult_t result = call(*api_, member->handle);
  if (result != ncclSuccess && result != ncclInProgress) {
    return breakOff(runtime::annotate(ncclStatus(*api_, result, function), member->name()));
  }
  return waitUntilReady(*member);
}

absl::Status Communicators::check(absl::FunctionRef<std::string()> what) {
  GR_RETURN_IF_ERROR(failure_);
  for (const Member& member : members_) {
    absl::Status status = isReady(member).status();
    status = status.ok() ? runtime::annotate(mayWait(), member.name()) : status;
    if (!status.ok()) {
      const std::string name = what();
      return breakOff(name.empty() ? status : runtime::annotate(status, name));
    }
  }
  return absl::OkStatus();
}

// All at once: the library may free memory of one when no kernel runs on the GPU, and kernels of
// another would run on.
absl::Status Communicators::breakOff(const absl::Status& why) {
  if (members_.empty() || !failure_.ok()) {
    return failure_.ok() ? why : failure_;
  }
  failure_ = absl::Status(why.code(), absl::StrCat(why.message(), "; it is broken off"));
  api_->ncclGroupStart();
  for (Member& member : members_) {
    if (member.handle != nullptr) {
      api_->ncclCommAbort(std::exchange(member.handle, nullptr));
    }
  }
  api_->ncclGroupEnd();
  return failure_;
}

/// Only members of which the library has nothing left to do can leave together.
void Communicators::beginShutdown() {
  if (!failure_.ok() || interrupted_.load()) {
    return;
  }
  for (Member& member : members_) {
    if (member.state == State::kJoined) {
      api_->ncclCommFinalize(member.handle);  // what goes wrong is its state
      member.state = State::kLeaving;
    }
  }
}

bool Communicators::areLeaving() const {
  return failure_.ok() && !interrupted_.load() &&
         std::all_of(members_.begin(), members_.end(),
                     [](const Member& member) { return member.state == State::kLeaving; });
}

bool Communicators::haveLeft() const {
  return std::all_of(members_.begin(), members_.end(),
                     [&](const Member& member) { return isReady(member).value_or(false); });
}

}  // namespace graphrun::devices::cuda
