#include "placement/search/local_search.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <utility>

#include "placement/problem/contiguity.h"
#include "placement/problem/placement_result.h"

namespace graphrun::placement {
namespace {

/// Nodes of a device from which on one node more or less counts by its share of the step.
constexpr double kFewest = 12;
/// Ranks of a window: for each device, at least and at most.
constexpr int kRanksPerDevice = 16;
constexpr int kShortestWindow = 128;
constexpr int kLongestWindow = 512;
/// Moves after which what windows gave is compared with what there was: nodes over this, at least.
constexpr int kNodesByCheck = 4;
constexpr int64_t kMovesByCheck = 4096;
/// The cost of a device that holds more than its limit by some part of that: so many such parts of
/// the step.
constexpr double kOverrunCost = 4;

}  // namespace

LocalSearch::LocalSearch(const PlacementProblem& problem, PlacementResult start,
                         std::vector<Constraints> levels)
    : problem_(problem),
      best_(std::move(start)),
      bestNs_(best_.simulation.latencyNs()),
      limited_(ResidentMemory::mayBind(problem)),
      window_(std::clamp(kRanksPerDevice * problem.deviceCount(), kShortestWindow, kLongestWindow)),
      moves_(problem, std::move(levels), problem.search.seed) {}

void LocalSearch::run(int64_t boundNs, SearchLimit& limit) {
  constexpr int64_t kFirstMoves = 4;  // times the nodes, or so many if that is less
  constexpr int64_t kMostFirstMoves = 1000;
  boundNs_ = boundNs;
  int nodes = problem_.graph().nodeCount();
  bool inWindows = nodes > 2 * window_;
  int64_t moves = inWindows ? window_ : std::min(kMostFirstMoves, kFirstMoves * nodes);
  for (int round = 0; bestNs_ > boundNs_ && !limit.spent(); ++round) {
    begin();
    if (inWindows) {
      sweep(round, moves, limit);
    } else {
      anneal(moves, limit, [&](int64_t stepNs) { return consider(stepNs); });
    }
    moves *= 2;
  }
  auto simulation = problem_.simulator.run(best_.placement);
  assert(simulation.ok());
  best_.simulation = *std::move(simulation);
}

/// Begins anew with the best placement.
void LocalSearch::begin() {
  auto schedule = Schedule::create(problem_.simulator, best_.placement);
  assert(schedule.ok());
  schedule_ = std::make_unique<Schedule>(*std::move(schedule));
  moves_.use(*schedule_);
}

/// Windows from the first node to the last, every other round half a window on.
void LocalSearch::sweep(int round, int64_t moves, SearchLimit& limit) {
  int nodes = problem_.graph().nodeCount();
  const int64_t movesByCheck = std::max<int64_t>(kMovesByCheck, nodes / kNodesByCheck);
  int64_t unchecked = 0;
  schedule_->learnTails();
  for (int end = round % 2 == 0 ? window_ : window_ / 2; end < nodes + window_; end += window_) {
    int last = std::min(end, nodes);
    annealWindow(std::max(0, end - window_), last, moves, limit);
    if (limit.spent()) {
      return;  // what is unchecked does not count: what counts must not depend on the limit
    }
    unchecked += moves;
    if (unchecked >= movesByCheck || last == nodes) {
      check();
      unchecked = 0;
    }
  }
}

/// Ends with the best that was found for the window.
void LocalSearch::annealWindow(int first, int last, int64_t moves, SearchLimit& limit) {
  schedule_->openWindow(first, last);
  moves_.keep();
  moves_.useWindow();
  moves_.save(snapshot_);
  int64_t best = schedule_->stepNs() + overrunNs();
  int64_t now = anneal(moves, limit, [&](int64_t stepNs) {
    best = stepNs;
    moves_.save(snapshot_);
    return true;
  });
  if (now > best) {
    moves_.restore(snapshot_);
  }
}

/// Keeps what the windows gave, if it is better than what there was.
void LocalSearch::check() {
  schedule_->closeWindow();
  int64_t step = schedule_->stepNs();
  schedule_->keep();
  if (step >= bestNs_ || !consider(step)) {
    begin();
  }
  schedule_->learnTails();
}

/// Returns the penalty on the schedule's step for memory beyond the limits. After stepNs.
int64_t LocalSearch::overrunNs() {
  return limited_
             ? static_cast<int64_t>(kOverrunCost * moves_.overrun() * static_cast<double>(bestNs_))
             : 0;
}

/// Returns the step that it ends with, with what memory beyond the limits counts.
int64_t LocalSearch::anneal(int64_t moves, SearchLimit& limit, const Better& better) {
  constexpr double kHot = 0.3;  // of a node's share of the step
  constexpr double kCold = 0.004;
  constexpr double kMovesToCool = 20;  // a node; with fewer it begins less hot
  auto [first, last] = schedule_->window();
  double movesOfNode = static_cast<double>(moves) / (last - first);
  double hot = std::max(kCold, kHot * std::min(1.0, movesOfNode / kMovesToCool));
  double nodesOfDevice = static_cast<double>(problem_.graph().nodeCount()) / problem_.deviceCount();
  double scale = static_cast<double>(bestNs_) / std::max(nodesOfDevice, kFewest);
  int64_t now = schedule_->stepNs() + overrunNs();
  int64_t best = now;
  for (int64_t i = 0; i < moves && best > boundNs_ && !limit.spend(); ++i) {
    if (!moves_.propose()) {
      moves_.undo();
      continue;
    }
    double progress = static_cast<double>(i) / static_cast<double>(moves);
    double heat = scale * hot * std::pow(kCold / hot, progress);
    double luck = -1;  // drawn where it decides
    auto isTooLong = [&](int64_t ns) {
      luck = ns > now && luck < 0 ? moves_.uniform() : luck;
      return ns > now && luck >= std::exp(static_cast<double>(now - ns) / heat);
    };
    const int64_t step = schedule_->stepNs();
    const int64_t more = isTooLong(step) ? -1 : overrunNs();
    if (more < 0 || isTooLong(step + more)) {
      moves_.undo();
      continue;
    }
    moves_.keep();
    now = step + more;
    if (now < best && more == 0 && better(now)) {
      best = now;
    }
  }
  return now;
}

/// Makes what the schedule is the best one, unless memory forbids.
bool LocalSearch::consider(int64_t stepNs) {
  Placement placement = schedule_->placement("search");
  if (limited_) {
    auto simulation = problem_.simulator.run(placement);
    if (!simulation.ok() || !checkFeasible(problem_, placement, *simulation).ok()) {
      return false;
    }
  }
  bestNs_ = stepNs;
  best_.placement = std::move(placement);
  return true;
}

}  // namespace graphrun::placement
