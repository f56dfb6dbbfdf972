#include "runtime/control/heartbeat.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace graphrun::runtime {
namespace {

constexpr int64_t kNanosPerMilli = 1'000'000;

int64_t toNanos(Millis time) { return time.count() * kNanosPerMilli; }

absl::Status silence(const std::string& who, int64_t nanos, Millis timeout) {
  return absl::UnavailableError(absl::StrFormat(
      "lost %s: no sign of life for %.1f s (limit %.1f s); the process hangs, was "
      "stopped or killed, or the network between us is cut",
      who, static_cast<double>(nanos) * 1e-9, static_cast<double>(timeout.count()) * 1e-3));
}

}  // namespace

StallGuard::StallGuard(Millis timeout, int64_t now)
    : limit_(toNanos(timeout) / 2), lastCheck_(now) {}

int64_t StallGuard::stalledFor(int64_t now) {
  int64_t gap = now - lastCheck_;
  lastCheck_ = now;
  return gap > limit_ ? gap : 0;
}

HeartbeatMonitor::HeartbeatMonitor(Millis timeout, OnLost onLost, ClockFn clock)
    : timeout_(timeout),
      onLost_(std::move(onLost)),
      clock_(std::move(clock)),
      guard_(timeout, clock_()) {}

void HeartbeatMonitor::expect(const std::string& worker) {
  std::lock_guard lock(mutex_);
  workers_[worker].expected = true;
}

void HeartbeatMonitor::add(const std::string& worker) {
  std::lock_guard lock(mutex_);
  Entry& entry = workers_[worker];
  entry.lastSeen = clock_();
  entry.expected = false;
}

void HeartbeatMonitor::remove(const std::string& worker) {
  std::lock_guard lock(mutex_);
  workers_.erase(worker);
}

void HeartbeatMonitor::seen(const std::string& worker) {
  std::lock_guard lock(mutex_);
  if (auto it = workers_.find(worker); it != workers_.end()) {
    it->second.lastSeen = clock_();
  }
}

void HeartbeatMonitor::declareLost(const std::string& worker, const absl::Status& why) {
  {
    std::lock_guard lock(mutex_);
    auto it = workers_.find(worker);
    if (it == workers_.end() || it->second.lost) {
      return;
    }
    it->second.lost = true;
  }
  onLost_(worker, why);
}

void HeartbeatMonitor::check() {
  std::vector<std::pair<std::string, absl::Status>> lost;
  {
    std::lock_guard lock(mutex_);
    int64_t now = clock_();
    int64_t stalled = guard_.stalledFor(now);
    for (auto& [name, entry] : workers_) {
      entry.lastSeen += stalled;
      int64_t silent = now - entry.lastSeen;
      if (!entry.lost && !entry.expected && silent >= toNanos(timeout_)) {
        entry.lost = true;
        lost.emplace_back(name, silence(absl::StrCat("worker ", name), silent, timeout_));
      }
    }
  }
  for (const auto& [name, why] : lost) {
    onLost_(name, why);
  }
}

bool HeartbeatMonitor::isLost(const std::string& worker) const {
  std::lock_guard lock(mutex_);
  auto it = workers_.find(worker);
  return it != workers_.end() && it->second.lost;
}

CoordinatorWatch::CoordinatorWatch(ClockFn clock)
    : clock_(std::move(clock)), guard_(kHeartbeatTimeout, clock_()) {}

void CoordinatorWatch::start(const std::string& name, Millis timeout) {
  std::lock_guard lock(mutex_);
  active_ = true;
  name_ = name;
  timeout_ = timeout;
  lastSeen_ = clock_();
  guard_ = StallGuard(timeout, lastSeen_);
}

void CoordinatorWatch::stop() {
  std::lock_guard lock(mutex_);
  active_ = false;
}

void CoordinatorWatch::seen() {
  std::lock_guard lock(mutex_);
  lastSeen_ = clock_();
}

std::optional<absl::Status> CoordinatorWatch::check() {
  std::lock_guard lock(mutex_);
  int64_t now = clock_();
  lastSeen_ += guard_.stalledFor(now);
  int64_t silent = now - lastSeen_;
  if (!active_ || silent < toNanos(timeout_)) {
    return std::nullopt;
  }
  active_ = false;
  return silence(absl::StrCat("coordinator ", name_), silent, timeout_);
}

}  // namespace graphrun::runtime
