#include "runtime/base/trace.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>

#include "runtime/base/trace_json.h"

namespace graphrun::runtime {
namespace {

using nlohmann::json;

TraceEvent event(uint64_t n) {
  return {TraceKind::kKernel, static_cast<uint32_t>(n), n, static_cast<int64_t>(n),
          static_cast<int64_t>(n + 1)};
}

TEST_CASE("a ring keeps the last events in order") {
  TraceRing ring(8);
  CHECK(ring.snapshot().empty());
  for (uint64_t i = 0; i < 5; ++i) {
    ring.record(event(i));
  }
  REQUIRE(ring.snapshot().size() == 5);
  CHECK(ring.snapshot()[4] == event(4));
  for (uint64_t i = 5; i < 100; ++i) {
    ring.record(event(i));
  }
  std::vector<TraceEvent> events = ring.snapshot();
  REQUIRE(events.size() == 7);
  CHECK(events.front() == event(93));
  CHECK(events.back() == event(99));
  CHECK(ring.recorded() == 100);
  CHECK(TraceRing(100).capacity() == 128);
  CHECK(TraceRing(0).capacity() == 2);
}

TEST_CASE("all fields survive") {
  TraceRing ring(4);
  TraceEvent odd{TraceKind::kReceive, 0xffffffffU, ~uint64_t{0}, -5, int64_t{1} << 62};
  ring.record(odd);
  REQUIRE(ring.snapshot().size() == 1);
  CHECK(ring.snapshot()[0] == odd);
}

TEST_CASE("snapshots beside a writer are never torn") {
  TraceRing ring(1024);
  std::atomic<bool> stop{false};
  std::thread writer([&] {
    for (uint64_t i = 0; !stop.load(std::memory_order_relaxed); ++i) {
      ring.record(event(i));
    }
  });
  size_t seen = 0;
  auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (seen < 20000 && std::chrono::steady_clock::now() < end) {
    std::vector<TraceEvent> events = ring.snapshot();
    for (size_t i = 0; i < events.size(); ++i) {
      REQUIRE(events[i] == event(events[i].step));
      REQUIRE((i == 0 || events[i].step == events[i - 1].step + 1));
    }
    seen += events.size();
  }
  stop = true;
  writer.join();
  CHECK(seen >= 20000);
}

std::vector<TraceProcess> twoWorkers() {
  TraceStream sender{"cpu:0",
                     {{TraceKind::kStep, 0, 7, 1000000, 1009000},
                      {TraceKind::kKernel, 0, 7, 1000000, 1002500},
                      {TraceKind::kSend, 1, 7, 1002500, 1003000}},
                     {"conv \"1\"\n"}};
  TraceStream receiver{"cpu:0",
                       {{TraceKind::kReceive, 1, 7, 500, 4001},
                        {TraceKind::kReceive, 1, 8, 5000, 5001},
                        {TraceKind::kKernel, 9, 7, 4001, 4001}},
                       {}};
  return {{"node0", 0, {sender}}, {"node1", 1000000, {receiver}}};
}

TEST_CASE("the trace is JSON with names, times and an arrow for each whole edge") {
  json trace = json::parse(chromeTrace(twoWorkers(), std::vector<std::string>{"a", "features"}));
  std::vector<json> slices;
  std::vector<json> arrows;
  std::set<std::string> names;
  for (const json& e : trace["traceEvents"]) {
    if (e["ph"] == "X") {
      slices.push_back(e);
    } else if (e["ph"] == "M") {
      names.insert(e["args"]["name"]);
    } else {
      arrows.push_back(e);
    }
  }
  CHECK(names == std::set<std::string>{"node0", "node1", "cpu:0"});
  REQUIRE(slices.size() == 6);
  CHECK(slices[0]["name"] == "step 7");
  CHECK(slices[1]["name"] == "conv \"1\"\n");
  CHECK(slices[1]["cat"] == "kernel");
  CHECK(slices[1]["dur"] == 2.5);
  CHECK(slices[2]["name"] == "features");
  CHECK(slices[2]["ts"] == 2.5);
  CHECK(slices[3]["pid"] == 1);
  CHECK(slices[3]["cat"] == "recv");
  CHECK(slices[3]["ts"] == 0.5);
  CHECK(slices[3]["dur"] == 3.501);
  CHECK(slices[5]["name"] == "op 9");
  REQUIRE(arrows.size() == 2);
  CHECK(arrows[0]["ph"] == "s");
  CHECK(arrows[0]["pid"] == 0);
  CHECK(arrows[1]["ph"] == "f");
  CHECK(arrows[1]["bp"] == "e");
  CHECK(arrows[1]["pid"] == 1);
  CHECK(arrows[1]["ts"] == 4.001);
  CHECK(arrows[0]["id"] == arrows[1]["id"]);
}

TEST_CASE("an empty trace and hostile names are valid JSON") {
  CHECK(json::parse(chromeTrace({}, {}))["traceEvents"].empty());
  CHECK(jsonString("a\"\\\n\x01") == "\"a\\\"\\\\\\u000a\\u0001\"");
  CHECK(jsonString("größe \xf0\x9f\x98\x80") == "\"größe \xf0\x9f\x98\x80\"");
  CHECK(jsonString("\xff|\xc3") == "\"\xef\xbf\xbd|\xef\xbf\xbd\"");
  std::string every;
  for (int a = 0; a < 256; ++a) {
    for (int b = 0; b < 256; ++b) {
      every += {static_cast<char>(a), static_cast<char>(b), static_cast<char>(a ^ 0x40)};
    }
  }
  CHECK(json::accept(jsonString(every)));
  CHECK(absl::IsNotFound(writeChromeTrace("/absent/trace.json", {}, {})));
}

}  // namespace
}  // namespace graphrun::runtime
