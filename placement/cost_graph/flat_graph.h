// A flat graph has a cost graph as flat arrays, over which evaluation and search walk.
#ifndef GRAPHRUN_PLACEMENT_COST_GRAPH_FLAT_GRAPH_H_
#define GRAPHRUN_PLACEMENT_COST_GRAPH_FLAT_GRAPH_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "placement/cost_graph/cost_graph.h"

namespace graphrun::placement {

/// Lists of ints by id, one behind the other.
class IntLists {
 public:
  IntLists() : begins_{0} {}
  static IntLists of(const std::vector<std::vector<int>>& lists);
  /// For lists of ids: by id, ascending, those whose lists it is in.
  IntLists reversed() const;

  void add(int value) { values_.push_back(value); }
  /// Ends the list of the next id.
  void endList() { begins_.push_back(static_cast<int>(values_.size())); }

  absl::Span<const int> operator[](int id) const {
    return absl::MakeConstSpan(values_).subspan(begin(id), begin(id + 1) - begin(id));
  }
  /// Index of the first value of `id` among all values.
  size_t begin(int id) const { return static_cast<size_t>(begins_[static_cast<size_t>(id)]); }
  /// Values of all lists.
  size_t size() const { return values_.size(); }
  /// Lists.
  int count() const { return static_cast<int>(begins_.size()) - 1; }

 private:
  std::vector<int> begins_;
  std::vector<int> values_;
};

/// One reading of a tensor.
struct Use {
  int node = 0;
  int edge = 0;  ///< index of the tensor in FlatGraph::inputs
};

/// The arrays of a finished graph. Immutable.
class FlatGraph {
 public:
  explicit FlatGraph(const CostGraph& graph);

  absl::Span<const int> inputs(int node) const { return inputs_[node]; }
  absl::Span<const int> outputs(int node) const { return outputs_[node]; }
  /// Index of the node's first input; its i-th input is the edge firstEdge + i.
  size_t firstEdge(int node) const { return inputs_.begin(node); }
  size_t edgeCount() const { return inputs_.size(); }
  absl::Span<const Use> uses(int tensor) const {
    auto t = static_cast<size_t>(tensor);
    return absl::MakeConstSpan(uses_).subspan(useBegins_[t], useBegins_[t + 1] - useBegins_[t]);
  }
  /// The time of a node alone; see PlacedCosts.
  int64_t timeNs(int node, int device) const {
    return times_[static_cast<size_t>(node) * devices_ + static_cast<size_t>(device)];
  }
  /// CostNode::shared.
  int sharedOf(int node) const { return shared_.empty() ? -1 : shared_[static_cast<size_t>(node)]; }

 private:
  IntLists inputs_;   // by node: tensors
  IntLists outputs_;  // by node: tensors
  std::vector<size_t> useBegins_;
  std::vector<Use> uses_;  // by tensor
  size_t devices_;
  std::vector<int64_t> times_;  // [node][device]
  std::vector<int> shared_;     // by node; empty if none shares work
};

}  // namespace graphrun::placement

#endif  // GRAPHRUN_PLACEMENT_COST_GRAPH_FLAT_GRAPH_H_
