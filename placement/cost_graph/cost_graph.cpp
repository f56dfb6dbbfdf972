#include "placement/cost_graph/cost_graph.h"

#include <algorithm>
#include <functional>
#include <map>
#include <queue>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "placement/cost_graph/ready_nodes.h"
#include "runtime/base/names.h"

namespace graphrun::placement {
namespace {

/// Nodes of a cycle that its message names.
constexpr size_t kMostCycleNodes = 20;

class CostGraphChecker {
 public:
  CostGraphChecker(CostGraph& graph, int deviceCount) : graph_(graph), deviceCount_(deviceCount) {}

  absl::Status run() {
    checkNodes();
    checkTensors();
    checkConstraints();
    if (problems_.empty()) {
      link();
      share();
      shareWeights();
      setCollectives();
      order();
    }
    return problems_.empty() ? absl::OkStatus()
                             : absl::InvalidArgumentError(absl::StrJoin(problems_, "\n"));
  }

 private:
  template <typename... Args>
  void problem(const Args&... args) {
    problems_.push_back(absl::StrCat("cost graph: ", args...));
  }
  bool isNode(int id) const { return id >= 0 && id < graph_.nodeCount(); }
  bool isEndpoint(int id) const { return id >= kClient && id < deviceCount_; }

  void checkNodes();
  void checkTensors();
  void checkConstraints();
  void link();
  void share();
  void shareWeights();
  void setCollectives();
  void checkAlike(const CostNode& node, const CostNode& other);
  void order();
  void reportCycle(const ReadyNodes& nodes);

