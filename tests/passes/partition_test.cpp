// verifyPartition on partitions that do not fit together, and the edge table.
#include "passes/partition.h"

#include <catch2/catch.hpp>

#include "absl/strings/str_cat.h"
#include "ir/dialect.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"

namespace graphrun::passes {
namespace {

using Catch::Matchers::Contains;

struct Fixture {
  Fixture() { context.loadDialect<ir::GRDialect, mlir::func::FuncDialect>(); }

  mlir::OwningOpRef<mlir::ModuleOp> parse(const std::string& text) {
    return mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  }

  /// The errors of verifyPartition, "" when there are none.
  std::string check(const std::string& text, std::vector<PartitionEdge> edges) {
    auto module = parse(text);
    REQUIRE(module);
    std::string errors;
    mlir::ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic& diagnostic) {
      errors += diagnostic.str() + "\n";
      return mlir::success();
    });
    bool good = mlir::succeeded(verifyPartition(*module, edges));
    CHECK(good == errors.empty());
    return errors;
  }

  PartitionEdge edge(int64_t id, std::string source, std::string target) {
    auto type = mlir::RankedTensorType::get({4}, mlir::Float32Type::get(&context));
    return {id, "e" + std::to_string(id), std::move(source), std::move(target), type};
  }

  mlir::MLIRContext context;
};

constexpr char kSend[] = "gr.send %x {edge = 0 : i64} : (tensor<4xf32>) -> ()\n";
constexpr char kReceive[] =
    "%r = gr.recv {edge = 0 : i64, tensor_type = tensor<4xf32>} : () -> tensor<4xf32>\n";

std::string function(const std::string& name, const std::string& body) {
  return "func.func @" + name + "(%x: tensor<4xf32>) {\n" + body + "return\n}\n";
}

TEST_CASE_METHOD(Fixture, "partitions that fit are accepted") {
  CHECK(check(function("a", kSend) + function("b", kReceive), {edge(0, "a", "b")}).empty());
}

TEST_CASE_METHOD(Fixture, "an edge needs both its ends, on its devices, with its type") {
  CHECK_THAT(check(function("a", kSend) + function("b", ""), {edge(0, "a", "b")}),
             Contains("edge 0 'e0' has no gr.recv, expected one on b"));
  CHECK_THAT(check(function("a", "") + function("b", kReceive), {edge(0, "a", "b")}),
             Contains("edge 0 'e0' has no gr.send, expected one on a"));
  CHECK_THAT(check(function("a", kSend) + function("b", kReceive), {edge(0, "b", "b")}),
             Contains("of edge 0 'e0' is on a, expected on b"));
  CHECK_THAT(check(function("a", kSend + std::string(kSend)) + function("b", kReceive),
                   {edge(0, "a", "b")}),
             Contains("is the second of edge 0, expected one"));
  CHECK_THAT(check(function("a", kSend) + function("b", kReceive), {}),
             Contains("names edge 0, but there are 0"));
  PartitionEdge wrong = edge(0, "a", "b");
  wrong.type = mlir::RankedTensorType::get({5}, mlir::Float32Type::get(&context));
  CHECK_THAT(check(function("a", kSend) + function("b", kReceive), {wrong}),
             Contains("is of type 'tensor<4xf32>', expected 'tensor<5xf32>'"));
  CHECK_THAT(check(function("a", kSend) + function("b", kReceive), {edge(1, "a", "b")}),
             Contains("edge 0 has id 1, expected dense ids"));
}

TEST_CASE_METHOD(Fixture, "a cycle of waits is found") {
  std::string a =
      function("a",
               "%r = gr.recv {edge = 1 : i64, tensor_type = tensor<4xf32>} : () -> tensor<4xf32>\n"
               "gr.send %x {edge = 0 : i64} : (tensor<4xf32>) -> ()\n");
  std::string b = function(
      "b", kReceive + std::string("gr.send %x {edge = 1 : i64} : (tensor<4xf32>) -> ()\n"));
  CHECK_THAT(check(a + b, {edge(0, "a", "b"), edge(1, "b", "a")}),
             Contains("deadlock: a waits for edge 1 'e1'") &&
                 Contains("deadlock: b waits for edge 0 'e0'"));
}

std::string member(int communicator, const std::string& collective = "all_reduce",
                   const std::string& kind = "sum", const std::string& value = "%x") {
  return absl::StrCat("gr.collective_member ", value, " {collective = \"", collective,
                      "\", kind = \"", kind, "\", communicator = ", communicator,
                      " : i64, tensor_type = tensor<4xf32>} : (tensor<4xf32>) -> tensor<4xf32>\n");
}

/// Two communicators of a and b, and one that c is in.
std::string joined(const std::string& functions) {
  return R"(module attributes {gr.communicators = [["a", "b"], ["b", "a"], ["c", "b"]]} {)" +
         functions + "}";
}

