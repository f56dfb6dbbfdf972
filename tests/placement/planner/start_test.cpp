// What comes before and between the runs of a session, with the real compiler: a second start, new
// shapes, several sessions, and doing nothing.
#include <unistd.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <numeric>
#include <thread>

#include "runtime/session/session.h"

namespace graphrun::runtime {
namespace {

/// Sessions of one model over one cache, which goes at the end.
struct World {
  World()
      : folder(std::filesystem::temp_directory_path() /
               ("graphrun_start_" + std::to_string(getpid()))) {
    std::filesystem::remove_all(folder);
    options.cacheDirectory = folder;
    options.threads = 2;
    options.tuneBudget = std::chrono::milliseconds{0};  // the same kernels in every run
  }
  ~World() { std::filesystem::remove_all(folder); }

  std::unique_ptr<Session> open() const {
    auto made = Session::create(GRAPHRUN_STAGE_MODELS "/batched.onnx", options);
    INFO(made.status().message());
    REQUIRE(made.ok());
    return *std::move(made);
  }

  std::filesystem::path folder;
  SessionOptions options;
};

std::vector<NamedTensor> images(int64_t count, int64_t side) {
  std::vector<NamedTensor> inputs(1);
  inputs[0] = {"x", HostTensor({ElementType::kF32, {count, 32, side, side}})};
  absl::Span<float> values = inputs[0].tensor.as<float>();
  std::iota(values.begin(), values.end(), 0.0F);
  for (float& value : values) {
    value = value / static_cast<float>(values.size()) - 0.5F;
  }
  return inputs;
}

std::vector<float> run(Session& session, int64_t count, int64_t side) {
  std::vector<NamedTensor> outputs;
  absl::Status status = session.run(images(count, side), outputs);
  INFO(status.message());
  REQUIRE(status.ok());
  absl::Span<const float> values = std::as_const(outputs[0].tensor).as<float>();
  return {values.begin(), values.end()};
}

size_t threadsOfProcess() {
  std::filesystem::directory_iterator tasks("/proc/self/task");
  return static_cast<size_t>(std::distance(begin(tasks), end(tasks)));
}

/// Of all threads of this process.
double processorSeconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

size_t filesIn(const std::filesystem::path& folder) {
  return static_cast<size_t>(std::distance(std::filesystem::directory_iterator(folder),
                                           std::filesystem::directory_iterator()));
}

}  // namespace

TEST_CASE("a second start needs no compiler, whatever the shapes were before") {
  World world;
  std::vector<float> first = run(*world.open(), 2, 70);
  auto session = world.open();
  CHECK(run(*session, 2, 70) == first);
  SessionStats stats = session->stats();
  CHECK_FALSE(stats.compilerLoaded);
  CHECK_FALSE(stats.imported);
  CHECK(stats.plansMade == 0);
  CHECK(stats.devices[0].fromCache);
}

TEST_CASE("new shapes share packed weights and the code of kernels") {
  World world;
  auto session = world.open();
  std::vector<float> two = run(*session, 2, 70);
  CHECK(session->stats().devices[0].sharedBytes == 0);
  size_t kernels = filesIn(world.folder / "code");
  CHECK(kernels > 0);
  std::vector<float> three = run(*session, 3, 90);
  CHECK(three.size() == two.size() / 2 * 3);
  CHECK(session->stats().devices[0].sharedBytes > 0);  // where both want one layout
  CHECK(filesIn(world.folder / "code") == kernels);
  CHECK(run(*session, 2, 70) == two);
  CHECK(session->stats().plansLoaded == 2);
}

TEST_CASE("sessions share weights when they are given the same devices, and threads always") {
  World world;
  auto alone = world.open();
  std::vector<float> expected = run(*alone, 1, 70);
  size_t threads = threadsOfProcess();
  auto apart = world.open();
  CHECK(run(*apart, 1, 70) == expected);
  CHECK(apart->stats().devices[0].sharedBytes == 0);
  world.options.devices = makeDeviceSet();
  auto first = world.open();
  CHECK(run(*first, 1, 70) == expected);
  CHECK(first->stats().devices[0].sharedBytes == 0);
  auto second = world.open();
  CHECK(run(*second, 1, 70) == expected);
  CHECK(second->stats().devices[0].sharedBytes > 0);
  first.reset();
  CHECK(run(*second, 1, 70) == expected);
  second.reset();
  auto third = world.open();  // the weights went with their last user
  CHECK(run(*third, 1, 70) == expected);
  CHECK(third->stats().devices[0].sharedBytes == 0);
  CHECK(threadsOfProcess() <= threads);
}

TEST_CASE("sessions that several threads call share the threads of kernels") {
  World world;
  world.options.devices = makeDeviceSet();
  world.options.threads = 4;
  std::vector<float> expected = run(*world.open(), 4, 70);
  const size_t before = threadsOfProcess();
  std::vector<std::thread> callers;
  std::atomic<int> right{0};
  std::atomic<int> done{0};
  std::atomic<bool> end{false};
  for (int i = 0; i < 3; ++i) {
    callers.emplace_back([&] {
      auto session = world.open();
      for (int k = 0; k < 20; ++k) {
        right += run(*session, 4, 70) == expected ? 1 : 0;
      }
      ++done;
      while (!end) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
    });
  }
  while (done < 3) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  // The callers, the thread that runs all of them, and three that help it: not three each.
  CHECK(threadsOfProcess() <= before + 3 + 1 + 3);
  end = true;
  for (std::thread& caller : callers) {
    caller.join();
  }
  CHECK(right == 60);
}

TEST_CASE("a session with nothing to do takes no processor") {
  World world;
  auto session = world.open();
  run(*session, 4, 70);
  std::this_thread::sleep_for(std::chrono::milliseconds(200));  // what just ended may still spin
  const double before = processorSeconds();
  std::this_thread::sleep_for(std::chrono::seconds(1));
  CHECK(processorSeconds() - before < 0.02);
}

}  // namespace graphrun::runtime
