// Winograd convolutions against sums in f64, on what the direct kernels compute too.
#include <catch2/catch.hpp>
#include <cmath>
#include <functional>

#include "devices/cpu/base/cpu_memory.h"
#include "devices/cpu/base/kernel.h"
#include "devices/cpu/base/onednn_layouts.h"
#include "devices/cpu/kernels/winograd.h"
#include "devices/cpu/runtime/kernel_list.h"
#include "devices/cpu/runtime/packed_weights.h"
#include "devices/cpu/runtime/packing.h"
#include "tests/devices/cpu/convolution.h"

namespace graphrun::devices::cpu {
namespace {

const std::string kAlgorithms[] = {"winograd_4x4", "winograd_2x2"};

int64_t pick(std::mt19937& random, std::initializer_list<int64_t> from) {
  return from.begin()[random() % from.size()];
}

/// Greatest difference, as a share of the largest of `expected`.
double deviation(const HostTensor& got, const std::vector<double>& expected) {
  double largest = 0, difference = 0;
  const std::vector<double> mine = values(got);
  REQUIRE(mine.size() == expected.size());
  for (size_t i = 0; i < mine.size(); ++i) {
    largest = std::max(largest, std::abs(expected[i]));
    difference = std::max(difference, std::abs(mine[i] - expected[i]));
    REQUIRE_FALSE(std::isnan(mine[i]));
  }
  return difference / largest;
}

constexpr double kMostDeviation = 1e-5;

}  // namespace

TEST_CASE("Winograd convolutions are within 1e-5 of the largest exact result") {
  std::mt19937 random(1);
  for (int i = 0; i < 24; ++i) {
    Dims in = {pick(random, {1, 2, 3}), pick(random, {16, 20, 48, 64, 80}),
               pick(random, {3, 7, 8, 13, 21}), pick(random, {4, 7, 9, 16, 19})};
    Convolution c(random, in, pick(random, {5, 16, 32, 64, 72, 80, 144}),
                  {pick(random, {0, 1, 2}), pick(random, {0, 1, 2}), pick(random, {0, 1, 2}),
                   pick(random, {0, 1, 2})});
    std::vector<double> expected = exactSums(c).sums;
    for (const std::string& algorithm : kAlgorithms) {
      CAPTURE(i, algorithm, in, c.result(), c.pads);
      auto got = runOperation(c.operation(algorithm), c.inputs(), {"winograd", true, {1}});
      INFO(got.status());
      REQUIRE(got.ok());
      CHECK(deviation((*got)[0], expected) < kMostDeviation);
    }
  }
}

TEST_CASE("a Winograd convolution reads images whose channels lie last") {
  std::mt19937 random(2);
  Convolution c(random, {2, 32, 9, 11}, 48, {1, 1, 1, 1});
  Dims in = c.x.spec().dims;
  TensorDesc last = stridedDesc(ElementType::kF32, in, channelsLastStrides(in)).value();
  RunOptions options{"winograd", true, {1}};
  options.layouts = {last};
  auto got = runOperation(c.operation("winograd_4x4"), c.inputs(), options);
  INFO(got.status());
  REQUIRE(got.ok());
  CHECK(deviation((*got)[0], exactSums(c).sums) < kMostDeviation);
}

TEST_CASE("what follows a Winograd convolution is applied to its results") {
  struct Function {
    PostOp op;
    std::function<double(double)> expected;
  };
  auto eltwise = [](const char* name, float alpha, float beta) {
    return PostOp{PostOpKind::kEltwise, name, alpha, beta, {}};
  };
  auto logistic = [](double x) { return 1 / (1 + std::exp(-x)); };
  const Function functions[] = {
      {eltwise("gr.relu", 0, 0), [](double x) { return std::max(x, 0.0); }},
      {eltwise("gr.clip", 1, 6), [](double x) { return std::clamp(x, 1.0, 6.0); }},
      {eltwise("gr.leaky_relu", 0.25, 0), [](double x) { return x < 0 ? 0.25 * x : x; }},
      {eltwise("linear", 2, 1), [](double x) { return 2 * x + 1; }},
      {eltwise("gr.hard_swish", 0, 0),
       [](double x) { return x * std::clamp(x / 6 + 0.5, 0.0, 1.0); }},
      {eltwise("gr.sigmoid", 0, 0), logistic},
      {eltwise("gr.swish", 0.5, 0), [&](double x) { return x * logistic(0.5 * x); }},
      {eltwise("gr.tanh", 0, 0), [](double x) { return std::tanh(x); }},
      {eltwise("gr.hard_sigmoid", 0.2F, 0.5),
       [](double x) { return std::clamp(0.2F * x + 0.5, 0.0, 1.0); }},
  };
  std::mt19937 random(3);
  // Channels beyond the 20 are kept 0, whatever a function makes of 0.
  Convolution c(random, {1, 16, 9, 10}, 20, {1, 1, 1, 1});
  const std::vector<double> sums = exactSums(c).sums;
  HostTensor residual = randomTensor(c.result(), random);
  for (const Function& function : functions) {
    for (PostOpKind add : {PostOpKind::kSum, PostOpKind::kBinaryAdd}) {
      Tensors inputs = c.inputs();
      inputs.push_back(residual.clone());
      std::vector<double> expected;
      for (size_t i = 0; i < sums.size(); ++i) {
        expected.push_back(function.expected(sums[i] + residual.as<float>()[i]));
      }
      for (const std::string& algorithm : kAlgorithms) {
        CAPTURE(function.op.algorithm, static_cast<int>(add), algorithm);
        auto got = runOperation(c.operation(algorithm, {{add, "", 0, 0, {}}, function.op}), inputs,
                                {"winograd", true, {1}});
        INFO(got.status());
        REQUIRE(got.ok());
        CHECK(deviation((*got)[0], expected) < kMostDeviation);
      }
    }
  }
}

TEST_CASE("padding channels of a Winograd convolution's result are 0") {
  constexpr int64_t kOut = 20, kSize = 6;
  WinogradImages images{kSize, kSize, 2 * kSize * kSize * 16, kSize * kSize * 16, kSize * 16, 16};
  Winograd winograd({{4, 16, kOut}, 1, images, images, 1, 1}, 1);
  WinogradFilter filter{4, 16, kOut};
  std::vector<float> taps(kOut * 16 * 9, 0.5F);
  Memory packed = *allocateMemory(filter.floats() * sizeof(float));
  Memory scratch = *allocateMemory(winograd.scratchFloats() * sizeof(float));
  transformFilter(filter, 0, kOut, taps.data(), reinterpret_cast<float*>(packed.get()));
  std::vector<float> x(images.image, 1), y(images.image, 7);
  const std::vector<VectorPostOp> postOps = {
      {postOpCall({PostOpKind::kEltwise, "gr.sigmoid", 0, 0, {}})}};
  winograd.run({x.data(), reinterpret_cast<float*>(packed.get()), nullptr, y.data(),
                reinterpret_cast<float*>(scratch.get()), postOps});
  for (int64_t at = images.block; at < images.image; ++at) {
    REQUIRE((at % 16 < kOut - 16) == (y[at] != 0));
  }
}

TEST_CASE("a Winograd convolution's result does not depend on the number of threads") {
  struct Sizes {
    int64_t in, out, size, tile;
  };
  // Threads share one block of tiles, take panels of results, and blocks.
  for (Sizes s : {Sizes{64, 64, 14, 4}, {64, 192, 14, 4}, {128, 128, 12, 2}, {64, 64, 60, 2}}) {
    CAPTURE(s.in, s.out, s.size, s.tile);
    std::mt19937 random(4);
    HostTensor x = randomTensor({s.size, s.size, s.in}, random);
    x.as<float>()[s.in * s.size] = 1e6;  // one tile is summed directly
    HostTensor taps = randomTensor({s.out, s.in, 3, 3}, random);
    auto images = [&](int64_t channels) {
      int64_t plane = s.size * s.size * 16;
      return WinogradImages{s.size, s.size, channels / 16 * plane, plane, s.size * 16, 16};
    };
    WinogradShape shape{{s.tile, s.in, s.out}, 1, images(s.in), images(s.out), 1, 1};
    Memory packed = *allocateMemory(shape.filter.floats() * sizeof(float));
    auto* filter = reinterpret_cast<float*>(packed.get());
    transformFilter(shape.filter, 0, s.out, taps.as<float>().data(), filter);
    std::vector<std::vector<float>> results;
    for (int count : {1, 2, 3}) {
      ScopedThreads threads(count);
      Winograd winograd(shape, count);
      Memory scratch = *allocateMemory(winograd.scratchFloats() * sizeof(float));
      std::vector<float>& y = results.emplace_back(s.size * s.size * s.out);
      winograd.run({x.as<float>().data(),
                    filter,
                    nullptr,
                    y.data(),
                    reinterpret_cast<float*>(scratch.get()),
                    {}});
    }
    CHECK(results[0] == results[1]);
    CHECK(results[0] == results[2]);
  }
}

TEST_CASE("Winograd's algorithm is declined where it does not apply") {
  std::mt19937 random(5);
  Convolution c(random, {1, 16, 9, 9}, 16, {1, 1, 1, 1});
  Instruction instruction;
  instruction.operation = "gr.conv";
  instruction.attributes = {{"pads", c.pads}, {"algorithm", std::string("winograd_4x4")}};
  for (const Dims& dims : {Dims{1, 16, 9, 9}, Dims{16, 16, 3, 3}}) {
    instruction.inputs.push_back({0, {ElementType::kF32, dims, {}, true}});
  }
  instruction.outputs = {instruction.inputs[0]};
  const KernelEntry* winograd = findKernel("winograd");
  auto declines = [&](const std::function<void(Instruction&)>& change) {
    Instruction changed = instruction;
    change(changed);
    return absl::IsUnimplemented(winograd->choose(changed).status());
  };
  CHECK_FALSE(declines([](Instruction&) {}));
  CHECK(declines([](Instruction& s) { s.attributes.erase("algorithm"); }));
  CHECK(declines([](Instruction& s) {
    s.attributes["dilations"] = Dims{2, 2};
    s.attributes["pads"] = Dims{2, 2, 2, 2};
  }));
  CHECK(declines([](Instruction& s) {
    s.attributes["strides"] = Dims{2, 2};
    s.outputs[0].desc.dims = {1, 16, 5, 5};
  }));
  CHECK(declines([](Instruction& s) {
    s.attributes["groups"] = int64_t{2};
    s.inputs[1].desc.dims = {16, 8, 3, 3};
  }));
  CHECK(declines([](Instruction& s) { s.inputs[0].desc.any = false; }));  // dense
  CHECK(declines([](Instruction& s) { s.inputs[1].desc.any = false; }));  // not known at load
  CHECK(
      declines([](Instruction& s) { s.postOps = {{PostOpKind::kEltwise, "gr.sqrt", 0, 0, {}}}; }));
  CHECK(declines(
      [](Instruction& s) { s.postOps = {{PostOpKind::kBinaryMul, "", 0, 0, s.outputs[0]}}; }));
  CHECK(absl::IsUnimplemented(findKernel("onednn.conv")->choose(instruction).status()));
}

TEST_CASE("programs of all batches and image sizes share one transformed filter") {
  std::mt19937 random(6);
  PackedWeights packed;
  OneDnn onednn;
  std::shared_ptr<uint8_t> first;
  for (const Dims& in : {Dims{1, 32, 14, 14}, Dims{8, 32, 14, 14}, Dims{2, 32, 30, 17}}) {
    Convolution c(random, in, 64, {1, 1, 1, 1});
    HostTensor taps = randomTensor({64, 32, 3, 3}, random);
    Executable executable =
        makeExecutable(c.operation("winograd_4x4"), c.inputs(), {"winograd", true, {1}}).value();
    auto filter = std::find_if(executable.buffers.begin(), executable.buffers.end(),
                               [](const Buffer& b) { return isOpaque(b.desc); });
    REQUIRE(filter != executable.buffers.end());
    Weight given{{static_cast<const uint8_t*>(taps.data()), taps.byteSize()}, nullptr, 9};
    auto mine = packed.get(*filter, given, onednn).value();
    CHECK(mine.shared == (first != nullptr));
    first = mine.bytes;
  }
}

TEST_CASE("a large filter is transformed in slices, from any layout") {
  constexpr int64_t kOut = 600, kIn = 400;
  std::mt19937 random(7);
  HostTensor taps = randomTensor({kOut, kIn, 3, 3}, random);
  WinogradFilter filter{2, kIn, kOut};
  std::vector<float> expected(filter.floats());
  transformFilter(filter, 0, kOut, taps.as<float>().data(), expected.data());
  OneDnn onednn;
  Buffer buffer;
  buffer.desc = winogradDesc(taps.spec().dims, 2).value();
  buffer.bytes = layoutBytes(buffer.desc).value();
  REQUIRE(buffer.bytes == expected.size() * sizeof(float));
  Memory to = *allocateMemory(buffer.bytes);
  int slices = 0;
  SECTION("as the operation has it") {
    REQUIRE(packBuffer(buffer, {static_cast<const uint8_t*>(taps.data()), taps.byteSize()},
                       to.get(), onednn, [&] { ++slices; })
                .ok());
    CHECK(slices > 1);
  }
  SECTION("with the channels outermost") {
    const Dims strides = {9, kOut * 9, 3, 1};
    buffer.source = stridedDesc(ElementType::kF32, taps.spec().dims, strides).value();
    std::vector<float> turned(taps.as<float>().size());
    for (int64_t at = 0; at < std::ssize(turned); ++at) {
      int64_t out = at / 9 / kIn, in = at / 9 % kIn;
      turned[out * strides[0] + in * strides[1] + at % 9] = taps.as<float>()[at];
    }
    auto bytes = absl::MakeConstSpan(reinterpret_cast<const uint8_t*>(turned.data()),
                                     turned.size() * sizeof(float));
    REQUIRE(packBuffer(buffer, bytes, to.get(), onednn).ok());
  }
  CHECK(std::equal(expected.begin(), expected.end(), reinterpret_cast<float*>(to.get())));
}

TEST_CASE("a transformed filter's layout has a name, and is refused when damaged") {
  TensorDesc desc = winogradDesc({64, 32, 3, 3}, 4).value();
  CHECK(layoutName(desc) == "winograd_4x4");
  CHECK(winogradTile(desc) == 4);
  CHECK(layoutBytes(desc).value() == (36 + 9) * 64 * 32 * sizeof(float));
  CHECK_FALSE(winogradTile({ElementType::kF32, {64, 32, 3, 3}}).has_value());
  CHECK(absl::IsInvalidArgument(winogradDesc({64, 32, 5, 5}, 4).status()));
  CHECK(absl::IsInvalidArgument(winogradDesc({64, 32, 3, 3}, 3).status()));
  for (size_t i = 0; i < desc.layout.size(); ++i) {
    TensorDesc bad = desc;
    bad.layout[i] ^= 4;
    CHECK_FALSE(winogradTile(bad).has_value());
    CHECK_FALSE(layoutBytes(bad).ok());
  }
  TensorDesc other = desc;
  other.dims = {64, 16, 3, 3};
  CHECK_FALSE(layoutBytes(other).ok());
}

}  // namespace graphrun::devices::cpu
