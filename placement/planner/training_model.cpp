#include "placement/planner/training_model.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "frontends/builder/graph_builder.h"
#include "frontends/builder/imported_graph.h"
#include "frontends/builder/losses.h"
#include "frontends/builder/metrics.h"
#include "frontends/builder/optimizers.h"
#include "frontends/onnx/importer.h"
#include "runtime/base/status.h"
#include "runtime/training/training_graphs.h"

namespace graphrun::compiler {
namespace {

using builder::Graph;
using builder::Tensor;
using runtime::LossKind;
using runtime::OptimizerSpec;
using runtime::Recipe;

/// A graph of the model with the loss behind it.
class LossGraph {
 public:
  LossGraph(const Recipe& recipe, runtime::ElementType target, const char* name, builder::Mode mode)
      : recipe_(recipe), targetType_(target), graph_(name, mode) {}

  absl::Status build() {
    const bool trains = graph_.mode() == builder::Mode::kTraining;
    auto import = [&](mlir::MLIRContext& context) {
      return frontends::importOnnx(context, recipe_.model, {.training = trains});
    };
    GR_ASSIGN_OR_RETURN(builder::ImportedGraph model, builder::importInto(graph_, import));
    warnings_ = std::move(model.warnings);
    const Tensor& output = model.outputs[0];
    const Tensor target = graph_.input(runtime::kTargetInput, targetType_, targetDims(output));
    const Tensor loss = lossOf(output, target);
    graph_.output(runtime::kLossOutput, cast(loss, runtime::ElementType::kF64));
    for (runtime::MetricKind metric : recipe_.metrics) {
      GR_RETURN_IF_ERROR(addMetric(metric, output, target));
    }
    if (trains) {
      optimize(loss);
    }
    return runtime::annotate(graph_.status(),
                             absl::StrCat("model '", recipe_.model, "' cannot be trained so"));
  }

  Graph& graph() { return graph_; }
  const std::vector<std::string>& warnings() const { return warnings_; }

 private:
  bool isSparse() const { return recipe_.loss.kind == LossKind::kSparseCategoricalCrossentropy; }

  /// Those of the output, without the classes where the target is the class.
  std::vector<builder::Dim> targetDims(const Tensor& output) const {
    std::vector<builder::Dim> dims = output.dims();
    if (isSparse() && !dims.empty()) {
      dims.pop_back();
    }
    return dims;
  }

  Tensor lossOf(const Tensor& output, const Tensor& target) const {
    const builder::losses::Crossentropy options{.fromLogits = recipe_.loss.fromLogits};
    switch (recipe_.loss.kind) {
      case LossKind::kSparseCategoricalCrossentropy:
        return builder::losses::sparseCategoricalCrossentropy(output, target, options);
      case LossKind::kCategoricalCrossentropy:
        return builder::losses::categoricalCrossentropy(output, target, options);
      case LossKind::kMeanSquaredError:
        return builder::losses::meanSquaredError(output, target);
      case LossKind::kBinaryCrossentropy:
        return builder::losses::binaryCrossentropy(output, target, options);
    }
    return {};
  }

  absl::Status addMetric(runtime::MetricKind metric, const Tensor& output, const Tensor& target) {
    builder::metrics::Counts counts;
    switch (recipe_.loss.kind) {
      case LossKind::kSparseCategoricalCrossentropy:
        counts = builder::metrics::sparseCategoricalAccuracy(output, target);
        break;
      case LossKind::kCategoricalCrossentropy:
        counts = builder::metrics::categoricalAccuracy(output, target);
        break;
      case LossKind::kBinaryCrossentropy:
        counts =
            builder::metrics::binaryAccuracy(output, target, recipe_.loss.fromLogits ? 0 : 0.5);
        break;
      case LossKind::kMeanSquaredError:
        return absl::InvalidArgumentError(absl::StrCat(
            "metric ", runtime::nameOf(metric), " counts right classes, but the loss is ",
            runtime::nameOf(recipe_.loss.kind),
            ", which has none; leave the metric out, or take a crossentropy"));
    }
    const std::string name(runtime::nameOf(metric));
    graph_.output(name + runtime::kRightSuffix, counts.right);
    graph_.output(name + runtime::kTotalSuffix, counts.total);
    return absl::OkStatus();
  }

  void optimize(const Tensor& loss) {
    const OptimizerSpec& spec = recipe_.optimizer;
    switch (spec.kind) {
      case runtime::OptimizerKind::kSgd:
        return builder::optimizers::sgd(loss, graph_.parameters(),
                                        {.learningRate = spec.learningRate,
                                         .momentum = spec.momentum,
                                         .nesterov = spec.nesterov,
                                         .weightDecay = spec.weightDecay});
      case runtime::OptimizerKind::kAdam:
        return builder::optimizers::adam(loss, graph_.parameters(),
                                         {.learningRate = spec.learningRate,
                                          .beta1 = spec.beta1,
                                          .beta2 = spec.beta2,
                                          .epsilon = spec.epsilon,
                                          .weightDecay = spec.weightDecay});
      case runtime::OptimizerKind::kAdamW:
        return builder::optimizers::adamW(loss, graph_.parameters(),
                                          {.learningRate = spec.learningRate,
                                           .beta1 = spec.beta1,
                                           .beta2 = spec.beta2,
                                           .epsilon = spec.epsilon,
                                           .weightDecay = spec.weightDecay});
    }
  }

  const Recipe& recipe_;
  const runtime::ElementType targetType_;
  Graph graph_;
  std::vector<std::string> warnings_;
};

}  // namespace

absl::StatusOr<std::string> writeTrainingModel(const Recipe& recipe, runtime::ElementType target,
                                               const std::string& outPath) {
  LossGraph step(recipe, target, runtime::kStepGraph, builder::Mode::kTraining);
  LossGraph eval(recipe, target, runtime::kEvalGraph, builder::Mode::kEvaluation);
  GR_RETURN_IF_ERROR(step.build());
  GR_RETURN_IF_ERROR(eval.build());
  GR_RETURN_IF_ERROR(builder::saveModel({&step.graph(), &eval.graph()}, outPath));
  std::vector<std::string> lines;
  for (const std::string& warning : step.warnings()) {
    lines.push_back(absl::StrCat("warning: ", warning, "\n"));
  }
  return absl::StrJoin(lines, "");
}

}  // namespace graphrun::compiler
