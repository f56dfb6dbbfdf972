// Losses and metrics: values and gradients beside the formulas in double precision, stability, and
// wrong use.
#include <cmath>
#include <functional>

#include "tests/frontends/builder/step_runner.h"

namespace graphrun::builder {
namespace {

using Catch::Matchers::Contains;
using Floats = std::vector<float>;
using LossOf = std::function<Tensor(const Tensor& output, const Tensor& target)>;

struct ValueAndSlope {
  double value = 0;
  Floats slope;
};

/// A loss of an f32 output of `dims`, and its derivative by it.
template <typename T>
ValueAndSlope evaluate(const LossOf& lossOf, const Floats& output, const std::vector<int64_t>& dims,
                       const std::vector<T>& target, const std::vector<int64_t>& targetDims) {
  Graph g("loss");
  auto dimsOf = [](const std::vector<int64_t>& sizes) {
    return std::vector<Dim>(sizes.begin(), sizes.end());
  };
  Tensor x = g.input("x", ElementType::kF32, dimsOf(dims));
  Tensor t = g.input("t", elementTypeFor<T>(), dimsOf(targetDims));
  Tensor loss = lossOf(x, t);
  CHECK(loss.toString() == "f32");
  g.output("loss", loss);
  g.output("slope", gradients(loss, {x})[0]);
  StepRunner runner(x);
  std::vector<HostTensor> inputs;
  inputs.push_back(*HostTensor::from(output, dims));
  inputs.push_back(*HostTensor::from(target, targetDims));
  std::vector<HostTensor> results = runner.run(std::move(inputs));
  const auto slope = results[1].as<float>();
  return {results[0].as<float>()[0], Floats(slope.begin(), slope.end())};
}

void checkSlope(const Floats& slope, const std::vector<double>& expected) {
  REQUIRE(slope.size() == expected.size());
  for (size_t i = 0; i < slope.size(); ++i) {
    CHECK(slope[i] == Approx(expected[i]).epsilon(2e-6).margin(1e-7));
  }
}

LossOf sparse(bool fromLogits) {
  return [=](const Tensor& x, const Tensor& t) {
    return losses::sparseCategoricalCrossentropy(x, t, {.fromLogits = fromLogits});
  };
}
LossOf categorical(bool fromLogits) {
  return [=](const Tensor& x, const Tensor& t) {
    return losses::categoricalCrossentropy(x, t, {.fromLogits = fromLogits});
  };
}
LossOf binary(bool fromLogits) {
  return [=](const Tensor& x, const Tensor& t) {
    return losses::binaryCrossentropy(x, t, {.fromLogits = fromLogits});
  };
}

const Floats kLogits = {1, -0.5F, 2, 0.25F, 3, -1};  // 2 x 3

/// The probabilities of softmax over rows of 3, in double precision.
std::vector<double> softmaxOf(const Floats& logits) {
  std::vector<double> p;
  for (size_t i = 0; i < logits.size(); i += 3) {
    const double sum = std::exp(logits[i]) + std::exp(logits[i + 1]) + std::exp(logits[i + 2]);
    for (size_t k = 0; k < 3; ++k) {
      p.push_back(std::exp(logits[i + k]) / sum);
    }
  }
  return p;
}

TEST_CASE("crossentropy of classes, from logits and from probabilities") {
  const std::vector<double> p = softmaxOf(kLogits);
  const double expected = -(std::log(p[2]) + std::log(p[3])) / 2;
  std::vector<double> slope = p;
  slope[2] -= 1;
  slope[3] -= 1;
  for (double& s : slope) {
    s /= 2;
  }
  const auto fromLogits =
      evaluate<int64_t>(sparse(true), kLogits, {2, 3}, std::vector<int64_t>{2, 0}, {2});
  CHECK(fromLogits.value == Approx(expected).epsilon(1e-6));
  checkSlope(fromLogits.slope, slope);
  // The same in other integers, and as probabilities of the classes.
  const auto bytes =
      evaluate<uint8_t>(sparse(true), kLogits, {2, 3}, std::vector<uint8_t>{2, 0}, {2});
  CHECK(bytes.value == fromLogits.value);
  const auto soft =
      evaluate<float>(categorical(true), kLogits, {2, 3}, Floats{0, 0, 1, 1, 0, 0}, {2, 3});
  CHECK(soft.value == Approx(expected).epsilon(1e-6));
  checkSlope(soft.slope, slope);

  // Probabilities that do not sum to 1 are divided by their sum.
  const Floats twice = {2 * static_cast<float>(p[0]), 2 * static_cast<float>(p[1]),
                        2 * static_cast<float>(p[2]), static_cast<float>(p[3]),
                        static_cast<float>(p[4]),     static_cast<float>(p[5])};
  const auto probable =
      evaluate<int64_t>(sparse(false), twice, {2, 3}, std::vector<int64_t>{2, 0}, {2});
  CHECK(probable.value == Approx(expected).epsilon(1e-6));
  // d/dx_k of log(sum) - log(x_right) is 1 / sum - [k right] / x_right.
  checkSlope(probable.slope, {0.25, 0.25, 0.25 - 0.5 / twice[2], 0.5 - 0.5 / p[3], 0.5, 0.5});
  const auto probableSoft =
      evaluate<float>(categorical(false), twice, {2, 3}, Floats{0, 0, 1, 1, 0, 0}, {2, 3});
  CHECK(probableSoft.value == Approx(expected).epsilon(1e-6));
}

TEST_CASE("classes for each position of each sample") {
  const Floats logits = {1, 2, 3, 4, 5, 6, 0, 0};  // 1 x 4 x 2
  const auto loss =
      evaluate<int64_t>(sparse(true), logits, {1, 4, 2}, std::vector<int64_t>{0, 0, 1, 1}, {1, 4});
  const double low = std::log(1 + std::exp(1.0));
  const double high = std::log(1 + std::exp(-1.0));
  CHECK(loss.value == Approx((low + low + high + std::log(2.0)) / 4).epsilon(1e-6));
}

TEST_CASE("logits of 10,000 give what is exact") {
  const Floats logits = {1e4F, -1e4F, 0, -1e4F, 1e4F, 0};
  const auto wrong =
      evaluate<int64_t>(sparse(true), logits, {2, 3}, std::vector<int64_t>{1, 1}, {2});
  CHECK(wrong.value == 1e4);
  checkSlope(wrong.slope, {0.5, -0.5, 0, 0, 0, 0});
  const auto soft =
      evaluate<float>(categorical(true), logits, {2, 3}, Floats{0, 1, 0, 0, 1, 0}, {2, 3});
  CHECK(soft.value == 1e4);
  const auto twoSides =
      evaluate<float>(binary(true), {1e4F, -1e4F, 1e4F, -1e4F}, {4}, Floats{0, 0, 1, 1}, {4});
  CHECK(twoSides.value == 5e3);
  checkSlope(twoSides.slope, {0.25, 0, 0, -0.25});
  // Probabilities of exactly 0 and 1 are finite, too.
  const auto certain = evaluate<float>(binary(false), {0, 1}, {2}, Floats{1, 0}, {2});
  CHECK(certain.value == Approx(-std::log(1e-7)).epsilon(0.02));
  const auto impossible =
      evaluate<int64_t>(sparse(false), {1, 0}, {1, 2}, std::vector<int64_t>{1}, {1});
  CHECK(impossible.value == Approx(-std::log(1e-7)).epsilon(1e-5));
}

TEST_CASE("binary crossentropy and squared error") {
  const Floats x = {0.5F, -2, 0, 3};
  const Floats t = {1, 0, 1, 0.25F};
  double expected = 0;
  std::vector<double> slope;
  for (size_t i = 0; i < x.size(); ++i) {
    const double p = 1 / (1 + std::exp(-static_cast<double>(x[i])));
    expected -= (t[i] * std::log(p) + (1 - t[i]) * std::log(1 - p)) / 4;
    slope.push_back((p - t[i]) / 4);
  }
  const auto fromLogits = evaluate<float>(binary(true), x, {2, 2}, t, {2, 2});
  CHECK(fromLogits.value == Approx(expected).epsilon(1e-6));
  checkSlope(fromLogits.slope, slope);  // at 0, too
  Floats p;
  for (float value : x) {
    p.push_back(static_cast<float>(1 / (1 + std::exp(-static_cast<double>(value)))));
  }
  CHECK(evaluate<float>(binary(false), p, {2, 2}, t, {2, 2}).value ==
        Approx(expected).epsilon(1e-6));

  const LossOf square = [](const Tensor& y, const Tensor& target) {
    return losses::meanSquaredError(y, target);
  };
  const auto squares = evaluate<double>(square, x, {2, 2}, std::vector<double>{1, 0, 1, 1}, {2, 2});
  CHECK(squares.value == Approx((0.25 + 4 + 1 + 4) / 4));
  checkSlope(squares.slope, {-0.25, -1, -0.5, 1});
}

TEST_CASE("metrics count") {
  Graph g("counts");
  Tensor x = g.input("x", ElementType::kF32, {3, 2});
  Tensor classes = g.input("classes", ElementType::kI64, {3});
  Tensor soft = g.input("soft", ElementType::kF32, {3, 2});
  metrics::Counts sparseCounts = metrics::sparseCategoricalAccuracy(x, classes);
  metrics::Counts categoricalCounts = metrics::categoricalAccuracy(x, soft);
  metrics::Counts binaryCounts = metrics::binaryAccuracy(x, soft, 0);
  for (const auto& [name, counts] :
       {std::pair("sparse", sparseCounts), std::pair("categorical", categoricalCounts),
        std::pair("binary", binaryCounts)}) {
    CHECK(counts.right.toString() == "i64");
    g.output(std::string(name) + "_right", counts.right);
    g.output(std::string(name) + "_total", counts.total);
  }
  StepRunner runner(x);
  std::vector<HostTensor> inputs;
  inputs.push_back(*HostTensor::from({1.0F, 2.0F, -1.0F, -2.0F, 3.0F, 3.0F}, {3, 2}));
  inputs.push_back(*HostTensor::from({int64_t{1}, int64_t{1}, int64_t{0}}, {3}));
  inputs.push_back(*HostTensor::from({0.0F, 1.0F, 0.0F, 1.0F, 1.0F, 0.0F}, {3, 2}));
  std::vector<int64_t> counts;
  for (const HostTensor& result : runner.run(std::move(inputs))) {
    counts.push_back(result.as<int64_t>()[0]);
  }
  CHECK(counts == std::vector<int64_t>{2, 3, 2, 3, 3, 6});
}

/// The problem that a use of a 4 x 3 output has.
std::string problemOf(const std::function<void(Graph&, const Tensor&)>& use) {
  Graph g("wrong");
  use(g, g.input("x", ElementType::kF32, {4, 3}));
  return std::string(g.status().message());
}

TEST_CASE("targets that do not fit are told") {
  const auto withTarget = [](const LossOf& lossOf, ElementType type, const std::vector<Dim>& dims) {
    return problemOf([&](Graph& g, const Tensor& x) {
      CHECK_FALSE(lossOf(x, g.input("t", type, dims)).valid());
    });
  };
  CHECK_THAT(withTarget(sparse(true), ElementType::kI64, {3}),
             Contains("sparseCategoricalCrossentropy 'sparseCategoricalCrossentropy_0': target is "
                      "3xi64, expected 1 dim: those of the output but its last, 4x3xf32"));
  CHECK_THAT(withTarget(sparse(true), ElementType::kI64, {4, 1}), Contains("target is 4x1xi64"));
  CHECK_THAT(withTarget(sparse(true), ElementType::kF32, {4}),
             Contains("target is 4xf32, expected integers: classes"));
  CHECK_THAT(withTarget(categorical(true), ElementType::kF32, {4}),
             Contains("target is 4xf32, expected 2 dims: those of the output, 4x3xf32"));
  CHECK_THAT(withTarget(binary(false), ElementType::kF32, {4, 1}),
             Contains("binaryCrossentropy_0': target is 4x1xf32"));
  const LossOf square = [](const Tensor& y, const Tensor& t) {
    return losses::meanSquaredError(y, t);
  };
  CHECK_THAT(withTarget(square, ElementType::kF32, {1, 3}), Contains("target is 1x3xf32"));
  const LossOf counts = [](const Tensor& y, const Tensor& t) {
    return metrics::sparseCategoricalAccuracy(y, t).right;
  };
  CHECK_THAT(withTarget(counts, ElementType::kI64, {5}), Contains("target is 5xi64"));

  CHECK_THAT(problemOf([](Graph&, const Tensor& x) {
               losses::meanSquaredError(cast(x, ElementType::kI32), x);
             }),
             Contains("output is 4x3xi32, expected a floating-point type"));
  CHECK_THAT(problemOf([](Graph& g, const Tensor&) {
               Tensor scalar = g.input("s", ElementType::kF32, {});
               losses::sparseCategoricalCrossentropy(scalar, scalar);
             }),
             Contains("input is f32, expected a rank of at least 1"));
  CHECK_THAT(problemOf([](Graph&, const Tensor& x) { losses::meanSquaredError(x, Tensor()); }),
             Contains("is a default-constructed tensor"));
  CHECK_FALSE(losses::meanSquaredError(Tensor(), Tensor()).valid());
  // Dims that are known when the model runs may be equal then.
  Graph g("symbols");
  Tensor x = g.input("x", ElementType::kF32, {Dim("N"), 3});
  CHECK(losses::sparseCategoricalCrossentropy(x, g.input("t", ElementType::kI64, {Dim("M")}))
            .valid());
}

}  // namespace
}  // namespace graphrun::builder
