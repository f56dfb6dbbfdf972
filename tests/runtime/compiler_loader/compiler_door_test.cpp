// The loader with libraries that are fake, old or missing.
#include "runtime/compiler_loader/compiler_loader.h"

#include <catch2/catch.hpp>

#include "absl/strings/str_cat.h"
#include "runtime/compiler_loader/compiler_api.h"

namespace graphrun::runtime {
namespace {

absl::Span<const uint8_t> bytesOf(absl::string_view text) {
  return absl::MakeConstSpan(reinterpret_cast<const uint8_t*>(text.data()), text.size());
}

std::string textOf(const std::vector<uint8_t>& bytes) { return {bytes.begin(), bytes.end()}; }

TEST_CASE("calls go through with their bytes, and are loaded at the first") {
  CompilerLoader loader(FAKE_COMPILER);
  CHECK_THAT(loader.identity(), Catch::Contains("size"));
  CHECK_FALSE(loader.loaded());
  CHECK(*loader.importOnnx("a.onnx", "a.fb") == "a.onnx to a.fb");
  CHECK(loader.loaded());
  CHECK(textOf(*loader.plan(bytesOf("MODEL"), "name ", bytesOf("REQUEST"))) == "name MODELREQUEST");

  PartitionTask task;
  task.plan = bytesOf("PLAN ");
  task.device.cores = {1, 2};
  task.device.threads = 2;
  task.fingerprint = "print ";
  auto weight = [](uint32_t index) -> absl::StatusOr<absl::Span<const uint8_t>> {
    return index == 5 ? bytesOf("W5") : bytesOf("?");
  };
  task.timings = " that";
  task.tuneNanos = 7;
  auto compiled = loader.compilePartition(task, weight);
  CHECK(textOf(compiled->executable) == "PLAN print W5");
  CHECK(compiled->timings == "more than that");
  CHECK(compiled->tuned);
}

TEST_CASE("errors keep code and message, also those of weights") {
  CompilerLoader loader(FAKE_COMPILER);
  absl::Status bad = loader.importOnnx("bad.onnx", "b.fb").status();
  CHECK(bad.code() == absl::StatusCode::kInvalidArgument);
  CHECK(bad.message() == "bad.onnx to b.fb");
  CHECK(loader.inspect({}, "m", {}).status().code() == absl::StatusCode::kUnimplemented);
  CHECK(loader.annotateOnnx("a.onnx", "{}", "b.onnx").value() == "a.onnx {} b.onnx");
  CHECK(loader.checkModel("m.onnx", {"x:1x2"}, true).value() == "m.onnx trained x:1x2");
  Recipe recipe;
  recipe.model = "m.onnx";
  recipe.loss.kind = LossKind::kBinaryCrossentropy;
  recipe.optimizer.kind = OptimizerKind::kAdamW;
  recipe.optimizer.learningRate = 0.5;
  recipe.metrics = {MetricKind::kAccuracy};
  CHECK(loader.trainingModel(recipe, ElementType::kF32, "t.fb").value() ==
        "m.onnx 2 3 2 0.500000 1 t.fb");
  const float values[] = {1, 2};
  const int64_t dims[] = {2};
  const GrTensor tensor{"w", 2, dims, 1, {reinterpret_cast<const uint8_t*>(values), 8}};
  CHECK(loader.writeOnnxWeights("m.onnx", {tensor}, "t.onnx").ok());
  CHECK_FALSE(loader.writeOnnxWeights("m.onnx", {}, "t.onnx").ok());
  GrCosts costs{};
  costs.name = "c.json ";
  costs.strategy = "heft";
  CHECK(loader.placeCosts(costs).value() == "c.json heft");
  CHECK(loader.costs({}, "m", bytesOf("REQUEST")).value() == "m costs REQUEST");
  auto missing = [](uint32_t) -> absl::StatusOr<absl::Span<const uint8_t>> {
    return absl::DataLossError("weight 'w' is damaged");
  };
  absl::Status status = loader.compilePartition({}, missing).status();
  CHECK(status.code() == absl::StatusCode::kDataLoss);
  CHECK(status.message() == "weight 'w' is damaged");  // whoever compiles says for whom
}

TEST_CASE("a missing or an old library is explained") {
  CompilerLoader missing("/nowhere/libgraphrun-compiler.so");
  CHECK(absl::IsInternal(missing.check()));
  CHECK_THAT(std::string(missing.check().message()), Catch::Contains("/nowhere/"));
  CompilerLoader old(OLD_COMPILER);
  CHECK(absl::IsInternal(old.check()));
  CHECK_THAT(std::string(old.check().message()),
             Catch::Contains(absl::StrCat("version 0, expected ", GR_COMPILER_API_VERSION)));
  CHECK_FALSE(old.loaded());
}

}  // namespace
}  // namespace graphrun::runtime
