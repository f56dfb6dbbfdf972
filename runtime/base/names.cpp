#include "runtime/base/names.h"

#include <fnmatch.h>

#include <algorithm>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace graphrun::runtime {
namespace {

size_t editDistance(absl::string_view a, absl::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      size_t replace = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, replace});
    }
  }
  return row[b.size()];
}

}  // namespace

bool matchesGlob(const std::string& glob, const std::string& name) {
  return fnmatch(glob.c_str(), name.c_str(), 0) == 0;
}

bool matchesLabel(const std::string& glob, const std::string& label) {
  if (matchesGlob(glob, label)) {
    return true;
  }
  const std::vector<std::string> parts = absl::StrSplit(label, '+');
  for (size_t begin = 0; parts.size() > 1 && begin < parts.size(); ++begin) {
    std::string name;
    for (size_t end = begin; end < parts.size(); ++end) {
      absl::StrAppend(&name, end == begin ? "" : "+", parts[end]);
      if (matchesGlob(glob, name)) {
        return true;
      }
    }
  }
  return false;
}

bool isGlob(absl::string_view text) { return text.find_first_of("*?[") != absl::string_view::npos; }

std::string nearestName(absl::string_view name, const std::vector<std::string>& known) {
  size_t best = std::max<size_t>(2, name.size() / 3) + 1;
  std::string nearest;
  for (const std::string& candidate : known) {
    size_t distance = editDistance(name, candidate);
    if (distance < best) {
      best = distance;
      nearest = candidate;
    }
  }
  return nearest;
}

std::string didYouMean(absl::string_view name, const std::vector<std::string>& known) {
  std::string nearest = nearestName(name, known);
  return nearest.empty() ? "" : absl::StrCat("; did you mean '", nearest, "'?");
}

}  // namespace graphrun::runtime
