#include "placement/explain/node_choices.h"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "placement/problem/contiguity.h"
#include "placement/problem/placement_result.h"
#include "placement/search/latency_searches.h"
#include "placement/search/schedule.h"
#include "placement/simulator/critical_path.h"
#include "runtime/base/names.h"

namespace graphrun::placement {
namespace {

/// Nodes simulated whole that cost as much as one move in a schedule that follows changes of this
/// many nodes.
constexpr int64_t kNodesByMove = 20;

class Chooser {
 public:
  Chooser(const PlacementProblem& problem, const PlacementResult& result)
      : problem_(problem), graph_(problem.graph()), result_(result) {
    if (isForSearch(problem)) {
      room_ = leastRoom();
      auto schedule = Schedule::create(problem.simulator, result.placement);
      if (schedule.ok()) {
        schedule_ = *std::move(schedule);
      }
    }
  }

  NodeExplanation explain(int node);
  /// Nodes simulated so far, about.
  int64_t work() const { return work_; }

 private:
  const std::string& deviceName(int device) const {
    return problem_.cluster().devices[static_cast<size_t>(device)].name;
  }
  int deviceOf(int node) const { return result_.placement.device[static_cast<size_t>(node)]; }

  std::string constraintOf(int node) const;
  std::string pinOf(int node) const;
  NodeChoice choice(int node, int device);
  std::string whyNotSupported(const Unit& unit, int node, int device) const;
  int64_t leastRoom() const;
  int64_t mostAdded(const Unit& unit) const;
  void evaluate(const Unit& unit, int device, NodeChoice& choice);
  void simulate(const Unit& unit, int device, NodeChoice& choice);

