// Optimizers change parameters so that a loss becomes smaller. Public.
//
//     Graph g("mlp", Mode::kTraining);
//     Tensor logits = layers::dense(g.input("x", ElementType::kF32, {32, 784}), 10);
//     Tensor loss = losses::sparseCategoricalCrossentropy(
//         logits, g.input("labels", ElementType::kI64, {32}), {.fromLogits = true});
//     optimizers::adam(loss, g.parameters(), {.learningRate = 1e-3});
//     g.output("loss", loss);
//
// Each call differentiates `loss` by `parameters`, states of its graph (Graph::parameters), makes
// the states that it keeps beside them, and updates all of them. The graph is of Mode::kTraining.
// Names and formulas are those of torch.optim (PyTorch 2). Without a name in `at` the states are
// called "optimizer/…": "optimizer/step" is an i64, and "optimizer/momentum/NAME",
// "optimizer/first_moment/NAME" and "optimizer/second_moment/NAME" are of a parameter's type.
#ifndef GRAPHRUN_FRONTENDS_BUILDER_OPTIMIZERS_H_
#define GRAPHRUN_FRONTENDS_BUILDER_OPTIMIZERS_H_

#include <vector>

#include "frontends/builder/tensor.h"

namespace graphrun::builder::optimizers {

struct Sgd {
  double learningRate = 1e-3;
  double momentum = 0;    ///< 0: no state is kept
  bool nesterov = false;  ///< needs a momentum
  double weightDecay = 0;
};
/// torch.optim.SGD. With g the gradient plus weightDecay * p:
///     v' = momentum * v + g
///     p' = p - learningRate * (nesterov ? g + momentum * v' : v')
void sgd(const Tensor& loss, const std::vector<Tensor>& parameters, const Sgd& options = {},
         const At& at = {});

struct Adam {
  double learningRate = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double weightDecay = 0;
};
/// torch.optim.Adam (Kingma and Ba, 2015). With g the gradient plus weightDecay * p, and t the
/// number of the step from 1:
///     m' = beta1 * m + (1 - beta1) * g
///     v' = beta2 * v + (1 - beta2) * g * g
///     p' = p - learningRate / (1 - beta1^t) * m' / (sqrt(v') / sqrt(1 - beta2^t) + epsilon)
/// The corrections by t are computed in f64.
void adam(const Tensor& loss, const std::vector<Tensor>& parameters, const Adam& options = {},
          const At& at = {});

struct AdamW {
  double learningRate = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double weightDecay = 1e-2;
};
/// torch.optim.AdamW (Loshchilov and Hutter, 2019): as Adam, but g is the gradient alone, and p is
/// first multiplied by 1 - learningRate * weightDecay.
void adamW(const Tensor& loss, const std::vector<Tensor>& parameters, const AdamW& options = {},
           const At& at = {});

}  // namespace graphrun::builder::optimizers

#endif  // GRAPHRUN_FRONTENDS_BUILDER_OPTIMIZERS_H_
