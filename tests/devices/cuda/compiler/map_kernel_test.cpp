// Kernels of maps: their arithmetic on the CPU against reference kernels, their text by ptxas.
#include "devices/cuda/compiler/emit/map_kernel.h"

#include <catch2/catch.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "devices/codegen/kernel_names.h"
#include "devices/cuda/compiler/emit/kernel_code.h"
#include "devices/cuda/compiler/emit/ptx.h"
#include "mlir/Parser/Parser.h"
#include "tests/devices/cuda/compiler/kernel_case.h"
#include "tests/devices/cuda/compiler/ptxas.h"
#include "tests/devices/cuda/compiler/random_group.h"

namespace graphrun::devices::cuda {
namespace {

constexpr int kCapabilities[] = {80, 90, 100};

/// Runs the kernel's threads on the CPU; the results must be what reference kernels give.
void checkResults(KernelCase& map, unsigned seed, bool whole, double tolerance) {
  cpu::Tensors operands = map.operands(seed, whole);
  cpu::Tensors got = map.interpreted(operands);
  cpu::Tensors expected = map.expected(operands);
  REQUIRE(got.size() == expected.size());
  for (size_t i = 0; i < got.size(); ++i) {
    CAPTURE(i);
    REQUIRE(cpu::distance(got[i], expected[i]) <= tolerance);
  }
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

std::string unary(const std::string& op, const std::string& type) {
  return absl::StrCat("func.func @f(%x: ", type, ") -> ", type, " {\n  %0 = gr.", op, " %x : (",
                      type, ") -> ", type, "\n  return %0 : ", type, "\n}");
}

std::string binary(const std::string& op, const std::string& left, const std::string& right,
                   const std::string& result) {
  return absl::StrCat("func.func @f(%x: ", left, ", %y: ", right, ") -> ", result, " {\n  %0 = gr.",
                      op, " %x, %y : (", left, ", ", right, ") -> ", result,
                      "\n  return %0 : ", result, "\n}");
}

/// A random group of small whole numbers, which all types hold.
void checkWholeNumbers(const std::string& element, unsigned seed) {
  CAPTURE(element, seed);
  std::string text = randomGroup(seed, element, true);
  INFO(text);
  KernelCase map(text);
  checkResults(map, seed, true, 0);
}

TEST_CASE("random groups of whole numbers give what reference kernels give, in all types") {
  std::string element = GENERATE("f32", "f16", "bf16", "f64", "i32", "i64", "i8", "i16", "i1");
  checkWholeNumbers(element, static_cast<unsigned>(GENERATE(range(0, 5))));
}

TEST_CASE("many random groups give what reference kernels give", "[.slow]") {
  std::string element = GENERATE("f32", "f16", "f64", "i64", "i8", "i1");
  checkWholeNumbers(element, static_cast<unsigned>(GENERATE(range(1000, 1100))));
}

TEST_CASE("random groups of functions are close to what reference kernels give") {
  auto seed = static_cast<unsigned>(GENERATE(range(100, 115)));
  CAPTURE(seed);
  std::string text = randomGroup(seed, "f32", false);
  INFO(text);
  KernelCase map(text);
  checkResults(map, seed, false, 2e-5);
}

TEST_CASE("the assembler takes random groups for each architecture") {
  if (!hasPtxas()) {
    return;
  }
  std::string element = GENERATE("f32", "f16", "bf16", "f64", "i32", "i64", "i8", "i1");
  auto seed = static_cast<unsigned>(GENERATE(range(200, 202)));
  std::string text = randomGroup(seed, element, element != "f32");
  INFO(text);
  KernelCase map(text);
  for (int capability : kCapabilities) {
    requireAssembles(map.ptx(capability), capability);
  }
}

TEST_CASE("a vector is 16 bytes of the widest type that is read in order") {
  auto [element, load] = GENERATE(table<std::string, std::string>({{"f32", "ld.global.nc.v4.f32"},
                                                                   {"f64", "ld.global.nc.v2.f64"},
                                                                   {"i32", "ld.global.nc.v4.u32"},
                                                                   {"f16", "ld.global.nc.v4"},
                                                                   {"bf16", "ld.global.nc.v4"},
                                                                   {"i8", "ld.global.nc.v4"}}));
  CAPTURE(element);
  KernelCase map(unary("neg", absl::StrCat("tensor<4096x", element, ">")));
  std::string ptx = map.ptx(80);
  INFO(ptx);
  CHECK(has(ptx, load));
  CHECK_FALSE(has(ptx, ".local"));
  checkResults(map, 1, true, 0);
}

TEST_CASE("what does not divide into vectors is done by narrower ones or by elements") {
  // Rows of 6, of which a row is repeated: two loops, and vectors of two.
  KernelCase rows(binary("add", "tensor<100x6xf32>", "tensor<6xf32>", "tensor<100x6xf32>"));
  CHECK(has(rows.ptx(80), "ld.global.nc.v2.f32"));
  checkResults(rows, 1, false, 0);
  // One loop: whole vectors, and two elements.
  KernelCase line(binary("add", "tensor<1002xf32>", "tensor<1002xf32>", "tensor<1002xf32>"));
  CHECK(has(line.ptx(80), "ld.global.nc.v4.f32"));
  checkResults(line, 2, false, 0);
  CHECK(line.launch().grid[0] == 1);
  auto tiny = GENERATE(1, 2, 3, 5);
  std::string type = absl::StrCat("tensor<", tiny, "xf32>");
  KernelCase few(binary("mul", type, type, type));
  checkResults(few, 3, false, 0);
}

TEST_CASE("a column of a matrix broadcasts, a transposed matrix is read across") {
  KernelCase column(binary("mul", "tensor<30x64xf32>", "tensor<30x1xf32>", "tensor<30x64xf32>"));
  checkResults(column, 1, false, 0);
  CHECK(has(column.ptx(80), "st.global.v4.f32"));
  KernelCase across(
      "func.func @f(%x: tensor<12x40xf32>) -> tensor<40x12xf32> {\n  %0 = gr.transpose %x "
      "{permutation = array<i64: 1, 0>} : (tensor<12x40xf32>) -> tensor<40x12xf32>\n  return %0 : "
      "tensor<40x12xf32>\n}");
  checkResults(across, 2, false, 0);
  CHECK(has(across.ptx(80), "st.global.v4"));
}

TEST_CASE("a group may have several results, of several types") {
  KernelCase map(R"(func.func @f(%x: tensor<7x12xf32>, %y: tensor<12xf32>) -> tensor<7x12xf32> {
    %0:2 = gr.group (%x, %y) attributes {kind = "map"} {
    ^bb0(%a: tensor<7x12xf32>, %b: tensor<12xf32>):
      %1 = gr.add %a, %b : (tensor<7x12xf32>, tensor<12xf32>) -> tensor<7x12xf32>
      %2 = gr.less %a, %b : (tensor<7x12xf32>, tensor<12xf32>) -> tensor<7x12xi1>
      gr.yield %1, %2 : tensor<7x12xf32>, tensor<7x12xi1>
    } : (tensor<7x12xf32>, tensor<12xf32>) -> (tensor<7x12xf32>, tensor<7x12xi1>)
    return %0#0 : tensor<7x12xf32>
  })");
  checkResults(map, 1, false, 0);
}

TEST_CASE("channels that are shuffled stay last") {
  auto [groups, each] = GENERATE(table<int, int>({{4, 8}, {3, 5}, {2, 16}, {12, 1}}));
  int channels = groups * each;
  auto shape = [](const std::vector<int>& dims) {
    return absl::StrCat("dense<[", absl::StrJoin(dims, ", "), "]> : tensor<", dims.size(), "xi64>");
  };
  auto constant = [&](const char* name, const std::vector<int>& dims) {
    return absl::StrCat("  ", name, " = gr.constant ", shape(dims), " : tensor<", dims.size(),
                        "xi64>\n");
  };
  std::string type = absl::StrCat("tensor<2x", channels, "x3x5xf32>");
  std::string apart = absl::StrCat("tensor<2x", groups, "x", each, "x15xf32>");
  std::string turned = absl::StrCat("tensor<2x", each, "x", groups, "x15xf32>");
  std::string text = absl::StrCat(
      "func.func @f(%x: ", type, ") -> ", type,
      " {\n  %0 = gr.group(%x) attributes {kind = ", "\"map\"} {\n  ^bb0(%a: ", type, "):\n",
      constant("%s", {2, groups, each, 15}), constant("%t", {2, channels, 3, 5}),
      "  %1 = gr.reshape %a, %s : (", type, ", tensor<4xi64>) -> ", apart,
      "\n  %2 = gr.transpose %1 {permutation = array<i64: 0, 2, 1, 3>} : (", apart, ") -> ", turned,
      "\n  %3 = gr.reshape %2, %t : (", turned, ", tensor<4xi64>) -> ", type,
      "\n  %4 = gr.neg %3 : (", type, ") -> ", type, "\n  gr.yield %4 : ", type, "\n  } : (", type,
      ") -> ", type, "\n  return %0 : ", type, "\n}");
  INFO(text);
  constexpr KernelLayout kLast{KernelLayout::Order::kChannelsLast, 0};
  KernelCase last(text, {{kLast}, kLast});
  cpu::Tensors operands = last.operands(5, false);
  cpu::Tensors laidOut;
  laidOut.push_back(channelsLast(operands[0]));
  cpu::Tensors got = last.interpreted(laidOut);
  CHECK(cpu::distance(got[0], channelsLast(last.expected(operands)[0])) == 0);
  KernelCase dense(text);
  CHECK(cpu::distance(dense.interpreted(operands)[0], dense.expected(operands)[0]) == 0);
}

TEST_CASE("offsets are computed in 32 bits where that is enough") {
  auto bitsOf = [](KernelCase& map) {
    return map.kernel()->getAttrOfType<mlir::IntegerAttr>(kIndexBitsAttr).getInt();
  };
  KernelCase small(unary("neg", "tensor<65536x1024xf32>"));
  CHECK(bitsOf(small) == 32);
  KernelCase large(unary("neg", "tensor<4194304x1024xf16>"));
  CHECK(bitsOf(large) == 64);
  // Elements of an operand count too: 2^32 of them are repeated from the first row here.
  KernelCase row(binary("add", "tensor<4294967296xi8>", "tensor<1xi8>", "tensor<4294967296xi8>"));
  CHECK(bitsOf(row) == 64);
  if (hasPtxas()) {
    requireAssembles(large.ptx(90), 90);
  }
}

TEST_CASE("shapes share code, and a store keeps it") {
  struct Store : runtime::CodeStore {
    std::optional<absl::Span<const uint8_t>> find(const std::string& name) override {
      auto found = kept.find(name);
      return found == kept.end() ? std::nullopt : std::optional(absl::MakeConstSpan(found->second));
    }
    void store(const std::string& name, absl::Span<const uint8_t> code) override {
      kept[name].assign(code.begin(), code.end());
    }
    std::map<std::string, std::vector<uint8_t>> kept;
  } store;
  mlir::MLIRContext context;
  context.loadDialect<ir::GRDialect, mlir::func::FuncDialect>();
  auto launchOf = [&](KernelCode& code, const std::string& text) {
    auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    return code.add(&(*module->getOps<mlir::func::FuncOp>().begin()).front().front()).launches[0];
  };
  KernelCode code(context, ptxTarget(90).value(), &store);
  KernelLaunch one = launchOf(code, unary("relu", "tensor<64x512xf32>"));
  KernelLaunch other = launchOf(code, unary("relu", "tensor<32x4096xf32>"));
  KernelLaunch rest = launchOf(code, unary("relu", "tensor<33x401xf32>"));
  CHECK(one.symbol == other.symbol);
  CHECK(one.symbol != rest.symbol);  // it has elements beyond the last vector
  CHECK(one.grid[0] == 32);
  CHECK(one.block[0] == 256);
  using Kind = KernelArgument::Kind;
  CHECK(one.arguments == std::vector<KernelArgument>{
                             {Kind::kOperand, 0}, {Kind::kResult, 0}, {Kind::kInteger, 8192}});
  auto texts = code.finish();
  REQUIRE(texts.ok());
  REQUIRE(texts->size() == 2);
  CHECK(store.kept.size() == 2);
  CHECK(has((*texts)[0].ptx, (*texts)[0].symbol));
  for (auto& [name, kept] : store.kept) {
    kept = {'k', 'e', 'p', 't'};
  }
  KernelCode again(context, ptxTarget(90).value(), &store);
  launchOf(again, unary("relu", "tensor<128x128xf32>"));
  CHECK(again.finish()->front().ptx == "kept");
}

TEST_CASE("divisions of integers complain about a zero, others have no parameter for that") {
  auto numbers = [](const std::vector<double>& list) {
    return cpu::tensor(runtime::ElementType::kI32, {static_cast<int64_t>(list.size())}, list);
  };
  std::string type = "tensor<6xi32>";
  for (std::string op : {"div", "mod"}) {
    KernelCase division(binary(op, type, type, type));
    for (bool hasZero : {false, true}) {
      cpu::Tensors operands;
      operands.push_back(numbers({1, 2, 3, 4, 5, -6}));
      operands.push_back(numbers({1, -1, 3, 2, hasZero ? 0.0 : 4.0, 7}));
      division.interpreted(operands);
      CHECK(division.error() == (hasZero ? KernelError::kDivision : KernelError{}));
    }
  }
  auto reports = [](const std::string& text) {
    return llvm::any_of(KernelCase(text).launch().arguments, [](const KernelArgument& argument) {
      return argument.kind == KernelArgument::Kind::kErrors;
    });
  };
  CHECK(reports(binary("div", type, type, type)));
  CHECK_FALSE(reports(binary("add", type, type, type)));
  CHECK_FALSE(reports(binary("div", "tensor<6xf32>", "tensor<6xf32>", "tensor<6xf32>")));
  CHECK_FALSE(
      reports("func.func @f(%x: tensor<6xi32>) -> tensor<6xi32> {\n  %two = gr.constant "
              "dense<2> : tensor<6xi32> : tensor<6xi32>\n  %0 = gr.div %x, %two : "
              "(tensor<6xi32>, tensor<6xi32>) -> tensor<6xi32>\n  return %0 : "
              "tensor<6xi32>\n}"));
}

TEST_CASE("what no kernel is generated for is declined with a reason") {
  CHECK(whyDeclined(unary("tanh", "tensor<8xf32>")).empty());
  CHECK(whyDeclined(unary("tanh", "tensor<8xf64>")).empty());
  CHECK(whyDeclined(binary("matmul", "tensor<8x8xf32>", "tensor<8x8xf32>", "tensor<8x8xf32>")) ==
        "gr.matmul is not a map over its result");
  // The reference kernel sees whether the ends give the planned shape.
  CHECK(whyDeclined("func.func @f(%x: tensor<9xf32>, %end: tensor<1xi64>) -> tensor<3xf32> {\n"
                    "  %start = gr.constant dense<2> : tensor<1xi64> : tensor<1xi64>\n"
                    "  %axis = gr.constant dense<0> : tensor<1xi64> : tensor<1xi64>\n"
                    "  %step = gr.constant dense<1> : tensor<1xi64> : tensor<1xi64>\n"
                    "  %0 = gr.slice %x, %start, %end, %axis, %step : (tensor<9xf32>, "
                    "tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> "
                    "tensor<3xf32>\n  return %0 : tensor<3xf32>\n}") ==
        "gr.slice is not a map over its result");
}

TEST_CASE("operations in groups are told apart by the constants outside") {
  mlir::MLIRContext context;  // of all: a key tells operations of one context apart
  context.loadDialect<ir::GRDialect, mlir::func::FuncDialect>();
  auto keyOf = [&](const char* number) {
    auto module = mlir::parseSourceString<mlir::ModuleOp>(
        absl::StrCat(
            "func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {\n  %c = gr.constant dense<", number,
            R"(> : tensor<4xf32> : tensor<4xf32>
  %g = gr.group (%x, %c) attributes {kind = "map"} {
  ^bb0(%a: tensor<4xf32>, %b: tensor<4xf32>):
    %0 = gr.add %a, %b : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    gr.yield %0 : tensor<4xf32>
  } : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %g : tensor<4xf32>
})"),
        &context);
    REQUIRE(module);
    std::string key;
    module->walk([&](ir::AddOp add) { key = codegen::kernelKey(add); });
    return key;
  };
  CHECK(keyOf("1.0") == keyOf("1.0"));
  CHECK(keyOf("1.0") != keyOf("2.0"));
}

}  // namespace
}  // namespace graphrun::devices::cuda
