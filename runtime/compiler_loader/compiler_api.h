// The way from the run world to the compile world: the C interface of libgraphrun-compiler, which
// the run world loads when something is not in a cache. Implemented by placement/planner, used
// through compiler_loader.h.
#ifndef GRAPHRUN_RUNTIME_COMPILER_LOADER_COMPILER_API_H_
#define GRAPHRUN_RUNTIME_COMPILER_LOADER_COMPILER_API_H_

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// Both sides must have the same: the two libraries are built together.
#define GR_COMPILER_API_VERSION 10

/// The one exported symbol: `const GrCompilerApi* grCompilerApi(void)`.
#define GR_COMPILER_API_SYMBOL "grCompilerApi"

/// The names of a plan's outputs that PlanRequest.dumps asked for begin with this, and with so many
/// digits: a number that puts them in the order of the graph.
#define GR_DUMP_PREFIX "dump:"
#define GR_DUMP_DIGITS 9

/// Bytes of the caller, valid during the call.
typedef struct GrBytes {
  const uint8_t* data;
  uint64_t size;
} GrBytes;

/// Bytes made by the compiler; given back with GrCompilerApi::release. `data` is aligned to 16, so
/// that a FlatBuffer can be read in place; it may be null if `size` is 0.
typedef struct GrBuffer {
  uint8_t* data;
  uint64_t size;
} GrBuffer;

/// A model.fb, mapped: the whole file, aligned to 64. The caller has checked its weights
/// (format::ModelFile::verifyWeights): they are not read for that again.
typedef struct GrModel {
  const char* name;  ///< path, for messages
  GrBytes bytes;
} GrModel;

/// Reads a weight: `index` counts in the plan's table. Sets `out` to the bytes as in the model file
/// (dense, row-major; one element for a splat), which stay valid until compilePartition returns.
/// Returns an absl::StatusCode. May be called from any thread, also side by side.
typedef int32_t (*GrReadWeight)(void* context, uint32_t index, GrBytes* out);

/// Looks for machine code that GrStoreCode was given under `name` (a final zero ends it), maybe by
/// another process. Sets `out`, which stays valid until compilePartition returns. Returns an
/// absl::StatusCode: NotFound when there is none. May be called from any thread.
typedef int32_t (*GrFindCode)(void* context, const char* name, GrBytes* out);
/// Keeps machine code under the name of what it was made from.
typedef void (*GrStoreCode)(void* context, const char* name, GrBytes code);

/// A GrPartition is the input of compilePartition.
typedef struct GrPartition {
  GrBytes plan;             ///< a verified Plan (runtime/format/plan.fbs), aligned to 8
  uint32_t index;           ///< into Plan.partitions; its device's description is in Plan.devices
  const uint32_t* cores;    ///< logical CPUs that the device really has on this machine
  uint64_t coreCount;       ///< 0: all that the process may use
  const char* fingerprint;  ///< devices::Device::fingerprint() of the device
  GrReadWeight readWeight;
  GrFindCode findCode;
  GrStoreCode storeCode;
  void* context;         ///< for readWeight, findCode and storeCode
  uint32_t threads;      ///< that the device's kernels use; 0: one a core
  uint64_t memoryBytes;  ///< for weights and arena; 0: no limit
} GrPartition;

/// The value of a weight: dense row-major elements of type `element` (runtime::ElementType).
typedef struct GrTensor {
  const char* name;
  uint8_t element;
  const int64_t* dims;
  uint64_t rank;
  GrBytes bytes;
} GrTensor;

/// The members of runtime::Recipe that the trained model depends on, its enums as numbers.
typedef struct GrTraining {
  const char* model;  ///< path of an ONNX file
  uint8_t target;     ///< type of the target's elements (runtime::ElementType)
  uint8_t loss;
  uint8_t fromLogits;
  uint8_t optimizer;
  uint8_t nesterov;
  double learningRate;
  double momentum;
  double beta1;
  double beta2;
  double epsilon;
  double weightDecay;
  const uint8_t* metrics;
  uint64_t metricCount;
} GrTraining;

/// GrTuning holds what is known of a device's kernels, and receives what compilePartition finds
/// out.
typedef struct GrTuning {
  GrBytes known;         ///< in: `measured` of an earlier call for this fingerprint; empty at first
  GrBytes refused;       ///< in: what devices of this fingerprint refused to load, a line a step
  uint64_t budgetNanos;  ///< in: to be spent on measuring; nothing else should run meanwhile
  GrBuffer measured;     ///< out: all that is known now
  uint8_t complete;      ///< out: 1 when no choice waits for a measurement
} GrTuning;

/// A bare cost graph, and how to place it.
typedef struct GrCosts {
  const char* name;           ///< path, for messages
  GrBytes bytes;              ///< the file (placement/formats/cost_file.h)
  uint32_t devices;           ///< for standard task graphs; 0: not given
  uint8_t contiguous;         ///< 1: no path may leave a device and come back to it
  const char* objective;      ///< "latency", "throughput", "": that of the file
  const char* strategy;       ///< "auto", "heft" …
  uint64_t seed;              ///< of what searches at random
  uint64_t budgetNanos;       ///< that a search may take; 0: its own
  GrBytes placement;          ///< a placement file's content, to use it; empty: the strategy places
  const char* placementName;  ///< its path, for messages
  GrBytes from;  ///< a placement file of a graph that was a little different, to begin with; empty:
                 ///< none
  const char* fromName;          ///< its path
  uint8_t explain;               ///< 1: the answer holds an explanation with details
  const char* const* explained;  ///< nodes to tell other devices of: names or shell patterns
  uint64_t explainedCount;
} GrCosts;

