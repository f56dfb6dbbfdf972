// The kernels of what gradients are made of, against the reference, in all layouts that they take.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "devices/cpu/base/onednn_layouts.h"
#include "devices/cpu/runtime/kernel_list.h"
#include "tests/devices/cpu/backward_cases.h"

namespace graphrun::devices::cpu {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

TensorDesc channelsLast(const Dims& dims) {
  return *stridedDesc(ElementType::kF32, dims, channelsLastStrides(dims));
}

/// N x C/block x D1 … x block.
TensorDesc channelBlocks(const Dims& dims, int64_t block) {
  Blocking blocking{dims, dims, Dims(dims.size()), {block}, {1}};
  blocking.paddedDims[1] = (dims[1] + block - 1) / block * block;
  int64_t stride = block;
  for (size_t i = dims.size(); i-- > 0;) {
    blocking.strides[i] = stride;
    stride *= i == 1 ? blocking.paddedDims[1] / block : dims[i];
  }
  return *blockedDesc(ElementType::kF32, blocking);
}

/// Layouts of the operands that are images: dense, channels last, blocks of 8 and 16.
std::vector<std::vector<TensorDesc>> layoutsOf(const BackwardCase& each) {
  std::vector<std::vector<TensorDesc>> layouts = {{}};
  const Dims& first = each.inputs[0];
  for (int64_t block : {0, 8, 16}) {
    std::vector<TensorDesc> list;
    for (const Dims& dims : each.inputs) {
      bool isImage = dims.size() == first.size() && dims.size() >= 3;
      list.push_back(!isImage     ? TensorDesc{ElementType::kF32, dims}
                     : block == 0 ? channelsLast(dims)
                                  : channelBlocks(dims, block));
    }
    layouts.push_back(std::move(list));
  }
  return layouts;
}

/// As `distance`, relative to the largest element; equal infinities are equal.
double error(const HostTensor& got, const HostTensor& expected) {
  std::vector<double> x = values(got);
  std::vector<double> y = values(expected);
  double largest = 0, most = 0;
  for (size_t i = 0; i < y.size(); ++i) {
    if (std::isnan(x[i]) != std::isnan(y[i]) || std::isinf(x[i]) != std::isinf(y[i])) {
      return kInfinity;
    }
    if (std::isfinite(y[i])) {
      largest = std::max(largest, std::fabs(y[i]));
      most = std::max(most, std::fabs(x[i] - y[i]));
    } else if (!std::isnan(y[i]) && x[i] != y[i]) {
      return kInfinity;
    }
  }
  return most == 0 ? 0 : most / largest;
}

void requireAlike(const BackwardCase& each, const Tensors& inputs, const RunOptions& options,
                  double tolerance) {
  Operation operation = operationOf(each, ElementType::kF32);
  auto expected = runOperation(operation, inputs);
  INFO(expected.status());
  REQUIRE(expected.ok());
  auto got = runOperation(operation, inputs, options);
  INFO(got.status());
  REQUIRE(got.ok());
  for (size_t i = 0; i < got->size(); ++i) {
    CAPTURE(i);
    CHECK(error((*got)[i], (*expected)[i]) <= tolerance);
  }
}

/// Compares `kernel` with the reference in all layouts.
void check(const BackwardCase& each, const Tensors& inputs, const std::string& kernel,
           double tolerance, bool dense = false) {
  CAPTURE(each.operation, each.inputs);
  for (std::vector<TensorDesc>& layouts : layoutsOf(each)) {
    CAPTURE(layouts.empty() ? "dense" : layoutName(layouts[0]));
    if (dense && !layouts.empty()) {
      return;
    }
    RunOptions options{kernel, true};
    options.layouts = std::move(layouts);
    requireAlike(each, inputs, options, tolerance);
  }
}

/// Numbers of all sizes, and now and then `rare`.
void scatter(HostTensor& tensor, std::mt19937& random, double low, double high, double rare) {
  std::uniform_real_distribution<double> exponent(low, high);
  for (float& x : tensor.as<float>()) {
    auto size = static_cast<float>(std::exp2(exponent(random)));
    x = random() % 97 == 0 && rare != 0 ? static_cast<float>(rare)
        : random() % 2 == 0             ? size
                                        : -size;
  }
}

std::vector<WindowCase> pictures() {
  std::vector<WindowCase> windows = windowCases();
  windows.push_back({{12, 20}, {2, 2}, {2, 2}, {1, 1}, {0, 0}, {0, 0}});
  windows.push_back({{11, 41}, {2, 2}, {2, 2}, {1, 1}, {0, 0}, {0, 0}});
  windows.push_back({{14, 14}, {3, 3}, {2, 2}, {1, 1}, {1, 1}, {1, 1}, /*ceilMode=*/true});
  windows.push_back({{6, 7}, {1, 1}, {1, 1}, {1, 1}, {0, 0}, {0, 0}});
  windows.push_back({{5, 5}, {5, 5}, {1, 1}, {1, 1}, {2, 2}, {2, 2}});
  return windows;
}

}  // namespace

