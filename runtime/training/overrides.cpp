// Overrides of a recipe: "PATH=VALUE".
#include <algorithm>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "runtime/base/status.h"
#include "runtime/training/recipe_reader.h"

namespace graphrun::runtime {
namespace {

constexpr size_t kMostKeys = 16;  // of a path; no recipe is as deep

/// Returns whether `node` is `tree` or in it. The tree has no aliases, so this ends.
bool contains(const YAML::Node& tree, const YAML::Node& node) {
  if (tree.is(node)) {
    return true;
  }
  return (tree.IsMap() || tree.IsSequence()) &&
         std::any_of(tree.begin(), tree.end(), [&](const auto& entry) {
           return tree.IsMap() ? contains(entry.first, node) || contains(entry.second, node)
                               : contains(entry, node);
         });
}

std::string kindOf(const YAML::Node& node) {
  return node.IsSequence() ? "a list" : node.IsScalar() ? "a text" : "nothing";
}

/// The value of a key that is there.
std::optional<YAML::Node> valueOf(const YAML::Node& map, const std::string& key) {
  for (const auto& entry : map) {
    if (entry.first.IsScalar() && entry.first.Scalar() == key) {
      return entry.second;
    }
  }
  return std::nullopt;
}

}  // namespace

std::string RecipeReader::sourceOf(const YAML::Node& node) const {
  // The last one that made a node decides, as it replaced what was there.
  for (auto override = overrides_.rbegin(); override != overrides_.rend(); ++override) {
    const auto isOf = [&](const YAML::Node& made) { return contains(made, node); };
    if (std::any_of(override->made.begin(), override->made.end(), isOf)) {
      return absl::StrCat("--set ", override->text);
    }
  }
  return YamlReader::sourceOf(node);
}

absl::Status RecipeReader::put(const YAML::Node& root, absl::string_view path,
                               const YAML::Node& value, Override& override) {
  YAML::Node at = root;  // `=` of a node changes what it stands for; reset() does not
  const std::vector<std::string> keys = absl::StrSplit(path, '.');
  if (keys.size() > kMostKeys) {
    return absl::InvalidArgumentError(
        absl::StrCat("path has ", keys.size(), " keys, expected at most ", kMostKeys));
  }
  std::string soFar;
  for (size_t i = 0; i < keys.size(); ++i) {
    const bool isLast = i + 1 == keys.size();
    if (keys[i].empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat("path '", path, "' has an empty key, expected KEY.KEY…"));
    }
    if (at.IsSequence()) {
      size_t index = 0;
      if (!absl::SimpleAtoi(keys[i], &index) || index >= at.size()) {
        return absl::InvalidArgumentError(absl::StrCat("'", keys[i], "' is no index of '", soFar,
                                                       "', a list of ", at.size(), " entries"));
      }
      if (isLast) {
        at[index] = value;
      }
      at.reset(at[index]);
    } else if (at.IsMap() && isLast && value.IsNull()) {
      at.remove(keys[i]);
      return absl::OkStatus();
    } else if (at.IsMap()) {
      std::optional<YAML::Node> found = valueOf(at, keys[i]);
      if (!found.has_value() || found->IsNull() || isLast) {
        YAML::Node next = isLast ? value : YAML::Node(YAML::NodeType::Map);
        if (!isLast) {
          override.made.push_back(next);
        }
        if (found.has_value()) {
          at[keys[i]] = next;
        } else {
          YAML::Node key(keys[i]);
          override.made.push_back(key);
          at.force_insert(key, next);
        }
        found.emplace(next);
      }
      at.reset(*found);
    } else {
      return absl::InvalidArgumentError(
          soFar.empty()
              ? absl::StrCat("the recipe is ", kindOf(at), ", expected a mapping")
              : absl::StrCat("'", soFar, "' is ", kindOf(at), ", expected a mapping that has '",
                             keys[i], "'; set it as a whole: --set '", soFar, "={", keys[i],
                             ": …}'"));
    }
    absl::StrAppend(&soFar, soFar.empty() ? "" : ".", keys[i]);
  }
  return absl::OkStatus();
}

absl::Status RecipeReader::apply(const YAML::Node& root, const std::string& text) {
  const std::string context = absl::StrCat("--set ", text);
  const size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(context, ": expected PATH=VALUE, as in optimizer.sgd.lr=0.2"));
  }
  Override override{text, {}};
  const std::string value = text.substr(equals + 1);
  try {
    if (value.find('\0') != std::string::npos || lineOfAlias(value).has_value()) {
      return absl::InvalidArgumentError(
          absl::StrCat(context, ": the value has an alias or a byte that is zero"));
    }
    YAML::Node node = YAML::Load(value);
    override.made.push_back(node);
    GR_RETURN_IF_ERROR(annotate(put(root, text.substr(0, equals), node, override), context));
  } catch (const YAML::Exception& error) {
    return absl::InvalidArgumentError(absl::StrCat(context, ": not YAML: ", error.msg));
  }
  overrides_.push_back(std::move(override));
  return absl::OkStatus();
}

}  // namespace graphrun::runtime
