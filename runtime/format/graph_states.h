// The states of a graph: the tensors in it that outlive its runs.
#ifndef GRAPHRUN_RUNTIME_FORMAT_GRAPH_STATES_H_
#define GRAPHRUN_RUNTIME_FORMAT_GRAPH_STATES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "runtime/format/model_generated.h"

namespace graphrun::format {

/// The operations that read and update a state, and the attributes of the first: the name (String)
/// and the first value (Weight).
inline constexpr absl::string_view kStateOp = "gr.state";
inline constexpr absl::string_view kUpdateOp = "gr.update";
inline constexpr absl::string_view kStateName = "name";
inline constexpr absl::string_view kStateFirst = "init";

struct GraphState {
  std::string name;
  uint32_t first = 0;  ///< its first value, in the table of weights
};

/// The states of a verified graph, in the order of its operations. One that lacks its name or first
/// value, as no reader would take, is left out.
std::vector<GraphState> statesOf(const Graph& graph);

/// Returns whether a verified graph updates a state.
bool updatesStates(const Graph& graph);

}  // namespace graphrun::format

#endif  // GRAPHRUN_RUNTIME_FORMAT_GRAPH_STATES_H_
