#include <catch2/catch.hpp>
#include <complex>
#include <numbers>

#include "tests/devices/cpu/instruction_runner.h"

namespace graphrun::devices::cpu {
namespace {

using Complex = std::complex<double>;

/// The transform of `x`, cut or filled to `n`, by its definition.
std::vector<Complex> definition(std::vector<Complex> x, int64_t n, bool inverse) {
  x.resize(static_cast<size_t>(n));
  std::vector<Complex> y;
  for (int64_t k = 0; k < n; ++k) {
    Complex sum = 0;
    for (int64_t i = 0; i < n; ++i) {
      double angle = 2 * std::numbers::pi * static_cast<double>(k * i % n) / static_cast<double>(n);
      sum += x[static_cast<size_t>(i)] * std::polar(1.0, inverse ? angle : -angle);
    }
    y.push_back(inverse ? sum / static_cast<double>(n) : sum);
  }
  return y;
}

/// Line (o, i) along the middle axis of a 2 x n x 3 x parts tensor.
std::vector<Complex> line(const std::vector<double>& data, int64_t n, int64_t parts, int64_t o,
                          int64_t i) {
  std::vector<Complex> values;
  for (int64_t k = 0; k < n; ++k) {
    auto at = static_cast<size_t>(((o * n + k) * 3 + i) * parts);
    values.emplace_back(data[at], parts == 2 ? data[at + 1] : 0);
  }
  return values;
}

struct Case {
  int64_t size, length, parts;
  bool inverse, onesided;
};

TEST_CASE("Fourier transforms of any length agree with their definition") {
  std::mt19937 random(5);
  for (const Case& c :
       {Case{8, 0, 2, false, false}, Case{8, 0, 1, false, true}, Case{7, 0, 2, true, false},
        Case{30, 0, 1, false, false}, Case{5, 12, 2, false, false}, Case{12, 5, 1, false, true},
        Case{1, 1, 2, true, false}, Case{97, 0, 2, false, false}}) {
    CAPTURE(c.size, c.length, c.parts, c.inverse, c.onesided);
    int64_t n = c.length > 0 ? c.length : c.size;
    int64_t out = c.onesided ? n / 2 + 1 : n;
    Tensors inputs;
    inputs.push_back(randomTensor({2, c.size, 3, c.parts}, random));
    Attributes attributes = {{"axis", int64_t{1}},
                             {"length", c.length},
                             {"inverse", c.inverse},
                             {"onesided", c.onesided}};
    auto got =
        runOperation({"gr.dft", attributes, {{ElementType::kF32, {2, out, 3, 2}}}, {}}, inputs);
    INFO(got.status());
    REQUIRE(got.ok());
    for (int64_t o = 0; o < 2; ++o) {
      for (int64_t i = 0; i < 3; ++i) {
        auto expected = definition(line(values(inputs[0]), c.size, c.parts, o, i), n, c.inverse);
        auto y = line(values((*got)[0]), out, 2, o, i);
        for (size_t k = 0; k < y.size(); ++k) {
          CHECK(std::abs(y[k] - expected[k]) < 1e-5);
        }
      }
    }
  }
}

TEST_CASE("one side of a spectrum gives the real signal back") {
  std::mt19937 random(6);
  for (int64_t n : {1, 2, 9, 16, 21}) {
    CAPTURE(n);
    Tensors signal;
    signal.push_back(randomTensor({n, 1}, random));
    Attributes there = {{"axis", int64_t{0}}, {"onesided", true}};
    auto spectrum =
        runOperation({"gr.dft", there, {{ElementType::kF32, {n / 2 + 1, 2}}}, {}}, signal);
    REQUIRE(spectrum.ok());
    Attributes back = {{"axis", int64_t{0}}, {"onesided", true}, {"inverse", true}, {"length", n}};
    auto got = runOperation({"gr.dft", back, {{ElementType::kF32, {n, 1}}}, {}}, *spectrum);
    INFO(got.status());
    REQUIRE(got.ok());
    CHECK(distance((*got)[0], signal[0]) < 1e-6);
  }
}

TEST_CASE("Fourier transforms refuse shapes that do not fit") {
  std::mt19937 random(6);
  Tensors input;
  input.push_back(randomTensor({4, 2}, random));
  for (const Dims& dims : {Dims{4, 1}, Dims{5, 2}, Dims{4, 2, 1}}) {
    auto got =
        runOperation({"gr.dft", {{"axis", int64_t{0}}}, {{ElementType::kF32, dims}}, {}}, input);
    CHECK(absl::IsInvalidArgument(got.status()));
  }
}

}  // namespace
}  // namespace graphrun::devices::cpu
