// Executors over programs made by hand and edges of the in-process transport.
#include "runtime/executor/executor.h"

#include <malloc.h>

#include <catch2/catch.hpp>
#include <thread>

#include "runtime/base/clock.h"
#include "runtime/executor/executor_thread.h"
#include "runtime/executor/steps_in_flight.h"
#include "runtime/transport/inproc.h"
#include "tests/runtime/executor/fake_program.h"

namespace graphrun {
namespace {

using runtime::EdgeEnd;
using runtime::Executor;
using runtime::ExecutorThread;
using runtime::StepControl;
using runtime::Transport;
using testing::FakeDevice;
using testing::FakeProgram;

constexpr int64_t kSecond = 1'000'000'000;

/// One in-process transport, linked to itself.
struct Links {
  Links() {
    transport = *runtime::makeInprocTransport(runtime::makeInprocHub(), 0);
    REQUIRE(transport->connect(0, transport->localAddress(), {1, 2}).ok());
    control = std::make_unique<StepControl>(std::vector<Transport*>{transport.get()});
    control->begin(runtime::nowNanos() + 30 * kSecond);
  }

  std::pair<EdgeEnd, EdgeEnd> edge(uint32_t id, int64_t elements, uint32_t slots = 2) {
    runtime::EdgeSpec spec;
    spec.plan = 7;
    spec.edge = id;
    spec.maxBytes = static_cast<size_t>(elements) * sizeof(float);
    spec.slots = slots;
    spec.inPlace = true;
    return {EdgeEnd{*transport->openSend(spec), nullptr},
            EdgeEnd{nullptr, *transport->openRecv(spec, {})}};
  }

  std::unique_ptr<Transport> transport;
  std::unique_ptr<StepControl> control;
};

/// Two devices of a process, and programs on them that begin with x on a and end with y on it.
struct Pair {
  void bind() {
    a->bindInput(0, x);
    a->bindOutput(0, y);
  }

