// Placements in files: which node goes to which device, by name.
#ifndef GRAPHRUN_PLACEMENT_FORMATS_PLACEMENT_FILE_H_
#define GRAPHRUN_PLACEMENT_FORMATS_PLACEMENT_FILE_H_

#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "placement/problem/problem.h"

namespace graphrun::placement {

/// A FilePlacement holds the placement of a problem's nodes as a file gives it.
struct FilePlacement {
  std::vector<int> device;  // by node; -1: nothing
  /// Those that a list names by themselves, in its order. Empty if it has patterns, too.
  std::vector<int> order;
};

/// Reads a placement file (its forms: placeFromJson in strategy.h). InvalidArgument names every
/// problem of the text, such as names that are not there, nodes without a device, and a full list
/// that is no topological order.
absl::StatusOr<FilePlacement> readPlacementFile(const PlacementProblem& problem,
                                                absl::string_view json, absl::string_view fileName);

/// The same of a file for another graph or cluster: what does not fit is left out.
absl::StatusOr<FilePlacement> readOldPlacementFile(const PlacementProblem& problem,
                                                   absl::string_view json,
                                                   absl::string_view fileName);

}  // namespace graphrun::placement

#endif  // GRAPHRUN_PLACEMENT_FORMATS_PLACEMENT_FILE_H_
