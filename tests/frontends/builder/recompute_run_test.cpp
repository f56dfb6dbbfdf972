// Steps of training within memory limits: what they compute, and that they keep to them.
#include <unistd.h>

#include <graphrun/graph.h>
#include <graphrun/session.h>
#include <catch2/catch.hpp>
#include <cstring>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

namespace graphrun {
namespace {

using Catch::Matchers::Contains;

constexpr const char* kDevice = "local/cpu:0";

class Cache {
 public:
  Cache() { std::filesystem::create_directories(path_); }
  ~Cache() { std::filesystem::remove_all(path_); }

  /// `limit` 0: none.
  SessionOptions options(uint64_t limit, runtime::Numerics numerics) const {
    SessionOptions options;
    options.cacheDirectory = path_;
    options.threads = 1;
    options.numerics = numerics;
    if (limit > 0) {
      options.memoryLimits.push_back({kDevice, limit});
    }
    return options;
  }

 private:
  std::string path_ =
      (std::filesystem::temp_directory_path() / ("graphrun_again_" + std::to_string(getpid())))
          .string();
};

/// A network of some layers of pictures or rows, drawn at random, and a step that trains it.
class RandomStep {
 public:
  explicit RandomStep(uint32_t seed) : random_(seed), graph_("step", Mode::kTraining) {
    Tensor x = draw(0, 1) == 0 ? pictures() : rows();
    const int layers = draw(3, 7);
    for (int i = 0; i < layers; ++i) {
      x = x.dims().size() == 4 ? pictureLayer(x, "l" + std::to_string(i))
                               : rowLayer(x, "l" + std::to_string(i));
    }
    if (x.dims().size() == 4) {
      x = layers::globalAveragePool(x);
    }
    Tensor loss = reduce(x * x, Reduction::kMean, {.keepdims = false});
    const std::vector<Tensor> parameters = graph_.parameters();
    const std::vector<Tensor> slopes = gradients(loss, parameters);
    for (size_t i = 0; i < parameters.size(); ++i) {
      graph_.update(parameters[i], parameters[i] - slopes[i] * 0.1);
    }
    graph_.output("loss", loss);
  }

  Graph& graph() { return graph_; }

  /// The input of each step.
  TensorMap inputs() const {
    size_t count = 1;
    for (int64_t dim : dims_) {
      count *= static_cast<size_t>(dim);
    }
    std::vector<float> values;
    for (size_t i = 0; i < count; ++i) {
      values.push_back(static_cast<float>(i * 37 % 101) / 50.0F - 1.0F);
    }
    TensorMap inputs;
    inputs.emplace("x", *HostTensor::from(values, dims_));
    return inputs;
  }

 private:
  int draw(int least, int most) { return std::uniform_int_distribution<int>(least, most)(random_); }

  Tensor input() {
    std::vector<Dim> dims(dims_.begin(), dims_.end());
    return graph_.input("x", ElementType::kF32, dims);
  }
  Tensor pictures() {
    const int64_t side = 4 * draw(2, 5);
    dims_ = {draw(2, 6), draw(1, 4), side, side};
    return input();
  }
  Tensor rows() {
    dims_ = {draw(16, 256), draw(8, 64)};
    return input();
  }

  Tensor pictureLayer(const Tensor& x, const std::string& name) {
    const int64_t channels = 4 * draw(1, 6);
    Tensor y = layers::conv2d(x, channels, {3, 3}, {.pads = {1, 1, 1, 1}}, {name});
    if (draw(0, 1) == 0) {
      y = layers::batchNorm(y, {}, {name + ".norm"});
    }
    switch (draw(0, 3)) {
      case 0:
        return tanh(y);
      case 1:
        return x.dims()[1].size() == channels ? relu(y + x) : relu(y);
      case 2:
        return x.dims()[2].size() >= 4 ? maxPool(relu(y), {2, 2}, {.strides = {2, 2}}) : relu(y);
      default:
        return relu(y);
    }
  }

  Tensor rowLayer(const Tensor& x, const std::string& name) {
    const int64_t width = 8 * draw(1, 12);
    Tensor y = layers::dense(x, width, {}, {name});
    switch (draw(0, 4)) {
      case 0:
        return sigmoid(y);
      case 1:
        return softmax(y);
      case 2:
        return x.dims()[1].size() == width ? relu(y + x) : relu(y);
      case 3:
        return layers::layerNorm(relu(y), 1e-5, {name + ".norm"});
      default:
        return relu(y);
    }
  }

