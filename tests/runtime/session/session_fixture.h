// A scratch folder with models and a cache, for tests of sessions.
#ifndef GRAPHRUN_TESTS_RUNTIME_SESSION_SESSION_FIXTURE_H_
#define GRAPHRUN_TESTS_RUNTIME_SESSION_SESSION_FIXTURE_H_

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "runtime/session/session.h"
#include "tests/runtime/session/toy_world.h"

namespace graphrun::testing {

class SessionFolder {
 public:
  SessionFolder() {
    char name[] = "/tmp/graphrun-session-XXXXXX";
    path_ = mkdtemp(name);
  }
  ~SessionFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  std::string path(const std::string& name) const { return path_ + "/" + name; }
  std::string model(const std::vector<std::string>& ops) const {
    writeToyModel(path("toy.fb"), ops);
    return path("toy.fb");
  }
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(path(name)) << text;
    return path(name);
  }
  runtime::SessionOptions options() {
    runtime::SessionOptions options;
    options.compiler = &compiler;
    options.makeDevice = makeToyDevice;
    options.cacheDirectory = path_;
    return options;
  }

  ToyCompiler compiler;

 private:
  std::string path_;
};

/// How many threads this process has.
inline size_t threadCount() {
  const std::filesystem::directory_iterator tasks("/proc/self/task");
  return static_cast<size_t>(std::distance(begin(tasks), end(tasks)));
}

inline std::vector<runtime::NamedTensor> vectorInput(const std::vector<float>& values) {
  runtime::HostTensor tensor({runtime::ElementType::kF32, {static_cast<int64_t>(values.size())}});
  std::copy(values.begin(), values.end(), tensor.as<float>().begin());
  std::vector<runtime::NamedTensor> inputs;
  inputs.push_back({"x", std::move(tensor)});
  return inputs;
}

}  // namespace graphrun::testing

#endif  // GRAPHRUN_TESTS_RUNTIME_SESSION_SESSION_FIXTURE_H_
