// bench_training: steps of training of some networks, and what a peer needs to do the same. One
// line of JSON: the network, the median time of a step, its losses, and memory.
//
//     bench_training lenet --batch 64 --threads 2 --steps 40 [--dump FOLDER] [--slowest 20]
//         [--memory-limit BYTES]
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
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "runtime/base/clock.h"
#include "runtime/base/npy.h"
#include "runtime/base/status.h"
#include "tests/training/networks.h"

namespace graphrun {
namespace {

using Json = nlohmann::ordered_json;

/// The networks that classify numbers into ten classes.
const std::map<std::string, networks::Network>& classifiers() {
  static const std::map<std::string, networks::Network> kClassifiers = [] {
    std::map<std::string, networks::Network> found = networks::all(networks::Size::kFull);
    std::erase_if(found, [](const auto& entry) {
      const networks::Network& network = entry.second;
      return network.x.classes != 0 || network.target.classes != 10;
    });
    return found;
  }();
  return kClassifiers;
}

/// A step of gradient descent with momentum, as torch.optim.SGD defines it.
Graph stepOf(const networks::Network& network, int64_t batch, double rate, double momentum) {
  Graph g("step", Mode::kTraining);
  networks::Objective objective = network.objectives(networks::taskOf(network, g, batch)).front();
  optimizers::sgd(objective.loss, g.parameters(objective.scope),
                  {.learningRate = rate, .momentum = momentum});
  g.output("loss", objective.loss);
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
  int slowest = 0;    ///< so many operations that take most are told
  int64_t limit = 0;  ///< of the device's memory, bytes; 0: none
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
  const networks::Network& network = classifiers().at(flags.network);
  Graph g = stepOf(network, flags.batch, /*rate=*/0.01, /*momentum=*/0.9);
  std::vector<std::string> names;
  for (const Tensor& parameter : g.parameters()) {
    names.push_back(parameter.name());
  }
  SessionOptions options;
  options.threads = flags.threads;
  options.cacheDirectory = flags.cache;
  if (flags.limit > 0) {
    options.memoryLimits.push_back({"local/cpu:0", static_cast<uint64_t>(flags.limit)});
  }
  GR_ASSIGN_OR_RETURN(std::unique_ptr<Session> session, Session::create(g, options));
  std::vector<int64_t> dims = {flags.batch};
  dims.insert(dims.end(), network.x.sample.begin(), network.x.sample.end());
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
  for (const auto& [name, network] : graphrun::classifiers()) {
    names.push_back(name);
  }
  app.add_option("network", flags.network)->required()->check(CLI::IsMember(names));
  app.add_option("--batch", flags.batch)->check(CLI::Range(1, 100000));
  app.add_option("--threads", flags.threads)->check(CLI::Range(1, 4096));
  app.add_option("--steps", flags.steps)->check(CLI::Range(1, 1000000));
  app.add_option("--slowest", flags.slowest)->check(CLI::Range(0, 10000));
  app.add_option("--memory-limit", flags.limit, "bytes")->check(CLI::PositiveNumber);
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
