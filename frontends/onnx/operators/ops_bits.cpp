// Operations on bits, and questions about floating-point values.
#include <cmath>

#include "absl/strings/str_cat.h"
#include "frontends/onnx/op_table.h"
#include "frontends/onnx/operators/compose.h"

namespace graphrun::frontends {
namespace {

/// gr's and, or, xor and not take bools too, ONNX's bitwise ones do not.
bool isInteger(Node& node) {
  mlir::Value x = node.input(0);
  if (x && node.elementOf(x).isInteger(1)) {
    node.fail("input has element type bool, expected an integer type; use And, Or, Xor or Not");
    return false;
  }
  return true;
}

Values bitwise(Node& node) {
  return {isInteger(node) ? node.emit(node.target(), node.inputs()) : mlir::Value()};
}

Values bitShift(Node& node) {
  std::string direction = node.attributes().text("direction", "");
  if (direction != "LEFT" && direction != "RIGHT") {
    return {node.fail(
        absl::StrCat("direction is ", inQuotes(direction), ", expected \"LEFT\" or \"RIGHT\""))};
  }
  return {node.emit(direction == "LEFT" ? "gr.shift_left" : "gr.shift_right", node.inputs())};
}

/// Only NaN differs from itself.
Values isNaN(Node& node) {
  mlir::Value x = computable(node, node.input(0));
  return {node.emit("gr.not", {node.emit("gr.equal", {x, x})})};
}

Values isInf(Node& node) {
  bool negative = node.attributes().integer("detect_negative", 1) != 0;
  bool positive = node.attributes().integer("detect_positive", 1) != 0;
  mlir::Value x = computable(node, node.input(0));
  if (!negative && !positive) {
    return {node.emit("gr.less", {x, x})};  // never
  }
  mlir::Value value = negative && positive ? node.emit("gr.abs", {x}) : x;
  return {node.emit("gr.equal", {value, node.scalarLike(x, positive ? INFINITY : -INFINITY)})};
}

const OpRow kBitOps[] = {
    {"BitShift", 11, kLast, 2, 2, 1, bitShift},
    {"BitwiseAnd", 18, kLast, 2, 2, 1, bitwise, "gr.and"},
    {"BitwiseOr", 18, kLast, 2, 2, 1, bitwise, "gr.or"},
    {"BitwiseXor", 18, kLast, 2, 2, 1, bitwise, "gr.xor"},
    {"BitwiseNot", 18, kLast, 1, 1, 1, bitwise, "gr.not"},
    {"IsNaN", 9, kLast, 1, 1, 1, isNaN},
    {"IsInf", 10, kLast, 1, 1, 1, isInf},
};

}  // namespace

llvm::ArrayRef<OpRow> bitOps() { return kBitOps; }

}  // namespace graphrun::frontends
