// What every transport must do. Each case runs over every kind of network of worlds.cpp.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>
#include <thread>

#include "absl/strings/match.h"
#include "require_ok.h"
#include "runtime/base/clock.h"
#include "runtime/base/log.h"
#include "worlds.h"

namespace graphrun::runtime::testing {
namespace {

constexpr uint64_t kPlan = 77;

WaitOptions soon() { return WaitOptions::within(20 * kSecond); }

template <typename F>
void forEachWorld(uint32_t size, F&& body) {
  for (const Factory& factory : factories()) {
    INFO("transport: " << factory.name);
    World world = factory.make(size);
    body(world);
  }
}

/// An edge from one rank of a world to another, with its slot buffers.
struct TestEdge {
  TestEdge(World& world, uint32_t id, size_t maxBytes, uint32_t slots = 2, uint32_t from = 0,
           uint32_t to = 1)
      : sender(world[from]), receiver(world[to]) {
    memory = std::make_shared<std::vector<std::byte>>(maxBytes * slots + 1);
    std::vector<void*> buffers;
    for (uint32_t i = 0; i < slots; ++i) {
      buffers.push_back(memory->data() + i * maxBytes);
    }
    auto opened = receiver.openRecv({.plan = kPlan,
                                     .edge = id,
                                     .peer = from,
                                     .maxBytes = maxBytes,
                                     .slots = slots,
                                     .owner = memory},
                                    buffers);
    REQUIRE_OK(opened.status());
    recv = *opened;
    auto sending = sender.openSend(
        {.plan = kPlan, .edge = id, .peer = to, .maxBytes = maxBytes, .slots = slots});
    REQUIRE_OK(sending.status());
    send = *sending;
  }

  void close() {
    sender.close(send);
    receiver.close(recv);
  }

