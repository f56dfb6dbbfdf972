// Sessions over worker processes that they start, or that are there; faults while a step runs.
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <fstream>
#include <future>
#include <set>
#include <sstream>
#include <thread>

#include "absl/strings/str_cat.h"
#include "runtime/base/clock.h"
#include "runtime/session/session.h"
#include "tests/runtime/session/session_fixture.h"

namespace graphrun::testing {
namespace {

using runtime::domainOf;
using runtime::ErrorDomain;
using runtime::NamedTensor;
using runtime::Session;

constexpr char kTwoLocal[] =
    "workers:\n"
    "  - {name: one, address: local, devices: [{cpu: {}}]}\n"
    "  - {name: two, address: local, devices: [{cpu: {}}]}\n";

constexpr char kOneOfTwo[] = "workers: [{name: two, address: local, devices: [{cpu: {}}]}]\n";

/// Children of this process, by looking at /proc.
std::set<pid_t> children() {
  std::set<pid_t> found;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream file(entry.path() / "children");
    for (pid_t pid; file >> pid;) {
      found.insert(pid);
    }
  }
  return found;
}

pid_t spawn(std::vector<std::string> arguments) {
  std::vector<char*> argv;
  for (std::string& argument : arguments) {
    argv.push_back(argument.data());
  }
  argv.push_back(nullptr);
  pid_t pid = 0;
  return posix_spawn(&pid, argv[0], nullptr, nullptr, argv.data(), environ) == 0 ? pid : -1;
}

struct Cluster : SessionFolder {
  std::unique_ptr<Session> open(const std::vector<std::string>& ops,
                                const std::string& yaml = kTwoLocal,
                                runtime::Objective objective = runtime::Objective::kLatency) {
    auto options = this->options();
    options.objective = objective;
    options.maxWaitingRuns = maxWaitingRuns;
    options.cluster = write("cluster.yaml", yaml);
    options.workerCommand = {TOY_WORKER, "worker"};
    auto session = Session::create(model(ops), options);
    REQUIRE(session.ok());
    return *std::move(session);
  }

  size_t maxWaitingRuns = 64;
};

/// Runs steps until one fails; its status and how long that took from the fault on.
struct Failure {
  absl::Status status;
  double seconds = 0;
};

Failure runUntilFailure(Session& session, std::function<void()> fault) {
  std::atomic<int64_t> faultAt{0};
  std::thread saboteur([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(250));
    faultAt = runtime::nowNanos();
    fault();
  });
  std::vector<NamedTensor> outputs;
  absl::Status status;
  for (int i = 0; i < 200 && status.ok(); ++i) {
    status = session.run(vectorInput({1, 2}), outputs);
  }
  double seconds = static_cast<double>(runtime::nowNanos() - faultAt) / 1e9;
  saboteur.join();
  return {status, seconds};
}

TEST_CASE("a model runs over two local workers as it runs in one process") {
  std::set<pid_t> before = children();
  {
    Cluster cluster;
    auto session = cluster.open(std::vector<std::string>(7, "toy.add"));
    std::vector<NamedTensor> outputs;
    for (int i = 0; i < 50; ++i) {
      REQUIRE(session->run(vectorInput({static_cast<float>(i), 1}), outputs).ok());
      REQUIRE(outputs[0].tensor.as<float>()[0] == static_cast<float>(i) + 28);
      REQUIRE(outputs[0].tensor.as<float>()[1] == 29);
    }
    CHECK(session->stats().devices.size() == 4);  // the client's host, one, and two of two
    REQUIRE(session->run(vectorInput({5}), outputs).ok());  // another shape, another plan
    CHECK(outputs[0].tensor.as<float>()[0] == 33);

    std::string trace = cluster.path("trace.json");
    REQUIRE(session->writeTrace(trace).ok());
    std::stringstream text;
    text << std::ifstream(trace).rdbuf();
    CHECK_THAT(text.str(), Catch::Contains("two/toy:1") && Catch::Contains("node3"));
  }
  CHECK(children() == before);
}

