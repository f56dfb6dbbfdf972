// The list of cases that are known not to pass.
#ifndef GRAPHRUN_FRONTENDS_CLI_EXPECTED_FAILURES_H_
#define GRAPHRUN_FRONTENDS_CLI_EXPECTED_FAILURES_H_

#include <map>
#include <string>

#include "absl/status/statusor.h"

namespace graphrun::cli {

/// Case -> reason.
using ExpectedFailures = std::map<std::string, std::string>;

/// Reads a list: a line a case, its name, blanks, the reason. Empty lines and those that begin with
/// '#' mean nothing. InvalidArgument, with the line, for a case without a reason or named twice.
absl::StatusOr<ExpectedFailures> readExpectedFailures(const std::string& path);

}  // namespace graphrun::cli

#endif  // GRAPHRUN_FRONTENDS_CLI_EXPECTED_FAILURES_H_
