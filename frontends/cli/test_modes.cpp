#include "frontends/cli/test_modes.h"

#include <sched.h>
#include <unistd.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "frontends/cli/command_line.h"
#include "frontends/cli/run_report.h"
#include "frontends/cli/symbolic_model.h"
#include "runtime/base/mapped_file.h"
#include "runtime/base/status.h"
#include "runtime/format/checksum.h"

namespace graphrun::cli {
namespace {

constexpr const char* kTestModeNames[] = {"whole", "symbolic", "split"};

/// Two CPUs that this process may use; one and the same where it has no other.
std::pair<int, int> twoCores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  sched_getaffinity(0, sizeof set, &set);
  std::vector<int> cores;
  for (int core = 0; core < CPU_SETSIZE && cores.size() < 2; ++core) {
    if (CPU_ISSET(core, &set)) {
      cores.push_back(core);
    }
  }
  return cores.empty() ? std::pair(0, 0) : std::pair(cores.front(), cores.back());
}

std::string twoDevices() {
  auto [first, second] = twoCores();
  return absl::StrFormat(
      "workers:\n"
      "  - name: here\n"
      "    address: client\n"
      "    devices: [{cpu: {cores: %d, shared: true, detached: true}},\n"
      "              {cpu: {cores: %d, shared: true, detached: true}}]\n",
      first, second);
}

}  // namespace

const char* testModeName(TestMode mode) { return kTestModeNames[static_cast<size_t>(mode)]; }

absl::StatusOr<std::vector<TestMode>> parseTestModes(const std::string& text) {
  std::vector<TestMode> modes;
  for (absl::string_view word : absl::StrSplit(text, ',')) {
    size_t index = 0;
    while (index < std::size(kTestModeNames) && word != kTestModeNames[index]) {
      ++index;
    }
    if (index == std::size(kTestModeNames)) {
      return usageError(
          absl::StrCat("--ways: '", word, "' is none of whole, symbolic, split (a comma between)"));
    }
    modes.push_back(static_cast<TestMode>(index));
  }
  return modes;
}

absl::StatusOr<TestModeFiles> TestModeFiles::create() {
  GR_ASSIGN_OR_RETURN(runtime::ScratchFolder folder, runtime::ScratchFolder::create());
  TestModeFiles files(std::move(folder));
  GR_RETURN_IF_ERROR(writeText((files.folder_.path() / "two_devices.yaml").string(), twoDevices()));
  return files;
}

absl::StatusOr<std::string> TestModeFiles::prepare(TestMode mode, const std::string& model,
                                                   uint64_t seed, const std::string& name,
                                                   runtime::SessionOptions& options) const {
  if (mode == TestMode::kSymbolic) {
    GR_ASSIGN_OR_RETURN(runtime::MappedFile file, runtime::MappedFile::open(model));
    std::string open = (folder_.path() / absl::StrCat(getpid(), ".onnx")).string();
    GR_RETURN_IF_ERROR(writeText(open, withSymbolicDims(file.bytes())));
    return open;
  }
  if (mode == TestMode::kSplit) {
    options.cluster = (folder_.path() / "two_devices.yaml").string();
    std::string text = absl::StrCat(name, " ", seed);
    options.strategy = absl::StrCat(
        "random:",
        format::checksumOf({reinterpret_cast<const uint8_t*>(text.data()), text.size()}));
  }
  return model;
}

}  // namespace graphrun::cli
