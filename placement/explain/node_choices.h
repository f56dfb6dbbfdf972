// Node choices tell where nodes could be instead, and what the prediction would then be.
#ifndef GRAPHRUN_PLACEMENT_EXPLAIN_NODE_CHOICES_H_
#define GRAPHRUN_PLACEMENT_EXPLAIN_NODE_CHOICES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "placement/problem/placement_result.h"
#include "placement/problem/problem.h"

namespace graphrun::placement {

/// One device for a node.
struct NodeChoice {
  std::string device;
  bool here = false;
  std::optional<int64_t> timeNs;  // of the node; nothing: not supported
  /// The simulator's objective with the node, and all that is colocated with it, on this device,
  /// and all else kept; nothing: it cannot be there.
  std::optional<int64_t> objectiveNs;
  std::string why;  // why not: not supported, pinned elsewhere, memory; "" if it could
};

struct NodeExplanation {
  std::string node;
  std::string op;
  std::string kind;  // the same for people
  std::string device;
  int64_t rank = 0;
  int64_t startNs = 0;
  int64_t finishNs = 0;
  int64_t objectiveNs = 0;  // of the placement as it is
  std::string constraint;   // "pinned by …", "colocated with …", ""
  /// One for each device: where it is, where it could be, the best first, and where it could not.
  std::vector<NodeChoice> choices;
};

/// Why nodes are where they are: the one of this name, or those whose name or whose member's name
/// matches the shell pattern, by rank. NotFound names the nearest. Evaluates one placement for each
/// other device of each.
absl::StatusOr<std::vector<NodeExplanation>> explainNodes(const PlacementProblem& problem,
                                                          const PlacementResult& result,
                                                          absl::string_view name);

/// The same for the nodes that tell most, by rank: those of the critical path, then the longest, as
/// many as can be had for about so much work, which is in nodes simulated.
std::vector<NodeExplanation> explainMainNodes(const PlacementProblem& problem,
                                              const PlacementResult& result, int64_t work);

}  // namespace graphrun::placement

#endif  // GRAPHRUN_PLACEMENT_EXPLAIN_NODE_CHOICES_H_
