#include "tests/training/networks.h"

#include <cmath>
#include <utility>

namespace graphrun::networks {
namespace {

using Objectives = std::vector<Objective>;

/// What sizes the networks.
struct Widths {
  int64_t picture, dense, channels, model, inner, heads, length, features, hidden;
};

Widths widthsOf(Size size) {
  return size == Size::kFull ? Widths{.picture = 784,
                                      .dense = 1024,
                                      .channels = 64,
                                      .model = 512,
                                      .inner = 2048,
                                      .heads = 8,
                                      .length = 64,
                                      .features = 128,
                                      .hidden = 256}
                             : Widths{.picture = 20,
                                      .dense = 16,
                                      .channels = 4,
                                      .model = 8,
                                      .inner = 12,
                                      .heads = 2,
                                      .length = 5,
                                      .features = 3,
                                      .hidden = 6};
}

Objectives classified(const Tensor& logits, const Tensor& target) {
  return {{losses::sparseCategoricalCrossentropy(logits, target, {.fromLogits = true}), ""}};
}

Tensor mean(const Tensor& x, std::vector<int64_t> axes = {}) {
  return reduce(x, Reduction::kMean, {.axes = std::move(axes), .keepdims = false});
}

Tensor pooled(const Tensor& x) { return maxPool(x, {2, 2}, {.strides = {2, 2}}); }

/// A convolution of 3 x 3 that keeps the picture's size, or halves it with a stride of 2.
Tensor conv3(const Tensor& x, int64_t channels, const std::string& name, int64_t stride = 1) {
  return layers::conv2d(x, channels, {3, 3}, {.strides = {stride, stride}, .pads = {1, 1, 1, 1}},
                        {name});
}

Tensor lenet(Tensor x) {
  x = pooled(relu(layers::conv2d(x, 6, {5, 5}, {.pads = {2, 2, 2, 2}}, {"conv1"})));
  x = pooled(relu(layers::conv2d(x, 16, {5, 5}, {}, {"conv2"})));
  x = relu(layers::dense(layers::flatten(x), 120, {}, {"fc1"}));
  x = relu(layers::dense(x, 84, {}, {"fc2"}));
  return layers::dense(x, 10, {}, {"fc3"});
}

Tensor mlp(Tensor x, int64_t width) {
  for (const char* name : {"fc1", "fc2", "fc3"}) {
    x = relu(layers::dense(x, width, {}, {name}));
  }
  return layers::dense(x, 10, {}, {"head"});
}

/// The network of the study of model parallelism: two convolutions and twenty dense layers.
Tensor cnn20(Tensor x) {
  x = pooled(relu(conv3(x, 16, "conv1")));
  x = pooled(relu(conv3(x, 32, "conv2")));
  x = layers::flatten(x);
  for (int i = 0; i < 20; ++i) {
    x = relu(layers::dense(x, 966, {}, {"fc" + std::to_string(i)}));
  }
  return layers::dense(x, 10, {}, {"head"});
}

/// What residual networks begin with: a quarter of the picture's height and width.
Tensor residualStem(const Tensor& x, int64_t channels) {
  layers::Conv2d seven{.strides = {2, 2}, .pads = {3, 3, 3, 3}, .bias = false};
  Tensor y =
      relu(layers::batchNorm(layers::conv2d(x, channels, {7, 7}, seven, {"conv1"}), {}, {"norm1"}));
  return maxPool(y, {3, 3}, {.strides = {2, 2}, .pads = {1, 1, 1, 1}});
}

Tensor residualBlock(const Tensor& x, int64_t channels, int64_t stride, const std::string& name) {
  auto norm = [&](const Tensor& y, const char* part) {
    return layers::batchNorm(y, {}, {name + part});
  };
  layers::Conv2d three{.strides = {stride, stride}, .pads = {1, 1, 1, 1}, .bias = false};
  Tensor y = relu(norm(layers::conv2d(x, channels, {3, 3}, three, {name + ".conv1"}), ".norm1"));
  three.strides = {1, 1};
  y = norm(layers::conv2d(y, channels, {3, 3}, three, {name + ".conv2"}), ".norm2");
  Tensor kept = x;
  if (stride != 1) {
    layers::Conv2d one{.strides = {stride, stride}, .bias = false};
    kept = norm(layers::conv2d(x, channels, {1, 1}, one, {name + ".conv3"}), ".norm3");
  }
  return relu(y + kept);
}

Tensor resnet18(Tensor x, int64_t channels) {
  x = residualStem(x, channels);
  for (int stage = 0; stage < 4; ++stage) {
    for (int block = 0; block < 2; ++block) {
      x = residualBlock(x, channels << stage, stage > 0 && block == 0 ? 2 : 1,
                        "layer" + std::to_string(stage) + std::to_string(block));
    }
  }
  return layers::dense(layers::globalAveragePool(x), 10, {}, {"head"});
}

Tensor bottleneck(const Tensor& x, int64_t channels, int64_t stride, bool isFirst,
                  const std::string& name) {
  auto normed = [&](const Tensor& y, int64_t filters, int64_t size, int64_t step,
                    const char* part) {
    const int64_t pad = size / 2;
    layers::Conv2d options{.strides = {step, step}, .pads = {pad, pad, pad, pad}, .bias = false};
    return layers::batchNorm(
        layers::conv2d(y, filters, {size, size}, options, {name + ".conv" + part}), {},
        {name + ".norm" + part});
  };
  Tensor y = relu(normed(x, channels, 1, 1, "1"));
  y = relu(normed(y, channels, 3, stride, "2"));
  y = normed(y, 4 * channels, 1, 1, "3");
  return relu(y + (isFirst ? normed(x, 4 * channels, 1, stride, "4") : x));
}

Tensor resnet50(Tensor x) {
  x = residualStem(x, 64);
  const int blocks[] = {3, 4, 6, 3};
  for (int stage = 0; stage < 4; ++stage) {
    for (int block = 0; block < blocks[stage]; ++block) {
      x = bottleneck(x, int64_t{64} << stage, stage > 0 && block == 0 ? 2 : 1, block == 0,
                     "layer" + std::to_string(stage) + "." + std::to_string(block));
    }
  }
  return layers::dense(layers::globalAveragePool(x), 10, {}, {"head"});
}

/// Attention of several heads of x to itself.
Tensor selfAttention(const Tensor& x, int64_t heads, bool causal, const std::string& name) {
  const int64_t length = x.dims()[1].size();
  const int64_t width = x.dims()[2].size();
  std::vector<Tensor> parts;
  for (const char* part : {".q", ".k", ".v"}) {
    Tensor y = layers::dense(x, width, {}, {name + part});
    parts.push_back(transpose(reshape(y, {0, length, heads, width / heads}), {0, 2, 1, 3}));
  }
  Tensor seen = attention(parts[0], parts[1], parts[2], {.causal = causal});
  seen = reshape(transpose(seen, {0, 2, 1, 3}), {0, length, width});
  return layers::dense(seen, width, {}, {name + ".out"});
}

/// An encoder layer of "Attention is all you need": it normalises behind each part.
Tensor encoderLayer(const Tensor& x, const Widths& widths, const std::string& name) {
  Tensor y =
      layers::layerNorm(x + selfAttention(x, widths.heads, false, name), 1e-5, {name + ".norm1"});
  Tensor z = layers::dense(relu(layers::dense(y, widths.inner, {}, {name + ".in"})), widths.model,
                           {}, {name + ".back"});
  return layers::layerNorm(y + z, 1e-5, {name + ".norm2"});
}

Tensor encoder(Tensor x, const Widths& widths) {
  for (int i = 0; i < 2; ++i) {
    x = encoderLayer(x, widths, "layer" + std::to_string(i));
  }
  return layers::dense(mean(x, {1}), 10, {}, {"head"});
}

/// A cell over the steps of a sequence, whose last hidden values are classified.
Tensor recurrent(const Tensor& x, Cell cell, int64_t hidden) {
  return layers::dense(layers::recurrent(x, cell, hidden, {}, {"cell"}), 10, {}, {"head"});
}

/// A decoder as GPT-2's: it normalises in front of each part, and tells each next token.
Objectives decoder(const Task& task, int64_t vocabulary, const Widths& widths) {
  Initializer small = init::normal(0, 0.02);
  Tensor table = task.graph.parameter({vocabulary, widths.model}, small, task.type, {"tokens"});
  Tensor positions =
      task.graph.parameter({widths.length, widths.model}, small, task.type, {"positions"});
  Tensor x = gather(table, task.x) + positions;
  for (const char* name : {"layer0", "layer1"}) {
    const std::string layer = name;
    Tensor y = layers::layerNorm(x, 1e-5, {layer + ".norm1"});
    x = x + selfAttention(y, widths.heads, true, layer);
    y = layers::layerNorm(x, 1e-5, {layer + ".norm2"});
    y = gelu(layers::dense(y, widths.inner, {}, {layer + ".in"}));
    x = x + layers::dense(y, widths.model, {}, {layer + ".back"});
  }
  x = layers::layerNorm(x, 1e-5, {"norm"});
  Tensor logits = layers::dense(x, vocabulary, {.bias = false}, {"head"});
  return classified(reshape(logits, {-1, vocabulary}), reshape(task.target, {-1}));
}

/// Doubles the picture's size with a transposed convolution.
Tensor upsampled(Graph& g, const Tensor& x, int64_t channels, int64_t kernel, int64_t pad,
                 const std::string& name) {
  const ElementType type = x.elementType();
  Tensor filter = g.parameter({x.dims()[1].size(), channels, kernel, kernel}, init::heNormal(),
                              type, {name + "/weight"});
  Tensor bias = g.parameter({channels}, init::zeros(), type, {name + "/bias"});
  return convTranspose(x, filter, {.bias = bias, .strides = {2, 2}, .pads = {pad, pad, pad, pad}});
}

/// U-Net of three levels; the target says how likely each pixel is inside.
Objectives unet(const Task& task, int64_t channels) {
  Graph& g = task.graph;
  Tensor top = relu(conv3(task.x, channels, "down0"));
  Tensor middle = relu(conv3(pooled(top), 2 * channels, "down1"));
  Tensor y = relu(conv3(pooled(middle), 4 * channels, "down2"));
  y = concat({upsampled(g, y, 2 * channels, 2, 0, "up1"), middle}, 1);
  y = relu(conv3(y, 2 * channels, "join1"));
  y = concat({upsampled(g, y, channels, 2, 0, "up0"), top}, 1);
  y = relu(conv3(y, channels, "join0"));
  y = layers::conv2d(y, 1, {1, 1}, {}, {"head"});
  return {{losses::binaryCrossentropy(y, task.target, {.fromLogits = true}), ""}};
}

/// A deep autoencoder, which the target's numbers are wanted of.
Objectives autoencoder(const Task& task, int64_t width) {
  const int64_t size = task.x.dims()[1].size();
  Tensor x = gelu(layers::dense(task.x, width, {}, {"encode1"}));
  x = tanh(layers::dense(x, width / 2, {}, {"encode2"}));
  x = layers::dense(x, width / 4, {}, {"code"});
  x = tanh(layers::dense(x, width / 2, {}, {"decode1"}));
  x = gelu(layers::dense(x, width, {}, {"decode2"}));
  x = sigmoid(layers::dense(x, size, {}, {"decode3"}));
  return {{losses::meanSquaredError(x, task.target), ""}};
}

/// A generator that makes pictures of 8 x 8 of the target's noise, and a discriminator that tells
/// them from those in x.
Objectives gan(const Task& task, int64_t channels) {
  Graph& g = task.graph;
  Tensor made = relu(layers::dense(task.target, 8 * channels, {}, {"generator/fc"}));
  made = reshape(made, {-1, 2 * channels, 2, 2});
  made = relu(upsampled(g, made, channels, 4, 1, "generator/up1"));
  made = tanh(upsampled(g, made, 1, 4, 1, "generator/up2"));
  Tensor y = leakyRelu(conv3(concat({task.x, made}, 0), channels, "discriminator/conv1", 2), 0.2);
  y = leakyRelu(conv3(y, 2 * channels, "discriminator/conv2", 2), 0.2);
  y = layers::dense(layers::flatten(y), 1, {}, {"discriminator/fc"});
  std::vector<Tensor> logits = splitEqually(y, 0, 2);
  // The crossentropy of a logit with 1 is softplus(-logit), with 0 it is softplus(logit).
  return {{mean(softplus(-logits[0])) + mean(softplus(logits[1])), "discriminator/"},
          {mean(softplus(-logits[1])), "generator/"}};
}

/// A network of one loss, which classifies x.
Network classifier(std::vector<int64_t> sample, std::function<Tensor(const Tensor& x)> logits) {
  return {.x = {std::move(sample)},
          .target = {.sample = {}, .classes = 10},
          .objectives = [logits = std::move(logits)](const Task& task) {
            return classified(logits(task.x), task.target);
          }};
}

}  // namespace

std::map<std::string, Network> all(Size size) {
  const Widths w = widthsOf(size);
  constexpr int64_t kTokens = 11;
  std::map<std::string, Network> networks = {
      {"lenet", classifier({1, 28, 28}, lenet)},
      {"mlp", classifier({w.picture}, [w](const Tensor& x) { return mlp(x, w.dense); })},
      {"resnet18",
       classifier({3, 32, 32}, [w](const Tensor& x) { return resnet18(x, w.channels); })},
      {"transformer",
       classifier({w.length, w.model}, [w](const Tensor& x) { return encoder(x, w); })},
      {"lstm", classifier({w.length, w.features},
                          [w](const Tensor& x) { return recurrent(x, Cell::kLstm, w.hidden); })},
      {"gru", classifier({w.length, w.features},
                         [w](const Tensor& x) { return recurrent(x, Cell::kGru, w.hidden); })},
      {"decoder",
       {.x = {{w.length}, kTokens},
        .target = {{w.length}, kTokens},
        .objectives = [w](const Task& task) { return decoder(task, kTokens, w); }}},
      {"unet",
       {.x = {{1, 16, 16}},
        .target = {{1, 16, 16}},
        .objectives = [w](const Task& task) { return unet(task, w.channels); }}},
      {"autoencoder",
       {.x = {{w.picture}},
        .target = {{w.picture}},
        .objectives = [w](const Task& task) { return autoencoder(task, w.dense); }}},
      {"gan",
       {.x = {{1, 8, 8}},
        .target = {{6}},
        .objectives = [w](const Task& task) { return gan(task, w.channels); }}},
  };
  if (size == Size::kFull) {
    networks.emplace("cnn20", classifier({1, 28, 28}, cnn20));
    networks.emplace("resnet50", classifier({3, 224, 224}, resnet50));
  }
  return networks;
}

Task taskOf(const Network& network, Graph& graph, int64_t batch, ElementType type) {
  auto input = [&](const char* name, const Feed& feed) {
    std::vector<Dim> dims = {Dim(batch)};
    dims.insert(dims.end(), feed.sample.begin(), feed.sample.end());
    return graph.input(name, feed.classes > 0 ? ElementType::kI64 : type, dims);
  };
  Tensor x = input("x", network.x);
  return {graph, type, x, input("target", network.target)};
}

}  // namespace graphrun::networks
