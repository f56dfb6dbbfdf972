#include "runtime/format/weight_table.h"

#include <algorithm>
#include <tuple>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/element_type.h"
#include "runtime/base/status.h"

namespace graphrun::format {
namespace {

using runtime::checkedByteSize;

// The numbers of the schema are those of runtime/base.
static_assert(static_cast<uint8_t>(ElementType::MAX) + 1 == runtime::kElementTypeCount);
static_assert(static_cast<uint8_t>(ElementType::F64) ==
              static_cast<uint8_t>(runtime::ElementType::kF64));
static_assert(static_cast<uint8_t>(ElementType::F32) ==
              static_cast<uint8_t>(runtime::ElementType::kF32));
static_assert(static_cast<uint8_t>(ElementType::F16) ==
              static_cast<uint8_t>(runtime::ElementType::kF16));
static_assert(static_cast<uint8_t>(ElementType::BF16) ==
              static_cast<uint8_t>(runtime::ElementType::kBF16));
static_assert(static_cast<uint8_t>(ElementType::I64) ==
              static_cast<uint8_t>(runtime::ElementType::kI64));
static_assert(static_cast<uint8_t>(ElementType::I32) ==
              static_cast<uint8_t>(runtime::ElementType::kI32));
static_assert(static_cast<uint8_t>(ElementType::I16) ==
              static_cast<uint8_t>(runtime::ElementType::kI16));
static_assert(static_cast<uint8_t>(ElementType::I8) ==
              static_cast<uint8_t>(runtime::ElementType::kI8));
static_assert(static_cast<uint8_t>(ElementType::U64) ==
              static_cast<uint8_t>(runtime::ElementType::kU64));
static_assert(static_cast<uint8_t>(ElementType::U32) ==
              static_cast<uint8_t>(runtime::ElementType::kU32));
static_assert(static_cast<uint8_t>(ElementType::U16) ==
              static_cast<uint8_t>(runtime::ElementType::kU16));
static_assert(static_cast<uint8_t>(ElementType::U8) ==
              static_cast<uint8_t>(runtime::ElementType::kU8));
static_assert(static_cast<uint8_t>(ElementType::Bool) ==
              static_cast<uint8_t>(runtime::ElementType::kBool));
static_assert(static_cast<uint8_t>(ElementType::F8E4M3FN) ==
              static_cast<uint8_t>(runtime::ElementType::kF8E4M3FN));
static_assert(static_cast<uint8_t>(ElementType::F8E4M3FNUZ) ==
              static_cast<uint8_t>(runtime::ElementType::kF8E4M3FNUZ));
static_assert(static_cast<uint8_t>(ElementType::F8E5M2) ==
              static_cast<uint8_t>(runtime::ElementType::kF8E5M2));
static_assert(static_cast<uint8_t>(ElementType::F8E5M2FNUZ) ==
              static_cast<uint8_t>(runtime::ElementType::kF8E5M2FNUZ));
static_assert(static_cast<uint8_t>(ElementType::F8E8M0) ==
              static_cast<uint8_t>(runtime::ElementType::kF8E8M0));
static_assert(static_cast<uint8_t>(ElementType::F4E2M1) ==
              static_cast<uint8_t>(runtime::ElementType::kF4E2M1));
static_assert(static_cast<uint8_t>(ElementType::I4) ==
              static_cast<uint8_t>(runtime::ElementType::kI4));
static_assert(static_cast<uint8_t>(ElementType::U4) ==
              static_cast<uint8_t>(runtime::ElementType::kU4));
static_assert(static_cast<uint8_t>(ElementType::I2) ==
              static_cast<uint8_t>(runtime::ElementType::kI2));
static_assert(static_cast<uint8_t>(ElementType::U2) ==
              static_cast<uint8_t>(runtime::ElementType::kU2));
static_assert(static_cast<uint8_t>(ElementType::String) ==
              static_cast<uint8_t>(runtime::ElementType::kString));
static_assert(static_cast<uint8_t>(ElementType::F6E2M3) ==
              static_cast<uint8_t>(runtime::ElementType::kF6E2M3));
static_assert(static_cast<uint8_t>(ElementType::F6E3M2) ==
              static_cast<uint8_t>(runtime::ElementType::kF6E3M2));

runtime::ElementType elementOf(const TensorType& type) {
  return static_cast<runtime::ElementType>(type.element());
}

absl::Status verifySymbolic(const TensorType& type) {
  if (type.symbolic() == nullptr) {
    return absl::OkStatus();
  }
  size_t rank = sizeOf(type.dims());
  if (type.symbolic()->size() != rank) {
    return absl::InvalidArgumentError(absl::StrCat("type has ", type.symbolic()->size(),
                                                   " symbolic dims, expected one for each of ",
                                                   rank, " dims"));
  }
  for (uint32_t i = 0; i < rank; ++i) {
    size_t length = type.symbolic()->Get(i)->size();
    if (length > kMaxNameBytes || (length > 0 && type.dims()->Get(i) >= 0)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "dim ", i, " has a symbolic expression of ", length, " bytes and the value ",
          type.dims()->Get(i), ", expected at most ", kMaxNameBytes, " bytes and the value -1"));
    }
  }
  return absl::OkStatus();
}

