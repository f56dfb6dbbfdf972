#include "placement/throughput/load_search.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

namespace graphrun::placement {
namespace {

constexpr double kForbidden = std::numeric_limits<double>::infinity();
/// Energies by which a move may be worse, at the beginning of rounds in turns and at their end; the
/// busiest devices have about 1 each. The hot ones forget where they began: coarse nodes that are
/// large beside what a device has in all do not move otherwise.
constexpr std::array<double, LoadSearch::kKindsOfRounds> kHot = {0.3, 10};
constexpr double kCold = 0.002;

}  // namespace

LoadSearch::LoadSearch(const PlacementProblem& problem, const CoarseGraph& coarse, bool staged,
                       SearchGoal& goal, std::vector<int> device, std::vector<int64_t> reserved)
    : problem_(problem),
      coarse_(coarse),
      staged_(staged),
      goal_(goal),
      reserved_(std::move(reserved)),
      stage_(problem.limits.size(), 0),
      random_(problem.search.seed) {
  restart(std::move(device));
}

bool LoadSearch::canBegin() {
  return !staged_ || orderDevices(DeviceLoads(problem_, coarse_, best_));
}

void LoadSearch::restart(std::vector<int> device) {
  best_ = std::move(device);
  DeviceLoads loads(problem_, coarse_, best_);
  goal_.energy(loads);
  bestNs_ = goal_.ns(loads);
}

/// Sets `stage_` to an order in which every device comes behind those that it reads from, the rest
/// of it drawn; false if there is none.
bool LoadSearch::orderDevices(const DeviceLoads& loads) {
  size_t count = stage_.size();
  std::vector<std::vector<bool>> leads(count, std::vector<bool>(count, false));
  std::vector<int> missing(count, 0);
  for (int p = 0; p < coarse_.count(); ++p) {
    auto from = static_cast<size_t>(loads.device(p));
    for (int other : coarse_.after[p]) {
      auto to = static_cast<size_t>(loads.device(other));
      if (from != to && !leads[from][to]) {
        leads[from][to] = true;
        ++missing[to];
      }
    }
  }
  std::vector<size_t> ready;
  for (size_t d = 0; d < count; ++d) {
    if (missing[d] == 0) {
      ready.push_back(d);
    }
  }
  int stage = 0;
  while (!ready.empty()) {
    std::swap(ready[static_cast<size_t>(pick(ready.size()))], ready.back());
    size_t device = ready.back();
    ready.pop_back();
    stage_[device] = stage++;
    for (size_t to = 0; to < count; ++to) {
      if (leads[device][to] && --missing[to] == 0) {
        ready.push_back(to);
      }
    }
  }
  return stage == static_cast<int>(count);
}

/// All coarse nodes on one device, from where they may spread over the others in any order; as in
/// the best placement if no device may have all.
std::vector<int> LoadSearch::gathered() {
  int device = pick(problem_.limits.size());
  bool may =
      std::all_of(coarse_.nodes.begin(), coarse_.nodes.end(), [&](const CoarseNode& coarseNode) {
        return std::binary_search(coarseNode.allowed.begin(), coarseNode.allowed.end(), device);
      });
  return may ? std::vector<int>(best_.size(), device) : best_;
}

bool LoadSearch::mayGo(int coarseNode, int to, const DeviceLoads& loads) const {
  const std::vector<int>& allowed = coarse_.node(coarseNode).allowed;
  auto stage = [&](int device) { return stage_[static_cast<size_t>(device)]; };
  auto tooLate = [&](int other) { return stage(loads.device(other)) > stage(to); };
  auto tooEarly = [&](int other) { return stage(loads.device(other)) < stage(to); };
  auto before = coarse_.before[coarseNode];
  auto after = coarse_.after[coarseNode];
  return std::binary_search(allowed.begin(), allowed.end(), to) &&
         (!staged_ || (std::none_of(before.begin(), before.end(), tooLate) &&
                       std::none_of(after.begin(), after.end(), tooEarly)));
}

/// Returns where the coarse node might go: to a neighbour, or anywhere.
int LoadSearch::target(int coarseNode, const DeviceLoads& loads) {
  constexpr uint64_t kAnywhere = 4;  // of so many moves one
  auto touching = coarse_.touching[coarseNode];
  if (touching.empty() || random_() % kAnywhere == 0) {
    const std::vector<int>& allowed = coarse_.node(coarseNode).allowed;
    return allowed[static_cast<size_t>(pick(allowed.size()))];
  }
  const CoarseTensor& tensor =
      coarse_.tensors[static_cast<size_t>(touching[static_cast<size_t>(pick(touching.size()))])];
  bool toProducer = tensor.consumers.empty() || (tensor.producer >= 0 && random_() % 2 == 0);
  return loads.device(toProducer
                          ? tensor.producer
                          : tensor.consumers[static_cast<size_t>(pick(tensor.consumers.size()))]);
}

int64_t LoadSearch::overBytes(const DeviceLoads& loads) const {
  int64_t over = 0;
  for (int d = 0; d < problem_.deviceCount(); ++d) {
    auto i = static_cast<size_t>(d);
    if (problem_.limits[i] != kUnlimited) {
      over += std::max<int64_t>(loads.fixedBytes(d) + reserved_[i] - problem_.limits[i], 0);
    }
  }
  return over;
}

bool LoadSearch::anneal(int64_t moves, int64_t bound, SearchLimit& limit) {
  size_t turn = round_++ % kHot.size();
  DeviceLoads loads(problem_, coarse_, staged_ && turn > 0 ? gathered() : best_);
  if (staged_ && !orderDevices(loads)) {
    return false;
  }
  loads.setScale(std::max<int64_t>(bestNs_, 1));
  double energy = goal_.energy(loads);
  int64_t over = overBytes(loads);
  double heat = kHot[turn];
  double cooling =
      std::pow(kCold / heat, static_cast<double>(kMovesPerUnit) / static_cast<double>(moves));
  bool found = false;
  for (int64_t i = 0; i < moves && bestNs_ > bound; ++i) {
    if (i % kMovesPerUnit == 0) {
      if (limit.spend()) {
        return found;
      }
      heat *= cooling;
    }
    int coarseNode = pick(coarse_.nodes.size());
    int from = loads.device(coarseNode);
    int to = target(coarseNode, loads);
    if (to == from || !mayGo(coarseNode, to, loads)) {
      continue;
    }
    loads.move(coarseNode, to);
    int64_t nowOver = overBytes(loads);
    double now = nowOver > over ? kForbidden : goal_.energy(loads);
    double chance = static_cast<double>(random_() >> 11) * 0x1p-53;
    if (now > energy && chance >= std::exp((energy - now) / heat)) {
      loads.move(coarseNode, from);
      continue;
    }
    over = nowOver;
    energy = now;
    if (int64_t ns = over > 0 ? bestNs_ : goal_.ns(loads); ns < bestNs_) {
      bestNs_ = ns;
      best_ = loads.devices();
      found = true;
    }
  }
  return found;
}

}  // namespace graphrun::placement
