// explain and place tell these on request, and write these files beside what they print.
#ifndef GRAPHRUN_FRONTENDS_CLI_EXPLAIN_OUTPUT_H_
#define GRAPHRUN_FRONTENDS_CLI_EXPLAIN_OUTPUT_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "frontends/cli/command_line.h"
#include "frontends/cli/explain_page.h"
#include "runtime/session/session.h"

namespace graphrun::cli {

struct ExplainOutput {
  std::vector<std::string> ops;
  std::string html;
  std::string compareWith;  ///< another placement, for the page
  std::string placement;

  void add(CLI::App& app);
  /// Returns the options with which the explanation holds all that is wanted.
  runtime::ExplainOptions options() const;
  bool wanted() const { return !ops.empty() || !html.empty() || !placement.empty(); }
  /// Writes the files that were asked for; `explanation` as in placement/explain/explain.h, `other`
  /// that of the placement `compareWith`, or "".
  absl::Status write(const std::string& explanation, const std::string& other,
                     const PageHeader& header) const;
};

}  // namespace graphrun::cli

#endif  // GRAPHRUN_FRONTENDS_CLI_EXPLAIN_OUTPUT_H_
