// The words of PTX text.
#ifndef GRAPHRUN_TESTS_DEVICES_CUDA_SIMULATOR_PTX_LEXER_H_
#define GRAPHRUN_TESTS_DEVICES_CUDA_SIMULATOR_PTX_LEXER_H_

#include <vector>
#include "absl/strings/string_view.h"

#include "absl/status/statusor.h"

namespace graphrun::testing::ptx {

/// A name with its dots, % and $, a number, a "string" or one other character. It points into the
/// text.
struct Token {
  absl::string_view text;
  int line = 0;
};

/// The tokens, and an empty one at the end. Comments are left out.
absl::StatusOr<std::vector<Token>> tokensOf(absl::string_view text);

}  // namespace graphrun::testing::ptx

#endif  // GRAPHRUN_TESTS_DEVICES_CUDA_SIMULATOR_PTX_LEXER_H_
