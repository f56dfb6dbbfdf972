// 3 x 3 convolutions and their exact results.
#ifndef GRAPHRUN_TESTS_DEVICES_CPU_CONVOLUTION_H_
#define GRAPHRUN_TESTS_DEVICES_CPU_CONVOLUTION_H_

#include <cmath>

#include "tests/devices/cpu/instruction_runner.h"

namespace graphrun::devices::cpu {

/// Operands and result of a 3 x 3 convolution of stride 1; `pads` as the attribute.
struct Convolution {
  Dims pads;
  HostTensor x, filter, bias;

  /// Random elements in [-1, 1).
  Convolution(std::mt19937& random, Dims in, int64_t out, Dims around)
      : pads(std::move(around)),
        x(randomTensor(in, random)),
        filter(randomTensor({out, in[1], 3, 3}, random)),
        bias(randomTensor({out}, random)) {}

  Dims result() const {
    const Dims& in = x.spec().dims;
    return {in[0], filter.spec().dims[0], in[2] + pads[0] + pads[2] - 2,
            in[3] + pads[1] + pads[3] - 2};
  }
  /// By an algorithm; empty: the direct one.
  Operation operation(const std::string& algorithm, std::vector<PostOp> postOps = {}) const {
    Attributes attributes = {{"pads", pads}};
    if (!algorithm.empty()) {
      attributes["algorithm"] = algorithm;
    }
    return {"gr.conv", attributes, {{ElementType::kF32, result()}}, std::move(postOps)};
  }
  Tensors inputs() const {
    Tensors list;
    list.push_back(x.clone());
    list.push_back(filter.clone());
    list.push_back(bias.clone());
    return list;
  }
};

/// Calls `add(offset, weight, x)` for each product of plane `plane` of the result (its channels
/// after each other, of all images), where `offset` is the element of the plane that it is added
/// to.
template <typename Element, typename Add>
void forProducts(const Convolution& c, const Element* x, int64_t plane, const Add& add) {
  const Dims in = c.x.spec().dims;
  const Dims out = c.result();
  const float* filter = c.filter.as<float>().data() + plane % out[1] * in[1] * 9;
  for (int64_t tap = 0; tap < in[1] * 9; ++tap) {
    const Element* from = x + (plane / out[1] * in[1] + tap / 9) * in[2] * in[3];
    const int64_t down = tap % 9 / 3 - c.pads[0], across = tap % 3 - c.pads[1];
    const int64_t first = std::max<int64_t>(0, -across);
    const int64_t end = std::min(out[3], in[3] - across);
    for (int64_t row = std::max<int64_t>(0, -down); row < std::min(out[2], in[2] - down); ++row) {
      const Element* line = from + (row + down) * in[3] + across;
      for (int64_t column = first; column < end; ++column) {
        add(row * out[3] + column, double{filter[tap]}, static_cast<double>(line[column]));
      }
    }
  }
}

/// In f64, of each element of the result.
struct ExactSums {
  std::vector<double> sums;
  std::vector<double> scales;   ///< roots of the sums of the products' squares
  std::vector<double> weights;  ///< sums of the magnitudes of the weights that the pads leave
};

inline ExactSums exactSums(const Convolution& c) {
  const Dims out = c.result();
  const int64_t area = out[2] * out[3];
  ExactSums exact;
  for (int64_t plane = 0; plane < out[0] * out[1]; ++plane) {
    std::vector<double> sums(area, c.bias.as<float>()[plane % out[1]]);
    std::vector<double> squares(area), weights(area);
    forProducts(c, c.x.as<float>().data(), plane, [&](int64_t offset, double w, double x) {
      sums[offset] += w * x;
      squares[offset] += w * x * w * x;
      weights[offset] += std::abs(w);
    });
    for (double& square : squares) {
      square = std::sqrt(square);
    }
    exact.sums.insert(exact.sums.end(), sums.begin(), sums.end());
    exact.scales.insert(exact.scales.end(), squares.begin(), squares.end());
    exact.weights.insert(exact.weights.end(), weights.begin(), weights.end());
  }
  return exact;
}

}  // namespace graphrun::devices::cpu

#endif  // GRAPHRUN_TESTS_DEVICES_CPU_CONVOLUTION_H_
