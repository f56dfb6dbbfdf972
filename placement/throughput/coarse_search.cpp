#include "placement/throughput/coarse_search.h"

#include <algorithm>
#include <utility>

#include "placement/list_scheduling/memory_budget.h"
#include "placement/problem/memory_limits.h"
#include "placement/problem/placement_result.h"
#include "runtime/base/status.h"

namespace graphrun::placement {
namespace {

constexpr int64_t kFirstMoves = 64;  // a coarse node
/// In all rounds of small graphs: at least, and for each pair of coarse nodes.
constexpr int64_t kLeastMoves = 30'000;
constexpr int64_t kMovesPerPair = 300;

/// Devices by coarse node, empty if a coarse node has several.
std::vector<int> devicesOf(const CoarseGraph& coarse, const Placement& placement) {
  std::vector<int> device;
  device.reserve(coarse.nodes.size());
  for (const CoarseNode& coarseNode : coarse.nodes) {
    device.push_back(placement.device[static_cast<size_t>(coarseNode.nodes.front())]);
  }
  return coarse.deviceByNode(device) == placement.device ? device : std::vector<int>();
}

/// By device, bytes beside weights and receive buffers.
std::vector<int64_t> reservedBytes(const Simulation& simulation) {
  std::vector<int64_t> bytes;
  bytes.reserve(simulation.devices.size());
  for (const DeviceUse& use : simulation.devices) {
    bytes.push_back(use.peakBytes - use.weightBytes - use.receiveBytes);
  }
  return bytes;
}

}  // namespace

absl::StatusOr<PlacementResult> improveCoarse(const PlacementProblem& problem,
                                              const CoarseGraph& coarse, bool staged,
                                              SearchGoal& goal, int64_t bound, int64_t moves,
                                              const PlacementResult& start, const char* strategy) {
  PlacementResult best = start;
  std::vector<int> device = devicesOf(coarse, start.placement);
  if (device.empty()) {
    return best;
  }
  LoadSearch search(problem, coarse, staged, goal, device, reservedBytes(start.simulation));
  if (!search.canBegin()) {
    return best;
  }
  int64_t most = std::min(moves, kLeastMoves + kMovesPerPair * coarse.count() * coarse.count());
  SearchLimit limit(problem.search, most / LoadSearch::kMovesPerUnit);
  int64_t round = kFirstMoves * coarse.count();
  for (int i = 0; !limit.spent() && search.bestNs() > bound; ++i) {
    round *= i > 0 && i % LoadSearch::kKindsOfRounds == 0 ? 2 : 1;
    if (!search.anneal(round, bound, limit)) {
      continue;
    }
    GR_ASSIGN_OR_RETURN(TriedPlacement tried,
                        tryDevices(problem, coarse.deviceByNode(search.best()), strategy));
    if (tried.feasible.ok()) {
      best = std::move(tried.result);
      device = search.best();
      search.reserve(reservedBytes(best.simulation));
      continue;
    }
    std::vector<int64_t> reserved = excessBytes(problem, tried.result.simulation);
    for (size_t d = 0; d < reserved.size(); ++d) {
      reserved[d] += search.reserved()[d];
    }
    search.reserve(std::move(reserved));
    search.restart(device);
  }
  return best;
}

}  // namespace graphrun::placement
