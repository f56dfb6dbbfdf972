#include "placement/bounds/lower_bounds.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>

#include "placement/cost_graph/longest_paths.h"

namespace graphrun::placement {

namespace {

int64_t fastestAlone(const PlacementProblem& problem, int node) {
  int64_t best = kUnlimited;
  for (int device : problem.constraints.unit(node).allowed) {
    best = std::min(best, problem.graph().node(node).timeNs[static_cast<size_t>(device)]);
  }
  return best;
}

/// Calls `visit` with the nodes of each work, of which one at least must run.
template <typename Visit>
void forWorks(const CostGraph& graph, const Visit& visit) {
  for (int n = 0; n < graph.nodeCount(); ++n) {
    if (graph.node(n).isOwn()) {
      visit(absl::MakeConstSpan(&n, 1));
    }
  }
  for (const SharedWork& work : graph.shared) {
    bool mayUseLibrary = std::any_of(work.nodes.begin(), work.nodes.end(),
                                     [&](int n) { return graph.node(n).collective >= 0; });
    if (!work.onlyApart && !mayUseLibrary) {
      visit(absl::MakeConstSpan(work.nodes));
    }
  }
}

/// The search for prices takes at most so many rounds, and looks at so many nodes times classes in
/// all.
constexpr size_t kPriceRounds = 100;
constexpr size_t kPriceWork = 10'000'000;
constexpr double kRounding = 1e-9;

int lanesOf(const PlacementProblem& problem, int device) {
  return problem.cluster().devices[static_cast<size_t>(device)].lanes;
}

/// `ns` of work on so many lanes; 0: any number.
int64_t spread(int64_t ns, int64_t lanes) { return lanes == 0 ? 0 : (ns + lanes - 1) / lanes; }

int64_t longestPath(const PlacementProblem& problem) {
  const CostGraph& graph = problem.graph();
  auto fastest = [&](int n) { return fastestNs(problem, n); };
  std::vector<int64_t> finish = pathsFromBegin<int64_t>(graph, fastest, kNoEdge).whole;
  return finish.empty() ? 0 : *std::max_element(finish.begin(), finish.end());
}

int64_t workOfAll(const PlacementProblem& problem) {
  const CoreTable& cores = problem.simulator.cores();
  int64_t lanes = 0;
  for (int core = 0; core < cores.count(); ++core) {
    lanes += lanesOf(problem, cores.devices(core).front());
  }
  int64_t total = 0;
  forWorks(problem.graph(), [&](absl::Span<const int> nodes) {
    int64_t least = kUnlimited;
    for (int n : nodes) {
      const std::vector<int>& allowed = problem.constraints.unit(n).allowed;
      bool counts = std::all_of(allowed.begin(), allowed.end(),
                                [&](int device) { return lanesOf(problem, device) > 0; });
      least = counts ? std::min(least, fastestAlone(problem, n)) : 0;
    }
    total += least;
  });
  return spread(total, lanes);
}

/// The nodes of a unit run on one device, whichever it is.
int64_t largestUnit(const PlacementProblem& problem) {
  int64_t largest = 0;
  for (const Unit& unit : problem.constraints.units) {
    int64_t best = kUnlimited;
    for (int device : unit.allowed) {
      int64_t ns = 0;
      for (int n : unit.nodes) {
        const CostNode& node = problem.graph().node(n);
        ns += node.isOwn() ? node.timeNs[static_cast<size_t>(device)] : 0;
      }
      best = std::min(best, spread(ns, lanesOf(problem, device)));
    }
    largest = std::max(largest, best);
  }
  return largest;
}

/// Devices on which every node takes the same time of the same pools.
struct DeviceClass {
  int device = 0;
  std::vector<size_t> pools;
};

/// A pool is what a node has while it runs: one of its lanes. It is a core that devices share, or
/// all cores of a class of devices that share none.
struct DeviceClasses {
  std::vector<DeviceClass> classes;
  std::vector<double> lanes;  // by pool
};

/// Splits each class where the devices' values differ.
void splitClasses(const std::vector<int64_t>& values, std::vector<int>& ofDevice) {
  std::map<std::pair<int, int64_t>, int> parts;
  for (size_t d = 0; d < values.size(); ++d) {
    auto next = static_cast<int>(parts.size());
    ofDevice[d] = parts.try_emplace({ofDevice[d], values[d]}, next).first->second;
  }
}

std::vector<int> classByDevice(const PlacementProblem& problem) {
  const CostGraph& graph = problem.graph();
  auto devices = static_cast<size_t>(problem.deviceCount());
  std::vector<int> ofDevice(devices, 0);
  const CoreTable& cores = problem.simulator.cores();
  for (int core = 0; core < cores.count(); ++core) {
    if (absl::Span<const int> sharing = cores.devices(core); sharing.size() > 1) {
      std::vector<int64_t> having(devices, 0);
      for (int device : sharing) {
        having[static_cast<size_t>(device)] = 1;
      }
      splitClasses(having, ofDevice);
    }
  }
  std::vector<int64_t> times(devices);
  std::vector<int64_t> ofClass(devices);
  for (int n = 0; n < graph.nodeCount(); ++n) {
    times.assign(devices, kUnsupported);
    for (int device : problem.constraints.unit(n).allowed) {
      auto d = static_cast<size_t>(device);
      times[d] = graph.node(n).timeNs[d];
    }
    for (size_t d = 0; d < devices; ++d) {
      ofClass[static_cast<size_t>(ofDevice[d])] = times[d];
    }
    bool same = true;
    for (size_t d = 0; d < devices; ++d) {
      same = same && times[d] == ofClass[static_cast<size_t>(ofDevice[d])];
    }
    if (!same) {
      splitClasses(times, ofDevice);
    }
  }
  return ofDevice;
}

DeviceClasses classesOf(const PlacementProblem& problem) {
  const CoreTable& cores = problem.simulator.cores();
  DeviceClasses result;
  std::vector<int> ofDevice = classByDevice(problem);
  std::map<int, size_t> poolOf;                      // by shared core
  for (int d = 0; d < problem.deviceCount(); ++d) {  // classes are numbered by their first device
    auto of = static_cast<size_t>(ofDevice[static_cast<size_t>(d)]);
    bool isNew = of == result.classes.size();
    if (isNew) {
      result.classes.push_back({d, {}});
    }
    std::vector<size_t>& pools = result.classes[of].pools;
    if (!cores.isShared(d)) {
      if (isNew) {
        pools.push_back(result.lanes.size());
        result.lanes.push_back(0);
      }
      result.lanes[pools.front()] += lanesOf(problem, d);
      continue;
    }
    for (int core : cores.of(d)) {
      auto [entry, isFirst] = poolOf.try_emplace(core, result.lanes.size());
      if (isFirst) {
        result.lanes.push_back(1);
      }
      if (isNew) {
        pools.push_back(entry->second);
      }
    }
  }
  return result;
}

/// Returns the time of all nodes when each lane of pool p costs price[p], each node where it is
/// cheapest; `use` is set to the time that each pool is then in use.
double cheapestWork(const PlacementProblem& problem, const DeviceClasses& all,
                    const std::vector<double>& price, std::vector<double>& use) {
  const std::vector<DeviceClass>& classes = all.classes;
  std::vector<double> priceOf;  // by class
  priceOf.reserve(classes.size());
  for (const DeviceClass& entry : classes) {
    priceOf.push_back(std::accumulate(entry.pools.begin(), entry.pools.end(), 0.0,
                                      [&](double sum, size_t pool) { return sum + price[pool]; }));
  }
  double sum = 0;
  use.assign(all.lanes.size(), 0);
  forWorks(problem.graph(), [&](absl::Span<const int> nodes) {
    double least = std::numeric_limits<double>::infinity();
    std::pair<size_t, double> where;
    for (int n : nodes) {
      const std::vector<int64_t>& times = problem.graph().node(n).timeNs;
      const Unit& unit = problem.constraints.unit(n);
      bool anywhere = unit.allowed.size() == times.size();
      for (size_t k = 0; k < classes.size(); ++k) {
        if (anywhere || unit.allows(classes[k].device)) {
          auto ns = static_cast<double>(times[static_cast<size_t>(classes[k].device)]);
          if (ns * priceOf[k] < least) {
            least = ns * priceOf[k];
            where = {k, ns};
          }
        }
      }
    }
    sum += least;
    for (size_t pool : classes[where.first].pools) {
      use[pool] += where.second;
    }
  });
  return sum;
}

/// The work when the nodes, cut at will, are spread so that all lanes end together, from below: the
/// dual of that linear program, whose prices are raised where the work would be too much. Any
/// prices give a bound: what a node has of pools, at their prices, is no less than where it is
/// cheapest, and all together have no more than the pools for the whole step.
int64_t spreadOverClasses(const PlacementProblem& problem) {
  DeviceClasses all = classesOf(problem);
  const std::vector<double>& lanes = all.lanes;
  bool unlimited = std::find(lanes.begin(), lanes.end(), 0) != lanes.end();
  size_t work = problem.graph().nodes.size() * all.classes.size();
  if (unlimited || lanes.size() == 1 || work == 0) {
    return 0;
  }
  size_t rounds = std::min(kPriceRounds, kPriceWork / work + 1);
  std::vector<double> price(lanes.size(), 1);
  std::vector<double> use;
  double best = 0;
  for (size_t round = 0; round < rounds; ++round) {
    double offered = std::inner_product(price.begin(), price.end(), lanes.begin(), 0.0);
    double bound = cheapestWork(problem, all, price, use) / offered;
    best = std::max(best, bound);
    for (size_t p = 0; p < lanes.size() && bound > 0; ++p) {
      double excess = std::min(use[p] / lanes[p] / bound - 1, 1.0);
      price[p] *= std::exp(excess / std::sqrt(static_cast<double>(round) + 1));
    }
  }
  // Rounding errors of the sum must not pass for work.
  return static_cast<int64_t>(best * (1 - kRounding));
}

}  // namespace

int64_t fastestNs(const PlacementProblem& problem, int node) {
  return problem.graph().node(node).isOwn() ? fastestAlone(problem, node) : 0;
}

LowerBounds lowerBounds(const PlacementProblem& problem) {
  LowerBounds bounds;
  bounds.criticalPathNs = problem.objective == Objective::kLatency ? longestPath(problem) : 0;
  bounds.workNs = std::max(workOfAll(problem), spreadOverClasses(problem));
  bounds.unitNs = largestUnit(problem);
  bounds.overheadNs = problem.objective == Objective::kLatency
                          ? problem.simulator.starts().leastNs(problem.graph())
                          : 0;
  return bounds;
}

int64_t boundOf(const PlacementProblem& problem, const PlacementResult& result) {
  return result.boundNs > 0 ? result.boundNs : lowerBounds(problem).ns();
}

}  // namespace graphrun::placement
