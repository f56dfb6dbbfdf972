// Weights of a safetensors file: what is read, and what every broken file is told.
#include "frontends/builder/weight_file.h"

#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "ir/builders.h"
#include "tests/frontends/builder/loaded_model.h"

namespace graphrun::builder {
namespace {

/// The bytes of a file with this header and data.
std::string fileOf(const std::string& header, const std::string& data = "") {
  uint64_t length = header.size();
  std::string bytes(8, '\0');
  std::memcpy(bytes.data(), &length, 8);
  return bytes + header + data;
}

/// A file that goes with this.
class ScratchFile {
 public:
  explicit ScratchFile(const std::string& bytes) {
    path_ = absl::StrCat(std::filesystem::temp_directory_path().string(), "/weights_",
                         static_cast<int>(getpid()), ".safetensors");
    std::ofstream(path_, std::ios::binary) << bytes;
  }
  ~ScratchFile() { std::filesystem::remove(path_); }

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

std::string floats(size_t count, float first = 0) {
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i) {
    values[i] = first + static_cast<float>(i);
  }
  return {reinterpret_cast<const char*>(values.data()), 4 * count};
}

TEST_CASE("a weight file gives the tensors of its header") {
  ScratchFile file(fileOf(R"({"__metadata__": {"format": "pt"},
      "b": {"dtype": "F32", "shape": [2, 1], "data_offsets": [2, 10]},
      "a": {"dtype": "BF16", "shape": [], "data_offsets": [0, 2]},
      "empty": {"dtype": "I64", "shape": [0, 4], "data_offsets": [10, 10]}}   )",
                          "xy" + floats(2, 5)));
  auto weights = WeightFile::open(file.path());
  INFO(weights.status().message());
  REQUIRE(weights.ok());
  CHECK(weights->names() == std::vector<std::string>{"a", "b", "empty"});
  CHECK(weights->find("a")->spec.toString() == "bf16");
  CHECK(weights->find("empty")->spec.toString() == "0x4xi64");
  auto b = weights->find("b");
  REQUIRE(b.ok());
  CHECK(b->spec.toString() == "2x1xf32");
  float values[2];
  REQUIRE(b->bytes.size() == sizeof(values));
  std::memcpy(values, b->bytes.data(), sizeof(values));
  CHECK(values[1] == 6);
}

TEST_CASE("weights of a file become constants, wherever they lie in it") {
  // One of these headers has its data aligned to the elements.
  for (const char* space : {"", " ", "  ", "   "}) {
    ScratchFile file(fileOf(absl::StrCat(R"({"w": {"dtype": "F32", "shape": [10, 10], )",
                                         R"("data_offsets": [3, 403]}, "m": {"dtype": "BOOL", )",
                                         R"("shape": [3], "data_offsets": [0, 3]}})", space),
                            std::string("\0\1\2", 3) + floats(100)));
    Graph g;
    {
      auto weights = WeightFile::open(file.path());
      REQUIRE(weights.ok());
      auto scope = g.scope("s");
      g.output("w", g.weight(*weights, "w"));
      g.output("named", g.weight(*weights, "w", "named"));
      g.output("again", g.weight(*weights, "w"));
      g.output("m", g.weight(*weights, "m"));
    }
    LoadedModel loaded(g);
    CHECK(loaded.labelOfOutput(0) == "s/w");
    CHECK(loaded.labelOfOutput(1) == "s/named");
    CHECK(loaded.labelOfOutput(2) == "s/constant_0");
    auto ops = loaded.ops("gr.constant");
    REQUIRE(ops.size() == 4);
    auto w = passes::floatsOf(llvm::cast<ir::ConstantOp>(ops[0]).getValue())
                 .value_or(std::vector<double>());
    REQUIRE(w.size() == 100);
    CHECK(w[99] == 99);
    auto m = llvm::cast<mlir::DenseElementsAttr>(llvm::cast<ir::ConstantOp>(ops[3]).getValue());
    CHECK(llvm::to_vector(m.getValues<bool>()) == llvm::SmallVector<bool>{false, true, true});
  }
}

