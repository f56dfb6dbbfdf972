// The command that trains, with a model that only counts.
#include "frontends/cli/train/train_command.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <csignal>
#include <filesystem>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "frontends/cli/command_line.h"
#include "frontends/cli/run_report.h"
#include "runtime/base/npy.h"
#include "runtime/base/scratch_folder.h"

namespace graphrun::cli {
namespace {

using runtime::Batch;
using runtime::BatchResult;
using runtime::HostTensor;
using runtime::Recipe;

/// What became of a FakeRun.
struct Record {
  std::vector<std::vector<int64_t>> steps;  // the targets of each
  std::vector<int64_t> evaluated;           // samples of each batch
  std::string saved;
};

/// Its loss of step n is 1 / n; of its predictions the first of each batch is right.
class FakeRun : public SavableRun {
 public:
  explicit FakeRun(Record& record) : record_(record) {}

  absl::StatusOr<BatchResult> step(const Batch& batch) override {
    const auto targets = batch.target.as<int64_t>();
    record_.steps.emplace_back(targets.begin(), targets.end());
    const auto number = static_cast<int64_t>(record_.steps.size());
    if (number == failsAt) {
      return absl::UnavailableError("the worker is gone");
    }
    if (number == signalAt) {
      std::raise(SIGINT);
    }
    return BatchResult{number == nanAt ? NAN : 1.0 / static_cast<double>(number),
                       {{"accuracy", 1, batch.samples}}};
  }
  absl::StatusOr<std::string> revertStep(const Batch&) override { return "'log'"; }
  absl::StatusOr<BatchResult> evaluate(const Batch& batch) override {
    record_.evaluated.push_back(batch.samples);
    return BatchResult{static_cast<double>(batch.samples), {{"accuracy", 1, batch.samples}}};
  }
  absl::Status saveModel(const std::string& path) override {
    record_.saved = path;
    std::ofstream(path) << record_.steps.size();
    return absl::OkStatus();
  }

  int64_t failsAt = 0;
  int64_t nanAt = 0;
  int64_t signalAt = 0;

 private:
  Record& record_;
};

/// A folder with a recipe for ten samples to train with, whose targets are 0 to 9, of which the
/// last five are there to evaluate with.
class Fixture {
 public:
  Fixture() : folder_(*runtime::ScratchFolder::create()) {
    std::vector<int64_t> targets(10);
    for (size_t i = 0; i < targets.size(); ++i) {
      targets[i] = static_cast<int64_t>(i);
    }
    REQUIRE(writeNpy(path("x.npy"), *HostTensor::from(std::vector<float>(20), {10, 2})).ok());
    REQUIRE(writeNpy(path("y.npy"), *HostTensor::from(targets, {10})).ok());
    const std::string files =
        absl::StrCat("format: npy, inputs: {x: ", path("x.npy"), "}, target: ", path("y.npy"));
    std::ofstream(path("r.yaml"))
        << "model: m.onnx\ndata:\n  train: {" << files << ", shuffle: false}\n  eval: {" << files
        << ", range: [5, 10]}\nbatch: 4\nepochs: 2\nloss: sparse_categorical_crossentropy\n"
        << "optimizer: sgd\nmetrics: [accuracy]\n";
  }

  std::string path(const std::string& name) const { return (folder_.path() / name).string(); }

  /// The exit code of the command with these arguments behind the recipe.
  int train(
      std::vector<std::string> arguments,
      const std::function<void(FakeRun&)>& change = [](FakeRun&) {}) {
    record = Record();
    lines.clear();
    arguments.insert(arguments.begin(), {"train", path("r.yaml")});
    std::vector<char*> argv;
    for (std::string& argument : arguments) {
      argv.push_back(argument.data());
    }
    const OpenSavableRun open =
        [&](const Recipe&, const runtime::Dataset&,
            const runtime::SessionOptions&) -> absl::StatusOr<std::unique_ptr<SavableRun>> {
      auto run = std::make_unique<FakeRun>(record);
      change(*run);
      return run;
    };
    const auto print = [this](const std::string& line) {
      CHECK(line.back() == '\n');
      lines.push_back(Json::parse(line));
      return lines.size() < mostLines;
    };
    return trainWith(open, print, static_cast<int>(argv.size()), argv.data());
  }

  Record record;
  std::vector<Json> lines;
  size_t mostLines = 1000;

