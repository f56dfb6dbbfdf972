#include "frontends/onnx/operators/conversion.h"

#include "frontends/onnx/operators/index_helpers.h"
#include "ir/dialect.h"

namespace graphrun::frontends {

mlir::Value converted(Node& node, mlir::Value value, mlir::Type element) {
  bool saturate = node.attributes().integer("saturate", 1) != 0;
  std::string mode = node.attributes().text("round_mode", "up");
  if (!value || node.elementOf(value) == element) {
    return value;
  }
  if (ir::isStrings(element) || ir::isStrings(value.getType())) {
    return castTo(node, value, element);
  }
  llvm::SmallVector<mlir::NamedAttribute> attributes = {
      node.named("to", mlir::TypeAttr::get(element))};
  // The types that are computed in have no such choice.
  if (!saturate && !llvm::isa<mlir::IntegerType>(element) && !ir::isComputed(element)) {
    attributes.push_back(node.boolean("saturate", false));
  }
  if (llvm::isa<ir::F8E8M0Type>(element)) {
    attributes.push_back(node.text("round_mode", mode));
  }
  return node.emit("gr.cast", {value}, attributes);
}

}  // namespace graphrun::frontends
