// Modules to FlatBuffer graphs and files and back, and files that lie.
#include "passes/serialization/model_io.h"

#include <unistd.h>
#include <catch2/catch.hpp>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <random>

#include "ir/dialect.h"
#include "llvm/Support/raw_ostream.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "mlir/Parser/Parser.h"
#include "passes/passes.h"
#include "passes/pipelines.h"
#include "runtime/format/model_file.h"

namespace graphrun::passes {
namespace {

using Catch::Matchers::Contains;

mlir::OwningOpRef<mlir::ModuleOp> parse(const std::string& text, mlir::MLIRContext& context) {
  context.loadDialect<ir::GRDialect, mlir::func::FuncDialect>();
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  REQUIRE(module);
  return module;
}

void requireOk(const absl::Status& status) {
  INFO(status.message());
  REQUIRE(status.ok());
}

std::string textOf(mlir::ModuleOp module, bool locations = false) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  mlir::OpPrintingFlags flags;
  module.print(stream, locations ? flags.enableDebugInfo() : flags);
  return text;
}

/// Equal text but for the file's weight indices; shows the first lines that differ.
void checkSameText(mlir::ModuleOp got, mlir::ModuleOp expected) {
  for (mlir::ModuleOp module : {got, expected}) {
    module->walk([](mlir::Operation* op) { op->removeAttr(ir::kWeightAttr); });
  }
  std::string a = textOf(got), b = textOf(expected);
  auto [x, y] = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
  auto lineOf = [](const std::string& text, size_t at) {
    size_t start = text.rfind('\n', at) + 1;
    return text.substr(start, std::min<size_t>(text.find('\n', at) - start, 200));
  };
  if (a != b) {
    FAIL_CHECK("got\n" << lineOf(a, x - a.begin()) << "\nexpected\n" << lineOf(b, y - b.begin()));
  }
}

/// A graph as FlatBuffer, with the weights that it refers to.
struct Exported {
  explicit Exported(mlir::ModuleOp module) {
    auto graph = exportGraph(*graphOf(module), builder, weights);
    status = graph.status();
    if (graph.ok()) {
      builder.Finish(*graph);
    }
  }

  const format::Graph& graph() const {
    return *flatbuffers::GetRoot<format::Graph>(builder.GetBufferPointer());
  }

  WeightSourceView view() const {
    return {weights.entries().size(),
            [this](uint32_t index) -> absl::StatusOr<WeightSourceView::Weight> {
              const WeightTable::Entry& entry = weights.entries()[index];
              return WeightSourceView::Weight{entry.name, entry.spec, entry.splat, entry.data};
            },
            nullptr};
  }

