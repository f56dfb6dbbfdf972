// Run times are the times of a plan's nodes and edges, told from what its last steps recorded.
#ifndef GRAPHRUN_RUNTIME_SESSION_RUN_TIMES_H_
#define GRAPHRUN_RUNTIME_SESSION_RUN_TIMES_H_

#include <cstdint>
#include <map>
#include <string>
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
    /// Other devices of its machine that computed meanwhile, on the average; 0 where nobody told
    /// which workers are on one machine.
    double company = 0;
    uint64_t weightBytes = 0;
    uint64_t scratchBytes = 0;
  };
  struct Edge {
    uint32_t edge = 0;
    /// From when its sender has gone on to something else to when its receiver has it; 0 where
    /// nobody waited for it: how long such a one was under way is not known.
    uint64_t ns = 0;
    bool isWaitedFor = false;
    /// The time for which the sender is busy with it: it lays it out, and hands it to the network.
    uint64_t sendNs = 0;
    /// The time in which the receiver lays it out.
    uint64_t readNs = 0;

    /// From the end of the last kernel that makes it to the start of the first that reads it.
    uint64_t wholeNs() const { return ns + sendNs + readNs; }
  };
  /// A node that sends or receives: the edge and the node's position in `nodes`.
  struct End {
    uint32_t edge = 0;
    size_t node = 0;
  };
  /// The nodes of all devices that have told any times; 0 ns where nothing has to be done.
  std::vector<Node> nodes;
  std::vector<Edge> edges;
  std::vector<End> ends;
  /// By the number of a step: from its first kernel's start to its end on all devices.
  std::map<uint64_t, uint64_t> spans;
  size_t steps = 0;  ///< that were recorded whole
};

/// Reads the streams of `plan`; processes have told their clocks' offsets. `machines`: the machine
/// of each of the plan's workers; may be empty.
RunTimes runTimes(const format::PlanFile& plan, absl::Span<const TraceProcess> processes,
                  absl::Span<const std::string> machines = {});

/// The same with names, beside what was predicted.
StepTimes timesOf(const format::PlanFile& plan, absl::Span<const TraceProcess> processes);

}  // namespace graphrun::runtime

#endif  // GRAPHRUN_RUNTIME_SESSION_RUN_TIMES_H_
