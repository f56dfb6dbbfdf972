#include "devices/cpu/compiler/step_costs.h"

#include <algorithm>
#include <limits>

#include "devices/cpu/compiler/step_estimate.h"
#include "runtime/base/clock.h"

namespace graphrun::devices::cpu {
namespace {

constexpr double kPlacedNanos = 1;
/// A way that an estimate puts so much behind the best one is not tried.
constexpr double kHopelessFactor = 3;
constexpr double kHopelessNanos = 50'000;
/// A step that takes longer on one thread gains by more of them.
constexpr double kShortNanos = 10'000;
Candidate candidateOf(const Alternative& way) { return {way.kernel, way.choice}; }

}  // namespace

StepCosts::StepCosts(Tuning& tuning, int threads)
    : tuning_(tuning),
      threads_(threads),
      leftNanos_(static_cast<int64_t>(tuning.budgetNanos)),
      timings_(tuning.timings) {
  tuning_.complete = true;
}

int StepCosts::threadsOf(const Step& step) const {
  if (isDeterministic()) {
    return 1;
  }
  return step.threads == 0 ? threads_ : static_cast<int>(step.threads);
}

bool StepCosts::isShort(const Step& step, const Candidate& candidate) const {
  return threads_ > 1 && estimateNanos(step, candidate, 1) < kShortNanos;
}

double StepCosts::estimate(const Alternative& way) const {
  return way.parts.empty() ? estimateNanos(way.step, candidateOf(way), threadsOf(way.step))
                           : kPlacedNanos;
}

void StepCosts::judge(std::vector<Alternative>& ways) {
  double best = std::numeric_limits<double>::infinity();
  for (Alternative& way : ways) {
    way.nanos = estimate(way);
    best = std::min(best, way.nanos);
  }
  std::erase_if(ways, [&](const Alternative& way) {
    return way.nanos > std::max(kHopelessFactor * best, best + kHopelessNanos);
  });
  // What only places its operands takes no time; what copies instead is behind in any case.
  bool free = std::any_of(ways.begin(), ways.end(),
                          [](const Alternative& way) { return !way.parts.empty(); });
  if (ways.size() > 1 && !free && !isDeterministic() && !measure(ways)) {
    tuning_.complete = false;
  }
}

bool StepCosts::measure(std::vector<Alternative>& ways) {
  std::vector<double> nanos;
  for (const Alternative& way : ways) {
    std::optional<double> known = timings_.find(way.step, way.kernel->name, threadsOf(way.step));
    if (!known) {
      known = measureOne(way);
      if (!known) {
        return false;
      }
      timings_.add(way.step, way.kernel->name, threadsOf(way.step), *known);
      measured_ = true;
    }
    nanos.push_back(*known);
  }
  for (size_t i = 0; i < ways.size(); ++i) {
    ways[i].nanos = nanos[i];
  }
  return true;
}

std::optional<double> StepCosts::measureOne(const Alternative& way) {
  if (leftNanos_ <= 0) {
    return std::nullopt;
  }
  int64_t begin = runtime::nowNanos();
  absl::StatusOr<double> nanos = timer_.run(way.step, candidateOf(way));
  leftNanos_ -= runtime::nowNanos() - begin;
  return nanos.ok() ? std::optional(*nanos) : std::nullopt;
}

double StepCosts::reorderNanos(const TensorDesc& desc) const { return moveNanos(desc, threads_); }

void StepCosts::finish() {
  if (measured_) {
    tuning_.timings = timings_.text();
  }
}

}  // namespace graphrun::devices::cpu
