// Symbolic dims, and operations that are made with inferred types.
#include "ir/dims.h"

#include <catch2/catch.hpp>

#include "ir/builders.h"
#include "ir/dialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"

namespace graphrun::ir {
namespace {

struct DimsFixture {
  DimsFixture() : builder(&context) {
    context.loadDialect<GRDialect, mlir::func::FuncDialect>();
    module = mlir::ModuleOp::create(builder.getUnknownLoc());
    builder.setInsertionPointToEnd(module->getBody());
    n = Dim::symbolic(mlir::getAffineSymbolExpr(0, &context));
  }

  mlir::MLIRContext context;
  mlir::OpBuilder builder;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  Dim n;
};

TEST_CASE_METHOD(DimsFixture, "arithmetic on dims keeps what is known") {
  CHECK((Dim(2) + Dim(3)).value() == 5);
  CHECK((Dim(7).floorDiv(2)).value() == 3);
  CHECK((Dim(7).ceilDiv(2)).value() == 4);
  CHECK((Dim() + Dim(3)).isUnknown());
  CHECK((Dim(0) * Dim()).value() == 0);
  CHECK(provablyEqual(n + Dim(1) - Dim(1), n));
  CHECK((n + Dim(1) - n).value() == 1);
  CHECK((n + (Dim(1) - n)).value() == 1);
  CHECK((n * Dim(2) + Dim(3) - n - n).value() == 3);
  CHECK_FALSE((n + Dim(1) - Dim(3)).isStatic());
  CHECK(!provablyEqual(Dim(), Dim()));
  CHECK(provablyDifferent(Dim(1), Dim(2)));
  CHECK(!provablyDifferent(n, Dim(2)));
}

TEST_CASE_METHOD(DimsFixture, "every number is one, the smallest too") {
  Dim least(INT64_MIN);
  CHECK(least.isStatic());
  CHECK(!least.isUnknown());
  CHECK(least.value() == INT64_MIN);
  CHECK(provablyEqual(least, Dim(INT64_MIN)));
  CHECK(provablyDifferent(least, Dim(0)));
  CHECK((Dim(-1) + Dim(INT64_MIN + 1)).value() == INT64_MIN);
  CHECK((least + Dim(1)).value() == INT64_MIN + 1);
  CHECK((least - Dim(1)).isUnknown());  // no int64_t holds it
  CHECK_FALSE((least + n).isUnknown());
  CHECK(toString({least}) == "-9223372036854775808");
}

TEST_CASE_METHOD(DimsFixture, "types carry symbolic dims and give them back") {
  mlir::Type f32 = builder.getF32Type();
  Dims dims = {n, Dim(3), Dim(), n * Dim(2)};
  mlir::RankedTensorType type = tensorType(dims, f32);
  CHECK(type.getDimSize(0) == mlir::ShapedType::kDynamic);
  CHECK(type.getDimSize(1) == 3);
  Dims back = *dimsOf(type);
  CHECK(provablyEqual(back[0], n));
  CHECK(back[2].isUnknown());
  CHECK(provablyEqual(back[3], n * Dim(2)));
  CHECK(toString(back) == "(s0)x3x?x(s0 * 2)");
  CHECK(tensorType({Dim(2), Dim(3)}, f32).getEncoding() == nullptr);
  CHECK(!dimsOf(mlir::UnrankedTensorType::get(f32)));
}

TEST_CASE_METHOD(DimsFixture, "broadcasting follows NumPy") {
  CHECK(provablyEqual(*broadcast(Dim(1), n), n));
  CHECK(broadcast(n, Dim(4))->value() == 4);
  CHECK(broadcast(n, Dim())->isUnknown());
  CHECK(!broadcast(Dim(2), Dim(3)));
  CHECK(toString(*broadcast(Dims{Dim(3), Dim(1)}, Dims{Dim(2), Dim(1), Dim(4)})) == "2x3x4");
}

TEST_CASE_METHOD(DimsFixture,
                 "createOp infers types, and reports misuse without leaving anything") {
  mlir::Location loc = builder.getUnknownLoc();
  mlir::Value a = createScalar(builder, loc, builder.getF32Type(), 1.5);
  mlir::Value b = createInts(builder, loc, {2, 3});
  auto sum = createOp(builder, loc, "gr.add", {a, a});
  REQUIRE(mlir::succeeded(sum));
  CHECK((*sum)->getResult(0).getType() == a.getType());
  std::string message;
  mlir::ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic& diagnostic) {
    message += diagnostic.str();
    return mlir::success();
  });
  size_t before = std::distance(module->getBody()->begin(), module->getBody()->end());
  CHECK(mlir::failed(createOp(builder, loc, "gr.add", {a, b})));
  CHECK(message ==
        "'gr.add' op operands have element types 'f32' and 'i64', expected one type; "
        "cast one of them");
  CHECK(std::distance(module->getBody()->begin(), module->getBody()->end()) ==
        static_cast<std::ptrdiff_t>(before));
}

TEST_CASE_METHOD(DimsFixture, "createOp refuses a missing attribute before it is asked for") {
  mlir::Location loc = builder.getUnknownLoc();
  mlir::Value a = createInts(builder, loc, {2, 3});
  std::string message;
  mlir::ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic& diagnostic) {
    message += diagnostic.str();
    return mlir::success();
  });
  CHECK(mlir::failed(createOp(builder, loc, "gr.transpose", {a})));
  CHECK(message == "'gr.transpose' op requires attribute 'permutation'");
  message.clear();
  CHECK(mlir::failed(createOp(builder, loc, "gr.resize", {a})));
  CHECK(message.find("does not match with the total size (0)") != std::string::npos);
}

}  // namespace
}  // namespace graphrun::ir
