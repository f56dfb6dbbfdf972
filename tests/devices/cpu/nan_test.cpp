// NaN and infinities through the library's kernels and what is fused behind them, element by
// element beside the operation alone and functions in double.
#include <catch2/catch.hpp>
#include <cmath>
#include <functional>
#include <limits>

#include "devices/cpu/base/onednn_layouts.h"
#include "tests/devices/cpu/instruction_runner.h"

namespace graphrun::devices::cpu {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

/// A post-op and what it is, NaN kept.
struct Function {
  std::string name;
  std::function<double(double)> value;
  double alpha = 0, beta = 0;
  bool ofInfinity = false;  ///< has a value at both infinities
};

std::vector<Function> functions() {
  auto clipTo = [](double low, double high) {
    return [=](double x) { return x < low ? low : x > high ? high : x; };
  };
  auto sigmoid = [](double x) { return 1 / (1 + std::exp(-x)); };
  return {
      {"gr.relu", clipTo(0, kInf), 0, 0, true},
      {"gr.clip", clipTo(-0.5, 1.25), -0.5, 1.25, true},
      {"gr.clip", clipTo(0.25, 6), 0.25, 6, true},
      {"gr.leaky_relu", [](double x) { return x < 0 ? 0.1 * x : x; }, 0.1, 0, true},
      {"gr.abs", [](double x) { return std::fabs(x); }, 0, 0, true},
      {"linear", [](double x) { return 2 * x + 0.5; }, 2, 0.5, true},
      {"gr.sigmoid", sigmoid},
      {"gr.tanh", [](double x) { return std::tanh(x); }},
      {"gr.elu", [](double x) { return x < 0 ? std::expm1(x) : x; }, 1},
      {"gr.exp", [](double x) { return std::exp(x); }},
      {"gr.softplus", [](double x) { return std::log1p(std::exp(x)); }},
      {"gr.round", [](double x) { return std::nearbyint(x); }},
      {"gr.hard_swish", [=](double x) { return x * clipTo(0, 1)(x / 6 + 0.5); }},
      {"gr.swish", [=](double x) { return x * sigmoid(x); }, 1},
      {"gr.gelu", [](double x) { return x / 2 * std::erfc(-x / std::sqrt(2)); }},
  };
}

PostOp postOp(const Function& f) {
  return {
      PostOpKind::kEltwise, f.name, static_cast<float>(f.alpha), static_cast<float>(f.beta), {}};
}

/// Puts `value` at the offsets that follow `first`, `step` apart.
void put(HostTensor& tensor, double value, size_t first, size_t step) {
  absl::Span<float> elements = tensor.as<float>();
  for (size_t i = first; i < elements.size(); i += step) {
    elements[i] = static_cast<float>(value);
  }
}

bool same(double got, double expected, double tolerance) {
  if (std::isnan(expected) || std::isinf(expected)) {
    return std::isnan(expected) ? std::isnan(got) : got == expected;
  }
  return std::fabs(got - expected) <= tolerance * (1 + std::fabs(expected));
}

/// Offsets where they differ, NaN being equal to NaN.
size_t differences(const std::vector<double>& got, const std::vector<double>& expected,
                   double tolerance = 2e-4) {
  size_t wrong = got.size() == expected.size() ? 0 : got.size() + 1;
  for (size_t i = 0; wrong == 0 && i < got.size(); ++i) {
    wrong += same(got[i], expected[i], tolerance) ? 0 : 1;
    if (wrong > 0) {
      UNSCOPED_INFO("first at " << i << ": " << got[i] << " instead of " << expected[i]);
    }
  }
  return wrong;
}

size_t countNaN(const std::vector<double>& values) {
  return static_cast<size_t>(
      std::count_if(values.begin(), values.end(), [](double x) { return std::isnan(x); }));
}

std::vector<double> mapped(std::vector<double> values, const Function& f) {
  for (double& x : values) {
    x = std::isnan(x) ? x : f.value(x);
  }
  return values;
}

struct Product {
  std::string kernel;
  Operation operation;
  std::vector<Dims> operands;
};

Operation conv(Dims out, int64_t groups = 1, int64_t pad = 1) {
  Dims pads(2 * (out.size() - 2), pad);
  return {
      "gr.conv", {{"pads", pads}, {"groups", groups}}, {{ElementType::kF32, std::move(out)}}, {}};
}

std::vector<Product> products() {
  return {
      {"onednn.conv", conv({1, 20, 9, 9}), {{1, 16, 9, 9}, {20, 16, 3, 3}, {20}}},
      {"onednn.conv", conv({2, 32, 7, 7}, 1, 0), {{2, 32, 7, 7}, {32, 32, 1, 1}, {32}}},
      {"onednn.conv", conv({1, 24, 9, 9}, 2), {{1, 32, 9, 9}, {24, 16, 3, 3}, {24}}},
      {"onednn.conv", conv({1, 32, 9, 9}, 32), {{1, 32, 9, 9}, {32, 1, 3, 3}, {32}}},
      {"onednn.conv", conv({1, 20, 30}), {{1, 16, 30}, {20, 16, 3}, {20}}},
      {"onednn.conv", conv({1, 16, 5, 5, 5}), {{1, 16, 5, 5, 5}, {16, 16, 3, 3, 3}, {16}}},
      {"onednn.matmul",
       {"gr.matmul", {}, {{ElementType::kF32, {33, 40}}}, {}},
       {{33, 64}, {64, 40}, {40}}},
      {"onednn.matmul",
       {"gr.matmul", {}, {{ElementType::kF32, {2, 5, 7}}}, {}},
       {{2, 5, 9}, {9, 7}}},
      {"onednn.inner_product",
       {"gr.matmul", {}, {{ElementType::kF32, {17, 48}}}, {}},
       {{17, 64}, {64, 48}, {48}}},
  };
}

/// Its operands, with values at which sums overflow to NaN and infinities.
Tensors operandsOf(const Product& product, bool infinities, std::mt19937& random) {
  Tensors operands;
  for (const Dims& dims : product.operands) {
    operands.push_back(randomTensor(dims, random));
  }
  put(operands[0], NAN, 5, 311);
  if (infinities) {
    put(operands[0], kInf, 100, 401);
    put(operands[0], -kInf, 300, 503);
  }
  return operands;
}

/// The layouts as given, and as the kernel likes.
std::vector<RunOptions> layoutOptions(const Product& product, const Tensors& operands) {
  std::set<size_t> weights = {1};
  if (product.operands.size() == 3) {
    weights.insert(2);
  }
  RunOptions dense{product.kernel, false, weights};
  RunOptions open{product.kernel, product.kernel == "onednn.conv", weights};
  open.openWeights = true;
  std::vector<RunOptions> options = {dense, open};
  if (product.kernel == "onednn.conv") {
    RunOptions last = dense;
    const Dims& dims = operands[0].spec().dims;
    last.layouts = {*stridedDesc(ElementType::kF32, dims, channelsLastStrides(dims))};
    last.openWeights = true;
    options.push_back(last);
  }
  return options;
}

/// The results of the product with `postOps`, whose operands are behind the product's, in each way.
std::vector<std::vector<double>> results(const Product& product, const Tensors& operands,
                                         std::vector<PostOp> postOps) {
  Operation fused = product.operation;
  fused.postOps = std::move(postOps);
  std::vector<std::vector<double>> found;
  for (const RunOptions& options : layoutOptions(product, operands)) {
    auto got = runOperation(fused, operands, options);
    if (absl::IsUnimplemented(got.status())) {
      continue;
    }
    INFO(got.status());
    REQUIRE(got.ok());
    found.push_back(values((*got)[0]));
  }
  return found;
}

}  // namespace

