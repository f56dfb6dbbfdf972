#include "tests/placement/planted.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <numeric>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "tests/placement/build.h"

namespace graphrun::placement::testing {
namespace {

constexpr int64_t kPlantedMeanNs = 10'000;

struct Task {
  int device;
  int64_t start;
  int64_t finish;
};

class Planter {
 public:
  explicit Planter(const PlantedOptions& options) : options_(options), random_(options.seed) {}

  Planted run() {
    makeCluster();
    cutIntoTasks();
    addNodes();
    addEdges();
    if (!planted_.graph.finish(options_.devices).ok()) {
      std::abort();  // a bug above
    }
    plantedPlacement();
    return std::move(planted_);
  }

 private:
  int64_t uniform(int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random_);
  }
  size_t count() const { return tasks_.size(); }

  void makeCluster() {
    planted_.cluster = simpleCluster(options_.devices);
    for (LinkOverride& link : planted_.cluster.links) {
      link.latencyNs = 0;
      link.queues = options_.queues;
    }
  }

  void cutIntoTasks() {
    int each = options_.tasks / options_.devices;
    planted_.optimumNs = each * kPlantedMeanNs;
    for (int d = 0; d < options_.devices; ++d) {
      std::set<int64_t> cuts = {0, planted_.optimumNs};
      while (static_cast<int>(cuts.size()) <= each) {
        cuts.insert(uniform(1, planted_.optimumNs - 1));
      }
      for (auto cut = cuts.begin(); std::next(cut) != cuts.end(); ++cut) {
        tasks_.push_back({d, *cut, *std::next(cut)});
      }
    }
    std::shuffle(tasks_.begin(), tasks_.end(), random_);  // ids say nothing
  }

  void addNodes() {
    for (size_t i = 0; i < count(); ++i) {
      std::vector<int64_t> times;
      for (int d = 0; d < options_.devices; ++d) {
        double factor = std::uniform_real_distribution<double>(1, options_.slowdown)(random_);
        int64_t ns = tasks_[i].finish - tasks_[i].start;
        times.push_back(d == tasks_[i].device ? ns
                                              : std::llround(static_cast<double>(ns) * factor));
      }
      addNode(planted_.graph, absl::StrCat("task", i), std::move(times));
    }
  }

  std::vector<std::pair<size_t, size_t>> drawEdges() {
    auto wanted = static_cast<size_t>(options_.edgesPerTask * static_cast<double>(count()));
    std::set<std::pair<size_t, size_t>> seen;
    std::vector<std::pair<size_t, size_t>> edges;
    for (size_t tries = 0; tries < 100 * wanted && edges.size() < wanted; ++tries) {
      auto from = static_cast<size_t>(uniform(0, static_cast<int64_t>(count()) - 1));
      auto to = static_cast<size_t>(uniform(0, static_cast<int64_t>(count()) - 1));
      if (tasks_[from].finish <= tasks_[to].start && seen.insert({from, to}).second) {
        edges.emplace_back(from, to);
      }
    }
    return edges;
  }

  void addEdges() {
    std::vector<std::pair<size_t, size_t>> edges = drawEdges();
    std::sort(edges.begin(), edges.end(), [&](const auto& a, const auto& b) {  // as they leave
      return std::pair(tasks_[a.first].finish, a) < std::pair(tasks_[b.first].finish, b);
    });
    std::map<std::pair<int, int>, int64_t> freeAt;
    for (auto [from, to] : edges) {
      const Task& a = tasks_[from];
      const Task& b = tasks_[to];
      auto ns = uniform(0, std::llround(2 * options_.ccr * static_cast<double>(kPlantedMeanNs)));
      if (a.device != b.device) {
        int64_t& free = freeAt[{a.device, b.device}];
        int64_t start = options_.queues ? std::max(free, a.finish) : a.finish;
        if (start > b.start) {
          continue;
        }
        LinkModel link = planted_.cluster.link(a.device, b.device);
        ns = std::min(ns, b.start - start);
        ns -= ns > 0 && link.transferNs(ns) > b.start - start ? 1 : 0;  // it rounds up
        free = start + link.transferNs(ns);
      }
      addTensor(planted_.graph, static_cast<int>(from), {static_cast<int>(to)}, ns);
    }
  }

  void plantedPlacement() {
    std::vector<int> order(count());
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(), [&](int a, int b) {
      return tasks_[static_cast<size_t>(a)].start < tasks_[static_cast<size_t>(b)].start;
    });
    for (const Task& task : tasks_) {
      planted_.placement.device.push_back(task.device);
    }
    planted_.placement.setOrder(order);
    planted_.placement.strategy = "planted";
  }

  PlantedOptions options_;
  std::mt19937_64 random_;
  Planted planted_;
  std::vector<Task> tasks_;
};

}  // namespace

Planted plant(const PlantedOptions& options) { return Planter(options).run(); }

}  // namespace graphrun::placement::testing
