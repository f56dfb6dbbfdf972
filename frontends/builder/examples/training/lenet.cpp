// Trains LeNet-5, a convolutional network (LeCun et al., 1998), that reads handwritten digits.
#include "example.h"

using namespace graphrun;

namespace {

absl::Status train(const Arguments& arguments) {
  auto model = [](Graph& g) {
    Tensor x = g.input("image", ElementType::kF32, {Dim("N"), 1, 28, 28});
    x = relu(layers::conv2d(x, 6, {5, 5}, {.pads = {2, 2, 2, 2}}));
    x = maxPool(x, {2, 2}, {.strides = {2, 2}});
    x = relu(layers::conv2d(x, 16, {5, 5}));
    x = layers::flatten(maxPool(x, {2, 2}, {.strides = {2, 2}}));
    x = relu(layers::dense(x, 120));
    x = relu(layers::dense(x, 84));
    return layers::dense(x, 10);
  };
  GR_ASSIGN_OR_RETURN(
      std::unique_ptr<Trainer> trainer,
      Trainer::create(model,
                      {.loss = {losses::sparseCategoricalCrossentropy, {.fromLogits = true}},
                       .optimizer = optimizers::Adam{.learningRate = 1e-3},
                       .metrics = {{"accuracy", metrics::sparseCategoricalAccuracy}},
                       .target = TargetSpec{ElementType::kI64, {Dim("N")}}},
                      {.numerics = Numerics::kDeterministic}));
  GR_ASSIGN_OR_RETURN(Digits digits, openDigits(arguments, {1, 28, 28}));
  GR_RETURN_IF_ERROR(
      trainer->fit(*digits.train, {.batch = 64, .steps = arguments.steps, .onStep = printStep})
          .status());
  GR_ASSIGN_OR_RETURN(Evaluation result, trainer->evaluate(*digits.test));
  printEvaluation(result);
  return trainer->saveModel(arguments.output);
}

}  // namespace

int main(int argc, char** argv) {
  return runExample(
      argc, argv,
      {.files = {"IMAGES", "LABELS"}, .output = "MODEL.fb", .steps = 500, .run = train});
}
