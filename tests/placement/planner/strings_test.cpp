// Models with strings: from the ONNX file to the result.
#include <catch2/catch.hpp>
#include <cmath>

#include "tests/placement/planner/model_world.h"

namespace graphrun::runtime {
namespace {

using Strings = std::vector<std::string>;

/// A model that takes strings.
struct World : ModelWorld {
  using ModelWorld::ModelWorld;

  absl::Status tryRun(const Strings& x) {
    NamedTensor inputs[] = {{"x", HostTensor({static_cast<int64_t>(x.size())}, x)}};
    return ModelWorld::tryRun(inputs);
  }
  void run(const Strings& x) {
    absl::Status status = tryRun(x);
    INFO(status.message());
    REQUIRE(status.ok());
  }
  Strings strings(size_t output) const {
    absl::Span<const std::string> all = outputs[output].tensor.strings();
    return {all.begin(), all.end()};
  }
};

}  // namespace

TEST_CASE("strings go through a model and come back, known or not") {
  World world("words.onnx");
  CHECK(world.session->inputs()[0].toString() == "Nxstring");
  world.run({"b", "new", "", "new", "a"});
  absl::Span<const int64_t> numbers = world.outputs[0].tensor.as<int64_t>();
  CHECK(std::vector<int64_t>(numbers.begin(), numbers.end()) ==
        std::vector<int64_t>{2, 0, 0, 0, 1});
  CHECK(world.outputs[1].tensor.spec().toString() == "7xstring");
  CHECK(world.strings(1) == Strings{"a", "b", "b", "new", "", "new", "a"});
  world.run({});
  CHECK(world.strings(1) == Strings{"a", "b"});
  NamedTensor wrong[] = {{"x", HostTensor(TensorSpec{ElementType::kI64, {2}})}};
  CHECK(std::string(world.session->run(wrong, world.outputs).message()).find("Nxstring") !=
        std::string::npos);
}

TEST_CASE("text is computed while planning, and what uses it has one plan for all texts") {
  World world("lower.onnx");
  for (int i = 0; i < 4; ++i) {
    std::string fresh = absl::StrCat("New", i);
    world.run({"The", "A", fresh, "b"});
    CHECK(world.strings(1) == Strings{"a", absl::StrCat("new", i), "b"});
    absl::Span<const float> y = world.outputs[0].tensor.as<float>();
    REQUIRE(y.size() == 3);
    CHECK(std::fabs(y[0] - std::exp(1.0F)) < 1e-5F);
    CHECK(y[1] == 1.0F);
  }
  CHECK(world.session->stats().plansMade == 5);  // a text each, and the rest once
  world.run({"the"});
  CHECK(world.strings(1) == Strings{""});
  absl::Status status = world.tryRun({"\xff\xfe"});
  CHECK(std::string(status.message()).find("is not valid UTF-8") != std::string::npos);
}

TEST_CASE("fresh strings in ten thousand runs leave nothing behind") {
  World world("words.onnx");
  int next = 0;
  auto runs = [&](int count) {
    for (int i = 0; i < count; ++i) {
      Strings words;
      for (int w = 0; w < 20; ++w) {
        words.push_back(absl::StrCat("a word that was never seen before, number ", next++));
      }
      world.run(words);
      REQUIRE(world.outputs[1].tensor.strings()[21] == words[19]);
    }
  };
  runs(1000);
  uint64_t before = residentBytes();
  runs(9000);
  uint64_t after = residentBytes();
  INFO("resident: " << (before >> 10) << " KiB, then " << (after >> 10) << " KiB");
  CHECK(after < before + (uint64_t{4} << 20));
  CHECK(world.session->stats().plansMade == 1);
}

}  // namespace graphrun::runtime
