#include "placement/text/json_object.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/base/names.h"

namespace graphrun::placement {
namespace {

using Json = nlohmann::json;

constexpr size_t kMostProblems = 50;
constexpr size_t kMostDepth = 32;
constexpr size_t kMostText = 60;

std::string shorten(absl::string_view text) {
  return text.size() <= kMostText
             ? absl::Utf8SafeCEscape(text)
             : absl::StrCat(absl::Utf8SafeCEscape(text.substr(0, kMostText)), "…");
}

/// Looks at the text before it becomes a tree: depth, keys that are given twice, syntax.
class TextChecker final : public nlohmann::json_sax<Json> {
 public:
  TextChecker(absl::string_view text, FileProblems& problems) : text_(text), problems_(problems) {}

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(int64_t) override { return true; }
  bool number_unsigned(uint64_t) override { return true; }
  bool number_float(double, const std::string&) override { return true; }
  bool string(std::string&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool start_object(size_t) override { return enter(); }
  bool start_array(size_t) override { return enter(); }
  bool end_object() override { return leave(); }
  bool end_array() override { return leave(); }
  bool key(std::string& name) override {
    if (!keys_.back().insert(name).second) {
      problems_.add("", absl::StrCat("key '", shorten(name), "' is given twice in one object"));
    }
    return true;
  }
  bool parse_error(size_t position, const std::string& token,
                   const nlohmann::detail::exception& error) override {
    absl::string_view before = text_.substr(0, position);
    auto line = std::count(before.begin(), before.end(), '\n') + 1;
    const char* what = absl::StrContains(error.what(), "overflow") ? "a number is too large"
                       : position >= text_.size()                  ? "the file ends too early"
                                                                   : "no JSON";
    problems_.add(absl::StrCat("line ", line), absl::StrCat(what, ", at '", shorten(token), "'"));
    return false;
  }

 private:
  bool enter() {
    keys_.emplace_back();
    if (keys_.size() > kMostDepth) {
      problems_.add(
          "", absl::StrCat("arrays and objects lie more than ", kMostDepth, " deep in each other"));
      return false;
    }
    return true;
  }
  bool leave() {
    keys_.pop_back();
    return true;
  }

  absl::string_view text_;
  FileProblems& problems_;
  std::vector<std::set<std::string>> keys_;
};

}  // namespace

void FileProblems::add(absl::string_view location, absl::string_view what) {
  if (++count_ <= static_cast<int64_t>(kMostProblems)) {
    lines_.push_back(absl::StrCat(fileName_, location.empty() ? "" : ": ", location, ": ", what));
  }
}

bool FileProblems::full() const { return count_ >= static_cast<int64_t>(kMostProblems); }

absl::Status FileProblems::status() const {
  if (none()) {
    return absl::OkStatus();
  }
  int64_t more = count_ - static_cast<int64_t>(lines_.size());
  return absl::InvalidArgumentError(
      absl::StrCat(absl::StrJoin(lines_, "\n"),
                   more > 0 ? absl::StrCat("\n", fileName_, ": and ", more, " more") : ""));
}

std::optional<Json> parseJson(absl::string_view text, FileProblems& problems) {
  TextChecker checker(text, problems);
  if (!Json::sax_parse(text.begin(), text.end(), &checker) || !problems.none()) {
    return std::nullopt;
  }
  return Json::parse(text.begin(), text.end(), nullptr, /*allow_exceptions=*/false);
}

std::string describeJson(const Json& json) {
  if (json.is_string()) {
    return absl::StrCat("'", shorten(json.get_ref<const std::string&>()), "'");
  }
  return json.is_structured() ? std::string("an ") + json.type_name() : json.dump();
}

JsonObject::JsonObject(const Json& json, std::string path, FileProblems& problems)
    : json_(json), path_(std::move(path)), problems_(problems) {
  if (!json.is_object()) {
    problems_.add(path_, absl::StrCat("got ", describeJson(json), ", expected an object"));
  }
}

std::string JsonObject::at(absl::string_view key) const {
  bool joined = !path_.empty() && !key.empty();
  return absl::StrCat(path_, joined ? "." : "", key);
}

const Json* JsonObject::find(const char* key) const {
  auto it = json_.find(key);
  return it == json_.end() ? nullptr : &*it;
}

void JsonObject::problem(absl::string_view key, absl::string_view what) const {
  problems_.add(at(key), what);
}

void JsonObject::missing(const char* key, const char* what, bool required) const {
  if (required && json_.is_object()) {
    problem(key, absl::StrCat("is missing; expected ", what));
  }
}

std::string JsonObject::text(const char* key, bool required) const {
  const Json* value = find(key);
  if (value == nullptr) {
    missing(key, "a string", required);
    return "";
  }
  if (!value->is_string() || value->get_ref<const std::string&>().empty()) {
    problem(key, absl::StrCat("got ", describeJson(*value), ", expected a string with characters"));
    return "";
  }
  return value->get<std::string>();
}

int64_t JsonObject::integer(const char* key, std::optional<int64_t> otherwise, int64_t most) const {
  double value = number(key, otherwise, static_cast<double>(most));
  if (value != std::floor(value)) {
    problem(key, absl::StrCat("got ", value, ", expected a whole number"));
  }
  return static_cast<int64_t>(value);
}

std::optional<int64_t> JsonObject::id(const char* key) const {
  const Json* value = find(key);
  missing(key, "a whole number", value == nullptr);
  bool whole = value != nullptr && value->is_number_integer();
  if (value != nullptr && !whole) {
    problem(key, absl::StrCat("got ", describeJson(*value), ", expected a whole number"));
  }
  return whole ? std::optional(value->get<int64_t>()) : std::nullopt;
}

double JsonObject::number(const char* key, std::optional<double> otherwise, double most) const {
  const Json* value = find(key);
  if (value == nullptr) {
    missing(key, "a number", !otherwise.has_value());
    return otherwise.value_or(0);
  }
  double number = value->is_number() ? value->get<double>() : -1;
  if (!(number >= 0 && number <= most)) {
    problem(key,
            absl::StrCat("got ", describeJson(*value), ", expected a number from 0 to ", most));
    return otherwise.value_or(0);
  }
  return number;
}

bool JsonObject::flag(const char* key, std::optional<bool> otherwise) const {
  const Json* value = find(key);
  if (value == nullptr) {
    missing(key, "true or false", !otherwise.has_value());
    return otherwise.value_or(false);
  }
  bool number = value->is_number_integer() && (*value == 0 || *value == 1);
  if (!value->is_boolean() && !number) {
    problem(key, absl::StrCat("got ", describeJson(*value), ", expected true or false"));
    return otherwise.value_or(false);
  }
  return number ? *value == 1 : value->get<bool>();
}

const Json* JsonObject::array(const char* key, bool required) const {
  const Json* value = find(key);
  if (value == nullptr) {
    missing(key, "an array", required);
    return nullptr;
  }
  if (!value->is_array()) {
    problem(key, absl::StrCat("got ", describeJson(*value), ", expected an array"));
    return nullptr;
  }
  return value;
}

std::vector<std::string> JsonObject::texts(const char* key, bool required) const {
  std::vector<std::string> texts;
  const Json* items = array(key, required);
  for (size_t i = 0; items != nullptr && i < items->size(); ++i) {
    if ((*items)[i].is_string()) {
      texts.push_back((*items)[i].get<std::string>());
    } else {
      problem(absl::StrCat(key, "[", i, "]"),
              absl::StrCat("got ", describeJson((*items)[i]), ", expected a string"));
    }
  }
  return texts;
}

void JsonObject::onlyKeys(const std::vector<std::string>& known) const {
  if (!json_.is_object()) {
    return;
  }
  for (const auto& [key, value] : json_.items()) {
    if (std::find(known.begin(), known.end(), key) == known.end()) {
      problems_.add(path_,
                    absl::StrCat("unknown key '", shorten(key), "'",
                                 key.size() <= kMostText ? runtime::didYouMean(key, known) : "",
                                 " (known: ", absl::StrJoin(known, ", "), ")"));
    }
  }
}

}  // namespace graphrun::placement
