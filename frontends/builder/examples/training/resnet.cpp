// Trains ResNet-20 (He et al., 2016), a residual network for pictures of 32 x 32 in three colours,
// such as CIFAR-10's. The pictures are bytes, N x 3 x 32 x 32, and the labels integers, in .npy
// files.
#include "example.h"

using namespace graphrun;

namespace {

constexpr int64_t kClasses = 10;

/// Two convolutions, and the way around them: a convolution of its own where the size changes.
Tensor block(const Tensor& x, int64_t channels, int64_t stride) {
  auto convolved = [&](const Tensor& from, int64_t side, int64_t step) {
    const int64_t pad = side / 2;
    return layers::batchNorm(
        layers::conv2d(from, channels, {side, side},
                       {.strides = {step, step}, .pads = {pad, pad, pad, pad}, .bias = false}));
  };
  const Tensor y = convolved(relu(convolved(x, 3, stride)), 3, 1);
  return relu(y + (stride == 1 ? x : convolved(x, 1, stride)));
}

Tensor resnet20(Graph& g) {
  Tensor x = g.input("image", ElementType::kU8, {Dim("N"), 3, 32, 32});
  x = (cast(x, ElementType::kF32) - 120.0) / 64.0;  // about the mean and deviation of photographs
  x = relu(layers::batchNorm(layers::conv2d(x, 16, {3, 3}, {.pads = {1, 1, 1, 1}, .bias = false})));
  for (int64_t channels : {16, 32, 64}) {
    for (int64_t i = 0; i < 3; ++i) {
      x = block(x, channels, channels > 16 && i == 0 ? 2 : 1);
    }
  }
  return layers::dense(layers::globalAveragePool(x), kClasses);
}

absl::Status train(const Arguments& arguments) {
  GR_ASSIGN_OR_RETURN(
      std::unique_ptr<Trainer> trainer,
      Trainer::create(
          resnet20,
          {.loss = {losses::sparseCategoricalCrossentropy, {.fromLogits = true}},
           .optimizer = optimizers::Sgd{.learningRate = 0.1, .momentum = 0.9, .weightDecay = 1e-4},
           .metrics = {{"accuracy", metrics::sparseCategoricalAccuracy}},
           .target = TargetSpec{ElementType::kI64, {Dim("N")}}},
          {.numerics = Numerics::kDeterministic}));
  NpyFiles files{.inputs = {{"image", arguments.files[0]}}, .target = arguments.files[1]};
  GR_ASSIGN_OR_RETURN(std::unique_ptr<Dataset> pictures, openNpy(files));
  files = {.inputs = {{"image", arguments.files[2]}}, .target = arguments.files[3]};
  GR_ASSIGN_OR_RETURN(std::unique_ptr<Dataset> others, openNpy(files));
  GR_RETURN_IF_ERROR(
      trainer->fit(*pictures, {.batch = 128, .steps = arguments.steps, .onStep = printStep})
          .status());
  GR_ASSIGN_OR_RETURN(Evaluation result, trainer->evaluate(*others, 128));
  printEvaluation(result);
  return trainer->saveModel(arguments.output);
}

}  // namespace

int main(int argc, char** argv) {
  return runExample(argc, argv,
                    {.files = {"IMAGES.npy", "LABELS.npy", "TEST_IMAGES.npy", "TEST_LABELS.npy"},
                     .output = "MODEL.fb",
                     .steps = 1170,
                     .run = train});
}
