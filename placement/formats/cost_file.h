// Cost graphs as files: what planners, papers and other runtimes can have placed without a model.
#ifndef GRAPHRUN_PLACEMENT_FORMATS_COST_FILE_H_
#define GRAPHRUN_PLACEMENT_FORMATS_COST_FILE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "placement/problem/problem.h"

namespace graphrun::placement {

/// CostFileOptions hold the user's choices beside the file.
struct CostFileOptions {
  /// STG files say nothing of processors; 0: not given.
  int64_t devices = 0;
  /// Nothing: what the file or its format asks for.
  std::optional<Objective> objective;
  bool contiguous = false;
  /// The file's devices are of these kinds: by their names, and accelerators of the first that has
  /// memory of its own.
  std::vector<DeviceKind> kinds;
};

/// A file that was read: the graph is finished for the cluster's devices. Keep it in place while a
/// problem is made of it.
struct CostFile {
  CostGraph graph;
  Cluster cluster;
  Objective objective = Objective::kLatency;
  bool contiguous = false;
  /// The unit of the times in the file, and how many ns one is inside. Times are rounded to ns.
  std::string unit = "ns";
  int64_t nsPerUnit = 1;

  /// Makes the problem of this file's graph and cluster; see PlacementProblem::create.
  absl::StatusOr<PlacementProblem> problem() const;
};

/// Reads one of three formats, told apart by their content:
/// - GraphRun's own: JSON with "format": "graphrun-costs", described by costs.schema.json;
/// - the Standard Task Graph set (STG): free transfers, times in units; `options.devices` equal
///   processors. Source: Tobita, Kasahara, "A standard task graph set for fair evaluation of
///   multiprocessor scheduling algorithms", J. Scheduling 5(5), 2002;
/// - dnn-partitioning: JSON with maxFPGAs, maxCPUs, nodes and edges, times in ms. Accelerators have
///   ports and a limit for the sizes of their nodes, CPUs neither. For throughput (unless asked
///   otherwise) each CPU is a device; for latency an accelerator's nodes are one call, and the CPUs
///   are one device for any number of nodes at a time. Source: Tarnawski et al., NeurIPS 2020.
/// InvalidArgument names all problems of the file, each with its line or JSON path. `fileName` is
/// for messages.
absl::StatusOr<CostFile> readCostFile(absl::string_view text, absl::string_view fileName,
                                      const CostFileOptions& options);

/// The problem in GraphRun's own format; reading it back gives the same problem, but for what
/// libraries carry out (CollectiveGroup): it has the steps of that alone. FailedPrecondition where
/// two workers are joined by links of several kinds, which the format cannot tell.
absl::StatusOr<std::string> writeCostFile(const PlacementProblem& problem);

}  // namespace graphrun::placement

#endif  // GRAPHRUN_PLACEMENT_FORMATS_COST_FILE_H_
