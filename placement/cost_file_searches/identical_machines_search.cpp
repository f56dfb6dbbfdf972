#include <algorithm>
#include <cmath>
#include <functional>
#include <random>
#include <utility>

#include "placement/cost_file_searches/identical_machines.h"

namespace graphrun::placement {
namespace {

/// Makes list schedules, one after the other in the same memory.
class Lister {
 public:
  explicit Lister(const MachineProblem& problem) : p_(problem) {
    schedule_.start.resize(problem.duration.size());
  }

  const MachineSchedule& run(const std::vector<double>& priority) {
    missing_.clear();
    for (int i = 0; i < p_.taskCount(); ++i) {
      missing_.push_back(static_cast<int>(p_.before[i].size()));
      if (missing_.back() == 0) {
        push(ready_, {priority[static_cast<size_t>(i)], i}, std::less<>());
      }
    }
    schedule_.end = 0;
    int64_t now = 0;
    int idle = p_.machines;
    while (!ready_.empty() || !running_.empty()) {
      for (; idle > 0 && !ready_.empty(); --idle) {
        int task = pop(ready_, std::less<>()).second;
        schedule_.start[static_cast<size_t>(task)] = now;
        push(running_, {now + p_.duration[static_cast<size_t>(task)], task}, std::greater<>());
      }
      now = running_.front().first;
      schedule_.end = now;
      for (; !running_.empty() && running_.front().first == now; ++idle) {
        int done = pop(running_, std::greater<>()).second;
        for (int next : p_.after[done]) {
          if (--missing_[static_cast<size_t>(next)] == 0) {
            push(ready_, {priority[static_cast<size_t>(next)], next}, std::less<>());
          }
        }
      }
    }
    return schedule_;
  }

 private:
  template <typename T, typename Order>
  static void push(std::vector<T>& heap, T value, Order order) {
    heap.push_back(value);
    std::push_heap(heap.begin(), heap.end(), order);
  }
  template <typename T, typename Order>
  static T pop(std::vector<T>& heap, Order order) {
    std::pop_heap(heap.begin(), heap.end(), order);
    T value = heap.back();
    heap.pop_back();
    return value;
  }

  const MachineProblem& p_;
  std::vector<int> missing_;
  std::vector<std::pair<double, int>> ready_;     // the highest priority first
  std::vector<std::pair<int64_t, int>> running_;  // the first to end first
  MachineSchedule schedule_;
};

}  // namespace

MachineSchedule searchPriorities(const MachineProblem& problem, int64_t bound, uint64_t seed,
                                 SearchLimit& limit) {
  constexpr int kRestartEvery = 3000;  // from the best one
  std::vector<double> priority;
  priority.reserve(problem.duration.size());
  for (size_t i = 0; i < problem.duration.size(); ++i) {
    priority.push_back(static_cast<double>(problem.tail[i] + problem.duration[i]));
  }
  Lister lister(problem);
  MachineSchedule best = lister.run(priority);
  std::vector<double> bestPriority = priority;
  std::vector<double> tried = priority;
  int64_t end = best.end;
  std::mt19937_64 random(seed);
  auto pick = [&] { return random() % priority.size(); };
  auto uniform = [&] { return std::uniform_real_distribution<double>(0, 1)(random); };
  for (int i = 1; best.end > bound && !limit.spend(); ++i) {
    double scale = 0.3 * static_cast<double>(bound) * uniform();
    tried = priority;
    for (uint64_t changes = 1 + random() % 3; changes > 0; --changes) {
      double& one = tried[pick()];
      one = random() % 2 == 0 ? tried[pick()] + uniform() - 0.5 : one + scale * (2 * uniform() - 1);
    }
    const MachineSchedule& found = lister.run(tried);
    // Equals are taken, to move on; a worse one rarely, and the less the worse it is.
    double worse = static_cast<double>(found.end - end);
    double patience = 0.3 + 0.004 * static_cast<double>(bound);
    if (found.end <= end || uniform() < 0.05 * std::exp(-worse / patience)) {
      end = found.end;
      std::swap(priority, tried);
      if (end < best.end) {
        best = found;
        bestPriority = priority;
      }
    }
    if (i % kRestartEvery == 0) {
      priority = bestPriority;
      end = best.end;
    }
  }
  return best;
}

}  // namespace graphrun::placement
