#include "tests/placement/large_graphs.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <random>
#include <utility>
#include <vector>

#include "tests/placement/build.h"

namespace graphrun::placement::testing {
namespace {

constexpr int kMeanNs = 20'000;
constexpr double kBytesPerSecond = 1e9;

class Builder {
 public:
  explicit Builder(const LargeOptions& options) : options_(options), random_(options.seed) {
    for (int d = 0; d < options.devices; ++d) {
      slowness_.push_back(uniform(1, 3));
    }
  }

  LargeGraph layered() {
    int width = std::min(2 * options_.devices, options_.nodes);
    std::vector<int> before;
    while (count() < options_.nodes) {
      std::vector<int> layer;
      for (int i = 0; i < width; ++i) {
        layer.push_back(node(drawTime(), before, below(3) + 1));
      }
      before = std::move(layer);
    }
    return finish();
  }

  LargeGraph blocks() {
    std::vector<std::vector<int>> branches;  // times of their nodes
    for (int b = 2 + below(4); b > 0; --b) {
      branches.emplace_back();
      for (int n = 1 + below(4); n > 0; --n) {
        branches.back().push_back(drawTime());
      }
    }
    std::vector<int> heads(static_cast<size_t>(std::max(1, options_.devices / 4)));
    for (int& head : heads) {
      head = node(kMeanNs, {}, 0);
    }
    for (int block = 1; count() < options_.nodes; ++block) {
      std::vector<int> last = heads;
      for (size_t t = 0; t < heads.size(); ++t) {
        std::vector<int> reads = {last[t]};
        if (block % 8 == 0) {
          reads.push_back(last[(t + 1) % last.size()]);
        }
        heads[t] = addBlock(branches, reads);
      }
    }
    return finish();
  }

 private:
  double uniform(double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(random_);
  }
  int below(int count) { return static_cast<int>(random_() % static_cast<uint64_t>(count)); }
  int count() const { return made_.graph.nodeCount(); }
  int drawTime() { return 1'000 + below(2 * (kMeanNs - 1'000)); }

  /// A node that reads so many of `from`, some perhaps twice, and the tensor that it makes.
  int node(int ns, const std::vector<int>& from, int reads) {
    std::vector<int64_t> times;
    times.reserve(slowness_.size());
    for (double slowness : slowness_) {
      times.push_back(std::llround(ns * slowness * uniform(0.9, 1.1)));
    }
    int added = addNode(made_.graph, absl::StrCat("n", count()), std::move(times));
    double most = 2 * options_.ccr * kMeanNs * kBytesPerSecond / 1e9;
    addTensor(made_.graph, added, {}, std::llround(uniform(0, most)));
    for (int i = 0; i < reads && !from.empty(); ++i) {
      size_t producer = reads == static_cast<int>(from.size())
                            ? static_cast<size_t>(i)
                            : static_cast<size_t>(below(static_cast<int>(from.size())));
      made_.graph.tensors[static_cast<size_t>(from[producer])].consumers.push_back(added);
    }
    return added;
  }
  int nodeOf(int ns, const std::vector<int>& from) {
    return node(ns, from, static_cast<int>(from.size()));
  }

  int addBlock(const std::vector<std::vector<int>>& branches, const std::vector<int>& reads) {
    std::vector<int> ends;
    for (const std::vector<int>& times : branches) {
      std::vector<int> at = reads;
      for (int ns : times) {
        at = {nodeOf(ns, at)};
      }
      ends.push_back(at.front());
    }
    return nodeOf(kMeanNs / 4, {nodeOf(kMeanNs / 4, ends), reads.front()});
  }

  LargeGraph finish() {
    Cluster& cluster = made_.cluster;
    for (int d = 0; d < options_.devices; ++d) {
      if (d % 2 == 0) {
        Worker worker;
        worker.name = absl::StrCat("w", d / 2);
        worker.address = absl::StrCat("10.0.0.", d / 2 + 1, ":7070");
        worker.devicesGiven = true;
        cluster.workers.push_back(std::move(worker));
      }
      cluster.workers.back().specs.emplace_back();
      cluster.workers.back().specs.back().cores = {d % 2};
    }
    auto workers = static_cast<int>(cluster.workers.size());
    for (int a = kClient; a < workers; ++a) {
      for (int b = a + 1; b < workers; ++b) {
        cluster.links.push_back({a, b, 1'000, kBytesPerSecond});
      }
    }
    cluster.rebuildDevices();
    if (!made_.graph.finish(options_.devices).ok()) {
      std::abort();  // a bug above
    }
    return std::move(made_);
  }

  LargeOptions options_;
  std::mt19937_64 random_;
  std::vector<double> slowness_;  // by device
  LargeGraph made_;
};

}  // namespace

LargeGraph layeredGraph(const LargeOptions& options) { return Builder(options).layered(); }

LargeGraph blockGraph(const LargeOptions& options) { return Builder(options).blocks(); }

}  // namespace graphrun::placement::testing
