// Readers of files say with this error that one is not well-formed.
#ifndef GRAPHRUN_RUNTIME_FORMAT_INVALID_H_
#define GRAPHRUN_RUNTIME_FORMAT_INVALID_H_

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace graphrun::format {

/// InvalidArgument with the parts joined: what was found and what was expected.
template <typename... Parts>
absl::Status invalid(const Parts&... parts) {
  return absl::InvalidArgumentError(absl::StrCat(parts...));
}

}  // namespace graphrun::format

#endif  // GRAPHRUN_RUNTIME_FORMAT_INVALID_H_