  CostGraph& graph_;
  int deviceCount_;
  std::vector<std::string> problems_;
};

void CostGraphChecker::checkNodes() {
  std::set<std::string> names;
  for (const CostNode& node : graph_.nodes) {
    if (node.name.empty() || !names.insert(node.name).second) {
      problem("node name '", node.name, "' is empty or given twice");
    }
    if (static_cast<int>(node.timeNs.size()) != deviceCount_) {
      problem("node '", node.name, "': got ", node.timeNs.size(),
              " times, expected one for each of ", deviceCount_, " devices");
    }
    bool badTime = std::any_of(node.timeNs.begin(), node.timeNs.end(),
                               [](int64_t t) { return t < 0 && t != kUnsupported; });
    if (badTime || node.weightBytes < 0 || node.workspaceBytes < 0) {
      problem("node '", node.name, "': a time or a size is negative");
    }
  }
}

void CostGraphChecker::checkTensors() {
  for (const CostTensor& tensor : graph_.tensors) {
    bool ids = (tensor.producer == -1 || isNode(tensor.producer)) &&
               std::all_of(tensor.consumers.begin(), tensor.consumers.end(),
                           [&](int n) { return isNode(n); });
    if (!ids || !isEndpoint(tensor.inputHome) || !isEndpoint(tensor.outputHome)) {
      problem("tensor '", tensor.name, "': a node or a home device does not exist");
    }
    if (tensor.bytes < 0 || tensor.portNs < 0) {
      problem("tensor '", tensor.name, "': got ", tensor.bytes, " bytes and ", tensor.portNs,
              " ns at a port");
    }
  }
}

void CostGraphChecker::checkConstraints() {
  for (const std::vector<int>& group : graph_.colocation) {
    if (!std::all_of(group.begin(), group.end(), [&](int n) { return isNode(n); })) {
      problem("a colocation group names a node that does not exist");
    }
  }
  for (const NodePin& pin : graph_.pins) {
    if (!isNode(pin.node) || pin.device < 0 || pin.device >= deviceCount_) {
      problem("a pin of ", pin.source, " names a node or a device that does not exist");
    }
  }
}

void CostGraphChecker::link() {
  for (CostNode& node : graph_.nodes) {
    node.inputs.clear();
    node.outputs.clear();
    node.sharedWeights.clear();
    node.shared = node.collective = node.member = -1;
  }
  for (int t = 0; t < graph_.tensorCount(); ++t) {
    CostTensor& tensor = graph_.tensors[static_cast<size_t>(t)];
    std::sort(tensor.consumers.begin(), tensor.consumers.end());
    tensor.consumers.erase(std::unique(tensor.consumers.begin(), tensor.consumers.end()),
                           tensor.consumers.end());
    if (tensor.producer >= 0) {
      graph_.nodes[static_cast<size_t>(tensor.producer)].outputs.push_back(t);
    }
    for (int consumer : tensor.consumers) {
      graph_.nodes[static_cast<size_t>(consumer)].inputs.push_back(t);
    }
  }
}

void CostGraphChecker::share() {
  for (size_t s = 0; s < graph_.shared.size(); ++s) {
    const std::vector<int>& nodes = graph_.shared[s].nodes;
    if (nodes.empty() ||
        !std::all_of(nodes.begin(), nodes.end(), [&](int n) { return isNode(n); })) {
      problem("shared work has no nodes, or names one that does not exist");
      continue;
    }
    for (int n : nodes) {
      CostNode& node = graph_.nodes[static_cast<size_t>(n)];
      if (node.shared >= 0) {
        problem("node '", node.name, "' shares work twice");
      }
      node.shared = static_cast<int>(s);
      checkAlike(node, graph_.node(nodes.front()));
    }
  }
}

void CostGraphChecker::shareWeights() {
  for (size_t w = 0; w < graph_.sharedWeights.size(); ++w) {
    const SharedWeights& weights = graph_.sharedWeights[w];
    if (weights.bytes < 0 ||
        !std::all_of(
            weights.nodes.begin(), weights.nodes.end(), [&](int n) { return isNode(n); })) {
      problem("shared weights have a negative size, or name a node that does not exist");
      continue;
    }
    for (int n : weights.nodes) {
      std::vector<int>& of = graph_.nodes[static_cast<size_t>(n)].sharedWeights;
      if (!of.empty() && of.back() == static_cast<int>(w)) {
        problem("node '", graph_.node(n).name, "' is named twice by shared weights");
      } else {
        of.push_back(static_cast<int>(w));
      }
    }
  }
  for (const CostNode& node : graph_.nodes) {
    int64_t bytes = 0;
    for (int w : node.sharedWeights) {
      bytes += graph_.sharedWeights[static_cast<size_t>(w)].bytes;
    }
    if (bytes > node.weightBytes) {
      problem("node '", node.name, "' shares ", bytes, " bytes of weights, and has ",
              node.weightBytes);
    }
  }
}

void CostGraphChecker::setCollectives() {
  for (size_t m = 0; m < graph_.collectives.size(); ++m) {
    const std::vector<CollectiveMember>& members = graph_.collectives[m].members;
    for (size_t i = 0; i < members.size(); ++i) {
      for (int n : members[i].nodes) {
        graph_.nodes[static_cast<size_t>(n)].collective = static_cast<int>(m);
        graph_.nodes[static_cast<size_t>(n)].member = static_cast<int>(i);
      }
    }
  }
}

void CostGraphChecker::checkAlike(const CostNode& node, const CostNode& other) {
  bool alike = node.outputs.size() == other.outputs.size();
  for (size_t i = 0; alike && i < node.outputs.size(); ++i) {
    alike = graph_.tensor(node.outputs[i]).bytes == graph_.tensor(other.outputs[i]).bytes;
  }
  for (int d = 0; alike && d < deviceCount_; ++d) {
    auto at = static_cast<size_t>(d);
    alike = !node.supports(d) || !other.supports(d) || node.timeNs[at] == other.timeNs[at];
  }
  if (!alike) {
    problem("nodes '", other.name, "' and '", node.name,
            "' share work, but differ in their times or in what they make");
  }
}

void CostGraphChecker::order() {
  ReadyNodes nodes(graph_);
  std::priority_queue<int, std::vector<int>, std::greater<>> ready;
  auto push = [&](int n) { ready.push(n); };
  nodes.forFirst(push);
  graph_.topologicalOrder.clear();
  while (!ready.empty()) {
    int n = ready.top();
    ready.pop();
    graph_.topologicalOrder.push_back(n);
    nodes.done(n, push);
  }
  if (graph_.topologicalOrder.size() != graph_.nodes.size()) {
    reportCycle(nodes);
  }
}

/// Walks back along unfinished producers until a node repeats.
void CostGraphChecker::reportCycle(const ReadyNodes& nodes) {
  int start = 0;
  while (nodes.missing(start) <= 0) {
    ++start;
  }
  std::vector<int> path = {start};
  auto seen = path.end();
  while (true) {
    for (int t : graph_.node(path.back()).inputs) {
      int producer = graph_.tensor(t).producer;
      if (producer >= 0 && nodes.missing(producer) > 0) {
        path.push_back(producer);
        break;
      }
    }
    seen = std::find(path.begin(), path.end() - 1, path.back());
    if (seen != path.end() - 1) {
      break;
    }
  }
  std::vector<int> cycle(seen, path.end());
  std::reverse(cycle.begin(), cycle.end());
  size_t more = cycle.size() > kMostCycleNodes ? cycle.size() - kMostCycleNodes : 0;
  cycle.resize(cycle.size() - more);
  problem("the nodes form a cycle: ",
          absl::StrJoin(cycle, " -> ",
                        [&](std::string* out, int n) {
                          absl::StrAppend(out, "'", graph_.node(n).name, "'");
                        }),
          more > 0 ? absl::StrCat(" and ", more, " more") : "");
}

std::vector<std::string> nodeNames(const CostGraph& graph) {
  std::vector<std::string> names;
  names.reserve(graph.nodes.size());
  for (const CostNode& node : graph.nodes) {
    names.push_back(node.name);
  }
  return names;
}

}  // namespace

std::string CostNode::whyUnsupported(int device) const {
  for (const auto& [where, reason] : unsupported) {
    if (where == device) {
      return reason;
    }
  }
  return "not supported";
}

int CostGraph::addNode(CostNode node) {
  nodes.push_back(std::move(node));
  return nodeCount() - 1;
}

int CostGraph::addTensor(CostTensor tensor) {
  tensors.push_back(std::move(tensor));
  return tensorCount() - 1;
}

absl::Status CostGraph::finish(int deviceCount) {
  return CostGraphChecker(*this, deviceCount).run();
}

std::vector<int> CostGraph::nodesOf(const PinRule& rule) const {
  auto matches = [&](const std::string& label) { return runtime::matchesLabel(rule.nodes, label); };
  // Its whole label is also that of others, "label#2", which have names of their own.
  auto matchesPart = [&](const std::string& label) {
    return label.find('+') != label.npos && !runtime::matchesGlob(rule.nodes, label) &&
           matches(label);
  };
  std::vector<int> result;
  for (int n = 0; n < nodeCount(); ++n) {
    const std::vector<std::string>& members = node(n).members;
    if (runtime::matchesGlob(rule.nodes, node(n).name) || matchesPart(node(n).label) ||
        std::any_of(members.begin(), members.end(), matches)) {
      result.push_back(n);
    }
  }
  return result;
}

namespace {

/// Applies rules on names of nodes, and keeps what is wrong with them.
class Rules {
 public:
  Rules(CostGraph& graph, const Cluster& cluster) : graph_(graph), cluster_(cluster) {}

