// What transports have in common, against a network that only notes what it is given: messages that
// no peer of ours sends, and memory that runs out.
#include "runtime/transport/core.h"

#include <catch2/catch.hpp>
#include <cstdlib>
#include <new>

namespace {

thread_local bool memoryRanOut = false;

void* allocate(std::size_t bytes) {
  return memoryRanOut ? nullptr : std::malloc(bytes == 0 ? 1 : bytes);
}

void* allocateOrThrow(std::size_t bytes) {
  void* memory = allocate(bytes);
  if (memory == nullptr) {
    throw std::bad_alloc();
  }
  return memory;
}

}  // namespace

void* operator new(std::size_t bytes) { return allocateOrThrow(bytes); }
void* operator new[](std::size_t bytes) { return allocateOrThrow(bytes); }
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept { return allocate(bytes); }
void* operator new[](std::size_t bytes, const std::nothrow_t&) noexcept { return allocate(bytes); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }

namespace graphrun::runtime {
namespace {

constexpr LinkToken kToken{1, 2};

/// Rank 0 of a network whose other ranks are played by the test.
class NotedTransport final : public TransportCore {
 public:
  NotedTransport() : TransportCore(0) {
    REQUIRE(connect(1, "", kToken).ok());
    REQUIRE(connect(2, "", kToken).ok());
    welcome(1);
    welcome(2);
  }
  std::string localAddress() const override { return ""; }
  bool carries(absl::string_view) const override { return true; }
  bool carriesDeviceMemory() const override { return true; }
  bool progress() override { return false; }
  absl::StatusOr<std::unique_ptr<Link>> makeLink(uint32_t, absl::string_view) override {
    return std::make_unique<Link>();
  }
  void postControl(Link&, const ControlMessage& message) override { told = message; }
  void postData(Link&, SendSlot& slot) override { sent = &slot; }
  void postCredit(Link&, RecvSlot& slot) override { finishCredit(slot, absl::OkStatus()); }

  void welcome(uint32_t rank) {
    ControlMessage message;
    message.kind = ControlKind::kWelcome;
    message.rank = rank;
    message.token = kToken;
    onControl(&message, sizeof message);
  }

  ControlMessage told;
  SendSlot* sent = nullptr;
};

EdgeSpec spec(uint32_t peer) {
  EdgeSpec made;
  made.plan = 7;
  made.edge = peer;
  made.peer = peer;
  made.maxBytes = 8;
  return made;
}

ControlMessage announcement(uint32_t rank, uint64_t handle, uint16_t memory = 0) {
  ControlMessage message;
  message.kind = ControlKind::kAnnounce;
  message.rank = rank;
  message.token = kToken;
  message.plan = 7;
  message.edge = rank;
  message.handle = handle;
  message.maxBytes = 8;
  message.slots = 2;
  message.memory = memory;
  return message;
}

/// Calls `arrive` while there is no memory; nothing may be thrown.
template <typename F>
void withoutMemory(F&& arrive) {
  memoryRanOut = true;
  arrive();
  memoryRanOut = false;
}

TEST_CASE("an announcement that cannot be kept fails its link, and no other") {
  NotedTransport transport;
  const ControlMessage message = announcement(1, 5);
  withoutMemory([&] { transport.onControl(&message, sizeof message); });
  SendEdge* edge = transport.openSend(spec(1)).value();
  CHECK(absl::IsResourceExhausted(edge->status()));
  CHECK_THAT(std::string(edge->status().message()), Catch::Contains("memory ran out"));
  CHECK(transport.openSend(spec(2)).value()->status().ok());
}

TEST_CASE("a message of a stranger that cannot be taken in fails nothing") {
  NotedTransport transport;
  ControlMessage message = announcement(1, 5);
  message.token = {3, 4};
  withoutMemory([&] { transport.onControl(&message, sizeof message); });
  CHECK(transport.openSend(spec(1)).value()->status().ok());
}

TEST_CASE("an edge keeps to its first announcement") {
  NotedTransport transport;
  SendEdge* edge = transport.openSend(spec(1)).value();
  for (uint64_t handle : {5, 6}) {
    const ControlMessage message = announcement(1, handle, handle == 5 ? 0 : 1);
    transport.onControl(&message, sizeof message);
    REQUIRE(edge->trySend(handle, &handle, 8).value());
    CHECK(transport.sent->header.data.recvHandle == 5);
    CHECK(TransportCore::isOfHosts(*transport.sent));
  }
  CHECK(edge->status().ok());
}

TEST_CASE("an announcement of no known kind of memory fails the edge") {
  const uint16_t memory = GENERATE(2, 256, 257, 65535);  // two of them are kinds in eight bits
  NotedTransport transport;
  SendEdge* edge = transport.openSend(spec(1)).value();
  const ControlMessage message = announcement(1, 5, memory);
  transport.onControl(&message, sizeof message);
  CHECK(absl::IsFailedPrecondition(edge->status()));
}

TEST_CASE("a payload that is too long fails its link when there is no memory to say so") {
  NotedTransport transport;
  uint64_t slots[2];
  RecvEdge* edge = transport.openRecv(spec(1), {&slots[0], &slots[1]}).value();
  SendEdge* other = transport.openSend(spec(2)).value();
  DataHeader header;
  header.recvHandle = transport.told.handle;
  RecvSlot* slot = nullptr;
  withoutMemory([&] { slot = transport.beginReceive(header, 9); });
  CHECK(slot == nullptr);
  CHECK(absl::IsResourceExhausted(edge->status()));
  CHECK(other->status().ok());
}

TEST_CASE("what nobody waits for is dropped and counted when there is no memory to say so") {
  NotedTransport transport;
  setLogThreshold(LogLevel::kDebug);
  const uint64_t before = transport.stats().droppedMessages;
  withoutMemory([&] {
    transport.onCredit({77, 0});
    transport.beginReceive({77, 0, 0}, 8);
  });
  setLogThreshold(LogLevel::kWarning);
  CHECK(transport.stats().droppedMessages == before + 2);
}

}  // namespace
}  // namespace graphrun::runtime
