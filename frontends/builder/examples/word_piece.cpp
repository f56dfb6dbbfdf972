#include "word_piece.h"

#include <unicode/normalizer2.h>
#include <unicode/uchar.h>
#include <unicode/unistr.h>

#include <algorithm>
#include <fstream>

#include "runtime/base/status.h"

namespace {

constexpr size_t kLongestWord = 100;  // code points; longer ones are unknown words

std::u32string codePoints(const icu::UnicodeString& text) {
  std::u32string points;
  for (int32_t i = 0; i < text.length(); i = text.moveIndex32(i, 1)) {
    points.push_back(static_cast<char32_t>(text.char32At(i)));
  }
  return points;
}

std::string utf8(std::u32string_view points) {
  std::string bytes;
  icu::UnicodeString::fromUTF32(reinterpret_cast<const UChar32*>(points.data()),
                                static_cast<int32_t>(points.size()))
      .toUTF8String(bytes);
  return bytes;
}

bool isSpace(char32_t c) { return u_isUWhiteSpace(static_cast<UChar32>(c)) != 0; }

/// Returns whether a character is not seen: controls, marks of format and private use; and what
/// stands for no UTF-8.
bool isNoise(char32_t c) {
  constexpr uint32_t kUnseen = U_GC_CC_MASK | U_GC_CF_MASK | U_GC_CO_MASK;
  return c == 0xFFFD || (c != '\t' && c != '\n' && c != '\r' &&
                         (U_GET_GC_MASK(static_cast<UChar32>(c)) & kUnseen) != 0);
}

bool isPunctuation(char32_t c) {
  bool ascii = c < 0x80 && u_isgraph(c) != 0 && u_isalnum(c) == 0;  // with symbols such as $ and +
  return ascii || u_ispunct(c) != 0;
}

bool isChinese(char32_t c) {
  static constexpr std::pair<char32_t, char32_t> kBlocks[] = {
      {0x3400, 0x4DBF},   {0x4E00, 0x9FFF},   {0xF900, 0xFAFF},   {0x20000, 0x2A6DF},
      {0x2A700, 0x2B73F}, {0x2B740, 0x2B81F}, {0x2B920, 0x2CEAF}, {0x2F800, 0x2FA1F}};
  return std::ranges::any_of(
      kBlocks, [c](const auto& block) { return block.first <= c && c <= block.second; });
}

/// `text` in lower case and without accents: letters and accents come apart, then the latter go.
std::u32string withoutAccents(const std::u32string& text) {
  UErrorCode error = U_ZERO_ERROR;
  const icu::Normalizer2* decompose = icu::Normalizer2::getNFDInstance(error);
  if (U_FAILURE(error)) {
    return text;
  }
  std::u32string result;
  for (char32_t c :
       codePoints(decompose->normalize(icu::UnicodeString::fromUTF8(utf8(text)), error))) {
    if (u_charType(c) != U_NON_SPACING_MARK) {
      result.push_back(static_cast<char32_t>(u_tolower(c)));
    }
  }
  return result;
}

std::vector<std::u32string> wordsOf(std::string_view text, bool lowerCase) {
  std::u32string clean;
  for (char32_t c : codePoints(icu::UnicodeString::fromUTF8(icu::StringPiece(text)))) {
    if (!isNoise(c)) {
      clean.push_back(c);
    }
  }
  std::vector<std::u32string> words;
  bool inWord = false;
  for (char32_t c : lowerCase ? withoutAccents(clean) : clean) {
    bool alone = isPunctuation(c) || isChinese(c);
    if (!isSpace(c) && (alone || !inWord)) {
      words.emplace_back();
    }
    if (!isSpace(c)) {
      words.back().push_back(c);
    }
    inWord = !isSpace(c) && !alone;
  }
  return words;
}

}  // namespace

absl::StatusOr<WordPiece> WordPiece::load(const std::string& vocabulary, bool lowerCase) {
  WordPiece pieces;
  pieces.lowerCase_ = lowerCase;
  std::ifstream file(vocabulary);
  int64_t next = 0;
  for (std::string line; std::getline(file, line); ++next) {
    pieces.ids_.emplace(line, next);
  }
  for (auto [name, id] : {std::pair("[UNK]", &pieces.unknown_), std::pair("[CLS]", &pieces.begin_),
                          std::pair("[SEP]", &pieces.end_)}) {
    auto found = pieces.ids_.find(name);
    if (found == pieces.ids_.end()) {
      return absl::InvalidArgumentError(
          absl::StrCat("vocabulary '", vocabulary, "' of ", next, " lines has no ", name));
    }
    *id = found->second;
  }
  return pieces;
}

std::pair<int64_t, size_t> WordPiece::longestPiece(std::u32string_view word, size_t start) const {
  for (size_t length = word.size() - start; length > 0; --length) {
    auto piece = ids_.find((start > 0 ? "##" : "") + utf8(word.substr(start, length)));
    if (piece != ids_.end()) {
      return {piece->second, length};
    }
  }
  return {unknown_, 0};
}

void WordPiece::appendPieces(std::u32string_view word, std::vector<int64_t>& ids) const {
  std::vector<int64_t> pieces;
  for (size_t start = 0; start < word.size();) {
    auto [id, length] =
        word.size() > kLongestWord ? std::pair(unknown_, size_t{0}) : longestPiece(word, start);
    if (length == 0) {
      ids.push_back(unknown_);
      return;
    }
    pieces.push_back(id);
    start += length;
  }
  ids.insert(ids.end(), pieces.begin(), pieces.end());
}

std::vector<int64_t> WordPiece::encode(std::string_view text, size_t limit) const {
  std::vector<int64_t> ids = {begin_};
  for (const std::u32string& word : wordsOf(text, lowerCase_)) {
    appendPieces(word, ids);
  }
  ids.resize(std::min(ids.size(), std::max<size_t>(limit, 2) - 1));
  ids.push_back(end_);
  return ids;
}
