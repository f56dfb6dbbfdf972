// The simulated network: the same seed gives the same run, and cuts lose what they should.
#include "runtime/transport/sim.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <set>

#include "gpu_memory.h"
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

/// A kind of memory that the host cannot use.
constexpr char kOwn[] = "cuda";

EdgeSpec edge(uint32_t peer, const std::string& memory) {
  EdgeSpec spec;
  spec.edge = 3;
  spec.peer = peer;
  spec.maxBytes = 4096;
  spec.slots = 1;
  spec.memory = memory;
  return spec;
}

/// Two transports that carry memory of GPUs, or the host's alone.
World linked(bool gpuMemory) {
  World world;
  SimOptions options;
  if (gpuMemory) {
    options.copy = copyAny;
  }
  auto network = makeSimNetwork(options);
  world.network = network;
  for (uint32_t rank : {0, 1}) {
    world.transports.push_back(*makeSimTransport(network, rank));
  }
  world.connectAll();
  return world;
}

TEST_CASE("payloads come from and land in memory of GPUs and of the host, as each end says") {
  const auto [from, to] =
      GENERATE(table<std::string, std::string>({{kOwn, kOwn}, {"", kOwn}, {kOwn, ""}}));
  const auto bytes = GENERATE(size_t{0}, size_t{8}, size_t{4096});  // with the message, and fetched
  World world = linked(true);
  CHECK(world[0].carries(kOwn));
  std::vector<uint8_t> given(4096, 5);
  std::vector<uint8_t> landed(4096, 0);
  void* target = to == kOwn ? asGpu(landed.data()) : landed.data();
  void* source = from == kOwn ? asGpu(given.data()) : given.data();
  RecvEdge* in = world[1].openRecv(edge(0, to), {target}).value();
  SendEdge* out = world[0].openSend(edge(1, from)).value();
  REQUIRE(out->send(0, source, bytes, WaitOptions::within(kSecond)).ok());
  CHECK(in->wait(0, WaitOptions::within(kSecond)).value().data == target);
  in->release(0);
  CHECK(std::count(landed.begin(), landed.end(), 5) == static_cast<ptrdiff_t>(bytes));
}

TEST_CASE("a network that carries the host's memory alone refuses other memory") {
  World world = linked(false);
  CHECK(!world[0].carries(kOwn));
  CHECK(absl::IsFailedPrecondition(world[0].openSend(edge(1, kOwn)).status()));
  void* target = &world;
  CHECK(absl::IsFailedPrecondition(world[1].openRecv(edge(0, kOwn), {target}).status()));
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

World unlinked(std::shared_ptr<SimNetwork> network, uint32_t size) {
  World world;
  world.network = network;
  for (uint32_t rank = 0; rank < size; ++rank) {
    world.transports.push_back(*makeSimTransport(network, rank));
  }
  return world;
}

TEST_CASE("peers meet although the first messages between them are lost") {
  for (uint64_t messages = 1; messages <= 4; ++messages) {
    INFO(messages << " lost");
    auto network = makeSimNetwork({.seed = messages});
    World world = unlinked(network, 2);
    network->loseNext(0, 1, messages);
    world.connectAll();
  }
}

TEST_CASE("one that calls itself a peer keeps nobody from meeting it") {
  auto network = makeSimNetwork({.seed = 1});
  World world = unlinked(network, 3);
  auto deliverAll = [&] {
    while (world[1].progress()) {
    }
  };
  REQUIRE(world[0].connect(1, world[1].localAddress(), kToken).ok());
  deliverAll();
  REQUIRE(world[2].setRank(0).ok());
  REQUIRE(world[2].connect(1, world[1].localAddress(), LinkToken{1, 2}).ok());
  deliverAll();
  REQUIRE(world[1].connect(0, "sim:0", kToken).ok());
  CHECK(world[0].waitConnected(1, WaitOptions::within(5 * kSecond)).ok());
  CHECK(world[1].waitConnected(0, WaitOptions::within(5 * kSecond)).ok());
  CHECK(absl::IsDeadlineExceeded(world[2].waitConnected(1, WaitOptions::within(kSecond / 100))));
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
