#ifndef GRAPHRUN_RUNTIME_BASE_STATUS_PAYLOAD_H_
#define GRAPHRUN_RUNTIME_BASE_STATUS_PAYLOAD_H_

#include "absl/status/status.h"
#include "absl/strings/cord.h"
#include "absl/strings/string_view.h"

namespace graphrun::runtime {

/// Attaches `text`, which is copied, to a status that is not ok; it replaces what `url` had before.
inline void setTextPayload(absl::Status& status, absl::string_view url, absl::string_view text) {
  // The cord is made from a view, never from a string: GCC, which compiled Abseil, and Clang name
  // the constructor from a string differently.
  status.SetPayload(url, absl::Cord(text));
}

}  // namespace graphrun::runtime

#endif  // GRAPHRUN_RUNTIME_BASE_STATUS_PAYLOAD_H_