  Transport& sender;
  Transport& receiver;
  std::shared_ptr<std::vector<std::byte>> memory;
  SendEdge* send = nullptr;
  RecvEdge* recv = nullptr;
};

std::vector<std::byte> pattern(size_t bytes, uint64_t seed) {
  std::vector<std::byte> data(bytes);
  for (size_t i = 0; i < bytes; ++i) {
    data[i] = static_cast<std::byte>((i * 2654435761U + seed * 40503U) >> 7);
  }
  return data;
}

bool holds(const Received& received, const std::vector<std::byte>& expected) {
  return received.bytes == expected.size() &&
         (expected.empty() || std::memcmp(received.data, expected.data(), expected.size()) == 0);
}

void sendAndCheck(TestEdge& edge, uint64_t step, const std::vector<std::byte>& data) {
  REQUIRE_OK(edge.send->send(step, data.data(), data.size(), soon()));
  absl::StatusOr<Received> received = edge.recv->wait(step, soon());
  REQUIRE_OK(received.status());
  CHECK(holds(*received, data));
  edge.recv->release(step);
  REQUIRE_OK(edge.send->waitSent(step, soon()));
}

/// Moves messages for a while, to see that something does not happen.
void churn(World& world, int64_t nanos = 20'000'000) {
  int64_t until = nowNanos() + nanos;
  while (nowNanos() < until) {
    for (auto& transport : world.transports) {
      transport->progress();
    }
  }
}

TEST_CASE("payloads of all sizes arrive whole") {
  forEachWorld(2, [](World& world) {
    world.connectAll();
    uint32_t id = 0;
    for (size_t bytes : {0, 1, 8, 63, 1000, 8192, 65536, 1 << 20, (8 << 20) + 3}) {
      TestEdge edge(world, id++, bytes);
      for (uint64_t step = 0; step < 5; ++step) {
        sendAndCheck(edge, step, pattern(bytes, step));
      }
      edge.close();
    }
  });
}

TEST_CASE("a payload may be smaller than the bound, or empty, but not larger") {
  forEachWorld(2, [](World& world) {
    world.connectAll();
    TestEdge edge(world, 0, 100);
    sendAndCheck(edge, 0, pattern(100, 0));
    sendAndCheck(edge, 1, pattern(0, 1));
    sendAndCheck(edge, 2, pattern(7, 2));
    auto large = pattern(101, 3);
    absl::StatusOr<bool> sent = edge.send->trySend(3, large.data(), large.size());
    CHECK(absl::IsInvalidArgument(sent.status()));
    CHECK(absl::StrContains(sent.status().message(), "edge 0"));
  });
}

TEST_CASE("many edges in both directions, polled in any order") {
  forEachWorld(3, [](World& world) {
    world.connectAll();
    std::vector<TestEdge> edges;
    for (uint32_t id = 0; id < 120; ++id) {
      edges.emplace_back(world, id, 16 + id * 37, 2, id % 3, (id + 1 + id / 60) % 3);
    }
    for (uint64_t step = 0; step < 20; ++step) {
      std::vector<std::vector<std::byte>> data;
      for (uint32_t id = 0; id < edges.size(); ++id) {
        data.push_back(pattern(16 + id * 37, step * 1000 + id));
        REQUIRE_OK(edges[id].send->send(step, data[id].data(), data[id].size(), soon()));
      }
      for (uint32_t i = 0; i < edges.size(); ++i) {
        uint32_t id = (i * 77 + step) % edges.size();
        auto received = edges[id].recv->wait(step, soon());
        REQUIRE_OK(received.status());
        CHECK(holds(*received, data[id]));
        edges[id].recv->release(step);
      }
      for (TestEdge& edge : edges) {
        REQUIRE_OK(edge.send->waitSent(step, soon()));
      }
    }
  });
}

TEST_CASE("slots bound the steps in flight, and a released slot can be used again") {
  forEachWorld(2, [](World& world) {
    world.connectAll();
    for (size_t bytes : {8, 300000}) {
      TestEdge edge(world, static_cast<uint32_t>(bytes), bytes, 3);
      std::vector<std::vector<std::byte>> data;
      for (uint64_t step = 0; step < 4; ++step) {
        data.push_back(pattern(bytes, step));
      }
      for (uint64_t step = 0; step < 3; ++step) {
        REQUIRE_OK(edge.send->send(step, data[step].data(), bytes, soon()));
      }
      auto fourth = edge.send->trySend(3, data[3].data(), bytes);
      REQUIRE_OK(fourth.status());
      CHECK_FALSE(*fourth);
      absl::Status held =
          edge.send->send(3, data[3].data(), bytes, WaitOptions::within(20'000'000));
      CHECK(absl::IsDeadlineExceeded(held));
      // All three have landed and stay while the consumer looks at the last first.
      for (uint64_t step : {2, 0, 1}) {
        auto received = edge.recv->wait(step, soon());
        REQUIRE_OK(received.status());
        CHECK(holds(*received, data[step]));
      }
      CHECK_FALSE(edge.recv->poll(3).has_value());
      edge.recv->release(0);
      REQUIRE_OK(edge.send->send(3, data[3].data(), bytes, soon()));
      REQUIRE_OK(edge.recv->wait(3, soon()).status());
      CHECK(holds(*edge.recv->poll(1), data[1]));
      edge.close();
    }
  });
}

TEST_CASE("producer and consumer run in threads of their own") {
  forEachWorld(2, [](World& world) {
    world.connectAll();
    for (uint32_t slots : {1, 2, 5}) {
      TestEdge edge(world, slots, 40000, slots);
      constexpr uint64_t kSteps = 300;
      absl::Status produced;
      std::thread producer([&] {
        std::vector<std::vector<std::byte>> buffers(slots);
        for (uint64_t step = 0; step < kSteps && produced.ok(); ++step) {
          auto& buffer = buffers[step % slots];
          if (step >= slots) {
            produced = edge.send->waitSent(step - slots, soon());
          }
          buffer = pattern(step % 3 == 0 ? 40000 : 24, step);
          if (produced.ok()) {
            produced = edge.send->send(step, buffer.data(), buffer.size(), soon());
          }
        }
        for (uint64_t step = kSteps - slots; step < kSteps && produced.ok(); ++step) {
          produced = edge.send->waitSent(step, soon());
        }
      });
      absl::Status consumed;
      uint64_t wrong = 0;
      for (uint64_t step = 0; step < kSteps && consumed.ok(); ++step) {
        auto received = edge.recv->wait(step, soon());
        consumed = received.status();
        if (consumed.ok()) {
          wrong += holds(*received, pattern(step % 3 == 0 ? 40000 : 24, step)) ? 0 : 1;
          edge.recv->release(step);
        }
      }
      producer.join();
      REQUIRE_OK(produced);
      REQUIRE_OK(consumed);
      CHECK(wrong == 0);
      edge.close();
    }
  });
}

TEST_CASE("several threads use edges of one transport") {
  forEachWorld(2, [](World& world) {
    world.connectAll();
    constexpr uint32_t kThreads = 3;
    std::vector<TestEdge> there, back;
    for (uint32_t i = 0; i < kThreads; ++i) {
      there.emplace_back(world, i, 5000, 2, 0, 1);
      back.emplace_back(world, 100 + i, 5000, 2, 1, 0);
    }
    std::atomic<int> failures{0};
    std::vector<std::thread> threads;
    for (uint32_t i = 0; i < kThreads; ++i) {
      threads.emplace_back([&, i] {  // echoes
        for (uint64_t step = 0; step < 100; ++step) {
          auto received = there[i].recv->wait(step, soon());
          failures += received.ok() ? 0 : 1;
          failures += received.ok() &&
                              back[i].send->send(step, received->data, received->bytes, soon()).ok()
                          ? 0
                          : 1;
          failures += back[i].send->waitSent(step, soon()).ok() ? 0 : 1;
          there[i].recv->release(step);
        }
      });
      threads.emplace_back([&, i] {
        for (uint64_t step = 0; step < 100; ++step) {
          auto data = pattern(step * 49 + 1, step + i);
          failures += there[i].send->send(step, data.data(), data.size(), soon()).ok() ? 0 : 1;
          auto received = back[i].recv->wait(step, soon());
          failures += received.ok() && holds(*received, data) ? 0 : 1;
          failures += there[i].send->waitSent(step, soon()).ok() ? 0 : 1;
          back[i].recv->release(step);
        }
      });
    }
    for (auto& thread : threads) {
      thread.join();
    }
    CHECK(failures == 0);
  });
}

TEST_CASE("a wrong token is refused, the right one after it is not needed") {
  forEachWorld(2, [](World& world) {
    setLogThreshold(LogLevel::kError);
    REQUIRE_OK(world[0].connect(1, world[1].localAddress(), kToken));
    REQUIRE_OK(world[1].connect(0, world[0].localAddress(), LinkToken{1, 2}));
    TestEdge edge(world, 0, 64);
    auto data = pattern(64, 0);
    absl::Status sent =
        edge.send->send(0, data.data(), data.size(), WaitOptions::within(100'000'000));
    CHECK(absl::IsDeadlineExceeded(sent));
    CHECK(absl::StrContains(sent.message(), "edge 0 (plan 4d) to rank 1"));
    CHECK(absl::StrContains(sent.message(), "has not accepted the link"));
    CHECK(absl::IsDeadlineExceeded(world[1].waitConnected(0, WaitOptions::within(10'000'000))));
    CHECK_FALSE(edge.recv->poll(0).has_value());
    CHECK(world[0].stats().droppedMessages + world[1].stats().droppedMessages >= 2);
    setLogThreshold(LogLevel::kWarning);
  });
}

TEST_CASE("who connects first, and when edges are opened, does not matter") {
  forEachWorld(2, [](World& world) {
    REQUIRE_OK(world[0].connect(1, world[1].localAddress(), kToken));
    churn(world);
    auto early = world[0].openSend({.plan = kPlan, .edge = 5, .peer = 1, .maxBytes = 8});
    REQUIRE_OK(early.status());
    REQUIRE_OK(world[1].connect(0, world[0].localAddress(), kToken));
    REQUIRE_OK(world[0].waitConnected(1, soon()));
    REQUIRE_OK(world[1].waitConnected(0, soon()));
    uint64_t slots[2];
    void* buffers[] = {&slots[0], &slots[1]};
    auto late = world[1].openRecv({.plan = kPlan, .edge = 5, .peer = 0, .maxBytes = 8}, buffers);
    REQUIRE_OK(late.status());
    uint64_t value = 42;
    REQUIRE_OK((*early)->send(0, &value, 8, soon()));
    REQUIRE_OK((*late)->wait(0, soon()).status());
    CHECK(slots[0] == 42);
    // The other way: the receiver opens, much later the sender.
    TestEdge edge(world, 6, 8);
    edge.sender.close(edge.send);
    auto first = world[0].openRecv({.plan = kPlan, .edge = 7, .peer = 1, .maxBytes = 8}, buffers);
    REQUIRE_OK(first.status());
    churn(world);
    auto second = world[1].openSend({.plan = kPlan, .edge = 7, .peer = 0, .maxBytes = 8});
    REQUIRE_OK(second.status());
    REQUIRE_OK((*second)->send(0, &value, 8, soon()));
    REQUIRE_OK((*first)->wait(0, soon()).status());
  });
}

TEST_CASE("ends that differ are refused, naming the difference") {
  forEachWorld(2, [](World& world) {
    world.connectAll();
    uint64_t slots[3];
    void* buffers[] = {&slots[0], &slots[1], &slots[2]};
    REQUIRE_OK(
        world[1]
            .openRecv({.plan = kPlan, .edge = 0, .peer = 0, .maxBytes = 8, .slots = 3}, buffers)
            .status());
    auto send = world[0].openSend({.plan = kPlan, .edge = 0, .peer = 1, .maxBytes = 8, .slots = 2});
    REQUIRE_OK(send.status());
    uint64_t value = 1;
    absl::Status sent = (*send)->send(0, &value, 8, soon());
    CHECK(absl::IsFailedPrecondition(sent));
    CHECK(absl::StrContains(sent.message(), "sender has 2 slots of 8 bytes"));
  });
}

TEST_CASE("misuse of opening is reported") {
  forEachWorld(2, [](World& world) {
    CHECK(absl::IsNotFound(world[0].openSend({.peer = 1, .maxBytes = 8}).status()));
    CHECK(absl::IsNotFound(world[0].waitConnected(1, soon())));
    world.connectAll();
    CHECK(absl::IsAlreadyExists(world[0].connect(1, world[1].localAddress(), kToken)));
    CHECK(absl::IsInvalidArgument(world[0].connect(9, "nonsense", kToken)));
    CHECK(absl::IsInvalidArgument(
        world[0].openSend({.peer = 1, .maxBytes = 8, .slots = 0}).status()));
    CHECK(absl::IsInvalidArgument(world[0].openRecv({.peer = 1, .maxBytes = 8}, {}).status()));
    if (!world[0].sharesMemory()) {
      CHECK(absl::IsInvalidArgument(
          world[0].openSend({.peer = 1, .maxBytes = 8, .inPlace = true}).status()));
    }
    REQUIRE_OK(world[0].openSend({.peer = 1, .maxBytes = 8}).status());
    CHECK(absl::IsAlreadyExists(world[0].openSend({.peer = 1, .maxBytes = 8}).status()));
  });
}

TEST_CASE("in place, the consumer reads the producer's buffer until it releases it") {
  forEachWorld(2, [](World& world) {
    if (!world[0].sharesMemory()) {
      return;
    }
    world.connectAll();
    auto recv = world[1].openRecv({.edge = 1, .peer = 0, .maxBytes = 64, .inPlace = true}, {});
    auto send = world[0].openSend({.edge = 1, .peer = 1, .maxBytes = 64, .inPlace = true});
    REQUIRE_OK(recv.status());
    REQUIRE_OK(send.status());
    auto data = pattern(64, 1);
    REQUIRE_OK((*send)->send(0, data.data(), data.size(), soon()));
    auto received = (*recv)->wait(0, soon());
    REQUIRE_OK(received.status());
    CHECK(received->data == data.data());
    CHECK_FALSE((*send)->sent(0));
    (*recv)->release(0);
    REQUIRE_OK((*send)->waitSent(0, soon()));
    world[1].close(*recv);
    world[0].close(*send);
    CHECK(world[0].stats().retiredEdges == 0);
  });
}

TEST_CASE("a wait ends when it is cancelled, or at its deadline") {
  forEachWorld(2, [](World& world) {
    world.connectAll();
    TestEdge edge(world, 3, 64);
    int64_t start = nowNanos();
    absl::Status late = edge.recv->wait(0, WaitOptions::within(30'000'000)).status();
    CHECK(absl::IsDeadlineExceeded(late));
    CHECK(absl::StrContains(late.message(), "edge 3 (plan 4d) from rank 0, step 0"));
    CHECK(nowNanos() - start < kSecond);

    std::atomic<bool> cancel{false};
    std::thread canceller([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(30));
      cancel.store(true);
      world[1].wakeWaiters();
    });
    start = nowNanos();
    absl::Status cancelled =
        edge.recv->wait(0, WaitOptions::within(20 * kSecond, &cancel)).status();
    canceller.join();
    CHECK(absl::IsCancelled(cancelled));
    CHECK(nowNanos() - start < 2 * kSecond);
    // The edge is none the worse for it.
    sendAndCheck(edge, 0, pattern(64, 0));
  });
}

TEST_CASE("a wait is not slept through while nobody else wants the core") {
  forEachWorld(2, [](World& world) {
    int64_t shortest = kSecond;
    for (int tries = 0; tries < 20; ++tries) {  // others may want the core in some of them
      const int64_t begin = nowNanos();
      REQUIRE_OK(world[0].wait([&] { return nowNanos() - begin >= kSecond / 1000; }, soon()));
      shortest = std::min(shortest, nowNanos() - begin);
    }
    CHECK(shortest < kSecond / 100);  // who sleeps is woken by an event, or after 50 ms
  });
}

TEST_CASE("a failed peer ends every wait on it, and no other") {
  forEachWorld(3, [](World& world) {
    world.connectAll();
    TestEdge dead(world, 1, 64, 2, 1, 0);
    TestEdge toDead(world, 2, 64, 1, 0, 1);
    TestEdge alive(world, 3, 64, 2, 2, 0);
    auto data = pattern(64, 0);
    REQUIRE_OK(toDead.send->send(0, data.data(), 64, soon()));
    std::thread reporter([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(30));
      world[0].markPeerFailed(1, absl::UnavailableError("no heartbeat from node1 for 3 s"));
    });
    std::vector<absl::Status> results(2);
    std::thread waiter([&] { results[0] = dead.recv->wait(0, soon()).status(); });
    results[1] = toDead.send->send(1, data.data(), 64, soon());
    waiter.join();
    reporter.join();
    for (const absl::Status& result : results) {
      CHECK(absl::IsUnavailable(result));
      CHECK(absl::StrContains(result.message(), "no heartbeat from node1"));
      CHECK(absl::StrContains(result.message(), "rank 1"));
    }
    CHECK(absl::StrContains(results[0].message(), "edge 1 "));
    CHECK(absl::IsUnavailable(toDead.send->trySend(1, data.data(), 64).status()));
    sendAndCheck(alive, 0, data);
    dead.receiver.close(dead.recv);
    toDead.sender.close(toDead.send);
  });
}

