// How exact Winograd convolutions are where that is hard, against sums in f64.
#include <catch2/catch.hpp>
#include <cmath>
#include <functional>
#include <limits>

#include "devices/cpu/kernels/winograd_error.h"
#include "tests/devices/cpu/convolution.h"

namespace graphrun::devices::cpu {
namespace {

const std::string kAlgorithms[] = {"winograd_4x4", "winograd_2x2"};
constexpr float kInfinity = std::numeric_limits<float>::infinity();

/// What the convolution gives by a kernel that lays its filter out at load.
std::vector<double> resultOf(const Convolution& c, const std::string& algorithm) {
  auto got = runOperation(c.operation(algorithm), c.inputs(),
                          {algorithm.empty() ? "onednn.conv" : "winograd", true, {1}});
  INFO(got.status());
  REQUIRE(got.ok());
  return values((*got)[0]);
}

/// Elements that differ from `exact` by more than ONNX allows, 1e-3 of them, and by more than
/// `share` of what a random sum of the same products comes to.
int64_t countWrong(const std::vector<double>& got, const ExactSums& exact, double share) {
  REQUIRE(got.size() == exact.sums.size());
  int64_t wrong = 0;
  for (size_t i = 0; i < got.size(); ++i) {
    double sum = exact.sums[i];
    double allowed = 1e-3 * std::abs(sum) + share * exact.scales[i] + 1e-42;
    bool same = std::isfinite(sum)
                    ? std::abs(got[i] - sum) <= allowed
                    : std::isnan(sum) == std::isnan(got[i]) && (std::isnan(sum) || sum == got[i]);
    wrong += same ? 0 : 1;
  }
  return wrong;
}

constexpr double kShare = 3e-5;

void checkBoth(const Convolution& c) {
  const ExactSums exact = exactSums(c);
  for (const std::string& algorithm : kAlgorithms) {
    CAPTURE(algorithm);
    CHECK(countWrong(resultOf(c, algorithm), exact, kShare) == 0);
  }
}

std::vector<float> taps(int64_t out, int64_t in, const std::array<float, 9>& each) {
  std::vector<float> all;
  for (int64_t i = 0; i < out * in; ++i) {
    all.insert(all.end(), each.begin(), each.end());
  }
  return all;
}

}  // namespace

TEST_CASE("one outlier leaves the results exact that do not add it") {
  std::mt19937 random(1);
  for (float outlier : {1e2F, 1e3F, -1e4F, 1e7F, 1e12F, -1e20F, 1e30F, kInfinity,
                        std::numeric_limits<float>::quiet_NaN()}) {
    for (int i = 0; i < 6; ++i) {
      Dims in = {1 + i % 2, 20 + 12 * (i % 3), 9 + i, 14 - i};
      Convolution c(random, in, 24, {i % 3, 1, 1, i % 2});
      absl::Span<float> x = c.x.as<float>();
      size_t at = random() % x.size();
      x[at] = outlier;
      CAPTURE(outlier, in, at);
      checkBoth(c);
    }
  }
}

TEST_CASE("images of all magnitudes are convolved as exactly as direct sums are") {
  std::mt19937 random(2);
  for (int exponent = -45; exponent <= 34; exponent += exponent < -34 ? 1 : 6) {
    CAPTURE(exponent);
    Convolution c(random, {1, 16, 10, 11}, 16, {1, 1, 1, 1});
    for (float& x : c.x.as<float>()) {
      x = static_cast<float>(x * std::pow(10.0, exponent));
    }
    std::fill_n(c.bias.as<float>().data(), 16, 0.0F);
    checkBoth(c);
  }
}

TEST_CASE("magnitudes may change from position to position, and from channel to channel") {
  std::mt19937 random(3);
  auto scaled = [&](const std::function<double(int64_t channel, int64_t row, int64_t column)>& by) {
    Convolution c(random, {1, 32, 14, 15}, 32, {1, 1, 1, 1});
    absl::Span<float> x = c.x.as<float>();
    for (int64_t i = 0; i < std::ssize(x); ++i) {
      x[i] = static_cast<float>(x[i] * by(i / 210, i / 15 % 14, i % 15));
    }
    return c;
  };
  SECTION("over the whole range of f32") {
    checkBoth(scaled([&](auto...) { return std::exp2(static_cast<int>(random() % 240) - 149); }));
  }
  SECTION("from column to column") {
    checkBoth(scaled([](auto, auto, auto column) { return std::pow(30.0, column - 7); }));
  }
  SECTION("from row to row") {
    checkBoth(scaled([](auto, auto row, auto) { return std::pow(0.01, row - 7); }));
  }
  SECTION("one channel is huge, and its weights small") {
    Convolution c = scaled([](auto channel, auto, auto) { return channel == 5 ? 1e5 : 1; });
    absl::Span<float> filter = c.filter.as<float>();
    for (int64_t i = 0; i < std::ssize(filter); ++i) {
      filter[i] *= i / 9 % 32 == 5 ? 1e-5F : 1;
    }
    checkBoth(c);
  }
  SECTION("all is 0 but for one corner") {
    checkBoth(scaled([](auto, auto row, auto column) { return row + column < 3 ? 1 : 0; }));
  }
}

TEST_CASE("weights that cancel each other, and of all magnitudes") {
  std::mt19937 random(4);
  Convolution c(random, {1, 32, 12, 13}, 16, {0, 0, 0, 0});
  SECTION("of an even image's second differences") {
    std::fill_n(c.x.as<float>().data(), c.x.as<float>().size(), 3.7F);
    std::vector<float> laplacian = taps(16, 32, {-1, -1, -1, -1, 8, -1, -1, -1, -1});
    std::copy(laplacian.begin(), laplacian.end(), c.filter.as<float>().data());
  }
  SECTION("of channels that are equal") {
    absl::Span<float> x = c.x.as<float>();
    absl::Span<float> filter = c.filter.as<float>();
    std::copy_n(x.data(), x.size() / 2, x.data() + x.size() / 2);
    for (int64_t i = 0; i < std::ssize(filter); ++i) {
      filter[i] = i / 9 % 32 < 16 ? filter[i] : -filter[i - 16 * 9];
    }
  }
  SECTION("of each output channel others, as small as 2^-100") {
    absl::Span<float> filter = c.filter.as<float>();
    for (int64_t i = 0; i < std::ssize(filter); ++i) {
      filter[i] = std::ldexp(filter[i], static_cast<int>(-6 * (i / 9 / 32)));
    }
    std::fill_n(c.bias.as<float>().data(), 16, 0.0F);
  }
  checkBoth(c);
}

TEST_CASE("the bound follows from how weights are spread over the taps") {
  constexpr double kEven4 = 83.519290, kCorner4 = 204.847656;  // by exact arithmetic
  auto roundings = [](int64_t tile, double in) { return (in + (tile == 4 ? 18 : 8)) / (9 * in); };
  for (int64_t in : {16, 20, 64, 512}) {
    std::vector<float> even = taps(3, in, {1, 1, -1, 1, -1, 1, 1, 1, 1});
    std::vector<float> corner = taps(3, in, {0, 0, 0, 0, 0, 0, 0, 0, -2});
    CHECK(winogradError(4, 3, in, even) == Approx(kEven4 * roundings(4, in)));
    CHECK(winogradError(4, 3, in, corner) == Approx(kCorner4 * roundings(4, in)));
    CHECK(winogradError(2, 3, in, even) == Approx(64.0 / 9 * roundings(2, in)));
    CHECK(winogradError(2, 3, in, corner) == Approx(16 * roundings(2, in)));
    // The worst channel counts, however small it is beside the others.
    std::transform(corner.begin(), corner.begin() + in * 9, even.begin(),
                   [](float w) { return 1e-6F * w; });
    CHECK(winogradError(4, 3, in, even) == Approx(kCorner4 * roundings(4, in)));
  }
}

TEST_CASE("weights without digits to spare have no bound") {
  auto bound = [](float first, float others) {
    std::vector<float> weights(size_t{4} * 16 * 9, others);
    weights[3] = first;
    return winogradError(4, 4, 16, weights);
  };
  CHECK(std::isfinite(bound(1, 1)));
  for (float bad : {kInfinity, -kInfinity, std::numeric_limits<float>::quiet_NaN(), 1e13F, 3e38F}) {
    CHECK(std::isinf(bound(bad, 1)));
  }
  CHECK(std::isinf(bound(1e-40F, 1e-40F)));
  CHECK(std::isfinite(bound(1e-40F, 1)));
  CHECK(bound(0, 0) == 0);
}

TEST_CASE("no result is further from the exact one than the bound says") {
  std::mt19937 random(5);
  for (int64_t tile : {4, 2}) {
    for (int64_t in : {16, 48, 256}) {
      Convolution c(random, {1, in, 9, 10}, 32, {1, 1, 1, 1});
      double error = winogradError(tile, 32, in, c.filter.as<float>());
      std::vector<double> got = resultOf(c, kAlgorithms[tile == 4 ? 0 : 1]);
      const ExactSums exact = exactSums(c);
      double greatest = 0;
      for (size_t i = 0; i < got.size(); ++i) {
        double bound = error * static_cast<double>(9 * in) * 0x1p-24 * exact.weights[i];
        greatest = std::max(greatest, std::abs(got[i] - exact.sums[i]) / bound);
      }
      CAPTURE(tile, in);
      CHECK(greatest < 1);
      CHECK(greatest > 1e-4);  // of a bound that says something
    }
  }
}

}  // namespace graphrun::devices::cpu
