#include "placement/explain/explain.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "placement/bounds/lower_bounds.h"
#include "placement/problem/placement_result.h"

namespace graphrun::placement {
namespace {

class Explainer {
 public:
  Explainer(const PlacementProblem& problem, const PlacementResult& result)
      : problem_(problem),
        graph_(problem.graph()),
        placement_(result.placement),
        simulation_(result.simulation) {
    out_.lowerBoundNs = std::max(lowerBounds(problem_).ns(), result.boundNs);
  }

  Explanation run() {
    out_.strategy = placement_.strategy;
    out_.goal = problem_.objective;
    out_.objectiveNs = problem_.objectiveNs(simulation_);
    out_.stepNs = simulation_.stepNs;
    out_.overheadNs = simulation_.overheadNs;
    out_.crowdingNs = simulation_.crowdingNs;
    out_.periodNs = simulation_.periodNs;
    out_.clientNs = simulation_.clientNs;
    out_.clientPeriodNs = simulation_.clientPeriodNs;
    describeNodes();
    describeTensors();
    describeDevices();
    describeLinks();
    describeEdges();
    describePath();
    return std::move(out_);
  }

 private:
  const std::string& deviceName(int device) const {
    return problem_.cluster().devices[static_cast<size_t>(device)].name;
  }
  int deviceOf(int node) const { return placement_.device[static_cast<size_t>(node)]; }
  int rankOf(int node) const { return placement_.rank[static_cast<size_t>(node)]; }
  const std::string& linkName(int link) const { return problem_.simulator.links().link(link).name; }

  void describeNodes() {
    for (int n : placement_.order()) {
      OpTime time = simulation_.ops[static_cast<size_t>(n)];
      const CostNode& node = graph_.node(n);
      out_.nodes.push_back({node.name, node.members, node.op, kindOf(node), deviceName(deviceOf(n)),
                            rankOf(n), time.start, time.finish, sourceOf(n)});
      if (!node.label.empty()) {
        out_.nodes.back().members.push_back(node.label);
      }
    }
  }

  /// Returns where the node's time comes from; counts it.
  std::string sourceOf(int n) {
    const CostNode& node = graph_.node(n);
    auto device = static_cast<size_t>(deviceOf(n));
    if (node.sources.empty()) {
      return "given";
    }
    CostSource source = node.sources[device];
    const CollectiveGroups& collectives = problem_.simulator.collectives();
    const PlacedBy placed{placement_};
    if (node.collective >= 0 && collectives.isHeld(node.collective, placed)) {
      bool isKnown =
          collectives.isMeasured(node.collective, collectives.devicesOf(node.collective, placed));
      source = isKnown ? CostSource::kMeasured : CostSource::kEstimated;
    }
    int64_t& sum = source == CostSource::kMeasured       ? out_.measuredNs
                   : source == CostSource::kInterpolated ? out_.interpolatedNs
                                                         : out_.estimatedNs;
    const OpTime& time = simulation_.ops[static_cast<size_t>(n)];
    sum += time.finish - time.start;
    return std::string(costSourceName(source));
  }

  void describeTensors() {
    out_.tensors.reserve(graph_.tensors.size());
    for (const CostTensor& tensor : graph_.tensors) {
      TensorReport report;
      report.tensor = tensor.name;
      report.type = tensor.type;
      report.bytes = tensor.bytes;
      report.producer = tensor.producer < 0 ? -1 : rankOf(tensor.producer);
      report.isOutput = tensor.isOutput;
      report.consumers.reserve(tensor.consumers.size());
      for (int consumer : tensor.consumers) {
        report.consumers.push_back(rankOf(consumer));
      }
      out_.tensors.push_back(std::move(report));
    }
  }

  void describeLinks() {
    for (size_t l = 0; l < simulation_.links.size(); ++l) {
      const LinkInfo& link = problem_.simulator.links().link(static_cast<int>(l));
      const LinkUse& use = simulation_.links[l];
      out_.links.push_back({link.name, std::string(linkKindName(link.model.kind)),
                            link.model.queues, link.model.measured, use.busyNs, use.bytes,
                            use.transfers});
    }
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
      report.memory = use.memory;
      report.weight = problem_.cluster().devices[d].weight;
      report.takesTurnsWith = sharersOf(static_cast<int>(d));
      out_.devices.push_back(std::move(report));
    }
    for (int n = 0; n < graph_.nodeCount(); ++n) {
      DeviceReport& report = out_.devices[static_cast<size_t>(deviceOf(n))];
      report.ops += 1;
      report.flops += graph_.node(n).flops;
      report.bytesTouched += graph_.node(n).bytesTouched;
    }
  }

  /// The other devices that have a core of this one.
  std::vector<std::string> sharersOf(int device) const {
    const CoreTable& cores = problem_.simulator.cores();
    std::set<int> sharers;
    for (int core : cores.of(device)) {
      sharers.insert(cores.devices(core).begin(), cores.devices(core).end());
    }
    sharers.erase(device);
    std::vector<std::string> names;
    names.reserve(sharers.size());
    for (int sharer : sharers) {
      names.push_back(deviceName(sharer));
    }
    return names;
  }

  void describeEdges() {
    for (const Transfer& transfer : simulation_.transfers) {
      const LinkInfo& link = problem_.simulator.links().link(transfer.link);
      CutEdge edge;
      edge.tensor = graph_.tensor(transfer.tensor).name;
      edge.tensorIndex = transfer.tensor;
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

  static bool isOfNode(const PathSegment& segment) {
    return segment.kind != PathKind::kLink && segment.kind != PathKind::kLinkWait;
  }

  PathReport describeSegment(const PathSegment& segment) const {
    PathReport report;
    report.kind = std::string(pathKindName(segment.kind));
    report.count = 1;
    report.ns = segment.finish - segment.start;
    if (isOfNode(segment)) {
      report.where = deviceName(deviceOf(segment.id));
      if (segment.kind == PathKind::kCoreWait) {
        absl::StrAppend(&report.where, " behind ", deviceName(deviceOf(segment.behind)));
      }
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
    CriticalPath path = criticalPath(problem_.simulator, placement_, simulation_);
    out_.computeNs = path.computeNs;
    out_.linkNs = path.linkNs;
    out_.waitNs = path.waitNs;
    for (const PathSegment& segment : path.segments) {
      out_.steps.push_back({segment.kind, isOfNode(segment) ? rankOf(segment.id) : segment.id,
                            segment.start, segment.finish});
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
  report.stepNs = result.simulation.latencyNs();
  report.periodNs = result.simulation.periodNs;
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

}  // namespace

Explanation explain(const PlacementProblem& problem, const PlacementResult& result,
                    const std::vector<Candidate>& candidates) {
  Explanation explanation = Explainer(problem, result).run();
  for (const Candidate& candidate : candidates) {
    explanation.strategies.push_back(describeCandidate(candidate));
  }
  return explanation;
}

}  // namespace graphrun::placement
