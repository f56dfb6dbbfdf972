// Files that are no ONNX model, cut off or damaged: an error each time, never a crash.
#include <catch2/catch.hpp>
#include <chrono>
#include <filesystem>
#include <random>
#include <string>

#include "frontends/onnx/importer.h"
#include "frontends/onnx/onnx.pb.h"

namespace graphrun::frontends {
namespace {

using ::onnx::NodeProto;
using ::onnx::TensorProto;

absl::Status import(absl::string_view bytes) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  return importOnnxBytes(context, bytes, "file.onnx").status();
}

NodeProto* addNode(::onnx::GraphProto& graph, const std::string& op,
                   const std::vector<std::string>& inputs, const std::string& output) {
  NodeProto* node = graph.add_node();
  node->set_op_type(op);
  node->mutable_input()->Assign(inputs.begin(), inputs.end());
  node->add_output(output);
  return node;
}

void addDims(::onnx::ValueInfoProto& info, const std::string& name, std::vector<int64_t> dims) {
  info.set_name(name);
  auto* tensor = info.mutable_type()->mutable_tensor_type();
  tensor->set_elem_type(TensorProto::FLOAT);
  for (int64_t dim : dims) {
    auto* made = tensor->mutable_shape()->add_dim();
    dim < 0 ? made->set_dim_param("n") : made->set_dim_value(dim);
  }
}

void addInts(::onnx::GraphProto& graph, const std::string& name, std::vector<int64_t> values) {
  TensorProto* tensor = graph.add_initializer();
  tensor->set_name(name);
  tensor->set_data_type(TensorProto::INT64);
  tensor->add_dims(static_cast<int64_t>(values.size()));
  tensor->mutable_int64_data()->Assign(values.begin(), values.end());
}

void addInt(NodeProto& node, const std::string& name, int64_t value) {
  auto* attribute = node.add_attribute();
  attribute->set_name(name);
  attribute->set_type(::onnx::AttributeProto::INT);
  attribute->set_i(value);
}

/// An empty model with input x (a negative dim is "n") and output y.
::onnx::ModelProto emptyModel(std::vector<int64_t> dims) {
  ::onnx::ModelProto model;
  model.set_ir_version(8);
  model.add_opset_import()->set_version(13);
  addDims(*model.mutable_graph()->add_input(), "x", std::move(dims));
  model.mutable_graph()->add_output()->set_name("y");
  return model;
}

/// A small network that uses weights, shape arithmetic, attributes of several kinds.
std::string smallModel() {
  ::onnx::ModelProto model = emptyModel({-1, 1, 4, 4});
  ::onnx::GraphProto& graph = *model.mutable_graph();
  TensorProto* filter = graph.add_initializer();
  filter->set_name("w");
  filter->set_data_type(TensorProto::FLOAT);
  for (int64_t dim : {2, 1, 3, 3}) {
    filter->add_dims(dim);
  }
  filter->set_raw_data(std::string(2 * 9 * sizeof(float), '\1'));
  addInts(graph, "starts", {0});
  addInts(graph, "ends", {1});
  addInts(graph, "rest", {-1});
  addNode(graph, "Conv", {"x", "w"}, "c");
  addNode(graph, "Relu", {"c"}, "r");
  addNode(graph, "Shape", {"r"}, "s");
  addNode(graph, "Slice", {"s", "starts", "ends"}, "batch");
  addInt(*addNode(graph, "Concat", {"batch", "rest"}, "shape"), "axis", 0);
  addNode(graph, "Reshape", {"r", "shape"}, "flat");
  addInt(*addNode(graph, "Softmax", {"flat"}, "y"), "axis", -1);
  return model.SerializeAsString();
}

}  // namespace

TEST_CASE("the small model imports") { CHECK(import(smallModel()).ok()); }

TEST_CASE("a cut-off file is refused with its size and the offset") {
  std::string bytes = smallModel();
  for (size_t size = 0; size < bytes.size(); ++size) {
    absl::Status status = import(absl::string_view(bytes).substr(0, size));
    CAPTURE(size, status.message());
    REQUIRE(status.code() == absl::StatusCode::kInvalidArgument);
  }
  std::string message(import(absl::string_view(bytes).substr(0, bytes.size() - 30)).message());
  CHECK(message.find("file.onnx: not a readable ONNX model (" + std::to_string(bytes.size() - 30) +
                     " bytes): at offset ") == 0);
}