/// All functions are thread-safe. Each returns an absl::StatusCode (0: OK) and sets `out`, also on
/// failure: then it holds the message, UTF-8 without a final zero. Without a message: Unavailable,
/// memory ran out. No exception leaves them.
typedef struct GrCompilerApi {
  uint32_t version;  ///< GR_COMPILER_API_VERSION

  /// Imports, checks and simplifies an ONNX file and writes model.fb to `outPath`, whole or not at
  /// all. `out`: warnings, one a line, or nothing. InvalidArgument holds all problems of the model.
  int32_t (*importOnnx)(const char* path, const char* outPath, GrBuffer* out);

  /// `request`: a PlanRequest, `out`: a PlanResponse (runtime/format/compiler_api.fbs).
  /// ResourceExhausted or FailedPrecondition: the model cannot be placed; NotFound: an option
  /// (strategy, pin, limit, node to explain, device or link thought of) names what is not there or
  /// is written wrongly; InvalidArgument: a bad model, shape, placement file or cluster.
  int32_t (*plan)(const GrModel* model, GrBytes request, GrBuffer* out);

  /// `out`: the executable that Device::load of the device's kind reads.
  int32_t (*compilePartition)(const GrPartition* partition, GrTuning* tuning, GrBuffer* out);

  /// `request` as for plan; only its inputs count, and may be missing. `out`: JSON text, an object
  /// with "flops" and "bytes" of one step (null where they depend on unknown shapes) and "ops", an
  /// object from operation name to {"count", "flops"}.
  int32_t (*inspect)(const GrModel* model, GrBytes request, GrBuffer* out);

  /// Copies the ONNX file `path` to `outPath`, whole or not at all, with the placement that
  /// `explanation`, a PlanResponse's explanation_json, tells. `out`: warnings, one a line, or
  /// nothing. FailedPrecondition: `outPath` is in a folder where the model's weights are not.
  int32_t (*annotateOnnx)(const char* path, GrBytes explanation, const char* outPath,
                          GrBuffer* out);

  /// `out`: JSON text, times in the file's unit: {"goal": "latency" or "throughput", "contiguous",
  ///  "unit", "objective", "lower_bound", "proved" (they are equal), "strategy", "seed", "seconds",
  ///  "devices": [{"device", "nodes", "busy", "ports", "peak_bytes", "memory_bytes" (null: no
  ///  limit)}], "nodes": [{"node", "device", "start", "finish"}], "explanation" (if asked for;
  ///  times in ns; see placement/explain/explain.h), "ns_per_unit"}. InvalidArgument holds all
  /// problems of the file, NotFound an unknown strategy; FailedPrecondition: it cannot be placed.
  int32_t (*placeCosts)(const GrCosts* costs, GrBuffer* out);

  /// `request` as for plan. `out`: the cost graph of the model on the request's cluster, in the
  /// format that placeCosts reads, or nothing when shapes depend on elements of inputs.
  int32_t (*costs)(const GrModel* model, GrBytes request, GrBuffer* out);

  /// Writes network `number` of the calibration set as model.fb to `outPath`. `out`: its name.
  /// NotFound behind the last; see placement/planner/calibration_set.h.
  int32_t (*calibrationModel)(uint32_t number, const char* outPath, GrBuffer* out);

  /// Imports and checks the ONNX file `path`, or loads model.fb, for inputs of `shapes`
  /// ("x:1x3x224x224", `shapeCount` of them); dims that are not given are 1. If `training` is not 0
  /// it is also asked whether the model could be trained. `out`: JSON text {"inputs" (as they were
  /// taken), "operations", and for training "parameters"}. InvalidArgument holds all problems of
  /// the model: each node that has no gradient, too. FailedPrecondition: a shape is
  /// written wrongly.
  int32_t (*checkModel)(const char* path, const char* const* shapes, uint64_t shapeCount,
                        uint8_t training, GrBuffer* out);

  /// Writes the model that trains an ONNX file to `outPath`, whole or not at all
  /// (placement/planner/training_model.h). `out`: warnings, one a line, or nothing. InvalidArgument
  /// holds all problems of the model, or of what its loss reads.
  int32_t (*trainingModel)(const GrTraining* training, const char* outPath, GrBuffer* out);

  /// Copies the ONNX file `path` to `outPath`, whole or not at all, with the values of `tensors` in
  /// the place of its weights of those names (frontends/onnx/weights_writer.h). `out`: nothing.
  int32_t (*writeOnnxWeights)(const char* path, const GrTensor* tensors, uint64_t count,
                              const char* outPath, GrBuffer* out);

  /// Frees what a function set and empties it.
  void (*release)(GrBuffer* buffer);
} GrCompilerApi;

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // GRAPHRUN_RUNTIME_COMPILER_LOADER_COMPILER_API_H_
