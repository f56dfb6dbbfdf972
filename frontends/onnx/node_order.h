// An order of a graph's nodes in which every value is made before it is used.
#ifndef GRAPHRUN_FRONTENDS_ONNX_NODE_ORDER_H_
#define GRAPHRUN_FRONTENDS_ONNX_NODE_ORDER_H_

#include <functional>
#include <string>
#include <vector>

#include "frontends/onnx/onnx.pb.h"

namespace graphrun::frontends {

/// Result of ordering. `cycle` holds the nodes of one cycle, in data-flow order, when there is one;
/// then the nodes on and behind it are missing from `order`.
struct NodeOrder {
  std::vector<int> order;
  std::vector<int> cycle;
};

/// Calls `visit` for each name that a node reads: its inputs, what its subgraphs read, and the
/// values that a Gradient names in its attributes.
void forEachRead(const ::onnx::NodeProto& node,
                 const std::function<void(const std::string&)>& visit);

/// Orders the nodes topologically; a graph that is sorted already keeps its order. Inputs that no
/// node makes are taken as given.
NodeOrder orderNodes(const ::onnx::GraphProto& graph);

}  // namespace graphrun::frontends

#endif  // GRAPHRUN_FRONTENDS_ONNX_NODE_ORDER_H_
