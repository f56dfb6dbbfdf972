#include "runtime/cluster/cluster_description.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/mapped_file.h"
#include "runtime/base/status.h"

namespace graphrun::runtime {
namespace {

constexpr size_t kMostBytes = size_t{16} << 20;

/// All of a file or pipe; what nobody writes to is empty.
absl::StatusOr<std::string> readText(const std::string& path) {
  const std::string what = "read the cluster description";
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) {
    return fileError(what, path, errno);
  }
  ::fcntl(fd, F_SETFL, 0);  // only that it was opened must not wait
  std::string text;
  ssize_t got = 0;
  do {
    char part[1 << 14];
    got = ::read(fd, part, sizeof part);
    text.append(part, static_cast<size_t>(std::max<ssize_t>(got, 0)));
  } while ((got > 0 && text.size() <= kMostBytes) || (got < 0 && errno == EINTR));
  const int error = errno;
  ::close(fd);
  if (got < 0) {
    return fileError(what, path, error);
  }
  return got == 0 ? absl::StatusOr<std::string>(std::move(text))
                  : absl::InvalidArgumentError(absl::StrCat(
                        "cannot ", what, " '", path, "': it has more than ", kMostBytes, " bytes"));
}

}  // namespace

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
    for (const DeviceSpec& device : worker.devices) {
      names.push_back(absl::StrCat(worker.name, "/", device.kind.name, ":", device.index));
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

absl::StatusOr<ClusterFile> readClusterFile(const std::string& path,
                                            absl::Span<const DeviceKind> kinds) {
  GR_ASSIGN_OR_RETURN(std::string text, readText(path));
  ClusterFile cluster{path, std::move(text), {}};
  GR_ASSIGN_OR_RETURN(cluster.description, parseClusterDescription(cluster.text, path, kinds));
  if (std::optional<GivenSecurity>& files = cluster.description.security) {
    const std::filesystem::path folder = std::filesystem::path(path).parent_path();
    for (std::string* name : {&files->ca, &files->cert, &files->key}) {
      *name = (folder / *name).lexically_normal().string();  // an absolute path replaces the folder
    }
  }
  return cluster;
}

}  // namespace graphrun::runtime
