#include "runtime/yaml/yaml_reader.h"

#include <yaml-cpp/eventhandler.h>

#include <set>
#include <sstream>

#include "absl/strings/match.h"
#include "absl/strings/str_join.h"
#include "runtime/base/names.h"

namespace graphrun::runtime {
namespace {

/// Problems of a file that are told one by one.
constexpr size_t kMostTold = 100;

/// DocumentMarks notes where a document begins and where its first alias is.
class DocumentMarks final : public YAML::EventHandler {
 public:
  std::optional<int> begin;  ///< lines, from 1
  std::optional<int> alias;

  void OnDocumentStart(const YAML::Mark& mark) override { begin = mark.line + 1; }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark&, YAML::anchor_t) override {}
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
    alias = alias.value_or(mark.line + 1);
  }
  void OnScalar(const YAML::Mark&, const std::string&, YAML::anchor_t,
                const std::string&) override {}
  void OnSequenceStart(const YAML::Mark&, const std::string&, YAML::anchor_t,
                       YAML::EmitterStyle::value) override {}
  void OnSequenceEnd() override {}
  void OnMapStart(const YAML::Mark&, const std::string&, YAML::anchor_t,
                  YAML::EmitterStyle::value) override {}
  void OnMapEnd() override {}
};

/// The line where a second document begins; nothing where there is none. Two documents and no more
/// are looked at: the library finds documents without end in a text that it cannot go on with
/// (",").
std::optional<int> secondDocument(const std::string& text) {
  std::istringstream stream(text);
  YAML::Parser parser(stream);
  DocumentMarks first, second;
  const bool any = parser.HandleNextDocument(first) && parser.HandleNextDocument(second);
  return any ? second.begin : std::nullopt;
}

}  // namespace

std::optional<int> lineOfAlias(const std::string& text) {
  std::istringstream stream(text);
  YAML::Parser parser(stream);
  DocumentMarks marks;
  parser.HandleNextDocument(marks);
  return marks.alias;
}

std::string YamlReader::hintFor(const std::string& key,
                                const std::vector<std::string>& known) const {
  return didYouMean(key, known);
}

bool YamlReader::checkMap(const YAML::Node& node, const std::string& where,
                          const std::vector<std::string>& keys) {
  if (!node.IsMap()) {
    problem(node,
            absl::StrCat(where, ": expected a mapping with the keys ", absl::StrJoin(keys, ", ")));
    return false;
  }
  std::set<std::string> seen;
  for (const auto& entry : node) {
    std::string key = entry.first.IsScalar() ? entry.first.Scalar() : "";
    if (std::find(keys.begin(), keys.end(), key) == keys.end()) {
      problem(entry.first, absl::StrCat(where, ": unknown key '", key, "'", hintFor(key, keys),
                                        " (known: ", absl::StrJoin(keys, ", "), ")"));
    } else if (!seen.insert(key).second) {
      problem(entry.first, absl::StrCat(where, ": the key '", key, "' is given twice"));
    }
  }
  return true;
}

bool YamlReader::checkList(const YAML::Node& node, const std::string& where) {
  if (node.IsSequence() && node.size() > 0) {
    return true;
  }
  problem(node, absl::StrCat(where, ": expected a list with at least one entry"));
  return false;
}

std::string YamlReader::text(const YAML::Node& map, const char* key, const std::string& where) {
  YAML::Node value = map[key];
  if (!value) {
    problem(map, absl::StrCat(where, ": '", key, "' is missing"));
    return "";
  }
  if (!isText(value)) {
    problem(value, absl::StrCat(where, ": '", key, "' must be a text"));
    return "";
  }
  return value.Scalar();
}

std::optional<bool> YamlReader::readFlag(const YAML::Node& map, const char* key,
                                         const std::string& where) {
  if (!map[key]) {
    return std::nullopt;
  }
  std::string value = map[key].IsScalar() ? map[key].Scalar() : "";
  if (value != "true" && value != "false") {
    problem(map[key], absl::StrCat(where, ": ", key, ": '", value, "' is not true or false"));
  }
  return value == "true";
}

absl::Status YamlReader::report() const {
  std::string lines;
  size_t told = 0;
  for (const auto& [line, text] : problems_) {
    if (++told > kMostTold) {
      absl::StrAppend(&lines, "\n", fileName_, ": and ", problems_.size() - kMostTold,
                      " problems more");
      break;
    }
    absl::StrAppend(&lines, lines.empty() ? "" : "\n", text);
  }
  return absl::InvalidArgumentError(lines);
}

absl::Status YamlReader::readDocument(absl::string_view text, Aliases aliases,
                                      const std::function<void(YAML::Node root)>& read) {
  // yaml-cpp reports by exception; none leaves this function.
  try {
    // Where it is of wider characters these hold zeros, at the latest the fourth byte.
    const bool isWide =
        text.substr(0, 4).find('\0') != text.npos || absl::StartsWith(text, "\xff\xfe");
    if (const size_t zero = text.find('\0'); zero != text.npos && !isWide) {
      const auto lines =
          std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(zero), '\n');
      problemAt(static_cast<int>(lines) + 1, "not YAML: a byte is zero");
      return report();
    }
    const std::string whole(text);
    const std::optional<int> alias =
        aliases == Aliases::kRefused ? lineOfAlias(whole) : std::nullopt;
    if (alias.has_value()) {
      problemAt(*alias, "an alias is not read here; write what it stands for in its place");
      return report();
    }
    read(YAML::Load(whole));
    if (const std::optional<int> line = secondDocument(whole)) {
      problemAt(*line, "a second document begins; expected one");
    }
  } catch (const YAML::Exception& error) {
    problemAt(error.mark.line + 1, absl::StrCat("not YAML: ", error.msg));
  }
  return problems_.empty() ? absl::OkStatus() : report();
}

}  // namespace graphrun::runtime
