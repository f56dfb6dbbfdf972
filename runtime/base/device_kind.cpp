#include "runtime/base/device_kind.h"

#include <algorithm>

#include "absl/strings/str_join.h"

namespace graphrun::runtime {

const DeviceKind* findKind(absl::Span<const DeviceKind> kinds, absl::string_view name) {
  auto found = std::find_if(kinds.begin(), kinds.end(),
                            [&](const DeviceKind& kind) { return kind.name == name; });
  return found == kinds.end() ? nullptr : &*found;
}

std::string kindNames(absl::Span<const DeviceKind> kinds) {
  return absl::StrJoin(kinds, ", ", [](std::string* text, const DeviceKind& kind) {
    absl::StrAppend(text, kind.name);
  });
}

}  // namespace graphrun::runtime
