// Text to the numbers of word pieces, as BERT models take them.
#ifndef GRAPHRUN_FRONTENDS_BUILDER_EXAMPLES_WORD_PIECE_H_
#define GRAPHRUN_FRONTENDS_BUILDER_EXAMPLES_WORD_PIECE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

/// Cuts text into words (at white space, and around each punctuation mark and Chinese character),
/// and each word into the longest pieces of a vocabulary, from its start (Wu et al., 2016; Devlin
/// et al., 2018). Readable by any number of threads.
class WordPiece {
 public:
  /// `vocabulary`: a vocab.txt, a piece a line; pieces inside a word begin with "##". `lowerCase`:
  /// the vocabulary has no capitals and no accents.
  static absl::StatusOr<WordPiece> load(const std::string& vocabulary, bool lowerCase);

  /// The line numbers of [CLS], of the pieces of `text` (UTF-8; what is not is left out) and of
  /// [SEP]: at most `limit` in all. A word that has no pieces is one [UNK]; "[SEP]" in the text is
  /// text.
  std::vector<int64_t> encode(std::string_view text, size_t limit) const;

 private:
  /// The longest piece of `word` from `start` on, and its length: 0 where there is none.
  std::pair<int64_t, size_t> longestPiece(std::u32string_view word, size_t start) const;
  void appendPieces(std::u32string_view word, std::vector<int64_t>& ids) const;

  std::unordered_map<std::string, int64_t> ids_;
  bool lowerCase_ = true;
  int64_t unknown_ = 0;
  int64_t begin_ = 0;
  int64_t end_ = 0;
};

#endif  // GRAPHRUN_FRONTENDS_BUILDER_EXAMPLES_WORD_PIECE_H_
