// A session over one of the folder's models, for tests from the ONNX file to the result.
#ifndef GRAPHRUN_TESTS_PLACEMENT_PLANNER_MODEL_WORLD_H_
#define GRAPHRUN_TESTS_PLACEMENT_PLANNER_MODEL_WORLD_H_

#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/session/session.h"

namespace graphrun::runtime {

/// A session on one thread with a cache of its own, gone at its end.
struct ModelWorld {
  explicit ModelWorld(const std::string& model)
      : folder(std::filesystem::temp_directory_path() /
               absl::StrCat("graphrun_models_", getpid(), "_", model)) {
    SessionOptions options;
    options.cacheDirectory = folder;
    options.threads = 1;
    auto made = Session::create(absl::StrCat(GRAPHRUN_STAGE_MODELS "/", model), options);
    INFO(made.status().message());
    REQUIRE(made.ok());
    session = *std::move(made);
  }
  ~ModelWorld() {
    session.reset();
    std::filesystem::remove_all(folder);
  }
  ModelWorld(const ModelWorld&) = delete;
  ModelWorld& operator=(const ModelWorld&) = delete;

  absl::Status tryRun(absl::Span<const NamedTensor> inputs) {
    return session->run(inputs, outputs);
  }
  void run(absl::Span<const NamedTensor> inputs) {
    absl::Status status = tryRun(inputs);
    INFO(status.message());
    REQUIRE(status.ok());
  }

  std::filesystem::path folder;
  std::unique_ptr<Session> session;
  std::vector<NamedTensor> outputs;
};

/// Resident memory of this process in bytes.
inline uint64_t residentBytes() {
  std::ifstream file("/proc/self/statm");
  uint64_t total = 0;
  uint64_t resident = 0;
  file >> total >> resident;
  return resident * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

}  // namespace graphrun::runtime

#endif  // GRAPHRUN_TESTS_PLACEMENT_PLANNER_MODEL_WORLD_H_
