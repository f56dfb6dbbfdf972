#include "runtime/control/local_workers.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <cerrno>
#include <fstream>
#include <mutex>

#include "runtime/control/child_process.h"
#include "test_util.h"

namespace graphrun::runtime {
namespace {

using Clock = std::chrono::steady_clock;

bool isGone(pid_t pid) { return kill(pid, 0) != 0 && errno == ESRCH; }

struct Fixture {
  Fixture() {
    LocalWorkersOptions options;
    options.command = {FAKE_WORKER, "worker"};
    options.onExit = [this](const std::string& worker, const absl::Status& why) {
      std::lock_guard lock(mutex);
      exits.emplace_back(worker, why);
    };
    options.readyTimeout = 10s;
    options.terminateTimeout = 500ms;
    options.shutdownTimeout = 1s;
    workers = *LocalWorkers::create(options);
  }
  std::unique_ptr<WorkerClient> startAndJoin(const std::string& name,
                                             const std::vector<std::string>& arguments = {}) {
    auto address = workers->start(name, arguments);
    requireOk(address.status());
    auto client = *WorkerClient::create(clientOptions(name, *address));
    requireOk(client->join().status());
    return client;
  }
  size_t exitCount() {
    std::lock_guard lock(mutex);
    return exits.size();
  }
  std::mutex mutex;
  std::vector<std::pair<std::string, absl::Status>> exits;
  std::unique_ptr<LocalWorkers> workers;
};

}  // namespace

TEST_CASE("local workers start, join and leave nothing behind") {
  Fixture f;
  auto a = f.startAndJoin("node0");
  auto b = f.startAndJoin("node1");
  pid_t pids[] = {*f.workers->pidOf("node0"), *f.workers->pidOf("node1")};
  std::string dir = f.workers->directory();
  struct stat info;
  REQUIRE(stat(dir.c_str(), &info) == 0);
  REQUIRE((info.st_mode & 0777) == 0700);
  requireError(f.workers->start("node0").status(), absl::StatusCode::kAlreadyExists, {"node0"});
  auto start = Clock::now();
  f.workers->stopAll(std::vector<WorkerClient*>{a.get(), b.get()});
  REQUIRE(Clock::now() - start < 1s);
  REQUIRE(isGone(pids[0]));
  REQUIRE(isGone(pids[1]));
  requireError(f.workers->pidOf("node0").status(), absl::StatusCode::kNotFound);
  REQUIRE(f.exitCount() == 0);  // they were asked to
  f.workers.reset();
  REQUIRE_FALSE(std::filesystem::exists(dir));
}

TEST_CASE("a local worker that dies is reported with its signal") {
  Fixture f;
  auto client = f.startAndJoin("node0");
  kill(*f.workers->pidOf("node0"), SIGKILL);
  REQUIRE(eventually([&] { return f.exitCount() == 1; }));
  REQUIRE(f.exits[0].first == "node0");
  requireError(f.exits[0].second, absl::StatusCode::kUnavailable,
               {"worker node0", "killed by signal 9"});
  REQUIRE(firstCauseOf(f.exits[0].second)->worker == "node0");
}

TEST_CASE("stopped and stubborn workers end too") {
  Fixture f;
  auto stopped = f.startAndJoin("stopped");
  auto stubborn = f.startAndJoin("stubborn", {"--ignore-term"});
  pid_t pids[] = {*f.workers->pidOf("stopped"), *f.workers->pidOf("stubborn")};
  kill(pids[0], SIGSTOP);
  auto start = Clock::now();
  f.workers->stopAll(std::vector<WorkerClient*>{stopped.get(), stubborn.get()});
  REQUIRE(Clock::now() - start < 4s);
  REQUIRE(isGone(pids[0]));
  REQUIRE(isGone(pids[1]));
}

TEST_CASE("destruction without a shutdown call ends workers") {
  pid_t pid = 0;
  {
    Fixture f;
    requireOk(f.workers->start("node0").status());
    pid = *f.workers->pidOf("node0");
  }
  REQUIRE(isGone(pid));
}

TEST_CASE("workers that do not come up say why") {
  Fixture f;
  requireError(f.workers->start("node0", std::vector<std::string>{"--exit", "7"}).status(),
               absl::StatusCode::kUnavailable, {"worker node0", "exited with status 7"});
  LocalWorkersOptions options;
  options.command = {FAKE_WORKER, "worker", "--deaf"};
  options.readyTimeout = 300ms;
  options.terminateTimeout = 200ms;
  auto deaf = *LocalWorkers::create(options);
  requireError(deaf->start("node1").status(), absl::StatusCode::kDeadlineExceeded,
               {"worker node1", "300 ms"});
  options.command = {"/no/such/program"};
  auto missing = *LocalWorkers::create(options);
  requireError(missing->start("node2").status(), absl::StatusCode::kNotFound,
               {"worker node2", "/no/such/program"});
  requireError(missing->start("a/b").status(), absl::StatusCode::kInvalidArgument);
}

TEST_CASE("workers die with a coordinator that is killed") {
  TempDir dir;
  std::string file = dir.path + "/pids";
  // Orphans come to us, so that they are seen to end whoever is process 1.
  REQUIRE(prctl(PR_SET_CHILD_SUBREAPER, 1) == 0);
  auto coordinator = startChild({FAKE_WORKER, "coordinator", FAKE_WORKER, file});
  requireOk(coordinator.status());
  REQUIRE(eventually([&] { return std::filesystem::exists(file); }, 20s));
  pid_t pids[2] = {0, 0};
  std::ifstream(file) >> pids[0] >> pids[1];
  REQUIRE(pids[1] > 0);
  SECTION("running") {}
  SECTION("one of them stopped") { kill(pids[0], SIGSTOP); }
  kill(coordinator->pid, SIGKILL);
  REQUIRE(waitpid(coordinator->pid, nullptr, 0) == coordinator->pid);
  for (pid_t pid : pids) {
    REQUIRE(eventually([&] { return waitpid(pid, nullptr, WNOHANG) == pid || isGone(pid); }, 3s));
  }
  close(coordinator->pidfd);
  close(coordinator->parentPipe);
  prctl(PR_SET_CHILD_SUBREAPER, 0);
}

}  // namespace graphrun::runtime
