// Einsum, and determinants.
#include "frontends/onnx/op_table.h"
#include "frontends/onnx/operators/index_helpers.h"
#include "passes/einsum.h"

namespace graphrun::frontends {
namespace {

/// Operations as the node makes them.
class NodeEmitter : public passes::Emitter {
 public:
  explicit NodeEmitter(Node& node) : node_(node) {}

  mlir::OpBuilder& builder() override { return node_.builder(); }
  mlir::Value emit(llvm::StringRef name, llvm::ArrayRef<mlir::Value> operands,
                   llvm::ArrayRef<mlir::NamedAttribute> attributes) override {
    return node_.emit(name, operands, attributes);
  }
  mlir::Value constant(llvm::ArrayRef<int64_t> values) override { return node_.constant(values); }
  mlir::Value zeroLike(mlir::Value like) override { return node_.scalarLike(like, 0); }
  void fail(const std::string& what) override { node_.fail(what); }

 private:
  Node& node_;
};

Values einsum(Node& node) {
  node.attributes().require("equation");
  for (mlir::Value input : node.inputs()) {
    if (!node.rankOf(input)) {
      return {nullptr};
    }
  }
  NodeEmitter emitter(node);
  return {passes::emitEinsum(emitter, node.attributes().text("equation", ""), node.inputs())};
}

Values det(Node& node) { return {node.emit("gr.det", {node.input(0)})}; }

const OpRow kEinsumOps[] = {
    {"Einsum", 12, kLast, 1, kMany, 1, einsum},
    {"Det", 11, kLast, 1, 1, 1, det},
};

}  // namespace

llvm::ArrayRef<OpRow> einsumOps() { return kEinsumOps; }

}  // namespace graphrun::frontends
