// What recorded steps say of nodes and edges.
#include "runtime/session/run_times.h"

#include <catch2/catch.hpp>

#include "tests/runtime/format/samples.h"

namespace graphrun::testing {
namespace {

using runtime::RunTimes;
using runtime::TraceEvent;
using runtime::TraceKind;
using runtime::TraceProcess;
using runtime::TraceStream;

/// The sample: one node on each device, "n0", "n1" and "n2", each of an operation "inner".
std::shared_ptr<const format::PlanFile> planWithNodes() {
  return format::PlanFile::parse(format::planBytes(format::samplePlan())).value();
}

TraceStream streamOf(const format::PlanFile& plan, uint32_t device) {
  TraceStream stream;
  stream.name = plan.device(device).name()->str();
  stream.kernelNames = {"reorder", "n" + std::to_string(device), "inner"};
  stream.kernelWeights = {0, 100, 28};
  stream.kernelScratch = {0, 7, 9};
  stream.plan = plan.hash();
  return stream;
}

/// Device 0 computes until 100 ns after `begin`, lays out for 10 and sends edge 0, which device 1
/// gets 500 ns later, lays out for 20, computes and sends edge 1 to device 2.
void addStep(std::vector<TraceStream>& streams, uint64_t step, int64_t begin) {
  auto add = [&](size_t stream, TraceKind kind, uint32_t id, int64_t from, int64_t to) {
    streams[stream].events.push_back({kind, id, step, begin + from, begin + to});
  };
  add(0, TraceKind::kKernel, 0, 0, 30);
  add(0, TraceKind::kKernel, 1, 30, 100);
  add(0, TraceKind::kKernel, 0, 100, 110);
  add(0, TraceKind::kSend, 0, 110, 120);
  add(0, TraceKind::kStep, 0, 0, 120);
  add(1, TraceKind::kReceive, 0, 0, 620);
  add(1, TraceKind::kKernel, 0, 620, 640);
  add(1, TraceKind::kKernel, 1, 640, 700);
  add(1, TraceKind::kSend, 1, 700, 710);
  add(1, TraceKind::kStep, 0, 0, 710);
  add(2, TraceKind::kReceive, 1, 900, 901);  // came before it was asked for
  add(2, TraceKind::kKernel, 1, 901, 950);
  add(2, TraceKind::kKernel, 2, 950, 1000);
  add(2, TraceKind::kStep, 0, 900, 1000);
}

TEST_CASE("of a device with a clock of its own the records' times say nothing of nodes") {
  auto plan = planWithNodes();
  std::vector<TraceStream> streams = {streamOf(*plan, 0), streamOf(*plan, 1), streamOf(*plan, 2)};
  for (uint64_t step = 0; step < 5; ++step) {
    addStep(streams, step, static_cast<int64_t>(10'000 * step));
  }
  auto timesOf = [&] {
    return runTimes(
        *plan, std::vector<TraceProcess>{
                   {"client", 0, {streams[0]}}, {"a", 0, {streams[1]}}, {"b", 0, {streams[2]}}});
  };
  streams[1].kernelTimes.emplace();  // not measured yet
  RunTimes before = timesOf();
  REQUIRE(before.nodes.size() == 2);
  CHECK(before.nodes[0].device == 0);
  CHECK(before.nodes[1].device == 2);
  streams[1].kernelTimes = {{"n1", 700}, {"n1", 70}, {"another", 9}};
  RunTimes after = timesOf();
  REQUIRE(after.nodes.size() == 3);
  CHECK(after.nodes[1].ns == 770);
  REQUIRE(after.edges.size() == 2);
  CHECK(after.edges[0].wholeNs() == 510 + 10);  // a launch is no change of layout
  CHECK(after.spans.at(3) == before.spans.at(3));
}

TEST_CASE("streams of one device that run its steps by turns are told as one") {
  auto plan = planWithNodes();
  std::vector<TraceStream> lanes[2];
  for (std::vector<TraceStream>& lane : lanes) {
    lane = {streamOf(*plan, 0), streamOf(*plan, 1), streamOf(*plan, 2)};
  }
  for (uint64_t step = 0; step < 6; ++step) {
    addStep(lanes[step % 2], step, static_cast<int64_t>(10'000 * step));
  }
  // Recorded whole by one device twice, and not by another.
  addStep(lanes[0], 6, 60'000);
  addStep(lanes[1], 6, 60'000);
  lanes[0][2].events.resize(lanes[0][2].events.size() - 4);
  lanes[1][2].events.resize(lanes[1][2].events.size() - 4);
  RunTimes times =
      runTimes(*plan, std::vector<TraceProcess>{{"client", 0, {lanes[0][0], lanes[1][0]}},
                                                {"a", 0, {lanes[0][1], lanes[1][1]}},
                                                {"b", 0, {lanes[0][2], lanes[1][2]}}});
  CHECK(times.steps == 6);
  REQUIRE(times.nodes.size() == 3);
  CHECK(times.nodes[0].ns == 100);
  CHECK(times.nodes[0].weightBytes == 128);
  CHECK(times.nodes[0].scratchBytes == 9);
  lanes[0][1].kernelTimes = {{"n1", 700}};
  lanes[1][1].kernelTimes = {{"n1", 600}, {"inner", 50}};
  times = runTimes(*plan, std::vector<TraceProcess>{{"a", 0, {lanes[0][1], lanes[1][1]}}});
  REQUIRE(times.nodes.size() == 1);
  CHECK(times.nodes[0].ns == 700);
}

TEST_CASE("nodes and edges are told apart in what was recorded") {
  auto plan = planWithNodes();
  std::vector<TraceStream> streams = {streamOf(*plan, 0), streamOf(*plan, 1), streamOf(*plan, 2)};
  for (uint64_t step = 0; step < 5; ++step) {
    addStep(streams, step, static_cast<int64_t>(10'000 * step));
  }
  streams[0].events.erase(streams[0].events.begin());  // gave way: the first step is not whole
  TraceStream other = streamOf(*plan, 1);
  other.plan = 1;
  other.events.push_back({TraceKind::kKernel, 1, 2, 0, 1'000'000});
  other.events.push_back({TraceKind::kStep, 0, 2, 0, 1'000'000});
  std::vector<TraceProcess> processes = {
      {"client", 0, {streams[0], other}}, {"a", 0, {streams[1]}}, {"b", 0, {streams[2]}}};
  RunTimes times = runTimes(*plan, processes);
  CHECK(times.steps == 4);
  CHECK(times.spans.size() == 4);
  CHECK(times.spans.at(3) == 970);  // the first 30 ns lay out its input
  REQUIRE(times.nodes.size() == 3);
  CHECK(times.nodes[0].ns == 100);  // with the layout of its input
  CHECK(times.nodes[1].ns == 60);   // without: that is the edge's
  CHECK(times.nodes[2].ns == 99);   // both of its kernels
  CHECK(times.nodes[2].weightBytes == 128);
  CHECK(times.nodes[2].scratchBytes == 9);
  REQUIRE(times.edges.size() == 2);
  CHECK((times.edges[0].edge == 0 && times.edges[0].isWaitedFor));
  CHECK(times.edges[0].sendNs == 10 + 10);  // the layout, and handing it over
  CHECK(times.edges[0].ns == 500);
  CHECK(times.edges[0].readNs == 20);
  CHECK(times.edges[0].wholeNs() == 510 + 10 + 20);
  CHECK((times.edges[1].edge == 1 && !times.edges[1].isWaitedFor));
  CHECK(times.edges[1].sendNs == 10);
  REQUIRE(times.ends.size() == 4);
  CHECK(times.ends[0].node == 0);  // sends edge 0
  CHECK(times.ends[1].node == 1);  // receives it
  CHECK(times.ends[3].edge == 1);
  CHECK(times.ends[3].node == 2);

  runtime::StepTimes named = timesOf(*plan, processes);
  CHECK(named.nodes[1].node == "n1");
  CHECK(named.nodes[1].predictedNanos == 77);
  REQUIRE(named.edges.size() == 1);  // the other was not waited for
  CHECK(named.edges[0].tensor == "edge value");
  CHECK(named.edges[0].nanos == 540);
}

TEST_CASE("nodes that run while their worker moves a tensor are not calm") {
  auto plan = planWithNodes();
  std::vector<TraceStream> streams = {streamOf(*plan, 0), streamOf(*plan, 1), streamOf(*plan, 2)};
  constexpr uint64_t kSteps = 5;
  for (uint64_t step = 0; step < kSteps; ++step) {
    addStep(streams, step, static_cast<int64_t>(10'000 * step));
  }
  auto isCalm = [&](uint64_t disturbed) {  // steps in which edge 1 is sent before the node is done
    std::vector<TraceStream> changed = streams;
    for (TraceEvent& event : changed[1].events) {
      if (event.kind == TraceKind::kSend && event.step < disturbed) {
        event.startNs -= 30;
      }
    }
    RunTimes times = runTimes(*plan, std::vector<TraceProcess>{{"all", 0, changed}});
    REQUIRE(times.nodes.size() == 3);
    CHECK(times.nodes[0].isCalm);
    CHECK(times.nodes[2].isCalm);
    return times.nodes[1].isCalm;
  };
  CHECK(isCalm(0));
  CHECK(isCalm(kSteps / 2));
  CHECK_FALSE(isCalm(kSteps / 2 + 1));
}

TEST_CASE("a node has the company of devices of its machine that compute meanwhile") {
  auto plan = planWithNodes();
  std::vector<TraceStream> streams = {streamOf(*plan, 0), streamOf(*plan, 1), streamOf(*plan, 2)};
  constexpr int64_t kBegin[] = {0, 50, 100};
  constexpr int64_t kEnd[] = {100, 150, 150};
  for (size_t d = 0; d < 3; ++d) {
    streams[d].events = {{TraceKind::kKernel, 1, 0, kBegin[d], kEnd[d]},
                         {TraceKind::kStep, 0, 0, kBegin[d], kEnd[d]}};
  }
  auto companyOf = [&](std::vector<std::string> machines) {  // of the client and of node1
    std::vector<double> company;
    for (const RunTimes::Node& node :
         runTimes(*plan, std::vector<TraceProcess>{{"all", 0, streams}}, machines).nodes) {
      company.push_back(node.company);
    }
    return company;
  };
  CHECK(companyOf({"here", "here"}) == std::vector<double>{0.5, 1, 1});
  CHECK(companyOf({"here", "there"}) == std::vector<double>{0.5, 0.5, 0});
  CHECK(companyOf({}) == std::vector<double>{0, 0, 0});
}

TEST_CASE("a node without a kernel takes no time") {
  auto plan = planWithNodes();
  std::vector<TraceStream> streams = {streamOf(*plan, 0), streamOf(*plan, 1), streamOf(*plan, 2)};
  addStep(streams, 0, 0);
  streams[2].events.erase(streams[2].events.begin() + 1, streams[2].events.begin() + 3);
  std::vector<TraceProcess> processes = {{"all", 0, streams}};
  RunTimes times = runTimes(*plan, processes);
  REQUIRE(times.nodes.size() == 3);
  CHECK(times.nodes[2].ns == 0);
}

TEST_CASE("what names edges that the plan does not give to its device is not used") {
  auto plan = planWithNodes();
  std::vector<TraceStream> streams = {streamOf(*plan, 0), streamOf(*plan, 1), streamOf(*plan, 2)};
  addStep(streams, 0, 0);
  auto steps = [&] { return runTimes(*plan, std::vector<TraceProcess>{{"a", 0, streams}}).steps; };
  CHECK(steps() == 1);
  for (uint32_t edge : {0U, 2U, 0xffffffffU}) {  // another device's, and none of the plan's
    streams[2].events[0].id = edge;
    CHECK(steps() == 0);
  }
}

TEST_CASE("clocks of other machines are put right") {
  auto plan = planWithNodes();
  std::vector<TraceStream> streams = {streamOf(*plan, 0), streamOf(*plan, 1), streamOf(*plan, 2)};
  addStep(streams, 0, 0);
  for (TraceEvent& event : streams[1].events) {
    event.startNs += 5'000'000;
    event.endNs += 5'000'000;
  }
  std::vector<TraceProcess> processes = {
      {"client", 0, {streams[0]}}, {"a", -5'000'000, {streams[1]}}, {"b", 0, {streams[2]}}};
  CHECK(runTimes(*plan, processes).edges[0].wholeNs() == 540);
  processes.pop_back();  // a worker whose trace was not to be had
  CHECK(runTimes(*plan, processes).steps == 0);
}

}  // namespace
}  // namespace graphrun::testing
