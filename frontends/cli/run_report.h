// The run report says what a session did, as JSON, for --report and bench.
#ifndef GRAPHRUN_FRONTENDS_CLI_RUN_REPORT_H_
#define GRAPHRUN_FRONTENDS_CLI_RUN_REPORT_H_

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "runtime/session/session.h"

namespace graphrun::cli {

using Json = nlohmann::ordered_json;

/// {"p50", "p90", "p95", "p99", "min", "mean"} in milliseconds.
Json latencyJson(std::vector<double> milliseconds);
/// Times, caches and devices of a session.
Json statsJson(const runtime::SessionStats& stats);
/// Steps a second that the last plan promises: as many in flight as use all workers, or where they
/// wait for each other one at a time; 0 without a plan.
double predictedThroughput(const runtime::SessionStats& stats);
/// {"steps", "nodes": [{"node", "device", "predicted_ns", "from_measurement", "ns"}],
/// "edges": [{"tensor", "from", "to", "bytes", "ns"}]}.
Json timesJson(const runtime::StepTimes& times);
/// Writes what a run did that failed to `path`, unless that is "". Says so where it cannot: why the
/// run failed is told in any case.
void writeTraceOfFailure(const std::string& path, runtime::Session& session);
/// The most memory that this process has had, in bytes.
uint64_t peakMemory();
/// JSON text that is valid whatever bytes names hold.
std::string dump(const Json& json);
absl::Status writeText(const std::string& path, const std::string& text);

}  // namespace graphrun::cli

#endif  // GRAPHRUN_FRONTENDS_CLI_RUN_REPORT_H_