absl::Status verifyDims(const TensorType& type) {
  std::vector<int64_t> known;
  for (uint32_t i = 0; i < sizeOf(type.dims()); ++i) {
    int64_t dim = type.dims()->Get(i);
    if (dim < -1) {
      return absl::InvalidArgumentError(
          absl::StrCat("dim ", i, " is ", dim, ", expected a size or -1 for unknown"));
    }
    if (dim > 0) {
      known.push_back(dim);
    }
  }
  return checkedByteSize(elementOf(type), known).status();
}

absl::Status verifyLength(const WeightEntry& entry) {
  const TensorType& type = *entry.type();
  GR_RETURN_IF_ERROR(verifyTensorType(type));
  if (!isStatic(type)) {
    return absl::InvalidArgumentError("its type has unknown dims, expected static ones");
  }
  runtime::TensorSpec spec = toSpec(type);
  size_t expected = entry.splat() ? runtime::elementSize(spec.type) : spec.byteSize();
  if (entry.length() != expected) {
    return absl::InvalidArgumentError(
        absl::StrCat("its data has ", entry.length(), " bytes, expected ", expected, " for ",
                     entry.splat() ? "one element of " : "", spec.toString()));
  }
  return absl::OkStatus();
}

absl::Status verifyExtent(const WeightEntry& entry, uint64_t sectionBytes) {
  if (entry.offset() % kWeightAlignment != 0) {
    return absl::InvalidArgumentError(absl::StrCat("its data starts at ", entry.offset(),
                                                   ", expected a multiple of ", kWeightAlignment));
  }
  if (entry.offset() > sectionBytes || entry.length() > sectionBytes - entry.offset()) {
    return absl::InvalidArgumentError(absl::StrCat("its ", entry.length(), " bytes at ",
                                                   entry.offset(), " leave the weight section of ",
                                                   sectionBytes, " bytes"));
  }
  return absl::OkStatus();
}

absl::Status verifyEntry(const WeightEntry& entry, uint64_t sectionBytes, uint64_t planBytes) {
  size_t nameBytes = textOf(entry.name()).size();
  if (nameBytes == 0 || nameBytes > kMaxNameBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("its name has ", nameBytes, " bytes, expected 1 to ", kMaxNameBytes));
  }
  GR_RETURN_IF_ERROR(verifyLength(entry));
  return verifyExtent(entry, entry.in_plan() ? planBytes : sectionBytes);
}

std::string describe(const WeightEntry& entry) {
  return absl::StrCat("weight ", inQuotes(textOf(entry.name())));
}

