#include "runtime/training_loop/session_run.h"

#include <algorithm>
#include <memory>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "runtime/base/status.h"
#include "runtime/session/error_domain.h"
#include "runtime/training/training_graphs.h"

namespace graphrun::runtime {
namespace {

/// The same elements, which the batch keeps.
HostTensor view(const HostTensor& tensor) {
  return {tensor.spec(),
          std::shared_ptr<void>(std::shared_ptr<void>(), const_cast<void*>(tensor.data()))};
}

std::optional<double> lossOf(const HostTensor& tensor) {
  if (tensor.spec() == TensorSpec{ElementType::kF64, {}}) {
    return tensor.as<double>()[0];
  }
  if (tensor.spec() == TensorSpec{ElementType::kF32, {}}) {
    return tensor.as<float>()[0];
  }
  return std::nullopt;
}

/// The counts of metric `name`, which are made when they are not there.
MetricCounts& countsOf(absl::string_view name, std::vector<MetricCounts>& metrics) {
  auto found = std::find_if(metrics.begin(), metrics.end(),
                            [&](const MetricCounts& counts) { return counts.name == name; });
  return found != metrics.end() ? *found : metrics.emplace_back(MetricCounts{std::string(name)});
}

}  // namespace

absl::StatusOr<BatchResult> resultOf(const std::string& graph,
                                     absl::Span<const NamedTensor> outputs) {
  BatchResult result;
  std::optional<double> loss;
  for (const NamedTensor& output : outputs) {
    absl::string_view name = output.name;
    if (name == kLossOutput) {
      loss = lossOf(output.tensor);
    } else if (output.tensor.spec() != TensorSpec{ElementType::kI64, {}}) {
      continue;
    } else if (absl::ConsumeSuffix(&name, kRightSuffix)) {
      countsOf(name, result.metrics).right = output.tensor.as<int64_t>()[0];
    } else if (absl::ConsumeSuffix(&name, kTotalSuffix)) {
      countsOf(name, result.metrics).total = output.tensor.as<int64_t>()[0];
    }
  }
  if (!loss.has_value()) {
    return inDomain(absl::InvalidArgumentError(absl::StrCat(
                        "graph '", graph, "' has no output '", kLossOutput,
                        "' of one f32 or f64 without dims; name the loss so with Graph::output")),
                    ErrorDomain::kModel);
  }
  result.loss = *loss;
  return result;
}

absl::StatusOr<BatchResult> resultOf(const std::string& graph, TensorMap outputs) {
  std::vector<NamedTensor> list;
  for (auto& [name, tensor] : outputs) {
    list.push_back({name, std::move(tensor)});
  }
  return resultOf(graph, list);
}

absl::StatusOr<BatchResult> SessionRun::step(const Batch& batch) { return run(kStepGraph, batch); }

absl::StatusOr<BatchResult> SessionRun::evaluate(const Batch& batch) {
  return run(kEvalGraph, batch);
}

absl::StatusOr<std::string> SessionRun::revertStep(const Batch& batch) {
  GR_RETURN_IF_ERROR(session_.revertLastRun());
  TensorMap inputs;
  for (NamedTensor& input : inputsOf(batch)) {
    inputs.emplace(std::move(input.name), std::move(input.tensor));
  }
  return session_.firstNotFinite(kStepGraph, inputs);
}

std::vector<NamedTensor> SessionRun::inputsOf(const Batch& batch) const {
  std::vector<NamedTensor> inputs;
  inputs.reserve(batch.inputs.size() + 1);
  for (const NamedTensor& input : batch.inputs) {
    inputs.push_back({nameOf(input), view(input.tensor)});
  }
  inputs.push_back({kTargetInput, view(batch.target)});
  return inputs;
}

absl::StatusOr<BatchResult> SessionRun::run(const char* graph, const Batch& batch) {
  GR_RETURN_IF_ERROR(session_.run(graph, inputsOf(batch), outputs_));
  return resultOf(graph, outputs_);
}

std::string SessionRun::nameOf(const NamedTensor& input) const {
  if (!input.name.empty()) {
    return input.name;
  }
  for (const ModelPort& port : session_.inputs()) {
    if (port.name != kTargetInput) {
      return port.name;
    }
  }
  return input.name;
}

}  // namespace graphrun::runtime
