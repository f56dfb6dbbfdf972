// One process's part of a plan, ready to run: its devices' executors and the edges between them.
#ifndef GRAPHRUN_RUNTIME_WORKER_LOADED_PLAN_H_
#define GRAPHRUN_RUNTIME_WORKER_LOADED_PLAN_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/base/trace_json.h"
#include "runtime/control/worker_handler.h"
#include "runtime/executor/executor_thread.h"
#include "runtime/executor/steps_in_flight.h"
#include "runtime/format/plan_file.h"
#include "runtime/transport/transport.h"
#include "runtime/worker/device_set.h"
#include "runtime/worker/program_loader.h"
#include "runtime/worker/state_store.h"

namespace graphrun::runtime {

/// A PlanHome is what a plan is loaded into. The plan keeps the transports; all else must outlive
/// it.
struct PlanHome {
  std::string worker;  // this process's name in the plan
  ProgramLoader* loader;
  uint64_t tuneNanos = 0;  // that each device may spend on measuring kernels
  WeightStore* weights;
  StateStore* states;                     // null: its programs have none
  std::shared_ptr<Transport> local;       // linked to itself, for edges within this process
  std::shared_ptr<Transport> network;     // for edges to other workers; null without a cluster
  std::map<std::string, uint32_t> ranks;  // of the other workers on `network`, by name
  /// The workers of these to and from which `network` carries memory of GPUs: both ends know.
  std::set<std::string> gpuPeers;
  absl::Status carriesGpuMemory;                 // why this end of `network` does not
  const std::atomic<bool>* cancelled = nullptr;  // ends waits while loading
  std::map<uint32_t, std::string>
      communicatorIds;        // of communicators, by their position in the plan
  int64_t deadlineNanos = 0;  // of nowNanos(): for their members to come
  /// The device for a description of the plan; the same one for the same description.
  std::function<absl::StatusOr<std::shared_ptr<SharedDevice>>(const devices::DeviceDescription&)>
      device;
};

/// A plan with one device here runs on the caller's thread, or takes turns with other callers of
/// that device; one with several runs the first on the caller's thread and the others on one each.
/// Devices that keep to some cores, several or in the client, have a thread each, and those that go
/// on with later steps while others are not done.
/// Thread-safe: one run at a time, the others wait, or one on each lane; fail() at any time.
///
/// Lanes: a client that computes nothing itself can have several steps in flight, as the workers
/// that do need not wait for each other's end. Each lane runs one step at a time, with memory of
/// its own for inputs and outputs; lane 0 is there from the start.
class LoadedPlan {
 public:
  /// Compiles or loads the partitions of this worker, waits for the peers, opens the edges, joins
  /// the communicators.
  static absl::StatusOr<std::unique_ptr<LoadedPlan>> load(
      std::shared_ptr<const format::PlanFile> plan, const PlanHome& home);
  ~LoadedPlan();

  /// Returns where the members of a communicator of the plan meet, as its first one says, which
  /// must be a device of `home.worker`.
  static absl::StatusOr<std::string> newCommunicatorId(const format::PlanFile& plan,
                                                       const PlanHome& home, uint32_t communicator);

  const format::PlanFile& plan() const { return *plan_; }
  const std::vector<DeviceReport>& reports() const { return reports_; }

  /// An input or output of this process's partitions. An input may be read by several.
  struct Endpoint {
    TensorSpec spec;
    void* staging = nullptr;  // memory to use in place of the caller's, if the network touches it
    std::vector<std::pair<Executor*, size_t>> bindings;  // executors and indices of theirs
  };
  using Endpoints = std::map<std::string, Endpoint>;
  const Endpoints& inputs(size_t lane = 0) const { return lanes_[lane]->inputs; }
  const Endpoints& outputs(size_t lane = 0) const { return lanes_[lane]->outputs; }
  /// Memory of an input or output from the next run on: aligned to kTensorAlignment, valid until it
  /// is bound anew. Not while a run is under way.
  void bindInput(const Endpoint& endpoint, void* data);
  /// A tensor for an input or output, in memory that the device which reads or writes it copies
  /// fastest; nothing where all memory is alike, or there is no more of that. It may outlive the
  /// plan.
  std::optional<HostTensor> makeTensor(const Endpoint& endpoint) const;
  void bindOutput(const Endpoint& endpoint, void* data);

  /// Returns how many lanes there are, and may be.
  size_t lanes() const { return lanes_.size(); }
  size_t mostLanes() const { return mostLanes_; }
  /// Makes them all, once, between runs. The next step is `nextStep`, and those that follow have no
  /// gaps; of all that are in flight run must be called.
  absl::Status openLanes(uint64_t nextStep);

  /// Runs steps; where they update states, one. Every wait ends at `deadlineNanos` (of nowNanos()).
  /// The status of the first failure carries a FirstCause. After a failure a plan with edges is
  /// broken and must be loaded again, and states are what they were before the step.
  absl::Status run(uint64_t firstStep, uint32_t steps, int64_t deadlineNanos);
  /// After a run that succeeded: makes states what they were before its last step. Once.
  void revertStates();
  /// The same for one step on a lane; returns when `others` holds as well, which is called by any
  /// of the threads that run lanes, or the deadline has passed: see StepsInFlight.
  absl::Status runLane(uint64_t step, int64_t deadlineNanos, size_t lane,
                       absl::FunctionRef<bool()> others);
  /// Returns whether several devices of this worker can be at different steps (PlanFile::stagesOn),
  /// which then is what begin and finish are for; run does one after the other.
  bool overlaps() const { return overlaps_; }
  /// Begins what run does. At most kMostStepsInFlight calls may be ahead of finish. One caller.
  absl::Status begin(uint64_t firstStep, uint32_t steps, int64_t deadlineNanos);
  /// Waits for the first begin that was not waited for; its result as of run.
  absl::Status finish();
  /// Stops what runs, with `cause`; does nothing when nothing runs.
  void cancel(const absl::Status& cause);
  /// As cancel, and nothing runs afterwards: also a run that is just about to start ends.
  void stop(const absl::Status& cause) { control_.fail({cause, "", ""}); }
  bool broken() const { return control_.stopped(); }