// Sorted by offset, each weight starts where the one before has ended, or is the same bytes.
absl::Status verifyNoOverlap(const WeightTable& table) {
  std::vector<const WeightEntry*> sorted;
  for (const WeightEntry* entry : table) {
    if (entry->length() > 0) {
      sorted.push_back(entry);
    }
  }
  std::sort(sorted.begin(), sorted.end(), [](const WeightEntry* a, const WeightEntry* b) {
    return std::tuple(a->in_plan(), a->offset(), a->length()) <
           std::tuple(b->in_plan(), b->offset(), b->length());
  });
  for (size_t i = 1; i < sorted.size(); ++i) {
    const WeightEntry& before = *sorted[i - 1];
    const WeightEntry& entry = *sorted[i];
    if (before.in_plan() != entry.in_plan()) {
      continue;
    }
    bool same = before.offset() == entry.offset() && before.length() == entry.length() &&
                before.checksum() == entry.checksum();
    if (!same && entry.offset() < before.offset() + before.length()) {
      return absl::InvalidArgumentError(
          absl::StrCat(describe(entry), " overlaps ", describe(before), ": bytes ", entry.offset(),
                       " and ", before.offset(), " to ", before.offset() + before.length()));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status verifyTensorType(const TensorType& type) {
  bool isOpen = type.element() == ElementType::Invalid && !type.ranked();
  if (type.kind() > ValueKind::MAX || (type.kind() != ValueKind::Tensor && !isOpen)) {
    return absl::InvalidArgumentError(absl::StrCat("type is of kind ",
                                                   static_cast<int>(type.kind()),
                                                   ", expected a tensor (0), or a sequence "
                                                   "or optional without element type and rank"));
  }
  if (!isOpen && runtime::elementSize(elementOf(type)) == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("type has the element type ", static_cast<int>(type.element()),
                     ", expected 1 to ", static_cast<int>(ElementType::MAX)));
  }
  size_t rank = sizeOf(type.dims());
  if (rank > kMaxRank || (rank > 0 && !type.ranked())) {
    return absl::InvalidArgumentError(absl::StrCat("type has ", rank, " dims, expected at most ",
                                                   type.ranked() ? kMaxRank : 0,
                                                   type.ranked() ? "" : " as it has no rank"));
  }
  if (isOpen) {
    return absl::OkStatus();
  }
  GR_RETURN_IF_ERROR(verifyDims(type));
  return verifySymbolic(type);
}

bool isStatic(const TensorType& type) {
  if (type.dims() == nullptr) {
    return type.ranked();
  }
  return type.ranked() &&
         std::all_of(type.dims()->begin(), type.dims()->end(), [](int64_t d) { return d >= 0; });
}

runtime::TensorSpec toSpec(const TensorType& type) {
  runtime::TensorSpec spec{elementOf(type), {}};
  if (type.dims() != nullptr) {
    spec.dims.assign(type.dims()->begin(), type.dims()->end());
  }
  return spec;
}

absl::Status verifyWeightTable(const WeightTable* table, uint64_t sectionBytes,
                               uint64_t planBytes) {
  size_t count = sizeOf(table);
  if (count > kMaxWeights) {
    return absl::InvalidArgumentError(
        absl::StrCat("weight table has ", count, " entries, expected at most ", kMaxWeights));
  }
  absl::flat_hash_set<absl::string_view> names;
  for (uint32_t i = 0; i < count; ++i) {
    const WeightEntry& entry = *table->Get(i);
    GR_RETURN_IF_ERROR(
        runtime::annotate(verifyEntry(entry, sectionBytes, planBytes),
                          absl::StrCat("weight ", i, " ", inQuotes(textOf(entry.name())))));
    if (!names.insert(textOf(entry.name())).second) {
      return absl::InvalidArgumentError(
          absl::StrCat("weight ", i, " has the name ", inQuotes(textOf(entry.name())),
                       " of an earlier one, expected names to be unique"));
    }
  }
  return count == 0 ? absl::OkStatus() : verifyNoOverlap(*table);
}

absl::Status verifyStrings(const StringTable* strings) {
  if (sizeOf(strings) > kMaxStrings) {
    return absl::InvalidArgumentError(absl::StrCat("table of strings has ", sizeOf(strings),
                                                   " entries, expected at most ", kMaxStrings));
  }
  absl::flat_hash_set<absl::string_view> seen;
  for (uint32_t i = 0; i < sizeOf(strings); ++i) {
    if (!seen.insert(textOf(strings->Get(i))).second) {
      return absl::InvalidArgumentError(absl::StrCat(
          "string ", i, " is ", inQuotes(textOf(strings->Get(i))), " again, expected each once"));
    }
  }
  return absl::OkStatus();
}

absl::string_view textOf(const flatbuffers::String* text) {
  return text == nullptr ? absl::string_view() : absl::string_view(text->c_str(), text->size());
}

std::string inQuotes(absl::string_view name) {
  constexpr size_t kShown = 100;
  return absl::StrCat("'", absl::Utf8SafeCHexEscape(name.substr(0, kShown)),
                      name.size() > kShown ? "…'" : "'");
}

}  // namespace graphrun::format
