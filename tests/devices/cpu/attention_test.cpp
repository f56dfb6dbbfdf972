// Attention: the reference by hand, and blocks of rows against the reference.
#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "devices/cpu/kernels/softmax_rows.h"
#include "devices/cpu/vectors/bfloat16_rows.h"
#include "tests/devices/cpu/instruction_runner.h"

namespace graphrun::devices::cpu {
namespace {

constexpr double kTolerance = 1e-5;

Operation attention(Dims result, Attributes attributes = {}) {
  return {"gr.attention", std::move(attributes), {{ElementType::kF32, std::move(result)}}, {}};
}

struct Shape {
  int64_t batch, heads, groups, rows, keys, width, valueWidth;
};

Tensors randomOperands(const Shape& s, std::mt19937& random) {
  Tensors inputs;
  inputs.push_back(randomTensor({s.batch, s.heads, s.rows, s.width}, random, -2, 2));
  inputs.push_back(randomTensor({s.batch, s.groups, s.keys, s.width}, random, -2, 2));
  inputs.push_back(randomTensor({s.batch, s.groups, s.keys, s.valueWidth}, random));
  return inputs;
}

}  // namespace

TEST_CASE("an attention weighs values by the softmax of its scores") {
  for (ElementType type :
       {ElementType::kF64, ElementType::kF32, ElementType::kF16, ElementType::kBF16}) {
    CAPTURE(runtime::elementTypeName(type));
    Tensors inputs;
    inputs.push_back(tensor(type, {1, 2, 1, 1}, {1, 2}));              // query
    inputs.push_back(tensor(type, {1, 1, 2, 1}, {std::log(3.0), 0}));  // key, shared
    inputs.push_back(tensor(type, {1, 1, 2, 2}, {4, 0, 0, 8}));        // value
    inputs.push_back(tensor(type, {2, 1, 1}, {0, 0}));                 // mask
    auto got = runOperation({"gr.attention", {{"scale", 2.0}}, {{type, {1, 2, 1, 2}}}, {}}, inputs);
    INFO(got.status());
    REQUIRE(got.ok());
    // Weights 9/10 and 1/10, then 81/82 and 1/82.
    double tolerance = type == ElementType::kBF16 ? 0.05 : type == ElementType::kF16 ? 5e-3 : 1e-5;
    std::vector<double> y = values((*got)[0]);
    CHECK(y[0] == Approx(3.6).margin(tolerance));
    CHECK(y[1] == Approx(0.8).margin(tolerance));
    CHECK(y[2] == Approx(4 * 81.0 / 82).margin(tolerance));
    CHECK(y[3] == Approx(8 / 82.0).margin(tolerance));
  }
}

TEST_CASE("blocks of rows agree with the reference") {
  std::mt19937 random(5);
  const Shape shapes[] = {{1, 1, 1, 1, 1, 1, 1},
                          {2, 3, 3, 17, 17, 8, 8},
                          {1, 4, 2, 130, 130, 16, 5},
                          {2, 2, 1, 65, 200, 7, 9},
                          {1, 1, 1, 3, 5000, 4, 4}};
  for (const Shape& s : shapes) {
    for (bool causal : {false, true}) {
      for (const Dims& mask : {Dims{}, Dims{s.batch, 1, 1, s.keys}, Dims{s.rows, s.keys}}) {
        CAPTURE(s.rows, s.keys, causal, mask);
        Tensors inputs = randomOperands(s, random);
        if (!mask.empty()) {
          inputs.push_back(randomTensor(mask, random, -3, 0));
        }
        Operation operation = attention({s.batch, s.heads, s.rows, s.valueWidth},
                                        {{"scale", 0.25}, {"causal", causal}});
        auto expected = runOperation(operation, inputs);
        INFO(expected.status());
        REQUIRE(expected.ok());
        auto got = runOperation(operation, inputs, {"attention"});
        INFO(got.status());
        REQUIRE(got.ok());
        CHECK(distance((*got)[0], (*expected)[0]) < kTolerance);
      }
    }
  }
}

TEST_CASE("operands of bf16 are computed in f32, and only the result is rounded") {
  std::mt19937 random(8);
  const Shape shapes[] = {{1, 1, 1, 1, 1, 1, 1}, {2, 4, 2, 130, 70, 16, 5}};
  for (const Shape& s : shapes) {
    CAPTURE(s.rows);
    Tensors narrow, wide;
    for (const HostTensor& operand : randomOperands(s, random)) {
      narrow.push_back(tensor(ElementType::kBF16, operand.spec().dims, values(operand)));
      wide.push_back(f32(operand.spec().dims, values(narrow.back())));
    }
    Dims result = {s.batch, s.heads, s.rows, s.valueWidth};
    auto expected = runOperation(attention(result), wide);
    REQUIRE(expected.ok());
    for (ElementType type : {ElementType::kF32, ElementType::kBF16}) {
      auto got = runOperation({"gr.attention", {}, {{type, result}}, {}}, narrow, {"attention"});
      INFO(got.status());
      REQUIRE(got.ok());
      HostTensor wideResult = f32(result, values((*got)[0]));
      CHECK(distance(wideResult, (*expected)[0]) <
            (type == ElementType::kF32 ? kTolerance : 1. / 256));
    }
  }
}

TEST_CASE("rows are rounded to the nearest bf16, ties to even") {
  constexpr size_t kCount = 37;  // whole vectors and some more
  std::vector<float> from(kCount, 1.0F), back(kCount);
  from[0] = 1 + 0x1p-8F;                // a tie: to the even 1
  from[1] = 1 + 0x1p-7F + 0x1p-8F;      // a tie: up to the even 1 + 2^-6
  from[2] = -(1 + 0x1p-8F + 0x1p-20F);  // above a tie
  from[3] = std::numeric_limits<float>::max();
  from[4] = -std::numeric_limits<float>::infinity();
  from[36] = std::bit_cast<float>(0x7f800001U);  // a NaN whose upper bits are those of infinity
  std::vector<BFloat16> to(kCount);
  narrowRow(from.data(), to.data(), kCount);
  widenRow(to.data(), back.data(), kCount);
  CHECK(back[0] == 1.0F);
  CHECK(back[1] == 1 + 0x1p-6F);
  CHECK(back[2] == -(1 + 0x1p-7F));
  CHECK(std::isinf(back[3]));
  CHECK(back[4] == from[4]);
  CHECK(back[5] == 1.0F);
  CHECK(std::isnan(back[36]));
}

TEST_CASE("views read heads out of a packed projection and write them side by side") {
  std::mt19937 random(6);
  constexpr int64_t kRows = 19, kHeads = 3, kWidth = 4, kAll = kHeads * kWidth;
  std::vector<double> all = values(randomTensor({1, kRows, 3 * kAll}, random));
  Tensors plain;
  for (int64_t part = 0; part < 3; ++part) {
    std::vector<double> heads;
    for (int64_t i = 0; i < kHeads * kRows * kWidth; ++i) {
      int64_t head = i / kRows / kWidth, row = i / kWidth % kRows;
      heads.push_back(all[row * 3 * kAll + part * kAll + head * kWidth + i % kWidth]);
    }
    plain.push_back(f32({1, kHeads, kRows, kWidth}, heads));
  }
  auto expected = runOperation(attention({1, kHeads, kRows, kWidth}), plain);
  REQUIRE(expected.ok());
  Dims views;
  for (int64_t part = 0; part < 3; ++part) {
    views.insert(views.end(), {part * kAll, kRows * 3 * kAll, kWidth, 3 * kAll, 1});
  }
  views.insert(views.end(), {0, kRows * kAll, kWidth, kAll, 1});
  Dims sizes = {1, kHeads, kHeads, kRows, kRows, kWidth, kWidth};
  Tensors inputs;
  for (int part = 0; part < 3; ++part) {
    inputs.push_back(f32({1, kRows, 3 * kAll}, all));
  }
  auto got = runOperation(attention({1, kRows, kAll}, {{"sizes", sizes}, {"views", views}}), inputs,
                          {"attention"});
  INFO(got.status());
  REQUIRE(got.ok());
  std::vector<double> y = values((*got)[0]), reference = values((*expected)[0]);
  for (int64_t i = 0; i < kHeads * kRows * kWidth; ++i) {
    int64_t head = i / kRows / kWidth, row = i / kWidth % kRows;
    CHECK(y[row * kAll + head * kWidth + i % kWidth] == Approx(reference[i]).margin(kTolerance));
  }
  views[0] = 1;  // the last element is one behind the tensor's
  views[2] = 2 * kAll + kWidth;
  auto outside = runOperation(attention({1, kRows, kAll}, {{"sizes", sizes}, {"views", views}}),
                              inputs, {"attention"});
  CHECK(absl::IsInvalidArgument(outside.status()));
}

TEST_CASE("a row of scores becomes weights of sum 1, and what is behind it stays") {
  std::vector<float> scores = {1, 2, -std::numeric_limits<float>::infinity(), 90, 0, 7};
  std::vector<float> mask = {0, 0, 0, -90, 0};
  softmaxRow(scores.data(), mask.data(), 5);
  double sum = 0;
  for (size_t i = 0; i < 5; ++i) {
    sum += scores[i];
  }
  CHECK(sum == Approx(1).margin(1e-6));
  CHECK(scores[1] == Approx(scores[0] * std::exp(1)).epsilon(1e-6));
  CHECK(scores[2] == 0);
  CHECK(scores[3] == Approx(scores[4]).epsilon(1e-6));
  CHECK(scores[5] == 7);
}

TEST_CASE("the softmax of a row of any length touches nothing behind its end") {
  constexpr float kBehind = 77;
  std::mt19937 random(8);
  for (int64_t count = 1; count <= 70; ++count) {
    HostTensor row = randomTensor({count + 16}, random, -3, 3);
    absl::Span<float> scores = row.as<float>();
    std::fill(scores.begin() + count, scores.end(), kBehind);
    std::vector<double> expected;
    double sum = 0;
    for (float score : scores.first(static_cast<size_t>(count))) {
      expected.push_back(std::exp(static_cast<double>(score)));
      sum += expected.back();
    }
    softmaxRow(scores.data(), nullptr, count);
    for (int64_t i = 0; i < count; ++i) {
      CAPTURE(count, i);
      CHECK(scores[i] == Approx(expected[static_cast<size_t>(i)] / sum).epsilon(1e-5));
    }
    CHECK(std::all_of(scores.begin() + count, scores.end(), [](float x) { return x == kBehind; }));
  }
}

}  // namespace graphrun::devices::cpu
