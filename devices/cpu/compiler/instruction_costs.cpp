#include "devices/cpu/compiler/instruction_costs.h"

#include <algorithm>
#include <limits>

#include "devices/cpu/compiler/instruction_estimate.h"
#include "runtime/base/clock.h"

namespace graphrun::devices::cpu {
namespace {

constexpr double kPlacedNanos = 1;
/// A way that an estimate puts so much behind the best one is not tried.
constexpr double kHopelessFactor = 3;
constexpr double kHopelessNanos = 50'000;
/// An instruction that takes longer on one thread gains by more of them.
constexpr double kShortNanos = 10'000;
Candidate candidateOf(const Alternative& way) { return {way.kernel, way.choice}; }

}  // namespace

InstructionCosts::InstructionCosts(Tuning& tuning, int threads)
    : tuning_(tuning),
      threads_(threads),
      leftNanos_(static_cast<int64_t>(tuning.budgetNanos)),
      timings_(tuning.timings) {
  tuning_.complete = true;
}

int InstructionCosts::threadsOf(const Instruction& instruction) const {
  if (isDeterministic()) {
    return 1;
  }
  return instruction.threads == 0 ? threads_ : static_cast<int>(instruction.threads);
}

bool InstructionCosts::isShort(const Instruction& instruction, const Candidate& candidate) const {
  return threads_ > 1 && estimateNanos(instruction, candidate, 1) < kShortNanos;
}

double InstructionCosts::estimate(const Alternative& way) const {
  return way.parts.empty()
             ? estimateNanos(way.instruction, candidateOf(way), threadsOf(way.instruction))
             : kPlacedNanos;
}

void InstructionCosts::judge(std::vector<Alternative>& ways) {
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

bool InstructionCosts::measure(std::vector<Alternative>& ways) {
  std::vector<double> nanos;
  for (const Alternative& way : ways) {
    std::optional<double> known =
        timings_.find(way.instruction, way.kernel->name, threadsOf(way.instruction));
    if (!known) {
      known = measureOne(way);
      if (!known) {
        return false;
      }
      timings_.add(way.instruction, way.kernel->name, threadsOf(way.instruction), *known);
      measured_ = true;
    }
    nanos.push_back(*known);
  }
  for (size_t i = 0; i < ways.size(); ++i) {
    ways[i].nanos = nanos[i];
  }
  return true;
}

std::optional<double> InstructionCosts::measureOne(const Alternative& way) {
  if (leftNanos_ <= 0) {
    return std::nullopt;
  }
  int64_t begin = runtime::nowNanos();
  absl::StatusOr<double> nanos = timer_.run(way.instruction, candidateOf(way));
  leftNanos_ -= runtime::nowNanos() - begin;
  return nanos.ok() ? std::optional(*nanos) : std::nullopt;
}

double InstructionCosts::reorderNanos(const TensorDesc& desc) const {
  return moveNanos(desc, threads_);
}

void InstructionCosts::finish() {
  if (measured_) {
    tuning_.timings = timings_.text();
  }
}

}  // namespace graphrun::devices::cpu
