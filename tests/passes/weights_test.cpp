// Elements of constants of every storage, and the numerics of folded weights.
#include "passes/weights.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <random>

#include "ir/builders.h"
#include "ir/dialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "mlir/Pass/PassManager.h"
#include "passes/passes.h"

namespace graphrun::passes {
namespace {

struct WeightsFixture {
  WeightsFixture() : builder(&context) {
    context.loadDialect<ir::GRDialect, mlir::func::FuncDialect>();
  }

  mlir::RankedTensorType type(llvm::ArrayRef<int64_t> shape, mlir::Type element) {
    return mlir::RankedTensorType::get(shape, element);
  }

  mlir::MLIRContext context;
  mlir::OpBuilder builder;
};

TEST_CASE_METHOD(WeightsFixture, "floats of every width are written rounded and read back") {
  std::vector<double> values(100);
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = std::ldexp(1 + static_cast<double>(i % 8) / 8, static_cast<int>(i % 9) - 4);
  }
  for (mlir::Type element : {mlir::Type(builder.getF64Type()), mlir::Type(builder.getF32Type()),
                             mlir::Type(builder.getF16Type()), mlir::Type(builder.getBF16Type())}) {
    mlir::ElementsAttr large = makeFloats(type({100}, element), values, "w");
    CHECK(llvm::isa<mlir::DenseResourceElementsAttr>(large));
    CHECK(floatsOf(large) == values);
    mlir::ElementsAttr small =
        makeFloats(type({8}, element), llvm::ArrayRef(values).take_front(8), "w");
    CHECK(llvm::isa<mlir::DenseElementsAttr>(small));
    CHECK(floatsOf(small) == std::vector<double>(values.begin(), values.begin() + 8));
  }
  // To nearest, once.
  mlir::ElementsAttr third =
      makeFloats(type({100}, builder.getF32Type()), std::vector<double>(100, 1.0 / 3), "w");
  CHECK(floatsOf(third)->front() == static_cast<double>(1.0F / 3.0F));
}

TEST_CASE_METHOD(WeightsFixture, "a splat is spread out, an integer has no floats") {
  auto splat = mlir::DenseElementsAttr::get(type({3}, builder.getF32Type()), 2.5F);
  CHECK(floatsOf(splat) == std::vector<double>{2.5, 2.5, 2.5});
  CHECK(!floatsOf(mlir::DenseElementsAttr::get(type({1}, builder.getI64Type()), int64_t{1})));
  CHECK(!floatsOf(mlir::ElementsAttr()));
}

TEST_CASE_METHOD(WeightsFixture, "bools are one byte each in files") {
  llvm::SmallVector<bool> bools = {true, false, true};
  auto attr = mlir::DenseElementsAttr::get(type({3}, builder.getI1Type()), bools);
  std::optional<ElementBytes> raw = bytesOf(attr);
  REQUIRE(raw);
  CHECK(raw->bytes == llvm::ArrayRef<char>({1, 0, 1}));
  auto splat = mlir::DenseElementsAttr::get(type({3}, builder.getI1Type()), true);
  CHECK(bytesOf(splat)->splat);
  CHECK(bytesOf(splat)->bytes.size() == 1);
}

TEST_CASE_METHOD(WeightsFixture, "a resource without its bytes has no elements") {
  std::vector<char> bytes(12);
  auto attr = mlir::DenseResourceElementsAttr::get(
      type({100}, builder.getF32Type()), "short",
      mlir::HeapAsmResourceBlob::allocateAndCopyWithAlign(bytes, 64));
  CHECK(!bytesOf(attr));
  CHECK(!floatsOf(attr));
}

/// y[o] = sum over i of w[o][i] * x[i] + b[o], as a 1x1 convolution of one pixel does.
std::vector<double> apply(const std::vector<double>& w, const std::vector<double>& b,
                          const std::vector<double>& x) {
  std::vector<double> y = b;
  for (size_t o = 0; o < b.size(); ++o) {
    for (size_t i = 0; i < x.size(); ++i) {
      y[o] += w[o * x.size() + i] * x[i];
    }
  }
  return y;
}

TEST_CASE_METHOD(WeightsFixture,
                 "a folded convolution computes what convolution and normalisation do") {
  constexpr int64_t kIn = 16, kOut = 24;
  std::mt19937 random(7);
  std::uniform_real_distribution<float> real(0.1F, 2.0F);
  auto draw = [&](size_t count) {
    std::vector<double> values(count);
    for (double& value : values) {
      value = real(random);
    }
    return values;
  };
  mlir::Location loc = builder.getUnknownLoc();
  mlir::OwningOpRef<mlir::ModuleOp> module = mlir::ModuleOp::create(loc);
  builder.setInsertionPointToEnd(module->getBody());
  mlir::Type f32 = builder.getF32Type();
  auto inType = type({1, kIn, 1, 1}, f32);
  auto outType = type({1, kOut, 1, 1}, f32);
  auto func =
      builder.create<mlir::func::FuncOp>(loc, "main", builder.getFunctionType(inType, outType));
  builder.setInsertionPointToStart(func.addEntryBlock());
  auto constant = [&](llvm::ArrayRef<int64_t> shape, const std::vector<double>& values) {
    return builder.create<ir::ConstantOp>(loc, type(shape, f32),
                                          makeFloats(type(shape, f32), values, "w"));
  };
  std::vector<double> w = draw(kIn * kOut), b = draw(kOut), scale = draw(kOut), shift = draw(kOut),
                      mean = draw(kOut), variance = draw(kOut), x = draw(kIn);
  auto list = [&](llvm::ArrayRef<int64_t> values) { return builder.getDenseI64ArrayAttr(values); };
  auto conv =
      ir::createOp(builder, loc, "gr.conv",
                   {func.getArgument(0), constant({kOut, kIn, 1, 1}, w), constant({kOut}, b)},
                   {builder.getNamedAttr("strides", list({1, 1})),
                    builder.getNamedAttr("dilations", list({1, 1})),
                    builder.getNamedAttr("pads", list({0, 0, 0, 0}))});
  REQUIRE(mlir::succeeded(conv));
  auto norm = ir::createOp(builder, loc, "gr.batch_norm",
                           {(*conv)->getResult(0), constant({kOut}, scale), constant({kOut}, shift),
                            constant({kOut}, mean), constant({kOut}, variance)});
  REQUIRE(mlir::succeeded(norm));
  builder.create<mlir::func::ReturnOp>(loc, (*norm)->getResult(0));

  std::vector<double> expected = apply(w, b, x);
  for (size_t o = 0; o < expected.size(); ++o) {
    expected[o] = (expected[o] - mean[o]) / std::sqrt(variance[o] + 1e-5) * scale[o] + shift[o];
  }
  mlir::PassManager manager(&context);
  manager.addNestedPass<mlir::func::FuncOp>(createFoldNormalization());
  REQUIRE(mlir::succeeded(manager.run(*module)));
  ir::ConvOp folded;
  func.walk([&](mlir::Operation* op) {
    CHECK(!llvm::isa<ir::BatchNormOp>(op));
    folded = llvm::isa<ir::ConvOp>(op) ? llvm::cast<ir::ConvOp>(op) : folded;
  });
  REQUIRE(folded);
  std::vector<double> got =
      apply(*floatsOf(constantOf(folded.getFilter())), *floatsOf(constantOf(folded.getBias())), x);
  for (size_t o = 0; o < got.size(); ++o) {
    CHECK(got[o] == Approx(expected[o]).epsilon(1e-6));
  }
}

}  // namespace
}  // namespace graphrun::passes
