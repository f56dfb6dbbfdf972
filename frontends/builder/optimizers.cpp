#include "frontends/builder/optimizers.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "frontends/builder/composite.h"
#include "frontends/builder/gradients.h"
#include "frontends/builder/ops.h"

namespace graphrun::builder::optimizers {
namespace {

At named(const At& at) {
  At result = at;
  result.name = at.name.empty() ? "optimizer" : at.name;
  return result;
}

/// One call of an optimizer, with the states that it makes.
class Optimizer : public Composite {
 public:
  Optimizer(const char* kind, const Tensor& loss, const std::vector<Tensor>& parameters,
            const At& at)
      : Composite(kind, loss, named(at)), parameters_(parameters) {
    if (ready() && graph().mode() != Mode::kTraining) {
      problem("graph is not for training, expected one of Mode::kTraining");
    }
    if (ready() && parameters.empty()) {
      problem("there are 0 parameters, expected at least 1; layers and Graph::parameter make them");
    }
  }

  /// Reports a number below `least`, or not below `most`, or NaN.
  void require(const char* what, double value, double least, double most) {
    if (ready() && !(value >= least && value < most)) {
      problem(absl::StrCat(what, " is ", value, ", expected at least ", least,
                           std::isinf(most) ? "" : absl::StrCat(" and below ", most)));
    }
  }

  /// The derivatives by all parameters; empty after a problem.
  std::vector<Tensor> differentiate() {
    if (!ready()) {
      return {};
    }
    std::vector<Tensor> results = gradients(input(), parameters_, at("gradient"));
    for (const Tensor& result : results) {
      if (!result.valid()) {
        return {};
      }
    }
    return results;
  }

  /// A state of zeros of the parameter's type, and what it is called: "momentum/dense_0/weight".
  Tensor stateLike(const char* what, const Tensor& parameter) {
    std::vector<int64_t> dims;
    for (const Dim& dim : parameter.dims()) {
      dims.push_back(dim.size());
    }
    const std::string name = absl::StrCat(what, "/", parameter.name());
    return stateMaker(name.c_str()).weight({parameter.elementType(), dims}, init::zeros());
  }
  /// The number of the step at hand, from 1, as an f64.
  Tensor countStep() {
    const Tensor step = stateMaker("step").scalar(0, ElementType::kI64);
    const Tensor next = step + 1;
    update(step, next);
    return cast(next, ElementType::kF64);
  }
  void update(const Tensor& state, const Tensor& value) { graph().update(state, value, source()); }

 private:
  const std::vector<Tensor>& parameters_;
};

constexpr double kNoLimit = HUGE_VAL;

/// Updates by Adam, or by AdamW where the decay is decoupled from the gradient.
void runAdam(Optimizer& optimizer, const std::vector<Tensor>& parameters, const Adam& options,
             bool isDecoupled) {
  optimizer.require("learningRate", options.learningRate, 0, kNoLimit);
  optimizer.require("beta1", options.beta1, 0, 1);
  optimizer.require("beta2", options.beta2, 0, 1);
  optimizer.require("epsilon", options.epsilon, 0, kNoLimit);
  optimizer.require("weightDecay", options.weightDecay, 0, kNoLimit);
  const std::vector<Tensor> slopes = optimizer.differentiate();
  if (slopes.empty()) {
    return;
  }
  const Tensor t = optimizer.countStep();
  const Tensor rate = options.learningRate / (1 - pow(options.beta1, t));
  const Tensor correction = sqrt(1 - pow(options.beta2, t));
  for (size_t i = 0; i < slopes.size(); ++i) {
    const ElementType type = parameters[i].elementType();
    Tensor p = parameters[i];
    Tensor g = slopes[i];
    if (options.weightDecay != 0 && isDecoupled) {
      p = p * (1 - options.learningRate * options.weightDecay);
    } else if (options.weightDecay != 0) {
      g = g + p * options.weightDecay;
    }
    const Tensor m = optimizer.stateLike("first_moment", parameters[i]);
    const Tensor v = optimizer.stateLike("second_moment", parameters[i]);
    const Tensor m2 = m * options.beta1 + g * (1 - options.beta1);
    const Tensor v2 = v * options.beta2 + g * g * (1 - options.beta2);
    const Tensor size = sqrt(v2) / cast(correction, type) + options.epsilon;
    optimizer.update(m, m2);
    optimizer.update(v, v2);
    optimizer.update(parameters[i], p - cast(rate, type) * m2 / size);
  }
}

}  // namespace

void sgd(const Tensor& loss, const std::vector<Tensor>& parameters, const Sgd& options,
         const At& at) {
  Optimizer optimizer("sgd", loss, parameters, at);
  optimizer.require("learningRate", options.learningRate, 0, kNoLimit);
  optimizer.require("momentum", options.momentum, 0, kNoLimit);
  optimizer.require("weightDecay", options.weightDecay, 0, kNoLimit);
  if (options.nesterov && options.momentum == 0) {
    optimizer.problem("nesterov is set and momentum 0, expected a momentum");
  }
  const std::vector<Tensor> slopes = optimizer.differentiate();
  for (size_t i = 0; i < slopes.size(); ++i) {
    const Tensor& p = parameters[i];
    Tensor g = options.weightDecay == 0 ? slopes[i] : slopes[i] + p * options.weightDecay;
    if (options.momentum != 0) {
      const Tensor v = optimizer.stateLike("momentum", p);
      const Tensor v2 = v * options.momentum + g;
      optimizer.update(v, v2);
      g = options.nesterov ? g + v2 * options.momentum : v2;
    }
    optimizer.update(p, p - g * options.learningRate);
  }
}

void adam(const Tensor& loss, const std::vector<Tensor>& parameters, const Adam& options,
          const At& at) {
  Optimizer optimizer("adam", loss, parameters, at);
  runAdam(optimizer, parameters, options, /*isDecoupled=*/false);
}

void adamW(const Tensor& loss, const std::vector<Tensor>& parameters, const AdamW& options,
           const At& at) {
  Optimizer optimizer("adamW", loss, parameters, at);
  runAdam(
      optimizer, parameters,
      {options.learningRate, options.beta1, options.beta2, options.epsilon, options.weightDecay},
      /*isDecoupled=*/true);
}

}  // namespace graphrun::builder::optimizers