/// Loads the plan for vectors of two.
void prepare(Session& session) {
  const std::vector<runtime::NamedSpec> inputs = {{"x", {runtime::ElementType::kF32, {2}}}};
  REQUIRE(session.prepare(inputs).ok());
}

/// `count` callers beside each other: each makes `runs` runs with inputs of its own until one
/// fails. The first failure of each.
std::vector<absl::Status> callAtOnce(Session& session, int count, int runs, float sum,
                                     std::function<void()> meanwhile = {}) {
  std::vector<absl::Status> ends(static_cast<size_t>(count));
  std::atomic<int> wrong{0};
  std::vector<std::thread> callers;
  for (int caller = 0; caller < count; ++caller) {
    callers.emplace_back([&, caller] {
      absl::Status& end = ends[static_cast<size_t>(caller)];
      std::vector<NamedTensor> outputs;
      for (int i = 0; i < runs && end.ok(); ++i) {
        const auto own = static_cast<float>(1000 * caller + i);
        end = session.run(vectorInput({own, 1}), outputs);
        wrong += end.ok() && outputs[0].tensor.as<float>()[0] != own + sum ? 1 : 0;
      }
    });
  }
  if (meanwhile) {
    meanwhile();
  }
  for (std::thread& caller : callers) {
    caller.join();
  }
  CHECK(wrong == 0);
  return ends;
}

/// A session of seven "toy.add" gives each of several callers, and then one alone, its own values.
void checkOwnValues(Session& session) {
  std::vector<NamedTensor> outputs;
  REQUIRE(session.run(vectorInput({1, 2}), outputs).ok());
  for (const absl::Status& status : callAtOnce(session, 5, 200, 28)) {
    CHECK(status.ok());
  }
  REQUIRE(session.run(vectorInput({5}), outputs).ok());  // another plan, alone
  CHECK(outputs[0].tensor.as<float>()[0] == 33);
}

