// A worker core loads, runs, cancels and drops plans for its process. Used by workers behind the
// control plane, and by the client for its own part of a plan.
#ifndef GRAPHRUN_RUNTIME_WORKER_WORKER_CORE_H_
#define GRAPHRUN_RUNTIME_WORKER_WORKER_CORE_H_

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "runtime/compiler_loader/compiler_loader.h"
#include "runtime/control/worker_handler.h"
#include "runtime/worker/device_set.h"
#include "runtime/worker/disk_cache.h"
#include "runtime/worker/loaded_plan.h"
#include "runtime/worker/program_loader.h"
#include "runtime/worker/state_store.h"
#include "runtime/worker/step_line.h"
#include "runtime/worker/weight_store.h"

namespace graphrun::runtime {

/// The most plans that a process holds; the coordinator unloads the ones used least.
inline constexpr size_t kMaxLoadedPlans = 128;

struct WorkerCoreOptions {
  std::string name;              ///< of this worker; JobInfo::worker replaces it
  Compiler* compiler;            ///< must outlive the core
  std::string cacheDirectory;    ///< "" for defaultCacheDirectory()
  uint32_t threads = 0;          ///< of CPU devices without cores of their own; 0: one a core
  std::string networkInterface;  ///< for tensors, a list with commas; "": all
  DeviceFactory makeDevice = devices::createDevice;
  std::function<std::vector<devices::DeviceDescription>()> discover = devices::discoverDevices;
  std::shared_ptr<DeviceSet> devices;  ///< shared with other cores; null: its own, of makeDevice
};

/// Thread-safe. A step's plan is told by its hash; a step of any other plan is refused.
class WorkerCore final : public WorkerHandler {
 public:
  explicit WorkerCore(WorkerCoreOptions options);
  ~WorkerCore() override;

  /// Weights of a model file on this machine need not be sent.
  void addModel(const std::shared_ptr<const format::ModelFile>& model) { weights_.addModel(model); }
  WeightStore& weights() { return weights_; }
  /// The states of this process's devices. They go with the job.
  StateStore& states() { return states_; }
  /// The interfaces that tensors take, as WorkerCoreOptions has them.
  const std::string& networkInterface() const { return options_.networkInterface; }
  /// The devices of this process.
  std::vector<DeviceDescription> offers() const { return options_.discover(); }
  /// The address of the tensor network of this process, which is opened by the first call.
  absl::StatusOr<std::string> networkAddress();
  /// A prepared plan; NotFound. It stays loaded as long as the pointer lives.
  absl::StatusOr<std::shared_ptr<LoadedPlan>> prepared(uint64_t plan);
  /// OK when the tensor network of this process carries memory of its GPUs, as was tried; else why
  /// tensors of GPUs go through the host's memory on their way to other processes.
  absl::Status carriesGpuMemory();
  /// The coordinator's end of the line on which worker `rank` serves steps as its call `run`.
  absl::StatusOr<std::unique_ptr<StepStarter>> openLine(uint32_t rank, uint64_t run);
  /// Waits for what changes by messages of the tensor network; as Transport::wait.
  absl::Status waitForNetwork(absl::FunctionRef<bool()> ready, const WaitOptions& options);
  /// Returns the time for which this process polled the tensor network while nobody else wanted the
  /// core.
  uint64_t idleNanos();
  /// Lets waitForNetwork look again.
  void wakeNetwork();
  /// Ends all waits for a peer, now and later.
  void markPeerFailed(uint32_t rank, const absl::Status& cause);
  /// Returns when shutdown() was called.
  void waitShutdown();

  absl::StatusOr<WorkerOffer> join(const JobInfo& job) override;
  absl::Status loadPlan(uint64_t plan, std::string bytes) override;
  absl::StatusOr<std::vector<bool>> hasWeights(uint64_t plan,
                                               absl::Span<const WeightId> weights) override;
  absl::Status putWeights(const WeightPiece& piece) override;
  absl::Status connectPeers(uint32_t rank, absl::Span<const PeerInfo> peers) override;
  absl::StatusOr<std::vector<std::string>> newCommunicatorIds(
      uint64_t plan, absl::Span<const uint32_t> communicators) override;
  absl::StatusOr<std::vector<DeviceReport>> preparePlan(
      uint64_t plan, uint64_t tuneNanos, absl::Span<const CommunicatorId> communicatorIds) override;
  absl::Status serveSteps(uint64_t run) override;
  void cancel(const absl::Status& cause) override;
  absl::Status unloadPlan(uint64_t plan) override;
  void endJob(const absl::Status& why) override;
  absl::Status shutdown() override;
  /// JSON: {"worker", "steps", "plans": [{"hash", "devices": [{"device", "bytes"}]}], "network"}.
  absl::StatusOr<std::string> metrics() override;
  /// JSON, as worker_trace.h reads it.
  absl::StatusOr<std::string> trace() override;

 private:
  struct Plan {
    std::shared_ptr<const format::PlanFile> file;
    std::shared_ptr<LoadedPlan> loaded;  // null until prepared
  };

  absl::StatusOr<Plan> find(uint64_t plan);
  absl::StatusOr<PlanHome> home();
  absl::StatusOr<std::shared_ptr<Transport>> local();
  absl::StatusOr<std::shared_ptr<Transport>> network();
  absl::StatusOr<std::shared_ptr<Transport>> linked();
  absl::StatusOr<std::unique_ptr<Transport>> makeNetwork(uint32_t rank) const;
  absl::Status tryGpus();
  absl::Status linkFailure(const absl::Status& status, const std::string& peer) const;
  std::vector<std::shared_ptr<LoadedPlan>> loadedPlans();

  const WorkerCoreOptions options_;
  DiskCache executables_;
  DiskCache timings_;
  DiskCache code_;
  DiskCache weightCache_;
  WeightStore weights_;
  StateStore states_;
  ProgramLoader loader_;
  std::shared_ptr<DeviceSet> devices_;

  std::mutex shutMutex_;  // not the other one, which may be held for long
  std::condition_variable shut_;
  bool shutdown_ = false;

  std::mutex mutex_;
  std::string name_;
  std::shared_ptr<Transport> local_;
  std::shared_ptr<Transport> network_;
  std::map<std::string, uint32_t> ranks_;
  std::set<std::string> gpuPeers_;
  std::optional<absl::Status> carriesGpuMemory_;  // once it was asked
  std::map<uint64_t, Plan> plans_;                // after the transports: plans close their edges
  std::atomic<uint64_t> steps_{0};
  std::atomic<bool> cancelled_{false};    // ends the waits of preparePlan
  std::atomic<bool> stopServing_{false};  // ends the wait for a start
};

}  // namespace graphrun::runtime

#endif  // GRAPHRUN_RUNTIME_WORKER_WORKER_CORE_H_
