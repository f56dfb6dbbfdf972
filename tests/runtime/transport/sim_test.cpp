// The simulated network: the same seed gives the same run, and cuts lose what they should.
#include "runtime/transport/sim.h"

#include <catch2/catch.hpp>
#include <set>

#include "runtime/transport/edge.h"
#include "worlds.h"

namespace graphrun::runtime::testing {
namespace {

struct Pair {
  explicit Pair(uint64_t seed) : network(makeSimNetwork({.seed = seed})) {
    world.network = network;
    for (uint32_t rank : {0, 1}) {
      world.transports.push_back(*makeSimTransport(network, rank));
    }
    world.connectAll();
    void* buffers[] = {&values[0], &values[1], &values[2], &values[3]};
    recv = *world[1].openRecv({.edge = 1, .peer = 0, .maxBytes = 8, .slots = 4}, buffers);
    send = *world[0].openSend({.edge = 1, .peer = 1, .maxBytes = 8, .slots = 4});
  }
  std::shared_ptr<SimNetwork> network;
  World world;
  uint64_t values[4] = {};
  RecvEdge* recv = nullptr;
  SendEdge* send = nullptr;
};

uint64_t runSteps(uint64_t seed, bool* overtaken) {
  Pair pair(seed);
  for (uint64_t base = 0; base < 40; base += 4) {
    for (uint64_t step = base; step < base + 4; ++step) {
      REQUIRE(pair.send->send(step, &step, 8, WaitOptions::within(kSecond)).ok());
    }
    while (!pair.recv->poll(base).has_value()) {
      *overtaken |= pair.recv->poll(base + 3).has_value();
      REQUIRE(pair.world[1].progress());
    }
    for (uint64_t step = base; step < base + 4; ++step) {
      REQUIRE(pair.recv->wait(step, WaitOptions::within(kSecond)).ok());
      CHECK(pair.values[step % 4] == step);
      pair.recv->release(step);
    }
  }
  return pair.network->orderHash();
}

TEST_CASE("a seed decides the order, and orders differ") {
  std::set<uint64_t> hashes;
  bool overtaken = false;
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    uint64_t hash = runSteps(seed, &overtaken);
    CHECK(runSteps(seed, &overtaken) == hash);
    hashes.insert(hash);
  }
  CHECK(hashes.size() == 20);
  CHECK(overtaken);
}

TEST_CASE("a cut link loses messages until the peer is given up") {
  Pair pair(3);
  uint64_t value = 1;
  pair.network->cut(0, 1);
  REQUIRE_FALSE(pair.send->trySend(0, &value, 8).value_or(true));  // the announcement was lost
  CHECK(absl::IsDeadlineExceeded(pair.recv->wait(0, WaitOptions::within(20'000'000)).status()));
  pair.world[1].markPeerFailed(0, absl::UnavailableError("cut"));
  CHECK(absl::IsUnavailable(pair.recv->wait(0, WaitOptions::within(kSecond)).status()));
}

TEST_CASE("cut after any number of messages, waits end and closing leaks nothing") {
  for (uint64_t messages = 0; messages < 40; ++messages) {
    Pair pair(messages + 1);
    std::vector<std::byte> large(50'000);
    void* buffers[] = {large.data(), large.data() + 25'000};
    auto recv = *pair.world[1].openRecv({.edge = 2, .peer = 0, .maxBytes = 25'000}, buffers);
    auto send = *pair.world[0].openSend({.edge = 2, .peer = 1, .maxBytes = 25'000});
    std::vector<std::byte> data(25'000);
    pair.network->cutAfter(0, 1, messages);
    uint64_t step = 0;
    absl::Status status;
    while (status.ok() && step < 50) {
      status = send->send(step, data.data(), data.size(), WaitOptions::within(2'000'000));
      if (status.ok()) {
        status = recv->wait(step, WaitOptions::within(2'000'000)).status();
      }
      if (status.ok()) {
        recv->release(step++);
      }
    }
    CHECK(absl::IsDeadlineExceeded(status));
    pair.world[0].markPeerFailed(1, absl::UnavailableError("cut"));
    pair.world[1].markPeerFailed(0, absl::UnavailableError("cut"));
    CHECK(absl::IsUnavailable(send->status()));
    pair.world[0].close(send);
    pair.world[1].close(recv);
    CHECK(pair.world[0].stats().retiredEdges == 0);
    CHECK(pair.world[1].stats().retiredEdges == 0);
  }
}

}  // namespace
}  // namespace graphrun::runtime::testing
