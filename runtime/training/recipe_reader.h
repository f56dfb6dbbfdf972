// A RecipeReader reads recipes. Internal.
#ifndef GRAPHRUN_RUNTIME_TRAINING_RECIPE_READER_H_
#define GRAPHRUN_RUNTIME_TRAINING_RECIPE_READER_H_

#include <yaml-cpp/yaml.h>

#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "runtime/training/recipe.h"
#include "runtime/yaml/yaml_reader.h"

namespace graphrun::runtime {

/// In the order of the enumerators.
inline constexpr std::array<absl::string_view, 4> kLossNames = {
    "sparse_categorical_crossentropy", "categorical_crossentropy", "mean_squared_error",
    "binary_crossentropy"};
inline constexpr std::array<absl::string_view, 3> kOptimizerNames = {"sgd", "adam", "adamw"};
inline constexpr std::array<absl::string_view, 1> kMetricNames = {"accuracy"};

/// The numbers that a key may have; both ends count, `least` only where it is not open.
struct NumberRange {
  double least = 0;
  double most = 0;
  bool isOpen = false;
  const char* expected;  ///< in words
};

/// An override puts a value into the tree that was read.
struct Override {
  std::string text;              ///< "PATH=VALUE"
  std::vector<YAML::Node> made;  ///< keys, mappings and values that came with it
};

/// One thread, one recipe.
class RecipeReader : public YamlReader {
 public:
  explicit RecipeReader(absl::string_view fileName) : YamlReader(fileName) {}

  absl::StatusOr<Recipe> read(absl::string_view text, absl::Span<const std::string> overrides);

 private:
  std::string sourceOf(const YAML::Node& node) const override;

  absl::Status apply(const YAML::Node& root, const std::string& text);
  absl::Status put(const YAML::Node& root, absl::string_view path, const YAML::Node& value,
                   Override& override);

  void readRoot(const YAML::Node& root);
  void readLength(const YAML::Node& root);
  void readData(const YAML::Node& node);
  std::optional<TrainingData> readSource(const YAML::Node& node, const std::string& where,
                                         bool isTraining);
  IdxFiles readIdxFiles(const YAML::Node& node, const std::string& where);
  NpyFiles readNpyFiles(const YAML::Node& node, const std::string& where);
  std::optional<SampleRange> readRange(const YAML::Node& map, const std::string& where);
  std::vector<int64_t> readShape(const YAML::Node& map, const std::string& where);
  void readLoss(const YAML::Node& node);
  void readOptimizer(const YAML::Node& node);
  void readBetas(const YAML::Node& map, const std::string& where);
  void readMetrics(const YAML::Node& node);

  /// The one entry of `node`, whose key is one of `names`, or `node` itself as a key without
  /// entries: its number among the names, and what is behind it, which may be null.
  std::optional<std::pair<size_t, YAML::Node>> choice(const YAML::Node& node,
                                                      const std::string& where,
                                                      absl::Span<const absl::string_view> names);
  /// Reads a whole number from `least` to `most` if the key is there; false where it is not.
  bool integer(const YAML::Node& map, const char* key, const std::string& where, int64_t least,
               int64_t most, int64_t& value);
  void number(const YAML::Node& map, const char* key, const std::string& where,
              const NumberRange& range, double& value);
  /// Reads a whole number of a list; nothing after a problem.
  std::optional<int64_t> entry(const YAML::Node& node, const std::string& where, int64_t least);

  Recipe recipe_;
  std::vector<Override> overrides_;
};

}  // namespace graphrun::runtime

#endif  // GRAPHRUN_RUNTIME_TRAINING_RECIPE_READER_H_
