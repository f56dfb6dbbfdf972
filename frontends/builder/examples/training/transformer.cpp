// Trains a transformer that writes on, character by character (Vaswani et al., 2017, with
// normalisation before each part), and lets it write.
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <set>

#include "example.h"

using namespace graphrun;

namespace {

constexpr int64_t kContext = 64;  ///< characters that it sees
constexpr int64_t kWidth = 96;
constexpr int64_t kHeads = 4;
constexpr int64_t kLayers = 3;

/// A text as numbers of characters.
struct Text {
  std::string characters;  ///< those that there are, by their numbers
  std::vector<int64_t> numbers{};
};

absl::StatusOr<Text> readText(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string all((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  if (all.size() <= static_cast<size_t>(kContext)) {
    return absl::InvalidArgumentError("'" + path + "' is no text of more than 64 characters");
  }
  const std::set<char> found(all.begin(), all.end());
  Text text{.characters = {found.begin(), found.end()}};
  text.numbers.reserve(all.size());
  for (char c : all) {
    text.numbers.push_back(static_cast<int64_t>(text.characters.find(c)));
  }
  return text;
}

/// Pieces of a text; the target of each character is the next one.
absl::StatusOr<std::unique_ptr<Dataset>> pieces(absl::Span<const int64_t> numbers) {
  const auto count = (static_cast<int64_t>(numbers.size()) - 1) / kContext;
  const auto length = static_cast<size_t>(count * kContext);
  std::vector<NamedTensor> inputs(1);
  inputs[0].name = "characters";
  GR_ASSIGN_OR_RETURN(inputs[0].tensor,
                      HostTensor::from(numbers.subspan(0, length), {count, kContext}));
  GR_ASSIGN_OR_RETURN(HostTensor next,
                      HostTensor::from(numbers.subspan(1, length), {count, kContext}));
  return datasetOf(std::move(inputs), std::move(next));
}

/// N x T x C apart into heads: N x H x T x C/H.
Tensor heads(const Tensor& x) {
  return transpose(reshape(x, {0, kContext, kHeads, kWidth / kHeads}), {0, 2, 1, 3});
}

Tensor attend(const Tensor& x) {
  const Tensor query = heads(layers::dense(x, kWidth));
  const Tensor key = heads(layers::dense(x, kWidth));
  const Tensor value = heads(layers::dense(x, kWidth));
  const Tensor seen = attention(query, key, value, {.causal = true});
  return layers::dense(reshape(transpose(seen, {0, 2, 1, 3}), {0, kContext, kWidth}), kWidth);
}

Tensor transformer(Graph& g, int64_t characters) {
  const layers::Dense plain{.weights = init::normal(0, 0.02)};
  Tensor x = g.input("characters", ElementType::kI64, {Dim("N"), kContext});
  x = gather(g.weight({characters, kWidth}, init::normal(0, 0.02), ElementType::kF32, "embedding"),
             x) +
      g.weight({kContext, kWidth}, init::normal(0, 0.02), ElementType::kF32, "positions");
  for (int64_t i = 0; i < kLayers; ++i) {
    auto scope = g.scope("layer" + std::to_string(i));
    x = x + attend(layers::layerNorm(x));
    x = x + layers::dense(gelu(layers::dense(layers::layerNorm(x), 4 * kWidth)), kWidth, plain);
  }
  return layers::dense(layers::layerNorm(x), characters, plain);
}

/// Writes on: each time the most likely of the next characters.
absl::Status write(Trainer& trainer, const Text& text, int64_t length) {
  std::vector<int64_t> seen(text.numbers.begin(), text.numbers.begin() + kContext);
  std::string written;
  for (int64_t i = 0; i < length; ++i) {
    TensorMap inputs;
    GR_ASSIGN_OR_RETURN(inputs["characters"], HostTensor::from(seen, {1, kContext}));
    GR_ASSIGN_OR_RETURN(HostTensor logits, trainer.predict(inputs));
    const auto last = logits.as<float>().last(text.characters.size());
    seen.erase(seen.begin());
    seen.push_back(std::max_element(last.begin(), last.end()) - last.begin());
    written += text.characters[static_cast<size_t>(seen.back())];
  }
  std::printf("%s\n", written.c_str());
  return absl::OkStatus();
}

absl::Status train(const Arguments& arguments) {
  GR_ASSIGN_OR_RETURN(Text text, readText(arguments.files[0]));
  const size_t split = text.numbers.size() * 9 / 10;
  GR_ASSIGN_OR_RETURN(auto begin, pieces(absl::MakeSpan(text.numbers).first(split)));
  GR_ASSIGN_OR_RETURN(auto rest, pieces(absl::MakeSpan(text.numbers).subspan(split)));
  const auto characters = static_cast<int64_t>(text.characters.size());
  GR_ASSIGN_OR_RETURN(
      std::unique_ptr<Trainer> trainer,
      Trainer::create([=](Graph& g) { return transformer(g, characters); },
                      {.loss = {losses::sparseCategoricalCrossentropy, {.fromLogits = true}},
                       .optimizer = optimizers::AdamW{.learningRate = 1e-3},
                       .target = TargetSpec{ElementType::kI64, {Dim("N"), kContext}}},
                      {.numerics = Numerics::kDeterministic}));
  GR_RETURN_IF_ERROR(
      trainer->fit(*begin, {.batch = 16, .steps = arguments.steps, .onStep = printStep}).status());
  GR_ASSIGN_OR_RETURN(Evaluation result, trainer->evaluate(*rest));
  printEvaluation(result);
  GR_RETURN_IF_ERROR(write(*trainer, text, 200));
  return trainer->saveModel(arguments.output);
}

}  // namespace

int main(int argc, char** argv) {
  return runExample(argc, argv,
                    {.files = {"TEXT"}, .output = "MODEL.fb", .steps = 2000, .run = train});
}