TEST_CASE("damaged bytes never crash the importer") {
  std::string bytes = smallModel();
  auto end = std::chrono::steady_clock::now() + std::chrono::seconds(5);
  for (size_t i = 0; i < bytes.size() && std::chrono::steady_clock::now() < end; ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string damaged = bytes;
      damaged[i] = static_cast<char>(damaged[i] ^ (1 << bit));
      static_cast<void>(import(damaged));
    }
  }
  std::mt19937 random(1);
  while (std::chrono::steady_clock::now() < end) {
    std::string damaged = bytes;
    for (int i = 0; i < 4; ++i) {
      damaged[random() % damaged.size()] = static_cast<char>(random());
    }
    static_cast<void>(import(damaged));
  }
}

TEST_CASE("files of other formats are refused") {
  CHECK(import("").message() == "file.onnx: the file is empty, expected an ONNX model");
  for (std::string text : {"PK\3\4zip", "{\"json\": 1}", "\x93NUMPY", "version https://git-lfs"}) {
    CHECK(import(text).code() == absl::StatusCode::kInvalidArgument);
  }
  std::string tensor = "\x08\x02\x10\x01";  // valid protobuf, but no graph
  CHECK(std::string(import(tensor).message()).find("holds no graph") != std::string::npos);
}

TEST_CASE("a file that cannot be read is named") {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  absl::Status status = importOnnx(context, "/nonexistent/model.onnx").status();
  CHECK(status.code() == absl::StatusCode::kNotFound);
  CHECK(status.message() == "cannot read /nonexistent/model.onnx: No such file or directory");
  status = importOnnx(context, std::filesystem::temp_directory_path()).status();
  CHECK_FALSE(status.ok());
}

TEST_CASE("deep chains take bounded time and stack") {
  constexpr int kLength = 20000;
  SECTION("shape values that are used twice each") {
    ::onnx::ModelProto model = emptyModel({-1});
    addNode(*model.mutable_graph(), "Shape", {"x"}, "v0");
    for (int i = 0; i < kLength; ++i) {
      std::string value = "v" + std::to_string(i);
      addNode(*model.mutable_graph(), "Add", {value, value},
              i + 1 < kLength ? "v" + std::to_string(i + 1) : "y");
    }
    CHECK(import(model.SerializeAsString()).ok());
  }
  SECTION("a dim whose expression grows") {
    ::onnx::ModelProto model = emptyModel({1, 1, -1});
    for (int i = 0; i < kLength; ++i) {
      NodeProto* pool =
          addNode(*model.mutable_graph(), "MaxPool", {i == 0 ? "x" : "v" + std::to_string(i)},
                  i + 1 < kLength ? "v" + std::to_string(i + 1) : "y");
      for (const char* name : {"kernel_shape", "strides"}) {
        auto* attribute = pool->add_attribute();
        attribute->set_name(name);
        attribute->set_type(::onnx::AttributeProto::INTS);
        attribute->add_ints(name[0] == 'k' ? 3 : 2);
      }
    }
    CHECK(import(model.SerializeAsString()).ok());
  }
  SECTION("a cycle of all nodes") {
    ::onnx::ModelProto model = emptyModel({1});
    for (int i = 0; i < kLength; ++i) {
      addNode(*model.mutable_graph(), "Relu", {"v" + std::to_string((i + 1) % kLength)},
              "v" + std::to_string(i));
    }
    addNode(*model.mutable_graph(), "Relu", {"v0"}, "y");
    CHECK_FALSE(import(model.SerializeAsString()).ok());
  }
}

TEST_CASE("a report shows a hundred problems and counts the rest") {
  ::onnx::ModelProto model = emptyModel({1});
  for (int i = 0; i < 300; ++i) {
    addNode(*model.mutable_graph(), "Nothing", {"x"}, "v" + std::to_string(i));
  }
  addNode(*model.mutable_graph(), "Relu", {"x"}, "y");
  std::string message(import(model.SerializeAsString()).message());
  CHECK(message.find("file.onnx: 300 problems\n") == 0);
  CHECK(message.find("\n  … and 200 more") != std::string::npos);
}

}  // namespace graphrun::frontends
