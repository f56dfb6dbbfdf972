// The cost graph is the graph as placement sees it: what each node costs on each device, and what
// flows between nodes.
#ifndef GRAPHRUN_PLACEMENT_COST_GRAPH_COST_GRAPH_H_
#define GRAPHRUN_PLACEMENT_COST_GRAPH_COST_GRAPH_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "placement/cluster/cluster.h"
#include "placement/cost_graph/measured_costs.h"

namespace graphrun::placement {

/// Time of a node on a device that cannot run it.
inline constexpr int64_t kUnsupported = -1;

/// One operation or group: what is placed as a unit.
struct CostNode {
  std::string name;  // unique
  /// The name of the source model's node that it is or is part of; "" for a group.
  std::string label;
  /// Names of the operations in a group: pins match these as well.
  std::vector<std::string> members;
  std::string op;  // for reports: "gr.conv", "gr.group"
  /// The same for people: "Conv", of a group "Conv+Relu"; "": as `op`.
  std::string kind;
  /// ns on each device of the cluster, kUnsupported where it cannot run.
  std::vector<int64_t> timeNs;
  /// The source of the times on each device; empty: they were given.
  std::vector<CostSource> sources;
  /// Why it cannot run there, for each device with kUnsupported: (device, reason).
  std::vector<std::pair<int, std::string>> unsupported;
  /// Constants that must be resident where the node runs; where it was measured, as the device lays
  /// them out, which may take more.
  int64_t weightBytes = 0;
  /// Scratch memory while it runs.
  int64_t workspaceBytes = 0;
  /// For reports: arithmetic operations, and bytes read and written.
  int64_t flops = 0;
  int64_t bytesTouched = 0;
  /// True for nodes of training's backward pass: contiguous placements may cut it as they like.
  bool backward = false;

  // Filled by CostGraph::finish.
  int shared = -1;                 // index into CostGraph::shared; -1: the work is its own
  int collective = -1;             // index into CostGraph::collectives; -1: a step of none
  int member = -1;                 // of that collective
  std::vector<int> sharedWeights;  // indices into CostGraph::sharedWeights
  // Tensor ids, each once, ascending.
  std::vector<int> inputs;
  std::vector<int> outputs;

  /// Returns whether it takes its time wherever it is: no other node may do its work, nor a
  /// library.
  bool isOwn() const { return shared < 0 && collective < 0; }
  bool supports(int device) const { return timeNs[static_cast<size_t>(device)] != kUnsupported; }
  /// The reason given for `device`, "not supported" without one.
  std::string whyUnsupported(int device) const;
};

/// CostNode::kind, or what stands in its place.
inline const std::string& kindOf(const CostNode& node) {
  return node.kind.empty() ? node.op : node.kind;
}

/// A value between nodes. A token that only orders has 0 bytes.
struct CostTensor {
  std::string name;
  int producer = -1;           // node, or -1: a graph input
  std::vector<int> consumers;  // nodes; sorted and made unique by CostGraph::finish
  int64_t bytes = 0;
  std::string type;  // for reports: "1x64x56x56xf32"; "": not known
  /// It lies in memory that its producer or a consumer has as weights, as the value of a state
  /// does.
  bool isResident = false;
  /// Time that it takes at each end whose device has a port.
  int64_t portNs = 0;
  /// A graph input comes from `inputHome`, a graph output goes to `outputHome`: a device or
  /// kClient.
  int inputHome = kClient;
  bool isOutput = false;
  int outputHome = kClient;

