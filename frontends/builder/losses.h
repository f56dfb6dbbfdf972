// Losses say how far a model's output is from its target. Public.
//
// Names and definitions are those of Keras (keras.losses, version 3), with the reduction that it
// calls "sum_over_batch_size": each is the mean over all samples, one element of rank 0 of the
// output's type. Targets of other number types are converted to it. All are differentiable, also
// where outputs are as large as 1e4.
#ifndef GRAPHRUN_FRONTENDS_BUILDER_LOSSES_H_
#define GRAPHRUN_FRONTENDS_BUILDER_LOSSES_H_

#include "frontends/builder/tensor.h"

namespace graphrun::builder::losses {

struct Crossentropy {
  /// The output is what softmax or sigmoid makes probabilities of; else it is probabilities, which
  /// are kept away from 0 and 1 by 1e-7. With logits the loss is exact for any of them.
  bool fromLogits = false;
};

/// Minus the logarithm of the probability of the right class. `output` is N x … x C, `target` has
/// the class, an integer in [0, C), for each: N x …; a run with another one fails. Probabilities
/// are divided by their sum.
Tensor sparseCategoricalCrossentropy(const Tensor& output, const Tensor& target,
                                     const Crossentropy& options = {}, const At& at = {});

/// The same for targets that are probabilities of the classes, of the output's dims.
Tensor categoricalCrossentropy(const Tensor& output, const Tensor& target,
                               const Crossentropy& options = {}, const At& at = {});

/// The square of the difference, mean over all elements.
Tensor meanSquaredError(const Tensor& output, const Tensor& target, const At& at = {});

/// -(t log p + (1 - t) log(1 - p)), mean over all elements; targets are from 0 to 1.
Tensor binaryCrossentropy(const Tensor& output, const Tensor& target,
                          const Crossentropy& options = {}, const At& at = {});

}  // namespace graphrun::builder::losses

#endif  // GRAPHRUN_FRONTENDS_BUILDER_LOSSES_H_
