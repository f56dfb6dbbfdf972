// The FlatBuffers verifier with a bound on its work and a check of vectors' alignment. The stock
// verifier counts tables but not strings, and follows shared sub-trees every time: a small hostile
// file can keep it busy for hours. Of a vector it only checks where the length stands (4 bytes),
// not that elements of 8 bytes lie where they may be read.
#ifndef GRAPHRUN_RUNTIME_FORMAT_BUDGET_VERIFIER_H_
#define GRAPHRUN_RUNTIME_FORMAT_BUDGET_VERIFIER_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "flatbuffers/flatbuffers.h"

namespace graphrun::format {

/// Largest FlatBuffer that is accepted. Weights are not part of it.
inline constexpr size_t kMaxFlatBufferBytes = size_t{512} << 20;

/// Alignment in memory that a FlatBuffer of these schemas needs: that of its widest numbers.
inline constexpr size_t kBufferAlignment = 8;

/// Deepest nesting of tables: 32 regions of two tables each, and what stands around them.
inline constexpr uint32_t kMaxTableDepth = 80;

/// Verifies what the schemas' generated code asks it to (the build makes that code call this
/// class). Every table and every string of a vector is reached through its own four bytes, so an
/// honest buffer needs at most size / 4 visits; four times as many are allowed before it is
/// refused.
class BudgetVerifier {
 public:
  /// `bytes` must be at most kMaxFlatBufferBytes long. Bytes that are not aligned to
  /// kBufferAlignment in memory are refused.
  explicit BudgetVerifier(absl::Span<const uint8_t> bytes)
      : verifier_(bytes.data(), bytes.size(), kMaxTableDepth, budgetOf(bytes.size())),
        bytes_(bytes),
        strings_(budgetOf(bytes.size())) {}

  /// After a refusal, what to add to "not well-formed": ": <location, got, expected>", or nothing
  /// where no more is known.
  const std::string& reason() const { return reason_; }

  // What follows has the names and meanings of flatbuffers::Verifier, as generated code wants it.

  operator flatbuffers::Verifier&() { return verifier_; }

  bool EndTable() { return verifier_.EndTable(); }
  bool VerifyString(const flatbuffers::String* text) { return verifier_.VerifyString(text); }

  template <typename T>
  bool VerifyVector(const flatbuffers::Vector<T>* vector) {
    return verifier_.VerifyVector(vector) &&
           (vector == nullptr || vector->size() == 0 || verifyAlignment(vector->Data(), sizeof(T)));
  }

  template <typename T>
  bool VerifyTable(const T* table) {
    return table == nullptr || table->Verify(*this);
  }

  template <typename T>
  bool VerifyVectorOfTables(const flatbuffers::Vector<flatbuffers::Offset<T>>* tables) {
    for (uint32_t i = 0; tables != nullptr && i < tables->size(); ++i) {
      if (!tables->Get(i)->Verify(*this)) {
        return false;
      }
    }
    return true;
  }

  bool VerifyVectorOfStrings(
      const flatbuffers::Vector<flatbuffers::Offset<flatbuffers::String>>* strings) {
    if (strings == nullptr) {
      return true;
    }
    if (strings->size() > strings_) {
      return false;
    }
    strings_ -= strings->size();
    return verifier_.VerifyVectorOfStrings(strings);
  }

  template <typename T>
  bool VerifyBuffer(const char* identifier) {
    return VerifyBufferFromStart<T>(identifier, 0);
  }

  template <typename T>
  bool VerifySizePrefixedBuffer(const char* identifier) {
    constexpr size_t kPrefix = sizeof(flatbuffers::uoffset_t);
    return verifier_.Verify<flatbuffers::uoffset_t>(0) &&
           flatbuffers::ReadScalar<flatbuffers::uoffset_t>(bytes_.data()) ==
               bytes_.size() - kPrefix &&
           VerifyBufferFromStart<T>(identifier, kPrefix);
  }

  template <typename T>
  bool VerifyBufferFromStart(const char* identifier, size_t start) {
    constexpr size_t kSmallest = 2 * sizeof(flatbuffers::uoffset_t);
    if (bytes_.size() < start + kSmallest || !verifyBase()) {
      return false;
    }
    const uint8_t* buffer = bytes_.data() + start;
    if (identifier != nullptr && !flatbuffers::BufferHasIdentifier(buffer, identifier)) {
      return false;
    }
    auto root = verifier_.VerifyOffset(start);
    return root != 0 && reinterpret_cast<const T*>(buffer + root)->Verify(*this);
  }

 private:
  static uint32_t budgetOf(size_t bytes) { return static_cast<uint32_t>(bytes) + 64; }

  bool verifyBase() {
    size_t excess = reinterpret_cast<uintptr_t>(bytes_.data()) % kBufferAlignment;
    if (excess != 0) {
      reason_ = absl::StrCat(": it lies ", excess, " bytes behind a multiple of ", kBufferAlignment,
                             " in memory, expected none");
    }
    return excess == 0;
  }

  // FlatBuffers does not align empty vectors; nothing of them is read.
  bool verifyAlignment(const uint8_t* elements, size_t bytesEach) {
    auto start = static_cast<size_t>(elements - bytes_.data());
    if (start % bytesEach != 0) {
      reason_ = absl::StrCat(": a vector of ", bytesEach, "-byte elements starts at byte ", start,
                             ", expected a multiple of ", bytesEach);
    }
    return start % bytesEach == 0;
  }

  flatbuffers::Verifier verifier_;
  absl::Span<const uint8_t> bytes_;
  uint32_t strings_;
  std::string reason_;
};

}  // namespace graphrun::format

#endif  // GRAPHRUN_RUNTIME_FORMAT_BUDGET_VERIFIER_H_
