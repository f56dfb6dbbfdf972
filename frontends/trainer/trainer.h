// A Trainer takes a model from a graph to trained weights. Public: include <graphrun/trainer.h>.
//
//     using namespace graphrun;
//
//     GR_ASSIGN_OR_RETURN(auto trainer, Trainer::create(
//         [](Graph& g) {
//           Tensor x = g.input("image", ElementType::kF32, {Dim("N"), 784});
//           return layers::dense(relu(layers::dense(x, 128)), 10);
//         },
//         {.loss = {losses::sparseCategoricalCrossentropy, {.fromLogits = true}},
//          .optimizer = optimizers::Adam{.learningRate = 1e-3},
//          .metrics = {{"accuracy", metrics::sparseCategoricalAccuracy}},
//          .target = TargetSpec{ElementType::kI64, {Dim("N")}}}));
//     GR_RETURN_IF_ERROR(trainer->fit(*train, {.batch = 64, .epochs = 3}).status());
//     GR_ASSIGN_OR_RETURN(Evaluation result, trainer->evaluate(*test));
//     GR_RETURN_IF_ERROR(trainer->saveModel("mlp.fb"));
#ifndef GRAPHRUN_FRONTENDS_TRAINER_TRAINER_H_
#define GRAPHRUN_FRONTENDS_TRAINER_TRAINER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "frontends/builder/graph_builder.h"
#include "runtime/data/dataset.h"
#include "runtime/session/session.h"
#include "runtime/training_loop/training_loop.h"

namespace graphrun::trainer {

/// Makes a model's inputs in a graph and returns its output. It is called once for each graph of
/// the trainer, and must make the same weights each time: what trains, evaluates and predicts has
/// them in common.
using ModelFunction = std::function<builder::Tensor(builder::Graph& graph)>;

/// A model that is being trained: graphs over one set of states, in a session of its own. One
/// thread at a time; callbacks are called on that thread, and no reference to an argument is kept.
/// Failures are those of a session, and carry their domain (runtime::domainOf).
class Trainer {
 public:
  /// Makes three graphs of `model`: "predict", whose output is "output", and "step" and "eval" with
  /// what `spec` adds (builder::addTraining). InvalidArgument with all problems of a graph.
  static absl::StatusOr<std::unique_ptr<Trainer>> create(
      const ModelFunction& model, const builder::TrainingSpec& spec,
      const runtime::SessionOptions& options = {});
  /// Takes graphs that the caller wrote, of different names, as they are now: for several losses,
  /// outputs or updates. `fit` wants one called "step", `evaluate` one called "eval", `predict` one
  /// called "predict" with an output "output"; `step` and `session().run` take any.
  static absl::StatusOr<std::unique_ptr<Trainer>> create(
      absl::Span<builder::Graph* const> graphs, const runtime::SessionOptions& options = {});

  /// Trains. Data's inputs are called as the model's are; of a model with one input, "" stands for
  /// it. A training that is stopped is no failure. Each call goes on with the weights, and begins
  /// with the first epoch.
  absl::StatusOr<runtime::FitResult> fit(const runtime::Dataset& data,
                                         const runtime::FitOptions& options = {});
  /// Compares the model with all samples of `data`, `batch` at a time; changes nothing.
  absl::StatusOr<runtime::Evaluation> evaluate(const runtime::Dataset& data, int64_t batch = 32);
  /// The model's output for inputs by name.
  absl::StatusOr<runtime::HostTensor> predict(const runtime::TensorMap& inputs);

  /// One run of a graph that has a loss: an output "loss", one f32 or f64 of rank 0, as it was
  /// before the graph's updates, and counts of metrics.
  absl::StatusOr<runtime::BatchResult> step(const std::string& graph,
                                            const runtime::TensorMap& inputs);

  /// Copies of all states, by name: parameters, running statistics and the optimizer's. Those of
  /// another trainer of the same model and optimizer go on here.
  absl::StatusOr<runtime::TensorMap> states() { return session_->states(); }
  /// All or none; see runtime::Session::setStates.
  absl::Status setStates(const runtime::TensorMap& values) { return session_->setStates(values); }

  /// Writes the graph "predict", with the weights as they are, as model.fb: what `graphrun MODEL`
  /// and Session::create run. The file appears whole or not at all. FailedPrecondition for a
  /// trainer of the caller's graphs: Graph::setFirstValues(states()) and Graph::save do it there.
  absl::Status saveModel(const std::string& path);

  /// For what a session offers beside: runs of other graphs, times, statistics.
  runtime::Session& session() { return *session_; }

 private:
  Trainer(std::optional<builder::Graph> predict, std::unique_ptr<runtime::Session> session)
      : predict_(std::move(predict)), session_(std::move(session)) {}

  std::optional<builder::Graph> predict_;
  std::unique_ptr<runtime::Session> session_;
};

}  // namespace graphrun::trainer

#endif  // GRAPHRUN_FRONTENDS_TRAINER_TRAINER_H_
