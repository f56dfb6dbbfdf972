#include "placement/explain.h"

#include <algorithm>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "placement/memory_budget.h"
#include "placement/names.h"

namespace graphrun::placement {
namespace {

class Explainer {
 public:
  Explainer(const PlacementProblem& problem, const PlacementResult& result)
      : problem_(problem),
        graph_(problem.graph()),
        placement_(result.placement),
        simulation_(result.simulation) {}

  Explanation run() {
    out_.strategy = placement_.strategy;
    out_.stepNs = simulation_.stepNs;
    out_.lowerBoundNs = lowerBounds(problem_).ns();
    describeNodes();
    describeDevices();
    describeEdges();
    describePath();
    return std::move(out_);
  }

 private:
  const std::string& deviceName(int device) const {
    return problem_.cluster().devices[static_cast<size_t>(device)].name;
  }
  int deviceOf(int node) const { return placement_.device[static_cast<size_t>(node)]; }
  const std::string& linkName(int link) const { return problem_.simulator.links().link(link).name; }

  void describeNodes() {
    for (int n : placement_.order()) {
      OpTime time = simulation_.ops[static_cast<size_t>(n)];
      const CostNode& node = graph_.node(n);
      out_.nodes.push_back({node.name, node.members, node.op, deviceName(deviceOf(n)),
                            placement_.rank[static_cast<size_t>(n)], time.start, time.finish,
                            sourceOf(n)});
      if (!node.label.empty()) {
        out_.nodes.back().members.push_back(node.label);
      }
    }
  }

  /// Where the node's time comes from; counts it.
  std::string sourceOf(int n) {
    const CostNode& node = graph_.node(n);
    auto device = static_cast<size_t>(deviceOf(n));
    if (node.sources.empty()) {
      return "given";
    }
    CostSource source = node.sources[device];
    int64_t& sum = source == CostSource::kMeasured       ? out_.measuredNs
                   : source == CostSource::kInterpolated ? out_.interpolatedNs
                                                         : out_.estimatedNs;
    sum += node.timeNs[device];
    return std::string(costSourceName(source));
  }

  void describeDevices() {
    for (size_t d = 0; d < simulation_.devices.size(); ++d) {
      const DeviceUse& use = simulation_.devices[d];
      DeviceReport report;
      report.device = problem_.cluster().devices[d].name;
      report.busyNs = use.busyNs;
      report.weightBytes = use.weightBytes;
      report.receiveBytes = use.receiveBytes;
      report.peakBytes = use.peakBytes;
      report.limitBytes = problem_.limits[d] == kUnlimited ? 0 : problem_.limits[d];
      report.peakNode = use.peakNode < 0 ? "" : graph_.node(use.peakNode).name;
      out_.devices.push_back(std::move(report));
    }
    for (int n = 0; n < graph_.nodeCount(); ++n) {
      DeviceReport& report = out_.devices[static_cast<size_t>(deviceOf(n))];
      report.ops += 1;
      report.flops += graph_.node(n).flops;
      report.bytesTouched += graph_.node(n).bytesTouched;
    }
  }

  void describeEdges() {
    for (const Transfer& transfer : simulation_.transfers) {
      const LinkInfo& link = problem_.simulator.links().link(transfer.link);
      CutEdge edge;
      edge.tensor = graph_.tensor(transfer.tensor).name;
      edge.from = problem_.cluster().endpointName(transfer.from);
      edge.to = problem_.cluster().endpointName(transfer.to);
      edge.link = link.name;
      edge.linkKind = std::string(linkKindName(link.model.kind));
      edge.bytes = graph_.tensor(transfer.tensor).bytes;
      edge.startNs = transfer.start;
      edge.waitNs = transfer.start - transfer.ready;
      edge.transferNs = transfer.finish - transfer.start;
      out_.edges.push_back(std::move(edge));
    }
  }

  PathReport describeSegment(const PathSegment& segment) const {
    static constexpr const char* kKinds[] = {"compute", "link", "device wait", "link wait"};
    bool node = segment.kind == PathKind::kCompute || segment.kind == PathKind::kDeviceWait;
    PathReport report;
    report.kind = kKinds[static_cast<size_t>(segment.kind)];
    report.count = 1;
    report.ns = segment.finish - segment.start;
    if (node) {
      report.where = deviceName(deviceOf(segment.id));
      report.first = graph_.node(segment.id).name;
    } else {
      const Transfer& transfer = simulation_.transfers[static_cast<size_t>(segment.id)];
      report.where = linkName(transfer.link);
      report.first = graph_.tensor(transfer.tensor).name;
    }
    report.last = report.first;
    return report;
  }

  void describePath() {
    CriticalPath path = criticalPath(graph_, placement_, simulation_);
    out_.computeNs = path.computeNs;
    out_.linkNs = path.linkNs;
    out_.waitNs = path.waitNs;
    for (const PathSegment& segment : path.segments) {
      PathReport report = describeSegment(segment);
      if (!out_.path.empty() && out_.path.back().kind == report.kind &&
          out_.path.back().where == report.where) {
        out_.path.back().last = report.last;
        out_.path.back().count += 1;
        out_.path.back().ns += report.ns;
      } else {
        out_.path.push_back(std::move(report));
      }
    }
  }

