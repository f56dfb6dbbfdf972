#include "frontends/cli/explain_output.h"

#include <CLI/CLI.hpp>

#include "absl/strings/str_cat.h"
#include "frontends/cli/option_values.h"
#include "frontends/cli/run_report.h"
#include "runtime/base/status.h"

namespace graphrun::cli {
namespace {

/// A placement file: a line a node, in the order in which devices run them.
absl::StatusOr<std::string> placementFile(const std::string& explanation) {
  Json json = Json::parse(explanation, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object() || !json["nodes"].is_array()) {
    return absl::InternalError("the explanation holds no list of nodes");
  }
  std::string text = "{\"nodes\": [";
  const char* separator = "\n";
  for (const Json& node : json["nodes"]) {
    Json line = {{"node", node.value("node", "")}, {"device", node.value("device", "")}};
    absl::StrAppend(&text, separator, line.dump());
    separator = ",\n";
  }
  return text + "\n]}\n";
}

}  // namespace

void ExplainOutput::add(CLI::App& app) {
  app.add_option("--op", ops,
                 "Explains why an operation is where it is, and how long the step would be with it "
                 "on each other device: its name, or a pattern as in 'encoder/*'");
  CLI::Option* page = addOutputFile(
      app, "--html", html,
      "Writes a page with the timeline, memory, the graph and the critical path, for any "
      "browser: page.html");
  app.add_option("--compare-with", compareWith,
                 "Another placement that the page of --html shows beside this one: a strategy "
                 "(single, heft, …) or a placement file (JSON)")
      ->needs(page);
  addOutputFile(
      app, "--write-placement", placement,
      "Writes the placement as a file that can be edited and read with --placement: p.json");
}

runtime::ExplainOptions ExplainOutput::options() const {
  return {!html.empty(), !html.empty(), ops};
}

absl::Status ExplainOutput::write(const std::string& explanation, const std::string& other,
                                  const PageHeader& header) const {
  if (!placement.empty()) {
    GR_ASSIGN_OR_RETURN(std::string text, placementFile(explanation));
    GR_RETURN_IF_ERROR(fileError(writeText(placement, text)));
  }
  return html.empty() ? absl::OkStatus()
                      : fileError(writeText(html, explainPage(explanation, header, {other, ""})));
}

}  // namespace graphrun::cli
