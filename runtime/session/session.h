// The public C++ API: load a model, run it, on this machine or on a cluster.
#ifndef GRAPHRUN_RUNTIME_SESSION_SESSION_H_
#define GRAPHRUN_RUNTIME_SESSION_SESSION_H_

#include <chrono>
#include <concepts>
#include <cstdint>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/base/memory_file.h"
#include "runtime/base/numerics.h"
#include "runtime/base/objective.h"
#include "runtime/base/tensor.h"

namespace graphrun::devices {
class Device;
}  // namespace graphrun::devices

struct GrCosts;

namespace graphrun::runtime {

class Compiler;
class DeviceSet;
struct DeviceDescription;

/// Devices of this process for several sessions (SessionOptions::devices).
std::shared_ptr<DeviceSet> makeDeviceSet();

/// Nodes whose name matches a shell pattern go to a device.
struct PlacementPin {
  /// A pattern for names of nodes; after an "@", for the devices and layers that the model's
  /// annotations name.
  std::string nodes;
  std::string device;  ///< "node1/cpu:0"
};

/// The most memory that a device may use.
struct DeviceMemoryLimit {
  std::string device;
  uint64_t bytes = 0;
};

/// WhatIf describes what a cluster does not have yet. With any of it a session explains, and does
/// not run.
struct WhatIf {
  std::vector<std::string> addedDevices;  ///< "node2:cuda", "node2:cpu=48GiB"
  std::vector<std::string> changedLinks;  ///< "100Gbps", "node0,node1=12GB/s,3us"