  void pin(const PinRule& rule) {
    std::optional<int> device = cluster_.findDevice(rule.device);
    if (!device.has_value()) {
      noDevice("pin", rule);
    }
    for (int n : matched("pin", rule)) {
      // A rule on a part of what several nodes became gives way to one on the whole of it.
      if (isForWhole(rule, n) || !isAnyForWhole(n)) {
        graph_.pins.push_back({n, device.value_or(0), rule.source});
        pinned_.insert(n);
      }
    }
  }

  void forbid(const PinRule& rule) {
    std::vector<int> nodes = matched("forbid", rule);
    bool found = false;
    for (size_t d = 0; d < cluster_.devices.size(); ++d) {
      if (matches(rule, cluster_.devices[d])) {
        found = true;
        for (int n : nodes) {
          forbidOn(static_cast<int>(d), n, rule);
        }
      }
    }
    if (!found) {
      noDevice("forbid", rule);
    }
  }

  absl::Status finish() {
    std::erase_if(graph_.pins,
                  [&](const NodePin& pin) { return pin.fromModel && pinned_.contains(pin.node); });
    if (problems_.empty()) {
      return absl::OkStatus();
    }
    std::string text = absl::StrJoin(problems_, "\n");
    return ofOption_ ? absl::NotFoundError(text) : absl::InvalidArgumentError(text);
  }

