#include "placement/planner/place_model.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "devices/device_compiler.h"
#include "placement/bounds/lower_bounds.h"
#include "placement/list_scheduling/heuristics.h"
#include "placement/planner/known_costs.h"
#include "placement/planner/place_recomputed.h"
#include "placement/problem/placement_result.h"
#include "placement/problem/validate.h"
#include "placement/search/unit_joiner.h"
#include "placement/simulator/split_devices.h"
#include "placement/simulator/steps_in_flight.h"
#include "placement/strategies/replan.h"
#include "runtime/base/clock.h"
#include "runtime/base/mapped_file.h"
#include "runtime/base/numerics.h"
#include "runtime/base/status.h"
#include "runtime/base/units.h"
#include "runtime/format/weight_table.h"

namespace graphrun::compiler {
namespace {

/// Several devices must promise to take no more than this part of the step on one, and a split of
/// the step as it is: predictions are wrong by as much.
constexpr double kWorthwhile = 0.97;
/// The part of the operations' time that must have been measured for a split to be taken at once.
constexpr double kMeasured = 0.95;
/// Reorders and scratch memory; of 500 random networks on little memory none needed more.
constexpr double kMemoryMargin = 0.12;

/// The compilers of the devices that a cluster can have, asked what they support.
class Compilers {
 public:
  std::string whyUnsupported(absl::string_view kind, mlir::Operation* op) {
    auto [found, isNew] = compilers_.try_emplace(std::string(kind));
    if (isNew) {
      found->second = devices::createDeviceCompiler(found->first);
    }
    return found->second.ok() ? (*found->second)->whyUnsupported(op)
                              : std::string(found->second.status().message());
  }

