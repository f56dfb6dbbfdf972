// Element types of tensors: the single list that schemas, kernels and frontends agree on.
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
};

inline constexpr uint8_t kElementTypeCount = 14;

/// Bytes of one element; 0 for kInvalid and for values outside the enum.
size_t elementSize(ElementType type);

/// The name used in messages, files and on the command line: "f32", "bf16", "i64", "bool" …
absl::string_view elementTypeName(ElementType type);

/// Inverse of elementTypeName; nothing for an unknown name.
std::optional<ElementType> parseElementType(absl::string_view name);

/// True for f64, f32, f16 and bf16.
bool isFloat(ElementType type);

}  // namespace graphrun::runtime

#endif  // GRAPHRUN_RUNTIME_BASE_ELEMENT_TYPE_H_