  flatbuffers::FlatBufferBuilder builder;
  WeightTable weights;
  absl::Status status;
};

/// A path that is removed at the end.
struct TemporaryFile {
  TemporaryFile()
      : path((std::filesystem::temp_directory_path() /
              ("graphrun_model_io_" + std::to_string(getpid()) + ".fb"))
                 .string()) {}
  ~TemporaryFile() { std::filesystem::remove(path); }
  std::string path;
};

/// Writes `module` to a file and reads it.
void checkComesBack(mlir::ModuleOp module) {
  TemporaryFile file;
  absl::Status saved = saveModel(module, file.path);
  requireOk(saved);
  mlir::MLIRContext second;
  auto loaded = loadModel(file.path, second);
  requireOk(loaded.status());
  checkSameText(**loaded, module);
}

TEST_CASE("every operation comes back from a file as it went in") {
  mlir::MLIRContext context;
  context.loadDialect<ir::GRDialect, mlir::func::FuncDialect>();
  auto module = mlir::parseSourceFile<mlir::ModuleOp>(GRAPHRUN_ALL_OPS, &context);
  REQUIRE(module);
  checkComesBack(*module);
}

TEST_CASE("symbolic and unknown types come back") {
  mlir::MLIRContext context;
  auto module = parse(R"(
func.func @graph(%x: tensor<?x3x?xf16, #gr.dims<(d0)[s0] -> (s0, 3, d0)>> {gr.name = "x"}, %y: tensor<*xui8> {gr.name = "y"}, %z: tensor<?x?xi1> {gr.name = "z"})
    -> (tensor<?xf16, #gr.dims<(d0)[s0, s1] -> ((s0 + s1 * 2) floordiv 3 + s1 ceildiv 4 - s0 mod 5)>> {gr.name = "a"}, tensor<*xui8> {gr.name = "b"}) attributes {gr.symbols = ["N", "W"]} {
  %s = gr.constant dense<-1> : tensor<1xi64> : tensor<1xi64>
  %0 = gr.reshape %x, %s : (tensor<?x3x?xf16, #gr.dims<(d0)[s0] -> (s0, 3, d0)>>, tensor<1xi64>)
    -> tensor<?xf16, #gr.dims<(d0)[s0, s1] -> ((s0 + s1 * 2) floordiv 3 + s1 ceildiv 4 - s0 mod 5)>>
  return %0, %y : tensor<?xf16, #gr.dims<(d0)[s0, s1] -> ((s0 + s1 * 2) floordiv 3 + s1 ceildiv 4 - s0 mod 5)>>, tensor<*xui8>
})",
                      context);
  checkComesBack(*module);
}

TEST_CASE("a constant that was read names its weight; written, it gets the new table's") {
  mlir::MLIRContext context;
  auto module = parse(R"(
func.func @main() -> (tensor<f32> {gr.name = "a"}, tensor<f32> {gr.name = "b"}) {
  %a = gr.constant dense<1.0> : tensor<f32> : tensor<f32>
  %b = gr.constant dense<2.0> : tensor<f32> : tensor<f32>
  return %a, %b : tensor<f32>, tensor<f32>
})",
                      context);
  Exported exported(*module);
  auto imported = importGraph(exported.graph(), exported.view(), context);
  REQUIRE(imported.ok());
  CHECK_THAT(textOf(**imported), Contains("{gr.weight = 1 : i64} dense<2.0"));
  (*imported)->walk([](ir::ConstantOp op) {
    if (op->getAttrOfType<mlir::IntegerAttr>(ir::kWeightAttr).getInt() == 0) {
      op->getResult(0).replaceAllUsesWith(op->getNextNode()->getResult(0));
      op->erase();
    }
  });
  Exported again(**imported);
  auto second = importGraph(again.graph(), again.view(), context);
  REQUIRE(second.ok());
  CHECK_THAT(textOf(**second), Contains("{gr.weight = 0 : i64} dense<2.0"));
}

TEST_CASE("names of nodes without operations come back") {
  mlir::MLIRContext context;
  auto module = parse(R"(
func.func @main(%x: tensor<4xf32> {gr.name = "x"}) -> (tensor<4xf32> {gr.name = "y"}) attributes {gr.folded = ["a", "b/c"]} {
  return %x : tensor<4xf32>
})",
                      context);
  checkComesBack(*module);
}

TEST_CASE("simplification notes whose operations are gone") {
  mlir::MLIRContext context;
  auto module = parse(R"(
func.func @main(%x: tensor<4xf32> {gr.name = "x"}) -> (tensor<4xf32> {gr.name = "y"}) attributes {gr.folded = ["before"]} {
  %a = gr.constant dense<1.0> : tensor<4xf32> : tensor<4xf32> loc("weight")
  %b = gr.add %a, %a : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> loc("sum")
  %c = gr.add %x, %b : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> loc("kept")
  return %c : tensor<4xf32>
})",
                      context);
  REQUIRE(mlir::succeeded(simplify(*module)));
  CHECK(foldedNames(*graphOf(*module)) == std::vector<std::string>{"before", "sum"});
}

TEST_CASE("labels of nodes come back") {
  mlir::MLIRContext context;
  auto module = parse(R"(
func.func @main(%x: tensor<4xf32> {gr.name = "x"}) -> (tensor<4xf32> {gr.name = "y"}) {
  %0 = gr.exp %x : (tensor<4xf32>) -> tensor<4xf32> loc("a/b:0")
  %1 = gr.abs %0 : (tensor<4xf32>) -> tensor<4xf32> loc(fused["p", "q"])
  return %1 : tensor<4xf32>
})",
                      context);
  Exported exported(*module);
  auto imported = importGraph(exported.graph(), exported.view(), context);
  REQUIRE(imported.ok());
  CHECK_THAT(textOf(**imported, true), Contains("loc(\"a/b:0\")") && Contains("loc(\"p+q\")"));
}

