#include "placement/planner/cost_planner.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "placement/bounds/lower_bounds.h"
#include "placement/formats/cost_file.h"
#include "placement/planner/device_compilers.h"
#include "placement/planner/explanation.h"
#include "placement/problem/placement_result.h"
#include "placement/problem/problem.h"
#include "placement/problem/validate.h"
#include "placement/strategies/replan.h"
#include "placement/strategies/strategy.h"
#include "runtime/base/clock.h"
#include "runtime/base/status.h"

namespace graphrun::compiler {
namespace {

using Json = nlohmann::ordered_json;
using placement::CostFile;
using placement::PlacementProblem;
using placement::PlacementResult;

absl::StatusOr<placement::CostFileOptions> optionsOf(const GrCosts& costs) {
  placement::CostFileOptions options;
  options.kinds = devices::compilerKinds();
  options.devices = costs.devices;
  options.contiguous = costs.contiguous != 0;
  absl::string_view objective = costs.objective;
  for (auto known : {placement::Objective::kLatency, placement::Objective::kThroughput}) {
    if (objective == placement::objectiveName(known)) {
      options.objective = known;
    }
  }
  if (!objective.empty() && !options.objective.has_value()) {
    return absl::NotFoundError(
        absl::StrCat("no objective '", objective, "' (known: latency, throughput)"));
  }
  return options;
}

/// Placing fails for reasons of the graph, whatever the code says, but for an unknown strategy and
/// a wrong placement file.
absl::Status cannotPlace(const absl::Status& status) {
  return status.ok() || absl::IsNotFound(status) || absl::IsInternal(status) ||
                 absl::IsInvalidArgument(status)
             ? status
             : absl::FailedPreconditionError(status.message());
}

/// A time in the unit of the file: whole numbers where that is ns.
Json inUnit(const CostFile& file, int64_t ns) {
  return file.nsPerUnit == 1 ? Json(ns)
                             : Json(static_cast<double>(ns) / static_cast<double>(file.nsPerUnit));
}

Json devicesJson(const CostFile& file, const PlacementProblem& problem,
                 const PlacementResult& result) {
  std::vector<int64_t> nodes(file.cluster.devices.size(), 0);
  for (int device : result.placement.device) {
    ++nodes[static_cast<size_t>(device)];
  }
  Json list = Json::array();
  for (size_t d = 0; d < nodes.size(); ++d) {
    const placement::DeviceUse& use = result.simulation.devices[d];
    bool limited = problem.limits[d] != placement::kUnlimited;
    list.push_back({{"device", file.cluster.devices[d].name},
                    {"nodes", nodes[d]},
                    {"busy", inUnit(file, use.busyNs)},
                    {"ports", inUnit(file, use.portNs)},
                    {"peak_bytes", use.peakBytes},
                    {"memory_bytes", limited ? Json(problem.limits[d]) : Json(nullptr)}});
  }
  return list;
}

absl::string_view viewOf(const GrBytes& bytes) {
  return {reinterpret_cast<const char*>(bytes.data), bytes.size};
}

/// Places as the request says: by a file, beginning with one, or by a strategy.
/// `candidates`: see placement::place.
absl::StatusOr<PlacementResult> placeAs(const GrCosts& costs, const PlacementProblem& problem,
                                        std::vector<placement::Candidate>& candidates) {
  if (costs.placement.size > 0) {
    return placement::placeFromJson(problem, viewOf(costs.placement), costs.placementName);
  }
  if (costs.from.size > 0) {
    return placement::replan(problem, viewOf(costs.from), costs.fromName);
  }
  return placement::place(problem, costs.strategy, &candidates);
}

absl::StatusOr<Json> explanationOf(const GrCosts& costs, const PlacementProblem& problem,
                                   const PlacementResult& result,
                                   std::vector<placement::Candidate> candidates) {
  ExplanationOptions options{costs.explainedCount == 0,
                             {costs.explained, costs.explained + costs.explainedCount},
                             std::move(candidates)};
  GR_ASSIGN_OR_RETURN(placement::Explanation explanation, explainWith(problem, result, options));
  return placement::explanationJson(explanation, /*details=*/true);
}

Json nodesJson(const CostFile& file, const PlacementResult& result) {
  Json list = Json::array();
  for (int n = 0; n < file.graph.nodeCount(); ++n) {
    auto node = static_cast<size_t>(n);
    auto device = static_cast<size_t>(result.placement.device[node]);
    placement::OpTime time = result.simulation.ops[node];
    list.push_back({{"node", file.graph.node(n).name},
                    {"device", file.cluster.devices[device].name},
                    {"start", inUnit(file, time.start)},
                    {"finish", inUnit(file, time.finish)}});
  }
  return list;
}

}  // namespace

absl::StatusOr<std::string> placeCosts(const GrCosts& costs) {
  GR_ASSIGN_OR_RETURN(placement::CostFileOptions options, optionsOf(costs));
  GR_ASSIGN_OR_RETURN(CostFile file,
                      placement::readCostFile(viewOf(costs.bytes), costs.name, options));
  GR_ASSIGN_OR_RETURN(PlacementProblem problem, file.problem());
  problem.search = {costs.seed, static_cast<int64_t>(costs.budgetNanos)};
  std::vector<placement::Candidate> candidates;
  int64_t begin = runtime::nowNanos();
  absl::StatusOr<PlacementResult> result = placeAs(costs, problem, candidates);
  double seconds = static_cast<double>(runtime::nowNanos() - begin) / 1e9;
  GR_RETURN_IF_ERROR(cannotPlace(result.status()));
  GR_RETURN_IF_ERROR(runtime::annotate(placement::validatePlacement(problem, result->placement),
                                       "the placement that was found"));
  int64_t objective = problem.objectiveNs(result->simulation);
  int64_t bound = placement::boundOf(problem, *result);
  Json json;
  json["goal"] = placement::objectiveName(problem.objective);
  json["contiguous"] = problem.contiguous;
  json["unit"] = file.unit;
  json["objective"] = inUnit(file, objective);
  json["lower_bound"] = inUnit(file, bound);
  json["proved"] = objective == bound;
  json["strategy"] = result->placement.strategy;
  json["seed"] = costs.seed;
  json["seconds"] = seconds;
  json["devices"] = devicesJson(file, problem, *result);
  json["nodes"] = nodesJson(file, *result);
  if (costs.explain != 0) {
    GR_ASSIGN_OR_RETURN(json["explanation"],
                        explanationOf(costs, problem, *result, std::move(candidates)));
    json["ns_per_unit"] = file.nsPerUnit;
  }
  return json.dump(1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace graphrun::compiler
