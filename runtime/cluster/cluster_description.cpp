#include "runtime/cluster/cluster_description.h"

#include <filesystem>
#include <fstream>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"

namespace graphrun::runtime {

const GivenWorker* ClusterDescription::findWorker(absl::string_view name) const {
  for (const GivenWorker& worker : workers) {
    if (worker.name == name) {
      return &worker;
    }
  }
  return nullptr;
}

std::vector<std::string> ClusterDescription::workerNames() const {
  std::vector<std::string> names;
  names.reserve(workers.size());
  for (const GivenWorker& worker : workers) {
    names.push_back(worker.name);
  }
  return names;
}

std::vector<std::string> ClusterDescription::deviceNames() const {
  std::vector<std::string> names;
  for (const GivenWorker& worker : workers) {
    for (const GivenDevice& device : worker.devices) {
      names.push_back(absl::StrCat(worker.name, "/", device.kind, ":", device.index));
    }
  }
  return names;
}

std::vector<GivenWorker> ClusterFile::processes() const {
  std::vector<GivenWorker> others;
  for (const GivenWorker& worker : description.workers) {
    if (!worker.isInClient()) {
      others.push_back(worker);
    }
  }
  return others;
}

absl::StatusOr<ClusterFile> readClusterFile(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  if (!file || !(text << file.rdbuf())) {
    return absl::NotFoundError(absl::StrCat("cannot read the cluster description '", path, "'"));
  }
  ClusterFile cluster{path, text.str(), {}};
  GR_ASSIGN_OR_RETURN(cluster.description, parseClusterDescription(cluster.text, path));
  if (std::optional<GivenSecurity>& files = cluster.description.security) {
    const std::filesystem::path folder = std::filesystem::path(path).parent_path();
    for (std::string* name : {&files->ca, &files->cert, &files->key}) {
      *name = (folder / *name).lexically_normal().string();  // an absolute path replaces the folder
    }
  }
  return cluster;
}

}  // namespace graphrun::runtime
