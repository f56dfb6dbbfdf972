// What runs teach of devices that compute at the same time, and of what devices do for edges.
#include "runtime/session/profile_recorder.h"

#include <catch2/catch.hpp>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "devices/device.h"
#include "tests/runtime/format/samples.h"

namespace graphrun::runtime {
namespace {

constexpr uint64_t kSteps = 5;

/// Three devices of one machine with a node each, all of one operation.
ActivePlan planOnThree() {
  format::PlanT plan = format::samplePlan();
  ActivePlan active;
  for (auto& partition : plan.partitions) {
    partition->nodes[0]->inner = true;
    partition->nodes[0]->signature = 7;
  }
  active.found.plan = format::PlanFile::parse(format::planBytes(plan)).value();
  for (const auto& device : plan.devices) {
    DeviceStats stats;
    stats.device = device->name;
    stats.worker = plan.workers[device->worker]->name;
    stats.fingerprint = "cpu";
    active.devices.push_back(std::move(stats));
  }
  return active;
}

/// Devices compute one after the other or, where they are together, the second and the third at the
/// same time, for so many ns; the first for `alone`.
std::vector<TraceProcess> tracesOf(const ActivePlan& plan, int64_t alone, int64_t second,
                                   bool together) {
  const format::PlanFile& file = *plan.found.plan;
  TraceProcess all{"all", 0, {}};
  for (uint32_t d = 0; d < 3; ++d) {
    TraceStream stream;
    stream.name = file.device(d).name()->str();
    stream.kernelNames = {"reorder", "n" + std::to_string(d)};
    stream.plan = file.hash();
    for (uint64_t step = 0; step < kSteps; ++step) {
      const auto begin =
          static_cast<int64_t>(1'000'000 * step + (together && d == 2 ? 1 : d) * uint64_t{100'000});
      const int64_t end = begin + (d == 0 ? alone : second);
      stream.events.push_back({TraceKind::kKernel, 1, step, begin, end});
      stream.events.push_back({TraceKind::kStep, 0, step, begin, end});
    }
    all.streams.push_back(std::move(stream));
  }
  return {std::move(all)};
}

struct Learned {
  double share = 0;
  uint64_t ns = 0;
};

Learned learned(ProfileRecorder& costs) {
  format::PlanRequestT request;
  costs.addTo(request);
  Learned all;
  for (const auto& crowd : request.crowd_costs) {
    CHECK(crowd->workers == std::vector<std::string>{""});
    all.share = crowd->share;
  }
  REQUIRE(request.costs.size() == 1);
  REQUIRE(request.costs[0]->ops.size() == 1);
  all.ns = request.costs[0]->ops[0].ns();
  return all;
}

TEST_CASE("devices that compute at the same time teach what company costs, not what nodes take") {
  format::TemporaryFolder folder;
  DiskCache cache(folder.file("costs"), 1 << 20);
  ProfileRecorder costs(nullptr, 0, &cache);
  const ActivePlan plan = planOnThree();
  costs.learn(plan, tracesOf(plan, 10'000, 10'000, false));
  CHECK(learned(costs).share == 0);
  CHECK(learned(costs).ns == 10'000);
  SECTION("on a machine as fast as before") {
    costs.learn(plan, tracesOf(plan, 10'000, 12'000, true));
    CHECK(learned(costs).share == Approx(0.2).epsilon(0.001));
    CHECK(learned(costs).ns == Approx(10'000).epsilon(0.001));
  }
  SECTION("on one that is slower now, whoever computes") {
    costs.learn(plan, tracesOf(plan, 11'000, 11'000, true));
    CHECK(learned(costs).share == 0);
    CHECK(learned(costs).ns > 10'000);
  }
}

TEST_CASE("senders are busy with large tensors; of small ones the transfer takes all") {
  const uint64_t bytes = GENERATE(uint64_t{16}, uint64_t{1} << 20);
  format::TemporaryFolder folder;
  DiskCache cache(folder.file("costs"), 1 << 20);
  ProfileRecorder costs(nullptr, 0, &cache);
  ActivePlan plan = planOnThree();
  format::PlanT changed;
  plan.found.plan->plan().UnPackTo(&changed);
  changed.edges[0]->bytes = bytes;
  plan.found.plan = format::PlanFile::parse(format::planBytes(changed)).value();
  std::vector<TraceProcess> traces = tracesOf(plan, 10'000, 10'000, false);
  for (uint32_t d = 0; d < 2; ++d) {  // sent for 20 us, and there 5 us later
    std::vector<TraceEvent>& events = traces[0].streams[d].events;
    for (size_t i = 0; i < 3 * kSteps; i += 3) {
      const int64_t begin = events[i].startNs;
      const TraceEvent moved{d == 0 ? TraceKind::kSend : TraceKind::kReceive, 0, events[i].step,
                             d == 0 ? begin + 10'000 : begin - 95'000,
                             d == 0 ? begin + 30'000 : begin - 65'000};
      if (d == 0) {
        events.insert(events.begin() + static_cast<ptrdiff_t>(i + 1), moved);
        events[i + 2].endNs = moved.endNs;
      } else {
        events.insert(events.begin() + static_cast<ptrdiff_t>(i), moved);
        events[i + 2].startNs = moved.startNs;
      }
    }
  }
  costs.learn(plan, traces);
  format::PlanRequestT request;
  costs.addTo(request);
  REQUIRE(request.link_costs.size() == 1);
  const bool isLarge = bytes > 16;
  CHECK(request.link_costs[0]->transfer->latency_ns() == (isLarge ? 5'000 : 25'000));
  CHECK(request.link_costs[0]->send_ns_per_byte ==
        Approx(isLarge ? 20'000.0 / static_cast<double>(bytes) : 0));
}

/// A cluster of two local workers.
ClusterFile twoWorkers(const format::TemporaryFolder& folder) {
  const std::string path = folder.file("two.yaml");
  std::ofstream(path) << "workers: [{name: a, address: local}, {name: b, address: local}]\n";
  return readClusterFile(path, devices::deviceKinds()).value();
}

TEST_CASE("what the client's process does for each of many steps is kept by workers and bytes") {
  format::TemporaryFolder folder;
  DiskCache cache(folder.file("costs"), 1 << 20);
  const ClusterFile cluster = twoWorkers(folder);
  ProfileRecorder costs(&cluster, 0, &cache);
  ActivePlan plan = planOnThree();
  const std::vector<TraceProcess> traces = tracesOf(plan, 10'000, 10'000, false);
  uint64_t worked = 0;
  auto run = [&](bool beside) {
    plan.clientTime.noteRun(beside, [&] { return worked += 16 * 3'000; });
  };
  auto learned = [&] {
    costs.learn(plan, traces);
    format::PlanRequestT request;
    costs.addTo(request);
    return request.client_costs == nullptr ? uint64_t{0}
                                           : request.client_costs->work.at(0)->start->latency_ns();
  };
  for (size_t i = 0; i < ClientTime::kBatch; ++i) {
    run(true);
  }
  run(false);
  CHECK(learned() == 0);  // no batch is whole
  for (size_t i = 0; i <= ClientTime::kBatch; ++i) {
    run(true);
  }
  CHECK(plan.clientTime.batches() == 1);
  CHECK(learned() == 3'000);
}

}  // namespace
}  // namespace graphrun::runtime
