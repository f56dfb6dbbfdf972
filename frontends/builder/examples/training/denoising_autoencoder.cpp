// Trains a denoising autoencoder (Vincent et al., 2008): it gets digits with noise, and is to give
// them without. The picture has, in its three rows, digits with noise, what the model makes of
// them, and the digits themselves.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <iterator>
#include <numeric>
#include <random>

#include "example.h"

using namespace graphrun;

namespace {

/// Digits with noise, whose targets are the digits. A sample has the same noise each time.
class NoisyDigits : public Dataset {
 public:
  explicit NoisyDigits(const Dataset& digits)
      : digits_(digits), target_{"target", digits.inputs()[0].sample} {}

  int64_t count() const override { return digits_.count(); }
  const std::vector<Field>& inputs() const override { return digits_.inputs(); }
  const Field& target() const override { return target_; }

  absl::Status fill(absl::Span<const int64_t> indices, absl::Span<HostTensor> inputs,
                    HostTensor& target) const override {
    HostTensor labels({ElementType::kI64, {static_cast<int64_t>(indices.size())}});
    GR_RETURN_IF_ERROR(digits_.fill(indices, inputs, labels));
    std::memcpy(target.data(), inputs[0].data(), target.byteSize());
    absl::Span<float> pixels = inputs[0].as<float>();
    const size_t size = pixels.size() / indices.size();
    for (size_t i = 0; i < indices.size(); ++i) {
      std::mt19937 random(static_cast<uint32_t>(indices[i]));
      for (float& pixel : pixels.subspan(i * size, size)) {
        pixel = random() % 3 == 0 ? static_cast<float>(random() % 256) / 255 : pixel;
      }
    }
    return absl::OkStatus();
  }

 private:
  const Dataset& digits_;
  const Field target_;
};

Tensor autoencoder(Graph& g) {
  Tensor x = g.input("image", ElementType::kF32, {Dim("N"), 784});
  x = relu(layers::dense(x, 256));
  x = relu(layers::dense(x, 48));
  x = relu(layers::dense(x, 256));
  return layers::dense(x, 784);
}

/// Writes what the model makes of the first digits.
absl::Status draw(Trainer& trainer, const Dataset& noisy, const std::string& path) {
  constexpr int64_t kDigits = 12;
  std::vector<int64_t> indices(kDigits);
  std::iota(indices.begin(), indices.end(), 0);
  std::vector<HostTensor> inputs;
  inputs.emplace_back(TensorSpec{ElementType::kF32, {kDigits, 784}});
  HostTensor clean(TensorSpec{ElementType::kF32, {kDigits, 784}});
  GR_RETURN_IF_ERROR(noisy.fill(indices, absl::MakeSpan(inputs), clean));
  TensorMap image;
  image["image"] = inputs[0].clone();
  GR_ASSIGN_OR_RETURN(HostTensor logits, trainer.predict(image));
  const absl::Span<float> noise = inputs[0].as<float>();
  const absl::Span<float> made = logits.as<float>();
  const absl::Span<float> digits = clean.as<float>();
  std::vector<float> pixels(noise.begin(), noise.end());
  std::transform(made.begin(), made.end(), std::back_inserter(pixels),
                 [](float logit) { return 1 / (1 + std::exp(-logit)); });
  pixels.insert(pixels.end(), digits.begin(), digits.end());
  return writePictures(path, pixels, kDigits);
}

absl::Status train(const Arguments& arguments) {
  GR_ASSIGN_OR_RETURN(std::unique_ptr<Trainer> trainer,
                      Trainer::create(autoencoder,
                                      {.loss = {losses::binaryCrossentropy, {.fromLogits = true}},
                                       .optimizer = optimizers::Adam{.learningRate = 1e-3}},
                                      {.numerics = Numerics::kDeterministic}));
  GR_ASSIGN_OR_RETURN(Digits digits, openDigits(arguments, {784}));
  const NoisyDigits noisy(*digits.train);
  GR_RETURN_IF_ERROR(
      trainer->fit(noisy, {.batch = 64, .steps = arguments.steps, .onStep = printStep}).status());
  const NoisyDigits others(*digits.test);
  GR_ASSIGN_OR_RETURN(Evaluation result, trainer->evaluate(others));
  printEvaluation(result);
  return draw(*trainer, others, arguments.output);
}

}  // namespace

int main(int argc, char** argv) {
  return runExample(
      argc, argv,
      {.files = {"IMAGES", "LABELS"}, .output = "PICTURE.pgm", .steps = 2000, .run = train});
}
