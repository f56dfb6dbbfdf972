// Names of nodes and devices match globs, and a misspelt one has a nearest known name.
#ifndef GRAPHRUN_RUNTIME_BASE_NAMES_H_
#define GRAPHRUN_RUNTIME_BASE_NAMES_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace graphrun::runtime {

/// True if `name` matches the shell pattern `glob`; '*' also matches '/', as in "encoder/*".
bool matchesGlob(const std::string& glob, const std::string& name);

/// True if `glob` matches the label of an operation, or a name in the label of one that several
/// nodes became: "conv" or "bn" in "conv+bn". Names may have a "+" themselves.
bool matchesLabel(const std::string& glob, const std::string& label);

/// True if `text` has a character that makes it a pattern: * ? or [.
bool isGlob(absl::string_view text);

/// The member of `known` with the smallest edit distance to `name`, "" when none is within a third
/// of its length (at least 2).
std::string nearestName(absl::string_view name, const std::vector<std::string>& known);

/// "; did you mean 'x'?" for the nearest name, "" without one.
std::string didYouMean(absl::string_view name, const std::vector<std::string>& known);

}  // namespace graphrun::runtime

#endif  // GRAPHRUN_RUNTIME_BASE_NAMES_H_
