// bench_transport: what an edge between two processes costs over UCX. One line of JSON: one-way
// latency of a ping-pong, bandwidth of a stream, and the latency when the receiver sleeps.
#include <algorithm>
#include <cstdio>
#include <thread>

#include "CLI/CLI.hpp"
#include "runtime/transport/edge.h"
#include "runtime/transport/ucx.h"
#include "tests/runtime/transport/peer_process.h"

namespace graphrun::runtime {
namespace {

using testing::exchangeBlobs;
using testing::PeerProcess;

constexpr int64_t kPatience = 60'000'000'000;

struct Flags {
  std::string tls = "shm";
  size_t bytes = 8;
  uint64_t iterations = 10000;
  uint32_t slots = 2;
  std::string test = "latency";
  int64_t pauseMicros = 0;
  bool child = false;
};

WaitOptions patiently() { return WaitOptions::within(kPatience); }

void must(const absl::Status& status) {
  if (!status.ok()) {
    std::fprintf(stderr, "bench_transport: %s\n", status.ToString().c_str());
    std::_Exit(6);
  }
}

template <typename T>
T must(absl::StatusOr<T> result) {
  must(result.status());
  return std::move(*result);
}

/// One process's end of two edges, one each way, and their memory.
struct Side {
  Side(const Flags& flags, uint32_t rank, int fd)
      : memory((2 * flags.slots) * flags.bytes + 1, std::byte{1}), bytes(flags.bytes) {
    transport = must(makeUcxTransport({.rank = rank}));
    uint32_t peer = 1 - rank;
    must(transport->connect(peer, exchangeBlobs(fd, transport->localAddress()), {1, 2}));
    EdgeSpec spec{.plan = 1, .edge = peer, .peer = peer, .maxBytes = bytes, .slots = flags.slots};
    std::vector<void*> buffers;
    for (uint32_t i = 0; i < flags.slots; ++i) {
      buffers.push_back(memory.data() + i * bytes);
      outgoing.push_back(memory.data() + (flags.slots + i) * bytes);
    }
    in = must(transport->openRecv(spec, buffers));
    spec.edge = rank;
    out = must(transport->openSend(spec));
    must(transport->waitConnected(peer, patiently()));
  }

  void send(uint64_t step) {
    const void* data = outgoing[step % outgoing.size()];
    must(out->send(step, data, bytes, patiently()));
  }
  void receive(uint64_t step) {
    must(in->wait(step, patiently()).status());
    in->release(step);
  }

  std::vector<std::byte> memory;
  std::vector<std::byte*> outgoing;
  size_t bytes;
  std::unique_ptr<Transport> transport;
  RecvEdge* in = nullptr;
  SendEdge* out = nullptr;
};

void pause(const Flags& flags) {
  if (flags.pauseMicros > 0) {
    std::this_thread::sleep_for(std::chrono::microseconds(flags.pauseMicros));
  }
}

// Half of each round trip, in microseconds.
std::vector<double> pingPong(Side& side, const Flags& flags, uint64_t from, uint64_t to) {
  std::vector<double> times;
  times.reserve(to - from);
  for (uint64_t step = from; step < to; ++step) {
    if (flags.child) {
      side.receive(step);
      side.send(step);
      continue;
    }
    pause(flags);
    int64_t start = nowNanos();
    side.send(step);
    side.receive(step);
    times.push_back((nowNanos() - start) / 2e3);
  }
  return times;
}

// Seconds until all payloads were taken.
double stream(Side& side, const Flags& flags, uint64_t from, uint64_t to) {
  int64_t start = nowNanos();
  for (uint64_t step = from; step < to; ++step) {
    flags.child ? side.receive(step) : side.send(step);
  }
  if (!flags.child) {
    for (uint64_t step = std::max(from, to - flags.slots); step < to; ++step) {
      must(side.out->waitSent(step, patiently()));
    }
  }
  return (nowNanos() - start) / 1e9;
}

void run(const Flags& flags, int fd) {
  Side side(flags, flags.child ? 1 : 0, fd);
  uint64_t warmUp = flags.test == "latency" ? std::max<uint64_t>(flags.iterations / 10, 2) : 4;
  uint64_t end = warmUp + flags.iterations;
  if (flags.test == "latency") {
    pingPong(side, flags, 0, warmUp);
    int64_t start = nowNanos();
    std::vector<double> times = pingPong(side, flags, warmUp, end);
    double mean = (nowNanos() - start) / 2e3 / flags.iterations - flags.pauseMicros / 2.0;
    std::sort(times.begin(), times.end());
    if (!flags.child) {
      std::printf(
          "{\"test\":\"latency\",\"tls\":\"%s\",\"bytes\":%zu,\"p50_us\":%.3f,"
          "\"p99_us\":%.3f,\"mean_us\":%.3f}\n",
          flags.tls.c_str(), flags.bytes, times[times.size() / 2], times[times.size() * 99 / 100],
          mean);
    }
  } else {
    stream(side, flags, 0, warmUp);
    double seconds = stream(side, flags, warmUp, end);
    if (!flags.child) {
      std::printf("{\"test\":\"bandwidth\",\"tls\":\"%s\",\"bytes\":%zu,\"MBps\":%.1f}\n",
                  flags.tls.c_str(), flags.bytes,
                  static_cast<double>(flags.bytes) * flags.iterations / seconds / (1 << 20));
    }
  }
  std::fflush(stdout);
  char done = 0;
  testing::writeAll(fd, &done, 1);  // neither leaves before the other has all it needs
  testing::readAll(fd, &done, 1);
}

}  // namespace
}  // namespace graphrun::runtime

int main(int argc, char** argv) {
  using graphrun::runtime::Flags;
  Flags flags;
  CLI::App app("What an edge between two processes costs over UCX");
  app.add_option("--tls", flags.tls, "UCX transports: tcp or shm");
  app.add_option("--bytes", flags.bytes, "payload");
  app.add_option("--iters", flags.iterations, "steps");
  app.add_option("--slots", flags.slots, "steps in flight");
  app.add_option("--test", flags.test)->check(CLI::IsMember({"latency", "bandwidth"}));
  app.add_option("--pause", flags.pauseMicros, "microseconds before each ping: the peer sleeps");
  app.add_flag("--child", flags.child, "internal: the second process");
  CLI11_PARSE(app, argc, argv);
  setenv("UCX_TLS", flags.tls.c_str(), 1);
  if (flags.child) {
    graphrun::runtime::run(flags, graphrun::runtime::testing::kParentFd);
    return 0;
  }
  std::vector<std::string> arguments(argv, argv + argc);
  arguments[0] = "/proc/self/exe";
  arguments.push_back("--child");
  graphrun::runtime::testing::PeerProcess peer(arguments);
  graphrun::runtime::run(flags, peer.fd());
  return peer.wait();
}
