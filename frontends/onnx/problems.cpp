#include "frontends/onnx/problems.h"

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace graphrun::frontends {

std::string inQuotes(llvm::StringRef text) {
  constexpr size_t kMaxLength = 160;
  bool cut = text.size() > kMaxLength;
  llvm::StringRef shown = text.take_front(kMaxLength);
  return absl::StrCat("\"", absl::CEscape(absl::string_view(shown.data(), shown.size())),
                      cut ? "…" : "", "\"");
}

void Problems::add(std::string line) {
  if (++count_ <= kMaxLines) {
    lines_.push_back(std::move(line));
  }
}

std::string Problems::text() const { return absl::StrJoin(lines_, "; "); }

absl::Status Problems::status(llvm::StringRef file) const {
  if (empty()) {
    return absl::OkStatus();
  }
  std::string text = absl::StrCat(file.str(), ": ", count_, count_ == 1 ? " problem" : " problems");
  for (const std::string& line : lines_) {
    absl::StrAppend(&text, "\n  ", line);
  }
  if (count_ > lines_.size()) {
    absl::StrAppend(&text, "\n  … and ", count_ - lines_.size(), " more");
  }
  return absl::InvalidArgumentError(text);
}

}  // namespace graphrun::frontends
