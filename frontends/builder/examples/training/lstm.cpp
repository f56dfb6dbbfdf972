// Trains a long short-term memory (Hochreiter and Schmidhuber, 1997) that reads handwritten digits
// row by row.
#include "example.h"

using namespace graphrun;

namespace {

constexpr int64_t kUnits = 64;

/// The cell's hidden values behind the last row. A step computes all gates by one product.
Tensor lstm(Graph& g, const Tensor& rows) {
  auto scope = g.scope("lstm");
  Tensor weight =
      g.weight({28 + kUnits, 4 * kUnits}, init::glorotUniform(), ElementType::kF32, "weight");
  Tensor bias = g.weight({4 * kUnits}, init::zeros(), ElementType::kF32, "bias");
  Tensor hidden =
      rows[{Range(), 0, Range(0, 1)}] * g.constant(std::vector<float>(kUnits), {kUnits});
  Tensor state = hidden;
  for (int64_t i = 0; i < 28; ++i) {
    Tensor gates = matmul(concat({rows[{Range(), i}], hidden}, 1), weight) + bias;
    std::vector<Tensor> gate = splitEqually(gates, 1, 4);
    state = sigmoid(gate[1] + 1.0) * state + sigmoid(gate[0]) * tanh(gate[2]);
    hidden = sigmoid(gate[3]) * tanh(state);
  }
  return hidden;
}

absl::Status train(const Arguments& arguments) {
  auto model = [](Graph& g) {
    Tensor rows = g.input("image", ElementType::kF32, {Dim("N"), 28, 28});
    return layers::dense(lstm(g, rows), 10);
  };
  GR_ASSIGN_OR_RETURN(
      std::unique_ptr<Trainer> trainer,
      Trainer::create(model,
                      {.loss = {losses::sparseCategoricalCrossentropy, {.fromLogits = true}},
                       .optimizer = optimizers::Adam{.learningRate = 2e-3},
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