TEST_CASE("NaN and infinities pass the functions behind a product", "[nan]") {
  std::mt19937 random(11);
  for (const Product& product : products()) {
    for (const Function& f : functions()) {
      Tensors operands = operandsOf(product, f.ofInfinity, random);
      CAPTURE(product.kernel, product.operands, f.name, f.alpha);
      auto plain = runOperation(product.operation, operands);
      REQUIRE(plain.ok());
      std::vector<double> expected = mapped(values((*plain)[0]), f);
      REQUIRE(countNaN(expected) > 0);
      REQUIRE(countNaN(expected) < expected.size());
      auto found = results(product, operands, {postOp(f)});
      CHECK(!found.empty());
      for (const std::vector<double>& got : found) {
        CHECK(differences(got, expected) == 0);
      }
    }
  }
}

TEST_CASE("NaN of what is added, multiplied or compared behind a product is kept", "[nan]") {
  std::mt19937 random(12);
  using Kind = PostOpKind;
  auto larger = [](double a, double b) {
    return std::isnan(a) || std::isnan(b) ? NAN : std::max(a, b);
  };
  auto smaller = [](double a, double b) {
    return std::isnan(a) || std::isnan(b) ? NAN : std::min(a, b);
  };
  auto relu = [](double x) { return x < 0 ? 0 : x; };
  struct Chain {
    std::string name;
    std::vector<PostOp> ops;
    std::function<double(double, double)> value;
  };
  const PostOp kRelu{Kind::kEltwise, "gr.relu", 0, 0, {}};
  const PostOp kClip{Kind::kEltwise, "gr.clip", 0.5F, 2, {}};
  std::vector<Chain> chains = {
      {"add, relu",
       {{Kind::kBinaryAdd, "", 0, 0, {}}, kRelu},
       [=](double x, double y) { return relu(x + y); }},
      {"sum, relu",
       {{Kind::kSum, "", 0, 0, {}}, kRelu},
       [=](double x, double y) { return relu(x + y); }},
      {"sum, clip",
       {{Kind::kSum, "", 0, 0, {}}, kClip},
       [=](double x, double y) { return smaller(larger(x + y, 0.5), 2); }},
      {"relu, sum",
       {kRelu, {Kind::kSum, "", 0, 0, {}}},
       [=](double x, double y) { return relu(x) + y; }},
      {"relu, add",
       {kRelu, {Kind::kBinaryAdd, "", 0, 0, {}}},
       [=](double x, double y) { return relu(x) + y; }},
      {"relu, mul",
       {kRelu, {Kind::kBinaryMul, "", 0, 0, {}}},
       [=](double x, double y) { return relu(x) * y; }},
      {"sub, relu",
       {{Kind::kBinarySub, "", 0, 0, {}}, kRelu},
       [=](double x, double y) { return relu(x - y); }},
      {"max", {{Kind::kBinaryMax, "", 0, 0, {}}}, larger},
      {"min", {{Kind::kBinaryMin, "", 0, 0, {}}}, smaller},
      {"clip, linear, max",
       {kClip, {Kind::kEltwise, "linear", 3, -1, {}}, {Kind::kBinaryMax, "", 0, 0, {}}},
       [=](double x, double y) { return larger(3 * smaller(larger(x, 0.5), 2) - 1, y); }},
  };
  for (const Product& product : products()) {
    for (const Chain& chain : chains) {
      Tensors operands = operandsOf(product, true, random);
      CAPTURE(product.kernel, product.operands, chain.name);
      auto plain = runOperation(product.operation, operands);
      REQUIRE(plain.ok());
      HostTensor other = randomTensor((*plain)[0].spec().dims, random);
      put(other, NAN, 3, 13);
      put(other, -kInf, 4, 17);
      std::vector<double> expected = values((*plain)[0]);
      std::vector<double> added = values(other);
      for (size_t i = 0; i < expected.size(); ++i) {
        expected[i] = std::isnan(expected[i]) ? NAN : chain.value(expected[i], added[i]);
      }
      operands.push_back(other.clone());
      auto found = results(product, operands, chain.ops);
      CHECK((!found.empty() || chain.name == "relu, sum"));
      for (const std::vector<double>& got : found) {
        CHECK(differences(got, expected) == 0);
      }
    }
  }
}

