#include "runtime/session/steps_under_way.h"

#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/control/first_cause.h"

namespace graphrun::runtime {
namespace {

/// A worker that does not answer any more, as against one that tells of a failure at an operation.
bool isSilence(const absl::Status& status) {
  std::optional<FirstCause> cause = firstCauseOf(status);
  return absl::IsUnavailable(status) && cause.has_value() && cause->device.empty() &&
         cause->node.empty();
}

}  // namespace

absl::Status StepsUnderWay::begin(const std::shared_ptr<LoadedPlan>& ownPart) {
  std::lock_guard lock(mutex);
  if ((count > 0 && failed.load()) || ownPart->broken()) {
    return absl::AbortedError("a step of the plan failed; load it again");
  }
  if (count++ > 0) {
    return absl::OkStatus();
  }
  own = ownPart;
  cancelled = false;
  first = absl::OkStatus();
  otherWaits.clear();
  failed.store(false);
  return absl::OkStatus();
}

absl::Status StepsUnderWay::end() {
  std::lock_guard lock(mutex);
  if (--count == 0) {
    own.reset();
  }
  return cause();
}

void StepsUnderWay::fail(const absl::Status& status) {
  std::lock_guard lock(mutex);
  keep(status);
}

void StepsUnderWay::keep(const absl::Status& status) {
  if (absl::IsDeadlineExceeded(first) && absl::IsDeadlineExceeded(status)) {
    if (first.message() != status.message()) {
      otherWaits.emplace_back(status.message());
    }
  } else if (first.ok() || (absl::IsUnavailable(first) && !isSilence(first) && isSilence(status))) {
    first = status;
  }
  failed.store(true);
  changed.notify_all();
}

void StepsUnderWay::ended(uint32_t rank, const absl::Status& why) {
  std::shared_ptr<LoadedPlan> stopped;
  {
    std::lock_guard lock(mutex);
    stopped = taking.contains(rank) ? own : nullptr;
    if (stopped != nullptr) {
      keep(why);
    }
  }
  if (stopped != nullptr) {
    if (!absl::IsDeadlineExceeded(why)) {  // else its own deadline passes, and says more
      stopped->stop(why);
    }
    core->wakeNetwork();
  }
  stopped.reset();  // whoever waits for this loads the plan again, when its edges must be closed
  std::lock_guard lock(mutex);
  serving.erase(rank);
  changed.notify_all();
}

bool StepsUnderWay::isServing(uint32_t rank) {
  std::lock_guard lock(mutex);
  return serving.contains(rank);
}

bool StepsUnderWay::settled() const {
  return std::none_of(taking.begin(), taking.end(),
                      [&](uint32_t rank) { return serving.contains(rank); });
}

absl::Status StepsUnderWay::cause() const {
  if (otherWaits.empty()) {
    return first;
  }
  absl::Status all = absl::DeadlineExceededError(
      absl::StrCat(first.message(), "; so did: ", absl::StrJoin(otherWaits, "; ")));
  return withFirstCause(all, firstCauseOf(first).value_or(FirstCause{}));
}

}  // namespace graphrun::runtime
