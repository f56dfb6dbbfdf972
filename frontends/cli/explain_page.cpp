#include "frontends/cli/explain_page.h"

#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "frontends/cli/page_parts.h"
#include "frontends/cli/run_report.h"

namespace graphrun::cli {

namespace {

/// JSON without the space between its parts, which is half of it; "null" for "".
std::string compact(const std::string& json) {
  return json.empty() ? "null"
                      : Json::parse(json, nullptr, /*allow_exceptions=*/false)
                            .dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

std::string explainPage(const std::string& explanation, const PageHeader& header,
                        const PageExtras& extras) {
  Json about = {{"title", header.title},
                {"command", header.command},
                {"unit", header.unit.name},
                {"ns_per_unit", header.unit.ns}};
  std::string data = absl::StrCat(
      "{\"about\": ", dump(about), ", \"explanation\": ", compact(explanation),
      ", \"other\": ", compact(extras.other), ", \"measured\": ", compact(extras.measured), "}");
  // Only texts hold this character, and there it may be written so: nothing ends the element early.
  data = absl::StrReplaceAll(data, {{"<", "\\u003c"}});
  return absl::StrReplaceAll(
      kPageHtml, {{"/*STYLE*/", kPageStyle}, {"/*SCRIPT*/", kPageScript}, {"/*DATA*/", data}});
}

}  // namespace graphrun::cli
