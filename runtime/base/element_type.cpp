#include "runtime/base/element_type.h"

#include <array>

namespace graphrun::runtime {
namespace {

struct Entry {
  absl::string_view name;
  size_t size;
};

constexpr std::array<Entry, kElementTypeCount> kEntries = {{
    {"invalid", 0},
    {"f64", 8},
    {"f32", 4},
    {"f16", 2},
    {"bf16", 2},
    {"i64", 8},
    {"i32", 4},
    {"i16", 2},
    {"i8", 1},
    {"u64", 8},
    {"u32", 4},
    {"u16", 2},
    {"u8", 1},
    {"bool", 1},
}};

const Entry& entryOf(ElementType type) {
  auto index = static_cast<size_t>(type);
  return kEntries[index < kEntries.size() ? index : 0];
}

}  // namespace

size_t elementSize(ElementType type) { return entryOf(type).size; }

absl::string_view elementTypeName(ElementType type) { return entryOf(type).name; }

std::optional<ElementType> parseElementType(absl::string_view name) {
  for (size_t i = 1; i < kEntries.size(); ++i) {
    if (kEntries[i].name == name) {
      return static_cast<ElementType>(i);
    }
  }
  return std::nullopt;
}

bool isFloat(ElementType type) {
  return type == ElementType::kF64 || type == ElementType::kF32 || type == ElementType::kF16 ||
         type == ElementType::kBF16;
}

}  // namespace graphrun::runtime