 private:
  std::map<std::string, absl::StatusOr<std::unique_ptr<devices::DeviceCompiler>>> compilers_;
};

/// Returns whether the user leaves it to the planner how to place.
bool isAuto(const format::PlanRequest& request) {
  const absl::string_view strategy = format::textOf(request.strategy());
  return strategy.empty() || strategy == "auto";
}

/// Places with the request's strategy, with the file that it names, or beginning with the file
/// `from`. `candidates`: see placement::place.
absl::StatusOr<placement::PlacementResult> placeWith(
    const placement::PlacementProblem& problem, const format::PlanRequest& request,
    std::vector<placement::Candidate>& candidates) {
  std::string strategy(format::textOf(request.strategy()));
  const std::string from(format::textOf(request.from()));
  bool isFile = strategy.ends_with(".json");
  if (isAuto(request)) {
    strategy = request.single() ? "single" : "auto";
  }
  if (!isFile && from.empty()) {
    return placement::place(problem, strategy, &candidates);
  }
  const std::string& path = from.empty() ? strategy : from;
  GR_ASSIGN_OR_RETURN(runtime::MappedFile file, runtime::MappedFile::open(path));
  auto bytes = file.bytes();
  absl::string_view json(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return from.empty() ? placement::placeFromJson(problem, json, path)
                      : placement::replan(problem, json, path);
}

/// Makes strategies keep the members of collectives together, as far as pins and devices allow. No
/// rule of placements: one from a file may do otherwise.
void joinMembers(const placement::GraphOfOps& graph, placement::PlacementProblem& problem) {
  if (graph.memberGroups.empty()) {
    return;
  }
  placement::UnitJoiner joiner(problem);
  const std::vector<int>& unitOf = problem.constraints.unitOf;
  for (const std::vector<int>& nodes : graph.memberGroups) {
    for (int node : nodes) {
      joiner.join(unitOf[static_cast<size_t>(nodes.front())], unitOf[static_cast<size_t>(node)]);
    }
  }
  problem.constraints = joiner.joined();
}

/// Makes the problem to place, by the costs of `placed.graph` and the part of the limits that may
/// be used.
absl::Status makeProblem(const format::PlanRequest& request, Placed& placed) {
  const placement::Objective objective = objectiveOf(request, placed.cluster);
  const bool isForMany = objective == placement::Objective::kThroughput;
  GR_ASSIGN_OR_RETURN(auto problem, placement::PlacementProblem::create(
                                        placed.graph.graph, placed.cluster,
                                        isForMany ? placement::forManySteps(placed.cluster)
                                                  : placement::SimulatorOptions()));
  problem.objective = objective;
  problem.contiguous = isForMany;
  joinMembers(placed.graph, problem);
  problem.memoryMargin = kMemoryMargin;
  for (int64_t& limit : problem.limits) {
    if (limit != placement::kUnlimited) {
      limit = static_cast<int64_t>(request.memory_share() * static_cast<double>(limit));
    }
  }
  placed.problem = std::make_unique<placement::PlacementProblem>(std::move(problem));
  return absl::OkStatus();
}

/// The time that the user gives all searches for one plan together.
class SearchTime {
 public:
  explicit SearchTime(const format::PlanRequest& request)
      : isLimited_(request.search_ns() > 0),
        endNs_(runtime::nowNanos() + static_cast<int64_t>(request.search_ns())) {}

  bool isOver() const { return isLimited_ && runtime::nowNanos() >= endNs_; }
  /// SearchOptions::budgetNs of the next of so many searches, each of which gets as much.
  int64_t share(size_t searches) const {
    const int64_t left = (endNs_ - runtime::nowNanos()) / static_cast<int64_t>(searches);
    return isLimited_ ? std::max<int64_t>(1, left) : 0;
  }

 private:
  bool isLimited_;
  int64_t endNs_;
};

/// Makes the result tell what a plan of its placement will hold: steps in flight need as many
/// buffers as devices which it uses, not all that it might have used.
absl::Status countBuffers(const placement::PlacementProblem& problem,
                          placement::PlacementResult& result) {
  const placement::SimulatorOptions used =
      placement::forManySteps(problem.cluster(), result.placement);
  if (problem.objective != placement::Objective::kThroughput ||
      used.edgeSlots >= problem.simulator.options().edgeSlots) {
    return absl::OkStatus();
  }
  const placement::Simulator simulator(problem.graph(), problem.cluster(), used);
  GR_ASSIGN_OR_RETURN(result.simulation, simulator.run(result.placement));
  return absl::OkStatus();
}

/// Puts the best single device in the place of several that promise little more than it does.
void preferSingle(const format::PlanRequest& request, Placed& placed) {
  if (!isAuto(request) || !format::textOf(request.from()).empty() ||
      placed.problem->objective != placement::Objective::kLatency) {
    return;
  }
  const auto stepOf = [](const placement::PlacementResult& result) {
    return static_cast<double>(result.simulation.latencyNs());
  };
  for (const placement::Candidate& candidate : placed.candidates) {
    if (candidate.strategy == "single" && candidate.result.ok() &&
        stepOf(placed.result) > kWorthwhile * stepOf(*candidate.result)) {
      const int64_t bound = placed.result.boundNs;
      placed.result = *candidate.result;
      placed.result.boundNs = std::max(placed.result.boundNs, bound);
    }
  }
}

/// The first of so many searches that are to come.
absl::Status place(const format::PlanRequest& request, const SearchTime& time, size_t searches,
                   Placed& placed) {
  auto found = [&] {
    placed.candidates.clear();
    placed.problem->search.budgetNs = time.share(searches);
    return placeWith(*placed.problem, request, placed.candidates);
  };
  absl::StatusOr<placement::PlacementResult> result = found();
  if (absl::IsResourceExhausted(result.status()) && placed.graph.relax()) {
    // Compilers lay weights out more tightly where a limit asks for it.
    GR_RETURN_IF_ERROR(makeProblem(request, placed));
    result = found();
  }
  if (!result.ok()) {
    return placed.problem->contiguous
               ? runtime::annotate(result.status(),
                                   "for throughput each device has one piece of the graph")
               : result.status();
  }
  placed.result = *std::move(result);
  GR_RETURN_IF_ERROR(countBuffers(*placed.problem, placed.result));
  for (placement::Candidate& candidate : placed.candidates) {
    if (candidate.result.ok()) {
      GR_RETURN_IF_ERROR(countBuffers(*placed.problem, *candidate.result));
    }
  }
  preferSingle(request, placed);
  return runtime::annotate(placement::validatePlacement(*placed.problem, placed.result.placement),
                           placed.problem->contiguous
                               ? "the placement that was found, which for throughput must give "
                                 "each device one piece of the graph"
                               : "the placement that was found");
}

/// Tries to compute values again, after no placement was found within the memory limits, as `why`
/// says.
absl::StatusOr<std::unique_ptr<Placed>> placeAgain(mlir::func::FuncOp function,
                                                   const format::PlanRequest& request,
                                                   const Placed& tried, const absl::Status& why) {
  if (!mayRecompute(function) || !absl::IsFailedPrecondition(why)) {
    return why;
  }
  placement::PlacementProblem unlimited = *tried.problem;
  std::fill(unlimited.limits.begin(), unlimited.limits.end(), placement::kUnlimited);
  std::vector<placement::Candidate> candidates;
  absl::StatusOr<placement::PlacementResult> result = placeWith(unlimited, request, candidates);
  return result.ok() ? placeRecomputed(function, request, tried, *result, why) : why;
}

absl::StatusOr<std::unique_ptr<Placed>> placeOn(mlir::func::FuncOp function,
                                                const format::PlanRequest& request,
                                                placement::Cluster cluster) {
  SearchTime time(request);
  auto placed = std::make_unique<Placed>();
  GR_RETURN_IF_ERROR(addCosts(function, request, std::move(cluster), *placed));
  absl::Status status = place(request, time, 1, *placed);
  return status.ok() ? std::move(placed) : placeAgain(function, request, *placed, status);
}

/// The part of the time of all nodes, where they are, that was measured.
double measuredPart(const Placed& placed) {
  double measured = 0;
  double all = 1;
  for (int n = 0; n < placed.graph.graph.nodeCount(); ++n) {
    const placement::CostNode& node = placed.graph.graph.node(n);
    auto device = static_cast<size_t>(placed.result.placement.device[static_cast<size_t>(n)]);
    auto ns = static_cast<double>(node.timeNs[device]);
    measured += node.sources[device] == placement::CostSource::kMeasured ? ns : 0;
    all += ns;
  }
  return measured / all;
}

/// The cluster with its devices split; null when none can be split into so many parts.
std::unique_ptr<placement::Cluster> splitInto(const placement::Cluster& cluster, int parts,
                                              placement::SplitReport& report) {
  auto split = std::make_unique<placement::Cluster>(placement::splitDevices(cluster, parts));
  for (size_t d = cluster.devices.size(); d < split->devices.size(); d += report.parts) {
    const placement::Device& part = split->devices[d];
    report.devices.push_back(split->devices[static_cast<size_t>(part.whole)].name);
    report.threads = part.threads;
  }
  return report.devices.empty() ? nullptr : std::move(split);
}

/// The best placement on split devices; null, with the reason in `report`, where it cannot be worth
/// while. It is the first of so many searches that are to come.
std::unique_ptr<Placed> tryParts(mlir::func::FuncOp function, const format::PlanRequest& request,
                                 const placement::Cluster& cluster, const SearchTime& time,
                                 size_t searches, placement::SplitReport& report) {
  std::unique_ptr<placement::Cluster> split = splitInto(cluster, report.parts, report);
  if (split == nullptr) {
    return nullptr;
  }
  if (time.isOver()) {
    report.why = "the plan budget was used up";
    return nullptr;
  }
  auto placed = std::make_unique<Placed>();
  absl::Status status = addCosts(function, request, std::move(*split), *placed);
  if (status.ok()) {
    const auto worth = static_cast<int64_t>(kWorthwhile * static_cast<double>(report.wholeNs));
    int64_t bound = placement::lowerBounds(*placed->problem).ns();
    if (bound > worth) {
      report.why =
          absl::StrCat("no placement on them takes less than ", runtime::formatDuration(bound));
      return nullptr;
    }
    status = place(request, time, searches, *placed);
  }
  if (!status.ok()) {
    report.why = std::string(status.message());
    return nullptr;
  }
  report.stepNs = placed->result.simulation.latencyNs();
  report.why = placement::overfullDevice(placed->cluster, placed->result.simulation);
  return report.why.empty() ? std::move(placed) : nullptr;
}

bool isWorthwhile(const placement::SplitReport& report) {
  return static_cast<double>(report.stepNs) <= kWorthwhile * static_cast<double>(report.wholeNs);
}

/// Returns whether the planner is to look for devices that are better split, for a shorter step.
bool mayLook(const format::PlanRequest& request, const placement::Cluster& cluster) {
  return isAuto(request) && !request.single() && !isDeterministic(request) &&
         format::textOf(request.from()).empty() && request.split() == 0 &&
         objectiveOf(request, cluster) == placement::Objective::kLatency;
}

/// `whole`, or in its place what is better on split devices.
std::unique_ptr<Placed> placeSplit(mlir::func::FuncOp function, const format::PlanRequest& request,
                                   const placement::Cluster& cluster,
                                   const std::vector<int>& partsToTry, const SearchTime& time,
                                   std::unique_ptr<Placed> whole) {
  std::unique_ptr<Placed> best;
  std::vector<placement::SplitReport> reports;
  size_t chosen = 0;
  for (int parts : partsToTry) {
    placement::SplitReport report;
    report.parts = parts;
    report.wholeNs = whole->result.simulation.latencyNs();
    std::unique_ptr<Placed> split =
        tryParts(function, request, cluster, time, partsToTry.size() - reports.size(), report);
    if (split != nullptr && isWorthwhile(report) &&
        (best == nullptr || report.stepNs < best->result.simulation.latencyNs())) {
      best = std::move(split);
      chosen = reports.size();
    }
    reports.push_back(std::move(report));
  }
  if (best != nullptr) {
    placement::SplitReport& report = reports[chosen];
    bool isRefused = request.splits() == format::SplitChoice::Refused;
    bool isKnown = measuredPart(*whole) >= kMeasured && measuredPart(*best) >= kMeasured;
    report.taken = !isRefused && (isKnown || request.splits() == format::SplitChoice::Tried);
    if (isRefused) {
      report.why = "it was tried, and runs were not faster";
    } else if (!report.taken) {
      report.why = "it is tried when the model runs, since not all of these times were measured";
      whole->promisedNs = report.stepNs;
    }
    best = report.taken ? std::move(best) : nullptr;
  }
  std::unique_ptr<Placed>& result = best != nullptr ? best : whole;
  result->splits = std::move(reports);
  return std::move(result);
}

/// On as many parts as the request says, and on the devices as they are.
absl::StatusOr<std::unique_ptr<Placed>> placeOnParts(mlir::func::FuncOp function,
                                                     const format::PlanRequest& request,
                                                     const placement::Cluster& cluster) {
  placement::SplitReport report;
  report.parts = static_cast<int>(request.split());
  report.taken = true;
  std::unique_ptr<placement::Cluster> split = splitInto(cluster, report.parts, report);
  if (split == nullptr) {
    return absl::FailedPreconditionError(
        absl::StrCat("--split ", report.parts, ": no CPU device of the cluster can be split into ",
                     report.parts, " parts; expected one of as many threads that shares no cores"));
  }
  GR_ASSIGN_OR_RETURN(std::unique_ptr<Placed> placed,
                      placeOn(function, request, std::move(*split)));
  report.stepNs = placed->result.simulation.latencyNs();
  if (std::string full = placement::overfullDevice(placed->cluster, placed->result.simulation);
      !full.empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat("--split ", report.parts, ": ", full, "; try --split never"));
  }
  placed->splits.push_back(std::move(report));
  return placed;
}

}  // namespace

placement::Objective objectiveOf(const format::PlanRequest& request,
                                 const placement::Cluster& cluster) {
  return placement::stepsOverlap(cluster) ? static_cast<runtime::Objective>(request.objective())
                                          : placement::Objective::kLatency;
}

bool isDeterministic(const format::PlanRequest& request) {
  return static_cast<runtime::Numerics>(request.numerics()) == runtime::Numerics::kDeterministic;
}

absl::Status addCosts(mlir::func::FuncOp function, const format::PlanRequest& request,
                      placement::Cluster cluster, Placed& placed) {
  Compilers compilers;
  KnownCosts known;
  placed.cluster = std::move(cluster);
  readCosts(request, placed.cluster, known);
  placement::DeviceKnowledge devices{[&](absl::string_view kind, mlir::Operation* op) {
                                       return compilers.whyUnsupported(kind, op);
                                     },
                                     known.byDevice, numericsKey(request),
                                     !isDeterministic(request)};
  GR_ASSIGN_OR_RETURN(placed.graph, placement::buildCostGraph(function, placed.cluster, devices));
  GR_RETURN_IF_ERROR(placed.graph.graph.applyPinRules(placed.cluster));
  return makeProblem(request, placed);
}

absl::StatusOr<std::unique_ptr<Placed>> placeModel(mlir::func::FuncOp function,
                                                   const format::PlanRequest& request,
                                                   const placement::Cluster& cluster) {
  if (request.split() > 1) {
    return placeOnParts(function, request, cluster);
  }
  SearchTime time(request);
  auto whole = std::make_unique<Placed>();
  GR_RETURN_IF_ERROR(addCosts(function, request, cluster, *whole));
  const std::vector<int> partsToTry =
      mayLook(request, cluster)
          ? placement::partsToTry(cluster, placement::widthOf(whole->graph.graph))
          : std::vector<int>();
  absl::Status status = place(request, time, 1 + partsToTry.size(), *whole);
  if (!status.ok()) {
    return placeAgain(function, request, *whole, status);
  }
  return placeSplit(function, request, cluster, partsToTry, time, std::move(whole));
}

}  // namespace graphrun::compiler