TEST_CASE("pools go backward as the reference does") {
  std::mt19937 random(1);
  for (const WindowCase& window : pictures()) {
    for (int64_t channels : {1, 3, 16, 24, 70}) {
      BackwardCase most = maxPoolCase(2, channels, window);
      Tensors inputs = operandsOf(most, random);
      for (float& x : inputs[0].as<float>()) {
        x = std::round(4 * x);  // many are equal
      }
      check(most, inputs, "pool_backward", 1e-6);
      for (bool countPadding : {false, true}) {
        BackwardCase mean = avgPoolCase(2, channels, window, countPadding);
        check(mean, operandsOf(mean, random), "pool_backward", 1e-6);
      }
    }
  }
}

TEST_CASE("pools find NaN, infinities and numbers of all sizes") {
  std::mt19937 random(2);
  for (double rare : {kNaN, kInfinity, -kInfinity, 0.0}) {
    for (const WindowCase& window : pictures()) {
      BackwardCase most = maxPoolCase(1, 19, window);
      Tensors inputs = operandsOf(most, random);
      scatter(inputs[0], random, -149, 127, rare);
      check(most, inputs, "pool_backward", 1e-6);
      scatter(inputs[1], random, -20, 20, 0);
      check(most, inputs, "pool_backward", 1e-6);
    }
  }
}

TEST_CASE("batches are normalised as the reference does") {
  std::mt19937 random(3);
  for (const Dims& dims : {Dims{4, 3}, Dims{3, 20, 6}, Dims{2, 20, 6, 5}, Dims{2, 70, 31, 9},
                           Dims{3, 1, 1, 7}, Dims{2, 16, 3, 4, 5}, Dims{6, 32, 100, 61}}) {
    for (const BackwardCase& each : {batchNormTrainingCase(dims), batchNormCase(dims)}) {
      const char* kernel = each.operation == "gr.batch_norm_backward" ? "batch_norm_backward"
                                                                      : "batch_norm_training";
      Tensors inputs = operandsOf(each, random);
      check(each, inputs, kernel, 2e-6);
      // Far from zero, for their spread.
      for (float& x : inputs[0].as<float>()) {
        x = x + 1000;
      }
      if (each.operation == "gr.batch_norm_backward") {
        for (float& x : inputs[2].as<float>()) {
          x = x + 1000;
        }
      }
      check(each, inputs, kernel, 1e-5);
    }
  }
}

TEST_CASE("statistics of a batch are exact for numbers of all sizes, and pass NaN on") {
  std::mt19937 random(4);
  const Dims dims = {3, 18, 7, 9};
  for (auto [low, high] : {std::pair<double, double>{-149, -120}, {-60, -40}, {-1, 1}, {40, 60}}) {
    BackwardCase each = batchNormTrainingCase(dims);
    Tensors inputs = operandsOf(each, random);
    scatter(inputs[0], random, low, high, 0);
    check(each, inputs, "batch_norm_training", 1e-5);
  }
  for (double rare : {kNaN, kInfinity}) {
    BackwardCase each = batchNormTrainingCase(dims);
    Tensors inputs = operandsOf(each, random);
    inputs[0].as<float>()[200] = static_cast<float>(rare);
    Operation operation = operationOf(each, ElementType::kF32);
    auto expected = runOperation(operation, inputs);
    auto got = runOperation(operation, inputs, {"batch_norm_training", true});
    REQUIRE((expected.ok() && got.ok()));
    for (size_t i = 0; i < values((*got)[0]).size(); ++i) {
      CHECK(std::isnan(values((*got)[0])[i]) == std::isnan(values((*expected)[0])[i]));
    }
  }
}