TEST_CASE("a product of finite numbers that overflows to NaN keeps it behind relu", "[nan]") {
  // 3e38 + 3e38 is infinite, and with as much below it NaN.
  Tensors operands;
  operands.push_back(f32({2, 4}, {3e38, 3e38, -3e38, -3e38, 1, 2, 3, 4}));
  operands.push_back(f32({4, 1}, {2, 2, 2, 2}));
  Operation product{"gr.matmul", {}, {{ElementType::kF32, {2, 1}}}, {}};
  product.postOps = {{PostOpKind::kEltwise, "gr.relu", 0, 0, {}}};
  auto got = runOperation(product, operands, {"onednn.matmul", false, {1}});
  REQUIRE(got.ok());
  std::vector<double> result = values((*got)[0]);
  CHECK(!std::isfinite(result[0]));
  CHECK(result[1] == 20);
}

TEST_CASE("NaN in weights and biases pass relu", "[nan]") {
  std::mt19937 random(13);
  Product product = products()[1];  // without padding, which some of the library's ways multiply
  for (size_t operand : {1, 2}) {
    Tensors operands = operandsOf(product, false, random);
    operands[0] = randomTensor(product.operands[0], random);
    put(operands[operand], NAN, 7, 1000000);
    auto plain = runOperation(product.operation, operands);
    REQUIRE(plain.ok());
    std::vector<double> expected = mapped(values((*plain)[0]), functions()[0]);
    REQUIRE(countNaN(expected) > 0);
    for (const std::vector<double>& got :
         results(product, operands, {{PostOpKind::kEltwise, "gr.relu", 0, 0, {}}})) {
      CHECK(differences(got, expected) == 0);
    }
  }
}

