// Which operations count as the same one.
#include "placement/from_ir/op_signature.h"

#include <catch2/catch.hpp>
#include <set>

#include "ir/dialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"

namespace graphrun::placement {
namespace {

/// The operations of a function, constants aside.
class Ops {
 public:
  explicit Ops(const std::string& text) {
    context_.loadDialect<ir::GRDialect, mlir::func::FuncDialect>();
    module_ = mlir::parseSourceString<mlir::ModuleOp>(text, &context_);
    REQUIRE(module_);
    module_->walk([&](mlir::Operation* op) {
      if (llvm::isa_and_nonnull<mlir::func::FuncOp>(op->getParentOp()) && op->getNumResults() > 0 &&
          !llvm::isa<ir::ConstantOp>(op)) {
        ops_.push_back(op);
      }
    });
  }

  uint64_t signature(size_t i) const { return opSignature(ops_.at(i)); }
  uint64_t family(size_t i) const { return opFamily(ops_.at(i)); }

 private:
  mlir::MLIRContext context_;
  mlir::OwningOpRef<mlir::ModuleOp> module_;
  std::vector<mlir::Operation*> ops_;
};

TEST_CASE("names, places and devices make no difference; shapes, attributes and operands do") {
  Ops ops(R"(
    func.func @f(%x: tensor<4x4xf32>, %y: tensor<4x4xf32>, %z: tensor<8x4xf32>) {
      %0 = gr.matmul %x, %y : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32> loc("a")
      %1 = gr.matmul %0, %y {gr.device = #gr.device<"w/cpu:0">, gr.rank = 7 : i64} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32> loc("b")
      %2 = gr.matmul %x, %x : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
      %3 = gr.matmul %z, %y : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
      %4 = gr.relu %0 : (tensor<4x4xf32>) -> tensor<4x4xf32>
      %5 = gr.matmul %x, %y {transpose_rhs = true} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
      return
    })");
  CHECK(ops.signature(0) == ops.signature(1));
  CHECK(ops.signature(0) != ops.signature(2));  // one operand twice is another work
  CHECK(ops.signature(0) != ops.signature(3));
  CHECK(ops.signature(0) != ops.signature(5));
  CHECK(ops.family(0) == ops.family(3));
  CHECK(ops.family(0) != ops.family(4));
}

TEST_CASE("a family holds what is computed in one way") {
  Ops ops(R"(
    func.func @f(%x: tensor<1x8x9x9xf32>, %m: tensor<4x4xf32>) {
      %p = gr.constant dense<1.0> : tensor<8x8x1x1xf32> : tensor<8x8x1x1xf32>
      %w = gr.constant dense<1.0> : tensor<8x8x3x3xf32> : tensor<8x8x3x3xf32>
      %d = gr.constant dense<1.0> : tensor<8x1x3x3xf32> : tensor<8x1x3x3xf32>
      %c = gr.constant dense<1.0> : tensor<4x4xf32> : tensor<4x4xf32>
      %0 = gr.conv %x, %p {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>} : (tensor<1x8x9x9xf32>, tensor<8x8x1x1xf32>) -> tensor<1x8x9x9xf32>
      %1 = gr.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>} : (tensor<1x8x9x9xf32>, tensor<8x8x3x3xf32>) -> tensor<1x8x9x9xf32>
      %2 = gr.conv %x, %w {strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>} : (tensor<1x8x9x9xf32>, tensor<8x8x3x3xf32>) -> tensor<1x8x5x5xf32>
      %3 = gr.conv %x, %d {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, groups = 8 : i64} : (tensor<1x8x9x9xf32>, tensor<8x1x3x3xf32>) -> tensor<1x8x9x9xf32>
      %4 = gr.matmul %m, %m : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
      %5 = gr.matmul %m, %c : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
      %6 = gr.group (%m, %c) attributes {kind = "matmul"} {
      ^bb0(%l: tensor<4x4xf32>, %r: tensor<4x4xf32>):
        %a = gr.matmul %l, %r : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
        %b = gr.relu %a : (tensor<4x4xf32>) -> tensor<4x4xf32>
        gr.yield %b : tensor<4x4xf32>
      } : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
      return
    })");
  std::set<uint64_t> families;
  for (size_t i = 0; i < 6; ++i) {
    families.insert(ops.family(i));
  }
  CHECK(families.size() == 6);
  CHECK(ops.family(6) == ops.family(5));
}

TEST_CASE("what is a constant counts, its elements only where they are few integers") {
  Ops ops(R"(
    func.func @f(%x: tensor<4x4xf32>, %y: tensor<4x4xf32>) {
      %a = gr.constant dense<1.0> : tensor<4x4xf32> : tensor<4x4xf32>
      %b = gr.constant dense<2.0> : tensor<4x4xf32> : tensor<4x4xf32>
      %s = gr.constant dense<[2, 8]> : tensor<2xi64> : tensor<2xi64>
      %t = gr.constant dense<[8, 2]> : tensor<2xi64> : tensor<2xi64>
      %0 = gr.matmul %x, %y : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
      %1 = gr.matmul %x, %a : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
      %2 = gr.matmul %x, %b : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
      %3 = gr.tile %x, %s : (tensor<4x4xf32>, tensor<2xi64>) -> tensor<8x32xf32>
      %4 = gr.tile %x, %t : (tensor<4x4xf32>, tensor<2xi64>) -> tensor<32x8xf32>
      return
    })");
  CHECK(ops.signature(0) != ops.signature(1));
  CHECK(ops.signature(1) == ops.signature(2));
  CHECK(ops.signature(3) != ops.signature(4));
}

}  // namespace
}  // namespace graphrun::placement
