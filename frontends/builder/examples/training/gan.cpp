// Trains a generative adversarial network (Goodfellow et al., 2014): a generator makes pictures of
// noise, a discriminator tells them from digits, and each learns from the other. The two have a
// loss and an optimizer each, and so a graph each, over the same weights. The picture has what the
// generator makes in the end.
#include <cstdio>
#include <random>

#include "example.h"

using namespace graphrun;

namespace {

constexpr int64_t kBatch = 64;
constexpr int64_t kNoise = 64;

Tensor generator(Graph& g) {
  Tensor x = g.input("noise", ElementType::kF32, {kBatch, kNoise});
  auto scope = g.scope("generator");
  x = leakyRelu(layers::dense(x, 128), 0.2);
  x = leakyRelu(layers::dense(x, 256), 0.2);
  return sigmoid(layers::dense(x, 784));
}

/// How sure it is that pictures are digits, as logits.
Tensor discriminator(Graph& g, const Tensor& pictures) {
  auto scope = g.scope("discriminator");
  Tensor x = layers::dropout(leakyRelu(layers::dense(pictures, 256), 0.2), 0.3);
  x = layers::dropout(leakyRelu(layers::dense(x, 128), 0.2), 0.3);
  return layers::dense(x, 1);
}

/// As many as there are pictures: 1 for each that is to pass for a digit.
Tensor labels(Graph& g, float value) {
  return g.constant(std::vector<float>(kBatch, value), {kBatch, 1});
}

Graph generatorStep() {
  Graph g("generator", Mode::kTraining);
  Tensor loss = losses::binaryCrossentropy(discriminator(g, generator(g)), labels(g, 1),
                                           {.fromLogits = true});
  optimizers::adam(loss, g.parameters("generator/"), {.learningRate = 2e-4, .beta1 = 0.5},
                   "generator_adam");
  g.output("loss", loss);
  return g;
}

Graph discriminatorStep() {
  Graph g("discriminator", Mode::kTraining);
  Tensor real = g.input("real", ElementType::kF32, {kBatch, 784});
  Tensor verdict = discriminator(g, concat({real, generator(g)}, 0));
  Tensor loss = losses::binaryCrossentropy(verdict, concat({labels(g, 0.9F), labels(g, 0)}, 0),
                                           {.fromLogits = true});
  optimizers::adam(loss, g.parameters("discriminator/"), {.learningRate = 2e-4, .beta1 = 0.5},
                   "discriminator_adam");
  g.output("loss", loss);
  return g;
}

Graph drawing() {
  Graph g("draw", Mode::kEvaluation);
  g.output("pictures", generator(g));
  return g;
}

absl::StatusOr<HostTensor> noise(std::mt19937& random) {
  std::vector<float> values(kBatch * kNoise);
  for (float& value : values) {
    value = static_cast<float>(random()) / static_cast<float>(1U << 31U) - 1;
  }
  return HostTensor::from(values, {kBatch, kNoise});
}

absl::Status train(const Arguments& arguments) {
  Graph forGenerator = generatorStep(), forDiscriminator = discriminatorStep(), draw = drawing();
  const std::vector<Graph*> graphs = {&draw, &forGenerator, &forDiscriminator};
  GR_ASSIGN_OR_RETURN(std::unique_ptr<Trainer> trainer,
                      Trainer::create(graphs, {.numerics = Numerics::kDeterministic}));
  GR_ASSIGN_OR_RETURN(Digits digits, openDigits(arguments, {784}));
  GR_ASSIGN_OR_RETURN(
      std::unique_ptr<BatchReader> batches,
      BatchReader::create(*digits.train,
                          {.size = kBatch, .shuffles = true, .end = arguments.steps}));
  std::mt19937 random(1);
  TensorMap inputs;
  for (int64_t step = 1; step <= arguments.steps; ++step) {
    GR_ASSIGN_OR_RETURN(std::optional<Batch> batch, batches->next());
    inputs["real"] = std::move(batch->inputs[0].tensor);
    GR_ASSIGN_OR_RETURN(inputs["noise"], noise(random));
    GR_ASSIGN_OR_RETURN(BatchResult judged, trainer->step("discriminator", inputs));
    inputs.erase("real");
    GR_ASSIGN_OR_RETURN(inputs["noise"], noise(random));
    GR_ASSIGN_OR_RETURN(BatchResult forged, trainer->step("generator", inputs));
    std::printf("step %lld: loss %.6f, generator %.6f\n", static_cast<long long>(step), judged.loss,
                forged.loss);
  }
  GR_ASSIGN_OR_RETURN(TensorMap drawn, trainer->session().run("draw", inputs));
  return writePictures(arguments.output, drawn.at("pictures").as<float>(), 16);
}

}  // namespace

int main(int argc, char** argv) {
  return runExample(
      argc, argv,
      {.files = {"IMAGES", "LABELS"}, .output = "PICTURE.pgm", .steps = 5000, .run = train});
}
