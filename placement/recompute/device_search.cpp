#include "placement/recompute/device_search.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

namespace graphrun::placement {
namespace {

/// So many tensors are tried, best first, before the search gives a peak up.
constexpr size_t kMostTries = 64;
/// An input of at most this part of a tensor stays, rather than being made again for it.
constexpr int64_t kSmallPart = 16;

size_t at(int index) { return static_cast<size_t>(index); }

/// The last position before `peak` at which a range is read or made.
int lastBefore(const LiveRange& range, int peak) {
  auto next = std::lower_bound(range.uses.begin(), range.uses.end(), peak);
  return next == range.uses.begin() ? range.begin : *(next - 1);
}

/// The first reading behind `peak`; -1: none.
int firstBehind(const LiveRange& range, int peak) {
  auto next = std::upper_bound(range.uses.begin(), range.uses.end(), peak);
  return next == range.uses.end() ? -1 : *next;
}

}  // namespace

bool DeviceSearch::run() {
  std::vector<int> best = step_.nodes();
  int64_t least = step_.peakBytes();
  while (!fits() && (evictOne() || evictSegments())) {
    if (step_.peakBytes() < least) {
      least = step_.peakBytes();
      best = step_.nodes();
    }
  }
  if (!fits()) {
    step_.setNodes(std::move(best));
    return false;
  }
  dropNeedless();
  return true;
}

bool DeviceSearch::evictOne() {
  const std::vector<Option> options = optionsAt(step_.peak());
  for (size_t i = 0; i < std::min(options.size(), kMostTries); ++i) {
    if (tryNodes(with(options[i]))) {
      dropLaterOnes(options[i]);
      return true;
    }
  }
  return false;
}

/// Makes the tensors leave that lie at the peak and may, but for some √n of n.
bool DeviceSearch::evictSegments() {
  const int peak = step_.peak();
  std::vector<int> tensors;  // in the order in which they are made
  for (const Option& option : optionsAt(peak)) {
    tensors.push_back(step_.ranges()[at(option.range)].tensor);
  }
  std::sort(tensors.begin(), tensors.end(), [&](int a, int b) {
    return std::pair(step_.rank(step_.producer(a)), a) <
           std::pair(step_.rank(step_.producer(b)), b);
  });
  tensors.erase(std::unique(tensors.begin(), tensors.end()), tensors.end());
  const auto segment =
      static_cast<size_t>(std::ceil(std::sqrt(static_cast<double>(tensors.size()))));
  const std::vector<int> before = step_.nodes();
  const int64_t bytes = step_.peakBytes();
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (i % segment != 0) {
      // What runs again stands behind the peak, which stays where it is.
      std::vector<Option> options;
      addOption(step_.rangeAt(tensors[i], peak), peak, /*mayStay=*/false, options);
      if (!options.empty()) {
        step_.setNodes(with(options.front()));
      }
    }
  }
  if (step_.peakBytes() < bytes) {
    return true;
  }
  step_.setNodes(before);
  return false;
}

/// The tensors that lie unused at a peak and may leave, best first.
std::vector<DeviceSearch::Option> DeviceSearch::optionsAt(int peak) const {
  std::vector<Option> options;
  for (size_t r = 0; r < step_.ranges().size(); ++r) {
    const LiveRange& range = step_.ranges()[r];
    if (range.begin < peak && range.end > peak && step_.mayLeave(range.tensor) &&
        !std::binary_search(range.uses.begin(), range.uses.end(), peak)) {
      addOption(static_cast<int>(r), peak, /*mayStay=*/true, options);
      addOption(static_cast<int>(r), peak, /*mayStay=*/false, options);
    }
  }
  std::stable_sort(options.begin(), options.end(),
                   [](const Option& a, const Option& b) { return a.gain > b.gain; });
  return options;
}

/// `mayStay`: what is needed to make the tensor again stays where it is there at the peak anyway.
void DeviceSearch::addOption(int range, int peak, bool mayStay,
                             std::vector<Option>& options) const {
  if (range < 0) {
    return;
  }
  const LiveRange& live = step_.ranges()[at(range)];
  Option option;
  option.range = range;
  option.before = firstBehind(live, peak);
  const int64_t freed = option.before < 0 ? 0 : collect(peak, mayStay, option);
  if (freed <= 0) {
    return;
  }
  int64_t ns = 1;
  for (int node : option.again) {
    ns += step_.timeNs(node);
  }
  option.gain = excessIn(lastBefore(live, peak), option.before, freed) / static_cast<double>(ns);
  options.push_back(std::move(option));
}

