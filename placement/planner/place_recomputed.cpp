#include "placement/planner/place_recomputed.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ir/dialect.h"
#include "passes/collectives.h"
#include "passes/rematerialize.h"
#include "placement/list_scheduling/orders.h"
#include "placement/problem/validate.h"
#include "placement/recompute/recompute.h"
#include "runtime/base/status.h"
#include "runtime/base/units.h"

namespace graphrun::compiler {
namespace {

/// Executables may need more than was predicted (PlacementProblem::memoryMargin), and a compiler
/// that has to save memory takes slower kernels. So that much is left free, unless the repetitions
/// then take more than this part of the step; else so much of the limits is used, and all at last.
constexpr double kWorthMargin = 0.25;
constexpr double kUsedPart = 0.97;

using Operations = llvm::SmallVector<mlir::Operation*>;

/// Nodes of operations that clones can be made of. A collective's steps are none: they meet others.
std::vector<bool> repeatable(const placement::GraphOfOps& graph) {
  std::vector<bool> may;
  may.reserve(graph.ops.size());
  for (mlir::Operation* op : graph.ops) {
    may.push_back(passes::isRecomputable(op) && !llvm::isa<ir::StateOp>(op));
  }
  return may;
}

/// The placement as it is, and in the order that needs little memory where one device has all.
std::vector<placement::PlacementResult> startsFrom(const placement::PlacementProblem& problem,
                                                   const placement::PlacementResult& unlimited) {
  std::vector<placement::PlacementResult> starts = {unlimited};
  const std::vector<int>& devices = unlimited.placement.device;
  if (std::adjacent_find(devices.begin(), devices.end(), std::not_equal_to<>()) == devices.end()) {
    placement::PlacementResult lean = unlimited;
    lean.placement.setOrder(placement::leanOrder(problem.graph()));
    if (auto simulation = problem.simulator.run(lean.placement); simulation.ok()) {
      lean.simulation = *std::move(simulation);
      starts.push_back(std::move(lean));
    }
  }
  return starts;
}

/// The start that keeps to the limits at the least time, and how.
struct Found {
  const placement::PlacementResult* start = nullptr;
  placement::RecomputedStep step;
};

std::optional<Found> findWithin(const placement::PlacementProblem& problem,
                                const std::vector<placement::PlacementResult>& starts,
                                const std::vector<bool>& mayRepeat) {
  std::optional<Found> best;
  for (const placement::PlacementResult& start : starts) {
    absl::StatusOr<placement::RecomputedStep> step =
        placement::recompute(problem, start, mayRepeat);
    if (step.ok() && (!best || step->extraNs < best->step.extraNs)) {
      best = Found{&start, *std::move(step)};
    }
  }
  return best;
}

std::optional<Found> findStep(const placement::PlacementProblem& problem,
                              const std::vector<placement::PlacementResult>& starts,
                              const std::vector<bool>& mayRepeat) {
  std::optional<Found> found;
  for (double part : {1 / (1 + problem.memoryMargin), kUsedPart, 1.0}) {
    placement::PlacementProblem used = problem;
    for (int64_t& limit : used.limits) {
      limit = limit == placement::kUnlimited
                  ? limit
                  : static_cast<int64_t>(part * static_cast<double>(limit));
    }
    found = findWithin(used, starts, mayRepeat);
    if (found && (part == kUsedPart ||
                  static_cast<double>(found->step.extraNs) <=
                      kWorthMargin * static_cast<double>(found->start->simulation.latencyNs()))) {
      break;
    }
  }
  return found;
}

/// A line with the memory that would do.
std::string leastText(const placement::PlacementProblem& problem,
                      const std::vector<placement::PlacementResult>& starts,
                      const std::vector<bool>& mayRepeat) {
  std::vector<int64_t> least;
  for (const placement::PlacementResult& start : starts) {
    std::vector<int64_t> found = placement::leastBytes(problem, start, mayRepeat);
    auto largest = [](const std::vector<int64_t>& bytes) {
      return *std::max_element(bytes.begin(), bytes.end());
    };
    least = least.empty() || largest(found) < largest(least) ? std::move(found) : least;
  }
  std::vector<std::string> parts;
  for (size_t d = 0; d < least.size(); ++d) {
    if (least[d] > 0) {
      parts.push_back(absl::StrCat(problem.cluster().devices[d].name, " ",
                                   runtime::formatNeededBytes(problem.withMargin(least[d]))));
    }
  }
  return absl::StrCat("\nwith values computed again, enough is: ", absl::StrJoin(parts, ", "));
}

/// The operations of `order`, whose nodes are those of `graph`: a collective once, for all of its
/// steps.
Operations operationsOf(const placement::GraphOfOps& graph, const std::vector<int>& order) {
  Operations ops;
  llvm::DenseSet<mlir::Operation*> collectives;
  for (int node : order) {
    mlir::Operation* op = graph.ops[static_cast<size_t>(node)];
    if (!passes::isCollective(op) || collectives.insert(op).second) {
      ops.push_back(op);
    }
  }
  return ops;
}

/// Clones what runs again. By position of `order`: the operation that runs there, null for a clone
/// that nothing needs.
Operations cloneAgain(const placement::GraphOfOps& graph, const placement::Placement& placement,
                      const std::vector<int>& order) {
  llvm::DenseMap<mlir::Operation*, int> device;
  for (size_t n = 0; n < graph.ops.size(); ++n) {
    device[graph.ops[n]] = placement.device[n];
  }
  Operations made = passes::rematerialize(
      operationsOf(graph, order), [&](mlir::Operation* producer, mlir::Operation* user) {
        return !passes::isCollective(user) && device.at(producer) == device.at(user);
      });
  Operations byPosition;
  llvm::DenseMap<mlir::Operation*, mlir::Operation*> collectives;
  size_t next = 0;
  for (int node : order) {
    mlir::Operation* op = graph.ops[static_cast<size_t>(node)];
    const bool isStep = passes::isCollective(op) && !collectives.try_emplace(op, op).second;
    byPosition.push_back(isStep ? op : made[next++]);
  }
  return byPosition;
}

/// The placement `old` of what was there, for the graph with the clones: each is on the device of
/// its node, and all run in the order of `ops`.
placement::Placement placementOf(const placement::GraphOfOps& graph, const Operations& ops,
                                 const std::vector<int>& order, const placement::Placement& old) {
  llvm::DenseMap<mlir::Operation*, std::vector<int>> nodes;  // the next one last
  for (size_t n = graph.ops.size(); n-- > 0;) {
    nodes[graph.ops[n]].push_back(static_cast<int>(n));
  }
  placement::Placement placement;
  placement.strategy = old.strategy;
  placement.device.resize(graph.ops.size());
  std::vector<int> all;
  for (size_t i = 0; i < ops.size(); ++i) {
    if (ops[i] != nullptr) {
      std::vector<int>& left = nodes[ops[i]];
      placement.device[static_cast<size_t>(left.back())] =
          old.device[static_cast<size_t>(order[i])];
      all.push_back(left.back());
      left.pop_back();
    }
  }
  placement.setOrder(all);
  return placement;
}

}  // namespace

bool mayRecompute(mlir::func::FuncOp function) { return !function.getOps<ir::UpdateOp>().empty(); }

absl::StatusOr<std::unique_ptr<Placed>> placeRecomputed(mlir::func::FuncOp function,
                                                        const format::PlanRequest& request,
                                                        const Placed& tried,
                                                        const placement::PlacementResult& unlimited,
                                                        const absl::Status& why) {
  const placement::PlacementProblem& problem = *tried.problem;
  const std::vector<bool> mayRepeat = repeatable(tried.graph);
  const std::vector<placement::PlacementResult> starts = startsFrom(problem, unlimited);
  const std::optional<Found> found = findStep(problem, starts, mayRepeat);
  if (!found) {
    return absl::Status(why.code(),
                        absl::StrCat(why.message(), leastText(problem, starts, mayRepeat)));
  }
  const placement::Placement& old = found->start->placement;
  const Operations ops = cloneAgain(tried.graph, old, found->step.order);
  auto placed = std::make_unique<Placed>();
  GR_RETURN_IF_ERROR(addCosts(function, request, tried.cluster, *placed));
  placed->result.placement = placementOf(placed->graph, ops, found->step.order, old);
  GR_RETURN_IF_ERROR(
      runtime::annotate(placement::validatePlacement(*placed->problem, placed->result.placement),
                        "the step with values computed again"));
  GR_ASSIGN_OR_RETURN(placed->result.simulation,
                      placed->problem->simulator.run(placed->result.placement));
  placed->recomputed = {found->step.repeats, found->step.extraNs, 0};
  for (const placement::DeviceUse& use : found->start->simulation.devices) {
    int64_t& peak = placed->recomputed.peakBytesWithout;
    peak = std::max(peak, use.peakBytes);
  }
  return placed;
}

}  // namespace graphrun::compiler