  const PlacementProblem& problem_;
  const CostGraph& graph_;
  const Placement& placement_;
  const Simulation& simulation_;
  Explanation out_;
};

StrategyReport describeCandidate(const Candidate& candidate) {
  StrategyReport report;
  report.strategy = candidate.strategy;
  if (!candidate.result.ok()) {
    report.failure = std::string(candidate.result.status().message());
    return report;
  }
  const PlacementResult& result = *candidate.result;
  report.stepNs = result.simulation.stepNs;
  report.devicesUsed = static_cast<int64_t>(
      std::set<int>(result.placement.device.begin(), result.placement.device.end()).size());
  for (const DeviceUse& use : result.simulation.devices) {
    report.peakBytes = std::max(report.peakBytes, use.peakBytes);
  }
  for (const LinkUse& use : result.simulation.links) {
    report.transfers += use.transfers;
    report.transferBytes += use.bytes;
  }
  return report;
}

std::string constraintOf(const PlacementProblem& problem, int node) {
  const CostGraph& graph = problem.graph();
  const Unit& unit = problem.constraints.unit(node);
  std::vector<std::string> parts;
  for (const NodePin& pin : graph.pins) {
    if (problem.constraints.unitOf[static_cast<size_t>(pin.node)] ==
        problem.constraints.unitOf[static_cast<size_t>(node)]) {
      parts.push_back(absl::StrCat("'", graph.node(pin.node).name, "' is pinned by ", pin.source));
      break;
    }
  }
  std::vector<std::string> others;
  for (int other : unit.nodes) {
    if (other != node && others.size() < 3) {
      others.push_back(absl::StrCat("'", graph.node(other).name, "'"));
    }
  }
  if (!others.empty()) {
    size_t more = unit.nodes.size() - 1 - others.size();
    parts.push_back(absl::StrCat("must be with ", absl::StrJoin(others, ", "),
                                 more > 0 ? absl::StrCat(" and ", more, " more") : ""));
  }
  return absl::StrJoin(parts, "; ");
}

/// The first node of the unit that `device` cannot run, or -1.
int blockerOn(const PlacementProblem& problem, const Unit& unit, int device) {
  for (int member : unit.nodes) {
    if (!problem.graph().node(member).supports(device)) {
      return member;
    }
  }
  return -1;
}

NodeChoice describeChoice(const PlacementProblem& problem, const PlacementResult& result, int node,
                          int device) {
  const CostNode& cost = problem.graph().node(node);
  const Unit& unit = problem.constraints.unit(node);
  NodeChoice choice;
  choice.device = problem.cluster().devices[static_cast<size_t>(device)].name;
  choice.here = result.placement.device[static_cast<size_t>(node)] == device;
  if (cost.supports(device)) {
    choice.timeNs = cost.timeNs[static_cast<size_t>(device)];
  }
  int blocker = blockerOn(problem, unit, device);
  if (blocker >= 0) {
    std::string who =
        blocker == node ? "" : absl::StrCat("'", problem.graph().node(blocker).name, "': ");
    choice.why = absl::StrCat(who, problem.graph().node(blocker).whyUnsupported(device));
    return choice;
  }
  Placement moved = result.placement;
  for (int member : unit.nodes) {
    moved.device[static_cast<size_t>(member)] = device;
  }
  absl::StatusOr<Simulation> simulation = problem.simulator.run(moved);
  if (!simulation.ok()) {
    choice.why = std::string(simulation.status().message());
    return choice;
  }
  choice.stepNs = simulation->stepNs;
  absl::Status fits = checkLimits(problem, *simulation);
  if (!unit.allows(device)) {
    choice.why = "pinned elsewhere";
  } else if (!fits.ok()) {
    choice.why = absl::StrCat("memory: ", fits.message());
  }
  return choice;
}

}  // namespace

Explanation explain(const PlacementProblem& problem, const PlacementResult& result,
                    const std::vector<Candidate>& candidates) {
  Explanation explanation = Explainer(problem, result).run();
  for (const Candidate& candidate : candidates) {
    explanation.strategies.push_back(describeCandidate(candidate));
  }
  return explanation;
}

absl::StatusOr<NodeExplanation> explainNode(const PlacementProblem& problem,
                                            const PlacementResult& result, absl::string_view name) {
  const CostGraph& graph = problem.graph();
  std::vector<std::string> names;
  int node = -1;
  for (int n = 0; n < graph.nodeCount(); ++n) {
    names.push_back(graph.node(n).name);
    node = graph.node(n).name == name ? n : node;
  }
  if (node < 0) {
    return absl::NotFoundError(
        absl::StrCat("the graph has no node '", name, "'", didYouMean(name, names)));
  }
  auto n = static_cast<size_t>(node);
  OpTime time = result.simulation.ops[n];
  NodeExplanation explanation;
  explanation.node = graph.node(node).name;
  explanation.op = graph.node(node).op;
  explanation.device =
      problem.cluster().devices[static_cast<size_t>(result.placement.device[n])].name;
  explanation.rank = result.placement.rank[n];
  explanation.startNs = time.start;
  explanation.finishNs = time.finish;
  explanation.constraint = constraintOf(problem, node);
  for (int device = 0; device < problem.deviceCount(); ++device) {
    explanation.choices.push_back(describeChoice(problem, result, node, device));
  }
  return explanation;
}

}  // namespace graphrun::placement
