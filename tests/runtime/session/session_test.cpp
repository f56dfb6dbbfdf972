// Sessions in one process, over the toy world: planning, caches, binding, errors.
#include "runtime/session/session.h"

#include <catch2/catch.hpp>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "runtime/base/clock.h"
#include "tests/runtime/session/session_fixture.h"

namespace graphrun::testing {
namespace {

using runtime::domainOf;
using runtime::ErrorDomain;
using runtime::NamedTensor;
using runtime::Session;

TEST_CASE("a model runs in this process with inputs and outputs in place") {
  SessionFolder folder;
  auto session = Session::create(folder.model({"toy.add", "toy.add"}), folder.options());
  REQUIRE(session.ok());
  CHECK((*session)->inputs()[0].toString() == "nxf32");
  CHECK((*session)->outputs()[0].name == "y");
  CHECK((*session)->parameterCount() == 2);

  auto inputs = vectorInput({10, 20, 30});
  std::vector<NamedTensor> outputs;
  REQUIRE((*session)->run(inputs, outputs).ok());
  REQUIRE(outputs.size() == 1);
  CHECK(outputs[0].tensor.spec().toString() == "3xf32");
  CHECK(outputs[0].tensor.as<float>()[2] == 33);

  const void* memory = outputs[0].tensor.data();
  inputs[0].tensor.as<float>()[0] = 1;
  REQUIRE((*session)->run(inputs, outputs).ok());
  CHECK(outputs[0].tensor.data() == memory);
  CHECK(outputs[0].tensor.as<float>()[0] == 4);
  CHECK((*session)->stats().runs == 2);
  CHECK((*session)->stats().planHits == 1);
  CHECK((*session)->stats().devices[0].device == "client/cpu:0");
}

TEST_CASE("where this process computes, runs that nobody waits for take one thread") {
  SessionFolder folder;
  auto session = *Session::create(folder.model({"toy.add", "toy.add"}), folder.options());
  std::vector<NamedTensor> outputs;
  REQUIRE(session->run(vectorInput({1}), outputs).ok());
  const size_t before = threadCount();
  for (int i = 0; i < 200; ++i) {  // the thread is free again before its last result is there
    std::future<absl::StatusOr<runtime::TensorMap>> results[2];
    for (auto& result : results) {
      runtime::TensorMap inputs;
      inputs["x"] = std::move(vectorInput({static_cast<float>(i)})[0].tensor);
      result = session->runAsync(std::move(inputs));
    }
    REQUIRE(results[1].get()->at("y").as<float>()[0] == static_cast<float>(i) + 3);
    REQUIRE(results[0].get().ok());
  }
  CHECK(threadCount() == before + 1);
}

TEST_CASE("a hypothetical cluster is explained and runs nothing") {
  SessionFolder folder;
  auto options = folder.options();
  options.whatIf.addedDevices = {"node2:cuda"};
  auto session = *Session::create(folder.model({"toy.add"}), options);
  std::vector<NamedTensor> outputs;
  absl::Status refused = session->run(vectorInput({1}), outputs);
  CHECK(refused.code() == absl::StatusCode::kFailedPrecondition);
  CHECK_THAT(std::string(refused.message()), Catch::Contains("hypothetical devices"));
  CHECK(session->explain({{"x", runtime::TensorSpec{runtime::ElementType::kF32, {1}}}}).ok());
}

TEST_CASE("a trial of split devices that fails leaves the plan as it is") {
  SessionFolder folder;
  auto options = folder.options();
  options.tuneBudget = std::chrono::seconds(1);
  SECTION("they cannot be planned for") { folder.compiler.parts = ToyCompiler::Parts::kRefused; }
  SECTION("their plan cannot be loaded") { folder.compiler.parts = ToyCompiler::Parts::kBroken; }
  auto session = *Session::create(folder.model({"toy.add"}), options);
  std::vector<NamedTensor> outputs;
  for (int i = 0; i < 6; ++i) {
    absl::Status status = session->run(vectorInput({1}), outputs);
    INFO(i << ": " << status.message());
    REQUIRE(status.ok());
    CHECK(outputs[0].tensor.as<float>()[0] == 2);
  }
  bool isReplaced = folder.compiler.parts == ToyCompiler::Parts::kBroken;
  CHECK(folder.compiler.plans == (isReplaced ? 3 : 2));  // it was tried once
}

TEST_CASE("of a plan and one on split devices a trial leaves one, once") {
  SessionFolder folder;
  folder.compiler.parts = ToyCompiler::Parts::kGood;
  auto options = folder.options();
  options.tuneBudget = std::chrono::seconds(1);
  auto session = *Session::create(folder.model({"toy.add"}), options);
  std::vector<NamedTensor> outputs;
  for (int i = 0; i < 6; ++i) {
    REQUIRE(session->run(vectorInput({1}), outputs).ok());
    CHECK(outputs[0].tensor.as<float>()[0] == 2);
  }
  CHECK(folder.compiler.plans >= 2);  // for the trial
  CHECK(folder.compiler.plans <= 3);  // and without parts
}

TEST_CASE("a run takes the plan that was explained") {
  SessionFolder folder;
  auto session = *Session::create(folder.model({"toy.add"}), folder.options());
  std::vector<runtime::NamedSpec> shapes = {
      {"x", runtime::TensorSpec{runtime::ElementType::kF32, {1}}}};
  CHECK(*session->explain(shapes) == "{\"toy\": true}");
  std::vector<NamedTensor> outputs;
  REQUIRE(session->run(vectorInput({1}), outputs).ok());
  CHECK(session->stats().planDiskHits == 1);
  CHECK(folder.compiler.plans == 1);
  CHECK(*session->explain(shapes) == "{\"toy\": true}");  // made again, with what is known now
  CHECK(folder.compiler.plans == 2);
}

TEST_CASE("plans are kept for shapes, within a bound") {
  SessionFolder folder;
  auto options = folder.options();
  options.maxPlans = 2;
  auto session = *Session::create(folder.model({"toy.add"}), options);
  std::vector<NamedTensor> outputs;
  for (size_t size : {1, 2, 1, 2, 3, 4, 1}) {
    REQUIRE(session->run(vectorInput(std::vector<float>(size, 5)), outputs).ok());
    REQUIRE(outputs[0].tensor.as<float>().size() == size);
    REQUIRE(outputs[0].tensor.as<float>()[size - 1] == 6);
  }
  CHECK(session->stats().planHits == 2);
  CHECK(folder.compiler.plans == 4);  // the fifth, for size 1 again, came from the disk
  CHECK(session->stats().planDiskHits == 1);
  CHECK(session->stats().plansLoaded == 5);
  CHECK(session->stats().plansEvicted == 3);
}

TEST_CASE("a second start plans and compiles nothing") {
  SessionFolder folder;
  std::string model = folder.model({"toy.add", "toy.add"});
  std::vector<NamedTensor> outputs;
  for (int start = 0; start < 2; ++start) {
    auto session = *Session::create(model, folder.options());
    REQUIRE(session->run(vectorInput({1}), outputs).ok());
    CHECK(session->stats().devices[0].fromCache == (start == 1));
  }
  CHECK(folder.compiler.plans == 1);
  CHECK(folder.compiler.compiles == 1);
}

TEST_CASE("a second run begins with tuning, once for all sessions") {
  SessionFolder folder;
  folder.compiler.tunesItself = false;
  std::string model = folder.model({"toy.add"});
  std::vector<NamedTensor> outputs;
  {
    auto session = *Session::create(model, folder.options());
    for (int run = 0; run < 4; ++run) {
      REQUIRE(session->run(vectorInput({1}), outputs).ok());
      CHECK(outputs[0].tensor.as<float>()[0] == 2);
      CHECK(folder.compiler.compiles == (run == 0 ? 1 : 2));
      CHECK(session->stats().devices[0].tuned == (run > 0));
    }
  }
  auto session = *Session::create(model, folder.options());
  REQUIRE(session->run(vectorInput({1}), outputs).ok());
  CHECK(session->stats().devices[0].tuned);
  CHECK(folder.compiler.compiles == 2);
}

TEST_CASE("later shapes are measured when their runs took ten times as long") {
  SessionFolder folder;
  folder.compiler.tunesItself = false;
  runtime::SessionOptions options = folder.options();
  options.tuneBudget = std::chrono::milliseconds(2);
  auto session = *Session::create(folder.model({"toy.add"}), options);
  std::vector<NamedTensor> outputs;
  auto tunedBy = [&](const std::vector<float>& input) {
    REQUIRE(session->run(vectorInput(input), outputs).ok());
    return session->stats().devices[0].tuned;
  };
  CHECK_FALSE(tunedBy({1}));
  CHECK(tunedBy({1}));
  auto begin = std::chrono::steady_clock::now();
  while (!tunedBy({1, 2})) {
    REQUIRE(std::chrono::steady_clock::now() - begin < std::chrono::seconds(60));
  }
  CHECK(std::chrono::steady_clock::now() - begin >= std::chrono::milliseconds(20));
  CHECK(tunedBy({1, 2}));
  CHECK(folder.compiler.compiles == 4);
}

TEST_CASE("timings are kept from one compilation to the next") {
  SessionFolder folder;
  folder.compiler.tunesItself = false;
  std::vector<NamedTensor> outputs;
  auto first = *Session::create(folder.model({"toy.add"}), folder.options());
  for (int run = 0; run < 2; ++run) {
    REQUIRE(first->run(vectorInput({1}), outputs).ok());
    CHECK(folder.compiler.lastTimings().empty());
  }
  REQUIRE(first->run(vectorInput({1, 2}), outputs).ok());
  CHECK(folder.compiler.lastTimings() == "2");
}

TEST_CASE("without a budget nothing is tuned") {
  SessionFolder folder;
  folder.compiler.tunesItself = false;
  runtime::SessionOptions options = folder.options();
  options.tuneBudget = std::chrono::milliseconds(0);
  auto session = *Session::create(folder.model({"toy.add"}), options);
  std::vector<NamedTensor> outputs;
  for (int run = 0; run < 3; ++run) {
    REQUIRE(session->run(vectorInput({1}), outputs).ok());
  }
  CHECK(folder.compiler.compiles == 1);
  CHECK_FALSE(session->stats().devices[0].tuned);
}

TEST_CASE("damaged cache entries are made again") {
  SessionFolder folder;
  std::string model = folder.model({"toy.add"});
  std::vector<NamedTensor> outputs;
  REQUIRE((*Session::create(model, folder.options()))->run(vectorInput({1}), outputs).ok());
  int changed = 0;
  for (const char* kind : {"plans", "executables"}) {
    for (const auto& entry : std::filesystem::directory_iterator(folder.path(kind))) {
      std::fstream file(entry.path(), std::ios::in | std::ios::out | std::ios::binary);
      file.seekp(80);
      file.put('!');
      ++changed;
    }
  }
  REQUIRE(changed == 2);
  REQUIRE((*Session::create(model, folder.options()))->run(vectorInput({1}), outputs).ok());
  CHECK(folder.compiler.plans == 2);
  CHECK(folder.compiler.compiles == 2);
  CHECK(outputs[0].tensor.as<float>()[0] == 2);
}

TEST_CASE("an ONNX file is imported once") {
  SessionFolder folder;
  std::string path = folder.path("m.onnx");
  std::ofstream(path) << "not looked at";
  for (int start = 0; start < 2; ++start) {
    auto session = *Session::create(path, folder.options());
    std::vector<NamedTensor> outputs;
    REQUIRE(session->run(vectorInput({0}), outputs).ok());
    CHECK(outputs[0].tensor.as<float>()[0] == 6);
    CHECK(session->stats().imported == (start == 0));
  }
  CHECK(folder.compiler.imports == 1);
  std::ofstream(path) << "another content";
  CHECK((*Session::create(path, folder.options()))->stats().imported);
}

TEST_CASE("wrong inputs are all told at once") {
  SessionFolder folder;
  auto session = *Session::create(folder.model({"toy.add"}), folder.options());
  std::vector<NamedTensor> inputs;
  inputs.push_back({"x", runtime::HostTensor({runtime::ElementType::kI64, {2, 2}})});
  inputs.push_back({"z", runtime::HostTensor({runtime::ElementType::kF32, {2}})});
  std::vector<NamedTensor> outputs;
  absl::Status status = session->run(inputs, outputs);
  CHECK(status.code() == absl::StatusCode::kInvalidArgument);
  CHECK(domainOf(status) == ErrorDomain::kInput);
  CHECK_THAT(std::string(status.message()), Catch::Contains("'x': got 2x2xi64, expected nxf32") &&
                                                Catch::Contains("no input 'z'"));
}

TEST_CASE("failures tell their stage") {
  SessionFolder folder;
  CHECK(domainOf(Session::create(folder.path("none.fb"), folder.options()).status()) ==
        ErrorDomain::kModel);
  std::ofstream(folder.path("broken.onnx")) << "x";
  auto broken = Session::create(folder.path("broken.onnx"), folder.options());
  CHECK(domainOf(broken.status()) == ErrorDomain::kModel);
  CHECK_THAT(std::string(broken.status().message()), Catch::Contains("op Foo"));

  auto options = folder.options();
  options.strategy = "big";
  auto session = *Session::create(folder.model({"toy.add"}), options);
  std::vector<NamedTensor> outputs;
  absl::Status status = session->run(vectorInput({1}), outputs);
  CHECK(domainOf(status) == ErrorDomain::kPlacement);
}

TEST_CASE("a kernel's error names node and device, and the session goes on") {
  SessionFolder folder;
  auto session = *Session::create(folder.model({"toy.add", "toy.fail"}), folder.options());
  std::vector<NamedTensor> outputs;
  for (int i = 0; i < 2; ++i) {
    absl::Status status = session->run(vectorInput({1}), outputs);
    CHECK(status.code() == absl::StatusCode::kOutOfRange);
    CHECK(domainOf(status) == ErrorDomain::kRun);
    CHECK_THAT(std::string(status.message()), Catch::Contains("node 'node1'") &&
                                                  Catch::Contains("client/cpu:0") &&
                                                  Catch::Contains("toy kernel returned 7"));
  }
}

TEST_CASE("a missing compiler is explained") {
  SessionFolder folder;
  auto options = folder.options();
  options.compiler = nullptr;
  setenv("GRAPHRUN_COMPILER_LIBRARY", "/nowhere/libgraphrun-compiler.so", 1);
  auto session = *Session::create(folder.model({"toy.add"}), options);
  unsetenv("GRAPHRUN_COMPILER_LIBRARY");
  std::vector<NamedTensor> outputs;
  absl::Status status = session->run(vectorInput({1}), outputs);
  CHECK(absl::IsInternal(status));
  CHECK(domainOf(status) == ErrorDomain::kRun);
  CHECK_THAT(std::string(status.message()), Catch::Contains("/nowhere/libgraphrun-compiler.so") &&
                                                Catch::Contains("GRAPHRUN_COMPILER_LIBRARY"));
}

TEST_CASE("a step of one device costs little", "[.][speed]") {
  SessionFolder folder;
  auto session =
      *Session::create(folder.model(std::vector<std::string>(10'000, "toy.add")), folder.options());
  std::vector<NamedTensor> outputs;
  auto inputs = vectorInput({1});
  REQUIRE(session->run(inputs, outputs).ok());
  int64_t begin = runtime::nowNanos();
  for (int i = 0; i < 100; ++i) {
    REQUIRE(session->run(inputs, outputs).ok());
  }
  std::printf("session: %.1f ns an op\n",
              static_cast<double>(runtime::nowNanos() - begin) / 100 / 10'000);
}

}  // namespace
}  // namespace graphrun::testing
