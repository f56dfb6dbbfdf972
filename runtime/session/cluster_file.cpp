#include "runtime/session/cluster_file.h"

#include <yaml-cpp/yaml.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"

namespace graphrun::runtime {
namespace {

/// Of a worker that is this process itself.
constexpr char kClientAddress[] = "client";

absl::Status wrong(const std::string& path, const YAML::Node& at, absl::string_view what) {
  return absl::InvalidArgumentError(
      absl::StrCat(path, ":", std::max(at.Mark().line + 1, 1), ": ", what));
}

std::string scalar(const YAML::Node& map, const char* key) {
  return map.IsMap() && map[key] && map[key].IsScalar() ? map[key].Scalar() : "";
}

/// What is not as it should be is told by the planner.
void readGpus(const YAML::Node& devices, ClusterWorker& worker) {
  for (size_t i = 0; devices && devices.IsSequence() && i < devices.size(); ++i) {
    uint32_t index = 0;
    if (devices[i].IsMap() && devices[i]["cuda"] &&
        absl::SimpleAtoi(scalar(devices[i]["cuda"], "index"), &index)) {
      worker.gpus.push_back(index);
    }
  }
}

absl::Status readWorkers(const YAML::Node& list, ClusterFile& cluster) {
  if (!list || !list.IsSequence() || list.size() == 0) {
    return wrong(cluster.path, list, "expected 'workers', a list with at least one entry");
  }
  std::set<std::string> names;
  for (const YAML::Node& node : list) {
    ClusterWorker worker{scalar(node, "name"), scalar(node, "address"), false, {}};
    if (worker.name.empty() || worker.address.empty()) {
      return wrong(cluster.path, node, "a worker needs a name and an address");
    }
    if (worker.name == "client" || !names.insert(worker.name).second) {
      return wrong(cluster.path, node,
                   absl::StrCat("the name '", worker.name, "' is taken; names must differ"));
    }
    worker.devicesGiven = static_cast<bool>(node["devices"]);
    if (worker.address == kClientAddress) {
      if (!worker.devicesGiven) {
        return wrong(cluster.path, node, "a worker in this process needs 'devices'");
      }
      continue;  // nothing to reach
    }
    readGpus(node["devices"], worker);
    cluster.workers.push_back(std::move(worker));
  }
  return absl::OkStatus();
}

void readSecurity(const YAML::Node& node, ClusterFile& cluster) {
  std::filesystem::path folder = std::filesystem::path(cluster.path).parent_path();
  auto file = [&](const char* key) {
    std::string name = scalar(node, key);
    return name.empty() ? "" : (folder / name).lexically_normal().string();
  };
  cluster.security = {file("ca"), file("cert"), file("key")};
}

}  // namespace

absl::StatusOr<ClusterFile> readClusterFile(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  if (!file || !(text << file.rdbuf())) {
    return absl::NotFoundError(absl::StrCat("cannot read the cluster description '", path, "'"));
  }
  ClusterFile cluster{path, text.str(), {}, {}};
  // yaml-cpp reports by exception; none leaves this function.
  try {
    YAML::Node root = YAML::Load(cluster.text);
    if (!root.IsMap()) {
      return wrong(path, root, "expected a mapping with the key 'workers'");
    }
    GR_RETURN_IF_ERROR(readWorkers(root["workers"], cluster));
    if (root["security"]) {
      readSecurity(root["security"], cluster);
    }
  } catch (const YAML::Exception& error) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ":", error.mark.line + 1, ": not YAML: ", error.msg));
  }
  return cluster;
}

}  // namespace graphrun::runtime
