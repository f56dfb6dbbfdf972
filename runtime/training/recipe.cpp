#include "runtime/training/recipe.h"

#include <utility>

#include "runtime/base/mapped_file.h"
#include "runtime/base/status.h"
#include "runtime/training/recipe_reader.h"

namespace graphrun::runtime {

absl::string_view nameOf(LossKind kind) { return kLossNames[static_cast<size_t>(kind)]; }

absl::string_view nameOf(OptimizerKind kind) { return kOptimizerNames[static_cast<size_t>(kind)]; }

absl::string_view nameOf(MetricKind kind) { return kMetricNames[static_cast<size_t>(kind)]; }

absl::StatusOr<Recipe> parseRecipe(absl::string_view text, absl::string_view fileName,
                                   absl::Span<const std::string> overrides) {
  return RecipeReader(fileName).read(text, overrides);
}

absl::StatusOr<Recipe> readRecipe(const std::string& path,
                                  absl::Span<const std::string> overrides) {
  GR_ASSIGN_OR_RETURN(MappedFile file, MappedFile::open(path));
  const absl::Span<const uint8_t> bytes = file.bytes();
  return parseRecipe({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, path, overrides);
}

absl::StatusOr<std::unique_ptr<Dataset>> openData(const TrainingData& data) {
  if (const auto* files = std::get_if<IdxFiles>(&data.files)) {
    return openIdx(*files);
  }
  return openNpy(std::get<NpyFiles>(data.files));
}

}  // namespace graphrun::runtime