TEST_CASE("a weight that a file does not have is a problem of the graph") {
  ScratchFile file(fileOf(
      R"({"w": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]},
          "c": {"dtype": "C64", "shape": [1], "data_offsets": [4, 12]}})",
      floats(3)));
  auto weights = WeightFile::open(file.path());
  REQUIRE(weights.ok());
  Graph g("broken");
  g.output("y", relu(g.weight(*weights, "v")));
  g.output("z", g.weight(*weights, "c"));
  std::string message(g.status().message());
  INFO(message);
  CHECK(absl::StrContains(message, "weight_file_test.cpp:"));
  CHECK(absl::StrContains(message, "have no tensor 'v'; they have 2: c, w"));
  CHECK(absl::StrContains(message, "is of dtype C64, which is no element type of GraphRun"));
}

struct Broken {
  std::string bytes;
  std::string message;
};

TEST_CASE("each kind of broken file is told") {
  auto entry = [](const std::string& fields, const std::string& data = "") {
    return fileOf(absl::StrCat("{\"w\": {", fields, "}}"), data);
  };
  std::string deep = absl::StrCat("{\"w\": ", std::string(100'000, '['));
  std::vector<Broken> cases = {
      {"", "a header of 0 bytes in a file of 0"},
      {"abc", "is no safetensors file"},
      {std::string(8, '\xff'), "a header of 18446744073709551615 bytes in a file of 8"},
      {fileOf("{}").substr(0, 9), "a header of 2 bytes in a file of 9"},
      {fileOf(""), "header is not a JSON object"},
      {fileOf("[1]"), "header is not a JSON object"},
      {fileOf("{\"w\": "), "header is not a JSON object"},
      {fileOf("{\"\xff\": 1}"), "header is not a JSON object"},
      {fileOf(deep), "header is nested deeper than 3"},
      {fileOf("{\"w\": 1, \"w\": 2}"), "header has the name 'w' twice"},
      {fileOf("{\"w\": 1}"), "tensor 'w': expected a dtype, a shape and two data_offsets"},
      {entry(R"("shape": [1], "data_offsets": [0, 4])"), "expected a dtype"},
      {entry(R"("dtype": 1, "shape": [1], "data_offsets": [0, 4])"), "expected a dtype"},
      {entry(R"("dtype": "F32", "shape": [-1], "data_offsets": [0, 4])"), "expected a dtype"},
      {entry(R"("dtype": "F32", "shape": [1.5], "data_offsets": [0, 4])"), "expected a dtype"},
      {entry(R"("dtype": "F32", "shape": [1], "data_offsets": [0])"), "expected a dtype"},
      {entry(R"("dtype": "F32", "shape": [1], "data_offsets": [0, 4])"),
       "data_offsets are 0 to 4 in data of 0 bytes"},
      {entry(R"("dtype": "F32", "shape": [1], "data_offsets": [4, 0])", floats(1)),
       "data_offsets are 4 to 0"},
      {entry(R"("dtype": "F32", "shape": [2], "data_offsets": [0, 4])", floats(1)),
       "has 4 bytes, expected 8 for 2xf32"},
      {entry(R"("dtype": "F32", "shape": [4611686018427387904, 4], "data_offsets": [0, 4])",
             floats(1)),
       "tensor 'w': "},
      {entry(R"("dtype": "F32", "shape": [1], "data_offsets": [0, 4])", floats(2)),
       "tensors end at byte 4 of the data, expected 8"},
      {entry(R"("dtype": "F32", "shape": [1], "data_offsets": [4, 8])", floats(2)),
       "tensors leave a gap at byte 0"},
      {fileOf(R"({"v": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]},
                  "w": {"dtype": "F32", "shape": [1], "data_offsets": [2, 6]}})",
              floats(1) + "xy"),
       "tensors overlap at byte 2"}};
  for (const Broken& broken : cases) {
    ScratchFile file(broken.bytes);
    absl::Status status = WeightFile::open(file.path()).status();
    INFO(broken.message << "\n" << status.message());
    CHECK(status.code() == absl::StatusCode::kInvalidArgument);
    CHECK(absl::StrContains(status.message(), broken.message));
    CHECK(absl::StrContains(status.message(), file.path()));
  }
  CHECK(WeightFile::open("/nowhere/x").status().code() == absl::StatusCode::kNotFound);
}

TEST_CASE("a weight file cut anywhere is refused") {
  std::string whole =
      fileOf(R"({"w": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}})", floats(2));
  for (size_t size = 0; size < whole.size(); ++size) {
    ScratchFile file(whole.substr(0, size));
    CHECK_FALSE(WeightFile::open(file.path()).ok());
  }
}

}  // namespace
}  // namespace graphrun::builder
