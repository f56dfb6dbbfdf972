#include "devices/cpu/runtime/cpu_topology.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <oneapi/dnnl/dnnl.hpp>

#include "absl/strings/ascii.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "devices/cpu/vectors/instructions.h"
#include "runtime/base/cgroup.h"
#include "runtime/base/status.h"
#include "runtime/format/checksum.h"

namespace graphrun::devices::cpu {
namespace {

/// Value of the first line "key : value" of /proc/cpuinfo with one of `keys`.
std::string cpuInfo(std::initializer_list<absl::string_view> keys) {
  std::ifstream file("/proc/cpuinfo");
  std::string line;
  while (std::getline(file, line)) {
    std::vector<std::string> parts = absl::StrSplit(line, absl::MaxSplits(':', 1));
    std::string key(absl::StripAsciiWhitespace(parts[0]));
    if (parts.size() == 2 && std::find(keys.begin(), keys.end(), key) != keys.end()) {
      return std::string(absl::StripAsciiWhitespace(parts[1]));
    }
  }
  return "unknown";
}

}  // namespace

std::vector<uint32_t> allowedCores() {
  std::vector<uint32_t> cores;
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(getpid(), sizeof(set), &set) == 0) {
    for (uint32_t core = 0; core < CPU_SETSIZE; ++core) {
      if (CPU_ISSET(core, &set)) {
        cores.push_back(core);
      }
    }
  }
  if (cores.empty()) {
    cores.push_back(0);
  }
  cores.resize(std::min(cores.size(), runtime::readCgroup().cores.value_or(cores.size())));
  return cores;
}

std::string processorFingerprint() {
  std::string flags = cpuInfo({"flags", "Features", "cpu"});
  const dnnl_version_t* version = dnnl_version();
  return absl::StrCat(
      cpuInfo({"model name", "cpu"}), " flags ",
      absl::Hex(format::checksumOf({reinterpret_cast<const uint8_t*>(flags.data()), flags.size()})),
      " isa ", absl::Hex(libraryInstructions()), " loops ", static_cast<int>(loopInstructions()),
      " oneDNN ", version->major, ".", version->minor, ".", version->patch, " ", version->hash);
}

absl::Status pinThread(absl::Span<const uint32_t> cores) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (uint32_t core : cores) {
    if (core >= CPU_SETSIZE) {
      return absl::InvalidArgumentError(absl::StrCat("there is no logical CPU ", core));
    }
    CPU_SET(core, &set);
  }
  if (sched_setaffinity(0, sizeof(set), &set) != 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "cannot run on logical CPUs ", absl::StrJoin(cores, ","), ": ", std::strerror(errno),
        "; the process may use ", absl::StrJoin(allowedCores(), ",")));
  }
  return absl::OkStatus();
}

}  // namespace graphrun::devices::cpu
