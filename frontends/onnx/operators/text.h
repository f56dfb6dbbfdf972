// Text: what ONNX's operations on strings compute, on UTF-8.
#ifndef GRAPHRUN_FRONTENDS_ONNX_OPERATORS_TEXT_H_
#define GRAPHRUN_FRONTENDS_ONNX_OPERATORS_TEXT_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "llvm/ADT/StringRef.h"

namespace graphrun::frontends {

enum class LetterCase { kLower, kUpper };

/// `text` in one case, by the rules of `locale` ("en_US", "tr"; one that is not known has the
/// general rules). InvalidArgument for text that is not UTF-8.
absl::StatusOr<std::string> withCase(llvm::StringRef text, LetterCase letters,
                                     const std::string& locale);

/// The parts of `text` between `delimiter`s; between runs of white space, with none at either end,
/// where it is "". At most `most` splits; < 0: all.
std::vector<llvm::StringRef> splitText(llvm::StringRef text, llvm::StringRef delimiter,
                                       int64_t most);

/// A number as Python and NumPy write it: the shortest text that reads as the same `T` again,
/// "1.0", "1e-05", "inf", "nan".
template <typename T>
std::string numberText(T value);

}  // namespace graphrun::frontends

#endif  // GRAPHRUN_FRONTENDS_ONNX_OPERATORS_TEXT_H_