TEST_CASE("a restarted peer can be connected again") {
  forEachWorld(2, [](World& world) {
    world.connectAll();
    for (int side : {0, 1}) {
      world[side].markPeerFailed(1 - side, absl::UnavailableError("gone"));
    }
    CHECK(absl::IsUnavailable(world[0].waitConnected(1, soon())));
    world.connectAll();
    TestEdge edge(world, 1, 64);
    sendAndCheck(edge, 0, pattern(64, 1));
  });
}

TEST_CASE("closing with steps in flight leaks nothing, and nothing late does harm") {
  forEachWorld(2, [](World& world) {
    setLogThreshold(LogLevel::kError);
    world.connectAll();
    std::weak_ptr<void> memory;
    for (uint32_t round = 0; round < 20; ++round) {
      auto data = pattern(200000, round);
      TestEdge edge(world, round, data.size(), 2);
      memory = edge.memory;
      auto sent = edge.send->trySend(0, data.data(), round % 2 == 0 ? data.size() : 8);
      REQUIRE_OK(sent.status());
      if (round % 4 < 2) {  // the receiver goes first
        world[1].close(edge.recv);
        world[0].close(edge.send);
      } else {
        world[0].close(edge.send);
        world[1].close(edge.recv);
      }
    }
    churn(world);
    TestEdge last(world, 100, 64);
    sendAndCheck(last, 0, pattern(64, 0));
    last.close();
    CHECK(memory.expired());
    for (int side : {0, 1}) {
      CHECK(world[side].stats().openEdges == 0);
      CHECK(world[side].stats().retiredEdges == 0);
    }
    setLogThreshold(LogLevel::kWarning);
  });
}

