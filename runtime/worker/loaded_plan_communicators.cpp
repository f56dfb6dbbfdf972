// The communicators of a loaded plan: where their members meet, and until all have come.
#include <algorithm>
#include <chrono>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/base/clock.h"
#include "runtime/base/status.h"
#include "runtime/format/weight_table.h"
#include "runtime/worker/plan_memory.h"

namespace graphrun::runtime {
namespace {

constexpr std::chrono::milliseconds kPause{1};

/// The devices of a communicator, by their indices in the plan; InvalidArgument when the plan has
/// not got it.
absl::StatusOr<std::vector<uint32_t>> devicesOf(const format::PlanFile& plan,
                                                uint32_t communicator) {
  const auto* all = plan.plan().communicators();
  if (communicator >= format::sizeOf(all) ||
      format::sizeOf(all->Get(communicator)->devices()) == 0) {
    return absl::InvalidArgumentError(absl::StrCat("the plan has no communicator ", communicator));
  }
  const auto& devices = *all->Get(communicator)->devices();
  return std::vector<uint32_t>(devices.begin(), devices.end());
}

}  // namespace

absl::StatusOr<std::string> LoadedPlan::newCommunicatorId(const format::PlanFile& plan,
                                                          const PlanHome& home,
                                                          uint32_t communicator) {
  GR_ASSIGN_OR_RETURN(std::vector<uint32_t> devices, devicesOf(plan, communicator));
  const format::PlanDevice& first = plan.device(devices.front());
  if (plan.findWorker(home.worker) != first.worker()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the first member of communicator ", communicator, " is ",
                     format::textOf(first.name()), ", which worker ", home.worker, " has not"));
  }
  GR_ASSIGN_OR_RETURN(std::shared_ptr<SharedDevice> device, home.device(descriptionOf(first)));
  devices::Collectives* collectives = device->device->collectives();
  absl::StatusOr<std::string> communicatorId =
      collectives == nullptr ? absl::StatusOr<std::string>(absl::UnimplementedError(
                                   "no device of this kind carries out collectives"))
                             : collectives->newCommunicatorId();
  if (!communicatorId.ok()) {
    return annotate(communicatorId.status(),
                    absl::StrCat(format::textOf(first.name()), ": communicator ", communicator));
  }
  return communicatorId;
}

/// "communicator 0 (node0/cuda:0, node1/cuda:0)".
std::string LoadedPlan::describe(const Member& member) const {
  const auto devices = devicesOf(*plan_, member.communicator).value_or(std::vector<uint32_t>());
  auto name = [this](std::string* text, uint32_t device) {
    absl::StrAppend(text, format::textOf(plan_->device(device).name()));
  };
  return absl::StrCat("communicator ", member.communicator, " (",
                      absl::StrJoin(devices, ", ", name), ")");
}

/// All begin to join before any is waited for: their members may come in any order.
absl::Status LoadedPlan::joinCommunicators(const PlanHome& home) {
  std::vector<Member> members;
  for (size_t part = 0; part < memory_->parts.size(); ++part) {
    devices::CollectiveProgram* program = memory_->parts[part].loaded.program->collectives();
    if (program == nullptr || program->communicators().empty()) {
      continue;
    }
    for (uint32_t communicator : program->communicators()) {
      members.push_back({part, program, communicator});
    }
    control_.interrupts(program);
  }
  hasCommunicators_ = !members.empty();
  for (const Member& member : members) {
    GR_RETURN_IF_ERROR(annotate(join(home, member), reports_[member.part].device));
  }
  return waitUntilJoined(home, std::move(members));
}

absl::Status LoadedPlan::join(const PlanHome& home, const Member& member) {
  const Memory::Part& part = memory_->parts[member.part];
  GR_ASSIGN_OR_RETURN(std::vector<uint32_t> devices, devicesOf(*plan_, member.communicator));
  const auto found = std::find(devices.begin(), devices.end(), part.device);
  if (found == devices.end()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the device is no member of ", describe(member), ", which its program uses"));
  }
  const auto communicatorId = home.communicatorIds.find(member.communicator);
  if (communicatorId == home.communicatorIds.end()) {
    return absl::FailedPreconditionError(
        absl::StrCat("nobody told where ", describe(member), " meets"));
  }
  return member.program->join({member.communicator, static_cast<uint32_t>(found - devices.begin()),
                               static_cast<uint32_t>(devices.size()), communicatorId->second});
}

absl::Status LoadedPlan::waitUntilJoined(const PlanHome& home, std::vector<Member> missing) {
  while (true) {
    std::vector<Member> left;
    for (const Member& member : missing) {
      absl::StatusOr<bool> hasJoined = member.program->hasJoined(member.communicator);
      if (!hasJoined.ok()) {
        return annotate(hasJoined.status(),
                        absl::StrCat(reports_[member.part].device, ": ", describe(member)));
      }
      if (!*hasJoined) {
        left.push_back(member);
      }
    }
    if (left.empty()) {
      return absl::OkStatus();
    }
    const bool isCancelled = home.cancelled != nullptr && home.cancelled->load();
    if (isCancelled || nowNanos() > home.deadlineNanos) {
      std::string what = absl::StrCat(reports_[left[0].part].device, ": not all members of ",
                                      describe(left[0]), " have come");
      return isCancelled ? absl::CancelledError(what) : absl::DeadlineExceededError(what);
    }
    missing = std::move(left);
    std::this_thread::sleep_for(kPause);
  }
}

}  // namespace graphrun::runtime
