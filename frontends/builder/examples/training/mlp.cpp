// Trains a multilayer perceptron that reads handwritten digits.
#include "example.h"

using namespace graphrun;

namespace {

absl::Status train(const Arguments& arguments) {
  auto model = [](Graph& g) {
    Tensor x = g.input("image", ElementType::kF32, {Dim("N"), 784});
    x = relu(layers::dense(x, 128));
    x = relu(layers::dense(x, 64));
    return layers::dense(x, 10);
  };
  GR_ASSIGN_OR_RETURN(
      std::unique_ptr<Trainer> trainer,
      Trainer::create(model,
                      {.loss = {losses::sparseCategoricalCrossentropy, {.fromLogits = true}},
                       .optimizer = optimizers::Sgd{.learningRate = 0.1, .momentum = 0.9},
                       .metrics = {{"accuracy", metrics::sparseCategoricalAccuracy}},
                       .target = TargetSpec{ElementType::kI64, {Dim("N")}}},
                      {.numerics = Numerics::kDeterministic}));
  GR_ASSIGN_OR_RETURN(Digits digits, openDigits(arguments, {784}));
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
