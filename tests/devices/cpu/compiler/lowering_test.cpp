// What the compiler makes of a partition, step by step.
#include <algorithm>
#include <catch2/catch.hpp>

#include "devices/cpu/compiler/cpu_compiler.h"
#include "devices/cpu/executable.h"
#include "ir/dialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"

namespace graphrun::devices::cpu {
namespace {

Executable compiled(const std::string& text) {
  mlir::MLIRContext context;
  context.loadDialect<ir::GRDialect, mlir::func::FuncDialect>();
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  REQUIRE(module);
  DeviceDescription device{"here/cpu:0", "cpu", 0, {}, 0, 1};
  Tuning tuning;
  auto bytes = CpuCompiler().compile(
      *module->getOps<mlir::func::FuncOp>().begin(), device, "test",
      [](ir::ConstantOp) { return std::nullopt; }, tuning);
  REQUIRE(bytes.status().ToString() == "OK");
  auto executable = readExecutable(*bytes);
  REQUIRE(executable.status().ToString() == "OK");
  return *std::move(executable);
}

/// Two sums of a product and a residual, the first of which is the second's residual; `between` is
/// what is done with the first one in between.
std::string twoSums(const std::string& between) {
  std::string group =
      " attributes {kind = \"matmul\"} {\n"
      "  ^bb0(%p: tensor<16x16xf32>, %q: tensor<16x16xf32>, %r: tensor<16x16xf32>):\n"
      "    %m = gr.matmul %p, %q : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>\n"
      "    %s = gr.add %m, %r : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>\n"
      "    gr.yield %s : tensor<16x16xf32>\n"
      "  } : (tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>\n";
  return "func.func @f(%x: tensor<16x16xf32> {gr.name = \"x\"})\n"
         "    -> (tensor<16x16xf32> {gr.name = \"y\"}) {\n"
         "  %e = gr.exp %x : (tensor<16x16xf32>) -> tensor<16x16xf32>\n"
         "  %a = gr.group(%x, %x, %e)" +
         group + between + "  %b = gr.group(%e, %x, %a)" + group +
         "  %y = gr.exp %b : (tensor<16x16xf32>) -> tensor<16x16xf32>\n"
         "  return %y : tensor<16x16xf32>\n}";
}

std::vector<const Step*> products(const Executable& executable) {
  std::vector<const Step*> steps;
  for (const Step& step : executable.steps) {
    if (step.operation == "gr.matmul") {
      steps.push_back(&step);
    }
  }
  REQUIRE(steps.size() == 2);
  return steps;
}

TEST_CASE("a residual that nothing reads again is added in place") {
  Executable executable = compiled(twoSums(""));
  auto steps = products(executable);
  CHECK(steps[1]->outputs[0].buffer == steps[0]->outputs[0].buffer);
}

TEST_CASE("a residual that was sent keeps its memory until the step has ended") {
  Executable executable =
      compiled(twoSums("  gr.send %a {edge = 0 : i64} : (tensor<16x16xf32>) -> ()\n"));
  auto steps = products(executable);
  CHECK(steps[1]->outputs[0].buffer != steps[0]->outputs[0].buffer);
}

}  // namespace
}  // namespace graphrun::devices::cpu