TEST_CASE("rows are normalised backward as the reference does") {
  std::mt19937 random(5);
  for (const auto& [dims, axis] : {std::pair<Dims, int64_t>{{4, 5}, 1},
                                   {{2, 3, 16}, 2},
                                   {{2, 3, 4}, 1},
                                   {{300, 70}, 1},
                                   {{6}, 0},
                                   {{64, 1024}, 1},
                                   {{3, 1}, 1},
                                   {{1, 7000}, 1},
                                   {{2, 33}, 0}}) {
    BackwardCase each = layerNormCase(dims, axis);
    Tensors inputs = operandsOf(each, random);
    check(each, inputs, "layer_norm_backward", 2e-6, /*dense=*/true);
    for (float& x : inputs[0].as<float>()) {
      x = x + 500;
    }
    check(each, inputs, "layer_norm_backward", 1e-5, /*dense=*/true);
    scatter(inputs[0], random, -149, -100, 0);
    check(each, inputs, "layer_norm_backward", 1e-5, /*dense=*/true);
    scatter(inputs[0], random, -50, 50, 0);
    check(each, inputs, "layer_norm_backward", 1e-5, /*dense=*/true);
    inputs[0].as<float>()[0] = static_cast<float>(kNaN);
    check(each, inputs, "layer_norm_backward", 1e-5, /*dense=*/true);
  }
}

TEST_CASE("softmax goes backward as the reference does, along any axis") {
  std::mt19937 random(6);
  for (bool log : {false, true}) {
    for (const auto& [dims, axis] : {std::pair<Dims, int64_t>{{3, 5}, 1},
                                     {{2, 3, 16}, -1},
                                     {{2, 30, 4}, 1},
                                     {{300, 70}, 0},
                                     {{64, 1000}, 1},
                                     {{3, 1}, 1},
                                     {{1, 7000}, 1},
                                     {{9}, 0}}) {
      BackwardCase each = softmaxCase(dims, axis, log);
      Tensors inputs = operandsOf(each, random);
      for (float& y : inputs[0].as<float>()) {
        y = log ? -20 * std::fabs(y) : std::fabs(y);
      }
      check(each, inputs, "softmax_backward", 2e-6, /*dense=*/true);
      scatter(inputs[1], random, -149, 60, 0);
      check(each, inputs, "softmax_backward", 2e-6, /*dense=*/true);
      inputs[1].as<float>()[0] = static_cast<float>(kNaN);
      inputs[0].as<float>()[1 % dims[0]] = static_cast<float>(log ? -kInfinity : 0);
      check(each, inputs, "softmax_backward", 2e-6, /*dense=*/true);
    }
  }
}

TEST_CASE("filters' gradients are the reference's") {
  std::mt19937 random(7);
  for (const WindowCase& window : pictures()) {
    if (window.ceilMode) {
      continue;
    }
    for (auto [in, out, groups] : {std::array<int64_t, 3>{3, 5, 1},
                                   {16, 32, 1},
                                   {24, 70, 1},
                                   {1, 1, 1},
                                   {18, 6, 3},
                                   {8, 8, 8},
                                   {32, 32, 2}}) {
      BackwardCase each = filterCase(2, in, out, groups, window);
      Tensors inputs = operandsOf(each, random);
      CAPTURE(each.inputs, groups);
      for (const std::vector<TensorDesc>& layouts : layoutsOf(each)) {
        CAPTURE(layouts.empty() ? "dense" : layoutName(layouts[0]));
        for (const char* kernel : {"onednn.conv_backward_filter", "point_filter", "plane_filter"}) {
          RunOptions options{kernel, true};
          options.layouts = layouts;
          auto got = runOperation(operationOf(each, ElementType::kF32), inputs, options);
          if (!absl::IsUnimplemented(got.status())) {
            requireAlike(each, inputs, options, 2e-6);
          }
        }
      }
    }
  }
}

TEST_CASE("filters of bf16 have gradients by the library where the machine can") {
  std::mt19937 random(9);
  for (const WindowCase& window : pictures()) {
    if (window.ceilMode) {
      continue;
    }
    BackwardCase each = filterCase(2, 32, 48, 1, window);
    CAPTURE(each.inputs);
    Tensors inputs;
    for (const HostTensor& operand : operandsOf(each, random)) {
      inputs.push_back(tensor(ElementType::kBF16, operand.spec().dims, values(operand)));
    }
    Operation operation = operationOf(each, ElementType::kBF16);
    auto expected = runOperation(operation, inputs);
    REQUIRE(expected.ok());
    auto got = runOperation(operation, inputs, {"onednn.conv_backward_filter", true});
    if (!absl::IsUnimplemented(got.status())) {
      INFO(got.status());
      REQUIRE(got.ok());
      CHECK(normDistance((*got)[0], (*expected)[0]) <= kBFloat16Norm);
    }
  }
}