 private:
  void problem(const PinRule& rule, std::string text) {
    problems_.push_back(std::move(text));
    ofOption_ = ofOption_ || absl::StartsWith(rule.source, "--");
  }
  /// A rule for a device also holds for its parts.
  bool matches(const PinRule& rule, const Device& device) const {
    return runtime::matchesGlob(rule.device, device.name) ||
           runtime::matchesGlob(cluster_.fullName(rule.device), device.name) ||
           (device.whole >= 0 &&
            matches(rule, cluster_.devices[static_cast<size_t>(device.whole)]));
  }
  bool isForWhole(const PinRule& rule, int id) const {
    const CostNode& node = graph_.node(id);
    auto matches = [&](const std::string& name) { return runtime::matchesGlob(rule.nodes, name); };
    return matches(node.name) || std::any_of(node.members.begin(), node.members.end(), matches);
  }
  bool isAnyForWhole(int id) const {
    return std::any_of(cluster_.pins.begin(), cluster_.pins.end(), [&](const PinRule& rule) {
      return !rule.annotation && isForWhole(rule, id);
    });
  }
  std::vector<int> matched(absl::string_view what, const PinRule& rule) {
    std::vector<int> nodes = graph_.nodesOf(rule);
    if (nodes.empty() && !rule.known) {
      problem(rule, absl::StrCat(rule.source, ": ", what, " '", rule.nodes, "' matches no node",
                                 runtime::didYouMean(rule.nodes, nodeNames(graph_))));
    }
    return nodes;
  }
  void noDevice(absl::string_view what, const PinRule& rule) {
    problem(rule,
            absl::StrCat(rule.source, ": ", what, " '", rule.nodes, "': no device '", rule.device,
                         "'", runtime::didYouMean(rule.device, cluster_.deviceNames())));
  }
  void forbidOn(int device, int id, const PinRule& rule) {
    CostNode& node = graph_.nodes[static_cast<size_t>(id)];
    int64_t& time = node.timeNs[static_cast<size_t>(device)];
    if (node.supports(device)) {
      forbidden_[{id, device}] = time;
      node.unsupported.emplace_back(device, absl::StrCat("forbidden by ", rule.source));
      time = kUnsupported;
    }
    if (auto known = forbidden_.find({id, device}); known != forbidden_.end()) {
      graph_.forbids.push_back({id, device, known->second, rule.source});
    }
  }

  CostGraph& graph_;
  const Cluster& cluster_;
  std::set<int> pinned_;
  std::map<std::pair<int, int>, int64_t> forbidden_;  // node, device: the time there
  std::vector<std::string> problems_;
  bool ofOption_ = false;  // a problem is one of a rule on the command line, not of a file
};

}  // namespace

absl::Status CostGraph::applyPinRules(const Cluster& cluster) {
  Rules rules(*this, cluster);
  for (const PinRule& rule : cluster.pins) {
    if (!rule.annotation) {
      rules.pin(rule);
    }
  }
  for (const PinRule& rule : cluster.forbids) {
    rules.forbid(rule);
  }
  return rules.finish();
}

void CostGraph::dropForbids(absl::string_view source) {
  std::set<std::pair<int, int>> kept;  // node, device
  for (const NodeForbid& forbid : forbids) {
    if (forbid.source != source) {
      kept.emplace(forbid.node, forbid.device);
    }
  }
  for (const NodeForbid& forbid : forbids) {
    if (!kept.contains({forbid.node, forbid.device})) {
      CostNode& node = nodes[static_cast<size_t>(forbid.node)];
      node.timeNs[static_cast<size_t>(forbid.device)] = forbid.timeNs;
      std::erase_if(node.unsupported,
                    [&](const auto& reason) { return reason.first == forbid.device; });
    }
  }
  std::erase_if(forbids, [&](const NodeForbid& forbid) { return forbid.source == source; });
}

bool CostGraph::supportsWithoutForbids(int id, int device) const {
  return node(id).supports(device) ||
         std::any_of(forbids.begin(), forbids.end(), [&](const NodeForbid& forbid) {
           return forbid.node == id && forbid.device == device;
         });
}

}  // namespace graphrun::placement
