#include "placement/local_search.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <utility>

#include "placement/contiguity.h"

namespace graphrun::placement {
namespace {

/// Nodes of a device from which on one node more or less counts by its share of the step.
constexpr double kFewest = 12;

}  // namespace

LocalSearch::LocalSearch(const PlacementProblem& problem, PlacementResult start,
                         std::vector<Constraints> levels)
    : problem_(problem),
      best_(std::move(start)),
      bestNs_(best_.simulation.stepNs),
      limited_(FixedMemory::mayBind(problem)),
      moves_(problem, std::move(levels), problem.search.seed) {}

void LocalSearch::run(int64_t boundNs, SearchLimit& limit) {
  constexpr int64_t kFirstMoves = 4;  // times the nodes, or so many if that is less
  constexpr int64_t kMostFirstMoves = 1000;
  boundNs_ = boundNs;
  int64_t moves = std::min(kMostFirstMoves, kFirstMoves * problem_.graph().nodeCount());
  while (bestNs_ > boundNs_ && !limit.spent()) {
    auto schedule = Schedule::create(problem_.simulator, best_.placement);
    assert(schedule.ok());
    moves_.use(*schedule);
    anneal(*schedule, moves, limit);
    moves *= 2;
  }
  auto simulation = problem_.simulator.run(best_.placement);
  assert(simulation.ok());
  best_.simulation = *std::move(simulation);
}

void LocalSearch::anneal(Schedule& schedule, int64_t moves, SearchLimit& limit) {
  constexpr double kHot = 0.3;  // of a node's share of the step
  constexpr double kCold = 0.004;
  double nodesOfDevice = static_cast<double>(problem_.graph().nodeCount()) / problem_.deviceCount();
  double scale = static_cast<double>(bestNs_) / std::max(nodesOfDevice, kFewest);
  int64_t now = bestNs_;
  for (int64_t i = 0; i < moves && bestNs_ > boundNs_ && !limit.spend(); ++i) {
    if (!moves_.propose()) {
      moves_.undo();
      continue;
    }
    double progress = static_cast<double>(i) / static_cast<double>(moves);
    double heat = scale * kHot * std::pow(kCold / kHot, progress);
    int64_t step = schedule.stepNs();
    if (step > now && moves_.uniform() >= std::exp(static_cast<double>(now - step) / heat)) {
      moves_.undo();
      continue;
    }
    moves_.keep();
    now = step;
    if (now < bestNs_) {
      consider(schedule, now);
    }
  }
}

/// Makes what the schedule is the best one, unless memory forbids.
void LocalSearch::consider(const Schedule& schedule, int64_t stepNs) {
  Placement placement = schedule.placement("search");
  if (limited_) {
    auto simulation = problem_.simulator.run(placement);
    if (!simulation.ok() || !checkFeasible(problem_, placement, *simulation).ok()) {
      return;
    }
  }
  bestNs_ = stepNs;
  best_.placement = std::move(placement);
}

}  // namespace graphrun::placement
