#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "placement/list_scheduling/heuristics.h"
#include "placement/list_scheduling/orders.h"
#include "placement/problem/contiguity.h"
#include "placement/problem/placement_result.h"
#include "placement/problem/problem.h"
#include "runtime/base/status.h"

namespace graphrun::placement {
namespace {

/// Every unit on `device`, pinned ones where they are pinned.
absl::StatusOr<Placement> allOn(const PlacementProblem& problem, int device) {
  Placement placement;
  placement.strategy = "single";
  for (int n = 0; n < problem.graph().nodeCount(); ++n) {
    const Unit& unit = problem.constraints.unit(n);
    if (!unit.pinned && !unit.allows(device)) {
      const std::string& name = problem.cluster().devices[static_cast<size_t>(device)].name;
      int blocker = n;
      for (int member : unit.nodes) {
        blocker = problem.graph().node(member).supports(device) ? blocker : member;
      }
      return absl::FailedPreconditionError(
          absl::StrCat(name, " cannot run '", problem.graph().node(blocker).name,
                       "': ", problem.graph().node(blocker).whyUnsupported(device)));
    }
    placement.device.push_back(unit.pinned ? unit.allowed[0] : device);
  }
  return placement;
}

/// In program order, else in the lean one. What fits in neither is refused with the order that
/// needs less there.
absl::StatusOr<PlacementResult> placeAllOn(const PlacementProblem& problem, int device) {
  GR_ASSIGN_OR_RETURN(Placement placement, allOn(problem, device));
  placement.setOrder(problem.graph().topologicalOrder);
  GR_ASSIGN_OR_RETURN(Simulation simulation, problem.simulator.run(placement));
  absl::Status fits = checkFeasible(problem, placement, simulation);
  if (fits.ok()) {
    return PlacementResult{std::move(placement), std::move(simulation)};
  }
  placement.setOrder(leanOrder(problem.graph()));
  GR_ASSIGN_OR_RETURN(Simulation lean, problem.simulator.run(placement));
  absl::Status leanFits = checkFeasible(problem, placement, lean);
  if (leanFits.ok()) {
    return PlacementResult{std::move(placement), std::move(lean)};
  }
  auto peakOf = [&](const Simulation& s) {
    return s.devices[static_cast<size_t>(device)].peakBytes;
  };
  return peakOf(lean) < peakOf(simulation) ? leanFits : fits;
}

/// Returns whether all that there is comes from the client and may go anywhere: then devices differ
/// only by what `alike` compares.
bool isFree(const PlacementProblem& problem) {
  const std::vector<Unit>& units = problem.constraints.units;
  const std::vector<CostTensor>& tensors = problem.graph().tensors;
  return std::none_of(units.begin(), units.end(), [](const Unit& unit) { return unit.pinned; }) &&
         std::all_of(tensors.begin(), tensors.end(), [](const CostTensor& tensor) {
           return tensor.inputHome == kClient && tensor.outputHome == kClient;
         });
}

bool alike(const PlacementProblem& problem, int a, int b) {
  const LinkTable& links = problem.simulator.links();
  auto traits = [&](int d) {
    const Device& device = problem.cluster().devices[static_cast<size_t>(d)];
    const LinkModel& in = links.link(links.id(kClient, d)).model;
    const LinkModel& out = links.link(links.id(d, kClient)).model;
    return std::tuple(problem.limits[static_cast<size_t>(d)], device.hasPort, device.isOffload,
                      device.lanes, in.latencyNs, in.bytesPerSecond, in.large, in.queues,
                      out.latencyNs, out.bytesPerSecond, out.large, out.queues);
  };
  const std::vector<CostNode>& nodes = problem.graph().nodes;
  return traits(a) == traits(b) && std::all_of(nodes.begin(), nodes.end(), [&](const CostNode& n) {
           return n.timeNs[static_cast<size_t>(a)] == n.timeNs[static_cast<size_t>(b)];
         });
}

/// By device: no less than this is the objective with all nodes there that are not pinned.
std::vector<int64_t> leastOn(const PlacementProblem& problem) {
  std::vector<int64_t> least(problem.limits.size(), 0);
  for (int n = 0; n < problem.graph().nodeCount(); ++n) {
    const std::vector<int64_t>& times = problem.graph().node(n).timeNs;
    const CostNode& node = problem.graph().node(n);
    bool isOwn = node.isOwn() && !problem.constraints.unit(n).pinned;
    for (size_t d = 0; d < least.size() && isOwn; ++d) {
      least[d] += std::max<int64_t>(times[d], 0);
    }
  }
  for (size_t d = 0; d < least.size(); ++d) {
    int lanes = problem.cluster().devices[d].lanes;
    least[d] = lanes == 0 ? 0 : least[d] / lanes;
  }
  return least;
}

/// Tries the devices that could be the best one.
class SingleDevice {
 public:
  explicit SingleDevice(const PlacementProblem& problem)
      : problem_(problem), isFree_(isFree(problem)), least_(leastOn(problem)) {}

  absl::StatusOr<PlacementResult> run() {
    std::vector<int> devices(least_.size());
    std::iota(devices.begin(), devices.end(), 0);
    std::stable_sort(devices.begin(), devices.end(),
                     [&](int a, int b) { return leastOf(a) < leastOf(b); });
    for (int device : devices) {
      bool hopeless =
          best_.has_value() && leastOf(device) >= problem_.objectiveNs(best_->simulation);
      if (!hopeless && !isKnown(device)) {
        tryOn(device);
      }
    }
    return best_.has_value() ? absl::StatusOr<PlacementResult>(*std::move(best_)) : failure();
  }

 private:
  int64_t leastOf(int device) const { return least_[static_cast<size_t>(device)]; }

  /// Returns whether a device that is alike was tried: of several the first will do.
  bool isKnown(int device) const {
    return isFree_ && std::any_of(done_.begin(), done_.end(),
                                  [&](int other) { return alike(problem_, device, other); });
  }

  void tryOn(int device) {
    absl::StatusOr<PlacementResult> result = placeAllOn(problem_, device);
    if (!result.ok()) {
      memory_ = memory_ || absl::IsResourceExhausted(result.status());
      reasons_.emplace(device, result.status().message());
      return;
    }
    done_.push_back(device);
    if (!best_.has_value() ||
        problem_.objectiveNs(result->simulation) < problem_.objectiveNs(best_->simulation)) {
      best_ = *std::move(result);
    }
  }

  absl::Status failure() const {
    std::string message =
        absl::StrCat("single: no device can run the whole graph: ",
                     absl::StrJoin(reasons_, "; ", [](std::string* out, const auto& entry) {
                       absl::StrAppend(out, entry.second);
                     }));
    return memory_ ? absl::ResourceExhaustedError(message) : absl::FailedPreconditionError(message);
  }

  const PlacementProblem& problem_;
  bool isFree_;
  std::vector<int64_t> least_;  // by device
  std::optional<PlacementResult> best_;
  std::vector<int> done_;               // devices that can
  std::map<int, std::string> reasons_;  // of those that cannot
  bool memory_ = false;                 // one of them
};

}  // namespace

absl::StatusOr<PlacementResult> placeSingle(const PlacementProblem& problem) {
  return SingleDevice(problem).run();
}

}  // namespace graphrun::placement