  const PlacementProblem& problem_;
  const CostGraph& graph_;
  const PlacementResult& result_;
  std::optional<Schedule> schedule_;
  int64_t room_ = 0;
  int64_t work_ = 0;
};

std::string Chooser::pinOf(int node) const {
  for (const NodePin& pin : graph_.pins) {
    if (&problem_.constraints.unit(pin.node) == &problem_.constraints.unit(node)) {
      return absl::StrCat("'", graph_.node(pin.node).name, "' is pinned by ", pin.source);
    }
  }
  return "";
}

std::string Chooser::constraintOf(int node) const {
  constexpr size_t kShown = 3;
  const Unit& unit = problem_.constraints.unit(node);
  std::vector<std::string> parts;
  if (unit.pinned) {
    parts.push_back(pinOf(node));
  }
  std::vector<std::string> others;
  for (int other : unit.nodes) {
    if (other != node && others.size() < kShown) {
      others.push_back(absl::StrCat("'", graph_.node(other).name, "'"));
    }
  }
  if (!others.empty()) {
    size_t more = unit.nodes.size() - 1 - others.size();
    parts.push_back(absl::StrCat("must be with ", absl::StrJoin(others, ", "),
                                 more > 0 ? absl::StrCat(" and ", more, " more") : ""));
  }
  return absl::StrJoin(parts, "; ");
}

/// Returns why `device` cannot run the first such node of the unit; "" if it can run all of them.
std::string Chooser::whyNotSupported(const Unit& unit, int node, int device) const {
  for (int member : unit.nodes) {
    const CostNode& cost = graph_.node(member);
    if (!cost.supports(device)) {
      return absl::StrCat(member == node ? "" : absl::StrCat("'", cost.name, "': "),
                          cost.whyUnsupported(device));
    }
  }
  return "";
}

void Chooser::simulate(const Unit& unit, int device, NodeChoice& choice) {
  Placement moved = result_.placement;
  for (int member : unit.nodes) {
    moved.device[static_cast<size_t>(member)] = device;
  }
  work_ += graph_.nodeCount();
  absl::StatusOr<Simulation> simulation = problem_.simulator.run(moved);
  if (!simulation.ok()) {
    choice.why = std::string(simulation.status().message());
    return;
  }
  choice.objectiveNs = problem_.objectiveNs(*simulation);
  absl::Status fits = checkFeasible(problem_, moved, *simulation);
  if (!fits.ok()) {
    choice.why = absl::StrCat(absl::IsResourceExhausted(fits) ? "memory: " : "", fits.message());
  }
}

/// Bytes that any device has left at least, were all that it makes in a step live at once.
int64_t Chooser::leastRoom() const {
  std::vector<int64_t> room = problem_.limits;
  std::vector<int64_t> workspace(room.size(), 0);
  for (int n = 0; n < graph_.nodeCount(); ++n) {
    auto d = static_cast<size_t>(deviceOf(n));
    workspace[d] = std::max(workspace[d], graph_.node(n).workspaceBytes);
    for (int t : graph_.node(n).outputs) {
      room[d] -= graph_.tensor(t).bytes;
    }
  }
  for (size_t d = 0; d < room.size(); ++d) {
    const DeviceUse& use = result_.simulation.devices[d];
    room[d] -= use.weightBytes + use.receiveBytes + workspace[d];
  }
  return *std::min_element(room.begin(), room.end());
}

/// The most bytes that a device can need more when the unit goes somewhere else.
int64_t Chooser::mostAdded(const Unit& unit) const {
  int64_t bytes = unit.weightBytes;
  auto count = [&](int t) {
    const CostTensor& tensor = graph_.tensor(t);
    bytes += tensor.bytes + std::max(problem_.simulator.receiveBytes(tensor, kClient),
                                     problem_.simulator.receiveBytes(tensor, 0));
  };
  for (int node : unit.nodes) {
    bytes += graph_.node(node).workspaceBytes;
    std::for_each(graph_.node(node).inputs.begin(), graph_.node(node).inputs.end(), count);
    std::for_each(graph_.node(node).outputs.begin(), graph_.node(node).outputs.end(), count);
  }
  return bytes;
}

/// By the schedule where memory and contiguity cannot be in the way; those are asked of a whole
/// simulation.
void Chooser::evaluate(const Unit& unit, int device, NodeChoice& choice) {
  if (!schedule_.has_value() || mostAdded(unit) > room_) {
    simulate(unit, device, choice);
    return;
  }
  for (int member : unit.nodes) {
    schedule_->setDevice(member, device);
  }
  choice.objectiveNs = schedule_->stepNs();
  schedule_->undo();
  work_ += 1 + graph_.nodeCount() / kNodesByMove;
}

NodeChoice Chooser::choice(int node, int device) {
  const CostNode& cost = graph_.node(node);
  const Unit& unit = problem_.constraints.unit(node);
  NodeChoice choice;
  choice.device = deviceName(device);
  choice.here = deviceOf(node) == device;
  if (cost.supports(device)) {
    choice.timeNs = cost.timeNs[static_cast<size_t>(device)];
  }
  if (choice.here) {
    choice.objectiveNs = problem_.objectiveNs(result_.simulation);
    return choice;
  }
  choice.why = whyNotSupported(unit, node, device);
  if (!choice.why.empty()) {
    return choice;
  }
  evaluate(unit, device, choice);
  if (!unit.allows(device)) {
    choice.why = "pinned elsewhere";
  }
  return choice;
}

NodeExplanation Chooser::explain(int node) {
  auto n = static_cast<size_t>(node);
  OpTime time = result_.simulation.ops[n];
  NodeExplanation explanation;
  explanation.node = graph_.node(node).name;
  explanation.op = graph_.node(node).op;
  explanation.kind = kindOf(graph_.node(node));
  explanation.device = deviceName(deviceOf(node));
  explanation.rank = result_.placement.rank[n];
  explanation.startNs = time.start;
  explanation.finishNs = time.finish;
  explanation.objectiveNs = problem_.objectiveNs(result_.simulation);
  explanation.constraint = constraintOf(node);
  explanation.choices.reserve(static_cast<size_t>(problem_.deviceCount()));
  for (int device = 0; device < problem_.deviceCount(); ++device) {
    explanation.choices.push_back(choice(node, device));
  }
  auto order = [](const NodeChoice& choice) {
    return std::tuple(!choice.here, !choice.why.empty(), !choice.objectiveNs.has_value(),
                      choice.objectiveNs.value_or(0));
  };
  std::stable_sort(explanation.choices.begin(), explanation.choices.end(),
                   [&](const NodeChoice& a, const NodeChoice& b) { return order(a) < order(b); });
  return explanation;
}

void sortByRank(std::vector<NodeExplanation>& explanations) {
  std::sort(explanations.begin(), explanations.end(),
            [](const NodeExplanation& a, const NodeExplanation& b) { return a.rank < b.rank; });
}

std::vector<int> nodesNamed(const CostGraph& graph, absl::string_view name) {
  for (int n = 0; n < graph.nodeCount(); ++n) {
    if (graph.node(n).name == name) {
      return {n};
    }
  }
  PinRule pattern;
  pattern.nodes = std::string(name);
  return graph.nodesOf(pattern);
}

/// Each node once: those of the critical path in its order, then the others, the longest first.
std::vector<int> byImportance(const PlacementProblem& problem, const PlacementResult& result) {
  auto count = static_cast<size_t>(problem.graph().nodeCount());
  std::vector<int> path(count, static_cast<int>(count));  // by node: position on the path
  int position = 0;
  for (const PathSegment& segment :
       criticalPath(problem.simulator, result.placement, result.simulation).segments) {
    if (segment.kind == PathKind::kCompute) {
      path[static_cast<size_t>(segment.id)] = position++;
    }
  }
  auto order = [&](int node) {
    auto n = static_cast<size_t>(node);
    OpTime time = result.simulation.ops[n];
    return std::tuple(path[n], time.start - time.finish, node);
  };
  std::vector<int> nodes(count);
  std::iota(nodes.begin(), nodes.end(), 0);
  std::sort(nodes.begin(), nodes.end(), [&](int a, int b) { return order(a) < order(b); });
  return nodes;
}

}  // namespace

absl::StatusOr<std::vector<NodeExplanation>> explainNodes(const PlacementProblem& problem,
                                                          const PlacementResult& result,
                                                          absl::string_view name) {
  const CostGraph& graph = problem.graph();
  std::vector<int> nodes = nodesNamed(graph, name);
  if (nodes.empty()) {
    std::vector<std::string> names;
    names.reserve(graph.nodes.size());
    for (const CostNode& node : graph.nodes) {
      names.push_back(node.name);
    }
    return absl::NotFoundError(
        absl::StrCat("the graph has no node '", name, "'", runtime::didYouMean(name, names)));
  }
  Chooser chooser(problem, result);
  std::vector<NodeExplanation> explanations;
  explanations.reserve(nodes.size());
  for (int node : nodes) {
    explanations.push_back(chooser.explain(node));
  }
  sortByRank(explanations);
  return explanations;
}

std::vector<NodeExplanation> explainMainNodes(const PlacementProblem& problem,
                                              const PlacementResult& result, int64_t work) {
  Chooser chooser(problem, result);
  std::vector<int> nodes = byImportance(problem, result);
  std::vector<NodeExplanation> explanations;
  explanations.reserve(nodes.size());
  for (size_t i = 0; i < nodes.size() && chooser.work() < work; ++i) {
    explanations.push_back(chooser.explain(nodes[i]));
  }
  sortByRank(explanations);
  return explanations;
}

}  // namespace graphrun::placement
