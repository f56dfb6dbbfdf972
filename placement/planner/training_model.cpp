#include "placement/planner/training_model.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "frontends/builder/graph_builder.h"
#include "frontends/builder/imported_graph.h"
#include "frontends/builder/losses.h"
#include "frontends/builder/metrics.h"
#include "frontends/builder/optimizers.h"
#include "frontends/builder/training.h"
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

builder::Loss lossOf(const runtime::LossSpec& spec) {
  const builder::losses::Crossentropy options{.fromLogits = spec.fromLogits};
  switch (spec.kind) {
    case LossKind::kSparseCategoricalCrossentropy:
      return {builder::losses::sparseCategoricalCrossentropy, options};
    case LossKind::kCategoricalCrossentropy:
      return {builder::losses::categoricalCrossentropy, options};
    case LossKind::kBinaryCrossentropy:
      return {builder::losses::binaryCrossentropy, options};
    case LossKind::kMeanSquaredError:
      break;
  }
  return builder::losses::meanSquaredError;
}

builder::Optimizer optimizerOf(const OptimizerSpec& spec) {
  switch (spec.kind) {
    case runtime::OptimizerKind::kAdam:
      return builder::optimizers::Adam{.learningRate = spec.learningRate,
                                       .beta1 = spec.beta1,
                                       .beta2 = spec.beta2,
                                       .epsilon = spec.epsilon,
                                       .weightDecay = spec.weightDecay};
    case runtime::OptimizerKind::kAdamW:
      return builder::optimizers::AdamW{.learningRate = spec.learningRate,
                                        .beta1 = spec.beta1,
                                        .beta2 = spec.beta2,
                                        .epsilon = spec.epsilon,
                                        .weightDecay = spec.weightDecay};
    case runtime::OptimizerKind::kSgd:
      break;
  }
  return builder::optimizers::Sgd{.learningRate = spec.learningRate,
                                  .momentum = spec.momentum,
                                  .nesterov = spec.nesterov,
                                  .weightDecay = spec.weightDecay};
}

/// Right classes, counted as the loss understands output and target.
absl::StatusOr<builder::Metric> metricOf(runtime::MetricKind metric,
                                         const runtime::LossSpec& loss) {
  const std::string name(runtime::nameOf(metric));
  switch (loss.kind) {
    case LossKind::kSparseCategoricalCrossentropy:
      return builder::Metric(name, builder::metrics::sparseCategoricalAccuracy);
    case LossKind::kCategoricalCrossentropy:
      return builder::Metric(name, builder::metrics::categoricalAccuracy);
    case LossKind::kBinaryCrossentropy:
      return builder::Metric(name, builder::metrics::binaryAccuracy, loss.fromLogits ? 0 : 0.5);
    case LossKind::kMeanSquaredError:
      break;
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "metric ", name, " counts right classes, but the loss is ", runtime::nameOf(loss.kind),
      ", which has none; leave the metric out, or take a crossentropy"));
}

/// The dims of the output, without the classes where the target is the class.
std::vector<builder::Dim> targetDims(const Tensor& output, LossKind loss) {
  std::vector<builder::Dim> dims = output.dims();
  if (loss == LossKind::kSparseCategoricalCrossentropy && !dims.empty()) {
    dims.pop_back();
  }
  return dims;
}

/// Imports the recipe's model into `graph` and adds what trains it; returns warnings.
absl::StatusOr<std::vector<std::string>> build(const Recipe& recipe, runtime::ElementType target,
                                               Graph& graph) {
  const bool trains = graph.mode() == builder::Mode::kTraining;
  auto import = [&](mlir::MLIRContext& context) {
    return frontends::importOnnx(context, recipe.model, {.training = trains});
  };
  GR_ASSIGN_OR_RETURN(builder::ImportedGraph model, builder::importInto(graph, import));
  const Tensor& output = model.outputs[0];
  builder::TrainingSpec spec{
      .loss = lossOf(recipe.loss),
      .optimizer = optimizerOf(recipe.optimizer),
      .target = builder::TargetSpec{target, targetDims(output, recipe.loss.kind)}};
  for (runtime::MetricKind kind : recipe.metrics) {
    GR_ASSIGN_OR_RETURN(builder::Metric metric, metricOf(kind, recipe.loss));
    spec.metrics.push_back(std::move(metric));
  }
  builder::addTraining(graph, output, spec);
  GR_RETURN_IF_ERROR(runtime::annotate(
      graph.status(), absl::StrCat("model '", recipe.model, "' cannot be trained so")));
  return model.warnings;
}

}  // namespace

absl::StatusOr<std::string> writeTrainingModel(const Recipe& recipe, runtime::ElementType target,
                                               const std::string& outPath) {
  Graph step(runtime::kStepGraph, builder::Mode::kTraining);
  Graph eval(runtime::kEvalGraph, builder::Mode::kEvaluation);
  GR_ASSIGN_OR_RETURN(std::vector<std::string> warnings, build(recipe, target, step));
  GR_RETURN_IF_ERROR(build(recipe, target, eval).status());
  GR_RETURN_IF_ERROR(builder::saveModel({&step, &eval}, outPath));
  std::vector<std::string> lines;
  for (const std::string& warning : warnings) {
    lines.push_back(absl::StrCat("warning: ", warning, "\n"));
  }
  return absl::StrJoin(lines, "");
}

}  // namespace graphrun::compiler
