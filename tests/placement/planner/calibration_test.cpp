// The networks that are made to be measured.
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <set>

#include "runtime/session/session.h"

namespace graphrun::runtime {
namespace {

namespace fs = std::filesystem;

/// A folder of this process, removed at the end.
struct Folder {
  Folder() { fs::create_directories(path); }
  ~Folder() { fs::remove_all(path); }
  fs::path path =
      fs::temp_directory_path() / ("graphrun-calibration-test-" + std::to_string(getpid()));
};

std::vector<NamedSpec> shapesOf(const Session& session) {
  std::vector<NamedSpec> shapes;
  for (const ModelPort& input : session.inputs()) {
    shapes.push_back({input.name, {input.type, input.dims}});
  }
  return shapes;
}

TEST_CASE("each network of the calibration set can be planned, and the last is for links") {
  Folder folder;
  SessionOptions options;
  options.cacheDirectory = (folder.path / "cache").string();
  std::set<std::string> names;
  std::string last;
  for (uint32_t number = 0;; ++number) {
    const std::string path = (folder.path / (std::to_string(number) + ".fb")).string();
    absl::StatusOr<std::string> name = calibrationModel(number, path);
    if (!name.ok()) {
      CHECK(absl::IsNotFound(name.status()));
      break;
    }
    INFO(*name);
    names.insert(*name);
    last = *name;
    auto session = Session::create(path, options);
    REQUIRE(session.ok());
    auto text = (*session)->explain(shapesOf(**session));
    INFO(text.status());
    CHECK(text.ok());
  }
  CHECK(names.size() == 8);
  CHECK(last == "links");
}

}  // namespace
}  // namespace graphrun::runtime
