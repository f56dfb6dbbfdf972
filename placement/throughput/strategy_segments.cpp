#include <algorithm>
#include <numeric>
#include <optional>

#include "absl/strings/str_cat.h"
#include "placement/bounds/lower_bounds.h"
#include "placement/list_scheduling/memory_budget.h"
#include "placement/problem/memory_limits.h"
#include "placement/problem/placement_result.h"
#include "placement/problem/problem.h"
#include "placement/throughput/coarse_orders.h"
#include "placement/throughput/segment_plan.h"
#include "placement/throughput/throughput_searches.h"
#include "runtime/base/status.h"
#include "runtime/base/units.h"

namespace graphrun::placement {
namespace {

constexpr int64_t kNothing = kUnlimited;
/// Orders that are made anew at first; then one among so many, the others change the best one.
constexpr int kOrders = 50;
constexpr int kFreshAmong = 8;
/// Beginnings of parts that are looked at without a budget: so many orders, or as many in all.
constexpr int64_t kMostOrders = 1000;
constexpr int64_t kMostSegmentParts = 80'000;
/// Times that the limits are lowered by what an estimate of memory was wrong.
constexpr int kMostCorrections = 20;

/// Returns whether each coarse node may go to one of the devices, which are ascending.
bool mayHaveAll(const CoarseGraph& coarse, const std::vector<int>& devices) {
  return std::all_of(coarse.nodes.begin(), coarse.nodes.end(), [&](const CoarseNode& coarseNode) {
    return std::any_of(coarseNode.allowed.begin(), coarseNode.allowed.end(), [&](int device) {
      return std::binary_search(devices.begin(), devices.end(), device);
    });
  });
}

class SegmentSearch {
 public:
  SegmentSearch(const PlacementProblem& problem, const CoarseGraph& coarse)
      : problem_(problem), orders_(problem, coarse, problem.search.seed), coarse_(coarse) {
    for (const std::vector<int>& devices : problem.simulator.cores().devicesApart()) {
      if (mayHaveAll(coarse, devices)) {
        planners_.emplace_back(problem, coarse, devices);
      }
    }
    if (planners_.empty()) {  // pins want devices that share: their loads are told apart later
      std::vector<int> all(problem.limits.size());
      std::iota(all.begin(), all.end(), 0);
      planners_.emplace_back(problem, coarse, all);
    }
  }

  absl::Status run(int64_t bound, SearchLimit& limit) {
    for (int i = 0; !limit.spent() && plannedNs_ > bound; ++i) {
      bool fresh = i < kOrders || i % kFreshAmong == 0 || plannedNs_ == kNothing;
      std::vector<int> order = fresh ? orders_.next() : orders_.changed(order_);
      for (SegmentPlanner& planner : planners_) {
        GR_RETURN_IF_ERROR(tryOrder(planner, order, limit));
      }
    }
    return absl::OkStatus();
  }

  const std::optional<PlacementResult>& best() const { return best_; }
  const absl::Status& failure() const { return failure_; }

 private:
  absl::Status tryOrder(SegmentPlanner& planner, const std::vector<int>& order,
                        SearchLimit& limit) {
    // Equals are taken: changes lead on.
    std::optional<SegmentPlan> plan =
        planner.plan(order, plannedNs_ == kNothing ? kNothing : plannedNs_ + 1, limit);
    if (!plan.has_value()) {
      return absl::OkStatus();
    }
    GR_ASSIGN_OR_RETURN(TriedPlacement tried,
                        tryDevices(problem_, coarse_.deviceByNode(plan->device), "segments"));
    if (!tried.feasible.ok()) {
      failure_ = tried.feasible;
      correct(tried.result.simulation);
      return absl::OkStatus();
    }
    order_ = order;
    plannedNs_ = plan->ns;
    if (!best_.has_value() ||
        problem_.objectiveNs(tried.result.simulation) < problem_.objectiveNs(best_->simulation)) {
      best_ = std::move(tried.result);
    }
    return absl::OkStatus();
  }

  void correct(const Simulation& simulation) {
    std::vector<int64_t> excess = excessBytes(problem_, simulation);
    for (size_t d = 0; d < excess.size() && corrections_ < kMostCorrections; ++d) {
      for (SegmentPlanner& planner : planners_) {
        planner.cutLimit(static_cast<int>(d), excess[d]);
      }
    }
    ++corrections_;
  }

  const PlacementProblem& problem_;
  std::vector<SegmentPlanner> planners_;  // for devices that share nothing each
  CoarseOrders orders_;
  const CoarseGraph& coarse_;
  std::vector<int> order_;
  int64_t plannedNs_ = kNothing;
  std::optional<PlacementResult> best_;
  absl::Status failure_;
  int corrections_ = 0;
};

/// Why no order fits.
absl::Status nothingFits(const PlacementProblem& problem, const CoarseGraph& coarse) {
  int64_t total = 0;
  const CoarseNode* largest = &coarse.nodes.front();
  for (const CoarseNode& coarseNode : coarse.nodes) {
    total += coarseNode.weightBytes;
    largest = coarseNode.weightBytes > largest->weightBytes ? &coarseNode : largest;
  }
  int64_t most = 0;
  for (int device : largest->allowed) {
    most = std::max(most, problem.limits[static_cast<size_t>(device)]);
  }
  return absl::ResourceExhaustedError(absl::StrCat(
      "segments: no way was found to cut the graph into one part for each device within the "
      "limits; its weights are ",
      runtime::formatBytes(total), ", those that go with '",
      problem.graph().node(largest->nodes.front()).name, "' ",
      runtime::formatBytes(largest->weightBytes), ", where the largest limit is ",
      most == kUnlimited ? "none" : runtime::formatBytes(most)));
}

}  // namespace

bool isForThroughput(const PlacementProblem& problem) {
  return problem.objective == Objective::kThroughput && problem.graph().nodeCount() > 0;
}

absl::StatusOr<PlacementResult> improveBySegments(const PlacementProblem& problem,
                                                  const PlacementResult* start) {
  GR_ASSIGN_OR_RETURN(CoarseGraph coarse, coarsenContiguous(problem));
  SearchLimit limit(problem.search, std::min(kMostOrders * coarse.count(), kMostSegmentParts));
  SegmentSearch search(problem, coarse);
  int64_t bound = start == nullptr ? lowerBounds(problem).ns() : boundOf(problem, *start);
  GR_RETURN_IF_ERROR(search.run(bound, limit));
  const std::optional<PlacementResult>& best = search.best();
  if (best.has_value() && (start == nullptr || problem.objectiveNs(best->simulation) <
                                                   problem.objectiveNs(start->simulation))) {
    return *best;
  }
  if (start != nullptr) {
    return *start;
  }
  return search.failure().ok() ? nothingFits(problem, coarse) : search.failure();
}

}  // namespace graphrun::placement
