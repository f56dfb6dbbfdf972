#include "tests/devices/cuda/compiler/ptxas.h"

#include <unistd.h>

#include <array>
#include <catch2/catch.hpp>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "absl/strings/str_cat.h"

namespace graphrun::devices::cuda {
namespace {

constexpr const char* kPtxas = GRAPHRUN_PTXAS;

/// What `command` writes and its exit status.
std::pair<std::string, int> run(const std::string& command) {
  std::FILE* pipe = popen(command.c_str(), "r");
  REQUIRE(pipe != nullptr);
  std::string output;
  std::array<char, 4096> part{};
  while (size_t count = std::fread(part.data(), 1, part.size(), pipe)) {
    output.append(part.data(), count);
  }
  return {output, pclose(pipe)};
}

}  // namespace

/// Bytes of registers that a thread may keep in memory: four numbers, as asinh of f32 does on
/// sm_80.
constexpr unsigned long kMostSpilled = 16;

bool hasPtxas() {
  if (*kPtxas == '\0') {
    WARN("skipped: no ptxas was found (CUDA toolkit); generated PTX is not assembled");
  }
  return *kPtxas != '\0';
}

void requireAssembles(const std::string& ptx, int computeCapability) {
  std::string folder = (std::filesystem::temp_directory_path() / "graphrun-ptx-XXXXXX").string();
  REQUIRE(mkdtemp(folder.data()) != nullptr);
  std::string file = folder + "/kernel.ptx";
  std::ofstream(file) << ptx;
  auto [output, status] = run(absl::StrCat(kPtxas, " -arch=sm_", computeCapability, " -v -o ",
                                           folder, "/kernel.cubin ", file, " 2>&1"));
  std::filesystem::remove_all(folder);
  INFO(output);
  INFO(ptx);
  REQUIRE(status == 0);
  size_t end = output.find(" bytes spill stores");
  if (end != std::string::npos) {
    size_t begin = output.find_last_not_of("0123456789", end - 1) + 1;
    REQUIRE(std::stoul(output.substr(begin, end - begin)) <= kMostSpilled);
  }
}

}  // namespace graphrun::devices::cuda