TEST_CASE("transports may go with edges open and steps in flight") {
  forEachWorld(2, [](World& world) {
    setLogThreshold(LogLevel::kError);
    world.connectAll();
    auto data = pattern(300000, 1);
    TestEdge small(world, 0, 64);
    TestEdge large(world, 1, data.size());
    REQUIRE_OK(small.send->send(0, data.data(), 64, soon()));
    REQUIRE_OK(large.send->send(0, data.data(), data.size(), soon()));
    world.transports[0].reset();
    world.transports[1].reset();
    setLogThreshold(LogLevel::kWarning);
  });
}

TEST_CASE("memory can be registered once and used by many edges") {
  forEachWorld(2, [](World& world) {
    world.connectAll();
    std::vector<std::byte> arena(1 << 20);
    REQUIRE_OK(world[1].registerMemory(arena.data(), arena.size(), ""));
    void* buffers[] = {arena.data(), arena.data() + 500000};
    auto recv = world[1].openRecv({.edge = 1, .peer = 0, .maxBytes = 500000}, buffers);
    auto send = world[0].openSend({.edge = 1, .peer = 1, .maxBytes = 500000});
    REQUIRE_OK(recv.status());
    REQUIRE_OK(send.status());
    auto data = pattern(500000, 1);
    REQUIRE_OK((*send)->send(1, data.data(), data.size(), soon()));
    auto received = (*recv)->wait(1, soon());
    REQUIRE_OK(received.status());
    CHECK(received->data == buffers[1]);
    CHECK(holds(*received, data));
    world[1].close(*recv);
    world[1].unregisterMemory(arena.data());
  });
}

}  // namespace
}  // namespace graphrun::runtime::testing