  std::mt19937 random_;
  Graph graph_;
  std::vector<int64_t> dims_;
};

/// What some steps leave, and the memory that they took.
struct Left {
  absl::Status status;
  TensorMap values;  ///< the states, and the loss
  uint64_t bytes = 0;
  int steps = 0;  ///< that ran
};

Left train(RandomStep& step, const Cache& cache, uint64_t limit, runtime::Numerics numerics) {
  Left left;
  absl::StatusOr<std::unique_ptr<Session>> session =
      Session::create(step.graph(), cache.options(limit, numerics));
  left.status = session.status();
  for (int i = 0; i < 3 && left.status.ok(); ++i) {  // the second chooses kernels, if it may
    absl::StatusOr<TensorMap> outputs = (*session)->run(step.inputs());
    left.status = outputs.status();
    if (outputs.ok()) {
      left.values = *(*session)->states();
      left.values.emplace("loss", std::move(outputs->at("loss")));
      ++left.steps;
      left.bytes = 0;
      for (const DeviceStats& device : (*session)->stats().devices) {
        left.bytes += device.device == kDevice ? device.bytes : 0;
      }
    }
  }
  return left;
}

void checkEqual(const TensorMap& values, const TensorMap& expected) {
  REQUIRE(values.size() == expected.size());
  for (const auto& [name, tensor] : expected) {
    INFO(name);
    const HostTensor& found = values.at(name);
    REQUIRE(found.byteSize() == tensor.byteSize());
    CHECK(std::memcmp(found.data(), tensor.data(), tensor.byteSize()) == 0);
  }
}

/// Trains so many random networks with five random limits each; gives how many steps kept to them.
/// The others must have been refused.
int trainWithin(uint32_t first, uint32_t networks,
                runtime::Numerics numerics = runtime::Numerics::kDeterministic) {
  std::mt19937 random(first);  // NOLINT: the same limits each time
  Cache cache;
  int within = 0;
  for (uint32_t seed = first; seed < first + networks; ++seed) {
    RandomStep step(seed);
    const Left free = train(step, cache, 0, numerics);
    INFO("network " << seed << ": " << free.status.message());
    REQUIRE(free.status.ok());
    for (int i = 0; i < 5; ++i) {
      const double part = std::uniform_real_distribution<double>(0.3, 1.0)(random);
      const auto limit = static_cast<uint64_t>(part * static_cast<double>(free.bytes));
      const Left left = train(step, cache, limit, numerics);
      INFO("limit " << limit << " of " << free.bytes << ": " << left.status.message());
      if (left.status.ok()) {
        ++within;
        CHECK(left.bytes <= limit);
        if (numerics == runtime::Numerics::kDeterministic) {
          checkEqual(left.values, free.values);
        }
      } else {
        CHECK(left.steps == 0);
        // The planner found no step that fits, or the compiler needs more than was predicted.
        CHECK_THAT(std::string(left.status.message()),
                   Contains("with values computed again") || Contains("the limit is"));
      }
    }
  }
  return within;
}

TEST_CASE("an update does not wait until all gradients are known") {
  Graph g("step", Mode::kTraining);
  Tensor x = g.input("x", ElementType::kF32, {1, 64, 4, 4});
  Tensor y = x;
  constexpr int kLayers = 12;
  for (int i = 0; i < kLayers; ++i) {
    layers::Conv2d same{.pads = {1, 1, 1, 1}, .bias = false};
    y = relu(layers::conv2d(y, 64, {3, 3}, same, {"conv" + std::to_string(i)}));
  }
  const std::vector<Tensor> parameters = g.parameters();
  const std::vector<Tensor> slopes =
      gradients(reduce(y * y, Reduction::kMean, {.keepdims = false}), parameters);
  for (int i = 0; i < kLayers; ++i) {
    const auto at = static_cast<size_t>(i);
    g.update(parameters[at], parameters[at] - slopes[at] * 0.1);
  }
  g.output("y", y);
  Cache cache;
  absl::StatusOr<std::unique_ptr<Session>> session =
      Session::create(g, cache.options(0, runtime::Numerics::kDeterministic));
  REQUIRE(session.ok());
  TensorMap inputs;
  inputs.emplace("x", *HostTensor::from(std::vector<float>(size_t{64} * 16, 1), {1, 64, 4, 4}));
  absl::StatusOr<TensorMap> outputs = (*session)->run(inputs);
  INFO(outputs.status().message());
  REQUIRE(outputs.ok());
  constexpr uint64_t kFilter = 64 * 64 * 9 * sizeof(float);
  // Each filter lies there twice, as it is and as it becomes.
  CHECK((*session)->stats().devices[0].bytes < (2 * kLayers + 6) * kFilter);
}

TEST_CASE("no step passes a random limit, and the results keep their bits") {
  CHECK(trainWithin(0, 6) >= 6);
}

TEST_CASE("kernels that are chosen by measurement keep to the limit as well") {
  CHECK(trainWithin(20, 4, runtime::Numerics::kFast) >= 4);
}

TEST_CASE("no step passes one of 200 random limits, and the results keep their bits", "[.slow]") {
  CHECK(trainWithin(100, 40) >= 60);
  CHECK(trainWithin(200, 20, runtime::Numerics::kFast) >= 30);
}

}  // namespace
}  // namespace graphrun
