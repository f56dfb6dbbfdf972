#include "runtime/training_loop/training_loop.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/checked.h"
#include "runtime/base/clock.h"
#include "runtime/base/status.h"
#include "runtime/session/error_domain.h"

namespace graphrun::runtime {
namespace {

/// Adds up the results of batches.
class Sums {
 public:
  absl::Status add(const BatchResult& result, int64_t samples) {
    if (samples_ == 0) {
      counts_ = result.metrics;
    } else if (result.metrics.size() != counts_.size()) {
      return absl::InternalError(absl::StrCat("the model gives ", result.metrics.size(),
                                              " metrics, expected ", counts_.size()));
    } else {
      for (size_t i = 0; i < counts_.size(); ++i) {
        counts_[i].right += result.metrics[i].right;
        counts_[i].total += result.metrics[i].total;
      }
    }
    loss_ += result.loss * static_cast<double>(samples);
    samples_ += samples;
    return absl::OkStatus();
  }

  Evaluation evaluation() const {
    Evaluation result{.loss = loss_ / static_cast<double>(samples_), .samples = samples_};
    for (const MetricCounts& counts : counts_) {
      result.metrics.push_back(
          {counts.name, static_cast<double>(counts.right) / static_cast<double>(counts.total)});
    }
    return result;
  }

 private:
  double loss_ = 0;
  int64_t samples_ = 0;
  std::vector<MetricCounts> counts_;
};

bool isAsked(const std::function<bool()>& shouldStop) {
  return shouldStop != nullptr && shouldStop();
}

/// Nothing where it was stopped.
absl::StatusOr<std::optional<Evaluation>> evaluateAll(const Dataset& data, TrainingRun& run,
                                                      int64_t batchSize,
                                                      const std::function<bool()>& shouldStop) {
  BatchOptions options{.size = batchSize, .keepsSmaller = true};
  options.end = batchesInEpoch(data.count(), options);
  absl::StatusOr<std::unique_ptr<BatchReader>> reader = BatchReader::create(data, options);
  GR_RETURN_IF_ERROR(inDomain(reader.status(), ErrorDomain::kModel));
  Sums sums;
  while (true) {
    GR_ASSIGN_OR_RETURN(std::optional<Batch> batch, (*reader)->next());
    if (!batch.has_value()) {
      return sums.evaluation();
    }
    GR_ASSIGN_OR_RETURN(BatchResult result, run.evaluate(*batch));
    GR_RETURN_IF_ERROR(sums.add(result, batch->samples));
    if (isAsked(shouldStop)) {
      return std::optional<Evaluation>();
    }
  }
}

class TrainingLoop {
 public:
  TrainingLoop(const Dataset& train, TrainingRun& run, const FitOptions& options)
      : train_(train), run_(run), options_(options) {}

  absl::StatusOr<FitResult> run() {
    GR_RETURN_IF_ERROR(inDomain(checkLength(), ErrorDomain::kModel));
    BatchOptions batches{
        .size = options_.batch, .shuffles = options_.shuffles, .seed = options_.seed};
    const int64_t inEpoch = batchesInEpoch(train_.count(), batches);
    batches.end = options_.steps > 0 ? options_.steps : stepsOf(options_.epochs, inEpoch);
    absl::StatusOr<std::unique_ptr<BatchReader>> reader = BatchReader::create(train_, batches);
    GR_RETURN_IF_ERROR(inDomain(reader.status(), ErrorDomain::kModel));
    while (!isAsked(options_.shouldStop)) {
      const int64_t begin = nowNanos();
      GR_ASSIGN_OR_RETURN(std::optional<Batch> batch, (*reader)->next());
      if (!batch.has_value()) {
        return ended(FitEnd::kDone);
      }
      GR_RETURN_IF_ERROR(step(*batch, begin));
      if (options_.stopsOnNan && !std::isfinite(result_.loss)) {
        GR_ASSIGN_OR_RETURN(result_.notFinite, run_.revertStep(*batch));
        return ended(FitEnd::kNan);
      }
      if (batch->endsEpoch || result_.steps == batches.end) {
        GR_RETURN_IF_ERROR(evaluate(batch->epoch));
      }
    }
    return ended(FitEnd::kStopped);
  }

 private:
  absl::Status checkLength() const {
    return options_.epochs >= 0 && options_.steps >= 0
               ? absl::OkStatus()
               : absl::InvalidArgumentError(absl::StrCat("training is to take ", options_.epochs,
                                                         " epochs or ", options_.steps,
                                                         " steps, expected at least 0 of both"));
  }

  static int64_t stepsOf(int64_t epochs, int64_t inEpoch) {
    const std::optional<uint64_t> steps =
        checkedProduct(static_cast<uint64_t>(epochs), static_cast<uint64_t>(inEpoch));
    return steps.has_value() ? static_cast<int64_t>(*steps) : std::numeric_limits<int64_t>::max();
  }

  FitResult ended(FitEnd end) {
    result_.end = end;
    return std::move(result_);
  }

  absl::Status step(const Batch& batch, int64_t begin) {
    const int64_t beginStep = nowNanos();
    GR_ASSIGN_OR_RETURN(BatchResult result, run_.step(batch));
    const int64_t end = nowNanos();
    result_.loss = result.loss;
    ++result_.steps;
    if (options_.onStep != nullptr) {
      Sums sums;
      GR_RETURN_IF_ERROR(sums.add(result, batch.samples));
      options_.onStep({.step = result_.steps,
                       .epoch = batch.epoch + 1,
                       .loss = result.loss,
                       .metrics = sums.evaluation().metrics,
                       .nanos = end - beginStep,
                       .samplesPerSecond = static_cast<double>(batch.samples) * 1e9 /
                                           static_cast<double>(std::max<int64_t>(end - begin, 1))});
    }
    return absl::OkStatus();
  }

  absl::Status evaluate(int64_t epoch) {
    // Who stops during the last step of an epoch does not want to wait for this.
    if (options_.eval == nullptr || isAsked(options_.shouldStop)) {
      return absl::OkStatus();
    }
    GR_ASSIGN_OR_RETURN(std::optional<Evaluation> found,
                        evaluateAll(*options_.eval, run_, options_.batch, options_.shouldStop));
    if (found.has_value()) {
      result_.evaluation = found;
      if (options_.onEvaluation != nullptr) {
        options_.onEvaluation({result_.steps, epoch + 1, *std::move(found)});
      }
    }
    return absl::OkStatus();
  }

  const Dataset& train_;
  TrainingRun& run_;
  const FitOptions& options_;
  FitResult result_;
};

}  // namespace

absl::StatusOr<FitResult> runTraining(const Dataset& train, TrainingRun& run,
                                      const FitOptions& options) {
  return TrainingLoop(train, run, options).run();
}

absl::StatusOr<Evaluation> runEvaluation(const Dataset& data, TrainingRun& run, int64_t batch) {
  GR_ASSIGN_OR_RETURN(std::optional<Evaluation> found, evaluateAll(data, run, batch, nullptr));
  return std::move(found).value_or(Evaluation());  // it is there, as nobody stops
}

}  // namespace graphrun::runtime
