#include "devices/cpu/compiler/step_costs.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "devices/cpu/compiler/step_estimate.h"
#include "devices/cpu/onednn_layouts.h"
#include "runtime/base/clock.h"

namespace graphrun::devices::cpu {
namespace {

constexpr double kPlacedNanos = 1;
/// A way that an estimate puts so much behind the best one is not tried.
constexpr double kHopelessFactor = 3;
constexpr double kHopelessNanos = 50'000;
/// Greatest difference from the other ways' results, as a share of the largest of them. The error
/// of f32 Winograd convolutions is some 1e-5 (Lavin and Gray, "Fast Algorithms for Convolutional
/// Neural Networks", 2016); ONNX's own tests allow 1e-3.
constexpr float kMostDeviation = 2e-4F;

bool isApproximate(const Alternative& way) { return way.step.attributes.contains("algorithm"); }

bool deviates(const std::vector<float>& result, const std::vector<float>& expected) {
  float largest = 0;
  float difference = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    largest = std::max(largest, std::abs(expected[i]));
    difference = std::max(difference, std::abs(result[i] - expected[i]));
  }
  return !(difference <= kMostDeviation * largest);
}

Candidate candidateOf(const Alternative& way) { return {way.kernel, way.choice}; }

}  // namespace

StepCosts::StepCosts(Tuning& tuning, int threads)
    : tuning_(tuning),
      threads_(threads),
      leftNanos_(static_cast<int64_t>(tuning.budgetNanos)),
      timings_(tuning.timings) {
  tuning_.complete = true;
}

void StepCosts::judge(std::vector<Alternative>& ways) {
  double best = std::numeric_limits<double>::infinity();
  for (Alternative& way : ways) {
    way.nanos =
        way.parts.empty() ? estimateNanos(way.step, candidateOf(way), threads_) : kPlacedNanos;
    best = std::min(best, way.nanos);
  }
  std::erase_if(ways, [&](const Alternative& way) {
    return way.nanos > std::max(kHopelessFactor * best, best + kHopelessNanos);
  });
  // What only places its operands takes no time; what copies instead is behind in any case.
  bool free = std::any_of(ways.begin(), ways.end(),
                          [](const Alternative& way) { return !way.parts.empty(); });
  bool estimates = tuning_.numerics == runtime::Numerics::kDeterministic;
  if (ways.size() > 1 && !free && !estimates && !measure(ways)) {
    tuning_.complete = false;
  }
}

bool StepCosts::measure(std::vector<Alternative>& ways) {
  // What is exact comes first: the others are compared with it.
  std::stable_partition(ways.begin(), ways.end(),
                        [](const Alternative& way) { return !isApproximate(way); });
  std::vector<double> nanos;
  std::vector<float> expected;
  for (const Alternative& way : ways) {
    std::optional<double> known = timings_.find(way.step, way.kernel->name, threads_);
    if (!known && measureOne(way, expected)) {
      known = timings_.find(way.step, way.kernel->name, threads_);
    }
    if (!known) {
      return false;
    }
    nanos.push_back(*known);
  }
  for (size_t i = 0; i < ways.size(); ++i) {
    ways[i].nanos = nanos[i];
  }
  std::erase_if(ways, [](const Alternative& way) { return std::isinf(way.nanos); });
  return true;
}

bool StepCosts::measureOne(const Alternative& way, std::vector<float>& expected) {
  if (leftNanos_ <= 0) {
    return false;
  }
  int64_t begin = runtime::nowNanos();
  absl::StatusOr<Trial> trial = timer_.run(way.step, candidateOf(way), true);
  leftNanos_ -= runtime::nowNanos() - begin;
  if (!trial.ok()) {
    return false;
  }
  bool wrong = isApproximate(way) && (expected.empty() || deviates(trial->result, expected));
  timings_.add(way.step, way.kernel->name, threads_,
               wrong ? std::numeric_limits<double>::infinity() : trial->nanos);
  if (!isApproximate(way)) {
    expected = std::move(trial->result);
  }
  return true;
}

double StepCosts::reorderNanos(const TensorDesc& desc) const {
  absl::StatusOr<uint64_t> bytes = layoutBytes(desc);
  return moveNanos(bytes.ok() ? *bytes : 0, threads_);
}

void StepCosts::finish() { tuning_.timings = timings_.text(); }

}  // namespace graphrun::devices::cpu