  Links links;
  FakeDevice deviceA{"node0/fake:0"};
  FakeDevice deviceB{"node0/fake:1"};
  std::unique_ptr<Executor> a, b;
  alignas(64) float x[4] = {1, 2, 3, 4};
  alignas(64) float y[4] = {};
};

/// Two devices: a adds 1 to x and sends, b adds 10 and sends back, a adds 100: y = x + 111.
struct PingPong : Pair {
  explicit PingPong(int codeOnB = 0) {
    auto [send0, receive0] = links.edge(0, 4);
    auto [send1, receive1] = links.edge(1, 4);
    auto programA = std::make_unique<FakeProgram>();
    uint32_t in = programA->addBuffer(0), sum = programA->addBuffer(4),
             back = programA->addBuffer(0), out = programA->addBuffer(0);
    programA->input("x", in, 4);
    programA->output("y", out, 4);
    programA->compute("add1", {in, sum, 1, 0, 4});
    programA->send(0, sum, 4);
    programA->receive(1, back, 4);
    programA->compute("add100", {back, out, 100, 0, 4});
    auto programB = std::make_unique<FakeProgram>();
    uint32_t got = programB->addBuffer(0), made = programB->addBuffer(4);
    programB->receive(0, got, 4);
    programB->compute("add10", {got, made, 10, codeOnB, 4});
    programB->send(1, made, 4);
    a = *Executor::create(&deviceA, std::move(programA), {send0, receive1}, links.control.get());
    b = *Executor::create(&deviceB, std::move(programB), {receive0, send1}, links.control.get());
    bind();
  }
};

TEST_CASE("a chain runs in order on the caller's thread") {
  Links links;
  FakeDevice device("client/fake:0");
  auto program = std::make_unique<FakeProgram>();
  uint32_t in = program->addBuffer(0), middle = program->addBuffer(1), out = program->addBuffer(0);
  program->input("x", in, 1);
  program->output("y", out, 1);
  program->compute("first", {in, middle, 1});
  program->compute("second", {middle, out, 2});
  auto executor = Executor::create(&device, std::move(program), {}, links.control.get());
  REQUIRE(executor.ok());
  float x = 39, y = 0;
  (*executor)->bindInput(0, &x);
  (*executor)->bindOutput(0, &y);
  REQUIRE((*executor)->run(0, 3));
  CHECK(y == 42);
  CHECK(device.entered == 1);

  runtime::TraceStream trace = (*executor)->trace();
  CHECK(trace.kernelNames == std::vector<std::string>{"first", "second"});
  CHECK(trace.events.size() == 9);  // per step: two kernels and the step
}

TEST_CASE("two devices pass values to and fro over many steps") {
  PingPong pair;
  ExecutorThread threadB;
  for (uint64_t step = 0; step < 200; ++step) {
    pair.x[0] = static_cast<float>(step);
    threadB.start(pair.b.get(), step, 1);
    REQUIRE(pair.a->run(step, 1));
    REQUIRE(threadB.wait());
    REQUIRE(pair.y[0] == static_cast<float>(step) + 111);
    REQUIRE(pair.y[3] == 115);
  }
}

/// Allocated bytes after some steps to warm up, and after many more.
template <typename Run>
void checkNoGrowth(uint32_t steps, Run run) {
  run(0, 100);
  struct mallinfo2 before = mallinfo2();
  run(100, steps);
  CHECK(mallinfo2().uordblks <= before.uordblks + 4096);  // Catch2 itself may note something
}

TEST_CASE("a hundred thousand steps allocate nothing") {
  Links links;
  auto [send, receive] = links.edge(0, 4);
  FakeDevice device("node0/fake:0");
  auto program = std::make_unique<FakeProgram>();
  uint32_t made = program->addBuffer(4), got = program->addBuffer(0), sum = program->addBuffer(4);
  program->compute("make", {made, made, 1, 0, 4});
  program->send(0, made, 4);
  program->receive(0, got, 4);
  program->compute("use", {got, sum, 1, 0, 4});
  FakeProgram& inside = *program;
  auto executor =
      *Executor::create(&device, std::move(program), {send, receive}, links.control.get());
  checkNoGrowth(100'000,
                [&](uint64_t first, uint32_t count) { REQUIRE(executor->run(first, count)); });
  CHECK(inside.buffer(sum)[0] == 100'101);
}

TEST_CASE("steps over two threads allocate nothing") {
  PingPong pair;
  ExecutorThread threadB;
  checkNoGrowth(2'000, [&](uint64_t first, uint32_t count) {
    threadB.start(pair.b.get(), first, count);
    REQUIRE(pair.a->run(first, count));
    REQUIRE(threadB.wait());
  });
  CHECK(pair.y[0] == 112);
}

TEST_CASE("the first failure stops every device and says where it began") {
  PingPong pair(/*codeOnB=*/5);
  ExecutorThread threadB;
  int64_t begin = runtime::nowNanos();
  threadB.start(pair.b.get(), 0, 1000);
  CHECK_FALSE(pair.a->run(0, 1000));
  CHECK_FALSE(threadB.wait());
  CHECK(runtime::nowNanos() - begin < kSecond);
  auto failure = pair.links.control->failure();
  REQUIRE(failure.has_value());
  CHECK(failure->status.code() == absl::StatusCode::kOutOfRange);
  CHECK(failure->status.message() == "kernel said 5");
  CHECK(failure->label == "add10");
  CHECK(failure->device == "node0/fake:1");
  for (const Executor* executor : {pair.a.get(), pair.b.get()}) {
    // Whoever launched something must not leave it to itself.
    CHECK(dynamic_cast<const FakeProgram&>(executor->program()).settled == 1);
  }
}

TEST_CASE("a cancel from outside ends a wait at once") {
  PingPong pair;
  std::thread canceller([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    pair.links.control->fail({absl::CancelledError("enough"), "", ""});
  });
  int64_t begin = runtime::nowNanos();
  CHECK_FALSE(pair.a->run(0, 1));  // nobody runs b
  CHECK(runtime::nowNanos() - begin < kSecond);
  canceller.join();
  CHECK(pair.links.control->failure()->status.message() == "enough");
}

TEST_CASE("a wait ends at the deadline and names the edge") {
  PingPong pair;
  pair.links.control->begin(runtime::nowNanos() + kSecond / 10);
  CHECK_FALSE(pair.a->run(0, 1));
  auto failure = pair.links.control->failure();
  REQUIRE(failure.has_value());
  CHECK(failure->status.code() == absl::StatusCode::kDeadlineExceeded);
  CHECK(failure->label == "receive 1");
}

TEST_CASE("a wait for a reader ends at the deadline and names what was sent") {
  Links links;
  auto [send, receive] = links.edge(0, 1);
  FakeDevice device("node0/fake:0");
  auto program = std::make_unique<FakeProgram>();
  program->send(0, program->addBuffer(1), 1);
  auto executor = *Executor::create(&device, std::move(program), {send}, links.control.get());
  links.control->begin(runtime::nowNanos() + kSecond / 10);
  CHECK_FALSE(executor->run(0, 1));  // nobody gives the slot back
  auto failure = links.control->failure();
  REQUIRE(failure.has_value());
  CHECK(failure->status.code() == absl::StatusCode::kDeadlineExceeded);
  CHECK_THAT(std::string(failure->status.message()), Catch::Contains("edge 0"));
  CHECK(failure->label == "send 0");
}

TEST_CASE("a lost peer ends the wait with the cause") {
  PingPong pair;
  std::thread loser([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    pair.links.transport->markPeerFailed(0, absl::UnavailableError("worker node0 is lost"));
  });
  CHECK_FALSE(pair.a->run(0, 1));
  loser.join();
  CHECK(pair.links.control->failure()->status.code() == absl::StatusCode::kUnavailable);
}

/// A tensor goes from a to b, back, to b and back again; each passes on the buffer it received.
struct Forwarding : Pair {
  Forwarding() {
    std::pair<EdgeEnd, EdgeEnd> edges[4];
    for (uint32_t i = 0; i < 4; ++i) {
      edges[i] = links.edge(i, 4);
    }
    auto programA = std::make_unique<FakeProgram>();
    uint32_t in = programA->addBuffer(0), made = programA->addBuffer(4),
             once = programA->addBuffer(0), twice = programA->addBuffer(0),
             out = programA->addBuffer(0);
    programA->input("x", in, 4);
    programA->output("y", out, 4);
    programA->compute("add1", {in, made, 1, 0, 4});
    programA->send(0, made, 4);
    programA->receive(1, once, 4);
    programA->send(2, once, 4);
    programA->receive(3, twice, 4);
    programA->compute("add2", {twice, out, 2, 0, 4});
    auto programB = std::make_unique<FakeProgram>();
    uint32_t first = programB->addBuffer(0), second = programB->addBuffer(0);
    programB->receive(0, first, 4);
    programB->send(1, first, 4);
    programB->receive(2, second, 4);
    programB->send(3, second, 4);
    a = *Executor::create(&deviceA, std::move(programA),
                          {edges[0].first, edges[1].second, edges[2].first, edges[3].second},
                          links.control.get());
    b = *Executor::create(&deviceB, std::move(programB),
                          {edges[0].second, edges[1].first, edges[2].second, edges[3].first},
                          links.control.get());
    bind();
  }
};

// Each device reads the other's memory: a tensor that was passed on can be given back only when the
// next reader has done so. Waiting for all readers first, or for the earliest first, waits for
// ever.
TEST_CASE("two devices that pass a tensor to and fro do not wait for each other") {
  Forwarding pair;
  pair.links.control->begin(runtime::nowNanos() + 10 * kSecond);
  ExecutorThread threadB;
  threadB.start(pair.b.get(), 0, 100);
  bool ended = pair.a->run(0, 100);
  ended = threadB.wait() && ended;
  auto failure = pair.links.control->failure();
  INFO((failure.has_value() ? failure->status.ToString() : ""));
  REQUIRE(ended);
  CHECK(pair.y[0] == 4);
  CHECK(pair.y[3] == 7);
}

TEST_CASE("slots let the producer run ahead, and no further") {
  Links links;
  auto [send, receive] = links.edge(0, 1, 2);
  FakeDevice device("node0/fake:0");
  auto program = std::make_unique<FakeProgram>();
  uint32_t value = program->addBuffer(1);
  program->send(0, value, 1);
  auto executor = *Executor::create(&device, std::move(program), {send}, links.control.get());
  ExecutorThread thread;
  thread.start(executor.get(), 0, 3);
  for (uint64_t step = 0; step < 3; ++step) {
    auto options = runtime::WaitOptions::within(10 * kSecond);
    REQUIRE(receive.receive->wait(step, options).ok());
    CHECK_FALSE(receive.receive->poll(step + 2).has_value());
    receive.receive->release(step);
  }
  CHECK(thread.wait());
}

/// A client with two lanes, which sends x and gets y = x + 10 of another device.
struct Lanes {
  explicit Lanes(uint32_t slots, int codeOnServer = 0) {
    auto [send0, receive0] = links.edge(0, 1, slots);
    auto [send1, receive1] = links.edge(1, 1, slots);
    auto serves = std::make_unique<FakeProgram>();
    uint32_t got = serves->addBuffer(0), made = serves->addBuffer(1);
    serves->receive(0, got, 1);
    serves->compute("add10", {got, made, 10, codeOnServer});
    serves->send(1, made, 1);
    server = *Executor::create(&far, std::move(serves), {receive0, send1}, links.control.get());
    for (std::unique_ptr<Executor>& lane : lanes) {
      auto program = std::make_unique<FakeProgram>();
      uint32_t in = program->addBuffer(0), back = program->addBuffer(0),
               out = program->addBuffer(0);
      program->input("x", in, 1);
      program->output("y", out, 1);
      program->send(0, in, 1);
      program->receive(1, back, 1);
      program->compute("copy", {back, out, 0});
      lane = *Executor::create(&near, std::move(program), {send0, receive1}, links.control.get());
    }
  }

