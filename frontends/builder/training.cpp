#include "frontends/builder/training.h"

#include "frontends/builder/ops.h"
#include "runtime/training/training_graphs.h"

namespace graphrun::builder {

Optimizer::Optimizer(const optimizers::Sgd& options, std::source_location here)
    : function_([=](const Tensor& loss, const std::vector<Tensor>& parameters) {
        optimizers::sgd(loss, parameters, options, At("", here));
      }) {}

Optimizer::Optimizer(const optimizers::Adam& options, std::source_location here)
    : function_([=](const Tensor& loss, const std::vector<Tensor>& parameters) {
        optimizers::adam(loss, parameters, options, At("", here));
      }) {}

Optimizer::Optimizer(const optimizers::AdamW& options, std::source_location here)
    : function_([=](const Tensor& loss, const std::vector<Tensor>& parameters) {
        optimizers::adamW(loss, parameters, options, At("", here));
      }) {}

void addTraining(Graph& graph, const Tensor& output, const TrainingSpec& spec) {
  if (!output.valid()) {
    graph.output(runtime::kLossOutput, output);  // tells why not
    return;
  }
  const TargetSpec target = spec.target.value_or(TargetSpec{output.elementType(), output.dims()});
  const Tensor truth = graph.input(runtime::kTargetInput, target.type, target.dims);
  const Tensor loss = spec.loss(output, truth);
  graph.output(runtime::kLossOutput, cast(loss, ElementType::kF64));
  for (const Metric& metric : spec.metrics) {
    const metrics::Counts counts = metric(output, truth);
    graph.output(metric.name() + runtime::kRightSuffix, counts.right);
    graph.output(metric.name() + runtime::kTotalSuffix, counts.total);
  }
  if (graph.mode() == Mode::kTraining) {
    spec.optimizer(loss, graph.parameters());
  }
}

}  // namespace graphrun::builder
