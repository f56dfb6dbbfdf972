// Training adds a target, a loss, metrics and an optimizer to a model. Public.
#ifndef GRAPHRUN_FRONTENDS_BUILDER_TRAINING_H_
#define GRAPHRUN_FRONTENDS_BUILDER_TRAINING_H_

#include <concepts>
#include <functional>
#include <optional>
#include <source_location>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "frontends/builder/graph.h"
#include "frontends/builder/metrics.h"
#include "frontends/builder/optimizers.h"
#include "frontends/builder/tensor.h"

namespace graphrun::builder {

/// A Loss compares a model's output with the target: a function of losses.h, with its options where
/// it has any, or a function of yours. Its result is one floating-point element of rank 0.
///     Loss mean = losses::meanSquaredError;
///     Loss classes = {losses::sparseCategoricalCrossentropy, {.fromLogits = true}};
///     Loss own = [](const Tensor& y, const Tensor& t) { return reduce(abs(y - t), …); };
class Loss {
 public:
  using Function = std::function<Tensor(const Tensor& output, const Tensor& target)>;

  template <typename F>
    requires std::invocable<F, const Tensor&, const Tensor&>
  Loss(F function) : function_(std::move(function)) {}
  Loss(Tensor (*function)(const Tensor&, const Tensor&, const At&),
       std::source_location here = std::source_location::current())
      : function_([=](const Tensor& output, const Tensor& target) {
          return function(output, target, At("", here));
        }) {}
  template <typename Options>
  Loss(Tensor (*function)(const Tensor&, const Tensor&, const Options&, const At&),
       std::type_identity_t<Options> options = {},
       std::source_location here = std::source_location::current())
      : function_([=](const Tensor& output, const Tensor& target) {
          return function(output, target, options, At("", here));
        }) {}

  Tensor operator()(const Tensor& output, const Tensor& target) const {
    return function_(output, target);
  }

 private:
  Function function_;
};

/// A Metric counts what a model gets right, under a name: by a function of metrics.h or of yours.
///     std::vector<Metric> metrics = {{"accuracy", metrics::sparseCategoricalAccuracy}};
class Metric {
 public:
  using Function = std::function<metrics::Counts(const Tensor& output, const Tensor& target)>;

  template <typename F>
    requires std::invocable<F, const Tensor&, const Tensor&>
  Metric(std::string name, F function) : name_(std::move(name)), function_(std::move(function)) {}
  Metric(std::string name, metrics::Counts (*function)(const Tensor&, const Tensor&, const At&),
         std::source_location here = std::source_location::current())
      : name_(std::move(name)), function_([=](const Tensor& output, const Tensor& target) {
          return function(output, target, At("", here));
        }) {}
  /// `threshold`: see metrics::binaryAccuracy.
  Metric(std::string name,
         metrics::Counts (*function)(const Tensor&, const Tensor&, double threshold, const At&),
         double threshold, std::source_location here = std::source_location::current())
      : name_(std::move(name)), function_([=](const Tensor& output, const Tensor& target) {
          return function(output, target, threshold, At("", here));
        }) {}

  const std::string& name() const { return name_; }
  metrics::Counts operator()(const Tensor& output, const Tensor& target) const {
    return function_(output, target);
  }

 private:
  std::string name_;
  Function function_;
};

/// An Optimizer updates parameters so that a loss becomes smaller: the options of one in
/// optimizers.h, or a function of yours.
///     Optimizer adam = optimizers::Adam{.learningRate = 1e-3};
class Optimizer {
 public:
  using Function = std::function<void(const Tensor& loss, const std::vector<Tensor>& parameters)>;

  template <typename F>
    requires std::invocable<F, const Tensor&, const std::vector<Tensor>&>
  Optimizer(F function) : function_(std::move(function)) {}
  Optimizer(const optimizers::Sgd& options,
            std::source_location here = std::source_location::current());
  Optimizer(const optimizers::Adam& options,
            std::source_location here = std::source_location::current());
  Optimizer(const optimizers::AdamW& options,
            std::source_location here = std::source_location::current());

  void operator()(const Tensor& loss, const std::vector<Tensor>& parameters) const {
    function_(loss, parameters);
  }

 private:
  Function function_;
};

/// TargetSpec says what targets are, with the batch's dim.
struct TargetSpec {
  ElementType type = ElementType::kF32;
  std::vector<Dim> dims;
};

/// TrainingSpec says what a model is trained for, and how.
struct TrainingSpec {
  Loss loss;
  Optimizer optimizer = optimizers::Sgd{};
  std::vector<Metric> metrics{};
  /// Default: of the type and the dims of the model's output. Classes are
  /// {ElementType::kI64, {Dim("N")}}.
  std::optional<TargetSpec> target{};
};

/// Adds to a graph, whose model gives `output`, what training reads and does: an input "target", an
/// output "loss" (f64, the mean over the batch), two outputs a metric, "NAME.right" and
/// "NAME.total", and, in a graph of Mode::kTraining, the optimizer's updates of all parameters.
/// Problems are the graph's.
void addTraining(Graph& graph, const Tensor& output, const TrainingSpec& spec);

}  // namespace graphrun::builder

#endif  // GRAPHRUN_FRONTENDS_BUILDER_TRAINING_H_
