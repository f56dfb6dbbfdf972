// This function differentiates. Public.
#ifndef GRAPHRUN_FRONTENDS_BUILDER_GRADIENTS_H_
#define GRAPHRUN_FRONTENDS_BUILDER_GRADIENTS_H_

#include <vector>

#include "frontends/builder/tensor.h"

namespace graphrun::builder {

/// Returns the derivative of `loss`, one floating-point element, with respect to each tensor of
/// `wrt`: a tensor of its type. The tensors are inputs, constants, or values that the loss is
/// computed from. When the model is planned, operations on the way that have no gradient are
/// errors, all at once and by their names; a tensor that the loss does not depend on has a gradient
/// of zero, with a warning.
///     Tensor loss = reduce((x * w - y) * (x * w - y), Reduction::kMean);
///     Tensor next = w - gradients(loss, {w})[0] * 0.1;
std::vector<Tensor> gradients(const Tensor& loss, const std::vector<Tensor>& wrt,
                              const At& at = {});

}  // namespace graphrun::builder

#endif  // GRAPHRUN_FRONTENDS_BUILDER_GRADIENTS_H_