TEST_CASE("products of bf16 keep NaN behind relu", "[nan]") {
  std::mt19937 random(14);
  for (const Product& product : products()) {
    Tensors wide = operandsOf(product, false, random);
    Tensors operands;
    for (const HostTensor& operand : wide) {
      operands.push_back(tensor(ElementType::kBF16, operand.spec().dims, values(operand)));
    }
    Product narrow = product;
    narrow.operation.outputs[0].type = ElementType::kBF16;
    CAPTURE(product.kernel, product.operands);
    auto plain = runOperation(narrow.operation, operands);
    REQUIRE(plain.ok());
    std::vector<double> expected = mapped(values((*plain)[0]), functions()[0]);
    REQUIRE(countNaN(expected) > 0);
    RunOptions options{product.kernel, false, {1, 2}};
    options.openWeights = true;
    narrow.operation.postOps = {{PostOpKind::kEltwise, "gr.relu", 0, 0, {}}};
    auto got = runOperation(narrow.operation, operands, options);
    if (!absl::IsUnimplemented(got.status())) {  // of a machine without bf16
      REQUIRE(got.status().ToString() == "OK");
      CHECK(differences(values((*got)[0]), expected, 3e-2) == 0);
    }
  }
}

TEST_CASE("NaN added to a product of bytes passes relu", "[nan]") {
  std::mt19937 random(17);
  auto bytesOf = [&](ElementType type, Dims dims, double low) {
    std::vector<double> elements = values(randomTensor(dims, random, low, low + 200));
    for (double& x : elements) {
      x = std::floor(x);
    }
    return tensor(type, std::move(dims), elements);
  };
  Tensors operands;
  operands.push_back(bytesOf(ElementType::kU8, {17, 64}, 0));
  operands.push_back(bytesOf(ElementType::kI8, {64, 24}, -100));
  Operation product{
      "gr.matmul", {{"scales", std::vector<double>{0.01}}}, {{ElementType::kF32, {17, 24}}}, {}};
  RunOptions options{"onednn.matmul", false, {1}};
  options.openWeights = true;
  auto plain = runOperation(product, operands, options);
  if (absl::IsUnimplemented(plain.status())) {
    return;  // a machine without exact sums of bytes
  }
  REQUIRE(plain.ok());
  HostTensor other = randomTensor({17, 24}, random, -10, 10);
  put(other, NAN, 3, 13);
  std::vector<double> expected = values((*plain)[0]), added = values(other);
  for (size_t i = 0; i < expected.size(); ++i) {
    double sum = expected[i] + added[i];
    expected[i] = sum < 0 ? 0 : sum;
  }
  operands.push_back(std::move(other));
  product.postOps = {{PostOpKind::kBinaryAdd, "", 0, 0, {}}, postOp(functions()[0])};
  auto got = runOperation(product, operands, options);
  REQUIRE(got.status().ToString() == "OK");
  REQUIRE(countNaN(expected) > 0);
  CHECK(differences(values((*got)[0]), expected) == 0);
}

