#include "frontends/cli/train/training_loop.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "frontends/cli/command_line.h"
#include "runtime/base/checked.h"
#include "runtime/base/clock.h"
#include "runtime/base/status.h"

namespace graphrun::cli {
namespace {

using runtime::Batch;
using runtime::BatchOptions;
using runtime::BatchReader;
using runtime::Dataset;
using runtime::Recipe;

/// Adds up the results of batches.
class Sums {
 public:
  explicit Sums(const Recipe& recipe) : recipe_(recipe), counts_(recipe.metrics.size()) {}

  absl::Status add(const BatchResult& result, int64_t samples) {
    if (result.metrics.size() != counts_.size()) {
      return absl::InternalError(absl::StrCat("the model gives ", result.metrics.size(),
                                              " metrics, expected ", counts_.size()));
    }
    loss_ += result.loss * static_cast<double>(samples);
    samples_ += samples;
    for (size_t i = 0; i < counts_.size(); ++i) {
      counts_[i].right += result.metrics[i].right;
      counts_[i].total += result.metrics[i].total;
    }
    return absl::OkStatus();
  }
  /// Writes "loss" and a member for each metric.
  void write(Json& line) const {
    const double loss = loss_ / static_cast<double>(samples_);
    line["loss"] = std::isfinite(loss) ? Json(loss) : Json();
    for (size_t i = 0; i < counts_.size(); ++i) {
      line[std::string(nameOf(recipe_.metrics[i]))] =
          static_cast<double>(counts_[i].right) / static_cast<double>(counts_[i].total);
    }
  }
  int64_t samples() const { return samples_; }

 private:
  const Recipe& recipe_;
  double loss_ = 0;
  int64_t samples_ = 0;
  std::vector<MetricCounts> counts_;
};

class TrainingLoop {
 public:
  TrainingLoop(const Recipe& recipe, const Dataset& train, const Dataset* eval, TrainingRun& run,
               const LoopOptions& options)
      : recipe_(recipe), train_(train), eval_(eval), run_(run), options_(options) {}

  absl::StatusOr<LoopEnd> run() {
    if (const std::optional<int64_t> classes = run_.classes()) {
      GR_RETURN_IF_ERROR(fileError(train_.checkLabels(*classes)));
      GR_RETURN_IF_ERROR(
          fileError(eval_ == nullptr ? absl::OkStatus() : eval_->checkLabels(*classes)));
    }
    BatchOptions options{
        .size = recipe_.batch, .shuffles = recipe_.train.shuffles, .seed = recipe_.seed};
    const int64_t inEpoch = runtime::batchesInEpoch(train_.count(), options);
    options.end = recipe_.steps > 0 ? recipe_.steps : stepsOf(recipe_.epochs, inEpoch);
    absl::StatusOr<std::unique_ptr<BatchReader>> reader = BatchReader::create(train_, options);
    if (!reader.ok()) {
      return fileError(reader.status());
    }
    while (!options_.isInterrupted()) {
      const int64_t begin = runtime::nowNanos();
      GR_ASSIGN_OR_RETURN(std::optional<Batch> batch, (*reader)->next());
      if (!batch.has_value()) {
        return LoopEnd::kDone;
      }
      GR_ASSIGN_OR_RETURN(std::optional<LoopEnd> end, step(*batch, begin));
      if (!end.has_value() && (batch->endsEpoch || step_ == options.end)) {
        GR_ASSIGN_OR_RETURN(end, evaluate(batch->epoch));
      }
      if (end.has_value()) {
        return *end;
      }
    }
    return LoopEnd::kInterrupted;
  }

 private:
  static int64_t stepsOf(int64_t epochs, int64_t inEpoch) {
    const std::optional<uint64_t> steps =
        runtime::checkedProduct(static_cast<uint64_t>(epochs), static_cast<uint64_t>(inEpoch));
    return steps.has_value() ? static_cast<int64_t>(*steps) : std::numeric_limits<int64_t>::max();
  }

  /// Nothing when the loop goes on.
  absl::StatusOr<std::optional<LoopEnd>> step(const Batch& batch, int64_t begin) {
    const int64_t beginStep = runtime::nowNanos();
    GR_ASSIGN_OR_RETURN(BatchResult result, run_.step(batch));
    const int64_t end = runtime::nowNanos();
    ++step_;
    Sums sums(recipe_);
    GR_RETURN_IF_ERROR(sums.add(result, batch.samples));
    Json line = {{"step", step_}, {"epoch", batch.epoch + 1}};
    sums.write(line);
    line["step_ms"] = static_cast<double>(end - beginStep) / 1e6;
    line["samples_per_s"] = static_cast<double>(batch.samples) * 1e9 /
                            static_cast<double>(std::max<int64_t>(end - begin, 1));
    if (!options_.tell(line)) {
      return LoopEnd::kInterrupted;
    }
    return options_.stopsOnNan && !std::isfinite(result.loss) ? std::optional(LoopEnd::kNan)
                                                              : std::nullopt;
  }

  absl::StatusOr<std::optional<LoopEnd>> evaluate(int64_t epoch) {
    // Who interrupts during the last step of an epoch does not want to wait for this.
    if (eval_ == nullptr || options_.isInterrupted()) {
      return std::optional<LoopEnd>();
    }
    BatchOptions options{.size = recipe_.batch, .keepsSmaller = true};
    options.end = runtime::batchesInEpoch(eval_->count(), options);
    GR_ASSIGN_OR_RETURN(std::unique_ptr<BatchReader> reader, BatchReader::create(*eval_, options));
    Sums sums(recipe_);
    while (true) {
      GR_ASSIGN_OR_RETURN(std::optional<Batch> batch, reader->next());
      if (!batch.has_value()) {
        break;
      }
      GR_ASSIGN_OR_RETURN(BatchResult result, run_.evaluate(*batch));
      GR_RETURN_IF_ERROR(sums.add(result, batch->samples));
      if (options_.isInterrupted()) {
        return LoopEnd::kInterrupted;
      }
    }
    Json values;
    sums.write(values);
    values["samples"] = sums.samples();
    const Json line = {{"epoch", epoch + 1}, {"step", step_}, {"eval", values}};
    return options_.tell(line) ? std::nullopt : std::optional(LoopEnd::kInterrupted);
  }

  const Recipe& recipe_;
  const Dataset& train_;
  const Dataset* eval_;
  TrainingRun& run_;
  const LoopOptions& options_;
  int64_t step_ = 0;
};

}  // namespace

absl::StatusOr<LoopEnd> runTraining(const Recipe& recipe, const Dataset& train, const Dataset* eval,
                                    TrainingRun& run, const LoopOptions& options) {
  return TrainingLoop(recipe, train, eval, run, options).run();
}

}  // namespace graphrun::cli
