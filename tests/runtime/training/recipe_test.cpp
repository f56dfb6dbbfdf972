// Recipes of training: what is read, what is refused, and overrides.
#include "runtime/training/recipe.h"

#include <catch2/catch.hpp>
#include <cstdio>
#include <fstream>
#include <random>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"

namespace graphrun::runtime {
namespace {

using Catch::Matchers::Contains;
using Catch::Matchers::Equals;

const std::string kLenet = R"(model: lenet.onnx
data:
  train: {format: idx, images: a.gz, labels: b.gz, range: [0, 8000], scale: 0.5, shape: [1, 28, 28]}
  eval: {format: idx, images: a.gz, labels: b.gz, range: [8000, 10000]}
batch: 64
epochs: 5
seed: 1
loss: {sparse_categorical_crossentropy: {from_logits: true}}
optimizer: {sgd: {lr: 0.1, momentum: 0.9, nesterov: true, weight_decay: 1e-4}}
metrics: [accuracy]
)";

const std::string kArrays = R"(model: mlp.fb
data:
  train: {format: npy, inputs: {x: x.npy, mask: m.npy}, target: y.npy, shuffle: false}
batch: 8
steps: 100
loss: mean_squared_error
optimizer: adamw
)";

std::string errorOf(const std::string& text, const std::vector<std::string>& overrides = {}) {
  auto recipe = parseRecipe(text, "r.yaml", overrides);
  return recipe.ok() ? "ok" : std::string(recipe.status().message());
}

/// The error of kLenet with `from` replaced.
std::string changed(const std::string& from, const std::string& to) {
  REQUIRE(absl::StrContains(kLenet, from));
  return errorOf(absl::StrReplaceAll(kLenet, {{from, to}}));
}

std::vector<std::string> linesOf(const std::string& text) { return absl::StrSplit(text, '\n'); }

TEST_CASE("a whole recipe is read") {
  auto recipe = parseRecipe(kLenet, "r.yaml");
  INFO(recipe.status().message());
  REQUIRE(recipe.ok());
  CHECK(recipe->model == "lenet.onnx");
  const IdxFiles files{"a.gz", "b.gz", SampleRange{0, 8000}, 0.5, {1, 28, 28}};
  CHECK(recipe->train == TrainingData{files, true});
  REQUIRE(recipe->eval.has_value());
  CHECK(std::get<IdxFiles>(recipe->eval->files).range == SampleRange{8000, 10000});
  CHECK(recipe->batch == 64);
  CHECK(recipe->epochs == 5);
  CHECK(recipe->steps == 0);
  CHECK(recipe->seed == 1);
  CHECK(recipe->loss == LossSpec{LossKind::kSparseCategoricalCrossentropy, true});
  OptimizerSpec sgd{.learningRate = 0.1, .momentum = 0.9, .nesterov = true, .weightDecay = 1e-4};
  CHECK(recipe->optimizer == sgd);
  CHECK(recipe->metrics == std::vector{MetricKind::kAccuracy});
}

TEST_CASE("what is left out has defaults, and a name alone is enough") {
  auto recipe = parseRecipe(kArrays, "r.yaml");
  INFO(recipe.status().message());
  REQUIRE(recipe.ok());
  const auto& files = std::get<NpyFiles>(recipe->train.files);
  CHECK(files.inputs == std::vector<NpyFile>{{"x", "x.npy"}, {"mask", "m.npy"}});
  CHECK(files.target == "y.npy");
  CHECK_FALSE(recipe->train.shuffles);
  CHECK_FALSE(recipe->eval.has_value());
  CHECK(recipe->steps == 100);
  CHECK(recipe->loss.kind == LossKind::kMeanSquaredError);
  CHECK(recipe->optimizer == OptimizerSpec{.kind = OptimizerKind::kAdamW, .weightDecay = 0.01});
  CHECK(nameOf(recipe->optimizer.kind) == "adamw");
  CHECK(nameOf(recipe->loss.kind) == "mean_squared_error");
  CHECK(nameOf(MetricKind::kAccuracy) == "accuracy");
}

