// The problems of a file are collected so that its author sees everything at once.
#ifndef GRAPHRUN_FRONTENDS_ONNX_PROBLEMS_H_
#define GRAPHRUN_FRONTENDS_ONNX_PROBLEMS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "llvm/ADT/StringRef.h"

namespace graphrun::frontends {

/// `text` in double quotes, control and non-ASCII bytes escaped, long ones cut: names in a file are
/// not to be trusted on a terminal.
std::string inQuotes(llvm::StringRef text);

/// The problems of one file, in the order found. Keeps the first hundred and counts the rest.
class Problems {
 public:
  /// One line: where, what was expected, what was found, what to do.
  void add(std::string line);
  bool empty() const { return count_ == 0; }
  /// The lines, joined by "; ".
  std::string text() const;
  /// InvalidArgument with one line a problem under a heading that names `file`; OK when empty.
  absl::Status status(llvm::StringRef file) const;

 private:
  static constexpr size_t kMaxLines = 100;
  std::vector<std::string> lines_;
  size_t count_ = 0;
};

}  // namespace graphrun::frontends

#endif  // GRAPHRUN_FRONTENDS_ONNX_PROBLEMS_H_
