// The sixteen convolutions of VGG-19 (Simonyan and Zisserman, 2014) by Winograd's algorithm,
// directly, and in f64.
#include <catch2/catch.hpp>
#include <cmath>

#include "devices/cpu/kernels/winograd_error.h"
#include "tests/devices/cpu/convolution.h"

namespace graphrun::devices::cpu {
namespace {

constexpr int64_t kSize = 48;
constexpr int64_t kPooled = 0;
constexpr int64_t kLayers[] = {64,  64,      kPooled, 128,     128, kPooled, 256,
                               256, 256,     256,     kPooled, 512, 512,     512,
                               512, kPooled, 512,     512,     512, 512,     kPooled};

/// A picture of 3 x kSize x kSize: a gradient with bright bars, a dark disc and noise.
HostTensor picture(std::mt19937& random) {
  HostTensor image = randomTensor({1, 3, kSize, kSize}, random, -0.05, 0.05);
  for (int64_t i = 0; i < 3 * kSize * kSize; ++i) {
    const int64_t row = i / kSize % kSize, column = i % kSize;
    const bool bar = row > 30 && column / 3 % 3 == 0;
    const bool disc = std::hypot(row - 14, column - 30) < 9;
    image.as<float>()[i] += static_cast<float>(disc ? -2.0 : bar ? 2.5 : (row + column) / 48.0 - 1);
  }
  return image;
}

/// Filters as training leaves them: each input channel is seen through a smooth pattern (a blur, an
/// edge or a line at some angle), with some noise, and channels matter by very different amounts.
void fillFilter(Convolution& c, std::mt19937& random) {
  std::uniform_real_distribution<double> spread(-1, 1);
  absl::Span<float> taps = c.filter.as<float>();
  for (int64_t i = 0; i < std::ssize(taps) / 9; ++i) {
    const double amount = std::pow(spread(random), 3), angle = 4 * spread(random);
    const double blur = spread(random), edge = spread(random), line = spread(random);
    for (int64_t tap = 0; tap < 9; ++tap) {
      const auto down = static_cast<double>(tap / 3 - 1), across = static_cast<double>(tap % 3 - 1);
      const double along = down * std::cos(angle) + across * std::sin(angle);
      const double shape = blur + edge * along + line * (1 - 1.5 * along * along);
      taps[i * 9 + tap] = static_cast<float>(
          amount * (shape * std::exp(-(down * down + across * across) / 2) + 0.1 * spread(random)));
    }
  }
}

std::vector<double> convolved(const Convolution& c, const std::string& algorithm,
                              const std::vector<PostOp>& postOps) {
  auto got = runOperation(c.operation(algorithm, postOps), c.inputs(),
                          {algorithm.empty() ? "onednn.conv" : "winograd", true, {1}});
  INFO(got.status());
  REQUIRE(got.ok());
  return values((*got)[0]);
}

/// Folds a batch normalisation into `c` with the statistics of its own sums.
void normalise(Convolution& c, std::mt19937& random) {
  std::normal_distribution<double> normal(0, 0.5);
  std::fill_n(c.bias.as<float>().data(), c.bias.as<float>().size(), 0.0F);
  const std::vector<double> sums = convolved(c, "", {});
  const int64_t channels = c.result()[1], area = std::ssize(sums) / channels;
  const int64_t weights = std::ssize(c.filter.as<float>()) / channels;
  for (int64_t k = 0; k < channels; ++k) {
    double mean = 0, variance = 1e-5;
    for (int64_t i = 0; i < area; ++i) {
      mean += sums[k * area + i] / static_cast<double>(area);
    }
    for (int64_t i = 0; i < area; ++i) {
      variance += std::pow(sums[k * area + i] - mean, 2) / static_cast<double>(area);
    }
    const double scale = std::exp(normal(random)) / std::sqrt(variance);
    for (float& w : c.filter.as<float>().subspan(k * weights, weights)) {
      w = static_cast<float>(w * scale);
    }
    c.bias.as<float>()[k] = static_cast<float>(normal(random) - mean * scale);
  }
}

/// Activations of channels x size x size by the three ways.
struct Chain {
  int64_t channels = 3, size = kSize;
  std::vector<double> exact, direct, winograd;

