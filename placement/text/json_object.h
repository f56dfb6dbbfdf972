// Reading JSON that people and other programs write: all its problems in one message, each with its
// location.
#ifndef GRAPHRUN_PLACEMENT_TEXT_JSON_OBJECT_H_
#define GRAPHRUN_PLACEMENT_TEXT_JSON_OBJECT_H_

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace graphrun::placement {

/// FileProblems collects what is wrong with a file.
class FileProblems {
 public:
  explicit FileProblems(absl::string_view fileName) : fileName_(fileName) {}

  /// `location`: "line 7", "nodes[3].time_ns"; "": the whole file.
  void add(absl::string_view location, absl::string_view what);
  bool none() const { return count_ == 0; }
  /// More are counted, not shown.
  bool full() const;
  /// InvalidArgument with all problems, one a line, the first fifty of many.
  absl::Status status() const;

 private:
  std::string fileName_;
  std::vector<std::string> lines_;
  int64_t count_ = 0;
};

/// The JSON of `text`. Adds to `problems` where it is no JSON, which key an object has twice, and
/// numbers and depths that no file has; then there is nothing.
std::optional<nlohmann::json> parseJson(absl::string_view text, FileProblems& problems);

/// One object and its location in the file. Each getter reports what is missing or of the wrong
/// type and then returns the default.
class JsonObject {
 public:
  JsonObject(const nlohmann::json& json, std::string path, FileProblems& problems);

  const std::string& path() const { return path_; }
  std::string at(absl::string_view key) const;
  const nlohmann::json* find(const char* key) const;

  /// "" when it is missing, which is a problem if `required`; given, it may not be empty.
  std::string text(const char* key, bool required = false) const;
  /// Within 0 to `most`.
  int64_t integer(const char* key, std::optional<int64_t> otherwise, int64_t most) const;
  /// Any sign; where nothing is read, nothing.
  std::optional<int64_t> id(const char* key) const;
  /// Finite, not negative and at most `most`.
  double number(const char* key, std::optional<double> otherwise, double most) const;
  /// true, false, 1 or 0.
  bool flag(const char* key, std::optional<bool> otherwise) const;
  /// nullptr when it is missing.
  const nlohmann::json* array(const char* key, bool required = false) const;
  /// The strings of an array.
  std::vector<std::string> texts(const char* key, bool required = false) const;
  /// Reports keys that are none of `known`.
  void onlyKeys(const std::vector<std::string>& known) const;

  void problem(absl::string_view key, absl::string_view what) const;

 private:
  void missing(const char* key, const char* what, bool required) const;

  const nlohmann::json& json_;
  std::string path_;
  FileProblems& problems_;
};

/// A value as a message shows it: scalars as they are, what is longer by its kind.
std::string describeJson(const nlohmann::json& json);

}  // namespace graphrun::placement

#endif  // GRAPHRUN_PLACEMENT_TEXT_JSON_OBJECT_H_
