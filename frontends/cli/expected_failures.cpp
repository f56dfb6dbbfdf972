#include "frontends/cli/expected_failures.h"

#include <cerrno>
#include <fstream>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "frontends/cli/command_line.h"
#include "runtime/base/mapped_file.h"

namespace graphrun::cli {

absl::StatusOr<ExpectedFailures> readExpectedFailures(const std::string& path) {
  std::ifstream file(path);
  if (!file) {
    return fileError(runtime::fileError("open the expected failures", path, errno));
  }
  ExpectedFailures failures;
  size_t number = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    std::istringstream words(line);
    std::string name;
    std::string reason;
    if (!(words >> name) || name[0] == '#') {
      continue;
    }
    std::getline(words >> std::ws, reason);
    bool isNew = failures.emplace(name, reason).second;
    if (reason.empty() || !isNew) {
      return fileError(absl::InvalidArgumentError(
          absl::StrCat(path, ":", number, ": ", name,
                       isNew ? " has no reason; expected NAME REASON" : " is listed twice")));
    }
  }
  return failures;
}

}  // namespace graphrun::cli
