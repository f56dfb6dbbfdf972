// Gradients of graphs that are written in C++, from the saved model on; results were worked out by
// hand.
#include "passes/pipelines.h"
#include "passes/shapes.h"
#include "tests/frontends/builder/loaded_model.h"
#include "tests/ir/gradients/reference_program.h"

namespace graphrun::builder {
namespace {

using Floats = std::vector<float>;

/// The outputs of a graph of one input, all f32.
std::vector<Floats> run(Graph& g, const Floats& x) {
  LoadedModel loaded(g);
  auto module = loaded.function->getParentOfType<mlir::ModuleOp>();
  REQUIRE(mlir::succeeded(passes::specialize(loaded.function, {})));
  REQUIRE(mlir::succeeded(passes::differentiate(module)));
  REQUIRE(mlir::succeeded(passes::simplify(module)));
  auto program = ir::ReferenceProgram::make(loaded.function);
  INFO(program.status().message());
  REQUIRE(program.ok());
  devices::cpu::Tensors inputs;
  inputs.push_back(*HostTensor::from(x, {static_cast<int64_t>(x.size())}));
  auto results = program->run(inputs);
  INFO(results.status().message());
  REQUIRE(results.ok());
  std::vector<Floats> outputs;
  for (HostTensor& result : *results) {
    outputs.emplace_back(result.as<float>().begin(), result.as<float>().end());
  }
  return outputs;
}

TEST_CASE("gradients by inputs, constants and values inside") {
  Graph g("squares");
  Tensor x = g.input("x", ElementType::kF32, {3});
  Tensor w = g.constant({2.0F, 3.0F, 4.0F}, {3}, "w");
  Tensor h = x * w;
  std::vector<Tensor> d = gradients(reduce(h * h, Reduction::kSum, {.keepdims = false}), {x, w, h});
  REQUIRE(d.size() == 3);
  // A watched value may be used, and differentiated by, again.
  Tensor later = gradients(reduce(h * 5.0, Reduction::kSum, {.keepdims = false}), {h})[0];
  g.output("dx", d[0]);
  g.output("dw", d[1]);
  g.output("dh", d[2]);
  g.output("later", later);
  CHECK(run(g, {1, -1, 2}) ==
        std::vector<Floats>{{8, -18, 64}, {4, 6, 32}, {4, -6, 16}, {5, 5, 5}});
}

TEST_CASE("gradients through branches and loops that planning resolves, and of gradients") {
  Graph g("powers");
  Tensor x = g.input("x", ElementType::kF32, {2});
  LoopResult cubes = loop({x},
                          [&](const Tensor&, const std::vector<Tensor>& carried) {
                            return Iteration{{carried[0] * x}, {carried[0]}};
                          },
                          {.limit = 2});
  Tensor chosen = ifElse(
      g.constant({true}, {}), [&] { return std::vector{cubes.carried[0]}; },
      [&] { return std::vector{x}; })[0];
  Reduce all{.keepdims = false};
  Tensor loss =
      reduce(chosen, Reduction::kSum, all) + reduce(cubes.collected[0], Reduction::kSum, all);
  Tensor slope = gradients(loss, {x})[0];  // of x^3 + x^2 + x
  Tensor curvature = gradients(reduce(slope, Reduction::kSum, all), {x})[0];
  INFO(g.status().message());
  REQUIRE(g.status().ok());
  g.output("slope", slope);
  g.output("curvature", curvature);
  CHECK(run(g, {2, -1}) ==
        std::vector<Floats>{{3 * 4 + 2 * 2 + 1, 3 - 2 + 1}, {6 * 2 + 2, -6 + 2}});
}

}  // namespace
}  // namespace graphrun::builder
