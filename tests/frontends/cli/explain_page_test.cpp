// What of the page can be told without a browser; explain_page_test.py looks at the rest.
#include "frontends/cli/explain_page.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

namespace graphrun::cli {
namespace {

/// What stands between two texts, the first of their kind.
std::string between(const std::string& text, const std::string& begin, const std::string& end) {
  size_t from = text.find(begin) + begin.size();
  return text.substr(from, text.find(end, from) - from);
}

TEST_CASE("whatever names hold, the page's data is its own element and valid") {
  const std::string hostile =
      "</script><script>alert(1)</script><!-- \xff\xfe \" ' \\ \x01 /*SCRIPT*/";
  nlohmann::json explanation = {{"strategy", "</SCRIPT >"}, {"nodes", {"/*DATA*/", "<!--"}}};
  std::string page = explainPage(explanation.dump(), {hostile, "graphrun explain " + hostile, {}});
  CHECK(page.find("alert(1)</script>") == std::string::npos);
  CHECK(page.find("</SCRIPT") == std::string::npos);
  std::string data = between(page, "id=\"data\">", "</script>");
  CHECK(data.find('<') == std::string::npos);
  auto json = nlohmann::json::parse(data, nullptr, /*allow_exceptions=*/false);
  REQUIRE(json.is_object());
  CHECK(json["explanation"] == explanation);
  CHECK(json["about"]["unit"] == "ns");
  std::string title = json["about"]["title"];
  CHECK(title.find("</script><script>alert(1)") == 0);
  CHECK(title.find("\xEF\xBF\xBD") != std::string::npos);  // in place of what is no UTF-8
}

TEST_CASE("style and script are in the page, and nothing else is fetched") {
  std::string page = explainPage("{}", {"m.onnx", "graphrun explain m.onnx", {"units", 1000}});
  CHECK(page.find("/*STYLE*/") == std::string::npos);
  CHECK(page.find("/*SCRIPT*/") == std::string::npos);
  CHECK(page.find("begin();") != std::string::npos);
  CHECK(page.find("--accent") != std::string::npos);
  CHECK(page.find("default-src 'none'") != std::string::npos);
  CHECK(page.find("http:") == std::string::npos);
  CHECK(page.find("https:") == std::string::npos);
}

}  // namespace
}  // namespace graphrun::cli