namespace {

struct PoolCase {
  Dims in, kernel, strides, pads, dilations;
};

/// The largest of each window, by its definition: NaN before all, -Inf of a window of padding.
std::vector<double> largestOf(const std::vector<double>& x, const PoolCase& c, const Dims& out) {
  // As three spatial dims.
  auto three = [](const Dims& dims, int64_t missing, size_t from = 0) {
    Dims all(dims.begin() + static_cast<int64_t>(from), dims.end());
    all.insert(all.begin(), 3 - all.size(), missing);
    return all;
  };
  size_t spatial = c.kernel.size();
  Dims in = three(c.in, 1, 2), to = three(out, 1, 2), kernel = three(c.kernel, 1);
  Dims strides = three(c.strides, 1), dilations = three(c.dilations, 1);
  Dims pads = three({c.pads.begin(), c.pads.begin() + static_cast<int64_t>(spatial)}, 0);
  std::vector<double> result;
  for (int64_t plane = 0; plane < c.in[0] * c.in[1]; ++plane) {
    for (int64_t o = 0; o < to[0] * to[1] * to[2]; ++o) {
      Dims at = {o / (to[1] * to[2]), o / to[2] % to[1], o % to[2]};
      double most = -kInf;
      for (int64_t k = 0; k < kernel[0] * kernel[1] * kernel[2]; ++k) {
        Dims tap = {k / (kernel[1] * kernel[2]), k / kernel[2] % kernel[1], k % kernel[2]};
        int64_t offset = plane;
        bool inside = true;
        for (size_t d = 0; d < 3; ++d) {
          int64_t i = at[d] * strides[d] - pads[d] + tap[d] * dilations[d];
          inside = inside && i >= 0 && i < in[d];
          offset = offset * in[d] + i;
        }
        double value = inside ? x[static_cast<size_t>(offset)] : -kInf;
        most = std::isnan(most) || std::isnan(value) ? NAN : std::max(most, value);
      }
      result.push_back(most);
    }
  }
  return result;
}

Dims resultOf(const PoolCase& c) {
  Dims out = {c.in[0], c.in[1]};
  for (size_t d = 0; d < c.kernel.size(); ++d) {
    int64_t extent = (c.kernel[d] - 1) * c.dilations[d] + 1;
    out.push_back((c.in[2 + d] + c.pads[d] + c.pads[c.kernel.size() + d] - extent) / c.strides[d] +
                  1);
  }
  return out;
}

}  // namespace