TEST_CASE("constants: shared, named, mapped, unpacked") {
  mlir::MLIRContext context;
  auto module = parse(
      R"(
func.func @main() -> (tensor<100xf32> {gr.name = "a"}, tensor<100xf32> {gr.name = "b"}, tensor<3xi1> {gr.name = "c"}, tensor<80xf32> {gr.name = "d"}, tensor<0xf32> {gr.name = "e"}, tensor<70xi1> {gr.name = "f"}) {
  %a = gr.constant dense_resource<big> : tensor<100xf32> : tensor<100xf32> loc("big")
  %b = gr.constant dense_resource<big> : tensor<100xf32> : tensor<100xf32> loc("again")
  %c = gr.constant dense<[true, false, true]> : tensor<3xi1> : tensor<3xi1> loc("big")
  %d = gr.constant dense<2.0> : tensor<80xf32> : tensor<80xf32>
  %e = gr.constant dense<> : tensor<0xf32> : tensor<0xf32>
  %f = gr.constant dense<true> : tensor<70xi1> : tensor<70xi1>
  return %a, %b, %c, %d, %e, %f : tensor<100xf32>, tensor<100xf32>, tensor<3xi1>, tensor<80xf32>, tensor<0xf32>, tensor<70xi1>
}
{-# dialect_resources: { builtin: { big: "0x40000000)" +
          [] {
            std::string hex;
            for (int i = 0; i < 400; ++i) {
              char byte[3];
              std::snprintf(byte, sizeof(byte), "%02X", i % 256);
              hex += byte;
            }
            return hex;
          }() +
          "\" } } #-}",
      context);
  Exported exported(*module);
  requireOk(exported.status);
  const auto& entries = exported.weights.entries();
  REQUIRE(entries.size() == 5);
  CHECK(entries[0].name == "big");
  CHECK(entries[0].data.size() == 400);
  CHECK(entries[1].name == "big_1");
  CHECK(std::vector<uint8_t>(entries[1].data.begin(), entries[1].data.end()) ==
        std::vector<uint8_t>{1, 0, 1});
  CHECK(entries[2].splat);
  CHECK(entries[2].data.size() == 4);

  TemporaryFile file;
  requireOk(saveModel(*module, file.path));
  mlir::MLIRContext second;
  auto loaded = loadModel(file.path, second);
  requireOk(loaded.status());
  checkSameText(**loaded, *module);
  // The data is the file's own page, not a copy.
  auto mapped =
      llvm::cast<mlir::DenseResourceElementsAttr>((*(*loaded)->getOps<mlir::func::FuncOp>().begin())
                                                      .getOps<ir::ConstantOp>()
                                                      .begin()
                                                      .operator*()
                                                      .getValue());
  const char* data = mapped.getRawHandle().getBlob()->getData().data();
  CHECK(reinterpret_cast<uintptr_t>(data) % 64 == 0);
  CHECK(!mapped.getRawHandle().getBlob()->isMutable());
}

TEST_CASE("a loaded model can be simplified, grouped and saved again") {
  mlir::MLIRContext context;
  context.loadDialect<ir::GRDialect, mlir::func::FuncDialect>();
  auto module = mlir::parseSourceFile<mlir::ModuleOp>(GRAPHRUN_ALL_OPS, &context);
  TemporaryFile file;
  REQUIRE(saveModel(*module, file.path).ok());
  mlir::MLIRContext second;
  auto loaded = loadModel(file.path, second);
  REQUIRE(loaded.ok());
  REQUIRE(mlir::succeeded(simplifyAndGroup(**loaded)));
  requireOk(saveModel(**loaded, file.path));
  mlir::MLIRContext third;
  auto again = loadModel(file.path, third);
  requireOk(again.status());
  checkSameText(**again, **loaded);
}

TEST_CASE("what files cannot hold is refused with the node's name") {
  mlir::MLIRContext context;
  auto error = [&](const std::string& text) {
    return std::string(Exported(*parse(text, context)).status.message());
  };
  CHECK(error("func.func @main(%x: tensor<4xi7>) { return }") ==
        "type tensor<4xi7> cannot be stored in a file");
  CHECK(
      error("func.func @main(%x: tensor<4xf32>) { %0 = gr.exp %x {gr.odd = {a = 1}} : "
            "(tensor<4xf32>) -> tensor<4xf32> loc(\"n\")\n return }") ==
      "gr.exp 'n': attribute 'gr.odd': value {a = 1 : i64} is of a kind that cannot be stored in a "
      "file");
  CHECK(error("func.func @main() { %0 = gr.constant dense_resource<absent> : tensor<4xf32> : "
              "tensor<4xf32> loc(\"w\")\n return }") ==
        "gr.constant 'w': attribute 'value': constant 'w' has no data of its type's size");
  auto two = parse("func.func @a() { return }\nfunc.func @b() { return }", context);
  mlir::ScopedDiagnosticHandler quiet(&context, [](mlir::Diagnostic&) { return mlir::success(); });
  CHECK_THAT(std::string(saveModel(*two, "/nowhere/x.fb").message()), Contains("is not one graph"));
}

/// A valid graph as objects, to be spoiled.
struct Spoiled {
  Spoiled() {
    auto module = parse(R"(
func.func @main(%x: tensor<1x2x4x4xf32> {gr.name = "x"}) -> (tensor<1x2x4x4xf32> {gr.name = "y"}) {
  %w = gr.constant dense<1.0> : tensor<2x2x1x1xf32> : tensor<2x2x1x1xf32>
  %0 = gr.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>}
    : (tensor<1x2x4x4xf32>, tensor<2x2x1x1xf32>) -> tensor<1x2x4x4xf32> loc("conv1")
  %s = gr.constant dense<[1, 2, 8, 8]> : tensor<4xi64> : tensor<4xi64>
  %1 = gr.resize %0 sizes %s {mode = "nearest", coordinates = "asymmetric", rounding = "floor"}
    : (tensor<1x2x4x4xf32>, tensor<4xi64>) -> tensor<1x2x8x8xf32> loc("up")
  %2 = gr.group (%0) attributes {kind = "map"} {
  ^bb0(%a: tensor<1x2x4x4xf32>):
    %3 = gr.relu %a : (tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32>
    gr.yield %3 : tensor<1x2x4x4xf32>
  } : (tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32> loc("g")
  return %2 : tensor<1x2x4x4xf32>
})",
                        context);
    exported = std::make_unique<Exported>(*module);
    REQUIRE(exported->status.ok());
    exported->graph().UnPackTo(&graph);
  }

  format::OperationT& op(size_t i) { return *graph.body->operations[i]; }
  format::OperationT& conv() { return op(1); }
  format::AttributeT& attribute(format::OperationT& op, const std::string& name) {
    for (auto& attribute : op.attributes) {
      if (attribute->name == name) {
        return *attribute;
      }
    }
    FAIL("no attribute " << name);
    return *op.attributes.front();
  }

  std::string error() {
    flatbuffers::FlatBufferBuilder builder;
    builder.Finish(format::Graph::Pack(builder, &graph));
    mlir::MLIRContext fresh;
    auto result = importGraph(*flatbuffers::GetRoot<format::Graph>(builder.GetBufferPointer()),
                              exported->view(), fresh);
    return result.ok() ? "ok" : std::string(result.status().message());
  }

  mlir::MLIRContext context;
  std::unique_ptr<Exported> exported;
  format::GraphT graph;
};

TEST_CASE_METHOD(Spoiled, "an untouched graph is accepted") { CHECK(error() == "ok"); }

TEST_CASE_METHOD(Spoiled, "unknown operations and attributes are refused") {
  SECTION("operation") {
    graph.op_names[conv().name] = "gr.future";
    CHECK_THAT(error(), Contains("node 'conv1' (operation 1): operation 'gr.future' is not known"));
  }
  SECTION("operation of another dialect") {
    graph.op_names[conv().name] = "func.return";
    CHECK_THAT(error(), Contains("operation 'func.return' is not known"));
  }
  SECTION("operation name out of range") {
    conv().name = 99;
    CHECK_THAT(error(), Contains("operation name 99 is out of range"));
  }
  SECTION("attribute") {
    attribute(conv(), "pads").name = "padz";
    CHECK_THAT(error(), Contains("attribute 'padz' is not one of gr.conv"));
  }
  SECTION("attribute twice") {
    attribute(conv(), "pads").name = "strides";
    CHECK_THAT(error(), Contains("attribute 'strides' is given twice"));
  }
}

TEST_CASE_METHOD(Spoiled, "missing attributes and wrong kinds are refused") {
  SECTION("missing") {
    conv().attributes.clear();
    CHECK_THAT(error(), Contains("node 'conv1'") && Contains("requires attribute"));
  }
  SECTION("another kind of a required one") {
    attribute(conv(), "pads").value.Set(format::IntT());
    CHECK_THAT(error(), Contains("attribute 'pads' failed to satisfy constraint"));
  }
  SECTION("another kind of one with a default") {
    attribute(conv(), "groups").value.Set(format::StringT());
    CHECK_THAT(error(), Contains("attribute 'groups' failed to satisfy constraint"));
  }
  SECTION("a value that the operation refuses") {
    attribute(conv(), "groups").value.AsInt()->value = 0;
    CHECK_THAT(error(), Contains("'gr.conv' op groups is 0, expected at least 1"));
  }
  SECTION("a weight that is not there") {
    attribute(op(0), "value").value.AsWeight()->index = 99;
    CHECK_THAT(error(), Contains("weight 99 is out of range: there are 2"));
  }
  SECTION("a constant without value") {
    op(0).attributes.clear();
    CHECK_THAT(error(), Contains("'gr.constant' op requires attribute 'value'"));
  }
}

TEST_CASE_METHOD(Spoiled, "values that do not fit are refused") {
  SECTION("operand not defined") {
    conv().operands[0] = 5;
    CHECK_THAT(error(), Contains("operand 0 is value 5, expected one that is defined before it"));
  }
  SECTION("operand out of range") {
    conv().operands[0] = 1000000;
    CHECK_THAT(error(), Contains("operand 0 is value 1000000"));
  }
  SECTION("too few operands") {
    conv().operands.clear();
    CHECK_THAT(error(), Contains("'gr.conv' op expected 2 or more operands"));
  }
  SECTION("result type") {
    graph.types[graph.value_types[conv().results[0]]]->dims[1] = 7;
    CHECK(error() != "ok");
  }
  SECTION("defined twice") {
    conv().results[0] = 0;
    CHECK_THAT(error(), Contains("value 0 is defined twice"));
  }
  SECTION("no result") {
    conv().results.clear();
    CHECK_THAT(error(), Contains("requires one result"));
  }
  SECTION("type out of range") {
    graph.value_types[0] = 77;
    CHECK_THAT(error(), Contains("value 0 has no type"));
  }
}

TEST_CASE_METHOD(Spoiled, "segments are checked") {
  format::OperationT& resize = op(3);
  SECTION("missing") {
    resize.operand_segments.clear();
    CHECK(error() != "ok");
  }
  SECTION("of a file from before an operand and attributes were added") {
    resize.operand_segments = {1, 0, 1};
    std::erase_if(resize.attributes, [](const auto& attribute) {
      return attribute->name == "antialias" || attribute->name == "axes" ||
             attribute->name == "extrapolation" || attribute->name == "policy";
    });
    CHECK(error() == "ok");
  }
  SECTION("not the operands' number") {
    resize.operand_segments = {1, 1, 1};
    CHECK_THAT(error(),
               Contains("node 'up'") && Contains("operand segments add up to 3, expected 2"));
  }
  SECTION("of another number") {
    resize.operand_segments = {1, 1};
    CHECK(error() != "ok");
  }
  SECTION("huge ones that add up in 32 bits") {
    resize.operand_segments = {1, 0x80000000U, 0x80000001U};
    CHECK_THAT(error(), Contains("operand segments add up to"));
  }
  SECTION("where there are none") {
    conv().operand_segments = {2};
    CHECK_THAT(error(), Contains("gr.conv has no operand segments"));
  }
}

TEST_CASE_METHOD(Spoiled, "regions are checked") {
  format::OperationT& group = op(4);
  SECTION("missing") {
    group.regions.clear();
    CHECK_THAT(error(), Contains("node 'g'") && Contains("requires one region"));
  }
  SECTION("empty") {
    group.regions[0]->operations.clear();
    CHECK_THAT(error(), Contains("region has no operations"));
  }
  SECTION("arguments that are not the operands") {
    graph.value_types[group.regions[0]->arguments[0]] = graph.value_types[op(2).results[0]];
    CHECK(error() != "ok");
  }
  SECTION("no yield") {
    group.regions[0]->operations.pop_back();
    CHECK(error() != "ok");
  }
  SECTION("where there is none") {
    auto extra = std::make_unique<format::RegionT>();
    extra->operations.push_back(std::make_unique<format::OperationT>(*graph.body->operations[0]));
    extra->operations[0]->results.clear();
    conv().regions.push_back(std::move(extra));
    CHECK(error() != "ok");
  }
  SECTION("nested too deep") {
    auto region = std::make_unique<format::RegionT>();
    for (int depth = 0; depth < 100; ++depth) {
      auto operation = std::make_unique<format::OperationT>();
      operation->name = group.name;
      operation->regions.push_back(std::move(region));
      region = std::make_unique<format::RegionT>();
      region->operations.push_back(std::move(operation));
    }
    group.regions[0] = std::move(region);
    CHECK_THAT(error(), Contains("regions are nested deeper than 32"));
  }
}

TEST_CASE_METHOD(Spoiled, "the graph's interface is checked") {
  SECTION("input names") {
    graph.input_names.clear();
    CHECK_THAT(error(), Contains("graph names 0 inputs and 1 outputs, expected 1 and 1"));
  }
  SECTION("last operation") {
    graph.body->operations.pop_back();
    CHECK_THAT(error(), Contains("the graph ends in 'gr.group', expected a plain gr.yield"));
  }
  SECTION("no body") {
    graph.body = nullptr;
    CHECK_THAT(error(), Contains("graph has no body"));
  }
}

TEST_CASE_METHOD(Spoiled, "types are checked") {
  format::TensorTypeT& type = *graph.types[0];
  SECTION("element") {
    type.element = static_cast<format::ElementType>(99);
    CHECK_THAT(error(), Contains("type 0: element type is 99"));
  }
  SECTION("negative dim") {
    type.dims[0] = -2;
    CHECK_THAT(error(), Contains("type 0: dim 0 is -2, expected >= -1"));
  }
  SECTION("symbolic text") {
    type.dims[0] = -1;
    for (const char* text :
         {"s0) -> (s0", "d0", "s0 floordiv 0", "s0 mod -1", "s1", "1, 2", "((((", "s0, s0"}) {
      type.symbolic = {text, "", "", ""};
      graph.symbols = {"N"};
      INFO(text);
      CHECK_THAT(error(), Contains("type 0"));
    }
  }
  SECTION("symbolic and static") {
    type.symbolic = {"s0", "", "", ""};
    graph.symbols = {"N"};
    CHECK_THAT(error(), Contains("dim 0 is both a number and symbolic"));
  }
  SECTION("symbolic that is long") {
    type.dims[0] = -1;
    type.symbolic = {std::string(100000, '('), "", "", ""};
    CHECK_THAT(error(), Contains("has 100000 bytes, expected at most 256"));
  }
  SECTION("symbolic of another number") {
    type.symbolic = {"s0"};
    CHECK_THAT(error(), Contains("a symbolic dim for each"));
  }
  SECTION("rank") {
    type.dims.assign(17, 1);
    CHECK_THAT(error(), Contains("type is of rank 17, expected at most 16"));
  }
}

TEST_CASE_METHOD(Spoiled, "weights are checked") {
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(format::Graph::Pack(builder, &graph));
  WeightSourceView view = exported->view();
  auto original = view.get;
  view.get = [&](uint32_t index) -> absl::StatusOr<WeightSourceView::Weight> {
    auto weight = original(index);
    weight->data = weight->data.subspan(1);
    return weight;
  };
  mlir::MLIRContext fresh;
  auto result =
      importGraph(*flatbuffers::GetRoot<format::Graph>(builder.GetBufferPointer()), view, fresh);
  REQUIRE(!result.ok());
  CHECK_THAT(std::string(result.status().message()), Contains("bytes, expected 4"));
}

/// Writes a constant of strings, and reads it with another table of strings.
std::string readStringsWith(const std::vector<std::string>& table, std::string& printed) {
  mlir::MLIRContext context;
  auto module = parse(R"(
func.func @main() -> (tensor<3x!gr.string> {gr.name = "y"}) {
  %0 = gr.constant dense<["b", "", "b"]> : tensor<3x!gr.string> : tensor<3x!gr.string>
  return %0 : tensor<3x!gr.string>
})",
                      context);
  Exported exported(*module);
  REQUIRE(exported.status.ok());
  CHECK(exported.weights.strings() == std::vector<std::string>{"b", ""});
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(builder.CreateVectorOfStrings(table));
  WeightSourceView view = exported.view();
  view.strings =
      flatbuffers::GetRoot<flatbuffers::Vector<flatbuffers::Offset<flatbuffers::String>>>(
          builder.GetBufferPointer());
  mlir::MLIRContext fresh;
  auto result = importGraph(exported.graph(), view, fresh);
  if (!result.ok()) {
    return std::string(result.status().message());
  }
  llvm::raw_string_ostream(printed) << **result;
  return "ok";
}

