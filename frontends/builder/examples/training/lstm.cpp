// Trains a long short-term memory (Hochreiter and Schmidhuber, 1997) that reads handwritten digits
// row by row.
#include "example.h"

using namespace graphrun;

namespace {

absl::Status train(const Arguments& arguments) {
  auto model = [](Graph& g) {
    Tensor rows = g.input("image", ElementType::kF32, {Dim("N"), 28, 28});
    return layers::dense(layers::recurrent(rows, Cell::kLstm, 64), 10);
  };
  GR_ASSIGN_OR_RETURN(
      std::unique_ptr<Trainer> trainer,
      Trainer::create(model,
                      {.loss = {losses::sparseCategoricalCrossentropy, {.fromLogits = true}},
                       .optimizer = optimizers::Adam{.learningRate = 5e-3},
                       .metrics = {{"accuracy", metrics::sparseCategoricalAccuracy}},
                       .target = TargetSpec{ElementType::kI64, {Dim("N")}}},
                      {.numerics = Numerics::kDeterministic}));
  GR_ASSIGN_OR_RETURN(Digits digits, openDigits(arguments, {28, 28}));
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