TEST_CASE("maxima over windows keep NaN and -Inf", "[nan]") {
  std::mt19937 random(15);
  const std::vector<PoolCase> cases = {
      {{1, 32, 12, 12}, {3, 3}, {2, 2}, {1, 1, 1, 1}, {1, 1}},
      {{2, 5, 9, 9}, {2, 2}, {2, 2}, {0, 0, 0, 0}, {1, 1}},
      {{1, 16, 9, 9}, {5, 5}, {1, 1}, {2, 2, 2, 2}, {1, 1}},
      {{1, 20, 31}, {3}, {2}, {1, 0}, {1}},
      {{1, 16, 6, 6, 6}, {2, 2, 2}, {2, 2, 2}, {0, 0, 0, 0, 0, 0}, {1, 1, 1}},
      {{1, 8, 12, 12}, {3, 3}, {1, 1}, {0, 0, 0, 0}, {2, 2}},
  };
  for (const PoolCase& c : cases) {
    Dims out = resultOf(c);
    for (ElementType type : {ElementType::kF32, ElementType::kBF16}) {
      for (bool withNaN : {false, true}) {
        HostTensor x = randomTensor(c.in, random);
        put(x, kInf, 7, 119);
        std::fill_n(x.as<float>().data(), x.as<float>().size() / 3, -kInf);
        if (withNaN) {
          put(x, NAN, 5, 61);
        }
        Tensors inputs;
        inputs.push_back(tensor(type, c.in, values(x)));
        std::vector<double> expected = largestOf(values(inputs[0]), c, out);
        REQUIRE((countNaN(expected) > 0) == withNaN);
        Operation pool{"gr.max_pool",
                       {{"kernel", c.kernel},
                        {"strides", c.strides},
                        {"pads", c.pads},
                        {"dilations", c.dilations}},
                       {{type, out}},
                       {}};
        std::vector<RunOptions> choices = {{"onednn.pool", false}, {"onednn.pool", true}};
        choices.push_back(choices[0]);
        choices.back().layouts = {*stridedDesc(type, c.in, channelsLastStrides(c.in))};
        for (const RunOptions& options : choices) {
          CAPTURE(c.in, c.kernel, withNaN, options.open, options.layouts.size(),
                  static_cast<int>(type));
          auto got = runOperation(pool, inputs, options);
          if (!absl::IsUnimplemented(got.status())) {
            REQUIRE(got.status().ToString() == "OK");
            CHECK(differences(values((*got)[0]), expected, 0) == 0);
          }
        }
      }
    }
  }
}

TEST_CASE("a maximum over the spatial dims, relu behind a pool, and softmax keep NaN", "[nan]") {
  std::mt19937 random(16);
  HostTensor x = randomTensor({2, 16, 5, 5}, random);
  put(x, NAN, 33, 50);
  std::fill_n(x.as<float>().data(), 25, -kInf);
  Tensors inputs;
  inputs.push_back(x.clone());
  Operation all{"gr.reduce",
                {{"kind", std::string("max")}, {"axes", Dims{2, 3}}},
                {{ElementType::kF32, {2, 16, 1, 1}}},
                {}};
  PoolCase whole{{2, 16, 5, 5}, {5, 5}, {1, 1}, {0, 0, 0, 0}, {1, 1}};
  std::vector<double> expected = largestOf(values(x), whole, {2, 16, 1, 1});
  auto got = runOperation(all, inputs, {"onednn.pool", false});
  REQUIRE(got.status().ToString() == "OK");
  CHECK(differences(values((*got)[0]), expected, 0) == 0);

  Operation pool{"gr.max_pool", {{"kernel", Dims{5, 5}}}, {{ElementType::kF32, {2, 16, 1, 1}}}, {}};
  pool.postOps = {{PostOpKind::kEltwise, "gr.relu", 0, 0, {}}};
  got = runOperation(pool, inputs, {"onednn.pool", true});
  REQUIRE(got.status().ToString() == "OK");
  CHECK(differences(values((*got)[0]), mapped(expected, functions()[0]), 0) == 0);

  Operation softmax{"gr.softmax", {{"axis", int64_t{3}}}, {{ElementType::kF32, {2, 16, 5, 5}}}, {}};
  got = runOperation(softmax, inputs, {"onednn.softmax", false});
  REQUIRE(got.status().ToString() == "OK");
  std::vector<double> result = values((*got)[0]);
  for (size_t i = 0; i < result.size(); ++i) {
    size_t row = i / 5 * 5;
    auto elements = values(x);
    bool broken = row < 25 || countNaN({elements.begin() + static_cast<int64_t>(row),
                                        elements.begin() + static_cast<int64_t>(row) + 5}) > 0;
    CHECK(std::isnan(result[i]) == broken);
  }
}

}  // namespace graphrun::devices::cpu
