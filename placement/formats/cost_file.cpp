#include "placement/formats/cost_file.h"

#include <limits>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "placement/formats/cost_file_formats.h"
#include "runtime/base/names.h"
#include "runtime/base/status.h"

namespace graphrun::placement {
namespace {

/// Sums of times and of bytes stay far below the largest int64.
constexpr double kMostSum = 1e18;
constexpr size_t kMostKnown = 10'000;
constexpr size_t kMostName = 200;

void readJson(absl::string_view text, const CostFileOptions& options, FileProblems& problems,
              CostFile& file) {
  std::optional<nlohmann::json> json = parseJson(text, problems);
  if (!json.has_value()) {
    return;
  }
  if (json->contains("format")) {
    readNativeCosts(*json, options.kinds, problems, file);
  } else if (json->contains("maxFPGAs") || json->contains("maxCPUs")) {
    readDnnPartitioning(*json, options.objective.value_or(Objective::kThroughput), options.kinds,
                        problems, file);
  } else {
    problems.add("",
                 "no cost graph: expected \"format\": \"graphrun-costs\", or maxFPGAs, maxCPUs, "
                 "nodes and edges of dnn-partitioning");
  }
}

/// The longest time that a tensor could take on a link, and what it could take at ports.
double slowestNs(const Cluster& cluster, const CostTensor& tensor) {
  double ns = static_cast<double>(tensor.portNs) * 2;
  auto on = [&](double latency, double bytesPerSecond) {
    return latency + static_cast<double>(tensor.bytes) / bytesPerSecond * 1e9;
  };
  LinkModel other = cluster.otherLinks.value_or(freeLink());
  double slowest = on(static_cast<double>(other.latencyNs), other.bytesPerSecond);
  for (const LinkOverride& link : cluster.links) {
    slowest = std::max(slowest, on(static_cast<double>(link.latencyNs.value_or(other.latencyNs)),
                                   link.bytesPerSecond.value_or(other.bytesPerSecond)));
  }
  return ns + slowest;
}

/// Times and sizes whose sums the simulator could not hold.
void checkSums(const CostFile& file, FileProblems& problems) {
  double ns = 0;
  double bytes = 0;
  for (const CostNode& node : file.graph.nodes) {
    ns += static_cast<double>(
        node.timeNs.empty() ? 0 : *std::max_element(node.timeNs.begin(), node.timeNs.end()));
    bytes += static_cast<double>(node.weightBytes) + static_cast<double>(node.workspaceBytes);
  }
  for (const CostTensor& tensor : file.graph.tensors) {
    auto uses = static_cast<double>(tensor.consumers.size() + 1);
    ns += slowestNs(file.cluster, tensor) * uses;
    bytes += static_cast<double>(tensor.bytes) * 4 * uses;
  }
  if (ns > kMostSum || bytes > kMostSum) {
    problems.add("", absl::StrCat("all ", ns > kMostSum ? "times in ns" : "sizes in bytes",
                                  " together are more than ", kMostSum));
  }
}

}  // namespace

Device& addDevice(Cluster& cluster, const std::string& name, const std::string& worker) {
  std::optional<int> index = cluster.workers.empty() || cluster.workers.back().name != worker
                                 ? cluster.findWorker(worker)
                                 : static_cast<int>(cluster.workers.size()) - 1;
  if (!index.has_value()) {
    index = static_cast<int>(cluster.workers.size());
    cluster.workers.push_back({});
    cluster.workers.back().name = worker;
    cluster.workers.back().devicesGiven = true;
  }
  Device device;
  device.name = name;
  device.worker = *index;
  device.index = static_cast<int>(cluster.devices.size());
  cluster.devices.push_back(std::move(device));
  return cluster.devices.back();
}

LinkModel freeLink() { return {LinkKind::kGiven, 0, std::numeric_limits<double>::infinity()}; }

std::string hintFor(const std::string& name, const std::vector<std::string>& known) {
  return name.size() > kMostName || known.size() > kMostKnown ? ""
                                                              : runtime::didYouMean(name, known);
}

absl::StatusOr<PlacementProblem> CostFile::problem() const {
  GR_ASSIGN_OR_RETURN(PlacementProblem problem, PlacementProblem::create(graph, cluster));
  problem.objective = objective;
  problem.contiguous = contiguous;
  return problem;
}

absl::StatusOr<CostFile> readCostFile(absl::string_view text, absl::string_view fileName,
                                      const CostFileOptions& options) {
  CostFile file;
  FileProblems problems(fileName);
  absl::string_view content = absl::StripLeadingAsciiWhitespace(text);
  bool json = !content.empty() && content[0] == '{';
  bool tasks = !content.empty() && absl::ascii_isdigit(static_cast<unsigned char>(content[0]));
  if (json) {
    readJson(text, options, problems, file);
  } else if (tasks) {
    readStandardTaskGraph(text, options.devices, problems, file);
  } else {
    problems.add("",
                 "neither a JSON object nor a standard task graph, which begins with the number "
                 "of its tasks");
  }
  if (!tasks && options.devices > 0) {
    problems.add("", "the file names its devices; --devices is for standard task graphs");
  }
  if (problems.none()) {
    checkSums(file, problems);
  }
  GR_RETURN_IF_ERROR(problems.status());
  GR_RETURN_IF_ERROR(runtime::annotate(
      file.graph.finish(static_cast<int>(file.cluster.devices.size())), fileName));
  file.objective = options.objective.value_or(file.objective);
  file.contiguous = file.contiguous || options.contiguous;
  return file;
}

}  // namespace graphrun::placement