  std::vector<std::vector<double>*> all() { return {&exact, &direct, &winograd}; }
};

std::vector<double> exactlyConvolved(const Convolution& c, const std::vector<double>& x) {
  const int64_t channels = c.result()[1], area = c.result()[2] * c.result()[3];
  std::vector<double> sums;
  for (int64_t k = 0; k < channels; ++k) {
    std::vector<double> plane(area, c.bias.as<float>()[k]);
    forProducts(c, x.data(), k, [&](int64_t i, double w, double value) { plane[i] += w * value; });
    for (double sum : plane) {
      sums.push_back(std::max(sum, 0.0));
    }
  }
  return sums;
}

void setInput(Convolution& c, const std::vector<double>& x) {
  std::transform(x.begin(), x.end(), c.x.as<float>().begin(),
                 [](double value) { return static_cast<float>(value); });
}

void applyLayer(Chain& chain, int64_t out, std::mt19937& random) {
  Convolution c(random, {1, chain.channels, chain.size, chain.size}, out, {1, 1, 1, 1});
  fillFilter(c, random);
  setInput(c, chain.direct);
  normalise(c, random);
  const bool isAllowed =
      winogradError(4, out, chain.channels, c.filter.as<float>()) <= kMostWinogradError;
  CHECK(isAllowed == (chain.channels > 3));
  const std::vector<PostOp> relu = {{PostOpKind::kEltwise, "gr.relu", 0, 0, {}}};
  chain.exact = exactlyConvolved(c, chain.exact);
  chain.direct = convolved(c, "", relu);
  setInput(c, chain.winograd);
  chain.winograd = convolved(c, isAllowed ? "winograd_4x4" : "", relu);
  chain.channels = out;
}

void pool(Chain& chain) {
  const int64_t half = chain.size / 2;
  for (std::vector<double>* each : chain.all()) {
    std::vector<double> pooled;
    for (int64_t i = 0; i < chain.channels * half * half; ++i) {
      const int64_t channel = i / half / half, row = i / half % half * 2;
      const double* at = each->data() + (channel * chain.size + row) * chain.size + i % half * 2;
      pooled.push_back(std::max({at[0], at[1], at[chain.size], at[chain.size + 1]}));
    }
    *each = pooled;
  }
  chain.size = half;
}

/// Euclidean distance of `got` from `exact`, as a share of the latter's length.
double distanceOf(const std::vector<double>& got, const std::vector<double>& exact) {
  double difference = 0, whole = 0;
  for (size_t i = 0; i < exact.size(); ++i) {
    difference += std::pow(got[i] - exact[i], 2);
    whole += std::pow(exact[i], 2);
  }
  return std::sqrt(difference / whole);
}

}  // namespace

TEST_CASE("VGG-19 with weights as trained ones is as exact by Winograd's algorithm as by sums") {
  std::mt19937 random(1);
  Chain chain;
  chain.exact = values(picture(random));
  chain.direct = chain.winograd = chain.exact;
  for (int64_t out : kLayers) {
    if (out == kPooled) {
      pool(chain);
      continue;
    }
    applyLayer(chain, out, random);
    const double direct = distanceOf(chain.direct, chain.exact);
    const double winograd = distanceOf(chain.winograd, chain.exact);
    CAPTURE(out, chain.size, direct, winograd);
    CHECK(winograd < 1e-4);  // each layer makes the differences of the last one larger
    CHECK(winograd < 2 * direct);
  }
  CHECK(chain.size == 1);
}

}  // namespace graphrun::devices::cpu
