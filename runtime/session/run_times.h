// What nodes and edges of a plan took, told from what its last steps recorded.
#ifndef GRAPHRUN_RUNTIME_SESSION_RUN_TIMES_H_
#define GRAPHRUN_RUNTIME_SESSION_RUN_TIMES_H_

#include <cstdint>
#include <map>
#include <vector>

#include "absl/types/span.h"
#include "runtime/base/trace_json.h"
#include "runtime/format/plan_file.h"
#include "runtime/session/session.h"

namespace graphrun::runtime {

/// Medians over the steps that were recorded whole, in nanoseconds.
struct RunTimes {
  struct Node {
    uint32_t device = 0;  ///< index into Plan.devices
    uint32_t node = 0;    ///< index into its partition's nodes
    uint64_t ns = 0;      ///< its kernels, and what lays out its inputs for them
    /// In most steps no tensor was under way from or to its worker meanwhile: who moves one takes
    /// the processor from kernels, over TCP for as long as that takes.
    bool isCalm = true;
    uint64_t weightBytes = 0;
    uint64_t scratchBytes = 0;
  };
  /// From the end of the last kernel that makes the tensor to the start of the first that reads it,
  /// both ends' changes of layout included. Only of edges that were waited for: how long another
  /// was under way is not known.
  struct Edge {
    uint32_t edge = 0;
    uint64_t ns = 0;
  };
  /// A node that sends or receives: the edge and the node's position in `nodes`.
  struct End {
    uint32_t edge = 0;
    size_t node = 0;
  };
  /// Of all devices that have told any times; 0 ns where nothing has to be done.
  std::vector<Node> nodes;
  std::vector<Edge> edges;
  std::vector<End> ends;
  /// By the number of a step: from its first kernel's start to its end on all devices.
  std::map<uint64_t, uint64_t> spans;
  size_t steps = 0;  ///< that were recorded whole
};

/// Reads the streams of `plan`; processes have told their clocks' offsets.
RunTimes runTimes(const format::PlanFile& plan, absl::Span<const TraceProcess> processes);

/// The same with names, beside what was predicted.
StepTimes timesOf(const format::PlanFile& plan, absl::Span<const TraceProcess> processes);

}  // namespace graphrun::runtime

#endif  // GRAPHRUN_RUNTIME_SESSION_RUN_TIMES_H_
