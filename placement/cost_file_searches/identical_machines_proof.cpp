// Branch and bound for P | prec | Cmax.
#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "placement/cost_file_searches/identical_machines.h"

namespace graphrun::placement {
namespace {

using TaskSet = std::array<uint64_t, kMostProved / 64>;

bool holds(const TaskSet& set, int task) {
  auto t = static_cast<size_t>(task);
  return (set[t / 64] >> (t % 64) & 1) != 0;
}

void add(TaskSet& set, int task) {
  auto t = static_cast<size_t>(task);
  set[t / 64] |= uint64_t{1} << (t % 64);
}

struct Running {
  int64_t end;
  int task;
};

/// Looks for a schedule that ends by `end`.
///
/// It is enough to begin tasks at time 0 and at ends of others, since a task that begins at another
/// time can begin sooner. At such a time every subset of the ready tasks that fits on the idle
/// machines may begin; one that is passed over while a machine stays idle for as long as it takes
/// could have run there, so that such a gap need not be looked at.
class Finder {
 public:
  enum class Answer { kFound, kNone, kUnknown };

  /// Looks at no more than `states`.
  Finder(const MachineProblem& problem, int64_t end, int64_t states, SearchLimit& limit)
      : p_(problem), statesLeft_(states), limit_(limit), ends_(problem.duration.size(), kOpen) {
    int64_t work = std::accumulate(p_.duration.begin(), p_.duration.end(), int64_t{0});
    spare_ = p_.machines * end - work;
    for (size_t i = 0; i < p_.duration.size(); ++i) {
      latest_.push_back(end - p_.tail[i] - p_.duration[i]);
      urgent_.push_back(static_cast<int>(i));
    }
    std::stable_sort(urgent_.begin(), urgent_.end(), [&](int a, int b) {
      return latest_[static_cast<size_t>(a)] < latest_[static_cast<size_t>(b)];
    });
    earliest_.resize(p_.duration.size());
  }

  Answer run() {
    bool found = decide(0, {}, {}, 0);
    return found ? Answer::kFound : stopped_ ? Answer::kUnknown : Answer::kNone;
  }
  /// After kFound.
  MachineSchedule schedule() const {
    MachineSchedule schedule;
    for (size_t i = 0; i < ends_.size(); ++i) {
      schedule.start.push_back(ends_[i] - p_.duration[i]);
      schedule.end = std::max(schedule.end, ends_[i]);
    }
    return schedule;
  }

 private:
  static constexpr int64_t kOpen = -1;
  static constexpr int64_t kForever = std::numeric_limits<int64_t>::max();
  /// A state that leads nowhere: when it was reached and what was running then.
  struct Failure {
    int64_t time;
    std::vector<Running> running;
  };

  bool mustStop() {
    stopped_ = stopped_ || --statesLeft_ < 0 || limit_.spend();
    return stopped_;
  }

  /// All ways on from `now`, when something has just ended.
  bool decide(int64_t now, const TaskSet& begun, const std::vector<Running>& running,
              int64_t idle) {
    if (mustStop()) {
      return false;
    }
    if (begunCount_ == p_.taskCount()) {
      return true;
    }
    if (idle > spare_ || isKnown(now, begun, running) || !mayEnd(now, begun, running)) {
      return false;
    }
    std::vector<int> ready;
    for (int task : urgent_) {
      if (!holds(begun, task) && isReady(task, now)) {
        ready.push_back(task);
      }
    }
    if (choose(now, begun, running, idle, ready, 0, kForever)) {
      return true;
    }
    remember(now, begun, running);
    return false;
  }

  bool isReady(int task, int64_t now) const {
    return std::all_of(p_.before[task].begin(), p_.before[task].end(), [&](int b) {
      int64_t end = ends_[static_cast<size_t>(b)];
      return end != kOpen && end <= now;
    });
  }

  /// Begins ready[next] or not, and so on; `passed` is the least duration of those that were passed
  /// over.
  bool choose(int64_t now, const TaskSet& begun, const std::vector<Running>& running, int64_t idle,
              const std::vector<int>& ready, size_t next, int64_t passed) {
    auto machines = static_cast<int64_t>(running.size());
    if (machines == p_.machines || next == ready.size()) {
      return goOn(now, begun, running, idle, passed);
    }
    int task = ready[next];
    auto t = static_cast<size_t>(task);
    TaskSet more = begun;
    add(more, task);
    std::vector<Running> with = running;
    with.push_back({now + p_.duration[t], task});
    ends_[t] = now + p_.duration[t];
    ++begunCount_;
    if (choose(now, more, with, idle, ready, next + 1, passed)) {
      return true;
    }
    --begunCount_;
    ends_[t] = kOpen;
    return latest_[t] > now && !stopped_ &&
           choose(now, begun, running, idle, ready, next + 1, std::min(passed, p_.duration[t]));
  }

  /// To the next end of a task.
  bool goOn(int64_t now, const TaskSet& begun, const std::vector<Running>& running, int64_t idle,
            int64_t passed) {
    int64_t then = kForever;
    for (const Running& one : running) {
      then = std::min(then, one.end);
    }
    auto gaps = p_.machines - static_cast<int64_t>(running.size());
    if (running.empty() || (gaps > 0 && passed <= then - now)) {
      return false;
    }
    std::vector<Running> left;
    std::copy_if(running.begin(), running.end(), std::back_inserter(left),
                 [&](const Running& one) { return one.end > then; });
    return decide(then, begun, left, idle + gaps * (then - now));
  }