  std::vector<TraceStream> trace() const;

 private:
  /// Memory is what the network may touch after this plan is gone (EdgeSpec::owner).
  struct Memory;

  LoadedPlan(std::shared_ptr<const format::PlanFile> plan, const PlanHome& home);
  bool pinsUser() const;
  bool isPinned() const;
  absl::Status loadPartitions(const PlanHome& home);
  absl::Status checkPartMemory() const;
  absl::Status tooSmall(const std::string& device, absl::string_view why) const;
  absl::Status loadPartition(const PlanHome& home, uint32_t index, PlanWeights& weights);
  static absl::StatusOr<std::vector<std::shared_ptr<StateCell>>> bindStates(
      const PlanHome& home, const devices::Program& program, PlanWeights& weights,
      const std::shared_ptr<SharedDevice>& device);
  absl::Status waitForPeers(const PlanHome& home);
  /// A communicator that a program of this process is a member of.
  struct Member {
    size_t part;
    devices::CollectiveProgram* program;  // of the part
    uint32_t communicator;
  };
  absl::Status joinCommunicators(const PlanHome& home);
  absl::Status join(const PlanHome& home, const Member& member);
  absl::Status waitUntilJoined(const PlanHome& home, std::vector<Member> missing);
  std::string describe(const Member& member) const;
  absl::Status handOverEdges();
  static bool canTransferDirectly(devices::Program& program, size_t edge);
  absl::Status handOver(size_t from, size_t edge);
  void noteHostTransfer(size_t part, uint32_t edge, absl::string_view why);
  void lockSources();
  absl::Status lockSource(size_t to, const devices::EdgeBinding& end);
  bool note(size_t part, const std::string& note);
  absl::Status openEdges(const PlanHome& home);
  absl::StatusOr<EdgeEnd> openEdge(const PlanHome& home, size_t part,
                                   const devices::EdgeBinding& binding);
  absl::StatusOr<EdgeEnd> openReceiver(Transport* transport, const EdgeSpec& spec, size_t part,
                                       size_t stride);
  absl::StatusOr<std::string> carryGpuMemory(const PlanHome& home, size_t part,
                                             const devices::EdgeBinding& binding,
                                             const std::string& peer);
  absl::StatusOr<void*> allocate(size_t part, size_t bytes, bool isOwn = false);
  absl::Status recountMemory(size_t part);
  struct Lane {
    std::unique_ptr<Executor> executor;  // null: lane 0, which all of executors_ run
    Endpoints inputs;
    Endpoints outputs;
  };
  static void collectEndpoints(Executor& executor, Lane& lane);
  absl::Status stageEndpoints();
  size_t countLanes() const;
  absl::StatusOr<std::unique_ptr<Lane>> makeLane();
  absl::StatusOr<void*> staging(const Endpoint& endpoint);
  bool touchedByNetwork(const Endpoint& endpoint, bool input) const;
  bool runExecutors(uint64_t firstStep, uint32_t steps);
  absl::Status checkRunnable(uint32_t steps) const;
  absl::Status failureStatus();
  /// Returns whether no step here waits for another device's, nor the other way round.
  bool isAlone() const { return edges_.empty() && !hasCommunicators_; }

  std::shared_ptr<const format::PlanFile> plan_;
  std::string worker_;
  std::shared_ptr<Transport> local_;  // whoever lets go of the plan last closes its edges on these
  std::shared_ptr<Transport> network_;
  StepControl control_;
  std::shared_ptr<Memory> memory_;
  std::vector<DeviceReport> reports_;
  struct OpenEdge {
    Transport* transport;
    EdgeEnd end;
    const devices::Program* program;
    uint32_t buffer;
  };
  std::vector<OpenEdge> edges_;
  bool hasCommunicators_ = false;
  bool overlaps_ = false;
  std::vector<std::pair<Transport*, void*>> registered_;
  std::vector<std::unique_ptr<Executor>> executors_;
  /// The threads of the last executors; the first one has none where the caller's thread runs it.
  std::vector<std::unique_ptr<ExecutorThread>> threads_;
  std::deque<std::vector<uint64_t>> begun_;  // by thread: what it was asked for
  ProgramLoader* loader_;
  WeightStore* weights_;
  std::vector<EdgeEnd> ends_;  // of the last part
  std::vector<std::unique_ptr<Lane>> lanes_;
  size_t mostLanes_ = 1;
  std::unique_ptr<StepsInFlight> inFlight_;  // null with one lane
  std::mutex runMutex_;                      // for one lane
  std::atomic<uint32_t> running_{0};         // runs
};

}  // namespace graphrun::runtime

#endif  // GRAPHRUN_RUNTIME_WORKER_LOADED_PLAN_H_