/// Steps of 100 ms on each of two devices overlap where several callers run them.
void checkOverlap(Session& session) {
  std::vector<NamedTensor> outputs;
  REQUIRE(session.run(vectorInput({1, 2}), outputs).ok());
  const int64_t begin = runtime::nowNanos();
  for (const absl::Status& status : callAtOnce(session, 3, 4, 0)) {
    CHECK(status.ok());
  }
  CHECK(runtime::nowNanos() - begin < 1'900'000'000);  // one after the other: 2.4 s
}

TEST_CASE(
    "runs of several callers are in flight on the workers at once, each with its own values") {
  Cluster cluster;
  SECTION("values") {
    auto session = cluster.open(std::vector<std::string>(7, "toy.add"));
    checkOwnValues(*session);
    CHECK(session->stats().runs == 1002);
  }
  SECTION("time") {  // of 100 ms on each of two workers
    auto session = cluster.open({"toy.slow", "toy.slow"});
    checkOverlap(*session);
  }
  SECTION("callers of two plans, more than there are lanes") {
    auto session = cluster.open(std::vector<std::string>(7, "toy.add"));
    std::atomic<int> right{0};
    std::vector<std::thread> callers;
    for (size_t caller = 0; caller < 12; ++caller) {
      callers.emplace_back([&, caller] {
        const auto own = static_cast<float>(caller);
        std::vector<NamedTensor> outputs;
        for (int i = 0; i < 100; ++i) {
          const bool ok =
              session->run(vectorInput(std::vector<float>(1 + caller % 2, own)), outputs).ok();
          right += ok && outputs[0].tensor.as<float>()[0] == own + 28 ? 1 : 0;
        }
      });
    }
    for (std::thread& caller : callers) {
      caller.join();
    }
    CHECK(right == 1200);
  }
}

using AsyncResults = std::vector<std::future<absl::StatusOr<runtime::TensorMap>>>;

/// `count` runs that nobody waits for, with the inputs {0, 1}, {1, 1} …
AsyncResults addRuns(Session& session, int count) {
  AsyncResults results;
  for (int i = 0; i < count; ++i) {
    runtime::TensorMap inputs;
    inputs["x"] = std::move(vectorInput({static_cast<float>(i), 1})[0].tensor);
    results.push_back(session.runAsync(std::move(inputs)));
  }
  return results;
}

TEST_CASE("runs that nobody waits for are in flight on the workers at once, on few threads") {
  Cluster cluster;
  cluster.maxWaitingRuns = 1000;
  SECTION("values") {
    auto session = cluster.open(std::vector<std::string>(7, "toy.add"));
    std::vector<NamedTensor> outputs;
    REQUIRE(session->run(vectorInput({1, 2}), outputs).ok());
    const size_t before = threadCount();
    AsyncResults results = addRuns(*session, 1000);
    size_t most = 0;
    for (size_t i = 0; i < results.size(); ++i) {
      most = std::max(most, threadCount());
      auto made = results[i].get();
      REQUIRE(made.ok());
      REQUIRE(made->at("y").as<float>()[0] == static_cast<float>(i) + 28);
    }
    // gRPC may begin some of its own meanwhile.
    CHECK(most <= before + runtime::kMostStepsInFlight + 8);
    CHECK(session->stats().runs == 1001);
  }
  SECTION("time") {  // of 100 ms on each of two workers
    auto session = cluster.open({"toy.slow", "toy.slow"});
    prepare(*session);
    const int64_t begin = runtime::nowNanos();
    for (auto& result : addRuns(*session, 12)) {
      CHECK(result.get().ok());
    }
    CHECK(runtime::nowNanos() - begin < 1'900'000'000);  // one after the other: 2.4 s
  }
  SECTION("each has the failure of its own or of one that was in flight beside it") {
    auto session = cluster.open({"toy.slow", "toy.fail", "toy.slow"});
    for (auto& result : addRuns(*session, 5)) {
      const absl::Status status = result.get().status();
      CHECK(status.code() == absl::StatusCode::kOutOfRange);
      CHECK_THAT(std::string(status.message()), Catch::Contains("node 'node1'"));
    }
  }
  SECTION("those that have not begun when the session ends are cancelled") {
    auto session = cluster.open({"toy.slow", "toy.slow"});
    prepare(*session);
    AsyncResults results = addRuns(*session, 20);
    REQUIRE(results[0].get().ok());
    session.reset();
    size_t ran = 0;
    for (size_t i = 1; i < results.size(); ++i) {
      const absl::Status status = results[i].get().status();
      CHECK((status.ok() || absl::IsCancelled(status)));
      CHECK((!status.ok() || ran == i - 1));  // in their order
      ran += status.ok() ? 1 : 0;
    }
    CHECK(ran < 12);
  }
}

TEST_CASE("devices of one worker are at different steps where that is the objective") {
  Cluster cluster;
  auto open = [&](const std::vector<std::string>& ops) {
    return cluster.open(ops, kOneOfTwo, runtime::Objective::kThroughput);
  };
  SECTION("values") {
    auto session = open(std::vector<std::string>(7, "toy.add"));
    checkOwnValues(*session);
  }
  SECTION("time") {  // of 100 ms on each of its two devices
    auto session = open({"toy.slow", "toy.slow"});
    checkOverlap(*session);
  }
  SECTION("a failure ends all, and the session goes on") {
    auto session = open({"toy.slow", "toy.fail", "toy.slow"});
    for (int i = 0; i < 2; ++i) {
      prepare(*session);
      for (const absl::Status& status : callAtOnce(*session, 3, 1, 0)) {
        CHECK(status.code() == absl::StatusCode::kOutOfRange);
        CHECK_THAT(std::string(status.message()), Catch::Contains("node 'node1'"));
      }
    }
  }
}

TEST_CASE("a failing step ends those in flight with its cause, and the session goes on") {
  Cluster cluster;
  auto session = cluster.open({"toy.slow", "toy.fail", "toy.slow"});
  for (int i = 0; i < 2; ++i) {
    prepare(*session);
    for (const absl::Status& status : callAtOnce(*session, 3, 1, 0)) {
      CHECK(status.code() == absl::StatusCode::kOutOfRange);
      CHECK_THAT(std::string(status.message()), Catch::Contains("node 'node1'"));
    }
  }
}

TEST_CASE("a deadline ends the steps in flight, and names what was waited for") {
  Cluster cluster;
  auto options = cluster.options();
  options.cluster = cluster.write("cluster.yaml", kTwoLocal);
  options.workerCommand = {TOY_WORKER, "worker"};
  options.stepTimeout = std::chrono::milliseconds(350);
  auto session = *Session::create(cluster.model(std::vector<std::string>(12, "toy.slow")), options);
  prepare(*session);
  for (const absl::Status& status : callAtOnce(*session, 3, 1, 0)) {
    CHECK(absl::IsDeadlineExceeded(status));
    CHECK_THAT(std::string(status.message()), Catch::Contains("waiting for the payload"));
  }
}

TEST_CASE("a killed worker ends all runs in flight with its name") {
  Cluster cluster;
  auto session = cluster.open(std::vector<std::string>(4, "toy.slow"));
  std::vector<NamedTensor> outputs;
  REQUIRE(session->run(vectorInput({1, 2}), outputs).ok());
  pid_t victim = *children().rbegin();
  auto strike = [&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(700));
    kill(victim, SIGKILL);
  };
  for (const absl::Status& status : callAtOnce(*session, 3, 100, 0, strike)) {
    CHECK(status.code() == absl::StatusCode::kUnavailable);
    CHECK_THAT(std::string(status.message()), Catch::Contains("two"));
  }
}

TEST_CASE("a plan that runs is kept when its times leave no better one that can be used") {
  Cluster cluster;
  cluster.compiler.guesses = true;
  auto session = cluster.open({"toy.add", "toy.add"});
  std::vector<NamedTensor> outputs;
  REQUIRE(session->run(vectorInput({1}), outputs).ok());
  SECTION("none is found") { cluster.compiler.refuses = true; }
  SECTION("the one that is found cannot be loaded") { cluster.compiler.brokenPlans = true; }
  int plans = cluster.compiler.plans;
  for (int i = 0; i < 30; ++i) {
    absl::Status status = session->run(vectorInput({1}), outputs);
    INFO(i << ": " << status.message());
    REQUIRE(status.ok());
  }
  CHECK(cluster.compiler.plans == plans + 1);  // asked once
  CHECK(outputs[0].tensor.as<float>()[0] == 4);
}

TEST_CASE("weights that planning made go to the workers in the plan") {
  Cluster cluster;
  auto session = cluster.open({"toy.ten", "toy.add", "toy.ten", "toy.ten", "toy.add"});
  std::vector<NamedTensor> outputs;
  absl::Status status = session->run(vectorInput({1}), outputs);
  INFO(status.message());
  REQUIRE(status.ok());
  CHECK(outputs[0].tensor.as<float>()[0] == 34);
}

TEST_CASE("when the deadline of a step passes, every process says for what it waited") {
  Cluster cluster;
  auto options = cluster.options();
  options.cluster = cluster.write("cluster.yaml", kTwoLocal);
  options.workerCommand = {TOY_WORKER, "worker"};
  options.stepTimeout = std::chrono::milliseconds(250);
  auto session = *Session::create(cluster.model(std::vector<std::string>(12, "toy.slow")), options);
  std::vector<NamedTensor> outputs;
  for (int i = 0; i < 2; ++i) {  // afterwards the plan is loaded anew
    absl::Status status = session->run(vectorInput({1, 2}), outputs);
    INFO(status.message());
    CHECK(absl::IsDeadlineExceeded(status));
    CHECK_THAT(std::string(status.message()),
               Catch::Contains("on client/host:0") && Catch::Contains("of worker one") &&
                   Catch::Contains("of worker two") && Catch::Contains("waiting for the payload"));
  }
}

TEST_CASE("a failing kernel on a worker is the error everywhere, and the session goes on") {
  Cluster cluster;
  auto session = cluster.open({"toy.add", "toy.fail", "toy.add"});
  std::vector<NamedTensor> outputs;
  for (int i = 0; i < 2; ++i) {
    absl::Status status = session->run(vectorInput({1}), outputs);
    CHECK(status.code() == absl::StatusCode::kOutOfRange);
    CHECK_THAT(std::string(status.message()), Catch::Contains("node 'node1'") &&
                                                  Catch::Contains("worker two") &&
                                                  Catch::Contains("toy kernel returned 7"));
  }
}

TEST_CASE("a worker that is lost while a kernel's failure is dealt with does not hide it") {
  // Worker one has done its part, and worker two takes 100 ms and fails: what comes between is
  // tried for. A run in which the loss of one came first, or after all, tells nothing.
  bool isSeen = false;
  for (int delay = 30; delay <= 500 && !isSeen; delay += 60) {
    Cluster cluster;
    auto session = cluster.open({"toy.add", "toy.slow", "toy.fail"});
    std::set<pid_t> before = children();
    REQUIRE(
        session->prepare(std::vector<runtime::NamedSpec>{{"x", {runtime::ElementType::kF32, {1}}}})
            .ok());
    std::set<pid_t> workers = children();
    std::erase_if(workers, [&](pid_t child) { return before.contains(child); });
    REQUIRE(workers.size() == 2);
    std::thread saboteur([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(delay));
      kill(*workers.begin(), SIGSTOP);
    });
    std::vector<NamedTensor> outputs;
    const int64_t begin = runtime::nowNanos();
    absl::Status status = session->run(vectorInput({1}), outputs);
    const bool wasLost = runtime::nowNanos() - begin > 2'000'000'000;
    saboteur.join();
    INFO(status.message());
    if (wasLost && absl::IsOutOfRange(status)) {
      isSeen = true;
      CHECK_THAT(std::string(status.message()), Catch::Contains("toy kernel returned 7"));
      status = session->run(vectorInput({1}), outputs);
      CHECK(absl::IsUnavailable(status));
      CHECK_THAT(std::string(status.message()), Catch::Contains("worker one"));
    }
  }
  CHECK(isSeen);
}