  /// Runs a step on a lane, within `nanos`.
  bool runStep(size_t lane, uint64_t step, int64_t nanos = 30 * kSecond) {
    return inFlight.run(*lanes[lane], step, runtime::nowNanos() + nanos, [] { return true; });
  }
  /// Runs the steps of a lane, each second one, and tells whether all had their own value.
  bool runLane(size_t lane, uint64_t steps, std::chrono::microseconds pause) {
    alignas(64) float x[1] = {};
    alignas(64) float y[1] = {};
    lanes[lane]->bindInput(0, x);
    lanes[lane]->bindOutput(0, y);
    bool right = true;
    for (uint64_t step = lane; step < steps; step += 2) {
      x[0] = static_cast<float>(step);
      std::this_thread::sleep_for(pause);
      right = runStep(lane, step) && y[0] == static_cast<float>(step) + 10 && right;
    }
    return right;
  }

  Links links;
  FakeDevice near{"client/fake:0"};
  FakeDevice far{"node0/fake:0"};
  runtime::StepsInFlight inFlight{links.transport.get(), links.control.get(), 0};
  std::unique_ptr<Executor> server;
  std::unique_ptr<Executor> lanes[2];
};

TEST_CASE("steps in flight beside each other use edges in their order, each with its own values") {
  for (uint32_t slots : {1, 2}) {
    Lanes both(slots);
    ExecutorThread server;
    server.start(both.server.get(), 0, 400);
    bool first = false;
    // The second lane is there first, most of the time.
    std::thread other([&] { first = both.runLane(0, 400, std::chrono::microseconds(100)); });
    CHECK(both.runLane(1, 400, std::chrono::microseconds(0)));
    other.join();
    CHECK(first);
    CHECK(server.wait());
  }
}

TEST_CASE("a failure ends the steps in flight with one cause") {
  Lanes both(2, /*codeOnServer=*/5);
  ExecutorThread server;
  server.start(both.server.get(), 0, 2);
  const int64_t begin = runtime::nowNanos();
  bool first = true;
  std::thread other([&] { first = both.runLane(0, 1, std::chrono::microseconds(0)); });
  CHECK_FALSE(both.runLane(1, 2, std::chrono::microseconds(0)));
  other.join();
  CHECK_FALSE(first);
  CHECK_FALSE(server.wait());
  CHECK(runtime::nowNanos() - begin < kSecond);
  CHECK(both.links.control->failure()->label == "add10");
}

TEST_CASE("a step whose turn does not come ends at its own deadline, or when steps are stopped") {
  Lanes both(2);
  const int64_t begin = runtime::nowNanos();
  std::thread stopper;
  int64_t within = 30 * kSecond;
  SECTION("deadline") { within = kSecond / 10; }
  SECTION("stop") {
    stopper = std::thread([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      both.links.control->fail({absl::CancelledError("enough"), "", ""});
    });
  }
  CHECK_FALSE(both.runStep(1, 1, within));  // nobody runs step 0
  CHECK(runtime::nowNanos() - begin < kSecond);
  absl::Status status = both.links.control->failure()->status;
  if (stopper.joinable()) {
    stopper.join();
    CHECK(status.message() == "enough");
  } else {
    CHECK(absl::IsDeadlineExceeded(status));
    CHECK_THAT(std::string(status.message()), Catch::Contains("step 1 waited for step 0"));
  }
}

TEST_CASE("of the threads with steps in flight one polls for all, and hands that on at its end") {
  Lanes both(2);
  std::atomic<bool> isDone[2] = {};
  std::atomic<std::thread::id> polled[2] = {};  // who asked last whether a step is done
  bool ok[2] = {};
  std::thread threads[2];
  alignas(64) float memory[4][16] = {};
  auto begin = [&](size_t lane) {
    both.lanes[lane]->bindInput(0, memory[lane]);
    both.lanes[lane]->bindOutput(0, memory[2 + lane]);
    threads[lane] = std::thread([&, lane] {
      auto others = [&] {
        polled[lane] = std::this_thread::get_id();
        return isDone[lane].load();
      };
      ok[lane] =
          both.inFlight.run(*both.lanes[lane], lane, runtime::nowNanos() + 30 * kSecond, others);
    });
  };
  auto awaitPoll = [&](size_t lane, std::thread::id by) {
    const int64_t until = runtime::nowNanos() + 10 * kSecond;
    while (polled[lane].load() != by && runtime::nowNanos() < until) {
      both.links.transport->wakeWaiters();
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    CHECK(polled[lane].load() == by);
  };
  ExecutorThread server;
  server.start(both.server.get(), 0, 2);
  begin(0);
  awaitPoll(0, threads[0].get_id());
  begin(1);
  awaitPoll(1, threads[0].get_id());
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  CHECK(polled[1].load() == threads[0].get_id());
  const std::thread::id second = threads[1].get_id();
  isDone[0] = true;
  both.links.transport->wakeWaiters();
  threads[0].join();
  awaitPoll(1, second);
  isDone[1] = true;
  both.links.transport->wakeWaiters();
  threads[1].join();
  CHECK(ok[0]);
  CHECK(ok[1]);
  CHECK(server.wait());
}

TEST_CASE("what a sender waits for a slot is not what the send takes in the trace") {
  Links links;
  auto [send, receive] = links.edge(0, 1, 1);
  FakeDevice device("node0/fake:0");
  auto program = std::make_unique<FakeProgram>();
  program->send(0, program->addBuffer(1), 1);
  auto executor = *Executor::create(&device, std::move(program), {send}, links.control.get());
  ExecutorThread thread;
  thread.start(executor.get(), 0, 1);
  auto options = runtime::WaitOptions::within(10 * kSecond);
  REQUIRE(receive.receive->wait(0, options).ok());
  receive.receive->release(0);
  REQUIRE(thread.wait());
  REQUIRE(*send.send->trySend(1, "1234", 4));  // takes the slot
  thread.start(executor.get(), 2, 1);
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  REQUIRE(receive.receive->wait(1, options).ok());
  receive.receive->release(1);
  REQUIRE(receive.receive->wait(2, options).ok());
  receive.receive->release(2);
  REQUIRE(thread.wait());
  for (const runtime::TraceEvent& event : executor->trace().events) {
    if (event.step == 2 && event.kind == runtime::TraceKind::kSend) {
      CHECK(event.endNs - event.startNs < 40'000'000);
    }
    if (event.step == 2 && event.kind == runtime::TraceKind::kStep) {
      CHECK(event.endNs - event.startNs >= 40'000'000);
    }
  }
}

TEST_CASE("a device that cannot be entered fails the step") {
  Links links;
  FakeDevice device("node0/fake:0");
  device.enterStatus = absl::InternalError("no such core");
  auto executor =
      *Executor::create(&device, std::make_unique<FakeProgram>(), {}, links.control.get());
  CHECK_FALSE(executor->run(0, 1));
  CHECK(links.control->failure()->status.message() == "no such core");
}

TEST_CASE("programs that do not fit their edges are refused") {
  Links links;
  FakeDevice device("node0/fake:0");
  auto [send, receive] = links.edge(0, 1);
  auto tryCreate = [&](auto build, std::vector<EdgeEnd> ends) {
    auto program = std::make_unique<FakeProgram>();
    build(*program);
    return Executor::create(&device, std::move(program), ends, links.control.get()).status();
  };
  auto sender = [](FakeProgram& p) { p.send(0, p.addBuffer(1), 1); };
  CHECK(tryCreate(sender, {send}).ok());
  CHECK(absl::IsInvalidArgument(tryCreate(sender, {})));
  CHECK(absl::IsInvalidArgument(tryCreate(sender, {receive})));
  CHECK(absl::IsInvalidArgument(tryCreate([](FakeProgram& p) { p.send(0, 12, 1); }, {send})));
}

TEST_CASE("ten thousand scalar additions take at most 150 ns each", "[.][speed]") {
  Links links;
  FakeDevice device("client/fake:0");
  auto program = std::make_unique<FakeProgram>();
  uint32_t buffer = program->addBuffer(1);
  for (int i = 0; i < 10'000; ++i) {
    program->compute("add", {buffer, buffer, 1});
  }
  auto executor = *Executor::create(&device, std::move(program), {}, links.control.get());
  REQUIRE(executor->run(0, 10));
  int64_t begin = runtime::nowNanos();
  REQUIRE(executor->run(10, 100));
  double perOp = static_cast<double>(runtime::nowNanos() - begin) / 1e6;
  std::printf("executor: %.1f ns an op\n", perOp);
  CHECK(perOp <= 150);
}

TEST_CASE("a program is told the deadline, and the first failure of its plan interrupts it") {
  Links links;
  FakeProgram other;
  auto program = std::make_shared<FakeProgram>();
  const uint32_t buffer = program->addBuffer(1);
  program->compute("fails", {buffer, buffer, 0, 3});
  FakeDevice device("fake:0");
  links.control->interrupts(&other);
  links.control->begin(1234);
  auto executor = *Executor::create(&device, program, {}, links.control.get());
  CHECK(!executor->run(0, 1));
  CHECK(program->deadlineNanos == 1234);
  CHECK(other.interrupted == 1);
  links.control->fail({absl::InternalError("another"), "", ""});
  CHECK(other.interrupted == 1);
}

}  // namespace
}  // namespace graphrun
