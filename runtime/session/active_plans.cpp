#include "runtime/session/active_plans.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <map>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/base/clock.h"
#include "runtime/base/log.h"
#include "runtime/base/status.h"
#include "runtime/control/first_cause.h"
#include "runtime/session/error_domain.h"

namespace graphrun::runtime {
namespace {

/// Runs of a plan take so many times what measuring it may take.
constexpr uint64_t kRunsPerTuning = 10;
/// Measuring for less is not worth loading a plan again.
constexpr uint64_t kLeastTuneNanos = 100'000'000;

/// Memory that loaded plans take on all devices.
uint64_t bytesOf(const std::list<ActivePlan>& plans) {
  uint64_t bytes = 0;
  for (const ActivePlan& plan : plans) {
    for (const DeviceStats& device : plan.devices) {
      bytes += device.bytes - device.sharedBytes;
    }
  }
  return bytes;
}

/// Kernels that a device's library does not have after all, when that was found out.
void tellRefusals(const std::map<std::string, std::vector<DeviceReport>>& reports) {
  constexpr size_t kMostTold = 8;  // of a device
  for (const auto& [worker, ofWorker] : reports) {
    for (const DeviceReport& report : ofWorker) {
      const size_t count = report.refusals.size();
      for (size_t i = 0; i < std::min(count, kMostTold); ++i) {
        log(LogLevel::kWarning,
            absl::StrCat(report.device, ": ", report.refusals[i], "; another takes its place"));
      }
      if (count > kMostTold) {
        log(LogLevel::kWarning,
            absl::StrCat(report.device, ": so are ", count - kMostTold, " more kernels"));
      }
    }
  }
}

std::vector<DeviceStats> devicesOf(
    const format::PlanFile& file, const std::map<std::string, std::vector<DeviceReport>>& reports) {
  std::vector<DeviceStats> devices;
  for (const auto& [worker, ofWorker] : reports) {
    for (const DeviceReport& report : ofWorker) {
      DeviceStats device{report.device,
                         worker,
                         report.peakBytes,
                         report.sharedBytes,
                         0,
                         report.prepareNanos,
                         report.fromCache,
                         report.tuned,
                         report.fingerprint,
                         report.handedOver,
                         report.notes};
      std::optional<uint32_t> index = file.findDevice(report.device);
      if (index.has_value() && file.partitionOn(*index) != nullptr) {
        device.predictedBytes = file.partitionOn(*index)->predicted_peak_bytes();
      }
      devices.push_back(std::move(device));
    }
  }
  return devices;
}

}  // namespace

ActivePlan* ActivePlans::find(const std::string& signature) {
  auto plan = std::find_if(plans_.begin(), plans_.end(), [&](const ActivePlan& candidate) {
    return candidate.signature == signature;
  });
  if (plan == plans_.end()) {
    return nullptr;
  }
  plans_.splice(plans_.begin(), plans_, plan);
  return &plans_.front();
}

absl::StatusOr<ActivePlan*> ActivePlans::load(StageId stage, std::string signature,
                                              FoundPlan found) {
  ActivePlan plan;
  plan.stage = std::move(stage);
  plan.signature = std::move(signature);
  plan.found = std::move(found);
  while (!plans_.empty() &&
         (plans_.size() >= options_.maxPlans || bytesOf(plans_) >= options_.maxPlanBytes)) {
    drop(plans_.back());
    ++evicted_;
  }
  GR_RETURN_IF_ERROR(loadNow(plan, 0));
  if (plan.isTuned()) {
    tuned_.insert(plan.stage);
  }
  plans_.push_front(std::move(plan));
  return &plans_.front();
}

absl::Status ActivePlans::loadNow(ActivePlan& plan, uint64_t tuneNanos) {
  const int64_t begin = nowNanos();
  const ProgressReport::Busy busy(
      progress_, tuneNanos > 0 ? "measuring which kernels are fastest" : "loading the plan",
      std::chrono::nanoseconds(tuneNanos));
  const format::PlanFile& file = *plan.found.plan;
  auto reports = coordinator_.load(file, tuneNanos);
  if (!reports.ok()) {
    bool unfit = isDeviceTooSmall(reports.status()) || absl::IsUnimplemented(reports.status());
    return inDomain(reports.status(), unfit ? ErrorDomain::kPlacement : ErrorDomain::kRun);
  }
  tellRefusals(*reports);
  GR_ASSIGN_OR_RETURN(plan.own, core_.prepared(file.hash()));
  plan.strings = PlanStrings(file.plan());
  plan.devices = devicesOf(file, *reports);
  plan.aligned.resize(plan.own->mostLanes());
  plan.lastRuns.clear();
  plan.clientTime = {};
  plan.loadNanos = static_cast<uint64_t>(nowNanos() - begin);
  return absl::OkStatus();
}

uint64_t ActivePlans::tuneNanos(const ActivePlan& plan) const {
  auto budget = static_cast<uint64_t>(std::chrono::nanoseconds(options_.tuneBudget).count());
  if (plan.nextStep == 0 || plan.isTuned() || plan.tuneNanos >= budget) {
    return 0;
  }
  if (!tuned_.contains(plan.stage)) {
    return budget;
  }
  // Each time twice as much, so that what is measured again for want of time adds up to little.
  uint64_t next = std::min(budget, std::max(kLeastTuneNanos, 2 * plan.tuneNanos));
  return plan.ranNanos >= kRunsPerTuning * next ? next : 0;
}

absl::StatusOr<bool> ActivePlans::tuneIfDue(ActivePlan& plan) {
  uint64_t nanos = tuneNanos(plan);
  if (nanos == 0) {
    return false;
  }
  GR_RETURN_IF_ERROR(tune(plan, nanos));
  return true;
}

absl::Status ActivePlans::tune(ActivePlan& plan, uint64_t nanos) {
  if (plan.isTuned()) {
    return absl::OkStatus();
  }
  tuned_.insert(plan.stage);
  plan.tuneNanos = nanos;
  plan.own.reset();
  plan.nextStep = 0;
  coordinator_.unload(*plan.found.plan);
  if (absl::Status loaded = loadNow(plan, nanos); !loaded.ok()) {
    drop(plan);
    return loaded;
  }
  return absl::OkStatus();
}

void ActivePlans::drop(ActivePlan& plan) {
  auto file = plan.found.plan;
  plans_.remove_if([&](const ActivePlan& candidate) { return &candidate == &plan; });
  coordinator_.unload(*file);
}

}  // namespace graphrun::runtime
