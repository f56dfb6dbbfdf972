// Each format of cost files has a file of its own: for cost_file.cpp.
#ifndef GRAPHRUN_PLACEMENT_FORMATS_COST_FILE_FORMATS_H_
#define GRAPHRUN_PLACEMENT_FORMATS_COST_FILE_FORMATS_H_

#include "placement/formats/cost_file.h"
#include "placement/text/json_object.h"

namespace graphrun::placement {

/// More devices than any cluster has: what is beyond is a mistake.
inline constexpr int64_t kMostDevices = 1024;
/// The most times that a file may hold: nodes times devices, each of which takes 8 bytes.
inline constexpr int64_t kMostTimes = 100'000'000;
/// The largest time (eleven days), and the largest size.
inline constexpr int64_t kMostNs = 1'000'000'000'000'000;
inline constexpr int64_t kMostBytes = 1'000'000'000'000'000;

// Each fills all of `file` but finishes no graph, and reports to `problems`. What it leaves behind
// then is of no use.

void readNativeCosts(const nlohmann::json& json, absl::Span<const DeviceKind> kinds,
                     FileProblems& problems, CostFile& file);
void readDnnPartitioning(const nlohmann::json& json, Objective objective,
                         absl::Span<const DeviceKind> kinds, FileProblems& problems,
                         CostFile& file);
void readStandardTaskGraph(absl::string_view text, int64_t devices, FileProblems& problems,
                           CostFile& file);

/// Adds a device in a worker of the given name, made when it is new.
Device& addDevice(Cluster& cluster, const std::string& name, const std::string& worker);
/// Transfers take no time.
LinkModel freeLink();
/// "; did you mean …" where that is quickly found.
std::string hintFor(const std::string& name, const std::vector<std::string>& known);

}  // namespace graphrun::placement

#endif  // GRAPHRUN_PLACEMENT_FORMATS_COST_FILE_FORMATS_H_
