#include "placement/simulator/step_start.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace graphrun::placement {

int64_t nanosOf(const std::vector<StepStart>& known, int workers, int64_t bytes) {
  auto above = std::find_if(known.begin(), known.end(),
                            [&](const StepStart& start) { return start.workers >= workers; });
  if (above == known.end()) {
    return known.back().start.transferNs(bytes);
  }
  const int64_t most = above->start.transferNs(bytes);
  if (above == known.begin() || above->workers == workers) {
    return most;
  }
  const StepStart& below = *(above - 1);
  const int64_t least = below.start.transferNs(bytes);
  const double part = static_cast<double>(workers - below.workers) /
                      static_cast<double>(above->workers - below.workers);
  return least + std::llround(part * static_cast<double>(most - least));
}

StepStarts::StepStarts(const Cluster& cluster, const LinkTable& links)
    : cluster_(cluster), isHandedOut_(links.links().size(), 0) {
  for (const Device& device : cluster.devices) {
    toldFor_.push_back(cluster.isInClient(device.worker) ? -1 : device.worker);
  }
  const auto count = static_cast<int>(cluster.devices.size());
  for (int from = kClient; from < count && !empty(); ++from) {
    for (int to = 0; to < count; ++to) {
      bool isClients = from == kClient || toldFor(from) < 0;
      if (from != to && isClients && toldFor(to) >= 0) {
        isHandedOut_[static_cast<size_t>(links.id(from, to))] = 1;
      }
    }
  }
}

int64_t StepStarts::ns(int workers, int64_t bytes) const {
  return workers == 0 || empty() ? 0 : nanosOf(cluster_.stepStarts, workers, bytes);
}

int64_t StepStarts::leastNs(const CostGraph& graph) const {
  const bool mayStay =
      std::any_of(toldFor_.begin(), toldFor_.end(), [](int worker) { return worker < 0; });
  if (empty() || mayStay || graph.nodes.empty()) {
    return 0;
  }
  int64_t bytes = 0;
  for (const CostTensor& tensor : graph.tensors) {
    const bool isHandedOut =
        tensor.producer < 0 && tensor.inputHome == kClient && !tensor.consumers.empty();
    bytes += isHandedOut ? tensor.bytes : 0;
  }
  // Between numbers of workers that are known the time lies between theirs; more bytes may be sent
  // in a faster way, but not in less than the fastest line takes.
  int64_t least = std::numeric_limits<int64_t>::max();
  for (const StepStart& start : cluster_.stepStarts) {
    least = std::min(least, start.start.fastest().nanos(bytes));
  }
  return least;
}

}  // namespace graphrun::placement