TEST_CASE("strings come back through their table, and a damaged one is refused") {
  std::string printed;
  CHECK(readStringsWith({"b", ""}, printed) == "ok");
  CHECK_THAT(printed, Contains("dense<[\"b\", \"\", \"b\"]> : tensor<3x!gr.string>"));
  CHECK_THAT(readStringsWith({"b"}, printed), Contains("element 1 is string 1 of a table of 1"));
  CHECK_THAT(readStringsWith({"b\xff", ""}, printed),
             Contains("string 0 of the table is not valid"));
}

TEST_CASE("a string that stands for more elements than there is memory comes back as one") {
  mlir::MLIRContext context;
  auto module = parse(R"(
func.func @main() -> (tensor<1099511627776x!gr.string> {gr.name = "y"}) {
  %0 = gr.constant dense<"b"> : tensor<1099511627776x!gr.string> : tensor<1099511627776x!gr.string>
  return %0 : tensor<1099511627776x!gr.string>
})",
                      context);
  checkComesBack(*module);
}

TEST_CASE_METHOD(Spoiled, "random changes of numbers in a graph never crash the reader") {
  // The FlatBuffers verifier stands before importGraph: only changes that pass it count.
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(format::Graph::Pack(builder, &graph));
  const std::vector<uint8_t> original(builder.GetBufferPointer(),
                                      builder.GetBufferPointer() + builder.GetSize());
  std::mt19937 random(20);
  int passed = 0, refused = 0;
  for (int round = 0; round < 3000; ++round) {
    std::vector<uint64_t> aligned(original.size() / 8 + 1);
    auto* bytes = reinterpret_cast<uint8_t*>(aligned.data());
    std::copy(original.begin(), original.end(), bytes);
    for (int change = 0; change < 1 + round % 3; ++change) {
      bytes[random() % original.size()] =
          static_cast<uint8_t>(random() % 4 == 0 ? random() : random() % 8);
    }
    format::BudgetVerifier verifier(absl::MakeConstSpan(bytes, original.size()));
    if (!verifier.VerifyBuffer<format::Graph>(nullptr)) {
      continue;
    }
    ++passed;
    mlir::MLIRContext fresh;
    auto result = importGraph(*flatbuffers::GetRoot<format::Graph>(bytes), exported->view(), fresh);
    refused += result.ok() ? 0 : 1;
  }
  CHECK(passed > 500);
  CHECK(refused > 100);
}

TEST_CASE("a file that is no model is refused") {
  TemporaryFile file;
  std::ofstream(file.path) << "not a model";
  mlir::MLIRContext context;
  CHECK_THAT(std::string(loadModel(file.path, context).status().message()), Contains(file.path));
  CHECK(loadModel("/nowhere/model.fb", context).status().code() == absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace graphrun::passes
