#include "runtime/control/versions.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "runtime/control/limits.h"

namespace graphrun::runtime {
namespace {

std::string majorMinor(const std::string& version) {
  std::vector<std::string> parts = absl::StrSplit(version, '.');
  return parts.size() < 2 ? version : absl::StrCat(parts[0], ".", parts[1]);
}

absl::Status differ(absl::string_view what, absl::string_view ours, absl::string_view theirs) {
  return absl::FailedPreconditionError(
      absl::StrCat("coordinator and worker do not fit together: ", what, " ", ours, " here, ",
                   theirs, " at the other end; install the same version on both"));
}

}  // namespace

absl::Status checkCompatible(const BuildVersions& ours, uint32_t theirProtocol,
                             const BuildVersions& theirs) {
  if (theirProtocol != kControlProtocol) {
    return differ("control protocol", absl::StrCat(kControlProtocol), absl::StrCat(theirProtocol));
  }
  if (theirs.graphrun != ours.graphrun) {
    return differ("GraphRun", ours.graphrun, theirs.graphrun);
  }
  bool bothUcx = !ours.ucx.empty() && !theirs.ucx.empty();
  if (bothUcx && majorMinor(ours.ucx) != majorMinor(theirs.ucx)) {
    return differ("UCX", ours.ucx, theirs.ucx);
  }
  return absl::OkStatus();
}

}  // namespace graphrun::runtime