 private:
  runtime::ScratchFolder folder_;
};

using Targets = std::vector<std::vector<int64_t>>;

TEST_CASE("epochs are steps of whole batches, each followed by an evaluation of all samples") {
  Fixture f;
  CHECK(f.train({"--output", f.path("out.onnx")}) == kOk);
  CHECK(f.record.steps == Targets{{0, 1, 2, 3}, {4, 5, 6, 7}, {0, 1, 2, 3}, {4, 5, 6, 7}});
  CHECK(f.record.evaluated == std::vector<int64_t>{4, 1, 4, 1});
  CHECK(f.record.saved == f.path("out.onnx"));
  REQUIRE(f.lines.size() == 6);
  const Json& second = f.lines[1];
  CHECK(second["step"] == 2);
  CHECK(second["epoch"] == 1);
  CHECK(second["loss"] == 0.5);
  CHECK(second["accuracy"] == 0.25);
  CHECK(second["step_ms"] >= 0);
  CHECK(second["samples_per_s"] > 0);
  // Each sample counts as much: (4 * 4 + 1 * 1) / 5, and 2 right ones of 5.
  CHECK(f.lines[2] == Json::parse(R"({"epoch": 1, "step": 2,
                                      "eval": {"loss": 3.4, "accuracy": 0.4, "samples": 5}})"));
  CHECK(f.lines[5]["epoch"] == 2);
}

TEST_CASE("steps end within an epoch, and shuffled epochs differ") {
  Fixture f;
  CHECK(f.train({"--set", "steps=3", "--set", "epochs=null"}) == kOk);
  CHECK(f.record.steps == Targets{{0, 1, 2, 3}, {4, 5, 6, 7}, {0, 1, 2, 3}});
  CHECK(f.record.evaluated == std::vector<int64_t>{4, 1, 4, 1});
  Fixture g;
  CHECK(g.train({"--set", "data.train.shuffle=true", "--set", "seed=3"}) == kOk);
  REQUIRE(g.record.steps.size() == 4);
  CHECK(g.record.steps[0] != g.record.steps[2]);
  const Targets first = g.record.steps;
  CHECK(g.train({"--set", "data.train.shuffle=true", "--set", "seed=3"}) == kOk);
  CHECK(g.record.steps == first);
  CHECK(g.train({"--set", "data.train.shuffle=true", "--set", "seed=4"}) == kOk);
  CHECK(g.record.steps != first);
}

TEST_CASE("a loss that is no number is null, and ends the training where that is asked for") {
  Fixture f;
  const auto atThird = [](FakeRun& run) { run.nanAt = 3; };
  CHECK(f.train({"--output", f.path("out.onnx")}, atThird) == kOk);
  CHECK(f.lines[3]["loss"].is_null());
  CHECK(f.record.steps.size() == 4);
  CHECK(f.train({"--output", f.path("out.onnx"), "--stop-on-nan"}, atThird) == kDiffers);
  CHECK(f.record.steps.size() == 3);
  CHECK(f.record.saved.empty());
}

TEST_CASE("failures end with the exit codes of other commands") {
  Fixture f;
  CHECK(f.train({}, [](FakeRun& run) { run.failsAt = 2; }) == kWorker);
  CHECK(f.lines.size() == 1);
  CHECK(f.train({"--set", "batch=11"}) == kBadFile);
  CHECK(f.train({"--set", "batch=none"}) == kBadFile);
  CHECK(f.train({"--set", "data.train.target=/no/such.npy"}) == kBadFile);
  CHECK(f.record.steps.empty());
  CHECK(f.train({"--output", "-"}) == kUsage);
  CHECK(f.train({"--outputs"}) == kUsage);
  // An output that cannot be written is told before anything is trained.
  CHECK(f.train({"--output", "/no/such/folder/out.onnx"}) == kBadFile);
  CHECK(f.record.steps.empty());
  CHECK_FALSE(std::filesystem::exists(f.path("out.onnx")));
}

TEST_CASE("training ends where nobody reads its lines") {
  Fixture f;
  f.mostLines = 2;
  CHECK(f.train({"--output", f.path("out.onnx")}) == kInterrupted);
  CHECK(f.record.steps.size() == 2);
}

// The last one: what was noted stays for the rest of the process.
TEST_CASE("Ctrl-C finishes the step, evaluates nothing and writes the model") {
  Fixture f;
  CHECK(f.train({"--output", f.path("out.onnx")}, [](FakeRun& run) { run.signalAt = 2; }) ==
        kInterrupted);
  CHECK(f.record.steps.size() == 2);
  CHECK(f.record.evaluated.empty());
  CHECK(f.record.saved == f.path("out.onnx"));
  CHECK(f.lines.size() == 2);
}

}  // namespace
}  // namespace graphrun::cli
