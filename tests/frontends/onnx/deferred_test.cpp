// Nodes that wait for a plan, as a file holds them that nobody vouches for.
#include "frontends/onnx/deferred.h"

#include <catch2/catch.hpp>

#include "frontends/onnx/onnx.pb.h"
#include "ir/builders.h"
#include "ir/dialect.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"

namespace graphrun::frontends {

TEST_CASE("a node with a subgraph cannot wait for a plan") {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.loadDialect<ir::GRDialect>();
  mlir::OpBuilder builder(&context);
  mlir::OwningOpRef<mlir::ModuleOp> module = mlir::ModuleOp::create(builder.getUnknownLoc());
  builder.setInsertionPointToEnd(module->getBody());
  mlir::Value yes =
      ir::createScalar(builder, builder.getUnknownLoc(), builder.getIntegerType(1), 1);
  ::onnx::NodeProto node;
  node.set_op_type("If");
  node.add_input("condition");
  node.add_output("y");
  for (const char* name : {"then_branch", "else_branch"}) {
    ::onnx::AttributeProto* branch = node.add_attribute();
    branch->set_name(name);
    branch->set_type(::onnx::AttributeProto::GRAPH);
    branch->mutable_g()->set_name(name);
  }
  auto op = builder.create<ir::DeferredOp>(
      builder.getUnknownLoc(), mlir::TypeRange{ir::placeholderType(&context)},
      mlir::ValueRange{yes}, builder.getStringAttr(node.SerializeAsString()), 17,
      llvm::ArrayRef<int64_t>{0}, llvm::ArrayRef<int64_t>());
  std::string message;
  mlir::ScopedDiagnosticHandler handler(
      &context, [&](mlir::Diagnostic& diagnostic) { message += diagnostic.str(); });
  CHECK(resolveDeferred(op) == passes::Resolution::kFailed);
  CHECK_THAT(message, Catch::Contains("has a subgraph, which cannot be imported apart"));
}

}  // namespace graphrun::frontends
