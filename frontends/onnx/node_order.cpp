#include "frontends/onnx/node_order.h"

#include <algorithm>
#include <functional>
#include <queue>

#include "llvm/ADT/StringMap.h"

namespace graphrun::frontends {
namespace {

/// For each node the nodes that make its inputs.
std::vector<std::vector<int>> producersOf(const ::onnx::GraphProto& graph) {
  llvm::StringMap<int> makers;
  for (int i = 0; i < graph.node_size(); ++i) {
    for (const std::string& name : graph.node(i).output()) {
      makers.try_emplace(name, i);
    }
  }
  std::vector<std::vector<int>> producers(graph.node_size());
  for (int i = 0; i < graph.node_size(); ++i) {
    forEachRead(graph.node(i), [&](const std::string& name) {
      auto maker = makers.find(name);
      if (!name.empty() && maker != makers.end()) {
        producers[i].push_back(maker->second);
      }
    });
  }
  return producers;
}

/// Walks from a node that waits for ever to one of its producers that does too, until one repeats.
std::vector<int> findCycle(const std::vector<std::vector<int>>& producers,
                           const std::vector<int>& waiting) {
  auto stuck = [&](int i) { return waiting[i] > 0; };
  auto first = std::find_if(waiting.begin(), waiting.end(), [](int n) { return n > 0; });
  int node = static_cast<int>(first - waiting.begin());
  std::vector<int> path;
  std::vector<bool> seen(waiting.size());
  while (!seen[node]) {
    seen[node] = true;
    path.push_back(node);
    node = *std::find_if(producers[node].begin(), producers[node].end(), stuck);
  }
  path.erase(path.begin(), std::find(path.begin(), path.end(), node));
  std::reverse(path.begin(), path.end());
  std::rotate(path.begin(), std::min_element(path.begin(), path.end()), path.end());
  return path;
}

}  // namespace

void forEachRead(const ::onnx::NodeProto& node,
                 const std::function<void(const std::string&)>& visit) {
  std::for_each(node.input().begin(), node.input().end(), visit);
  if (node.op_type() == "Gradient" && node.domain() == "ai.onnx.preview.training") {
    for (const ::onnx::AttributeProto& attribute : node.attribute()) {
      visit(attribute.s());
      std::for_each(attribute.strings().begin(), attribute.strings().end(), visit);
    }
  }
  for (const ::onnx::AttributeProto& attribute : node.attribute()) {
    for (const ::onnx::NodeProto& inner : attribute.g().node()) {
      forEachRead(inner, visit);
    }
    for (const ::onnx::ValueInfoProto& output : attribute.g().output()) {
      visit(output.name());
    }
  }
}

NodeOrder orderNodes(const ::onnx::GraphProto& graph) {
  std::vector<std::vector<int>> producers = producersOf(graph);
  std::vector<std::vector<int>> consumers(producers.size());
  std::vector<int> waiting(producers.size());
  std::priority_queue<int, std::vector<int>, std::greater<>> ready;
  for (size_t i = 0; i < producers.size(); ++i) {
    waiting[i] = static_cast<int>(producers[i].size());
    for (int producer : producers[i]) {
      consumers[producer].push_back(static_cast<int>(i));
    }
    if (waiting[i] == 0) {
      ready.push(static_cast<int>(i));
    }
  }
  NodeOrder result;
  while (!ready.empty()) {
    int node = ready.top();
    ready.pop();
    result.order.push_back(node);
    for (int consumer : consumers[node]) {
      if (--waiting[consumer] == 0) {
        ready.push(consumer);
      }
    }
  }
  if (result.order.size() < producers.size()) {
    result.cycle = findCycle(producers, waiting);
  }
  return result;
}

}  // namespace graphrun::frontends
