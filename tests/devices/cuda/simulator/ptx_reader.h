// Reads the words of PTX text one by one.
#ifndef GRAPHRUN_TESTS_DEVICES_CUDA_SIMULATOR_PTX_READER_H_
#define GRAPHRUN_TESTS_DEVICES_CUDA_SIMULATOR_PTX_READER_H_

#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tests/devices/cuda/simulator/ptx_lexer.h"
#include "tests/devices/cuda/simulator/ptx_types.h"

namespace graphrun::testing::ptx {

/// At the end it stays, where all words are empty.
class TokenReader {
 public:
  /// The last of `tokens` is empty.
  explicit TokenReader(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}

  absl::string_view peek() const { return tokens_[at_].text; }
  absl::string_view peekNext() const {
    return at_ + 1 < tokens_.size() ? tokens_[at_ + 1].text : "";
  }
  int line() const { return tokens_[at_].line; }
  absl::string_view take();
  bool takeIf(absl::string_view text);
  absl::Status expect(absl::string_view text);
  /// 12, 0x1f, 017 or 0b11, as 64 bits.
  absl::StatusOr<uint64_t> takeInteger();
  /// .u32
  absl::StatusOr<Type> takeType();
  /// What stands here is not what is wanted.
  absl::Status unexpected(absl::string_view wanted) const;

 private:
  std::vector<Token> tokens_;
  size_t at_ = 0;
};

}  // namespace graphrun::testing::ptx

#endif  // GRAPHRUN_TESTS_DEVICES_CUDA_SIMULATOR_PTX_READER_H_