TEST_CASE("betas and eps are Adam's") {
  auto recipe = parseRecipe(kArrays, "r.yaml", {"optimizer={adam: {betas: [0.8, 0], eps: 1e-6}}"});
  REQUIRE(recipe.ok());
  CHECK(recipe->optimizer ==
        OptimizerSpec{.kind = OptimizerKind::kAdam, .beta1 = 0.8, .beta2 = 0, .epsilon = 1e-6});
  CHECK_THAT(errorOf(kArrays, {"optimizer={adam: {betas: [0.8, 1]}}"}),
             Contains("optimizer.adam: betas is a list, expected two numbers from 0 to below 1"));
  CHECK_THAT(errorOf(kArrays, {"optimizer={adam: {betas: 0.8}}"}), Contains("betas is '0.8'"));
  CHECK_THAT(errorOf(kArrays, {"optimizer={adam: {momentum: 0.8}}"}),
             Contains("unknown key 'momentum' (known: lr, betas, eps, weight_decay)"));
}

TEST_CASE("overrides are put in place before anything is checked") {
  auto recipe = parseRecipe(kLenet, "r.yaml",
                            {"optimizer.sgd.lr=0.2", "data.train.range.1=100", "seed=7",
                             "optimizer.sgd.lr=0.3", "data.eval.shape=[784]"});
  INFO(recipe.status().message());
  REQUIRE(recipe.ok());
  CHECK(recipe->optimizer.learningRate == 0.3);
  CHECK(std::get<IdxFiles>(recipe->train.files).range == SampleRange{0, 100});
  CHECK(recipe->seed == 7);
  CHECK(std::get<IdxFiles>(recipe->eval->files).shape == std::vector<int64_t>{784});
  // One may mend what is wrong in the file, and make what is missing.
  CHECK(parseRecipe(absl::StrReplaceAll(kLenet, {{"batch: 64", "batch: none"}}), "r.yaml",
                    {"batch=64"})
            .ok());
  auto steps = parseRecipe(kLenet, "r.yaml", {"epochs=null", "steps=7", "absent=null"});
  INFO(steps.status().message());
  REQUIRE(steps.ok());
  CHECK(steps->steps == 7);
  const std::string noOptimizer = absl::StrReplaceAll(kArrays, {{"optimizer: adamw\n", ""}});
  auto made = parseRecipe(noOptimizer, "r.yaml", {"optimizer.adam.lr=0.5"});
  INFO(made.status().message());
  REQUIRE(made.ok());
  CHECK(made->optimizer == OptimizerSpec{.kind = OptimizerKind::kAdam, .learningRate = 0.5});
}

TEST_CASE("an override's problems name it, not a line") {
  CHECK_THAT(errorOf(kLenet, {"optimizer.sgd.lr=fast"}),
             Equals("--set optimizer.sgd.lr=fast: optimizer.sgd: lr is 'fast', expected a number "
                    "of at least 0"));
  CHECK_THAT(errorOf(kLenet, {"optimizer.sgd.lt=1"}),
             Equals("--set optimizer.sgd.lt=1: optimizer.sgd: unknown key 'lt'; did you mean 'lr'? "
                    "(known: lr, momentum, nesterov, weight_decay)"));
  CHECK_THAT(errorOf(kLenet, {"optimizer.adam.lr=1"}),
             Contains("optimizer: has 2 entries, expected one of sgd, adam, adamw"));
  CHECK_THAT(errorOf(kLenet, {"data.train.range={a: [1]}"}),
             Equals("--set data.train.range={a: [1]}: data.train: range is a mapping, expected "
                    "[BEGIN, END] of samples, as in [0, 8000]"));
  CHECK_THAT(errorOf(kLenet, {"data.train.range.2=5"}),
             Equals("--set data.train.range.2=5: '2' is no index of 'data.train.range', a list of "
                    "2 entries"));
  CHECK_THAT(errorOf(kArrays, {"loss.mean_squared_error.x=1"}),
             Contains("'loss' is a text, expected a mapping that has 'mean_squared_error'; set it "
                      "as a whole: --set 'loss={mean_squared_error: …}'"));
  CHECK_THAT(errorOf(kLenet, {"batch"}), Contains("--set batch: expected PATH=VALUE"));
  CHECK_THAT(errorOf(kLenet, {"=1"}), Contains("expected PATH=VALUE"));
  CHECK_THAT(errorOf(kLenet, {"data..x=1"}), Contains("has an empty key"));
  CHECK_THAT(errorOf(kLenet, {"batch=[1"}), Contains("--set batch=[1: not YAML"));
  CHECK_THAT(errorOf(kLenet, {"batch=&a [*a]"}), Contains("the value has an alias"));
  CHECK_THAT(errorOf("", {"batch=1"}), Contains("the recipe is nothing, expected a mapping"));
  std::string deep = "a";
  for (int i = 0; i < 30'000; ++i) {
    deep += ".a";
  }
  CHECK_THAT(errorOf(kLenet, {deep + "=1"}), Contains("path has 30001 keys, expected at most 16"));
}

