#include "frontends/cli/train/session_training.h"

#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "frontends/cli/commands.h"
#include "frontends/cli/train/train_command.h"
#include "runtime/base/scratch_folder.h"
#include "runtime/base/status.h"
#include "runtime/compiler_loader/compiler_loader.h"
#include "runtime/session/model_source.h"
#include "runtime/training_loop/session_run.h"

namespace graphrun::cli {
namespace {

using runtime::Session;

class SessionTraining final : public SavableRun {
 public:
  SessionTraining(std::string modelPath, runtime::ScratchFolder folder,
                  std::unique_ptr<Session> session)
      : modelPath_(std::move(modelPath)),
        folder_(std::move(folder)),
        session_(std::move(session)),
        run_(*session_) {}

  absl::StatusOr<runtime::BatchResult> step(const runtime::Batch& batch) override {
    return run_.step(batch);
  }
  absl::StatusOr<std::string> revertStep(const runtime::Batch& batch) override {
    return run_.revertStep(batch);
  }
  absl::StatusOr<runtime::BatchResult> evaluate(const runtime::Batch& batch) override {
    return run_.evaluate(batch);
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
        runtime::CompilerLoader().writeOnnxWeights(modelPath_, tensors, path));
  }

 private:
  const std::string modelPath_;
  const runtime::ScratchFolder folder_;  // has the model, which the session maps
  std::unique_ptr<Session> session_;
  runtime::SessionRun run_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<SavableRun>> openSessionTraining(
    const runtime::Recipe& recipe, const runtime::Dataset& train,
    const runtime::SessionOptions& options) {
  GR_ASSIGN_OR_RETURN(runtime::ScratchFolder folder, runtime::ScratchFolder::create());
  const std::string path = (folder.path() / "train.fb").string();
  absl::StatusOr<std::string> warnings =
      runtime::CompilerLoader().trainingModel(recipe, train.target().sample.type, path);
  GR_RETURN_IF_ERROR(runtime::modelError(warnings.status()));
  std::fputs(warnings->c_str(), stderr);
  GR_ASSIGN_OR_RETURN(std::unique_ptr<Session> session, Session::create(path, options));
  return std::make_unique<SessionTraining>(recipe.model, std::move(folder), std::move(session));
}

int trainCommand(int argc, char** argv) {
  auto print = [](const std::string& line) {
    return std::fputs(line.c_str(), stdout) >= 0 && std::fflush(stdout) == 0;
  };
  return trainWith(openSessionTraining, print, argc, argv);
}

}  // namespace graphrun::cli