TEST_CASE("a session whose workers were not all there may try again") {
  Cluster cluster;
  const std::string address = absl::StrCat("unix:", cluster.path("w.sock"));
  auto options = cluster.options();
  options.workerCommand = {TOY_WORKER, "worker"};
  options.joinTimeout = std::chrono::milliseconds(1500);
  options.cluster =
      cluster.write("cluster.yaml",
                    absl::StrCat("workers:\n  - {name: one, address: local, devices: [{cpu: {}}]}\n"
                                 "  - {name: two, address: \"",
                                 address, "\", devices: [{cpu: {}}]}\n"));
  const std::set<pid_t> before = children();
  auto session = *Session::create(cluster.model({"toy.add", "toy.add"}), options);
  std::vector<NamedTensor> outputs;
  for (int i = 0; i < 2; ++i) {
    absl::Status status = session->run(vectorInput({1}), outputs);
    CHECK_THAT(std::string(status.message()), Catch::Contains("worker two"));
    CHECK(children() == before);
  }
  pid_t child =
      spawn({TOY_WORKER, "worker", "--listen", address, "--cache", cluster.path("worker-cache")});
  absl::Status status = session->run(vectorInput({1}), outputs);
  INFO(status.message());
  REQUIRE(status.ok());
  CHECK(outputs[0].tensor.as<float>()[0] == 4);
  session.reset();
  kill(child, SIGTERM);
  CHECK(waitpid(child, nullptr, 0) == child);
}