/// Finds the nodes that make the tensor of `option` again: its producer, and theirs of what is gone
/// by then and does not stay. Returns the bytes that go at the peak, 0 or less where none do.
int64_t DeviceSearch::collect(int peak, bool mayStay, Option& option) const {
  const int tensor = step_.ranges()[at(option.range)].tensor;
  const int64_t bytes = step_.bytes(tensor);
  int64_t freed = bytes;
  std::set<int> kept;
  std::set<std::pair<int, int>> open;  // nodes by rank, the last one next
  auto need = [&](int node) { open.emplace(step_.rank(node), node); };
  need(step_.producer(tensor));
  while (!open.empty() && freed > 0) {
    const int node = std::prev(open.end())->second;
    open.erase(std::prev(open.end()));
    option.again.push_back(node);
    for (int input : step_.localInputs(node)) {
      const LiveRange& live = step_.ranges()[at(step_.rangeAt(input, option.before))];
      if (live.end >= option.before || (mayStay && live.end >= peak)) {
        continue;
      }
      const bool isSmall = step_.bytes(input) <= bytes / kSmallPart;
      const int producer = step_.producer(input);
      if (!isSmall && step_.mayRepeat(producer)) {
        need(producer);
      } else if (kept.insert(input).second && live.end < peak) {
        freed -= step_.bytes(input);
      }
    }
  }
  std::reverse(option.again.begin(), option.again.end());
  return freed;
}

/// Returns how much of the memory beyond the limit, by ns, goes with so many bytes between two
/// positions.
double DeviceSearch::excessIn(int from, int to, int64_t bytes) const {
  double sum = 0;
  for (int i = from + 1; i < to; ++i) {
    const int64_t excess = step_.memory()[at(i)] - limit_;
    if (excess > 0) {
      const int64_t ns = std::max<int64_t>(1, step_.timeNs(step_.nodes()[at(i)]));
      sum += static_cast<double>(std::min(excess, bytes)) * static_cast<double>(ns);
    }
  }
  return sum;
}

std::vector<int> DeviceSearch::with(const Option& option) const {
  std::vector<int> nodes = step_.nodes();
  nodes.insert(nodes.begin() + option.before, option.again.begin(), option.again.end());
  return nodes;
}

/// Takes the list if its peak is lower, or as high at fewer positions.
bool DeviceSearch::tryNodes(std::vector<int> nodes) {
  std::vector<int> before = step_.nodes();
  const auto height = [&] { return std::pair(step_.peakBytes(), step_.peakCount()); };
  const auto old = height();
  step_.setNodes(std::move(nodes));
  if (height() < old) {
    return true;
  }
  step_.setNodes(std::move(before));
  return false;
}

/// Lets nodes that ran again at a later position run at this one only, where that does not add to
/// what is beyond the limit.
void DeviceSearch::dropLaterOnes(const Option& option) {
  const int behind = option.before + static_cast<int>(option.again.size());
  for (int node : option.again) {
    std::vector<int> nodes = step_.nodes();
    auto later = std::find(nodes.begin() + behind, nodes.end(), node);
    if (later == nodes.end()) {
      continue;
    }
    const double excess = excessIn(-1, static_cast<int>(step_.size()), kUnlimited);
    const int64_t peak = step_.peakBytes();
    std::vector<int> before = nodes;
    nodes.erase(later);
    step_.setNodes(std::move(nodes));
    if (step_.peakBytes() > peak ||
        excessIn(-1, static_cast<int>(step_.size()), kUnlimited) > excess) {
      step_.setNodes(std::move(before));
    }
  }
}

/// Takes repetitions back, those that take most first, as far as the limit allows.
void DeviceSearch::dropNeedless() {
  const std::vector<int> all = step_.nodes();
  const std::vector<bool> again = step_.repetitions();
  std::vector<size_t> positions;
  for (size_t i = 0; i < all.size(); ++i) {
    if (again[i]) {
      positions.push_back(i);
    }
  }
  std::stable_sort(positions.begin(), positions.end(),
                   [&](size_t a, size_t b) { return step_.timeNs(all[a]) > step_.timeNs(all[b]); });
  std::vector<bool> dropped(all.size(), false);
  auto without = [&] {
    std::vector<int> nodes;
    for (size_t i = 0; i < all.size(); ++i) {
      if (!dropped[i]) {
        nodes.push_back(all[i]);
      }
    }
    return nodes;
  };
  for (size_t position : positions) {
    dropped[position] = true;
    step_.setNodes(without());
    dropped[position] = fits();
  }
  step_.setNodes(without());
}

}  // namespace graphrun::placement
