#include "devices/cpu/compiler/instruction_costs.h"

#include <algorithm>
#include <limits>

#include "devices/cpu/compiler/instruction_estimate.h"
#include "runtime/base/clock.h"

namespace graphrun::devices::cpu {
namespace {

constexpr double kPlacedNanos = 1;
/// A candidate that an estimate puts so much behind the best one is not tried.
constexpr double kHopelessFactor = 3;
constexpr double kHopelessNanos = 50'000;
/// An instruction that takes longer on one thread gains by more of them.
constexpr double kShortNanos = 10'000;
Candidate candidateOf(const WorkCandidate& candidate) {
  return {candidate.kernel, candidate.choice};
}

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

double InstructionCosts::estimate(const WorkCandidate& candidate) const {
  return candidate.parts.empty() ? estimateNanos(candidate.instruction, candidateOf(candidate),
                                                 threadsOf(candidate.instruction))
                                 : kPlacedNanos;
}

void InstructionCosts::judge(std::vector<WorkCandidate>& candidates) {
  double best = std::numeric_limits<double>::infinity();
  for (WorkCandidate& candidate : candidates) {
    candidate.nanos = estimate(candidate);
    best = std::min(best, candidate.nanos);
  }
  std::erase_if(candidates, [&](const WorkCandidate& candidate) {
    return candidate.nanos > std::max(kHopelessFactor * best, best + kHopelessNanos);
  });
  // What only places its operands takes no time; what copies instead is behind in any case.
  bool free = std::any_of(candidates.begin(), candidates.end(),
                          [](const WorkCandidate& candidate) { return !candidate.parts.empty(); });
  if (candidates.size() > 1 && !free && !isDeterministic() && !measure(candidates)) {
    tuning_.complete = false;
  }
}

bool InstructionCosts::measure(std::vector<WorkCandidate>& candidates) {
  std::vector<double> nanos;
  for (const WorkCandidate& candidate : candidates) {
    std::optional<double> known = timings_.find(candidate.instruction, candidate.kernel->name,
                                                threadsOf(candidate.instruction));
    if (!known) {
      known = measureOne(candidate);
      if (!known) {
        return false;
      }
      timings_.add(candidate.instruction, candidate.kernel->name, threadsOf(candidate.instruction),
                   *known);
      measured_ = true;
    }
    nanos.push_back(*known);
  }
  for (size_t i = 0; i < candidates.size(); ++i) {
    candidates[i].nanos = nanos[i];
  }
  return true;
}

std::optional<double> InstructionCosts::measureOne(const WorkCandidate& candidate) {
  if (leftNanos_ <= 0) {
    return std::nullopt;
  }
  int64_t begin = runtime::nowNanos();
  absl::StatusOr<double> nanos = timer_.run(candidate.instruction, candidateOf(candidate));
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
