// Functions that are made of lines, of f32 and f64.
#ifndef GRAPHRUN_DEVICES_FUNCTIONS_PIECEWISE_H_
#define GRAPHRUN_DEVICES_FUNCTIONS_PIECEWISE_H_

#include "devices/functions/exponentials.h"

namespace graphrun::devices::functions {

GR_FUNCTION T hardSigmoid(const T& x, const T& alpha, const T& beta) {
  return (alpha * x + beta).atLeast(0).atMost(1);
}

GR_FUNCTION T hardSwish(const T& x) {
  T gate = x * x.number(1.0 / 6) + x.number(0.5);
  return x * gate.atLeast(0).atMost(1);
}

}  // namespace graphrun::devices::functions

#endif  // GRAPHRUN_DEVICES_FUNCTIONS_PIECEWISE_H_
