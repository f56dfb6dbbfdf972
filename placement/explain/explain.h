// Why a placement is as it is, and what it predicts: as text and as JSON.
#ifndef GRAPHRUN_PLACEMENT_EXPLAIN_EXPLAIN_H_
#define GRAPHRUN_PLACEMENT_EXPLAIN_EXPLAIN_H_

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "placement/explain/node_choices.h"
#include "placement/problem/placement_result.h"
#include "placement/problem/problem.h"
#include "placement/simulator/critical_path.h"
#include "placement/strategies/strategy.h"

namespace graphrun::placement {

struct DeviceReport {
  std::string device;
  int64_t ops = 0;
  int64_t flops = 0;
  int64_t bytesTouched = 0;
  int64_t busyNs = 0;
  int64_t weightBytes = 0;
  int64_t receiveBytes = 0;
  int64_t peakBytes = 0;
  int64_t limitBytes = 0;                   // 0: none
  std::string peakNode;                     // "" if nothing runs here
  double weight = 1;                        // how much it is wanted; see DeviceSpec
  std::vector<std::string> takesTurnsWith;  // devices that have some of its cores
  std::vector<MemorySample> memory;
};

/// One direction of a link.
struct LinkReport {
  std::string link;
  std::string kind;
  bool queues = true;
  bool measured = false;  // its times are no guess and not given
  int64_t busyNs = 0;
  int64_t bytes = 0;
  int64_t transfers = 0;
};

/// A value between nodes, which are given by their positions in Explanation::nodes.
struct TensorReport {
  std::string tensor;
  std::string type;  // "1x64x56x56xf32"; "": not known
  int64_t bytes = 0;
  int producer = -1;  // -1: an input of the graph
  std::vector<int> consumers;
  bool isOutput = false;
};

/// One transfer of the step.
struct CutEdge {
  std::string tensor;
  int tensorIndex = 0;  // in Explanation::tensors
  std::string from;     // device or "client"
  std::string to;
  std::string link;
  std::string linkKind;
  int64_t bytes = 0;
  int64_t startNs = 0;
  int64_t waitNs = 0;      // the tensor was ready, the link busy
  int64_t transferNs = 0;  // on the link
};

/// Neighbouring segments of the critical path of one kind on one device or link, joined.
struct PathReport {
  std::string kind;   // pathKindName
  std::string where;  // device or link; of a wait for cores both devices: "a behind b"
  std::string first;  // node or tensor
  std::string last;
  int64_t count = 0;
  int64_t ns = 0;
};

/// A segment of the critical path.
struct PathStep {
  PathKind kind = PathKind::kCompute;
  int index = 0;  // in Explanation::edges for kLink and kLinkWait, else in Explanation::nodes
  int64_t startNs = 0;
  int64_t finishNs = 0;
};

/// One row of the comparison of strategies.
struct StrategyReport {
  std::string strategy;
  std::string failure;  // "" if it placed the graph
  int64_t stepNs = 0;
  int64_t periodNs = 0;
  int64_t devicesUsed = 0;
  int64_t peakBytes = 0;  // of the fullest device
  int64_t transfers = 0;
  int64_t transferBytes = 0;
};

/// One row of the full list.
struct NodeReport {
  std::string node;
  std::vector<std::string> members;  // the source model's nodes in it
  std::string op;
  std::string kind;  // the same for people: "Conv+Relu"
  std::string device;
  int64_t rank = 0;
  int64_t startNs = 0;
  int64_t finishNs = 0;
  std::string source;  // of its time: costSourceName, "given" in a cost graph that says none
};

/// An AnnotationReport says what the model's own annotations ask for under one name, and what came
/// of it.
struct AnnotationReport {
  std::string configuration;  // of the model's devices; "": a layer
  std::string name;           // of the device or layer, in the model's words
  int64_t nodes = 0;          // that ask for it
  std::string device;         // of the cluster, that they are pinned to; "": not used
  std::string why;            // who maps it, or why it is not used
  bool ignored = false;       // the nodes were placed as if it were not there
};

/// A SplitReport predicts the step with CPU devices in so many parts.
struct SplitReport {
  std::vector<std::string> devices;  // that can be split
  int parts = 0;
  int threads = 0;      // of a part
  int64_t wholeNs = 0;  // the step without parts; 0: nobody has looked
  int64_t stepNs = 0;   // 0: nobody has looked
  bool taken = false;
  std::string why;  // not
};

/// A RecomputeReport says what is computed again for the sake of memory limits.
struct RecomputeReport {
  int64_t nodes = 0;             // that run again; 0: none
  int64_t extraNs = 0;           // what they take
  int64_t peakBytesWithout = 0;  // of the fullest device
};

struct Explanation {
  std::string strategy;
  Objective goal = Objective::kLatency;
  int64_t objectiveNs = 0;
  int64_t stepNs = 0;
  int64_t overheadNs = 0;      // beside stepNs, to start and end it on workers; 0: none is known
  int64_t crowdingNs = 0;      // beside both, as devices of a machine compute side by side
  int64_t periodNs = 0;        // of steps that follow each other without a gap
  int64_t clientNs = 0;        // that the client's process works for each of them
  int64_t clientPeriodNs = 0;  // by which the period is longer for that
  int64_t lowerBoundNs = 0;    // of the objective
  std::vector<DeviceReport> devices;
  std::vector<LinkReport> links;
  std::vector<CutEdge> edges;
  int64_t computeNs = 0;  // of the critical path
  int64_t linkNs = 0;
  int64_t waitNs = 0;
  std::vector<PathReport> path;
  std::vector<PathStep> steps;             // the same, none joined
  std::vector<StrategyReport> strategies;  // empty unless candidates were given
  std::vector<NodeReport> nodes;           // by rank
  std::vector<TensorReport> tensors;
  std::vector<NodeExplanation> choices;  // of the nodes that were asked for; see node_choices.h
  std::vector<AnnotationReport> annotations;
  std::vector<SplitReport> splits;  // that were considered
  RecomputeReport recomputed;
  /// Parts of the time of all nodes by where it comes from (costSourceName): what is estimated was
  /// never measured, and may be far off.
  int64_t measuredNs = 0;
  int64_t interpolatedNs = 0;
  int64_t estimatedNs = 0;
  bool singleByRuns = false;  // on one device, since runs on several took longer
  bool complete = true;       // false: what waits for data is placed when the model runs

