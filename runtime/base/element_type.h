// This is the single list of tensors' element types that schemas, kernels and frontends agree on.
#ifndef GRAPHRUN_RUNTIME_BASE_ELEMENT_TYPE_H_
#define GRAPHRUN_RUNTIME_BASE_ELEMENT_TYPE_H_

#include <cstddef>
#include <cstdint>
#include <optional>

#include "absl/strings/string_view.h"

namespace graphrun::runtime {

/// Element type of a tensor. Values are stored in files and on the wire: append only.
enum class ElementType : uint8_t {
  kInvalid = 0,
  kF64 = 1,
  kF32 = 2,
  kF16 = 3,
  kBF16 = 4,
  kI64 = 5,
  kI32 = 6,
  kI16 = 7,
  kI8 = 8,
  kU64 = 9,
  kU32 = 10,
  kU16 = 11,
  kU8 = 12,
  kBool = 13,  // one byte, 0 or 1
  // The reduced types: one element a byte in memory and in our files, in its low bits, the rest 0.
  kF8E4M3FN = 14,
  kF8E4M3FNUZ = 15,
  kF8E5M2 = 16,
  kF8E5M2FNUZ = 17,
  kF8E8M0 = 18,
  kF4E2M1 = 19,
  kI4 = 20,
  kU4 = 21,
  kI2 = 22,
  kU2 = 23,
  kString = 24,  // UTF-8; on devices 8 bytes, the string's number in a table (session/strings.h)
  kF6E2M3 = 25,  // reduced, as above
  kF6E3M2 = 26,
};

inline constexpr uint8_t kElementTypeCount = 27;

enum class NumberKind : uint8_t { kNone, kFloat, kSigned, kUnsigned, kBool, kText };

/// Facts of one element type.
struct ElementTypeInfo {
  absl::string_view name;  ///< in messages, files and on the command line
  NumberKind kind;
  uint8_t size;             ///< bytes of an element in memory
  uint8_t bits;             ///< of an element where elements are packed, as in ONNX's raw data
  uint8_t onnx;             ///< number of TensorProto.DataType
  absl::string_view numpy;  ///< dtype of .npy files without byte order; a void where NumPy has none
                            ///< of its own, and nothing for strings, whose dtype says a length
};

/// The one table of element types; the entry of kInvalid (size 0) for values outside the enum.
const ElementTypeInfo& elementTypeInfo(ElementType type);

/// The element type of a number of TensorProto.DataType; kInvalid when there is none.
ElementType elementTypeOfOnnx(int64_t dataType);

/// Bytes of one element; 0 for kInvalid and for values outside the enum.
size_t elementSize(ElementType type);

/// The name used in messages, files and on the command line: "f32", "bf16", "i64", "bool" …
absl::string_view elementTypeName(ElementType type);

/// Inverse of elementTypeName; nothing for an unknown name.
std::optional<ElementType> parseElementType(absl::string_view name);

/// True for f64, f32, f16 and bf16: the floating-point types that are computed in.
bool isFloat(ElementType type);

/// True for the types that are only stored, moved and converted: floats of 8, 6 and 4 bits,
/// integers of 4 and 2 (reduced.h has their values).
constexpr bool isReduced(ElementType type) {
  return (type >= ElementType::kF8E4M3FN && type <= ElementType::kU2) ||
         type == ElementType::kF6E2M3 || type == ElementType::kF6E3M2;
}

}  // namespace graphrun::runtime

#endif  // GRAPHRUN_RUNTIME_BASE_ELEMENT_TYPE_H_
