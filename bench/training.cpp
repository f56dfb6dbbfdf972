// bench_training: steps of training of some networks, and what a peer needs to do the same. One
// line of JSON: the network, the median time of a step, its losses, and memory.
//
//     bench_training lenet --batch 64 --threads 2 --steps 40 [--dump FOLDER] [--slowest 20]
//
// With --dump the inputs, the target and the first values of all parameters, in the order in which
// the network makes them, go to FOLDER as .npy files.

#include <graphrun/graph.h>
#include <graphrun/session.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "runtime/base/clock.h"
#include "runtime/base/npy.h"
#include "runtime/base/status.h"

namespace graphrun {
namespace {

using Json = nlohmann::ordered_json;

/// A network of the peer's: of pictures, rows or sequences, with ten classes.
struct Network {
  std::vector<int64_t> sample;  ///< dims of the input without the batch's
  std::function<Tensor(const Tensor& x)> logits;
};

Tensor pooled(const Tensor& x) { return maxPool(x, {2, 2}, {.strides = {2, 2}}); }

Tensor lenet(Tensor x) {
  x = pooled(relu(layers::conv2d(x, 6, {5, 5}, {.pads = {2, 2, 2, 2}}, {"conv1"})));
  x = pooled(relu(layers::conv2d(x, 16, {5, 5}, {}, {"conv2"})));
  x = relu(layers::dense(layers::flatten(x), 120, {}, {"fc1"}));
  x = relu(layers::dense(x, 84, {}, {"fc2"}));
  return layers::dense(x, 10, {}, {"fc3"});
}

Tensor mlp(Tensor x) {
  for (const char* name : {"fc1", "fc2", "fc3"}) {
    x = relu(layers::dense(x, 1024, {}, {name}));
  }
  return layers::dense(x, 10, {}, {"head"});
}

/// The network of the study of model parallelism: two convolutions and twenty dense layers.
Tensor cnn20(Tensor x) {
  x = pooled(relu(layers::conv2d(x, 16, {3, 3}, {.pads = {1, 1, 1, 1}}, {"conv1"})));
  x = pooled(relu(layers::conv2d(x, 32, {3, 3}, {.pads = {1, 1, 1, 1}}, {"conv2"})));
  x = layers::flatten(x);
  for (int i = 0; i < 20; ++i) {
    x = relu(layers::dense(x, 966, {}, {"fc" + std::to_string(i)}));
  }
  return layers::dense(x, 10, {}, {"head"});
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

Tensor resnet18(Tensor x) {
  layers::Conv2d seven{.strides = {2, 2}, .pads = {3, 3, 3, 3}, .bias = false};
  x = relu(layers::batchNorm(layers::conv2d(x, 64, {7, 7}, seven, {"conv1"}), {}, {"norm1"}));
  x = maxPool(x, {3, 3}, {.strides = {2, 2}, .pads = {1, 1, 1, 1}});
  for (int stage = 0; stage < 4; ++stage) {
    for (int block = 0; block < 2; ++block) {
      x = residualBlock(x, int64_t{64} << stage, stage > 0 && block == 0 ? 2 : 1,
                        "layer" + std::to_string(stage) + std::to_string(block));
    }
  }
  return layers::dense(layers::globalAveragePool(x), 10, {}, {"head"});
}

Tensor encoderLayer(const Tensor& x, int64_t heads, int64_t inner, const std::string& name) {
  const int64_t width = x.dims()[2].size();
  const int64_t length = x.dims()[1].size();
  const int64_t perHead = width / heads;
  auto apart = [&](const Tensor& y) {
    return transpose(reshape(y, {0, length, heads, perHead}), {0, 2, 1, 3});
  };
  std::vector<Tensor> parts;
  for (const char* part : {".q", ".k", ".v"}) {
    parts.push_back(apart(layers::dense(x, width, {}, {name + part})));
  }
  const double scale = 1 / std::sqrt(static_cast<double>(perHead));
  Tensor seen = attention(parts[0], parts[1], parts[2], {.scale = scale});
  seen = reshape(transpose(seen, {0, 2, 1, 3}), {0, length, width});
  Tensor y = layers::layerNorm(x + layers::dense(seen, width, {}, {name + ".out"}), 1e-5,
                               {name + ".norm1"});
  Tensor z =
      layers::dense(relu(layers::dense(y, inner, {}, {name + ".in"})), width, {}, {name + ".back"});
  return layers::layerNorm(y + z, 1e-5, {name + ".norm2"});
}

Tensor transformer(Tensor x) {
  for (int i = 0; i < 2; ++i) {
    x = encoderLayer(x, 8, 2048, "layer" + std::to_string(i));
  }
  x = reduce(x, Reduction::kMean, {.axes = {1}, .keepdims = false});
  return layers::dense(x, 10, {}, {"head"});
}

const std::map<std::string, Network>& networks() {
  static const std::map<std::string, Network> kNetworks = {
      {"lenet", {{1, 28, 28}, lenet}},           {"mlp", {{784}, mlp}},
      {"cnn20", {{1, 28, 28}, cnn20}},           {"resnet18", {{3, 32, 32}, resnet18}},
      {"transformer", {{64, 512}, transformer}},
  };
  return kNetworks;
}

/// A step of gradient descent with momentum, as torch.optim.SGD defines it.
Graph stepOf(const Network& network, int64_t batch, double rate, double momentum) {
  Graph g("step", Mode::kTraining);
  std::vector<Dim> dims = {Dim(batch)};
  dims.insert(dims.end(), network.sample.begin(), network.sample.end());
  Tensor x = g.input("x", ElementType::kF32, dims);
  Tensor target = g.input("target", ElementType::kI64, {Dim(batch)});
  Tensor scores = logSoftmax(network.logits(x));
  Tensor picked = gatherElements(scores, unsqueeze(target, {1}), 1);
  Tensor loss = -reduce(picked, Reduction::kMean, {.keepdims = false});
  std::vector<Tensor> parameters = g.parameters();
  std::vector<Tensor> slopes = gradients(loss, parameters);
  for (size_t i = 0; i < parameters.size(); ++i) {
    std::vector<int64_t> shape;
    for (const Dim& dim : parameters[i].dims()) {
      shape.push_back(dim.size());
    }
    Tensor speed =
        g.state(shape, init::zeros(), ElementType::kF32, {parameters[i].name() + ".momentum"});
    Tensor next = speed * momentum + slopes[i];
    g.update(speed, next);
    g.update(parameters[i], parameters[i] - next * rate);
  }
  g.output("loss", loss);
  return g;
}

/// Numbers in [-1, 1) and classes, the same everywhere.
std::vector<float> numbers(size_t count) {
  std::vector<float> values;
  uint32_t state = 12345;
  for (size_t i = 0; i < count; ++i) {
    state = state * 1664525U + 1013904223U;
    values.push_back(static_cast<float>(state >> 8U) / static_cast<float>(1U << 23U) - 1);
  }
  return values;
}

struct Flags {
  std::string network;
  std::string dump;
  std::string cache;
  int64_t batch = 64;
  uint32_t threads = 1;
  int steps = 20;
  int slowest = 0;  ///< so many operations that take most are told
};

/// The operations that take most of a step, in ms.
Json slowestOf(Session& session, size_t count) {
  std::vector<runtime::NodeTime> nodes = session.times().nodes;
  std::sort(nodes.begin(), nodes.end(),
            [](const auto& a, const auto& b) { return a.nanos > b.nanos; });
  nodes.resize(std::min(nodes.size(), count));
  Json list = Json::array();
  for (const runtime::NodeTime& node : nodes) {
    list.push_back({node.node, static_cast<double>(node.nanos) / 1e6});
  }
  return list;
}

absl::Status run(const Flags& flags) {
  const Network& network = networks().at(flags.network);
  Graph g = stepOf(network, flags.batch, /*rate=*/0.01, /*momentum=*/0.9);
  std::vector<std::string> names;
  for (const Tensor& parameter : g.parameters()) {
    names.push_back(parameter.name());
  }
  SessionOptions options;
  options.threads = flags.threads;
  options.cacheDirectory = flags.cache;
  GR_ASSIGN_OR_RETURN(std::unique_ptr<Session> session, Session::create(g, options));
  std::vector<int64_t> dims = {flags.batch};
  dims.insert(dims.end(), network.sample.begin(), network.sample.end());
  const size_t count = static_cast<size_t>(TensorSpec{ElementType::kF32, dims}.elementCount());
  std::vector<int64_t> classes;
  classes.reserve(static_cast<size_t>(flags.batch));
  for (int64_t i = 0; i < flags.batch; ++i) {
    classes.push_back((i * 7 + 3) % 10);
  }
  std::vector<NamedTensor> inputs;
  GR_ASSIGN_OR_RETURN(HostTensor x, HostTensor::from(numbers(count), dims));
  GR_ASSIGN_OR_RETURN(HostTensor target, HostTensor::from(classes, {flags.batch}));
  if (!flags.dump.empty()) {
    GR_RETURN_IF_ERROR(runtime::writeNpy(flags.dump + "/x.npy", x));
    GR_RETURN_IF_ERROR(runtime::writeNpy(flags.dump + "/target.npy", target));
    GR_ASSIGN_OR_RETURN(TensorMap states, session->states());
    for (size_t i = 0; i < names.size(); ++i) {
      GR_RETURN_IF_ERROR(
          runtime::writeNpy(flags.dump + "/" + std::to_string(i) + ".npy", states.at(names[i])));
    }
  }
  inputs.push_back({"x", std::move(x)});
  inputs.push_back({"target", std::move(target)});
  std::vector<NamedTensor> outputs;
  std::vector<float> losses;
  std::vector<double> millis;
  for (int i = 0; i < flags.steps; ++i) {
    const int64_t begin = runtime::nowNanos();
    GR_RETURN_IF_ERROR(session->run(inputs, outputs));
    millis.push_back(static_cast<double>(runtime::nowNanos() - begin) / 1e6);
    losses.push_back(outputs[0].tensor.as<float>()[0]);
  }
  // The first two runs plan, compile and measure kernels.
  std::vector<double> settled(millis.begin() + std::min<ptrdiff_t>(flags.steps - 1, 2),
                              millis.end());
  std::sort(settled.begin(), settled.end());
  uint64_t bytes = 0;
  uint64_t predicted = 0;
  for (const DeviceStats& device : session->stats().devices) {
    bytes += device.bytes;
    predicted += device.predictedBytes;
  }
  Json report = {{"network", flags.network},
                 {"batch", flags.batch},
                 {"threads", flags.threads},
                 {"step_ms", settled[settled.size() / 2]},
                 {"best_ms", settled.front()},
                 {"losses", losses},
                 {"bytes", bytes},
                 {"predicted_bytes", predicted}};
  if (flags.slowest > 0) {
    report["slowest"] = slowestOf(*session, static_cast<size_t>(flags.slowest));
  }
  std::puts(report.dump().c_str());
  return absl::OkStatus();
}

}  // namespace
}  // namespace graphrun

int main(int argc, char** argv) {
  graphrun::Flags flags;
  CLI::App app("steps of training");
  std::vector<std::string> names;
  for (const auto& [name, network] : graphrun::networks()) {
    names.push_back(name);
  }
  app.add_option("network", flags.network)->required()->check(CLI::IsMember(names));
  app.add_option("--batch", flags.batch)->check(CLI::Range(1, 100000));
  app.add_option("--threads", flags.threads)->check(CLI::Range(1, 4096));
  app.add_option("--steps", flags.steps)->check(CLI::Range(1, 1000000));
  app.add_option("--slowest", flags.slowest)->check(CLI::Range(0, 10000));
  app.add_option("--dump", flags.dump);
  app.add_option("--cache", flags.cache);
  CLI11_PARSE(app, argc, argv);
  absl::Status status = graphrun::run(flags);
  if (!status.ok()) {
    std::fprintf(stderr, "bench_training: %s\n", std::string(status.message()).c_str());
    return 1;
  }
  return 0;
}