TEST_CASE("all problems are told at once, each with its line") {
  const std::vector<std::string> lines = linesOf(errorOf(R"(model: [a]
dat: {}
batch: 0
epochs: 5
steps: 6
seed: -1
loss: {mean_squared_eror: {}}
optimizer: {sgd: {lr: -1, momentum: nan, nesterov: maybe}}
metrics: accuracy
)"));
  REQUIRE(lines.size() == 11);
  CHECK_THAT(lines[0], Equals("r.yaml:1: recipe: 'model' must be a text"));
  CHECK_THAT(lines[1], Equals("r.yaml:1: recipe: 'data' is missing"));
  CHECK_THAT(lines[2], Contains("r.yaml:2: recipe: unknown key 'dat'; did you mean 'data'?"));
  CHECK_THAT(
      lines[3],
      Equals("r.yaml:3: recipe: batch is '0', expected a whole number from 1 to 2147483648"));
  CHECK_THAT(lines[4], Contains("r.yaml:5: recipe: has both epochs and steps"));
  CHECK_THAT(lines[5], Contains("r.yaml:6: recipe: seed is '-1'"));
  CHECK_THAT(lines[6], Contains("r.yaml:7: loss: there is no 'mean_squared_eror'; did you mean "
                                "'mean_squared_error'?"));
  CHECK_THAT(lines[7], Contains("r.yaml:8: optimizer.sgd: lr is '-1'"));
  CHECK_THAT(lines[8], Contains("momentum is 'nan', expected a number from 0 to 1"));
  CHECK_THAT(lines[9], Contains("nesterov: 'maybe' is not true or false"));
  CHECK_THAT(lines[10], Contains("r.yaml:9: metrics: expected a list"));
}

TEST_CASE("each value is checked") {
  CHECK_THAT(changed("epochs: 5\n", ""),
             Contains("has no epochs, expected either epochs or steps"));
  CHECK_THAT(changed("batch: 64\n", ""), Contains("'batch' is missing"));
  CHECK_THAT(changed("batch: 64", "batch: 6.5"), Contains("batch is '6.5'"));
  CHECK_THAT(changed("batch: 64", "batch: 9999999999999999999"), Contains("batch is '99999"));
  CHECK_THAT(changed("format: idx", "format: cifar"),
             Contains("data.train: format: there is no 'cifar'"));
  CHECK_THAT(changed("format: idx, ", ""), Contains("data.train: 'format' is missing"));
  CHECK_THAT(changed("images: a.gz, ", ""), Contains("data.eval: 'images' is missing"));
  CHECK_THAT(changed("[0, 8000]", "[8000, 0]"),
             Contains("range is [8000, 0], expected a BEGIN below END"));
  CHECK_THAT(changed("[0, 8000]", "[-1, 8]"), Contains("range has the entry '-1'"));
  CHECK_THAT(changed("[0, 8000]", "[1]"), Contains("range is a list, expected [BEGIN, END]"));
  CHECK_THAT(changed("scale: 0.5", "scale: inf"), Contains("scale is 'inf', expected a number"));
  CHECK_THAT(changed("scale: 0.5", "scale: 0"), Contains("expected a number above 0"));
  CHECK_THAT(changed("[1, 28, 28]", "[1, 0]"), Contains("shape has the entry '0'"));
  CHECK_THAT(changed("[1, 28, 28]", "784"), Contains("shape: expected a list"));
  CHECK_THAT(changed("range: [8000, 10000]", "shuffle: true"),
             Contains("data.eval: unknown key 'shuffle'"));
  CHECK_THAT(changed("{from_logits: true}", "{logits: true}"), Contains("unknown key 'logits'"));
  CHECK_THAT(changed("{from_logits: true}", "{from_logits: yes}"),
             Contains("from_logits: 'yes' is not true or false"));
  CHECK_THAT(changed("sparse_categorical_crossentropy: {from_logits: true}",
                     "mean_squared_error: {from_logits: true}"),
             Contains("loss.mean_squared_error: has options, expected none") &&
                 Contains("accuracy counts classes"));
  CHECK_THAT(changed("momentum: 0.9, ", ""),
             Contains("nesterov is true and momentum 0, expected a momentum"));
  CHECK_THAT(changed("[accuracy]", "[accuracy, accuracy]"), Contains("is given twice"));
  CHECK_THAT(changed("[accuracy]", "[acuracy]"), Contains("did you mean 'accuracy'?"));
  CHECK_THAT(changed("seed: 1", "seed: 1\nseed: 2"), Contains("the key 'seed' is given twice"));
  const auto arrays = [](const std::string& inputs) {
    return errorOf(absl::StrReplaceAll(kArrays, {{"{x: x.npy, mask: m.npy}", inputs}}));
  };
  CHECK_THAT(arrays("{}"), Contains("'inputs' is a mapping, expected the model's inputs"));
  CHECK_THAT(arrays("x.npy"), Contains("'inputs' is 'x.npy'"));
  CHECK_THAT(arrays("{x: [1]}"), Contains("expected INPUT: FILE.npy"));
  CHECK_THAT(arrays("{x: a, x: b}"), Contains("inputs: 'x' is given twice"));
}

TEST_CASE("what is no recipe is refused") {
  CHECK_THAT(errorOf(""), Contains("r.yaml:1: recipe: expected a mapping with the keys model"));
  CHECK_THAT(errorOf("- a\n- b"), Contains("expected a mapping"));
  CHECK_THAT(errorOf("a: [1"), Contains("r.yaml:1: not YAML"));
  CHECK_THAT(errorOf(std::string("model: a\0b", 10)), Contains("a byte is zero"));
  CHECK_THAT(errorOf(kLenet + "---\n" + kLenet), Contains("a second document begins"));
  // Aliases make short texts long: "billion laughs".
  CHECK_THAT(errorOf("model: &a [x, x]\ndata: &b [*a, *a]\n"),
             Contains("r.yaml:2: an alias is not read here"));
  CHECK_THAT(errorOf("a: &a [*a]"), Contains("an alias is not read"));
  CHECK_THAT(errorOf(std::string(100'000, '[')), Contains("not YAML"));
  CHECK_THAT(errorOf(std::string(100'000, '{')), Contains("not YAML"));
}

TEST_CASE("a damaged recipe never ends the program") {
  std::mt19937 random(11);
  const std::string bytes = "{}[]:,-&*!|>'\"%@#\n \t0aé\x80";
  for (int i = 0; i < 3'000; ++i) {
    std::string text = i % 2 == 0 ? kLenet : kArrays;
    std::string set = "optimizer.sgd.lr={a: [0.1]}";
    for (int k = 0; k < 4; ++k) {
      text[random() % text.size()] = bytes[random() % bytes.size()];
      set[random() % set.size()] = bytes[random() % bytes.size()];
    }
    parseRecipe(text, "r.yaml", {set}).status().IgnoreError();
  }
}

TEST_CASE("a recipe is read from its file, and data are opened") {
  CHECK(absl::IsNotFound(readRecipe("/no/such/recipe.yaml").status()));
  const std::string path = absl::StrCat(std::tmpnam(nullptr), ".yaml");
  std::ofstream(path) << kArrays;
  auto recipe = readRecipe(path);
  REQUIRE(recipe.ok());
  std::remove(path.c_str());
  CHECK(absl::IsNotFound(openData(recipe->train).status()));
  recipe->train.files = IdxFiles{"/no/images", "/no/labels", {}, 1, {}};
  CHECK_THAT(std::string(openData(recipe->train).status().message()), Contains("/no/labels"));
}

}  // namespace
}  // namespace graphrun::runtime
