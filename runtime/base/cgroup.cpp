#include "runtime/base/cgroup.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace graphrun::runtime {
namespace {

/// First line of a file, or nothing.
std::optional<std::string> firstLine(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  return std::getline(file, line) ? std::optional(line) : std::nullopt;
}

std::optional<int64_t> numberOf(absl::string_view text) {
  int64_t value;
  return absl::SimpleAtoi(text, &value) && value > 0 ? std::optional(value) : std::nullopt;
}

std::optional<int64_t> numberIn(const std::string& path) {
  std::optional<std::string> line = firstLine(path);
  return line ? numberOf(*line) : std::nullopt;
}

/// The folders of the groups that `controller` bounds the process by: those that are mounted at the
/// root, and below them its own with all around it. Not all need to exist.
std::vector<std::string> foldersOf(const std::string& controller, const std::string& root,
                                   const std::string& membership) {
  std::vector<std::string> folders = {root, absl::StrCat(root, "/", controller)};
  std::ifstream file(membership);
  for (std::string line; std::getline(file, line);) {
    // "number:controllers:path"; version 2 has no controllers here.
    std::vector<std::string> parts = absl::StrSplit(line, absl::MaxSplits(':', 2));
    if (parts.size() != 3) {
      continue;
    }
    std::vector<std::string> controllers = absl::StrSplit(parts[1], ',');
    bool mine = std::find(controllers.begin(), controllers.end(), controller) != controllers.end();
    if (!mine && !parts[1].empty()) {
      continue;
    }
    const std::string mount = folders[mine ? 1 : 0];
    const std::string& path = parts[2];
    for (size_t end = path.size(); end > 1 && end != path.npos; end = path.rfind('/', end - 1)) {
      folders.push_back(mount + path.substr(0, end));
    }
  }
  return folders;
}

/// CPU time a second that a group may use, rounded up.
std::optional<int64_t> quotaOf(const std::string& folder) {
  std::optional<int64_t> quota = numberIn(folder + "/cpu.cfs_quota_us");
  std::optional<int64_t> period = numberIn(folder + "/cpu.cfs_period_us");
  if (std::optional<std::string> line = firstLine(folder + "/cpu.max")) {
    std::vector<std::string> parts = absl::StrSplit(*line, ' ');  // "max 100000": none
    quota = numberOf(parts[0]);
    period = parts.size() == 2 ? numberOf(parts[1]) : std::nullopt;
  }
  return quota && period ? std::optional((*quota + *period - 1) / *period) : std::nullopt;
}

/// The less of two limits.
template <typename T>
void lower(std::optional<T>& limit, std::optional<int64_t> other) {
  if (other && (!limit || static_cast<T>(*other) < *limit)) {
    limit = static_cast<T>(*other);
  }
}

/// By the affinity mask of the process, not of the thread, and the control groups.
uint32_t allowedThreads() {
  cpu_set_t set;
  CPU_ZERO(&set);
  const bool isKnown = sched_getaffinity(getpid(), sizeof(set), &set) == 0;
  const auto cores = static_cast<size_t>(isKnown ? CPU_COUNT(&set) : 1);
  return static_cast<uint32_t>(
      std::max<size_t>(1, std::min(cores, readCgroup().cores.value_or(cores))));
}

}  // namespace

CgroupLimits readCgroup(const std::string& root, const std::string& membership) {
  CgroupLimits limits;
  for (const std::string& folder : foldersOf("cpu", root, membership)) {
    lower(limits.cores, quotaOf(folder));
  }
  for (const std::string& folder : foldersOf("memory", root, membership)) {
    lower(limits.memory, numberIn(folder + "/memory.max"));
    lower(limits.memory, numberIn(folder + "/memory.limit_in_bytes"));
  }
  return limits;
}

uint32_t fewerThreads() {
  const char* text = std::getenv("OMP_NUM_THREADS");
  absl::string_view first = text == nullptr ? "" : absl::string_view(text);
  first = absl::StripAsciiWhitespace(first.substr(0, first.find(',')));
  uint32_t threads = 0;
  return absl::SimpleAtoi(first, &threads) && threads < allowedThreads() ? threads : 0;
}

uint32_t usableThreads() {
  const uint32_t fewer = fewerThreads();
  return fewer != 0 ? fewer : allowedThreads();
}

uint64_t usableMemory() {
  const uint64_t bytes =
      static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  return std::min(bytes, readCgroup().memory.value_or(bytes));
}

}  // namespace graphrun::runtime
