// UCX between two processes, over shared memory and over TCP: data, and peers that die or stop.
#include <dlfcn.h>
#include <sched.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <thread>

#include "absl/strings/match.h"
#include "peer_process.h"
#include "require_ok.h"
#include "runtime/base/log.h"
#include "runtime/transport/edge.h"
#include "runtime/transport/ucx.h"

namespace graphrun::runtime::testing {
namespace {

constexpr int64_t kSecond = 1'000'000'000;
const char* const kNetworks[] = {"posix,cma,self", "posix,self", "tcp,self"};

constexpr int64_t kSilence = 2'500'000'000;
/// What a loaded machine may take to wake a thread.
constexpr int64_t kMargin = kSecond / 2;

WaitOptions soon() { return WaitOptions::within(20 * kSecond); }

/// This process as rank 0, an echo process as rank 1.
struct Duo {
  Duo(const char* tls, const std::vector<size_t>& edgeBytes, uint64_t steps) : sizes(edgeBytes) {
    setenv("UCX_TLS", tls, 1);
    std::vector<std::string> arguments = {GRAPHRUN_UCX_ECHO_PEER};
    for (size_t bytes : sizes) {
      arguments.push_back(std::to_string(bytes));
    }
    arguments.push_back("steps");
    arguments.push_back(std::to_string(steps));
    process.emplace(arguments);
    auto made = makeUcxTransport({.rank = 0});
    REQUIRE_OK(made.status());
    transport = std::move(*made);
    REQUIRE_OK(
        transport->connect(1, exchangeBlobs(process->fd(), transport->localAddress()), {5, 6}));
    transport->namePeer(1, "the second process");
    REQUIRE_OK(transport->waitConnected(1, soon()));
    for (uint32_t id = 0; id < sizes.size(); ++id) {
      open(id);
    }
  }

  void open(uint32_t id) {
    size_t bytes = sizes[id];
    memory.push_back(std::make_shared<std::vector<std::byte>>(2 * bytes + 1));
    void* buffers[] = {memory[id]->data(), memory[id]->data() + bytes};
    auto recv = transport->openRecv(
        {.plan = 1, .edge = 2 * id + 1, .peer = 1, .maxBytes = bytes, .owner = memory[id]},
        buffers);
    REQUIRE_OK(recv.status());
    in.push_back(*recv);
    data.push_back(std::make_shared<std::vector<std::byte>>(bytes));
    auto send = transport->openSend(
        {.plan = 1, .edge = 2 * id, .peer = 1, .maxBytes = bytes, .owner = data[id]});
    REQUIRE_OK(send.status());
    out.push_back(*send);
  }