TEST_CASE("transposed convolutions are the library's gradients of inputs") {
  std::mt19937 random(8);
  int taken = 0;
  for (const WindowCase& window : pictures()) {
    if (window.ceilMode) {
      continue;
    }
    for (auto [in, out] : {std::array<int64_t, 2>{3, 5}, {16, 32}, {24, 70}, {1, 1}}) {
      BackwardCase each{"gr.conv_transpose", window.attributes(), {}, {}};
      each.attributes.erase("kernel");
      Dims margin;
      for (size_t i = 0; i < window.kernel.size(); ++i) {
        int64_t slack = window.in[i] + window.before[i] + window.after[i] -
                        (window.kernel[i] - 1) * window.dilations[i] - 1;
        margin.push_back(slack % window.strides[i]);
      }
      each.attributes["output_padding"] = margin;
      each.inputs = {joined({2, out}, window.out()), joined({out, in}, window.kernel)};
      each.outputs = {joined({2, in}, window.in)};
      Tensors inputs = operandsOf(each, random);
      CAPTURE(each.inputs);
      for (std::vector<TensorDesc>& layouts : layoutsOf(each)) {
        CAPTURE(layouts.empty() ? "dense" : layoutName(layouts[0]));
        RunOptions options{"onednn.conv_backward_data", true};
        options.layouts = std::move(layouts);
        options.layouts.resize(std::min<size_t>(options.layouts.size(), 1));
        auto got = runOperation(operationOf(each, ElementType::kF32), inputs, options);
        if (!absl::IsUnimplemented(got.status())) {
          ++taken;
          requireAlike(each, inputs, options, 2e-6);
        }
      }
    }
  }
  CHECK(taken > 20);
}

TEST_CASE("each backward operation has a kernel of its own in the layouts of images") {
  auto nameOf = [](const BackwardCase& each, const std::vector<TensorDesc>& layouts) {
    Instruction instruction;
    instruction.operation = each.operation;
    instruction.attributes = each.attributes;
    for (size_t i = 0; i < each.inputs.size(); ++i) {
      instruction.inputs.push_back(
          {0, layouts.empty() ? TensorDesc{ElementType::kF32, each.inputs[i]} : layouts[i]});
    }
    for (const Dims& dims : each.outputs) {
      instruction.outputs.push_back({0, {ElementType::kF32, dims, {}, true}});
    }
    auto best = bestCandidate(instruction);
    return best.ok() ? std::string(best->kernel->name) : best.status().ToString();
  };
  const WindowCase point = {{14, 14}, {1, 1}, {1, 1}, {1, 1}, {0, 0}, {0, 0}};
  BackwardCase pointFilter = filterCase(2, 32, 64, 1, point);
  CHECK(nameOf(pointFilter, layoutsOf(pointFilter)[0]) == "onednn.conv_backward_filter");
  CHECK(nameOf(pointFilter, layoutsOf(pointFilter)[1]) == "point_filter");
  const WindowCase window = {{14, 14}, {3, 3}, {2, 2}, {1, 1}, {1, 1}, {1, 1}};
  CHECK(nameOf(filterCase(2, 32, 32, 32, window), {}) == "plane_filter");
  for (const auto& [each, kernel] :
       {std::pair<BackwardCase, std::string>{filterCase(2, 32, 64, 1, window),
                                             "onednn.conv_backward_filter"},
        {maxPoolCase(2, 32, window), "pool_backward"},
        {avgPoolCase(2, 32, window, true), "pool_backward"},
        {batchNormCase({2, 32, 7, 7}), "batch_norm_backward"},
        {batchNormTrainingCase({2, 32, 7, 7}), "batch_norm_training"}}) {
    std::vector<std::vector<TensorDesc>> layouts = layoutsOf(each);
    // Which blocks the library takes depends on the machine.
    layouts.resize(kernel == "onednn.conv_backward_filter" ? 2 : layouts.size());
    for (const std::vector<TensorDesc>& list : layouts) {
      CHECK(nameOf(each, list) == kernel);
    }
  }
}

}  // namespace graphrun::devices::cpu
