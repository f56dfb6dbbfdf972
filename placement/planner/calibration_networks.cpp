#include "placement/planner/calibration_networks.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "frontends/builder/layers.h"
#include "frontends/builder/ops.h"

namespace graphrun::compiler {
namespace {

using builder::Graph;
using builder::Tensor;
using builder::layers::conv2d;

/// A size of images and the channels that they have there, one after the other.
struct Stage {
  int64_t size;
  std::vector<int64_t> channels;
};

/// The first operation of a network reads what comes from outside: nothing is learnt from it.
Tensor image(Graph& graph, int64_t channels, int64_t size) {
  Tensor x = graph.input("image", runtime::ElementType::kF32, {1, channels, size, size});
  return maxPool(x, {3, 3}, {.pads = {1, 1, 1, 1}});
}

/// Nor is anything learnt from the last one.
void finish(Graph& graph, const Tensor& x) {
  graph.output("result", reduce(x, builder::Reduction::kMean));
}

Tensor half(const Tensor& x) {
  return maxPool(x, {3, 3}, {.strides = {2, 2}, .pads = {1, 1, 1, 1}});
}

Tensor point(const Tensor& x, int64_t channels) { return conv2d(x, channels, {1, 1}); }

/// A square filter that keeps the size, or divides it by `stride`.
Tensor window(const Tensor& x, int64_t channels, int64_t kernel, int64_t stride = 1,
              int64_t groups = 1) {
  int64_t pad = kernel / 2;
  return conv2d(x, channels, {kernel, kernel},
                {.strides = {stride, stride}, .pads = {pad, pad, pad, pad}, .groups = groups});
}

Tensor gated(const Tensor& x, int64_t channels) {
  Tensor mean = reduce(x, builder::Reduction::kMean, {.axes = {2, 3}});
  Tensor gate = point(relu(point(mean, std::max<int64_t>(channels / 4, 4))), channels);
  return x * hardSigmoid(gate);
}

/// Attention and a perceptron over `length` tokens of `width` features.
Tensor transformerBlock(const Tensor& x, int64_t length, int64_t width, int64_t heads) {
  using builder::layers::dense;
  Tensor normal = builder::layers::layerNorm(x);
  auto split = [&](const Tensor& of) {
    return transpose(reshape(of, {1, length, heads, width / heads}), {0, 2, 1, 3});
  };
  Tensor query = split(dense(normal, width));
  Tensor key = split(dense(normal, width));
  Tensor value = split(dense(normal, width));
  Tensor scores = softmax(matmul(query, key, {.transposeRhs = true}) * 0.125);
  Tensor seen = reshape(transpose(matmul(scores, value), {0, 2, 1, 3}), {1, length, width});
  Tensor sum = x + dense(seen, width);
  Tensor wide = gelu(dense(builder::layers::layerNorm(sum), 4 * width));
  return sum + dense(wide, width);
}

}  // namespace

void addConvolutions(Graph& graph) {
  const std::vector<Stage> stages = {{112, {16, 64}},      {56, {24, 64, 128}}, {28, {32, 96, 256}},
                                     {14, {64, 192, 512}}, {7, {128, 320}},     {4, {8, 48}}};
  Tensor x = image(graph, 16, 224);
  x = relu(window(relu(window(x, 32, 3)), 32, 3));
  for (const Stage& stage : stages) {
    x = half(x);
    for (int64_t channels : stage.channels) {
      x = relu(point(x, channels));
      x = relu(x + window(relu(window(x, channels, 3)), channels, 3));
      x = relu(x + point(relu(point(x, 2 * channels)), channels));
    }
  }
  finish(graph, x);
}

void addWindows(Graph& graph) {
  Tensor x = image(graph, 3, 224);
  Tensor first = builder::concat({relu(window(x, 64, 7, 2)), relu(window(x, 16, 3, 2)),
                                  relu(window(x, 32, 5, 2)), window(x, 8, 3, 2)},
                                 1);
  Tensor coarse = relu(conv2d(x, 64, {11, 11}, {.strides = {4, 4}, .pads = {5, 5, 5, 5}}));
  x = builder::concat({half(first), coarse}, 1);
  const std::vector<Stage> stages = {
      {56, {32, 96}}, {28, {48, 160}}, {14, {64, 256}}, {7, {16, 128}}};
  for (const Stage& stage : stages) {
    for (int64_t channels : stage.channels) {
      Tensor reduced = relu(point(x, channels));
      Tensor wide = relu(window(reduced, channels, 5));
      Tensor flat = relu(conv2d(reduced, channels, {1, 7}, {.pads = {0, 3, 0, 3}}));
      Tensor tall = relu(conv2d(reduced, channels, {7, 1}, {.pads = {3, 0, 3, 0}}));
      x = builder::concat({wide, flat, tall, reduced}, 1);
    }
    x = relu(window(x, 2 * stage.channels.back(), 3, 2));
  }
  finish(graph, x);
}

void addDepthwise(Graph& graph) {
  const std::vector<Stage> stages = {{112, {16, 64}}, {56, {24, 144}}, {28, {40, 240}},
                                     {14, {80, 480}}, {7, {160, 960}}, {4, {8, 64}}};
  Tensor x = image(graph, 16, 112);
  for (const Stage& stage : stages) {
    int64_t kernel = 3;
    for (int64_t channels : stage.channels) {
      Tensor wide = hardSwish(point(x, channels));
      Tensor seen = hardSwish(window(wide, channels, kernel, 1, channels));
      x = point(gated(seen, channels), std::max<int64_t>(channels / 4, 8));
      x = x + point(relu(window(relu(point(x, channels)), channels, 8 - kernel, 1, channels)),
                    std::max<int64_t>(channels / 4, 8));
      kernel = 5;
    }
    int64_t channels = stage.channels.front();
    x = relu(window(relu(point(x, channels)), channels, 3, 2, channels));
  }
  finish(graph, x);
}

void addGrouped(Graph& graph) {
  constexpr int64_t kGroups = 4;
  const std::vector<Stage> stages = {
      {56, {24, 64}}, {28, {48, 272}}, {14, {96, 544}}, {7, {128, 1088}}};
  Tensor x = image(graph, 24, 112);
  for (const Stage& stage : stages) {
    x = half(x);
    for (int64_t channels : stage.channels) {
      Tensor part = relu(conv2d(point(x, channels), channels, {1, 1}, {.groups = kGroups}));
      int64_t size = stage.size;
      Tensor apart = reshape(part, {1, kGroups, channels / kGroups, size, size});
      Tensor shuffled = reshape(transpose(apart, {0, 2, 1, 3, 4}), {1, channels, size, size});
      Tensor seen = window(shuffled, channels, 3, 1, channels);
      x = relu(part + conv2d(seen, channels, {1, 1}, {.groups = kGroups}));
      x = relu(window(x, channels, 3, 1, kGroups));
    }
  }
  finish(graph, x);
}

void addLayers(Graph& graph) {
  const std::vector<Stage> stages = {{112, {16, 64}},  {56, {64, 192}}, {28, {64, 256}},
                                     {14, {128, 512}}, {7, {32, 512}},  {4, {8, 64}}};
  Tensor x = image(graph, 16, 224);
  for (const Stage& stage : stages) {
    x = half(x);
    const int64_t size = stage.size;
    for (int64_t channels : stage.channels) {
      x = point(x, channels);
      Tensor mean = avgPool(x, {3, 3}, {.pads = {1, 1, 1, 1}});
      Tensor bent = lrn(relu(builder::layers::batchNorm(mean)), 5);
      x = maxPool(bent + sigmoid(x), {3, 3}, {.pads = {1, 1, 1, 1}});
      Tensor last = transpose(x, {0, 2, 3, 1});
      Tensor sure = softmax(last);
      Tensor rows = builder::layers::layerNorm(sure);
      Tensor back = transpose(rows, {0, 3, 1, 2});
      x = avgPool(exp(x) * back, {3, 3}, {.pads = {1, 1, 1, 1}});
      x = x + reduce(x, builder::Reduction::kMax, {.axes = {2, 3}});
      x = builder::concat({slice(x, {.starts = {0}, .ends = {channels / 2}, .axes = {1}}),
                           pad(back, {0, 0, 1, 1, 0, 0, -1, -1})},
                          1);
      Tensor small = avgPool(x, {2, 2}, {.strides = {2, 2}, .ceilMode = true});
      x = x * reduce(resize(small, {.sizes = {1, channels + channels / 2, size, size}}),
                     builder::Reduction::kMean, {.axes = {1}});
    }
  }
  Tensor flat = builder::layers::flatten(builder::layers::globalAveragePool(x));
  finish(graph, softmax(flat));
}

void addTransformers(Graph& graph) {
  struct Size {
    int64_t length, width, heads;
  };
  const std::vector<Size> sizes = {
      {128, 768, 12}, {64, 256, 4}, {196, 192, 3}, {16, 128, 2}, {40, 64, 8}};
  Tensor image = graph.input("tokens", runtime::ElementType::kF32, {1, 128, 768});
  Tensor x = builder::layers::layerNorm(image);
  for (const Size& size : sizes) {
    x = transformerBlock(x, size.length, size.width, size.heads);
    if (&size != &sizes.back()) {  // to the next size
      const Size& next = (&size)[1];
      x = builder::layers::dense(x, next.width);
      x = transpose(builder::layers::dense(transpose(x, {0, 2, 1}), next.length), {0, 2, 1});
    }
  }
  Tensor row = reduce(x, builder::Reduction::kMean, {.axes = {1}, .keepdims = false});
  for (int64_t width : {256, 1000, 4096, 2048, 128, 10}) {
    row = relu(builder::layers::dense(row, width));
  }
  finish(graph, softmax(row));
}

void addRecurrent(Graph& graph) {
  struct Size {
    int64_t features, hidden;
  };
  constexpr int64_t kSteps = 40;
  using builder::Cell;
  namespace init = builder::init;
  Tensor x = graph.input("sequence", runtime::ElementType::kF32, {kSteps, 1, 64});
  x = builder::layers::layerNorm(x);
  for (const Size& size : {Size{64, 16}, {16, 64}, {64, 128}, {128, 512}, {512, 256}}) {
    Tensor zeros = graph.weight({1, size.hidden}, init::zeros());
    for (Cell cell : {Cell::kLstm, Cell::kGru}) {
      const int64_t gates = size.hidden * (cell == Cell::kLstm ? 4 : 3);
      const int64_t features = cell == Cell::kLstm ? size.features : size.hidden;
      builder::RecurrentWeights weights = {
          graph.weight({gates, features}, init::glorotUniform()),
          graph.weight({gates, size.hidden}, init::glorotUniform()),
          graph.weight({gates}, init::zeros())};
      x = recurrent(x, cell, weights, zeros, cell == Cell::kLstm ? zeros : Tensor());
    }
  }
  finish(graph, x);
}

void addLinks(Graph& graph) {
  constexpr int64_t kSide = 4;
  constexpr int kGrowths = 9;  // times 4, from 64 bytes to 16 MiB
  constexpr int kPasses = 2;   // from left to right and back, at each size
  Tensor x = graph.input("image", runtime::ElementType::kF32, {1, 1, kSide, kSide});
  for (int growth = 0; growth <= kGrowths; ++growth) {
    for (int pass = 0; pass < kPasses; ++pass) {
      for (const char* side : {"left", "right"}) {
        x = maxPool(x, {3, 3}, {.pads = {1, 1, 1, 1}}, absl::StrCat(side, growth, ".", pass));
      }
    }
    if (growth < kGrowths) {
      x = tile(x, {1, 4, 1, 1}, absl::StrCat("right", growth, ".more"));
    }
  }
  graph.output("result", reduce(x, builder::Reduction::kMean, {}, "right.result"));
}

}  // namespace graphrun::compiler
