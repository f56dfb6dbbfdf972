// These matchers recognise how quantised models spell out bytes as floats (DequantizeLinear) and
// floats as bytes (QuantizeLinear).
#ifndef GRAPHRUN_PASSES_QUANTIZED_FORMS_H_
#define GRAPHRUN_PASSES_QUANTIZED_FORMS_H_

#include <optional>
#include <vector>

#include "ir/dialect.h"

namespace graphrun::passes {

/// True for u8 and i8.
bool isByte(mlir::Type type);

/// True for a clip to the range of `bytes`, u8 or i8.
bool clipsToBytes(ir::ClipOp clip, mlir::Type bytes);

/// True for a cast to u8 or i8 of whole numbers that a clip keeps in its range.
bool storesBytes(ir::CastOp cast);

/// A value of f32 that is scale * (integers - zero).
struct Dequantized {
  mlir::Value integers;        ///< of u8, i8 or i32
  std::vector<double> scales;  ///< one, or one for each element of dim `axis`
  int64_t axis = 0;
  double zero = 0;

  bool isUniform() const { return scales.size() == 1; }
};
std::optional<Dequantized> dequantizedOf(mlir::Value value);

/// The operations that make `value` of its integers, the cast first. Requires dequantizedOf(value).
llvm::SmallVector<mlir::Operation*> dequantizationOf(mlir::Value value);

/// True for the floating-point types of 8 bits with a mantissa.
bool isSmallFloat(mlir::Type type);

/// A value of f32, f16 or bf16 that is `factor` times elements of an 8-bit floating-point type:
/// computed in f32, then rounded to the value's type.
struct DequantizedFloats {
  mlir::Value elements;
  float factor = 1;
};
/// Seen through the arguments of groups, and maps that do nothing else.
std::optional<DequantizedFloats> dequantizedFloatsOf(mlir::Value value);

/// A cast to u8 or i8 that gives round(input / scale) + zero, within the type's range.
struct Quantized {
  mlir::Value input;
  double scale = 1;
  double zero = 0;
};
std::optional<Quantized> quantizedOf(ir::CastOp cast);

/// The elements of a constant of u8, i8 or i32, which may have got or lost dims of 1; nothing for
/// other values.
std::optional<std::vector<int64_t>> integersOf(mlir::Value value);

}  // namespace graphrun::passes

#endif  // GRAPHRUN_PASSES_QUANTIZED_FORMS_H_
