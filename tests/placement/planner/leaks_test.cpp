// What a session takes does not grow with its runs: the slope over two thousand of them.
#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "runtime/session/session.h"

namespace graphrun::runtime {
namespace {

constexpr int kRuns = 2'000;
constexpr int kEach = 50;  // runs from one look to the next
/// Bytes a run: of the heap, which is counted exactly, and of the process, which holds whole pages.
constexpr double kMostHeapSlope = 64;
constexpr double kMostResidentSlope = 4'096;

double heapBytes() {
  struct mallinfo2 info = mallinfo2();
  return static_cast<double>(info.uordblks + info.hblkhd);
}

double residentBytes() {
  malloc_trim(0);
  std::ifstream file("/proc/self/statm");
  uint64_t total = 0;
  uint64_t resident = 0;
  file >> total >> resident;
  return static_cast<double>(resident) * static_cast<double>(sysconf(_SC_PAGESIZE));
}

size_t entriesOf(const char* folder) {
  std::filesystem::directory_iterator entries(folder);
  return static_cast<size_t>(std::distance(begin(entries), end(entries)));
}

size_t mappings() {
  std::ifstream file("/proc/self/maps");
  std::string line;
  size_t count = 0;
  while (std::getline(file, line)) {
    ++count;
  }
  return count;
}

/// By Theil and Sen: the median of the slopes between all pairs, which a few jumps do not move.
double slopeOf(const std::vector<double>& values) {
  std::vector<double> slopes;
  for (size_t i = 0; i < values.size(); ++i) {
    for (size_t j = i + 1; j < values.size(); ++j) {
      slopes.push_back((values[j] - values[i]) / static_cast<double>((j - i) * kEach));
    }
  }
  std::nth_element(slopes.begin(), slopes.begin() + static_cast<ptrdiff_t>(slopes.size() / 2),
                   slopes.end());
  return slopes[slopes.size() / 2];
}

/// Runs with one of six shapes, of which three have a plan at a time: the others are loaded anew.
void runOnce(Session& session, int number, std::vector<NamedTensor>& outputs) {
  const int64_t side = 4 + number % 6;
  NamedTensor inputs[] = {{"x", HostTensor(TensorSpec{ElementType::kF32, {1, 32, side, side}})}};
  std::fill_n(inputs[0].tensor.as<float>().begin(), inputs[0].tensor.as<float>().size(), 0.5F);
  absl::Status status = session.run(inputs, outputs);
  INFO(status.message());
  REQUIRE(status.ok());
  REQUIRE(outputs[0].tensor.spec().dims == std::vector<int64_t>{1, 64});
}

}  // namespace

TEST_CASE("two thousand runs of changing shapes leave nothing behind") {
  std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("graphrun_leaks_" + std::to_string(getpid()));
  SessionOptions options;
  options.cacheDirectory = folder;
  options.threads = 1;
  options.maxPlans = 3;
  options.tuneBudget = std::chrono::milliseconds(0);  // a choice that comes late is no leak
  auto session = Session::create(GRAPHRUN_STAGE_MODELS "/batched.onnx", options);
  REQUIRE(session.status() == absl::OkStatus());
  std::vector<NamedTensor> outputs;
  std::vector<double> heap;
  std::vector<double> resident;
  size_t files = 0;
  size_t maps = 0;
  for (int run = 0; run < kRuns; ++run) {
    runOnce(**session, run, outputs);
    if (run >= kRuns / 4 && run % kEach == 0) {
      heap.push_back(heapBytes());
      resident.push_back(residentBytes());
      files = files == 0 ? entriesOf("/proc/self/fd") : files;
      maps = maps == 0 ? mappings() : maps;
    }
  }
  INFO("heap " << slopeOf(heap) << " bytes a run, resident " << slopeOf(resident) << "; heap from "
               << heap.front() << " to " << heap.back());
  CHECK((*session)->stats().plansLoaded > kRuns / 2);
  CHECK(slopeOf(heap) < kMostHeapSlope);
  CHECK(slopeOf(resident) < kMostResidentSlope);
  CHECK(entriesOf("/proc/self/fd") <= files + 1);
  CHECK(mappings() <= maps + maps / 10);
  session->reset();
  std::filesystem::remove_all(folder);
}

}  // namespace graphrun::runtime
