#include "runtime/base/element_type.h"

#include <array>

namespace graphrun::runtime {
namespace {

using Kind = NumberKind;

constexpr std::array<ElementTypeInfo, kElementTypeCount> kTypes = {{
    {"invalid", Kind::kNone, 0, 0, 0, ""},      {"f64", Kind::kFloat, 8, 64, 11, "f8"},
    {"f32", Kind::kFloat, 4, 32, 1, "f4"},      {"f16", Kind::kFloat, 2, 16, 10, "f2"},
    {"bf16", Kind::kFloat, 2, 16, 16, "V2"},    {"i64", Kind::kSigned, 8, 64, 7, "i8"},
    {"i32", Kind::kSigned, 4, 32, 6, "i4"},     {"i16", Kind::kSigned, 2, 16, 5, "i2"},
    {"i8", Kind::kSigned, 1, 8, 3, "i1"},       {"u64", Kind::kUnsigned, 8, 64, 13, "u8"},
    {"u32", Kind::kUnsigned, 4, 32, 12, "u4"},  {"u16", Kind::kUnsigned, 2, 16, 4, "u2"},
    {"u8", Kind::kUnsigned, 1, 8, 2, "u1"},     {"bool", Kind::kBool, 1, 8, 9, "b1"},
    {"f8e4m3fn", Kind::kFloat, 1, 8, 17, "V1"}, {"f8e4m3fnuz", Kind::kFloat, 1, 8, 18, "V1"},
    {"f8e5m2", Kind::kFloat, 1, 8, 19, "V1"},   {"f8e5m2fnuz", Kind::kFloat, 1, 8, 20, "V1"},
    {"f8e8m0", Kind::kFloat, 1, 8, 24, "V1"},   {"f4e2m1", Kind::kFloat, 1, 4, 23, "V1"},
    {"i4", Kind::kSigned, 1, 4, 22, "V1"},      {"u4", Kind::kUnsigned, 1, 4, 21, "V1"},
    {"i2", Kind::kSigned, 1, 2, 26, "V1"},      {"u2", Kind::kUnsigned, 1, 2, 25, "V1"},
    {"string", Kind::kText, 8, 64, 8, ""},      {"f6e2m3", Kind::kFloat, 1, 6, 27, "V1"},
    {"f6e3m2", Kind::kFloat, 1, 6, 28, "V1"},
}};

}  // namespace

const ElementTypeInfo& elementTypeInfo(ElementType type) {
  auto index = static_cast<size_t>(type);
  return kTypes[index < kTypes.size() ? index : 0];
}

size_t elementSize(ElementType type) { return elementTypeInfo(type).size; }

absl::string_view elementTypeName(ElementType type) { return elementTypeInfo(type).name; }

std::optional<ElementType> parseElementType(absl::string_view name) {
  for (size_t i = 1; i < kTypes.size(); ++i) {
    if (kTypes[i].name == name) {
      return static_cast<ElementType>(i);
    }
  }
  return std::nullopt;
}

ElementType elementTypeOfOnnx(int64_t dataType) {
  for (size_t i = 1; i < kTypes.size(); ++i) {
    if (kTypes[i].onnx == dataType) {
      return static_cast<ElementType>(i);
    }
  }
  return ElementType::kInvalid;
}

bool isFloat(ElementType type) {
  return elementTypeInfo(type).kind == NumberKind::kFloat && !isReduced(type);
}

}  // namespace graphrun::runtime