  /// The memory that it takes on its producer's device, from then to its last use there.
  int64_t liveBytes() const { return isResident ? 0 : bytes; }
};

/// Nodes that do the same work, as each device that has some of them needs it once: the first of a
/// device, in its order, takes the time, and what the others make is what that one made.
struct SharedWork {
  std::vector<int> nodes;
  /// There is nothing to do where one device has them all.
  bool onlyApart = false;
};

/// A part of the weightBytes of each of these nodes that is the same for all: a device that runs
/// some of them holds it once.
struct SharedWeights {
  std::vector<int> nodes;
  int64_t bytes = 0;
};

/// A member of a collective.
struct CollectiveMember {
  std::vector<int> nodes;  // its steps, in their order; the last one makes its result
  int operand = -1;        // the tensor that it brings; -1: a constant
};

/// A collective whose members devices of one library (Device::library) can carry out together: if
/// all members are on such, not all on one, and the steps of each on one device. The library then
/// does what the steps would: nothing is sent for them, and each device takes part once, in the
/// last step of its first member.
struct CollectiveGroup {
  std::vector<CollectiveMember> members;
  int64_t bytes = 0;  // of the larger of what a device brings and has of it
  int rounds = 1;     // of the ring that each byte goes round: 2 to combine and hand out
  /// Only if the members of each device follow each other, as many on each.
  bool ordered = false;
  /// Measured times between two devices, three …: ns by device, -1 where nothing was measured.
  /// Empty: nowhere.
  std::vector<std::vector<int64_t>> measuredNs;
};

/// `node` must run on `device`.
struct NodePin {
  int node = 0;
  int device = 0;
  std::string source;  // who asked: "cluster.yaml:12", "--pin"
  /// Asked for by the model itself: a pin of the user's overrules it.
  bool fromModel = false;
};

/// A rule keeps `node` off `device`, which could run it in `timeNs`.
struct NodeForbid {
  int node = 0;
  int device = 0;
  int64_t timeNs = 0;
  std::string source;
};

/// Ids are positions in `nodes` and `tensors`: the order of insertion. Fill the public fields, then
/// call finish once. Immutable, and safe to read from many threads, afterwards.
struct CostGraph {
  std::vector<CostNode> nodes;
  std::vector<CostTensor> tensors;
  std::vector<std::vector<int>> colocation;  // nodes of a group share a device
  std::vector<SharedWork> shared;
  std::vector<SharedWeights> sharedWeights;
  std::vector<CollectiveGroup> collectives;
  std::vector<NodePin> pins;
  std::vector<NodeForbid> forbids;  // filled by applyPinRules; `nodes` has them as not supported

  int addNode(CostNode node);
  int addTensor(CostTensor tensor);

  /// Completes and checks the graph: ids in range, unique names, one time for each of `deviceCount`
  /// devices, nothing negative, no cycle; those that share work share it with no others, take as
  /// long wherever they run, and make as many tensors of the same sizes; shared weights are a part
  /// of each reader's. InvalidArgument names every problem (a cycle by its nodes).
  absl::Status finish(int deviceCount);
  /// Set by finish: a topological order that follows ids where the edges allow.
  std::vector<int> topologicalOrder;

  /// Adds the cluster's rules on names of nodes to `pins`, and drops those from the model that they
  /// overrule; what a rule forbids a device is not supported there from now on. InvalidArgument
  /// names every rule that names no device, or matches no node unless it is known (PinRule).
  absl::Status applyPinRules(const Cluster& cluster);

  /// Takes back what the rules of `source` forbid.
  void dropForbids(absl::string_view source);
  /// Returns whether the device can run the node, were nothing forbidden.
  bool supportsWithoutForbids(int node, int device) const;

  /// Nodes that the rule is for, by their own names or their members', or a part of such a name
  /// where several nodes became one.
  std::vector<int> nodesOf(const PinRule& rule) const;

  int nodeCount() const { return static_cast<int>(nodes.size()); }
  int tensorCount() const { return static_cast<int>(tensors.size()); }
  const CostNode& node(int id) const { return nodes[static_cast<size_t>(id)]; }
  const CostTensor& tensor(int id) const { return tensors[static_cast<size_t>(id)]; }
};

}  // namespace graphrun::placement

#endif  // GRAPHRUN_PLACEMENT_COST_GRAPH_COST_GRAPH_H_
