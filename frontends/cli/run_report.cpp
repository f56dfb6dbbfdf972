#include "frontends/cli/run_report.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <numeric>
#include <string>

#include "frontends/cli/command_line.h"
#include "runtime/base/atomic_file.h"
#include "runtime/base/log.h"
#include "runtime/base/status.h"

namespace graphrun::cli {

Json latencyJson(std::vector<double> times) {
  std::sort(times.begin(), times.end());
  auto at = [&](double share) {
    auto rank = static_cast<size_t>(std::ceil(share * static_cast<double>(times.size())));
    return times[std::max<size_t>(rank, 1) - 1];
  };
  double mean =
      std::accumulate(times.begin(), times.end(), 0.0) / static_cast<double>(times.size());
  return {{"p50", at(0.5)},  {"p90", at(0.9)},       {"p95", at(0.95)},
          {"p99", at(0.99)}, {"min", times.front()}, {"mean", mean}};
}

Json statsJson(const runtime::SessionStats& stats) {
  Json devices = Json::array();
  for (const runtime::DeviceStats& device : stats.devices) {
    devices.push_back({{"device", device.device},
                       {"worker", device.worker},
                       {"bytes", device.bytes},
                       {"shared_bytes", device.sharedBytes},
                       {"predicted_bytes", device.predictedBytes},
                       {"prepare_ms", millis(device.prepareNanos)},
                       {"executable_from_cache", device.fromCache},
                       {"tuned", device.tuned},
                       {"handed_over", device.handedOver},
                       {"notes", device.notes}});
  }
  return {{"open_ms", millis(stats.openNanos)},
          {"plan_ms", millis(stats.lastPlanNanos)},
          {"prepared_ms", millis(stats.preparedNanos)},
          {"load_ms", millis(stats.lastLoadNanos)},
          {"runs", stats.runs},
          {"predicted_step_ms", millis(stats.predictedStepNanos)},
          {"predicted_period_ms", millis(stats.predictedPeriodNanos)},
          {"imported", stats.imported},
          {"compiler_loaded", stats.compilerLoaded},
          {"plans",
           {{"made", stats.plansMade},
            {"from_disk", stats.planDiskHits},
            {"reused", stats.planHits},
            {"loaded", stats.plansLoaded},
            {"evicted", stats.plansEvicted}}},
          {"devices", devices}};
}

double predictedThroughput(const runtime::SessionStats& stats) {
  const uint64_t nanos =
      stats.predictedPeriodNanos != 0 ? stats.predictedPeriodNanos : stats.predictedStepNanos;
  return nanos == 0 ? 0 : 1e9 / static_cast<double>(nanos);
}

Json timesJson(const runtime::StepTimes& times) {
  Json nodes = Json::array();
  for (const runtime::NodeTime& node : times.nodes) {
    nodes.push_back({{"node", node.node},
                     {"device", node.device},
                     {"predicted_ns", node.predictedNanos},
                     {"from_measurement", node.fromMeasurement},
                     {"ns", node.nanos}});
  }
  Json edges = Json::array();
  for (const runtime::EdgeTime& edge : times.edges) {
    edges.push_back({{"tensor", edge.tensor},
                     {"from", edge.from},
                     {"to", edge.to},
                     {"bytes", edge.bytes},
                     {"ns", edge.nanos}});
  }
  return {{"steps", times.steps}, {"nodes", nodes}, {"edges", edges}};
}

void writeTraceOfFailure(const std::string& path, runtime::Session& session) {
  absl::Status written = path.empty() ? absl::OkStatus() : session.writeTrace(path);
  if (!written.ok()) {
    runtime::log(runtime::LogLevel::kWarning, written.message());
  }
}

uint64_t peakMemory() {
  // Not getrusage: its peak starts at that of the process that started this one.
  std::ifstream status("/proc/self/status");
  std::string word;
  while (status >> word && word != "VmHWM:") {
  }
  uint64_t kibibytes = 0;
  status >> kibibytes;
  return kibibytes * 1024;
}

std::string dump(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

absl::Status writeText(const std::string& path, const std::string& text) {
  GR_ASSIGN_OR_RETURN(runtime::AtomicFile file, runtime::AtomicFile::create(path));
  GR_RETURN_IF_ERROR(
      file.write(absl::MakeConstSpan(reinterpret_cast<const uint8_t*>(text.data()), text.size())));
  return file.commit();
}

}  // namespace graphrun::cli
