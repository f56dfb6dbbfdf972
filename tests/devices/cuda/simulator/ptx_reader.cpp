#include "tests/devices/cuda/simulator/ptx_reader.h"

#include <charconv>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/devices/cuda/simulator/ptx_text.h"

namespace graphrun::testing::ptx {
namespace {

bool readInteger(absl::string_view text, uint64_t& value) {
  int base = 10;
  if (absl::StartsWithIgnoreCase(text, "0x") || absl::StartsWithIgnoreCase(text, "0b")) {
    base = text[1] == 'x' || text[1] == 'X' ? 16 : 2;
    text.remove_prefix(2);
  } else if (text.size() > 1 && text[0] == '0') {
    base = 8;
  }
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  return error == std::errc() && end == text.data() + text.size() && !text.empty();
}

}  // namespace

absl::string_view TokenReader::take() {
  absl::string_view text = peek();
  at_ += at_ + 1 < tokens_.size() ? 1 : 0;
  return text;
}

bool TokenReader::takeIf(absl::string_view text) {
  bool is = peek() == text;
  if (is) {
    take();
  }
  return is;
}

absl::Status TokenReader::expect(absl::string_view text) {
  return takeIf(text) ? absl::OkStatus() : unexpected(absl::StrCat("\"", text, "\""));
}

absl::StatusOr<uint64_t> TokenReader::takeInteger() {
  uint64_t value = 0;
  if (!readInteger(peek(), value)) {
    return unexpected("a number");
  }
  take();
  return value;
}

absl::StatusOr<Type> TokenReader::takeType() {
  absl::string_view text = peek();
  auto type = absl::StartsWith(text, ".") ? typeNamed(text.substr(1)) : std::nullopt;
  if (!type) {
    return unexpected("a type");
  }
  take();
  return *type;
}

absl::Status TokenReader::unexpected(absl::string_view wanted) const {
  return errorAt(line(),
                 absl::StrCat("got ", peek().empty() ? "the end" : peek(), ", expected ", wanted));
}

}  // namespace graphrun::testing::ptx
