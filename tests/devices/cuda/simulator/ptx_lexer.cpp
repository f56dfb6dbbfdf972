#include "tests/devices/cuda/simulator/ptx_lexer.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "tests/devices/cuda/simulator/ptx_text.h"

namespace graphrun::testing::ptx {
namespace {

bool isOfWord(char c) {
  return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '$' || c == '%' ||
         c == '.';
}

/// Where the space and comments from `at` on end; npos: a comment does not end.
size_t afterSpace(absl::string_view text, size_t at) {
  while (at < text.size()) {
    if (absl::ascii_isspace(static_cast<unsigned char>(text[at]))) {
      ++at;
    } else if (text.substr(at, 2) == "//") {
      at = std::min(text.find('\n', at), text.size());
    } else if (text.substr(at, 2) == "/*") {
      size_t end = text.find("*/", at + 2);
      if (end == absl::string_view::npos) {
        return end;
      }
      at = end + 2;
    } else {
      return at;
    }
  }
  return at;
}

/// How long the token at the start of `text` is; npos: a string does not end.
size_t lengthOf(absl::string_view text) {
  if (text[0] == '"') {
    size_t end = text.find('"', 1);
    return end == absl::string_view::npos ? end : end + 1;
  }
  size_t length = 0;
  while (length < text.size() && isOfWord(text[length])) {
    ++length;
  }
  return std::max<size_t>(length, 1);
}

}  // namespace

absl::StatusOr<std::vector<Token>> tokensOf(absl::string_view text) {
  std::vector<Token> tokens;
  int line = 1;
  size_t at = 0;
  while (true) {
    size_t next = afterSpace(text, at);
    if (next == absl::string_view::npos) {
      return errorAt(line, "a comment does not end");
    }
    line += static_cast<int>(std::count(text.begin() + at, text.begin() + next, '\n'));
    at = next;
    if (at == text.size()) {
      tokens.push_back({"", line});
      return tokens;
    }
    size_t length = lengthOf(text.substr(at));
    if (length == absl::string_view::npos) {
      return errorAt(line, "a string does not end");
    }
    tokens.push_back({text.substr(at, length), line});
    at += length;
  }
}

}  // namespace graphrun::testing::ptx
