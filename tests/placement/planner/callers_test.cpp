// Several callers of one session at a time, and of several sessions with the same devices.
#include <unistd.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <cstring>
#include <filesystem>
#include <map>
#include <random>
#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "runtime/session/session.h"

namespace graphrun::runtime {
namespace {

constexpr int kCallers = 6;
constexpr int kRuns = 40;

/// A folder of its own for each test, gone at its end.
struct Cache {
  Cache() {
    folder = std::filesystem::temp_directory_path() /
             ("graphrun_callers_" + std::to_string(getpid()) + "_" + std::to_string(count++));
  }
  ~Cache() { std::filesystem::remove_all(folder); }
  std::filesystem::path folder;
  static inline int count = 0;
};

/// Deterministic, so that results can be compared bit by bit; with room for two plans alone, so
/// that callers throw each other's out.
SessionOptions optionsFor(const Cache& cache) {
  SessionOptions options;
  options.cacheDirectory = cache.folder;
  options.numerics = Numerics::kDeterministic;
  options.threads = 2;
  options.maxPlans = 2;
  return options;
}

std::unique_ptr<Session> open(const std::string& model, const SessionOptions& options) {
  auto made = Session::create(absl::StrCat(GRAPHRUN_STAGE_MODELS "/", model), options);
  INFO(made.status().message());
  REQUIRE(made.ok());
  return *std::move(made);
}

/// Input `number` of the convolutional network: of one of four shapes.
NamedTensor imageOf(unsigned number) {
  const int64_t side = 5 + number % 4;
  NamedTensor input{"x", HostTensor(TensorSpec{ElementType::kF32, {1 + number % 2, 32, side, 7}})};
  std::mt19937 random(number);
  std::uniform_real_distribution<float> values(-1, 1);
  for (float& value : input.tensor.as<float>()) {
    value = values(random);
  }
  return input;
}

bool isSame(const HostTensor& a, const HostTensor& b) {
  return a.spec().dims == b.spec().dims && std::memcmp(a.data(), b.data(), a.byteSize()) == 0;
}

/// What caller `caller` gives in its run `run`: a few inputs that come again and again.
unsigned inputOf(int caller, int run) { return static_cast<unsigned>(caller * 7 + run * 5) % 16; }

/// The results of all inputs, from one caller alone.
std::map<unsigned, HostTensor> resultsAlone() {
  Cache cache;
  auto session = open("batched.onnx", optionsFor(cache));
  std::map<unsigned, HostTensor> results;
  for (unsigned number = 0; number < 16; ++number) {
    NamedTensor inputs[] = {imageOf(number)};
    std::vector<NamedTensor> outputs;
    REQUIRE(session->run(inputs, outputs) == absl::OkStatus());
    results.emplace(number, std::move(outputs[0].tensor));
  }
  return results;
}

/// Runs that failed, or gave what they should not. Tensors are used again from run to run.
int wrongRuns(Session& session, int caller, const std::map<unsigned, HostTensor>& expected) {
  int wrong = 0;
  std::vector<NamedTensor> outputs;
  for (int run = 0; run < kRuns; ++run) {
    const unsigned number = inputOf(caller, run);
    NamedTensor inputs[] = {imageOf(number)};
    absl::Status status = session.run(inputs, outputs);
    wrong += !status.ok() || !isSame(outputs[0].tensor, expected.at(number));
  }
  return wrong;
}

int wrongOfCallers(const std::vector<Session*>& sessions,
                   const std::map<unsigned, HostTensor>& expected) {
  std::atomic<int> wrong{0};
  std::vector<std::thread> callers;
  for (int caller = 0; caller < kCallers; ++caller) {
    callers.emplace_back([&, caller] {
      wrong +=
          wrongRuns(*sessions[static_cast<size_t>(caller) % sessions.size()], caller, expected);
    });
  }
  for (std::thread& caller : callers) {
    caller.join();
  }
  return wrong;
}

}  // namespace

TEST_CASE("callers side by side get each their own results") {
  const std::map<unsigned, HostTensor> expected = resultsAlone();
  Cache cache;
  auto session = open("batched.onnx", optionsFor(cache));
  CHECK(wrongOfCallers({session.get()}, expected) == 0);
  CHECK(session->stats().runs == kCallers * kRuns);
  CHECK(session->stats().plansEvicted > 0);
}

TEST_CASE("sessions with the same devices have callers of their own") {
  const std::map<unsigned, HostTensor> expected = resultsAlone();
  Cache cache;
  SessionOptions options = optionsFor(cache);
  options.devices = makeDeviceSet();
  auto first = open("batched.onnx", options);
  auto second = open("batched.onnx", options);
  CHECK(wrongOfCallers({first.get(), second.get()}, expected) == 0);
  second.reset();  // what both hold stays with the first
  CHECK(wrongOfCallers({first.get()}, expected) == 0);
}

TEST_CASE("callers who ask, prepare or give wrong inputs disturb no other") {
  const std::map<unsigned, HostTensor> expected = resultsAlone();
  Cache cache;
  auto session = open("batched.onnx", optionsFor(cache));
  std::atomic<bool> done{false};
  std::atomic<int> answers{0};
  std::thread other([&] {
    for (unsigned turn = 0; !done; ++turn) {
      NamedTensor image = imageOf(turn % 16);
      const NamedSpec shapes[] = {{"x", image.tensor.spec()}};
      const bool good = session->prepare(shapes).ok() && session->explain(shapes).ok();
      NamedTensor wrong[] = {{"x", HostTensor(TensorSpec{ElementType::kF32, {1, 3, 5, 7}})}};
      std::vector<NamedTensor> outputs;
      const bool refused = absl::IsInvalidArgument(session->run(wrong, outputs));
      static_cast<void>(session->times());
      answers += good && refused && session->stats().devices.size() <= 1 ? 1 : -1'000'000;
    }
  });
  CHECK(wrongOfCallers({session.get()}, expected) == 0);
  done = true;
  other.join();
  CHECK(answers > 0);
}

TEST_CASE("callers of a model that is cut by data get each their own rows") {
  Cache cache;
  auto session = open("expand.onnx", optionsFor(cache));
  std::atomic<int> wrong{0};
  std::vector<std::thread> callers;
  for (int caller = 0; caller < kCallers; ++caller) {
    callers.emplace_back([&, caller] {
      for (int run = 0; run < kRuns; ++run) {
        const int64_t rows = 1 + (caller + run) % 3;
        NamedTensor inputs[] = {{"x", HostTensor(TensorSpec{ElementType::kF32, {caller + 1}})},
                                {"n", HostTensor(TensorSpec{ElementType::kF32, {1}})}};
        std::memset(inputs[0].tensor.data(), 0, inputs[0].tensor.byteSize());
        inputs[1].tensor.as<float>()[0] = static_cast<float>(rows);
        std::vector<NamedTensor> outputs;
        const bool good = session->run(inputs, outputs).ok() &&
                          outputs[0].tensor.spec().dims == std::vector<int64_t>{rows, caller + 1};
        bool isOne = good;
        for (size_t i = 0; isOne && i < outputs[0].tensor.as<float>().size(); ++i) {
          isOne = outputs[0].tensor.as<float>()[i] == 1.0F;
        }
        wrong += !isOne;
      }
    });
  }
  for (std::thread& caller : callers) {
    caller.join();
  }
  CHECK(wrong == 0);
}

}  // namespace graphrun::runtime
