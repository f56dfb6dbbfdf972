// A Recipe says what is trained, with which data, and how.
#ifndef GRAPHRUN_RUNTIME_TRAINING_RECIPE_H_
#define GRAPHRUN_RUNTIME_TRAINING_RECIPE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "runtime/data/dataset.h"

namespace graphrun::runtime {

enum class LossKind : uint8_t {
  kSparseCategoricalCrossentropy,  ///< targets are numbers of classes
  kCategoricalCrossentropy,        ///< targets are probabilities of classes
  kMeanSquaredError,
  kBinaryCrossentropy,
};
enum class OptimizerKind : uint8_t { kSgd, kAdam, kAdamW };
enum class MetricKind : uint8_t { kAccuracy };

/// As the recipe calls them: "mean_squared_error", "adamw", "accuracy".
absl::string_view nameOf(LossKind kind);
absl::string_view nameOf(OptimizerKind kind);
absl::string_view nameOf(MetricKind kind);

struct TrainingData {
  std::variant<IdxFiles, NpyFiles> files;
  bool shuffles = true;  ///< each epoch has its own order; evaluation never asks

  bool operator==(const TrainingData&) const = default;
};

struct LossSpec {
  LossKind kind = LossKind::kMeanSquaredError;
  bool fromLogits = false;  ///< the model's output is no probability yet; not of mean_squared_error

  bool operator==(const LossSpec&) const = default;
};

/// Numbers of an optimiser, named and defined as torch.optim does; those that a kind does not have
/// keep their defaults.
struct OptimizerSpec {
  OptimizerKind kind = OptimizerKind::kSgd;
  double learningRate = 1e-3;
  double momentum = 0;     ///< of SGD
  bool nesterov = false;   ///< of SGD
  double beta1 = 0.9;      ///< of Adam and AdamW
  double beta2 = 0.999;    ///< of Adam and AdamW
  double epsilon = 1e-8;   ///< of Adam and AdamW
  double weightDecay = 0;  ///< AdamW's default is 0.01

  bool operator==(const OptimizerSpec&) const = default;
};

/// Paths are those of the process: a relative one begins where it runs.
struct Recipe {
  std::string model;
  TrainingData train;
  std::optional<TrainingData> eval;
  int64_t batch = 1;   ///< samples of a step
  int64_t epochs = 0;  ///< either these
  int64_t steps = 0;   ///< or these are above 0
  uint64_t seed = 0;
  LossSpec loss;
  OptimizerSpec optimizer;
  std::vector<MetricKind> metrics;

  bool operator==(const Recipe&) const = default;
};

/// Reads a recipe, which is YAML; README.md shows a whole one. `overrides` are "PATH=VALUE", as in
/// "optimizer.sgd.lr=0.2": they are put in place one after the other before anything is checked.
/// PATH has the keys from the root on and, in lists, indices from 0; what is missing on the way is
/// made. VALUE is YAML, too; null takes the key away. InvalidArgument with all problems, a line
/// each: "FILE:LINE: …", or "--set PATH=VALUE: …" where an override is the cause. `fileName` is for
/// messages.
absl::StatusOr<Recipe> parseRecipe(absl::string_view text, absl::string_view fileName,
                                   absl::Span<const std::string> overrides = {});

/// The same of a file; NotFound, PermissionDenied and so on where it cannot be read.
absl::StatusOr<Recipe> readRecipe(const std::string& path,
                                  absl::Span<const std::string> overrides = {});

/// Opens the files (openIdx, openNpy).
absl::StatusOr<std::unique_ptr<Dataset>> openData(const TrainingData& data);

}  // namespace graphrun::runtime

#endif  // GRAPHRUN_RUNTIME_TRAINING_RECIPE_H_
