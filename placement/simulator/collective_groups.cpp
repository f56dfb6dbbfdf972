#include "placement/simulator/collective_groups.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <string>

namespace graphrun::placement {
namespace {

/// A protocol of the library over a ring: what it takes at all, and for each hop, within a machine
/// and between machines; and how much of a link's rate it reaches.
struct Protocol {
  double startNs;
  double innerHopNs;
  double outerHopNs;
  double share;
};

/// NCCL's LL, whose words carry a flag each, and Simple.
constexpr Protocol kProtocols[] = {{6'600, 1'000, 2'700, 0.25}, {8'400, 4'000, 9'600, 1.0}};

/// Members of each device follow each other, as many of each: what lowerCollectives asks, too.
bool isInOrder(const std::vector<int>& deviceOfMember) {
  std::set<int> seen;
  size_t length = 0;  // of the first run
  for (size_t begin = 0; begin < deviceOfMember.size();) {
    size_t end = begin;
    while (end < deviceOfMember.size() && deviceOfMember[end] == deviceOfMember[begin]) {
      ++end;
    }
    length = begin == 0 ? end : length;
    if (end - begin != length || !seen.insert(deviceOfMember[begin]).second) {
      return false;
    }
    begin = end;
  }
  return true;
}

}  // namespace

CollectiveGroups::CollectiveGroups(const CostGraph& graph, const Cluster& cluster,
                                   const LinkTable& links)
    : graph_(graph), cluster_(cluster) {
  const auto count = static_cast<int>(cluster.devices.size());
  std::map<std::string, int> machines;
  for (int from = 0; from < count && !empty(); ++from) {
    const std::string host = cluster.hostOf(cluster.devices[static_cast<size_t>(from)].worker);
    const auto next = static_cast<int>(machines.size());
    machineOf_.push_back(machines.try_emplace(host, next).first->second);
    for (int to = 0; to < count; ++to) {
      rate_.push_back(
          from == to ? 0 : links.link(links.id(from, to)).model.fastest().bytesPerSecond / 1e9);
    }
  }
}

void CollectiveGroups::insert(int device, std::vector<int>& devices) {
  auto found = std::lower_bound(devices.begin(), devices.end(), device);
  if (found == devices.end() || *found != device) {
    devices.insert(found, device);
  }
}

bool CollectiveGroups::canHold(const CollectiveGroup& collective,
                               const std::vector<int>& deviceOfMember) const {
  auto libraryOf = [&](int d) -> const std::string& {
    return cluster_.devices[static_cast<size_t>(d)].library;
  };
  const int first = deviceOfMember.front();
  bool isApart = false;
  for (int device : deviceOfMember) {
    isApart = isApart || device != first;
    if (libraryOf(device).empty() || libraryOf(device) != libraryOf(first)) {
      return false;
    }
  }
  return isApart && (!collective.ordered || isInOrder(deviceOfMember));
}

int64_t CollectiveGroups::measuredNs(int collective, const std::vector<int>& devices) const {
  const auto& known = graph_.collectives[static_cast<size_t>(collective)].measuredNs;
  int64_t least = -1;
  for (int device : devices) {
    int64_t ns = known.empty() ? -1 : known[devices.size() - 2][static_cast<size_t>(device)];
    least = ns >= 0 && (least < 0 || ns < least) ? ns : least;
  }
  return least;
}

int64_t CollectiveGroups::ns(int collective, const std::vector<int>& devices) const {
  if (int64_t known = measuredNs(collective, devices); known >= 0) {
    return known;
  }
  const CollectiveGroup& held = graph_.collectives[static_cast<size_t>(collective)];
  std::set<int> machines;
  double rate = std::numeric_limits<double>::infinity();  // of the slowest link, bytes a ns
  for (size_t i = 0; i < devices.size(); ++i) {
    const auto from = static_cast<size_t>(devices[i]);
    const auto to = static_cast<size_t>(devices[(i + 1) % devices.size()]);
    machines.insert(machineOf_[from]);
    rate = std::min(rate, rate_[from * machineOf_.size() + to]);
  }
  const auto count = static_cast<double>(devices.size());
  const double hops = held.rounds * (count - 1);
  const double outer = held.rounds * static_cast<double>(machines.size() - 1);
  const double carried = static_cast<double>(held.bytes) * hops / count;
  double best = std::numeric_limits<double>::infinity();
  for (const Protocol& protocol : kProtocols) {
    best = std::min(best, protocol.startNs + (hops - outer) * protocol.innerHopNs +
                              outer * protocol.outerHopNs + carried / (rate * protocol.share));
  }
  return static_cast<int64_t>(std::ceil(best));
}

}  // namespace graphrun::placement
