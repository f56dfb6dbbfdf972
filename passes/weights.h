// These functions read the elements of constants, whether inline or in mapped memory.
#ifndef GRAPHRUN_PASSES_WEIGHTS_H_
#define GRAPHRUN_PASSES_WEIGHTS_H_

#include <memory>
#include <optional>
#include <vector>

#include "ir/dialect.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Value.h"

namespace graphrun::passes {

/// Constants of up to this many elements are kept inline, so that folders and shape functions see
/// them; larger ones are resources.
inline constexpr int64_t kMaxInlineElements = 64;

/// Raw elements of a constant as the model file holds them: row-major, bool as one byte each.
struct ElementBytes {
  llvm::ArrayRef<char> bytes;  ///< of one element when `splat`
  bool splat = false;
  std::shared_ptr<std::vector<char>> owned;  ///< set when the bytes had to be converted
};

/// Bytes of `value`, in its memory where possible: valid while the context lives. Nothing for a
/// resource without data or of the wrong size, or for an attribute of another kind.
std::optional<ElementBytes> bytesOf(mlir::ElementsAttr value);

/// An inline constant from raw elements as the model file holds them: all of them, or one for a
/// splat; a resource for the element types that no dense attribute holds. Null when `bytes` has
/// another size.
mlir::ElementsAttr elementsFrom(mlir::RankedTensorType type, llvm::ArrayRef<char> bytes);

/// The constant that defines `value`; null when it is not one.
mlir::ElementsAttr constantOf(mlir::Value value);

/// An argument of a group's region stands for the group's operand; other values for themselves.
mlir::Value outsideGroup(mlir::Value value);

/// The constant that a device lays out once as `value`: its own, one of f32 that it is a cast to
/// bf16 of, or one of an 8-bit floating-point type that it is dequantised of (dequantizedFloatsOf);
/// seen through the arguments of groups. Null when there is none.
ir::ConstantOp weightOf(mlir::Value value);

/// True for a constant, and for what makes a weight of one: nothing is left to do in a step.
bool isWeight(mlir::Operation* op);

/// The elements of a floating-point constant in row-major order, a splat spread out; nothing for
/// other types.
std::optional<std::vector<double>> floatsOf(mlir::ElementsAttr value);

/// The one number that all elements of a floating-point constant are; nothing for other constants.
std::optional<double> numberOf(mlir::ElementsAttr value);

/// A constant of floating-point `type`, rounded from `values` (one for each element). `name` tells
/// a resource from others in the IR's text.
mlir::ElementsAttr makeFloats(mlir::RankedTensorType type, llvm::ArrayRef<double> values,
                              llvm::StringRef name);

/// Returns how far rounding to nearest moves a number at most, relative to it: half a unit in the
/// last place. 0 for other types than those of floating point.
double roundoffOf(mlir::Type element);

/// Rounding `value` to `element` moves it no further than that: it is 0, of the normal range, or a
/// denormal that loses no digit. Of f64 no denormal is known to be one. False for NaN and infinity.
bool keepsPrecision(double value, mlir::Type element);

/// True when every element of the constant `value` is `number` rounded to its type.
bool isNumber(mlir::Value value, double number);

}  // namespace graphrun::passes

#endif  // GRAPHRUN_PASSES_WEIGHTS_H_