TEST_CASE("a killed or stopped worker ends the run with its name, and nothing stays behind") {
  for (int signal : {SIGKILL, SIGSTOP}) {
    std::set<pid_t> before = children();
    Cluster cluster;
    auto session = cluster.open(std::vector<std::string>(4, "toy.slow"));
    prepare(*session);
    std::set<pid_t> workers = children();
    REQUIRE(workers.size() == before.size() + 2);
    pid_t victim = *workers.rbegin();
    Failure failure = runUntilFailure(*session, [&] { kill(victim, signal); });
    INFO(failure.status.message());
    CHECK(failure.status.code() == absl::StatusCode::kUnavailable);
    CHECK(domainOf(failure.status) == ErrorDomain::kRun);
    CHECK_THAT(std::string(failure.status.message()), Catch::Contains("two"));
    CHECK(failure.seconds < 5);
    std::vector<NamedTensor> outputs;
    CHECK(session->run(vectorInput({1, 2}), outputs).code() == absl::StatusCode::kUnavailable);
    int64_t begin = runtime::nowNanos();
    session.reset();
    CHECK(runtime::nowNanos() - begin < 5'000'000'000);
    CHECK(children() == before);
  }
}

TEST_CASE("workers started by hand are joined, whoever starts first, and get their weights") {
  SessionFolder folder;
  std::string address = absl::StrCat("unix:", folder.path("w.sock"));
  pid_t child = 0;
  std::thread starter([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
    child =
        spawn({TOY_WORKER, "worker", "--listen", address, "--cache", folder.path("worker-cache")});
  });
  auto options = folder.options();
  options.cluster = folder.write(
      "cluster.yaml", absl::StrCat("workers: [{name: far, address: \"", address, "\"}]\n"));
  for (int start = 0; start < 2; ++start) {
    auto session = Session::create(folder.model({"toy.add", "toy.add", "toy.add"}), options);
    REQUIRE(session.ok());
    std::vector<NamedTensor> outputs;
    absl::Status status = (*session)->run(vectorInput({1}), outputs);
    INFO(status.message());
    REQUIRE(status.ok());
    CHECK(outputs[0].tensor.as<float>()[0] == 7);
  }
  starter.join();
  size_t weights = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(folder.path("worker-cache/weights"))) {
    weights += entry.is_regular_file() ? 1 : 0;
  }
  CHECK(weights == 3);
  kill(child, SIGTERM);
  int status = 0;
  CHECK(waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
}

TEST_CASE("a GPU that a worker does not have is named, whatever would run there") {
  SessionFolder folder;
  std::string address = absl::StrCat("unix:", folder.path("w.sock"));
  pid_t child =
      spawn({TOY_WORKER, "worker", "--listen", address, "--cache", folder.path("worker-cache")});
  for (const std::string& where : {std::string("local"), address}) {
    auto options = folder.options();
    options.workerCommand = {TOY_WORKER, "worker"};
    options.cluster = folder.write(
        "cluster.yaml", absl::StrCat("workers: [{name: far, address: \"", where,
                                     "\", devices: [{cpu: {}}, {cuda: {index: 99}}]}]\n"));
    auto session = *Session::create(folder.model({"toy.add"}), options);
    std::vector<NamedTensor> outputs;
    absl::Status status = session->run(vectorInput({1}), outputs);
    CHECK(absl::IsNotFound(status));
    CHECK_THAT(std::string(status.message()), Catch::Contains("device far/cuda:99: "));
    CHECK(domainOf(status) == ErrorDomain::kPlacement);
    if (where != "local") {
      CHECK_THAT(std::string(status.message()), Catch::Contains("worker far has no such device"));
    }
  }
  kill(child, SIGTERM);
  CHECK(waitpid(child, nullptr, 0) == child);
}

TEST_CASE("a worker that is not there is named") {
  SessionFolder folder;
  auto options = folder.options();
  options.joinTimeout = std::chrono::milliseconds(700);
  options.cluster = folder.write(
      "cluster.yaml",
      absl::StrCat("workers: [{name: ghost, address: \"unix:", folder.path("none.sock"), "\"}]\n"));
  auto session = *Session::create(folder.model({"toy.add"}), options);
  std::vector<NamedTensor> outputs;
  absl::Status status = session->run(vectorInput({1}), outputs);
  CHECK_THAT(std::string(status.message()), Catch::Contains("ghost"));
  CHECK(domainOf(status) == ErrorDomain::kRun);
}

TEST_CASE("a worker that ends between listening and joining is not waited for") {
  SessionFolder folder;
  auto options = folder.options();
  // Listens at the address behind --listen, as it is asked to, and answers nobody.
  options.workerCommand = {
      "/usr/bin/env", "python3", "-c",
      "import socket, sys, time\n"
      "s = socket.socket(socket.AF_UNIX)\n"
      "s.bind(sys.argv[sys.argv.index('--listen') + 1].removeprefix('unix:'))\n"
      "s.listen()\n"
      "time.sleep(0.3)\n"
      "sys.exit(3)\n"};
  options.cluster = folder.write("cluster.yaml", "workers: [{name: far, address: local}]\n");
  auto session = *Session::create(folder.model({"toy.add"}), options);
  std::vector<NamedTensor> outputs;
  const auto begin = std::chrono::steady_clock::now();
  absl::Status status = session->run(vectorInput({1}), outputs);
  CHECK(absl::IsUnavailable(status));
  CHECK_THAT(std::string(status.message()),
             Catch::Contains("worker far") && Catch::Contains("exited with status 3"));
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(10));
}