  bool empty() const { return addedDevices.empty() && changedLinks.empty(); }
};

/// ExplainOptions choose what Session::explain tells beside the placement; see
/// placement/explain/explain.h for the JSON.
struct ExplainOptions {
  bool details = false;            ///< what a picture of the step needs
  bool mainChoices = false;        ///< where the nodes that matter most could be instead
  std::vector<std::string> nodes;  ///< the same for these: names or shell patterns
};

/// Progress says what a session is busy with before it can run.
struct Progress {
  std::string what;    ///< "planning", "waiting for worker w1"; "": with nothing that takes time
  uint64_t done = 0;   ///< of `total`
  uint64_t total = 0;  ///< 0: not known
  std::chrono::nanoseconds most{0};  ///< that it may take; 0: not known
};

struct SessionOptions {
  std::string cluster{};  ///< path of cluster.yaml; "": this machine alone, in this process
  /// Threads of a kernel on this machine without a cluster; 0: as many as the process may use.
  uint32_t threads = 0;
  /// "auto", a strategy's name ("single", "heft", …), or the path of a placement file.
  std::string strategy = "auto";
  /// The placement is best at this objective. For throughput each device gets one piece of the
  /// graph, and edges buffers for as many steps as may be in flight: see Session on how to have
  /// them. Where devices of this process compute, steps follow each other, and both mean the same.
  Objective objective = Objective::kLatency;
  /// Path of a placement file for a model or cluster that was a little different, to begin with in
  /// place of a strategy; "": none.
  std::string from{};
  /// Time that the search for a placement may take; 0: as much as it sees fit, and every search
  /// gives the same.
  std::chrono::nanoseconds planBudget{0};
  std::vector<PlacementPin> pins{};
  std::vector<PlacementPin> forbids{};  ///< devices that nodes stay off, as in "node1/*"
  std::vector<DeviceMemoryLimit> memoryLimits{};
  /// Into how many parts with equal numbers of cores CPU devices may be split, to run branches of
  /// the graph side by side: 0: as many as measured times promise a shorter step for; 1: none; 2 or
  /// more: nodes are placed on so many parts and on the whole device, whatever that promises.
  uint32_t split = 0;
  WhatIf whatIf{};
  ExplainOptions explain{};
  bool fusion = true;  ///< false: every operation is a kernel of its own
  Numerics numerics = Numerics::kFast;
  Precision precision = Precision::kF32;
  /// A session's second run begins with measuring, for so long at most, which kernels are fastest
  /// on each device; the result is kept in the cache, for other plans and sessions too. For other
  /// shapes that is done when measuring takes a tenth of the time that their runs took. 0: never. A
  /// deterministic plan is not measured.
  std::chrono::milliseconds tuneBudget{5'000};

  /// For one run, at most a week; 0: an hour. Every wait for an edge, on any worker, ends with it.
  /// Where the model's values decide on what follows, planning that is part of the run.
  std::chrono::milliseconds stepTimeout{0};
  std::chrono::milliseconds joinTimeout{30'000};  ///< for workers that are not up yet
  /// Program and first arguments that start a worker on this machine; empty: `graphrun worker`,
  /// with the program graphrun beside this one or on the PATH.
  std::vector<std::string> workerCommand{};
  std::string networkInterface{};  ///< for tensors; "": those that lead to the workers
  std::string cacheDirectory{};    ///< "": $GRAPHRUN_CACHE_DIR, else the user's cache folder
  /// Plans kept for different input shapes, and for the stages of models whose shapes depend on
  /// data: at most so many, and none but the last when they take more memory than that.
  size_t maxPlans = 64;
  uint64_t maxPlanBytes = uint64_t{4} << 30;
  /// Runs of runAsync that may wait for those before them; one more is refused.
  size_t maxWaitingRuns = 64;
  /// Sessions with the same devices hold weights that they have in common once, packed; the memory
  /// goes with the last of them. Null: devices of its own.
  std::shared_ptr<DeviceSet> devices{};
  /// Values within the model that `dumped` gets in each run: of operations by name or shell
  /// pattern. They are kept for that as outputs are, which may change what is fused and how long a
  /// run takes.
  std::vector<std::string> dumps{};
  /// Called on the thread that runs, for each value in the order of the graph, when its stage has
  /// run; the tensor is valid during the call.
  std::function<void(const std::string& name, const HostTensor& value)> dumped{};
  /// Told of what takes time, whenever that changes; from any thread, one call at a time. Must not
  /// call the session. Null: nobody is told.
  std::function<void(const Progress&)> progress{};
  /// A run that fails leaves what it did to writeTrace.
  bool traceFailures = false;
  /// False: what runs take is not kept for later plans.
  bool learnCosts = true;
  /// In place of libgraphrun-compiler; must outlive the session. Null: that library, loaded when
  /// something is not in the cache.
  Compiler* compiler = nullptr;
  /// In place of the devices of this build, for tests.
  std::function<absl::StatusOr<std::unique_ptr<devices::Device>>(const DeviceDescription&)>
      makeDevice{};
};

/// An input or output of a model.
struct ModelPort {
  std::string name;
  ElementType type = ElementType::kInvalid;
  std::vector<int64_t> dims;         ///< -1: not known before run time
  std::vector<std::string> symbols;  ///< one a dim: its name or expression, "" if there is none
  bool ranked = true;                ///< false: any rank
  /// A list of tensors (ONNX's sequence or optional). The tensors in the list "x" are given and
  /// returned as "x[0]", "x[1]" …; of an empty one as "x[]", any tensor without elements.
  bool isList = false;

  /// "1x3xHxWxf32".
  std::string toString() const;
};

/// Shape of an input, to plan for.
struct NamedSpec {
  std::string name;
  TensorSpec spec;
};

/// DeviceStats say what a device of the last plan is and needs.
struct DeviceStats {
  std::string device;
  std::string worker;
  uint64_t bytes = 0;           ///< weights, arena and edges, as loaded
  uint64_t sharedBytes = 0;     ///< of these, packed weights that plans loaded before hold as well
  uint64_t predictedBytes = 0;  ///< as planned
  uint64_t prepareNanos = 0;    ///< to compile, or to load from the cache
  bool fromCache = false;
  bool tuned = false;       ///< no choice of a kernel waits for a measurement
  std::string fingerprint;  ///< of hardware and libraries: equal ones take equal times
  uint32_t handedOver = 0;  ///< tensors that reach it from another device without the host's memory
  std::vector<std::string> notes;  ///< why others take a longer way than they could
};

/// SessionStats count what a session did so far. Times in nanoseconds.
struct SessionStats {
  uint64_t runs = 0;
  uint64_t openNanos = 0;      ///< import or mapping of the model
  uint64_t lastPlanNanos = 0;  ///< to plan, or to find the plan in the cache
  uint64_t lastLoadNanos = 0;  ///< to load the plan on all workers
  uint64_t predictedStepNanos = 0;
  uint64_t predictedPeriodNanos = 0;  ///< of steps in flight: the busiest device's or link's time
  uint64_t preparedNanos = 0;  ///< of all runs: to plan, load and choose kernels, before they began
  uint64_t planHits = 0;       ///< runs whose plan was loaded
  uint64_t planDiskHits = 0;   ///< plans found in the cache on disk
  uint64_t plansMade = 0;
  uint64_t plansLoaded = 0;     ///< because none that was loaded fitted
  uint64_t plansEvicted = 0;    ///< to keep within maxPlans and maxPlanBytes
  bool imported = false;        ///< the ONNX file was not in the cache
  bool compilerLoaded = false;  ///< whether this process needed the compile world
  uint64_t transfers = 0;       ///< tensors that all runs sent from one device to another
  std::vector<DeviceStats> devices;
};

/// NodeTime is the time of a node of the last plan.
struct NodeTime {
  std::string node;
  std::string device;
  uint64_t predictedNanos = 0;
  bool fromMeasurement = false;  ///< the prediction was what an earlier run took
  uint64_t nanos = 0;            ///< median
};

/// EdgeTime is the time of a tensor from one device to another.
struct EdgeTime {
  std::string tensor;
  std::string from;
  std::string to;
  uint64_t bytes = 0;
  uint64_t nanos = 0;  ///< median, changes of layout included
};

/// StepTimes are the times of the last plan's last runs on all workers. Of tensors those that were
/// waited for.
struct StepTimes {
  uint64_t steps = 0;  ///< that were recorded whole
  std::vector<NodeTime> nodes;
  std::vector<EdgeTime> edges;
};

/// LearnedCosts are what runs have taught of one kind of device or one link.
struct LearnedCosts {
  std::string what;     ///< "cpu with 2 threads on localhost", "localhost to node1 (cpu to cuda)"
  std::string entries;  ///< what `count` counts: "operations", "sizes of tensors"
  size_t count = 0;
  uint64_t fewestRuns = 0;  ///< behind one of them
  uint64_t mostRuns = 0;
  double spread = 0;  ///< by how much measurements of one differ, relative: the middle one
  uint64_t updatedSeconds = 0;  ///< since 1970, when it was last added to; 0: not known
};

/// An ErrorDomain is the part of a run that a session's failure belongs to.
enum class ErrorDomain {
  kModel,      ///< the model or another file cannot be used
  kInput,      ///< what was given to run does not fit the model
  kPlacement,  ///< the model cannot be placed on the cluster
  kRun         ///< a worker or link failed, or a kernel did
};

/// The stage that a session's failed status tells; kRun when it tells none.
ErrorDomain domainOf(const absl::Status& status);

/// Inputs or outputs of a run, by name.
using TensorMap = std::map<std::string, HostTensor, std::less<>>;

/// A model without a file on disk can be taken from this: the builder's Graph. This library never
/// links the one that builds graphs.
template <typename Graph>
concept ModelInMemory = requires(Graph& graph) {
  { graph.saveToMemory() } -> std::same_as<absl::StatusOr<MemoryFile>>;
};

/// A model, ready to run. Plans are made for the input shapes that come, and kept. Thread-safe: one
/// run at a time, others wait; but where only workers compute, runs of several callers are in
/// flight at once, so that each worker begins with the next when it is done with one. Where a run
/// uses one device of this process it happens on the caller's thread, with inputs and outputs used
/// in place.
class Session {
 public:
  /// Opens `modelPath`: model.fb, or an ONNX file (by its ending .onnx), which is imported into the
  /// cache first. Workers are started or joined when the first plan needs them.
  static absl::StatusOr<std::unique_ptr<Session>> create(const std::string& modelPath,
                                                         const SessionOptions& options = {});
  /// Opens a graph as it is now: what is added to it later does not count. Its problems, all of
  /// them, are this call's. Weights are copied into memory that the session keeps; workers of this
  /// machine read them there.
  template <typename Graph>
    requires ModelInMemory<std::remove_reference_t<Graph>>
  static absl::StatusOr<std::unique_ptr<Session>> create(Graph&& graph,
                                                         const SessionOptions& options = {}) {
    return create(graph.saveToMemory(), options);
  }
  /// Opens a model.fb in memory, sealed; or returns the error in its place.
  static absl::StatusOr<std::unique_ptr<Session>> create(absl::StatusOr<MemoryFile> model,
                                                         const SessionOptions& options = {});
  /// Waits for the runs that have begun, ends the workers that it started and leaves the others.
  /// Runs of runAsync that have not begun end with Cancelled.
  ~Session();

  const std::vector<ModelPort>& inputs() const;
  const std::vector<ModelPort>& outputs() const;
  /// The names of the model's graphs. The first is the one that calls without a name are about.
  std::vector<std::string> graphs() const;

  /// Runs the model once. `inputs`: all of the model's, in any order. `outputs` is set to all of
  /// the model's, in its order; tensors in it that have the right shape are written in place. A
  /// lost worker ends the run with Unavailable and a message that names it; the session is then of
  /// no more use.
  absl::Status run(absl::Span<const NamedTensor> inputs, std::vector<NamedTensor>& outputs);

  /// The same by names: all outputs of the model for all of its inputs.
  ///     GR_ASSIGN_OR_RETURN(TensorMap outputs, session->run(inputs));
  absl::StatusOr<TensorMap> run(const TensorMap& inputs);
  /// The same for a graph of the model that has several, by its name (NotFound). What graphs have
  /// in common are states.
  absl::StatusOr<TensorMap> run(const std::string& graph, const TensorMap& inputs);
  absl::Status run(const std::string& graph, absl::Span<const NamedTensor> inputs,
                   std::vector<NamedTensor>& outputs);

  /// Runs the first graph without waiting for it. Runs begin in the order of the calls, and take
  /// turns with callers of `run`. Where only workers compute, a run begins as soon as the one
  /// before it has begun and a step more may be in flight; a failure ends those in flight, and
  /// those that wait begin then. Elsewhere it begins when the one before it has ended. The session
  /// starts threads for that when they are needed: one, and where only workers compute one for each
  /// step in flight and the next, eight at most. The result is a status or all outputs, as of
  /// `run`: no exception is stored. Views among the inputs must live until it is there; a future
  /// that is dropped drops the result, not the run. ResourceExhausted, at once, where
  /// maxWaitingRuns wait already. To have runs beside each other in this process, use several
  /// sessions with the same SessionOptions::devices.
  std::future<absl::StatusOr<TensorMap>> runAsync(TensorMap inputs);

  /// Copies of the model's states, as the last run that succeeded left them: tensors that outlive
  /// runs (`gr.state`), by name. Unimplemented for a state on another process's worker.
  absl::StatusOr<TensorMap> states();
  /// Gives states their values for the next run, all or none: those of `values`, whose names,
  /// types and shapes must be the model's (NotFound, InvalidArgument; all problems at once).
  absl::Status setStates(const TensorMap& values);
  /// Takes back what the last run, which has succeeded, changed in states: once, before they are
  /// run with or set again. Unimplemented for a state on another process's worker.
  absl::Status revertLastRun();

  /// Returns what has the first NaN in a run of `graph` with these inputs and the states as they
  /// are, or the first infinity if there is no NaN: "input 'x'", "state 'fc1/weight'", or the name
  /// of the operation whose result it is, in quotes; "" if there is none. Runs the graph once more
  /// in a session of its own, which keeps all values of the graph as it was written: those of
  /// gradients are not among them. Changes nothing here.
  absl::StatusOr<std::string> firstNotFinite(const std::string& graph, const TensorMap& inputs);

  /// Does everything that a run with inputs of these shapes needs, but run.
  absl::Status prepare(absl::Span<const NamedSpec> inputs);

  /// A tensor for an input of the plan that was prepared or run last, in memory that the device
  /// which reads it copies fastest: for callers who run often. Nothing where all memory is alike.
  std::optional<HostTensor> makeInput(const NamedSpec& input) const;

  /// Returns the placement and its reasons, with predicted times and memory, as JSON; starts
  /// nothing.
  absl::StatusOr<std::string> explain(absl::Span<const NamedSpec> inputs);
  /// The cost graph that explain places, as text that placeCosts reads; starts nothing.
  absl::StatusOr<std::string> costs(absl::Span<const NamedSpec> inputs);
  /// Returns what is known of the times on this session's devices and links, from earlier runs.
  std::vector<LearnedCosts> learned();
  /// Operations, flops and bytes of a step as JSON; see GrCompilerApi::inspect.
  absl::StatusOr<std::string> inspect(absl::Span<const NamedSpec> inputs);

  SessionStats stats() const;
  /// Predicted times beside measured ones; empty before the first run.
  StepTimes times();
  /// Number of weights' elements, and bytes of them in the file.
  uint64_t parameterCount() const;
  uint64_t weightBytes() const;
  /// Writes the events of the last runs on all workers, as one file for Perfetto or
  /// chrome://tracing; with SessionOptions::traceFailures also of a run that failed.
  absl::Status writeTrace(const std::string& path);

 private:
  struct Impl;
  explicit Session(std::unique_ptr<Impl> impl);
  static absl::StatusOr<std::unique_ptr<Session>> opened(std::unique_ptr<Impl> impl,
                                                         const std::string& modelPath,
                                                         const std::string& called);
  std::unique_ptr<Impl> impl_;
};

/// Imports an ONNX file and writes model.fb; returns warnings, one a line. All problems of the
/// model are in one message.
absl::StatusOr<std::string> importModel(const std::string& onnxPath, const std::string& outPath,
                                        Compiler* compiler = nullptr);

/// Copies an ONNX file to `outPath`, whole or not at all, with the placement that `explanation`
/// (Session::explain of this file) tells; returns warnings, one a line. See
/// frontends/onnx/placement_writer.h.
absl::StatusOr<std::string> annotateModel(const std::string& onnxPath,
                                          const std::string& explanation,
                                          const std::string& outPath, Compiler* compiler = nullptr);

/// Writes network `number` of the set that is made to be measured, as model.fb; returns its name,
/// NotFound behind the last. See placement/planner/calibration_set.h.
absl::StatusOr<std::string> calibrationModel(uint32_t number, const std::string& outPath,
                                             Compiler* compiler = nullptr);

/// Places a bare cost graph; JSON text, see GrCompilerApi::placeCosts.
absl::StatusOr<std::string> placeCosts(const GrCosts& costs, Compiler* compiler = nullptr);

}  // namespace graphrun::runtime

#endif  // GRAPHRUN_RUNTIME_SESSION_SESSION_H_