  /// False when a task must begin too late, or a stretch of time from now or from a task's earliest
  /// start on is overloaded.
  bool mayEnd(int64_t now, const TaskSet& begun, const std::vector<Running>& running) {
    constexpr int64_t kThoroughEvery = 8;
    open_.clear();
    points_.clear();
    starts_.assign(1, now);
    for (int i = 0; i < p_.taskCount(); ++i) {
      auto t = static_cast<size_t>(i);
      if (holds(begun, i)) {
        continue;
      }
      earliest_[t] = now;
      for (int b : p_.before[i]) {
        auto other = static_cast<size_t>(b);
        earliest_[t] =
            std::max(earliest_[t],
                     ends_[other] != kOpen ? ends_[other] : earliest_[other] + p_.duration[other]);
      }
      if (earliest_[t] > latest_[t]) {
        return false;
      }
      open_.push_back(i);
      points_.insert(points_.end(), {latest_[t], latest_[t] + p_.duration[t]});
      if (statesLeft_ % kThoroughEvery == 0) {
        starts_.push_back(earliest_[t]);
      }
    }
    for (std::vector<int64_t>* list : {&points_, &starts_}) {
      std::sort(list->begin(), list->end());
      list->erase(std::unique(list->begin(), list->end()), list->end());
    }
    return std::all_of(starts_.begin(), starts_.end(), [&](int64_t from) {
      return std::all_of(points_.begin(), points_.end(), [&](int64_t to) {
        return to <= from || load(from, to, running) <= p_.machines * (to - from);
      });
    });
  }

  /// Returns the work that must run between two times.
  int64_t load(int64_t from, int64_t to, const std::vector<Running>& running) const {
    int64_t load = 0;
    for (const Running& one : running) {
      load += std::max<int64_t>(0, std::min(one.end, to) - from);
    }
    for (int i : open_) {
      auto t = static_cast<size_t>(i);
      load +=
          std::max<int64_t>(0, std::min({p_.duration[t], to - from,
                                         earliest_[t] + p_.duration[t] - from, to - latest_[t]}));
    }
    return load;
  }

  /// Returns whether a state with the same tasks begun that was no later in anything led nowhere.
  bool isKnown(int64_t now, const TaskSet& begun, const std::vector<Running>& running) const {
    auto found = failures_.find(begun);
    return found != failures_.end() &&
           std::any_of(found->second.begin(), found->second.end(), [&](const Failure& failure) {
             return failure.time <= now &&
                    std::all_of(failure.running.begin(), failure.running.end(),
                                [&](const Running& one) { return noLater(one, now, running); });
           });
  }
  static bool noLater(const Running& one, int64_t now, const std::vector<Running>& running) {
    return one.end <= now || std::any_of(running.begin(), running.end(), [&](const Running& other) {
             return other.task == one.task && one.end <= other.end;
           });
  }

  void remember(int64_t now, const TaskSet& begun, const std::vector<Running>& running) {
    constexpr size_t kMostRemembered = 2'000'000;
    if (!stopped_ && remembered_ < kMostRemembered) {
      failures_[begun].push_back({now, running});
      ++remembered_;
    }
  }

  const MachineProblem& p_;
  int64_t statesLeft_;
  SearchLimit& limit_;
  int64_t spare_;                // idle time that the schedule may have
  std::vector<int64_t> latest_;  // start by task
  std::vector<int> urgent_;      // tasks by latest_
  std::vector<int64_t> ends_;    // by task that has begun
  int begunCount_ = 0;
  absl::flat_hash_map<TaskSet, std::vector<Failure>> failures_;
  size_t remembered_ = 0;
  bool stopped_ = false;
  // Scratch of mayEnd.
  std::vector<int64_t> earliest_;
  std::vector<int> open_;
  std::vector<int64_t> points_;
  std::vector<int64_t> starts_;
};

MachineSchedule turnedBack(const MachineProblem& problem, const MachineSchedule& schedule) {
  MachineSchedule turned;
  turned.end = schedule.end;
  for (size_t i = problem.duration.size(); i-- > 0;) {
    size_t mirrored = problem.duration.size() - 1 - i;
    turned.start.push_back(schedule.end - schedule.start[i] - problem.duration[mirrored]);
  }
  return turned;
}

}  // namespace

MachineProof proveMachine(const MachineProblem& problem, MachineSchedule known, int64_t bound,
                          SearchLimit& limit) {
  constexpr int64_t kFirstStates = 10'000;
  MachineProof proof{std::move(known), bound};
  if (problem.taskCount() > kMostProved) {
    return proof;
  }
  const MachineProblem backwards = problem.reversed();
  int64_t states = kFirstStates;
  bool isBack = false;
  while (proof.bound < proof.best.end && !limit.spent()) {
    const MachineProblem& turned = isBack ? backwards : problem;
    Finder finder(turned, proof.best.end - 1, states, limit);
    Finder::Answer answer = finder.run();
    if (answer == Finder::Answer::kFound) {
      proof.best = isBack ? turnedBack(problem, finder.schedule()) : finder.schedule();
    } else if (answer == Finder::Answer::kNone) {
      proof.bound = proof.best.end;
    } else {
      isBack = !isBack;
      states = isBack ? states : 3 * states;
    }
  }
  return proof;
}

}  // namespace graphrun::placement
