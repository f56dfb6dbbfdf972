// A worker that runs nothing: what a test sees of the handler's side of the control plane.
#ifndef GRAPHRUN_TESTS_RUNTIME_CONTROL_FAKE_HANDLER_H_
#define GRAPHRUN_TESTS_RUNTIME_CONTROL_FAKE_HANDLER_H_

#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <new>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/control/first_cause.h"
#include "runtime/control/worker_handler.h"

namespace graphrun::runtime {

inline const BuildVersions kTestVersions{"0.1.0", "1.13.1"};

/// Plans of the tests; communicatorIds of the second are too long.
enum FakePlan : uint64_t { kPlanQuick = 1, kPlanFails = 3 };

class FakeHandler : public WorkerHandler {
 public:
  /// From now on serveSteps ends with `status` at once, else it waits until it is cancelled.
  void endSteps(const absl::Status& status) {
    std::lock_guard lock(mutex_);
    stepsEnd_ = status;
  }
  /// Whether serveSteps throws from now on.
  void throwInSteps(bool throws) {
    std::lock_guard lock(mutex_);
    throws_ = throws;
  }

  /// From now on join takes so long, as where libraries and devices are slow to open.
  void takeToJoin(std::chrono::milliseconds time) {
    std::lock_guard lock(mutex_);
    joinTakes_ = time;
  }

  absl::StatusOr<WorkerOffer> join(const JobInfo& job) override {
    std::chrono::milliseconds takes{0};
    {
      std::lock_guard lock(mutex_);
      takes = joinTakes_;
    }
    std::this_thread::sleep_for(takes);
    std::lock_guard lock(mutex_);
    name_ = job.worker;
    cancelled_ = absl::OkStatus();
    WorkerOffer offer;
    offer.transportAddress = absl::StrCat("transport of ", job.worker);
    offer.devices = {{"cpu:0", "cpu", 0, {0, 1}, 1 << 30},
                     {"cpu:1", "cpu", 1, {2}, 1 << 20, 0, "toy 1"}};
    return offer;
  }

  absl::Status loadPlan(uint64_t plan, std::string bytes) override {
    std::lock_guard lock(mutex_);
    plans_[plan] = std::move(bytes);
    return absl::OkStatus();
  }

  absl::StatusOr<std::vector<bool>> hasWeights(uint64_t, absl::Span<const WeightId> ids) override {
    std::lock_guard lock(mutex_);
    std::vector<bool> present;
    for (const WeightId& id : ids) {
      auto it = weights_.find(id.checksum);
      present.push_back(it != weights_.end() && it->second.size() == id.bytes);
    }
    return present;
  }

  absl::Status putWeights(const WeightPiece& piece) override {
    std::lock_guard lock(mutex_);
    partial_.append(piece.data.data(), piece.data.size());
    if (piece.last) {
      weights_[piece.id.checksum] = std::move(partial_);
      partial_.clear();
    }
    return absl::OkStatus();
  }

  absl::Status connectPeers(uint32_t rank, absl::Span<const PeerInfo> peers) override {
    std::lock_guard lock(mutex_);
    peers_ = absl::StrCat("rank ", rank);
    for (const PeerInfo& peer : peers) {
      absl::StrAppend(&peers_, ", ", peer.rank, "=", peer.name, "@", peer.transportAddress, "#",
                      peer.token.size());
    }
    return absl::OkStatus();
  }

  absl::StatusOr<std::vector<std::string>> newCommunicatorIds(
      uint64_t plan, absl::Span<const uint32_t> communicators) override {
    std::vector<std::string> communicatorIds;
    communicatorIds.reserve(communicators.size());
    for (uint32_t id : communicators) {
      communicatorIds.push_back(plan == kPlanFails ? std::string(kMaxCommunicatorIdBytes + 1, 'x')
                                                   : absl::StrCat("plan ", plan, ", ", id));
    }
    return communicatorIds;
  }

  absl::StatusOr<std::vector<DeviceReport>> preparePlan(
      uint64_t plan, uint64_t tuneNanos,
      absl::Span<const CommunicatorId> communicatorIds) override {
    std::lock_guard lock(mutex_);
    for (const CommunicatorId& communicatorId : communicatorIds) {
      absl::StrAppend(&met_, communicatorId.communicator, ": ", communicatorId.data, "; ");
    }
    if (plans_.count(plan) == 0) {
      return absl::NotFoundError(absl::StrCat("plan ", plan, " is not loaded"));
    }
    return std::vector<DeviceReport>{
        {absl::StrCat(name_, "/cpu:0"), 4096, 2000, true, tuneNanos > 0, 0, "a cpu"}};
  }

  absl::Status serveSteps(uint64_t run) override {
    std::unique_lock lock(mutex_);
    if (throws_) {
      throw std::bad_alloc();
    }
    served_ = run;
    ++running_;
    absl::Status result = stepsEnd_.value_or(absl::OkStatus());
    if (!stepsEnd_.has_value()) {
      changed_.wait_for(lock, std::chrono::seconds(60), [this] { return !cancelled_.ok(); });
      result = cancelled_;
      cancelled_ = absl::OkStatus();
    }
    --running_;
    return result;
  }

  void cancel(const absl::Status& cause) override {
    std::lock_guard lock(mutex_);
    if (running_ > 0) {
      cancelled_ = cause;
    }
    changed_.notify_all();
  }

  absl::Status unloadPlan(uint64_t plan) override {
    std::lock_guard lock(mutex_);
    return plans_.erase(plan) > 0 ? absl::OkStatus()
                                  : absl::NotFoundError(absl::StrCat("plan ", plan));
  }

  void endJob(const absl::Status& why) override {
    std::lock_guard lock(mutex_);
    plans_.clear();
    ended_.push_back(why);
    changed_.notify_all();
  }

  absl::Status shutdown() override {
    std::lock_guard lock(mutex_);
    down_ = true;
    changed_.notify_all();
    return absl::OkStatus();
  }

  absl::StatusOr<std::string> metrics() override {
    std::lock_guard lock(mutex_);
    size_t bytes = 0;
    for (const auto& [checksum, data] : weights_) {
      bytes += data.size();
    }
    return absl::StrCat("plans=", plans_.size(), " weights=", weights_.size(), " bytes=", bytes,
                        " peers=", peers_, " met=", met_, " served=", served_);
  }

  absl::StatusOr<std::string> trace() override { return std::string(3'500'000, 't'); }

  /// Waits until a job has ended; the reasons so far.
  std::vector<absl::Status> waitEnded(std::chrono::milliseconds patience) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, patience, [this] { return !ended_.empty(); });
    return ended_;
  }
  /// Waits until shutdown() or setDown() was called; false after `patience`.
  bool waitDown(std::chrono::milliseconds patience) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, patience, [this] { return down_; });
  }
  std::string planBytes(uint64_t plan) {
    std::lock_guard lock(mutex_);
    return plans_[plan];
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::string name_;
  std::map<uint64_t, std::string> plans_;
  std::map<uint64_t, std::string> weights_;
  std::string partial_;
  std::string peers_;
  std::string met_;
  std::optional<absl::Status> stepsEnd_;
  bool throws_ = false;
  std::chrono::milliseconds joinTakes_{0};
  uint64_t served_ = 0;
  int running_ = 0;
  absl::Status cancelled_;
  std::vector<absl::Status> ended_;
  bool down_ = false;
};

}  // namespace graphrun::runtime

#endif  // GRAPHRUN_TESTS_RUNTIME_CONTROL_FAKE_HANDLER_H_
