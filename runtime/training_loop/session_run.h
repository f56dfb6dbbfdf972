// A SessionRun trains by the graphs of a session.
#ifndef GRAPHRUN_RUNTIME_TRAINING_LOOP_SESSION_RUN_H_
#define GRAPHRUN_RUNTIME_TRAINING_LOOP_SESSION_RUN_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/session/session.h"
#include "runtime/training_loop/training_run.h"

namespace graphrun::runtime {

/// Reads the loss of a graph that trains or evaluates, an f64 or f32 of one element, and the counts
/// of its metrics, among its outputs (runtime/training/training_graphs.h). InvalidArgument where
/// there is no such loss; `graph` is for messages.
absl::StatusOr<BatchResult> resultOf(const std::string& graph,
                                     absl::Span<const NamedTensor> outputs);
absl::StatusOr<BatchResult> resultOf(const std::string& graph, TensorMap outputs);

/// The session's graphs "step" and "eval" take batches.
class SessionRun final : public TrainingRun {
 public:
  /// `session` must outlive it.
  explicit SessionRun(Session& session) : session_(session) {}

  absl::StatusOr<BatchResult> step(const Batch& batch) override;
  absl::StatusOr<std::string> revertStep(const Batch& batch) override;
  absl::StatusOr<BatchResult> evaluate(const Batch& batch) override;

 private:
  /// The inputs of a graph; they refer to the batch.
  std::vector<NamedTensor> inputsOf(const Batch& batch) const;
  absl::StatusOr<BatchResult> run(const char* graph, const Batch& batch);
  /// The name of the model's input that a field of the data is for.
  std::string nameOf(const NamedTensor& input) const;

  Session& session_;
  std::vector<NamedTensor> outputs_;
};

}  // namespace graphrun::runtime

#endif  // GRAPHRUN_RUNTIME_TRAINING_LOOP_SESSION_RUN_H_
