#include "frontends/trainer/trainer.h"

#include <utility>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/training/training_graphs.h"
#include "runtime/training_loop/session_run.h"

namespace graphrun::trainer {
namespace {

using builder::Graph;
using builder::Mode;
using runtime::Session;

constexpr char kPredictGraph[] = "predict";
constexpr char kOutput[] = "output";

}  // namespace

absl::StatusOr<std::unique_ptr<Trainer>> Trainer::create(const ModelFunction& model,
                                                         const builder::TrainingSpec& spec,
                                                         const runtime::SessionOptions& options) {
  Graph predict(kPredictGraph, Mode::kEvaluation);
  predict.output(kOutput, model(predict));
  // The other graphs have the same problems again.
  GR_RETURN_IF_ERROR(predict.status());
  Graph step(runtime::kStepGraph, Mode::kTraining);
  builder::addTraining(step, model(step), spec);
  GR_RETURN_IF_ERROR(step.status());
  Graph eval(runtime::kEvalGraph, Mode::kEvaluation);
  builder::addTraining(eval, model(eval), spec);
  const std::vector<Graph*> graphs = {&predict, &step, &eval};
  GR_ASSIGN_OR_RETURN(std::unique_ptr<Session> session,
                      Session::create(builder::saveModelToMemory(graphs), options));
  return std::unique_ptr<Trainer>(new Trainer(std::move(predict), std::move(session)));
}

absl::StatusOr<std::unique_ptr<Trainer>> Trainer::create(absl::Span<Graph* const> graphs,
                                                         const runtime::SessionOptions& options) {
  GR_ASSIGN_OR_RETURN(std::unique_ptr<Session> session,
                      Session::create(builder::saveModelToMemory(graphs), options));
  return std::unique_ptr<Trainer>(new Trainer(std::nullopt, std::move(session)));
}

absl::StatusOr<runtime::FitResult> Trainer::fit(const runtime::Dataset& data,
                                                const runtime::FitOptions& options) {
  runtime::SessionRun run(*session_);
  return runtime::runTraining(data, run, options);
}

absl::StatusOr<runtime::Evaluation> Trainer::evaluate(const runtime::Dataset& data, int64_t batch) {
  runtime::SessionRun run(*session_);
  return runtime::runEvaluation(data, run, batch);
}

absl::StatusOr<runtime::HostTensor> Trainer::predict(const runtime::TensorMap& inputs) {
  GR_ASSIGN_OR_RETURN(runtime::TensorMap outputs, session_->run(kPredictGraph, inputs));
  auto output = outputs.find(kOutput);
  if (output == outputs.end()) {
    return absl::InvalidArgumentError(
        "graph 'predict' has no output 'output'; name one so with Graph::output");
  }
  return std::move(output->second);
}

absl::StatusOr<runtime::BatchResult> Trainer::step(const std::string& graph,
                                                   const runtime::TensorMap& inputs) {
  GR_ASSIGN_OR_RETURN(runtime::TensorMap outputs, session_->run(graph, inputs));
  return runtime::resultOf(graph, std::move(outputs));
}

absl::Status Trainer::saveModel(const std::string& path) {
  if (!predict_.has_value()) {
    return absl::FailedPreconditionError(
        "the trainer has graphs of its caller, who saves one of them: "
        "graph.setFirstValues(*trainer.states()), then graph.save(path)");
  }
  GR_ASSIGN_OR_RETURN(runtime::TensorMap values, states());
  predict_->setFirstValues(values);
  return predict_->save(path);
}

}  // namespace graphrun::trainer