  std::vector<size_t> sizes;
  std::optional<PeerProcess> process;
  std::vector<std::shared_ptr<std::vector<std::byte>>> memory, data;
  std::unique_ptr<Transport> transport;
  std::vector<RecvEdge*> in;
  std::vector<SendEdge*> out;
};

TEST_CASE("two processes exchange payloads of all sizes") {
  for (const char* tls : kNetworks) {
    INFO("UCX_TLS=" << tls);
    Duo duo(tls, {0, 8, 3000, 65536, 1 << 20, 9'999'999}, 10);
    for (uint64_t step = 0; step < 10; ++step) {
      for (size_t i = 0; i < duo.sizes.size(); ++i) {
        std::fill(duo.data[i]->begin(), duo.data[i]->end(), static_cast<std::byte>(step + i));
        REQUIRE_OK(duo.out[i]->send(step, duo.data[i]->data(), duo.sizes[i], soon()));
        auto got = duo.in[i]->wait(step, soon());
        REQUIRE_OK(got.status());
        CHECK(got->bytes == duo.sizes[i]);
        CHECK((got->bytes == 0 || std::memcmp(got->data, duo.data[i]->data(), got->bytes) == 0));
        REQUIRE_OK(duo.out[i]->waitSent(step, soon()));
        duo.in[i]->release(step);
      }
    }
    CHECK(duo.process->wait() == 0);
  }
}

TEST_CASE("a credit goes with the next payload for its peer") {
  constexpr uint64_t kSteps = 1000;
  for (const char* tls : kNetworks) {
    INFO("UCX_TLS=" << tls);
    Duo duo(tls, {8, 8}, kSteps);
    for (uint64_t step = 0; step < kSteps; ++step) {
      for (size_t i = 0; i < 2; ++i) {
        REQUIRE_OK(duo.out[i]->send(step, duo.data[i]->data(), 8, soon()));
        REQUIRE_OK(duo.in[i]->wait(step, soon()).status());
        duo.in[i]->release(step);
      }
    }
    // A thread that loses its core between the two calls sends it late, and then by itself.
    CHECK(duo.transport->stats().loneCredits < kSteps);
    CHECK(duo.process->wait() == 0);
  }
}

TEST_CASE("a small payload that may ride goes with the next one, or after a while by itself") {
  constexpr uint64_t kSteps = 1000;
  for (const char* tls : kNetworks) {
    INFO("UCX_TLS=" << tls);
    Duo duo(tls, {8, 70'000, 100}, kSteps);
    for (uint64_t step = 0; step < kSteps; ++step) {
      const uint64_t value = 3 * step;
      std::memcpy(duo.data[0]->data(), &value, 8);
      // The third is not small, and no payload follows it.
      REQUIRE_OK(duo.out[0]->send(step, duo.data[0]->data(), 8, soon(), /*mayRide=*/true));
      REQUIRE_OK(duo.out[1]->send(step, duo.data[1]->data(), 70'000, soon()));
      REQUIRE_OK(duo.out[2]->send(step, duo.data[2]->data(), 100, soon(), /*mayRide=*/true));
      for (size_t i = 0; i < 3; ++i) {
        auto got = duo.in[i]->wait(step, soon());
        REQUIRE_OK(got.status());
        REQUIRE((i != 0 || std::memcmp(got->data, &value, 8) == 0));
        REQUIRE_OK(duo.out[i]->waitSent(step, soon()));
        duo.in[i]->release(step);
      }
    }
    // A thread that loses its core between the two calls sends it late, and then by itself.
    CHECK(duo.transport->stats().ridden > 0);
    CHECK(duo.transport->stats().ridden <= kSteps);
    CHECK(duo.process->wait() == 0);
  }
  for (const char* tls : kNetworks) {
    Duo duo(tls, {8}, 100);
    for (uint64_t step = 0; step < 100; ++step) {  // nothing to go with
      REQUIRE_OK(duo.out[0]->send(step, duo.data[0]->data(), 8, soon(), /*mayRide=*/true));
      REQUIRE_OK(duo.in[0]->wait(step, soon()).status());
      duo.in[0]->release(step);
    }
    CHECK(duo.transport->stats().ridden == 0);
    CHECK(duo.process->wait() == 0);
  }
}

TEST_CASE("a credit that no payload follows is sent all the same") {
  for (const char* tls : kNetworks) {
    INFO("UCX_TLS=" << tls);
    Duo duo(tls, {8}, 1'000'000);
    for (uint64_t step = 0; step < 8; ++step) {
      REQUIRE_OK(duo.out[0]->send(step, duo.data[0]->data(), 8, soon()));
      REQUIRE_OK(duo.in[0]->wait(step, soon()).status());
      const uint64_t before = duo.transport->stats().loneCredits;
      duo.in[0]->release(step);
      const WaitOptions end = soon();
      while (duo.transport->stats().loneCredits == before && nowNanos() < end.deadlineNanos) {
        std::this_thread::sleep_for(std::chrono::microseconds(100));  // and drives nothing
      }
      CHECK(duo.transport->stats().loneCredits == before + 1);
    }
  }
}

#ifndef GRAPHRUN_SANITIZED  // with whose checks a round trip takes longer than polling did
/// Keeps this thread, and whatever it starts, to the first core that it may use.
class OneCore {
 public:
  OneCore() {
    REQUIRE(sched_getaffinity(0, sizeof all_, &all_) == 0);
    cpu_set_t one;
    CPU_ZERO(&one);
    for (int core = 0; CPU_COUNT(&one) == 0; ++core) {
      if (CPU_ISSET(core, &all_)) {
        CPU_SET(core, &one);
      }
    }
    REQUIRE(sched_setaffinity(0, sizeof one, &one) == 0);
  }
  ~OneCore() { sched_setaffinity(0, sizeof all_, &all_); }
  OneCore(const OneCore&) = delete;
  OneCore& operator=(const OneCore&) = delete;

 private:
  cpu_set_t all_;
};

TEST_CASE("processes that wait for each other hand their only core over") {
  constexpr uint64_t kSteps = 100;
  constexpr uint64_t kTries = 50;
  const OneCore core;
  Duo duo("posix,self", {8}, kSteps * kTries);
  int64_t shortest = kSecond;
  for (uint64_t first = 0; first < kSteps * kTries; first += kSteps) {  // others want it in some
    const int64_t begin = nowNanos();
    for (uint64_t step = first; step < first + kSteps; ++step) {
      REQUIRE_OK(duo.out[0]->send(step, duo.data[0]->data(), 8, soon()));
      REQUIRE_OK(duo.in[0]->wait(step, soon()).status());
      duo.in[0]->release(step);
    }
    shortest = std::min(shortest, nowNanos() - begin);
  }
  // A round trip. Where both poll for 40 us before they let go of the core it takes over 80.
  CHECK(shortest / static_cast<int64_t>(kSteps) < 60'000);
  CHECK(duo.process->wait() == 0);
}
#endif

/// The peer gets a signal while `bytes` are under way in both directions; heartbeats, here a
/// thread, report it 0.3 s later. Every wait must end, closing must take no time, and the memory
/// must stay until the transport goes.
void loseThePeer(const char* tls, int signal, size_t bytes) {
  INFO("UCX_TLS=" << tls << " signal " << signal << " bytes " << bytes);
  std::weak_ptr<void> received;
  {
    Duo duo(tls, {bytes}, 1'000'000);
    received = duo.memory[0];
    uint64_t step = 0;
    for (; step < 3; ++step) {
      REQUIRE_OK(duo.out[0]->send(step, duo.data[0]->data(), bytes, soon()));
      REQUIRE_OK(duo.in[0]->wait(step, soon()).status());
      REQUIRE_OK(duo.out[0]->waitSent(step, soon()));
      duo.in[0]->release(step);
    }
    REQUIRE_OK(duo.out[0]->send(step, duo.data[0]->data(), bytes, soon()));
    std::thread heartbeat([&] {
      duo.process->signal(signal);
      std::this_thread::sleep_for(std::chrono::milliseconds(300));
      duo.transport->markPeerFailed(1, absl::UnavailableError("no heartbeat from node1"));
    });
    int64_t start = nowNanos();
    absl::Status status;
    while (status.ok()) {
      status = duo.in[0]->wait(step, soon()).status();
      if (status.ok()) {
        duo.in[0]->release(step++);
        status = duo.out[0]->send(step, duo.data[0]->data(), bytes, soon());
      }
    }
    heartbeat.join();
    CHECK(absl::IsUnavailable(status));
    CHECK(absl::StrContains(status.message(), "rank 1"));
    CHECK(nowNanos() - start < 5 * kSecond);
    start = nowNanos();
    duo.transport->close(duo.in[0]);
    duo.transport->close(duo.out[0]);
    duo.memory.clear();
    duo.data.clear();
    CHECK(nowNanos() - start < kSecond);
    if (signal == SIGSTOP) {  // what it still sends must find valid memory
      duo.process->signal(SIGCONT);
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    duo.process->signal(SIGKILL);
    duo.process->wait();
    start = nowNanos();
    duo.transport.reset();
    CHECK(nowNanos() - start < kSecond);
  }
  CHECK(received.expired());
}

TEST_CASE("a killed peer ends the waits once it is reported") {
  for (const char* tls : kNetworks) {
    for (size_t bytes : {8, 16 << 20}) {
      loseThePeer(tls, SIGKILL, bytes);
    }
  }
}

TEST_CASE("a stopped peer ends the waits once it is reported, and may wake up later") {
  for (const char* tls : kNetworks) {
    for (size_t bytes : {8, 16 << 20}) {
      loseThePeer(tls, SIGSTOP, bytes);
    }
  }
}

void echo(Duo& duo, uint64_t step) {
  REQUIRE_OK(duo.out[0]->send(step, duo.data[0]->data(), duo.sizes[0], soon()));
  REQUIRE_OK(duo.in[0]->wait(step, soon()).status());
  REQUIRE_OK(duo.out[0]->waitSent(step, soon()));
  duo.in[0]->release(step);
}

// Nobody reports anything here.
TEST_CASE("a peer that is only idle stays, and one that falls silent is lost within 3 s") {
  Duo killed("posix,cma,self", {8}, 1'000'000);
  Duo stopped("tcp,self", {16 << 20}, 1'000'000);
  echo(killed, 0);
  echo(stopped, 0);
  std::this_thread::sleep_for(std::chrono::nanoseconds(kSilence + kSecond));
  echo(killed, 1);
  echo(stopped, 1);
  killed.process->signal(SIGKILL);
  stopped.process->signal(SIGSTOP);
  const int64_t start = nowNanos();
  REQUIRE_OK(stopped.out[0]->send(2, stopped.data[0]->data(), 16 << 20, soon()));
  for (Duo* duo : {&killed, &stopped}) {
    const absl::Status status = duo->in[0]->wait(2, soon()).status();
    INFO(status);
    CHECK(absl::IsUnavailable(status));
    CHECK_THAT(std::string(status.message()), Catch::Contains("the second process is lost"));
  }
  CHECK(nowNanos() - start < 3 * kSecond + kMargin);
}

/// What this process writes to stderr, at all levels, while the object lives.
class CapturedLog {
 public:
  CapturedLog() : file_(tmpfile()), kept_(dup(STDERR_FILENO)) {
    REQUIRE(file_ != nullptr);
    dup2(fileno(file_), STDERR_FILENO);
    setLogThreshold(LogLevel::kDebug);
  }
  ~CapturedLog() {
    setLogThreshold(LogLevel::kWarning);
    dup2(kept_, STDERR_FILENO);
    ::close(kept_);
    fclose(file_);
  }
  std::string text() const {
    std::string text(1 << 16, '\0');
    ssize_t bytes = pread(fileno(file_), text.data(), text.size(), 0);
    text.resize(bytes < 0 ? 0 : static_cast<size_t>(bytes));
    return text;
  }

 private:
  FILE* file_;
  int kept_;
};

// More edges than shared memory takes messages that nobody reads any more.
TEST_CASE("at the end of a job nothing is said to peers that ended it sooner") {
  for (const char* tls : kNetworks) {
    INFO("UCX_TLS=" << tls);
    Duo duo(tls, std::vector<size_t>(300, 8), 1);
    for (size_t i = 0; i < duo.sizes.size(); ++i) {
      REQUIRE_OK(duo.out[i]->send(0, duo.data[i]->data(), 8, soon()));
      REQUIRE_OK(duo.in[i]->wait(0, soon()).status());
      duo.in[i]->release(0);
    }
    REQUIRE(duo.process->wait() == 0);
    CapturedLog log;
    int64_t start = nowNanos();
    duo.transport->leave();
    for (size_t i = 0; i < duo.sizes.size(); ++i) {
      duo.transport->close(duo.in[i]);
      duo.transport->close(duo.out[i]);
    }
    duo.transport.reset();
    CHECK(nowNanos() - start < kSecond);
    CHECK_THAT(log.text(), !Catch::Contains("control message"));
  }
}

#if defined(__x86_64__)
TEST_CASE("a transport leaves libc's memory functions unpatched") {
  unsetenv("UCX_TLS");
  auto firstBytes = [] {
    std::vector<unsigned> bytes;
    for (const char* name : {"mmap", "munmap", "madvise", "brk", "mremap"}) {
      bytes.push_back(*static_cast<const unsigned*>(dlsym(RTLD_NEXT, name)) & 0xff);
    }
    return bytes;
  };
  auto transport = makeUcxTransport({.rank = 0});
  REQUIRE_OK(transport.status());
  CHECK(getenv("UCX_MEM_EVENTS") == nullptr);  // the environment is as it was
  for (unsigned byte : firstBytes()) {
    CHECK(byte != 0xe9);  // a jump, as UCX's hooks are
  }
}
#endif

TEST_CASE("memory events can only be asked for before UCX is loaded") {
  REQUIRE_OK(makeUcxTransport({.rank = 0}).status());
  auto late = makeUcxTransport({.rank = 0, .memoryEvents = true});
  CHECK(absl::IsFailedPrecondition(late.status()));
}

TEST_CASE("a transport leaves no signal handlers in the process") {
  unsetenv("UCX_TLS");
  auto transport = makeUcxTransport({.rank = 0});
  REQUIRE_OK(transport.status());
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  // Catch2 2 sets its own handlers around a test case: its, or none, but not those of libucs.
  Dl_info library{};
  for (int signal : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGHUP}) {
    struct sigaction action{};
    REQUIRE(sigaction(signal, nullptr, &action) == 0);
    if (action.sa_handler != SIG_DFL && action.sa_handler != SIG_IGN) {
      REQUIRE(dladdr(reinterpret_cast<void*>(action.sa_handler), &library) != 0);
      CHECK_FALSE(absl::StrContains(library.dli_fname, "libuc"));
    }
  }
#endif
}

TEST_CASE("an address of another UCX version is refused") {
  unsetenv("UCX_TLS");
  auto transport = makeUcxTransport({.rank = 0});
  REQUIRE_OK(transport.status());
  absl::Status status = (*transport)->connect(1, "gr-ucx2 1.99.0\nxxxxxxxx", {1, 2});
  CHECK(absl::IsFailedPrecondition(status));
  CHECK(absl::StrContains(status.message(), "the peer runs UCX 1.99.0"));
  for (const char* bad :
       {"", "gr-ucx 1.13.1 x 1\nxxx", "gr-ucx2 ", "gr-ucx2 1.13.1", "gr-ucx2 \n", "x\n"}) {
    CHECK_FALSE((*transport)->connect(1, bad, {1, 2}).ok());
  }
}

TEST_CASE("an interface that does not exist is reported") {
  unsetenv("UCX_TLS");
  setenv("UCX_TLS", "tcp", 1);
  auto transport = makeUcxTransport({.rank = 0, .networkInterface = "nosuch0"});
  unsetenv("UCX_TLS");
  CHECK_FALSE(transport.ok());
}

TEST_CASE("a waiting process sleeps") {
  unsetenv("UCX_TLS");
  auto transport = makeUcxTransport({.rank = 0});
  REQUIRE_OK(transport.status());
  timespec before{}, after{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &before);
  CHECK(absl::IsDeadlineExceeded(
      (*transport)->wait([] { return false; }, WaitOptions::within(kSecond))));
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &after);
  double used = (after.tv_sec - before.tv_sec) + 1e-9 * (after.tv_nsec - before.tv_nsec);
  CHECK(used < 0.02);
}

}  // namespace
}  // namespace graphrun::runtime::testing
