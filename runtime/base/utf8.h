// These functions handle text as UTF-8.
#ifndef GRAPHRUN_RUNTIME_BASE_UTF8_H_
#define GRAPHRUN_RUNTIME_BASE_UTF8_H_

#include <cstddef>

#include "absl/strings/string_view.h"

namespace graphrun::runtime {

/// Bytes of the well-formed UTF-8 sequence at the start of `text` (Unicode 15, table 3-7), which is
/// not empty; 0 if there is none.
size_t utf8Length(absl::string_view text);

/// Returns whether all of `text` is well-formed.
bool isUtf8(absl::string_view text);

}  // namespace graphrun::runtime

#endif  // GRAPHRUN_RUNTIME_BASE_UTF8_H_