TEST_CASE_METHOD(Fixture, "members of a communicator meet") {
  std::string both = "%0 = " + member(0) + "%1 = " + member(1, "all_gather", "");
  CHECK(check(joined(function("a", both) + function("b", both)), {}).empty());
  // A member waits behind what it is sent.
  CHECK(check(joined(function("a", kSend + ("%0 = " + member(0))) +
                     function("b", kReceive + ("%0 = " + member(0, "all_reduce", "sum", "%r")))),
              {edge(0, "a", "b")})
            .empty());
  CHECK_THAT(check(joined(function("a", "%0 = " + member(3))), {}),
             Contains("names communicator 3, but there are 3"));
  CHECK_THAT(check(function("a", "%0 = " + member(0)), {}),
             Contains("names communicator 0, but there are 0"));
  CHECK_THAT(check(joined(function("c", "%0 = " + member(1))), {}),
             Contains("is on c, which communicator 1 does not have"));
}

TEST_CASE_METHOD(Fixture, "members that meet do the same") {
  auto errors = [&](const std::string& other) {
    return check(joined(function("a", "%0 = " + member(0)) + function("b", "%0 = " + other)), {});
  };
  CHECK_THAT(errors(member(0, "all_reduce", "max")),
             Contains("on b is all_reduce \"max\" of 'tensor<4xf32>', but on a it meets all_reduce "
                      "\"sum\" of 'tensor<4xf32>'"));
  CHECK_THAT(errors(member(0, "reduce_scatter")), Contains("on b is reduce_scatter \"sum\""));
  std::string half =
      "gr.cast %x {to = f16} : (tensor<4xf32>) -> tensor<4xf16>\n%1 = "
      "gr.collective_member %0 {collective = \"all_reduce\", kind = \"sum\", "
      "communicator = 0 : i64, tensor_type = tensor<4xf32>} : (tensor<4xf16>) -> "
      "tensor<4xf32>\n";
  CHECK_THAT(errors(half), Contains("of 'tensor<4xf16>', but on a it meets"));
}

TEST_CASE_METHOD(Fixture, "members that do not meet are found") {
  CHECK_THAT(check(joined(function("a", "%0 = " + member(0)) + function("b", "")), {}),
             Contains("deadlock: a waits in communicator 0 for b, which does not come to it"));
  std::string there = "%0 = " + member(0) + "%1 = " + member(1);
  std::string back = "%0 = " + member(1) + "%1 = " + member(0);
  std::string errors = check(joined(function("a", there) + function("b", back)), {});
  CHECK_THAT(errors, Contains("deadlock: a waits in communicator 0 for b"));
  CHECK_THAT(errors, Contains("deadlock: b waits in communicator 1 for a"));
  // A tensor that is sent behind the meeting is waited for before it.
  errors = check(joined(function("a", "%0 = " + member(0) + kSend) +
                        function("b", kReceive + ("%0 = " + member(0)))),
                 {edge(0, "a", "b")});
  CHECK_THAT(errors, Contains("deadlock: a waits in communicator 0 for b"));
  CHECK_THAT(errors, Contains("deadlock: b waits for edge 0 'e0'"));
}

TEST_CASE_METHOD(Fixture, "the edge table is written to and read from the module") {
  auto module = parse(function("a", kSend) + function("b", kReceive));
  setEdges(*module, {edge(0, "a", "b")});
  auto edges = edgesOf(*module);
  REQUIRE(mlir::succeeded(edges));
  REQUIRE(edges->size() == 1);
  CHECK(edges->front().source == "a");
  CHECK(edges->front().type == edge(0, "", "").type);

  std::string error;
  mlir::ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic& diagnostic) {
    error = diagnostic.str();
    return mlir::success();
  });
  (*module)->setAttr(kEdgesAttr, mlir::ArrayAttr::get(&context, mlir::UnitAttr::get(&context)));
  CHECK(mlir::failed(edgesOf(*module)));
  CHECK_THAT(error, Contains("expected {id, name, source, target, type}"));
  (*module)->removeAttr(kEdgesAttr);
  CHECK(mlir::failed(edgesOf(*module)));
  CHECK_THAT(error, Contains("was not made by partition"));
}

TEST_CASE_METHOD(Fixture, "a wide graph on many devices is cut and proved") {
  // 40 chains of 25 operations; each operation runs on another device than the one before.
  std::string text = "func.func @main(%x: tensor<4xf32>) -> (";
  std::string body, results, types;
  for (int chain = 0; chain < 40; ++chain) {
    std::string last = "%x";
    for (int i = 0; i < 25; ++i) {
      std::string value = "%v" + std::to_string(chain) + "_" + std::to_string(i);
      body += value + " = gr.exp " + last + " {gr.device = #gr.device<\"d" +
              std::to_string((chain * 7 + i * 3) % 5) + "\">} : (tensor<4xf32>) -> tensor<4xf32>\n";
      last = value;
    }
    results += (chain == 0 ? "" : ", ") + last;
    types += chain == 0 ? "tensor<4xf32>" : ", tensor<4xf32>";
  }
  auto module = parse(text + types + ") {\n" + body + "return " + results + " : " + types + "\n}");
  REQUIRE(module);
  auto func = *module->getOps<mlir::func::FuncOp>().begin();
  auto result = partition(func, PartitionOptions{"d0", {}});
  REQUIRE(mlir::succeeded(result));
  // The input goes once to each of the four other devices.
  CHECK(llvm::count_if(result->edges, [](const PartitionEdge& e) { return e.name == "input0"; }) ==
        4);
  CHECK(mlir::succeeded(verifyPartition(*result->module, result->edges)));
}

}  // namespace
}  // namespace graphrun::passes