#ifndef __SANITIZE_THREAD__  // it holds signals back while a thread waits
TEST_CASE("a worker that hangs within a library ends when it is told to, and says so") {
  SessionFolder folder;
  const std::string address = absl::StrCat("unix:", folder.path("w.sock"));
  pid_t child = spawn({TOY_WORKER, "worker", "--listen", address, "--cache",
                       folder.path("worker-cache"), "--look-for-devices", "60"});
  auto options = folder.options();
  options.joinTimeout = std::chrono::milliseconds(1500);
  options.cluster = folder.write(
      "cluster.yaml", absl::StrCat("workers: [{name: far, address: \"", address, "\"}]\n"));
  auto session = *Session::create(folder.model({"toy.add"}), options);
  std::vector<NamedTensor> outputs;
  absl::Status status = session->run(vectorInput({1}), outputs);
  CHECK_THAT(std::string(status.message()), Catch::Contains("far"));
  const auto begin = std::chrono::steady_clock::now();
  kill(child, SIGTERM);
  int ended = 0;
  CHECK(waitpid(child, &ended, 0) == child);
  CHECK(WIFEXITED(ended));
  CHECK(WEXITSTATUS(ended) == 6);
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(10));
}
#endif

TEST_CASE("a worker that never listens is waited for no longer than joining may take") {
  SessionFolder folder;
  auto options = folder.options();
  options.workerCommand = {"/bin/sh", "-c", "exec sleep 30"};
  options.joinTimeout = std::chrono::milliseconds(300);
  options.cluster = folder.write("cluster.yaml", "workers: [{name: far, address: local}]\n");
  auto session = *Session::create(folder.model({"toy.add"}), options);
  std::vector<NamedTensor> outputs;
  const auto begin = std::chrono::steady_clock::now();
  absl::Status status = session->run(vectorInput({1}), outputs);
  CHECK(absl::IsDeadlineExceeded(status));
  CHECK_THAT(std::string(status.message()), Catch::Contains("within 300 ms"));
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(15));
}

}  // namespace
}  // namespace graphrun::testing
