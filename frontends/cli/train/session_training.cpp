#include "frontends/cli/train/session_training.h"

#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "frontends/cli/commands.h"
#include "frontends/cli/train/train_command.h"
#include "runtime/base/scratch_folder.h"
#include "runtime/base/status.h"
#include "runtime/compiler_loader/compiler_loader.h"
#include "runtime/session/error_domain.h"
#include "runtime/session/model_source.h"
#include "runtime/training/training_graphs.h"

namespace graphrun::cli {
namespace {

using runtime::HostTensor;
using runtime::NamedTensor;
using runtime::Recipe;
using runtime::Session;

class SessionTraining final : public TrainingRun {
 public:
  SessionTraining(Recipe recipe, runtime::ScratchFolder folder, std::unique_ptr<Session> session)
      : recipe_(std::move(recipe)), folder_(std::move(folder)), session_(std::move(session)) {}

  // The graph finds out: it fails with the label that is no class.
  std::optional<int64_t> classes() const override { return std::nullopt; }

  absl::StatusOr<BatchResult> step(const runtime::Batch& batch) override {
    return run(runtime::kStepGraph, batch);
  }
  absl::StatusOr<BatchResult> evaluate(const runtime::Batch& batch) override {
    return run(runtime::kEvalGraph, batch);
  }

  absl::Status saveModel(const std::string& path) override {
    GR_ASSIGN_OR_RETURN(runtime::TensorMap states, session_->states());
    std::vector<GrTensor> tensors;
    for (const auto& [name, value] : states) {
      const runtime::TensorSpec& spec = value.spec();
      tensors.push_back({name.c_str(),
                         static_cast<uint8_t>(spec.type),
                         spec.dims.data(),
                         spec.dims.size(),
                         {static_cast<const uint8_t*>(value.data()), value.byteSize()}});
    }
    return runtime::modelError(
        runtime::CompilerLoader().writeOnnxWeights(recipe_.model, tensors, path));
  }

 private:
  absl::StatusOr<BatchResult> run(const char* graph, const runtime::Batch& batch) {
    std::vector<NamedTensor> inputs;
    inputs.reserve(batch.inputs.size() + 1);
    for (const NamedTensor& input : batch.inputs) {
      inputs.push_back({nameOf(input), view(input.tensor)});
    }
    inputs.push_back({runtime::kTargetInput, view(batch.target)});
    GR_RETURN_IF_ERROR(session_->run(graph, inputs, outputs_));
    BatchResult result;
    result.metrics.resize(recipe_.metrics.size());
    for (const NamedTensor& output : outputs_) {
      read(output, result);
    }
    return result;
  }

  /// The name of the model's input that a field of the data is for.
  std::string nameOf(const NamedTensor& input) const {
    if (!input.name.empty()) {
      return input.name;
    }
    for (const runtime::ModelPort& port : session_->inputs()) {
      if (port.name != runtime::kTargetInput) {
        return port.name;
      }
    }
    return input.name;
  }

  /// The same elements, which the batch keeps.
  static HostTensor view(const HostTensor& tensor) {
    return {tensor.spec(),
            std::shared_ptr<void>(std::shared_ptr<void>(), const_cast<void*>(tensor.data()))};
  }

  void read(const NamedTensor& output, BatchResult& result) const {
    if (output.name == runtime::kLossOutput) {
      result.loss = output.tensor.as<double>()[0];
      return;
    }
    for (size_t i = 0; i < recipe_.metrics.size(); ++i) {
      const std::string name(runtime::nameOf(recipe_.metrics[i]));
      if (output.name == name + runtime::kRightSuffix) {
        result.metrics[i].right = output.tensor.as<int64_t>()[0];
      } else if (output.name == name + runtime::kTotalSuffix) {
        result.metrics[i].total = output.tensor.as<int64_t>()[0];
      }
    }
  }

  const Recipe recipe_;
  const runtime::ScratchFolder folder_;  // has the model, which the session maps
  std::unique_ptr<Session> session_;
  std::vector<NamedTensor> outputs_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<TrainingRun>> openSessionTraining(
    const runtime::Recipe& recipe, const runtime::Dataset& train,
    const runtime::SessionOptions& options) {
  GR_ASSIGN_OR_RETURN(runtime::ScratchFolder folder, runtime::ScratchFolder::create());
  const std::string path = (folder.path() / "train.fb").string();
  absl::StatusOr<std::string> warnings =
      runtime::CompilerLoader().trainingModel(recipe, train.target().sample.type, path);
  GR_RETURN_IF_ERROR(runtime::modelError(warnings.status()));
  std::fputs(warnings->c_str(), stderr);
  GR_ASSIGN_OR_RETURN(std::unique_ptr<Session> session, Session::create(path, options));
  return std::make_unique<SessionTraining>(recipe, std::move(folder), std::move(session));
}

int trainCommand(int argc, char** argv) {
  auto print = [](const std::string& line) {
    return std::fputs(line.c_str(), stdout) >= 0 && std::fflush(stdout) == 0;
  };
  return trainWith(openSessionTraining, print, argc, argv);
}

}  // namespace graphrun::cli
