#include "frontends/onnx/operators/text.h"

#include <unicode/ucasemap.h>
#include <unicode/uchar.h>
#include <unicode/utf8.h>

#include <charconv>
#include <cmath>
#include <memory>

#include "absl/strings/str_cat.h"

namespace graphrun::frontends {
namespace {

/// Length of the white space at the start of `text`: one character, or nothing.
size_t spaceAt(llvm::StringRef text) {
  int32_t length = 0;
  UChar32 character = 0;
  U8_NEXT(text.data(), length, static_cast<int32_t>(text.size()), character);
  return character >= 0 && u_isUWhiteSpace(character) != 0 ? static_cast<size_t>(length) : 0;
}

llvm::StringRef withoutSpace(llvm::StringRef text) {
  while (!text.empty()) {
    size_t space = spaceAt(text);
    if (space == 0) {
      break;
    }
    text = text.drop_front(space);
  }
  return text;
}

std::vector<llvm::StringRef> splitAtSpace(llvm::StringRef text, int64_t most) {
  std::vector<llvm::StringRef> parts;
  for (text = withoutSpace(text); !text.empty(); text = withoutSpace(text)) {
    size_t end = text.size();
    if (most < 0 || static_cast<int64_t>(parts.size()) < most) {
      for (end = 0; end < text.size() && spaceAt(text.drop_front(end)) == 0;) {
        ++end;
      }
    }
    parts.push_back(text.take_front(end));
    text = text.drop_front(end);
  }
  return parts;
}

}  // namespace

absl::StatusOr<std::string> withCase(llvm::StringRef text, LetterCase letters,
                                     const std::string& locale) {
  UErrorCode error = U_ZERO_ERROR;
  std::unique_ptr<UCaseMap, decltype(&ucasemap_close)> map(ucasemap_open(locale.c_str(), 0, &error),
                                                           ucasemap_close);
  // The length may change: U+0130 is one character in upper case and two in lower.
  std::string result(3 * text.size() + 1, '\0');
  auto convert = letters == LetterCase::kLower ? ucasemap_utf8ToLower : ucasemap_utf8ToUpper;
  int32_t length = U_FAILURE(error) != 0
                       ? 0
                       : convert(map.get(), result.data(), static_cast<int32_t>(result.size()),
                                 text.data(), static_cast<int32_t>(text.size()), &error);
  if (U_FAILURE(error) != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("the case of a string cannot be changed: ", u_errorName(error)));
  }
  result.resize(static_cast<size_t>(length));
  return result;
}

std::vector<llvm::StringRef> splitText(llvm::StringRef text, llvm::StringRef delimiter,
                                       int64_t most) {
  if (delimiter.empty()) {
    return splitAtSpace(text, most);
  }
  std::vector<llvm::StringRef> parts;
  size_t at = 0;
  while ((most < 0 || static_cast<int64_t>(parts.size()) < most) &&
         (at = text.find(delimiter)) != llvm::StringRef::npos) {
    parts.push_back(text.take_front(at));
    text = text.drop_front(at + delimiter.size());
  }
  parts.push_back(text);
  return parts;
}

template <typename T>
std::string numberText(T value) {
  if (!std::isfinite(value)) {
    return std::isnan(value) ? "nan" : value < 0 ? "-inf" : "inf";
  }
  constexpr double kPlainFrom = 1e-4;
  constexpr double kPlainBelow = 1e16;
  double magnitude = std::fabs(value);
  bool plain = magnitude == 0 || (magnitude >= kPlainFrom && magnitude < kPlainBelow);
  char digits[64];
  auto end = std::to_chars(digits, digits + sizeof(digits), value,
                           plain ? std::chars_format::fixed : std::chars_format::scientific);
  std::string text(digits, end.ptr);
  return plain && text.find('.') == std::string::npos ? text + ".0" : text;
}

template std::string numberText(float value);
template std::string numberText(double value);

}  // namespace graphrun::frontends
