#include "runtime/format/model_writer.h"

#include <sys/resource.h>

#include <catch2/catch.hpp>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "runtime/format/model_file.h"
#include "tests/runtime/format/samples.h"

namespace graphrun::format {
namespace {

using Catch::Matchers::Contains;

absl::Status writeSample(const std::string& path) {
  GraphT graph = sampleGraph();
  return writeModelFile(path, "samples", sampleWeights(), {},
                        [&](auto& builder) { return Graph::Pack(builder, &graph); });
}

std::string contentOf(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST_CASE("what is written is read back") {
  TemporaryFolder folder;
  std::string path = folder.file("m.fb");
  REQUIRE(writeSample(path) == absl::OkStatus());
  auto file = ModelFile::open(path);
  REQUIRE(file.status() == absl::OkStatus());
  CHECK((*file)->verifyWeights().ok());
  CHECK((*file)->model().producer()->str() == "samples");
  CHECK((*file)->weight(0)->data() == (*file)->weight(2)->data());
  CHECK((*file)->weightSpec(2).toString() == "3x2xf32");
  GraphT graph;
  (*file)->graph().UnPackTo(&graph);
  CHECK(graph.input_names == sampleGraph().input_names);
  CHECK(folder.list() == std::vector<std::string>{"m.fb"});
  // The same model again: the same bytes, in place of the old file.
  std::string before = contentOf(path);
  REQUIRE(writeSample(path).ok());
  CHECK(contentOf(path) == before);
}

TEST_CASE("a model without weights, and one with an empty weight") {
  TemporaryFolder folder;
  GraphT graph = sampleGraph();
  graph.body->operations[0]->attributes.clear();
  auto build = [&](auto& builder) { return Graph::Pack(builder, &graph); };
  REQUIRE(writeModelFile(folder.file("a.fb"), "", {}, {}, build).ok());
  CHECK(ModelFile::open(folder.file("a.fb")).ok());
  WeightSource empty{"none", {runtime::ElementType::kF32, {0, 4}}, false, {}};
  REQUIRE(writeModelFile(folder.file("b.fb"), "", {empty}, {}, build).ok());
  auto file = ModelFile::open(folder.file("b.fb"));
  REQUIRE(file.ok());
  CHECK((*file)->weight(0)->empty());
}

TEST_CASE("equal data is written once and different data is not confused") {
  TemporaryFolder folder;
  GraphT graph = sampleGraph();
  std::vector<uint8_t> ones(100000, 1);
  std::vector<uint8_t> twos(100000, 2);
  runtime::TensorSpec spec{runtime::ElementType::kU8, {100000}};
  std::vector<WeightSource> weights;
  for (int i = 0; i < 10; ++i) {
    weights.push_back({"w" + std::to_string(i), spec, false, i % 2 == 0 ? ones : twos});
  }
  std::string path = folder.file("m.fb");
  REQUIRE(
      writeModelFile(path, "", weights, {}, [&](auto& b) { return Graph::Pack(b, &graph); }).ok());
  CHECK(std::filesystem::file_size(path) < 220000);
  auto file = ModelFile::open(path);
  REQUIRE(file.ok());
  REQUIRE((*file)->verifyWeights().ok());
  CHECK((*file)->weight(7)->front() == 2);
  CHECK((*file)->weight(8)->back() == 1);
}

TEST_CASE("what no reader would accept is not written") {
  TemporaryFolder folder;
  GraphT graph = sampleGraph();
  graph.body->operations[0]->operands = {9};
  auto build = [&](auto& builder) { return Graph::Pack(builder, &graph); };
  absl::Status status = writeModelFile(folder.file("m.fb"), "", sampleWeights(), {}, build);
  CHECK_THAT(std::string(status.message()), Contains("m.fb") && Contains("operand 0 is value 9"));
  std::vector<WeightSource> weights = sampleWeights();
  weights[0].spec.dims = {7};
  status = writeModelFile(folder.file("m.fb"), "", weights, {}, build);
  CHECK_THAT(std::string(status.message()), Contains("24 bytes, expected 28 for 7xf32"));
  CHECK(folder.list().empty());
}

TEST_CASE("paths that cannot be written are named") {
  TemporaryFolder folder;
  absl::Status status = writeSample(folder.file("absent/m.fb"));
  CHECK(absl::IsNotFound(status));
  CHECK_THAT(std::string(status.message()), Contains("absent/m.fb"));
  std::ofstream(folder.file("plain")).close();
  CHECK_FALSE(writeSample(folder.file("plain/m.fb")).ok());
  std::filesystem::create_directory(folder.file("dir"));
  CHECK_THAT(std::string(writeSample(folder.file("dir")).message()), Contains("it is a folder"));
  CHECK(writeSample("/dev/null").ok());  // written as it is, never replaced
  CHECK(std::filesystem::is_character_file("/dev/null"));
}

// The limit on file sizes stands for a full disk: both fail in the midst of a write.
TEST_CASE("a write that fails half-way leaves the old file and no other") {
  TemporaryFolder folder;
  std::string path = folder.file("m.fb");
  REQUIRE(writeSample(path).ok());
  std::string before = contentOf(path);
  auto oldHandler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit old = {};
  getrlimit(RLIMIT_FSIZE, &old);
  rlimit tight = {4100, old.rlim_max};
  setrlimit(RLIMIT_FSIZE, &tight);
  absl::Status status = writeSample(path);
  setrlimit(RLIMIT_FSIZE, &old);
  std::signal(SIGXFSZ, oldHandler);
  CHECK(absl::IsResourceExhausted(status));
  CHECK_THAT(std::string(status.message()), Contains("m.fb") && Contains("after 4100 bytes"));
  CHECK(contentOf(path) == before);
  CHECK(folder.list() == std::vector<std::string>{"m.fb"});
}

}  // namespace
}  // namespace graphrun::format