  int64_t latencyNs() const { return stepNs + overheadNs + crowdingNs; }
};

/// Describes a result of this problem. `candidates` (see runCandidates) fills the comparison.
Explanation explain(const PlacementProblem& problem, const PlacementResult& result,
                    const std::vector<Candidate>& candidates = {});

/// Aligned tables for people; at most `maxEdges` transfers and path entries are listed.
std::string explanationText(const Explanation& explanation, int maxEdges = 20);
std::string explanationText(const NodeExplanation& explanation);

/// {"strategy", "goal" ("latency", "throughput"), "objective_ns", "step_ns" (the timeline's
/// length),
///  "overhead_ns" (beside it, to start and end a step on workers), "crowding_ns" (beside both, what
///  devices of a machine take longer that compute at a time), "latency_ns" (their sum, which
///  "step_ns" of strategies and of splits is, too), "period_ns", "client_ns" (that the client's
///  process works for a step of many), "client_period_ns" (by which the period is longer for that),
///  "lower_bound_ns" (of the objective),
///  "devices": [{"device", "ops", "flops", "bytes_touched", "busy_ns", "weight_bytes",
///               "receive_bytes", "peak_bytes", "limit_bytes" (null: none), "peak_node",
///               "weight", "takes_turns_with" (devices that have some of its cores)}],
///  "edges": [{"tensor", "from", "to", "link", "link_kind", "bytes", "start_ns", "wait_ns",
///             "transfer_ns"}],
///  "critical_path": {"compute_ns", "link_ns", "wait_ns",
///                    "segments": [{"kind" ("compute", "link", "device wait", "core wait",
///                                  "link wait"), "where", "first", "last", "count", "ns"}]},
///  "strategies": [{"strategy", "failure" (null: none), "step_ns", "period_ns", "devices_used",
///                  "peak_bytes", "transfers", "transfer_bytes"}],
///  "nodes": [{"node", "op", "kind" (op for people: "Conv+Relu"), "device", "rank", "start_ns",
///  "finish_ns", "members"}], by rank, "annotations": [{"configuration" (null: a layer), "name",
///  "nodes", "device" (null: not used),
///                   "why", "ignored"}],
///  "splits": [{"devices", "parts", "threads", "whole_step_ns", "step_ns" (null: not looked at),
///              "taken", "why"}], numbers of parts that were considered,
///  "recomputed": {"nodes" (that run again for the sake of memory), "extra_ns",
///                 "peak_bytes_without"},
///  "choices": [explanationJson of a node], of those that were asked for,
///  "single_by_runs" (on one device, since runs on several took longer), "complete"}
///
/// With `details` also what a picture of the step needs; nodes, tensors and edges are given by
/// their positions in these lists:
///  "tensors": [{"tensor", "type" ("1x8xf32"; "": not known), "bytes", "producer" (null: an input
///  of the graph), "consumers",
///               "output"}],
///  "links": [{"link", "kind", "queues", "measured", "busy_ns", "bytes", "transfers"}],
///  in each of "devices" "memory": [[from ns on, bytes]], in each of "edges" "tensor_index", and in
///  "critical_path" "steps": [[kind as in "segments", node or edge, start ns, finish ns]].
nlohmann::ordered_json explanationJson(const Explanation& explanation, bool details = false);

/// {"node", "op", "kind", "device", "rank", "start_ns", "finish_ns", "constraint",
///  "choices": [{"device", "here", "time_ns" (null: not supported), "objective_ns" (null: not
///               possible), "delta_ns" (to the objective as it is), "why" (not; "": it could)}]},
/// in the order of NodeExplanation::choices.
nlohmann::ordered_json explanationJson(const NodeExplanation& explanation);

}  // namespace graphrun::placement

#endif  // GRAPHRUN_PLACEMENT_EXPLAIN_EXPLAIN_H_
