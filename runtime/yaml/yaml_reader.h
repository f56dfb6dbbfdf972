// A YamlReader reads a file that people write, and tells all of its problems at once.
#ifndef GRAPHRUN_RUNTIME_YAML_YAML_READER_H_
#define GRAPHRUN_RUNTIME_YAML_YAML_READER_H_

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace graphrun::runtime {

/// From 1; an empty file has no mark at all.
inline int lineOf(const YAML::Node& node) { return std::max(node.Mark().line + 1, 1); }

/// Returns whether `node` is a scalar of one character at least.
inline bool isText(const YAML::Node& node) { return node.IsScalar() && !node.Scalar().empty(); }

/// Aliases ("*name") may be allowed or not. Where they are, one node may be in several places, and
/// even in itself.
enum class Aliases { kAllowed, kRefused };

/// Readers of one file each derive from it. Every problem of the file goes into one report, sorted
/// by line. One thread, one file. `where` is how messages call the mapping or list at hand.
class YamlReader {
 protected:
  explicit YamlReader(absl::string_view fileName) : fileName_(fileName) {}
  YamlReader(const YamlReader&) = delete;
  YamlReader& operator=(const YamlReader&) = delete;
  virtual ~YamlReader() = default;

  /// Calls `read` with the root of `text`, which is one document. InvalidArgument with all problems
  /// that it noted, or that the text is not YAML.
  absl::Status readDocument(absl::string_view text, Aliases aliases,
                            const std::function<void(YAML::Node root)>& read);

  void problem(const YAML::Node& at, absl::string_view text) {
    problems_.emplace(lineOf(at), absl::StrCat(sourceOf(at), ": ", text));
  }
  /// "FILE:LINE".
  virtual std::string sourceOf(const YAML::Node& node) const {
    return absl::StrCat(fileName_, ":", lineOf(node));
  }
  /// Returns what a message says behind "unknown key 'x'".
  virtual std::string hintFor(const std::string& key, const std::vector<std::string>& known) const;

  /// Reports what is no mapping, and each key that is not in `keys` or is there twice. False where
  /// it is no mapping.
  bool checkMap(const YAML::Node& node, const std::string& where,
                const std::vector<std::string>& keys);
  /// Reports what is no list with an entry.
  bool checkList(const YAML::Node& node, const std::string& where);
  /// The text of a key that must be there; "" after a problem.
  std::string text(const YAML::Node& map, const char* key, const std::string& where);
  /// true or false; nothing where the key is not there.
  std::optional<bool> readFlag(const YAML::Node& map, const char* key, const std::string& where);
  /// Sets `value` to what `parse`, of a text to a StatusOr, makes of the key, if it is there.
  template <typename Parse, typename T>
  void quantity(const YAML::Node& map, const char* key, const std::string& where, Parse parse,
                T& value);

  const std::string& fileName() const { return fileName_; }

 private:
  void problemAt(int line, absl::string_view text) {
    problems_.emplace(line, absl::StrCat(fileName_, ":", line, ": ", text));
  }
  absl::Status report() const;

  std::string fileName_;
  std::multimap<int, std::string> problems_;  // by line, in the order of discovery within one
};

/// The line of the first alias in `text`; nothing where there is none. Throws YAML::Exception for
/// what is not YAML.
std::optional<int> lineOfAlias(const std::string& text);

template <typename Parse, typename T>
void YamlReader::quantity(const YAML::Node& map, const char* key, const std::string& where,
                          Parse parse, T& value) {
  YAML::Node node = map[key];
  if (!node) {
    return;
  }
  auto parsed = parse(node.IsScalar() ? node.Scalar() : "");
  if (!parsed.ok()) {
    problem(node, absl::StrCat(where, ": ", key, ": ", parsed.status().message()));
    return;
  }
  value = *parsed;
}

}  // namespace graphrun::runtime

#endif  // GRAPHRUN_RUNTIME_YAML_YAML_READER_H_
