#include "placement/search/local_moves.h"

#include <algorithm>
#include <utility>

namespace graphrun::placement {
namespace {

/// Larger groups stay where they are.
constexpr size_t kLargestGroup = 256;
/// A node is moved by at most so many ranks, and another one for it is looked for no further.
constexpr int kFarthest = 2048;
constexpr int kNear = 64;

}  // namespace

LocalMoves::LocalMoves(const PlacementProblem& problem, std::vector<Constraints> levels,
                       uint64_t seed)
    : problem_(problem),
      graph_(problem.graph()),
      flat_(problem.simulator.flat()),
      levels_(std::move(levels)),
      random_(seed) {}

void LocalMoves::use(Schedule& schedule) {
  schedule_ = &schedule;
  criticalIsOld_ = true;
  if (ResidentMemory::mayBind(problem_)) {
    memory_.emplace(problem_, schedule.placement(""));
    live_.emplace(problem_);
  }
  useWindow();
}

void LocalMoves::useWindow() {
  if (live_.has_value()) {
    live_->use(*schedule_);
  }
}

double LocalMoves::overrun() {
  if (!memory_.has_value() || !live_.has_value()) {
    return 0;
  }
  const std::vector<int64_t>& live = live_->peaks();
  double sum = 0;
  for (int d = 0; d < problem_.deviceCount(); ++d) {
    const int64_t limit = problem_.limits[static_cast<size_t>(d)];
    const int64_t bytes = memory_->bytes(d) + live[static_cast<size_t>(d)];
    sum += bytes <= limit ? 0
                          : static_cast<double>(bytes - limit) /
                                static_cast<double>(std::max<int64_t>(limit, 1));
  }
  return sum;
}

double LocalMoves::uniform() {
  constexpr int kBits = 53;
  return static_cast<double>(random_() >> (64 - kBits)) / static_cast<double>(uint64_t{1} << kBits);
}

bool LocalMoves::propose() {
  constexpr int kOrderShare = 3;  // of ten
  int node = pickNode();
  return below(10) < kOrderShare ? changeRank(node) : changeDevice(node);
}

void LocalMoves::keep() {
  schedule_->keep();
  criticalIsOld_ = true;
  if (memory_.has_value()) {
    memory_->keep();
  }
}

void LocalMoves::undo() {
  schedule_->undo();
  if (memory_.has_value()) {
    memory_->undo();
  }
}

void LocalMoves::save(Snapshot& snapshot) const {
  auto [first, last] = schedule_->window();
  snapshot.clear();
  for (int r = first; r < last; ++r) {
    int node = schedule_->nodeAt(r);
    snapshot.emplace_back(node, schedule_->device(node));
  }
}

void LocalMoves::restore(const Snapshot& snapshot) {
  int rank = schedule_->window().first;
  for (auto [node, device] : snapshot) {  // what is before a node is in its place already
    schedule_->setRank(node, rank);
    setDevice(node, device);
    ++rank;
  }
  keep();
}

int LocalMoves::pickNode() {
  auto [first, last] = schedule_->window();
  if (below(2) == 0) {
    return schedule_->nodeAt(first + below(last - first));
  }
  if (criticalIsOld_) {
    critical_ = schedule_->criticalNodes();
    criticalIsOld_ = false;
  }
  return critical_.empty()
             ? schedule_->nodeAt(first + below(last - first))
             : critical_[static_cast<size_t>(below(static_cast<int>(critical_.size())))];
}

const Unit& LocalMoves::pickGroup(int node) {
  const Unit& group =
      levels_[static_cast<size_t>(below(static_cast<int>(levels_.size())))].unit(node);
  return group.nodes.size() <= kLargestGroup ? group : levels_.front().unit(node);
}

/// When a tensor is, or could be, on a device, transfers of others aside.
int64_t LocalMoves::arrival(int t, int device) const {
  const CostTensor& tensor = graph_.tensor(t);
  int home = tensor.producer < 0 ? tensor.inputHome : schedule_->device(tensor.producer);
  int64_t ready = tensor.producer < 0 ? 0 : schedule_->time(tensor.producer).finish;
  const LinkTable& links = problem_.simulator.links();
  return home == device ? ready
                        : ready + links.link(links.id(home, device)).model.transferNs(tensor.bytes);
}

/// Returns where the order by starts would have a node, as far as the order of all allows.
int LocalMoves::rankFor(int node) const {
  int64_t start = 0;
  for (int t : flat_.inputs(node)) {
    start = std::max(start, arrival(t, schedule_->device(node)));
  }
  auto [first, last] = schedule_->rankRange(node);
  first = std::max(first, schedule_->rank(node) - kFarthest);
  last = std::min(last, schedule_->rank(node) + kFarthest);
  while (first < last) {
    int middle = first + (last - first) / 2;
    bool before = schedule_->time(schedule_->nodeAt(middle)).start < start;
    (before ? first : last) = before ? middle + 1 : middle;
  }
  return first;
}

/// In front of what runs before it, or anywhere near.
bool LocalMoves::changeRank(int node) {
  auto [first, last] = schedule_->rankRange(node);
  int rank = schedule_->rank(node);
  int before = schedule_->nodeBefore(node);
  int wanted = rank;
  if (below(2) == 0 && before >= 0) {
    wanted = schedule_->rank(before);
  } else {
    first = std::max(first, rank - kNear);
    last = std::min(last, rank + kNear);
    wanted = first + below(last - first + 1);
  }
  wanted = std::clamp(wanted, std::max(first, rank - kFarthest), std::min(last, rank + kFarthest));
  schedule_->setRank(node, wanted);
  return wanted != rank;
}

/// The device of one that a node of the group reads from or sends to, rather over a heavy edge.
std::optional<int> LocalMoves::neighbourDevice(const Unit& group) {
  int node = group.nodes[static_cast<size_t>(below(static_cast<int>(group.nodes.size())))];
  auto inputs = static_cast<int>(flat_.inputs(node).size());
  auto edges = inputs + static_cast<int>(flat_.outputs(node).size());
  auto draw = [&] {
    int edge = below(edges);
    return edge < inputs ? flat_.inputs(node)[static_cast<size_t>(edge)]
                         : flat_.outputs(node)[static_cast<size_t>(edge - inputs)];
  };
  if (edges == 0) {
    return std::nullopt;
  }
  int t = draw();
  int other = draw();
  t = graph_.tensor(other).bytes > graph_.tensor(t).bytes ? other : t;
  const CostTensor& tensor = graph_.tensor(t);
  int neighbour = tensor.producer;
  if (tensor.producer == node) {
    auto uses = flat_.uses(t);
    neighbour =
        uses.empty() ? -1 : uses[static_cast<size_t>(below(static_cast<int>(uses.size())))].node;
  }
  return neighbour < 0 ? std::nullopt : std::optional(schedule_->device(neighbour));
}

bool LocalMoves::changeDevice(int node) {
  constexpr int kAnyShare = 3;  // of ten; the others go to a neighbour's
  constexpr int kExchangeShare = 3;
  const Unit& group = pickGroup(node);
  int from = schedule_->device(node);
  int any = group.allowed[static_cast<size_t>(below(static_cast<int>(group.allowed.size())))];
  int to = below(10) < kAnyShare ? any : neighbourDevice(group).value_or(any);
  if (to == from || !group.allows(to) || !isMovable(group)) {
    return false;
  }
  int near = schedule_->rank(node);
  move(group, to);
  if (below(10) < kExchangeShare) {
    exchange(to, from, near, group);
  }
  return !memory_.has_value() || memory_->fits();
}

/// Moves a group of a node near a rank from one device to another.
bool LocalMoves::exchange(int from, int to, int near, const Unit& except) {
  auto [begin, end] = schedule_->window();
  int first = std::max(begin, near - kNear);
  int last = std::min(end - 1, near + kNear);
  for (int tries = 0; tries < kNear; ++tries) {
    int node = schedule_->nodeAt(first + below(last - first + 1));
    if (schedule_->device(node) != from ||
        std::binary_search(except.nodes.begin(), except.nodes.end(), node)) {
      continue;
    }
    const Unit& group = pickGroup(node);
    bool apart = std::none_of(group.nodes.begin(), group.nodes.end(), [&](int n) {
      return std::binary_search(except.nodes.begin(), except.nodes.end(), n);
    });
    if (apart && group.allows(to) && isMovable(group)) {
      move(group, to);
      return true;
    }
  }
  return false;
}

/// Returns whether all of it is in the window.
bool LocalMoves::isMovable(const Unit& group) const {
  auto [first, last] = schedule_->window();
  return std::all_of(group.nodes.begin(), group.nodes.end(),
                     [&, first = first, last = last](int n) {
                       return schedule_->rank(n) >= first && schedule_->rank(n) < last;
                     });
}

void LocalMoves::setDevice(int node, int device) {
  bool moves = schedule_->device(node) != device;
  schedule_->setDevice(node, device);
  if (moves && memory_.has_value()) {
    memory_->move(node, device);
  }
}

/// All nodes of a group to a device, each in time.
void LocalMoves::move(const Unit& group, int device) {
  byRank_ = group.nodes;
  std::sort(byRank_.begin(), byRank_.end(),
            [&](int a, int b) { return schedule_->rank(a) < schedule_->rank(b); });
  for (int node : byRank_) {
    setDevice(node, device);
  }
  if (below(4) == 0) {
    return;
  }
  for (int node : byRank_) {
    schedule_->setRank(node, rankFor(node));
  }
}

}  // namespace graphrun::placement
