// Metrics count what a model gets right. Public.
//
// Each gives counts of a batch, two i64 of rank 0. Counts of several batches are added up before
// one is divided by the other: a mean of ratios would give a smaller last batch too much weight.
// Names and definitions are those of Keras (keras.metrics, version 3).
#ifndef GRAPHRUN_FRONTENDS_BUILDER_METRICS_H_
#define GRAPHRUN_FRONTENDS_BUILDER_METRICS_H_

#include "frontends/builder/tensor.h"

namespace graphrun::builder::metrics {

struct Counts {
  Tensor right;
  Tensor total;
};

/// `output` is N x … x C, probabilities or logits; `target` has the class for each, N x …. Right is
/// where the largest output is that of the class; of equal ones the first counts.
Counts sparseCategoricalAccuracy(const Tensor& output, const Tensor& target, const At& at = {});

/// The same for targets that are probabilities of the classes: the largest one is right.
Counts categoricalAccuracy(const Tensor& output, const Tensor& target, const At& at = {});

/// Right is where output > threshold exactly when target is 1. For logits the threshold is 0.
Counts binaryAccuracy(const Tensor& output, const Tensor& target, double threshold = 0.5,
                      const At& at = {});

}  // namespace graphrun::builder::metrics

#endif  // GRAPHRUN_FRONTENDS_BUILDER_METRICS_H_
