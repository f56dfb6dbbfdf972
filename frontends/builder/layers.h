// Layers are operations with their weights. Public. The weights of layer "head" are "head/weight"
// and "head/bias". Input dims that size a weight must be static.
#ifndef GRAPHRUN_FRONTENDS_BUILDER_LAYERS_H_
#define GRAPHRUN_FRONTENDS_BUILDER_LAYERS_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "frontends/builder/initializer.h"
#include "frontends/builder/ops.h"
#include "frontends/builder/tensor.h"

namespace graphrun::builder::layers {

struct Dense {
  bool bias = true;
  Initializer weights = init::heNormal();
};
/// `x * weight + bias` over the last dim: … x C becomes … x units.
Tensor dense(const Tensor& x, int64_t units, const Dense& options = {}, const At& at = {});

struct Conv2d {
  std::vector<int64_t> strides{};    ///< default: 1 each
  std::vector<int64_t> pads{};       ///< top, left, bottom, right; default: 0 each
  std::vector<int64_t> dilations{};  ///< default: 1 each
  Padding padding = Padding::kExplicit;
  int64_t groups = 1;
  bool bias = true;
  Initializer weights = init::heNormal();
};
/// Convolution of N x C x H x W with `channels` filters of `kernel` (height, width).
Tensor conv2d(const Tensor& x, int64_t channels, const std::vector<int64_t>& kernel,
              const Conv2d& options = {}, const At& at = {});

struct BatchNorm {
  double epsilon = 1e-5;
  double momentum = 0.9;  ///< the part of the running statistics that a step of training keeps
};
/// Normalisation of each channel (dim 1), with a scale that begins as 1 and a bias of 0: by the
/// statistics of the batch in a graph that trains, which also moves the states "mean" (first 0) and
/// "variance" (first 1) towards them; by these two in other graphs.
Tensor batchNorm(const Tensor& x, const BatchNorm& options = {}, const At& at = {});

/// Normalisation over the last dim, with scale 1 and bias 0.
Tensor layerNorm(const Tensor& x, double epsilon = 1e-5, const At& at = {});

struct Recurrent {
  bool sequences = false;  ///< the hidden values behind each step, else behind the last one
  /// Fills "weight" and "recurrent"; default: uniform within 1 / sqrt(units), as in PyTorch.
  std::optional<Initializer> weights{};
};
/// A recurrent cell over the steps of N x T x C, which begins with zeros: N x units, or N x T x
/// units. The weights are those of builder::recurrent, with a bias that begins with zeros.
Tensor recurrent(const Tensor& x, Cell cell, int64_t units, const Recurrent& options = {},
                 const At& at = {});

/// In a graph that trains: each element is 0 with probability `rate`, which is in [0, 1), and else
/// divided by 1 - rate (Srivastava et al., 2014); others in each step, which the state "step"
/// counts, and the same for the same seed and name of the layer. In other graphs: x.
Tensor dropout(const Tensor& x, double rate, int64_t seed = 0, const At& at = {});

/// Mean over the spatial dims: N x C x H x W becomes N x C.
Tensor globalAveragePool(const Tensor& x, const At& at = {});

/// N x … becomes N x (product of the rest).
Tensor flatten(const Tensor& x, const At& at = {});

}  // namespace graphrun::builder::layers

#endif  // GRAPHRUN_FRONTENDS_BUILDER_LAYERS_H_
