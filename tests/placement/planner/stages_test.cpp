// Models whose shapes, or whose number of steps, depend on data: from the ONNX file to the result.
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <random>

#include "tests/placement/planner/model_world.h"

namespace graphrun::runtime {
namespace {

template <typename T>
NamedTensor named(const std::string& name, ElementType type, std::vector<int64_t> dims,
                  const std::vector<T>& values) {
  NamedTensor result{name, HostTensor(TensorSpec{type, std::move(dims)})};
  std::memcpy(result.tensor.data(), values.data(), result.tensor.byteSize());
  return result;
}

NamedTensor floats(const std::string& name, const std::vector<float>& values) {
  return named(name, ElementType::kF32, {static_cast<int64_t>(values.size())}, values);
}

/// A model that takes tensors of several types.
struct World : ModelWorld {
  using ModelWorld::ModelWorld;

  template <typename... Inputs>
  void run(Inputs&&... given) {
    NamedTensor inputs[] = {std::forward<Inputs>(given)...};
    ModelWorld::run(inputs);
  }
};

void expandTo(World& world, int64_t rows, int64_t columns) {
  std::vector<float> x(static_cast<size_t>(columns), 0.5F);
  world.run(floats("x", x), floats("n", {static_cast<float>(rows)}));
  const HostTensor& y = world.outputs[0].tensor;
  REQUIRE(y.spec().dims == std::vector<int64_t>{rows, columns});
  for (float value : y.as<float>()) {
    REQUIRE(std::fabs(value - std::exp(0.5F)) < 1e-5F);
  }
}

}  // namespace

TEST_CASE("a shape that depends on data is found between two stages") {
  World world("expand.onnx");
  expandTo(world, 3, 5);
  expandTo(world, 7, 5);
  expandTo(world, 0, 5);  // an empty result is one too
  expandTo(world, 3, 5);
  // One plan for the first stage, three for the second: the last run found both.
  CHECK(world.session->stats().plansMade == 4);
  CHECK(world.session->stats().runs == 4);
}

TEST_CASE("the iterations of a loop that ends by data share their plans") {
  World world("double.onnx");
  world.run(floats("x", {1, 2}));
  CHECK(world.outputs[0].tensor.as<float>()[0] == 512.0F);
  CHECK(world.outputs[0].tensor.as<float>()[1] == 1024.0F);
  uint64_t made = world.session->stats().plansMade;
  CHECK(made <= 4);
  world.run(floats("x", {0.001F, 0.002F}));  // ten iterations more
  CHECK(world.outputs[0].tensor.as<float>()[1] == 0.002F * 524288);
  CHECK(world.session->stats().plansMade == made);
}

TEST_CASE("a branch by data inside a loop takes the right way in each iteration") {
  World world("choose.onnx");
  // -1 is negated to 1, then doubled: 2, 4.
  world.run(named<int64_t>("m", ElementType::kI64, {}, {3}), floats("x", {-1}));
  CHECK(world.outputs[0].tensor.as<float>()[0] == 4.0F);
  REQUIRE(world.outputs[1].tensor.spec().dims == std::vector<int64_t>{3});
  CHECK(world.outputs[1].tensor.as<float>()[0] == -1.0F);
  CHECK(world.outputs[1].tensor.as<float>()[2] == 2.0F);
  // No iteration at all: the input as it is, and nothing collected.
  world.run(named<int64_t>("m", ElementType::kI64, {}, {0}), floats("x", {-1}));
  CHECK(world.outputs[0].tensor.as<float>()[0] == -1.0F);
  CHECK(world.outputs[1].tensor.spec().dims == std::vector<int64_t>{0});
}

TEST_CASE("memory stays bounded over random shapes") {
  World world("expand.onnx");
  std::mt19937 random(1);
  auto runs = [&](int count) {
    for (int i = 0; i < count; ++i) {
      expandTo(world, 1 + random() % 500, 1 + random() % 500);
    }
  };
  const char* given = std::getenv("GRAPHRUN_STAGE_RUNS");
  const int count = given != nullptr ? std::atoi(given) : 150;
  // More plans than are kept, so that the caches are full; then no more memory than noise.
  runs(count / 2);
  uint64_t before = residentBytes();
  runs(count / 2);
  uint64_t after = residentBytes();
  INFO("resident: " << (before >> 20) << " MiB, then " << (after >> 20) << " MiB");
  CHECK(after < before + (uint64_t{64} << 20));
}

}  // namespace graphrun::runtime
