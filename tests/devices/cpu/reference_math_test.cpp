#include <catch2/catch.hpp>

#include "tests/devices/cpu/instruction_runner.h"

namespace graphrun::devices::cpu {
namespace {

HostTensor run(const std::string& name, const Tensors& inputs, TensorSpec output,
               const Attributes& attributes) {
  auto result = runOperation({name, attributes, {std::move(output)}, {}}, inputs);
  INFO(name << ": " << result.status());
  REQUIRE(result.ok());
  return std::move((*result)[0]);
}

Attributes reduceBy(const std::string& kind, Dims axes, bool keepdims) {
  return {{"kind", kind}, {"axes", std::move(axes)}, {"keepdims", keepdims}};
}

}  // namespace

TEST_CASE("reductions over any axes") {
  std::vector<double> x;
  for (int i = 0; i < 24; ++i) {
    x.push_back(i % 7 + 1);
  }
  for (ElementType type :
       {ElementType::kF64, ElementType::kF32, ElementType::kF16, ElementType::kBF16,
        ElementType::kI64, ElementType::kI32, ElementType::kU8}) {
    CAPTURE(runtime::elementTypeName(type));
    Tensors input;
    input.push_back(tensor(type, {2, 3, 4}, x));
    // Over axes 0 and 2, kept: 3 results of 8 elements each.
    std::vector<double> sum(3), highest(3, 0), lowest(3, 100);
    for (size_t i = 0; i < 24; ++i) {
      size_t to = i / 4 % 3;
      sum[to] += x[i];
      highest[to] = std::max(highest[to], x[i]);
      lowest[to] = std::min(lowest[to], x[i]);
    }
    TensorSpec kept{type, {1, 3, 1}};
    CHECK(values(run("gr.reduce", input, kept, reduceBy("sum", {0, 2}, true))) == sum);
    CHECK(values(run("gr.reduce", input, kept, reduceBy("max", {0, 2}, true))) == highest);
    CHECK(values(run("gr.reduce", input, {type, {3}}, reduceBy("min", {0, 2}, false))) == lowest);
    std::vector<double> product =
        values(run("gr.reduce", input, {type, {2, 3}}, reduceBy("prod", {2}, false)));
    CHECK(product[0] == (type == ElementType::kU8 ? 24 : x[0] * x[1] * x[2] * x[3]));
  }
  Tensors input;
  input.push_back(f32({2, 2}, {1, 2, 3, 5}));
  CHECK(values(run("gr.reduce", input, {ElementType::kF32, {}}, reduceBy("mean", {0, 1}, false))) ==
        std::vector<double>{2.75});
  CHECK(values(run("gr.reduce", input, {ElementType::kF32, {2, 2}}, reduceBy("sum", {}, true))) ==
        std::vector<double>{1, 2, 3, 5});
}

TEST_CASE("reductions of nothing give the neutral element") {
  Tensors input;
  input.push_back(f32({2, 0}, {}));
  TensorSpec out{ElementType::kF32, {2}};
  CHECK(values(run("gr.reduce", input, out, reduceBy("sum", {1}, false))) ==
        std::vector<double>{0, 0});
  CHECK(values(run("gr.reduce", input, out, reduceBy("prod", {1}, false))) ==
        std::vector<double>{1, 1});
  CHECK(values(run("gr.reduce", input, out, reduceBy("max", {1}, false)))[0] == -INFINITY);
}

TEST_CASE("matrix products, batched, broadcast, transposed, of vectors") {
  for (ElementType type :
       {ElementType::kF64, ElementType::kF32, ElementType::kI32, ElementType::kU64}) {
    Tensors two;
    two.push_back(tensor(type, {2, 3}, {1, 2, 3, 4, 5, 6}));
    two.push_back(tensor(type, {3, 2}, {1, 0, 2, 1, 0, 3}));
    CHECK(values(run("gr.matmul", two, {type, {2, 2}}, {})) == std::vector<double>{5, 11, 14, 23});
    two[1] = tensor(type, {2, 3}, {1, 2, 0, 0, 1, 3});
    CHECK(values(run("gr.matmul", two, {type, {2, 2}}, {{"transpose_rhs", true}})) ==
          std::vector<double>{5, 11, 14, 23});
    CHECK(values(run("gr.matmul", two, {type, {3, 3}}, {{"transpose_lhs", true}})) ==
          std::vector<double>{1, 6, 12, 2, 9, 15, 3, 12, 18});
    two[1] = tensor(type, {3}, {1, 1, 2});
    CHECK(values(run("gr.matmul", two, {type, {2}}, {})) == std::vector<double>{9, 21});
    two[0] = tensor(type, {2, 1, 1, 3}, {1, 2, 3, 4, 5, 6});
    two[1] = tensor(type, {2, 3, 1}, {1, 1, 1, 0, 1, 2});
    CHECK(values(run("gr.matmul", two, {type, {2, 2, 1, 1}}, {})) ==
          std::vector<double>{6, 8, 15, 17});
    two[0] = tensor(type, {3}, {1, 2, 3});
    two[1] = tensor(type, {3}, {4, 5, 6});
    CHECK(values(run("gr.matmul", two, {type, {}}, {})) == std::vector<double>{32});
  }
}

TEST_CASE("products and reductions of wrong shapes are refused") {
  Tensors two;
  two.push_back(f32({2, 3}, {1, 2, 3, 4, 5, 6}));
  two.push_back(f32({2, 3}, {1, 2, 3, 4, 5, 6}));
  CHECK(!runOperation({"gr.matmul", {}, {{ElementType::kF32, {2, 3}}}, {}}, two).ok());
  Tensors one;
  one.push_back(f32({2, 3}, {1, 2, 3, 4, 5, 6}));
  CHECK(!runOperation({"gr.reduce", reduceBy("sum", {2}, true), {{ElementType::kF32, {2, 3}}}, {}},
                      one)
             .ok());
  CHECK(!runOperation(
             {"gr.reduce", reduceBy("median", {1}, true), {{ElementType::kF32, {2, 1}}}, {}}, one)
             .ok());
  CHECK(!runOperation({"gr.reduce", {}, {{ElementType::kF32, {2, 1}}}, {}}, one).ok());
}

}  // namespace graphrun::devices::cpu
