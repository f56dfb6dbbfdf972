// What goes wrong between processes: killed, stopped, silent, unreachable, late.
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <arpa/inet.h>
#include <fstream>
#include <future>
#include <mutex>

#include "runtime/control/child_process.h"
#include "runtime/control/local_workers.h"
#include "runtime/control/pulse.h"
#include "test_util.h"

namespace graphrun::runtime {
namespace {

using Clock = std::chrono::steady_clock;

/// A worker process that listens on TCP; killed and reaped at the end.
struct TcpWorker {
  explicit TcpWorker(const std::string& listen = "127.0.0.1:0") {
    std::string file = dir.path + "/address";
    auto started = startChild(
        {FAKE_WORKER, "worker", "--listen", listen, "--parent-fd", "3", "--address-file", file});
    requireOk(started.status());
    child = *started;
    REQUIRE(eventually([&] { return std::filesystem::exists(file); }, 10s));
    std::ifstream(file) >> address;
  }
  ~TcpWorker() {
    kill(child.pid, SIGKILL);
    waitpid(child.pid, nullptr, 0);
    close(child.pidfd);
    close(child.parentPipe);
  }
  TempDir dir;
  Child child;
  std::string address;
};

/// Records what a pulse reports.
struct Losses {
  HeartbeatMonitor::OnLost callback() {
    return [this](const std::string& worker, const absl::Status& why) {
      std::lock_guard lock(mutex);
      lost.emplace_back(worker, why);
      when = Clock::now();
    };
  }
  size_t count() {
    std::lock_guard lock(mutex);
    return lost.size();
  }
  std::mutex mutex;
  std::vector<std::pair<std::string, absl::Status>> lost;
  Clock::time_point when;
};

std::shared_ptr<WorkerClient> joined(const std::string& name, const std::string& address) {
  std::shared_ptr<WorkerClient> client = *WorkerClient::create(clientOptions(name, address));
  requireOk(client->join().status());
  return client;
}

/// A listening TCP socket on loopback that nobody serves.
struct SilentSocket {
  SilentSocket() {
    fd = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in where{};
    where.sin_family = AF_INET;
    where.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(where);
    REQUIRE(bind(fd, reinterpret_cast<sockaddr*>(&where), sizeof(where)) == 0);
    REQUIRE(listen(fd, 4) == 0);
    getsockname(fd, reinterpret_cast<sockaddr*>(&where), &size);
    address = "127.0.0.1:" + std::to_string(ntohs(where.sin_port));
  }
  ~SilentSocket() { close(fd); }
  int fd;
  std::string address;
};

}  // namespace

TEST_CASE("a stopped worker is noticed within 3 s, named, and its calls end") {
  TcpWorker stopped;
  TcpWorker healthy;
  auto victim = joined("node1", stopped.address);
  auto other = joined("node0", healthy.address);
  Losses losses;
  Pulse pulse(losses.callback());
  pulse.add(victim);
  pulse.add(other);
  Serving step(*victim);
  std::this_thread::sleep_for(1s);
  REQUIRE(losses.count() == 0);
  auto start = Clock::now();
  kill(stopped.child.pid, SIGSTOP);
  absl::Status status = step.wait();
  REQUIRE(Clock::now() - start < 3s);
  requireError(status, absl::StatusCode::kUnavailable, {"lost worker node1", "no sign of life"});
  REQUIRE(firstCauseOf(status)->worker == "node1");
  requireError(Serving(*victim).wait(), absl::StatusCode::kUnavailable,
               {"lost worker node1"});  // at once
  REQUIRE(eventually([&] { return losses.count() == 1; }, 1s));
  REQUIRE(losses.lost[0].first == "node1");
  REQUIRE(Clock::now() - start < 3500ms);
  requireOk(other->metrics().status());
  REQUIRE(pulse.clockOffsetNanos("node0"));
  REQUIRE(std::abs(*pulse.clockOffsetNanos("node0")) < 1'000'000'000);  // one machine, one clock
}

TEST_CASE("a worker's clock is read when it is asked for, by the fastest of several answers") {
  TcpWorker worker;
  Losses losses;
  Pulse pulse(losses.callback());
  pulse.add(joined("node0", worker.address));
  std::optional<int64_t> offset = pulse.clockOffsetNanos("node0");
  REQUIRE(offset);
  REQUIRE(std::abs(*offset) < 5'000'000);  // one machine, one clock
  REQUIRE_FALSE(pulse.clockOffsetNanos("node1"));
}

TEST_CASE("a killed worker ends its calls at once and is reported") {
  TcpWorker worker;
  auto client = joined("node2", worker.address);
  Losses losses;
  Pulse pulse(losses.callback());
  pulse.add(client);
  Serving step(*client);
  std::this_thread::sleep_for(200ms);
  auto start = Clock::now();
  kill(worker.child.pid, SIGKILL);
  absl::Status status = step.wait();
  REQUIRE(Clock::now() - start < 1s);
  requireError(status, absl::StatusCode::kUnavailable,
               {"worker node2", worker.address, "ServeSteps"});
  REQUIRE(firstCauseOf(status)->worker == "node2");
  REQUIRE(eventually([&] { return losses.count() == 1; }, 4s));
  REQUIRE(losses.when - start < 3s);
}

TEST_CASE("a worker that was restarted under its address is not mistaken for the old one") {
  auto first = std::make_unique<TcpWorker>();
  std::string address = first->address;
  auto client = joined("node0", address);
  Losses losses;
  Pulse pulse(losses.callback());
  pulse.add(client);
  std::this_thread::sleep_for(200ms);
  first.reset();
  TcpWorker second(address);
  REQUIRE(eventually([&] { return losses.count() == 1; }, 4s));
  requireError(losses.lost[0].second, absl::StatusCode::kFailedPrecondition,
               {"node0", "restarted"});
}

TEST_CASE("a worker that starts late is waited for") {
  SilentSocket placeholder;
  std::string address = placeholder.address;
  close(placeholder.fd);
  placeholder.fd = -1;
  auto result = std::async(std::launch::async, [&] {
    auto client = *WorkerClient::create(clientOptions("node0", address));
    return client->join().status();
  });
  std::this_thread::sleep_for(700ms);
  TcpWorker worker(address);
  auto start = Clock::now();
  requireOk(result.get());
  REQUIRE(Clock::now() - start < 1s);
}

TEST_CASE("a closed port and a silent one end in an error that names worker and address") {
  SilentSocket silent;
  std::string kind = GENERATE(as<std::string>(), "silent", "127.0.0.1:1", "unix:/tmp/none/w.sock");
  std::string address = kind == "silent" ? silent.address : kind;
  auto options = clientOptions("node5", address);
  options.joinTimeout = 1s;
  auto client = *WorkerClient::create(options);
  auto start = Clock::now();
  absl::Status status = client->join().status();
  requireError(status, absl::StatusCode::kUnavailable,
               {"worker node5", address, "did not join within 1.0 s"});
  REQUIRE(firstCauseOf(status)->worker == "node5");
  REQUIRE(Clock::now() - start < 2s);
}

TEST_CASE("a join can be given up from outside") {
  SilentSocket silent;
  auto client = *WorkerClient::create(clientOptions("node5", silent.address));
  auto result = std::async(std::launch::async, [&] { return client->join().status(); });
  std::this_thread::sleep_for(200ms);
  auto start = Clock::now();
  client->markLost(absl::CancelledError("the user pressed Ctrl-C"));
  requireError(result.get(), absl::StatusCode::kCancelled, {"Ctrl-C"});
  REQUIRE(Clock::now() - start < 1s);
}

TEST_CASE("a worker drops the job of a silent coordinator and takes the next one") {
  InProcess p;
  requireOk(p.client->leave(absl::CancelledError("done")));
  auto options = clientOptions("node0", p.service->address());
  options.heartbeatTimeout = 400ms;
  auto silent = *WorkerClient::create(options);
  requireOk(silent->join().status());
  Serving step(*silent);
  auto next = p.connect();
  requireOk(next->join().status());  // waits for the old job's end
  REQUIRE_FALSE(step.wait().ok());
  auto reasons = p.handler.waitEnded(1s);
  requireError(reasons.back(), absl::StatusCode::kUnavailable, {"lost coordinator", "0.4 s"});
}

TEST_CASE("what a worker needs to get ready is no silence of its coordinator; what follows is") {
  InProcess p;
  requireOk(p.client->leave(absl::CancelledError("done")));
  const size_t before = p.handler.waitEnded(1s).size();
  p.handler.takeToJoin(1200ms);
  auto options = clientOptions("node0", p.service->address());
  options.heartbeatTimeout = 400ms;
  auto client = *WorkerClient::create(options);
  requireOk(client->join().status());
  requireOk(client->metrics().status());
  REQUIRE(p.handler.waitEnded(0s).size() == before);
  REQUIRE(eventually([&] { return p.handler.waitEnded(0s).size() > before; }, 2s));
  requireError(p.handler.waitEnded(0s).back(), absl::StatusCode::kUnavailable,
               {"lost coordinator", "0.4 s"});
}

TEST_CASE("heartbeats keep a job alive") {
  InProcess p;
  requireOk(p.client->leave(absl::CancelledError("done")));
  auto options = clientOptions("node0", p.service->address());
  options.heartbeatTimeout = 600ms;
  std::shared_ptr<WorkerClient> client = *WorkerClient::create(options);
  requireOk(client->join().status());
  Losses losses;
  {
    Pulse pulse(losses.callback(), 100ms, 600ms);
    pulse.add(client);
    std::this_thread::sleep_for(1500ms);
    requireOk(client->metrics().status());
    pulse.remove("node0");
  }
  REQUIRE(losses.count() == 0);
}

}  // namespace graphrun::runtime
