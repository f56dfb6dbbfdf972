#include "runtime/training/recipe_reader.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/base/names.h"
#include "runtime/base/status.h"

namespace graphrun::runtime {
namespace {

constexpr int64_t kMostSamples = int64_t{1} << 31;  // of a batch, and of a dim of a sample
constexpr int64_t kMostSteps = 1'000'000'000'000;
constexpr int64_t kMostEpochs = 1'000'000'000;
constexpr double kLargest = std::numeric_limits<double>::max();

constexpr NumberRange kNotNegative{0, kLargest, false, "a number of at least 0"};
constexpr NumberRange kPositive{0, kLargest, true, "a number above 0"};
constexpr NumberRange kShare{0, 1, false, "a number from 0 to 1"};
constexpr NumberRange kBeta{0, 0x1.fffffffffffffp-1, false, "a number from 0 to below 1"};

constexpr std::array<absl::string_view, 2> kFormats = {"idx", "npy"};

std::vector<std::string> copyOf(absl::Span<const absl::string_view> names) {
  return {names.begin(), names.end()};
}

std::string textOf(const YAML::Node& node) {
  return node.IsScalar()     ? absl::StrCat("'", node.Scalar(), "'")
         : node.IsSequence() ? "a list"
         : node.IsMap()      ? "a mapping"
                             : "nothing";
}

}  // namespace

bool RecipeReader::integer(const YAML::Node& map, const char* key, const std::string& where,
                           int64_t least, int64_t most, int64_t& value) {
  const YAML::Node node = map[key];
  if (!node) {
    return false;
  }
  int64_t found = 0;
  if (!node.IsScalar() || !absl::SimpleAtoi(node.Scalar(), &found) || found < least ||
      found > most) {
    problem(node, absl::StrCat(where, ": ", key, " is ", textOf(node),
                               ", expected a whole number from ", least, " to ", most));
    return true;
  }
  value = found;
  return true;
}

void RecipeReader::number(const YAML::Node& map, const char* key, const std::string& where,
                          const NumberRange& range, double& value) {
  const YAML::Node node = map[key];
  if (!node) {
    return;
  }
  double found = 0;
  const bool isNumber =
      node.IsScalar() && absl::SimpleAtod(node.Scalar(), &found) && std::isfinite(found);
  if (!isNumber || found < range.least || found > range.most ||
      (range.isOpen && found == range.least)) {
    problem(node,
            absl::StrCat(where, ": ", key, " is ", textOf(node), ", expected ", range.expected));
    return;
  }
  value = found;
}

std::optional<int64_t> RecipeReader::entry(const YAML::Node& node, const std::string& where,
                                           int64_t least) {
  int64_t value = 0;
  if (node.IsScalar() && absl::SimpleAtoi(node.Scalar(), &value) && value >= least) {
    return value;
  }
  problem(node, absl::StrCat(where, " has the entry ", textOf(node),
                             ", expected a whole number of at least ", least));
  return std::nullopt;
}

std::optional<std::pair<size_t, YAML::Node>> RecipeReader::choice(
    const YAML::Node& node, const std::string& where, absl::Span<const absl::string_view> names) {
  const bool isMap = node.IsMap() && node.size() == 1;
  if (!isMap && !isText(node)) {
    const std::string found = node.IsMap() ? absl::StrCat(node.size(), " entries") : textOf(node);
    problem(node,
            absl::StrCat(where, ": has ", found, ", expected one of ", absl::StrJoin(names, ", ")));
    return std::nullopt;
  }
  const YAML::Node key = isMap ? node.begin()->first : node;
  const std::string name = key.IsScalar() ? key.Scalar() : "";
  for (size_t i = 0; i < names.size(); ++i) {
    if (names[i] == name) {
      return std::pair(i, isMap ? YAML::Node(node.begin()->second) : YAML::Node());
    }
  }
  problem(key, absl::StrCat(where, ": there is no '", name, "'", didYouMean(name, copyOf(names)),
                            " (known: ", absl::StrJoin(names, ", "), ")"));
  return std::nullopt;
}

std::optional<SampleRange> RecipeReader::readRange(const YAML::Node& map,
                                                   const std::string& where) {
  const YAML::Node node = map["range"];
  if (!node) {
    return std::nullopt;
  }
  const std::string here = absl::StrCat(where, ": range");
  if (!node.IsSequence() || node.size() != 2) {
    problem(node, absl::StrCat(here, " is ", textOf(node),
                               ", expected [BEGIN, END] of samples, as in [0, 8000]"));
    return std::nullopt;
  }
  const std::optional<int64_t> begin = entry(node[0], here, 0);
  const std::optional<int64_t> end = entry(node[1], here, 0);
  if (!begin.has_value() || !end.has_value()) {
    return std::nullopt;
  }
  if (*begin >= *end) {
    problem(node, absl::StrCat(here, " is [", *begin, ", ", *end,
                               "], expected a BEGIN below END: END is not in it"));
    return std::nullopt;
  }
  return SampleRange{*begin, *end};
}

std::vector<int64_t> RecipeReader::readShape(const YAML::Node& map, const std::string& where) {
  const YAML::Node node = map["shape"];
  std::vector<int64_t> shape;
  if (!node || !checkList(node, absl::StrCat(where, ": shape"))) {
    return shape;
  }
  for (const auto& dim : node) {
    shape.push_back(entry(dim, absl::StrCat(where, ": shape"), 1).value_or(1));
  }
  return shape;
}

IdxFiles RecipeReader::readIdxFiles(const YAML::Node& node, const std::string& where) {
  IdxFiles files;
  files.images = text(node, "images", where);
  files.labels = text(node, "labels", where);
  files.range = readRange(node, where);
  number(node, "scale", where, kPositive, files.scale);
  files.shape = readShape(node, where);
  return files;
}

NpyFiles RecipeReader::readNpyFiles(const YAML::Node& node, const std::string& where) {
  NpyFiles files;
  files.target = text(node, "target", where);
  files.range = readRange(node, where);
  const YAML::Node inputs = node["inputs"];
  if (!inputs || !inputs.IsMap() || inputs.size() == 0) {
    problem(inputs ? inputs : node,
            absl::StrCat(where, ": 'inputs' ", inputs ? "is " + textOf(inputs) : "is missing",
                         ", expected the model's inputs and their files, as in {x: x.npy}"));
    return files;
  }
  for (const auto& input : inputs) {
    if (!isText(input.first) || !isText(input.second)) {
      problem(input.first, absl::StrCat(where, ": inputs: expected INPUT: FILE.npy"));
      continue;
    }
    for (const NpyFile& other : files.inputs) {
      if (other.input == input.first.Scalar()) {
        problem(input.first, absl::StrCat(where, ": inputs: '", other.input, "' is given twice"));
      }
    }
    files.inputs.push_back({input.first.Scalar(), input.second.Scalar()});
  }
  return files;
}

std::optional<TrainingData> RecipeReader::readSource(const YAML::Node& node,
                                                     const std::string& where, bool isTraining) {
  if (!node.IsMap() || !node["format"]) {
    problem(node, absl::StrCat(where, ": 'format' is missing, expected one of ",
                               absl::StrJoin(kFormats, ", ")));
    return std::nullopt;
  }
  const auto format = choice(node["format"], absl::StrCat(where, ": format"), kFormats);
  if (!format.has_value()) {
    return std::nullopt;
  }
  const bool isIdx = format->first == 0;
  std::vector<std::string> keys =
      isIdx ? std::vector<std::string>{"format", "images", "labels", "range", "scale", "shape"}
            : std::vector<std::string>{"format", "inputs", "target", "range"};
  if (isTraining) {
    keys.emplace_back("shuffle");
  }
  TrainingData data;
  checkMap(node, where, keys);
  if (isIdx) {
    data.files = readIdxFiles(node, where);
  } else {
    data.files = readNpyFiles(node, where);
  }
  if (isTraining) {
    data.shuffles = readFlag(node, "shuffle", where).value_or(true);
  }
  return data;
}

void RecipeReader::readData(const YAML::Node& node) {
  if (!checkMap(node, "data", {"train", "eval"})) {
    return;
  }
  if (node["train"]) {
    recipe_.train = readSource(node["train"], "data.train", true).value_or(TrainingData{});
  } else {
    problem(node, "data: 'train' is missing");
  }
  if (node["eval"]) {
    recipe_.eval = readSource(node["eval"], "data.eval", false);
  }
}

void RecipeReader::readLoss(const YAML::Node& node) {
  const auto found = choice(node, "loss", kLossNames);
  if (!found.has_value()) {
    return;
  }
  recipe_.loss.kind = static_cast<LossKind>(found->first);
  const std::string where = absl::StrCat("loss.", nameOf(recipe_.loss.kind));
  const YAML::Node& options = found->second;
  if (options.IsNull()) {
    return;
  }
  if (recipe_.loss.kind == LossKind::kMeanSquaredError) {
    if (!options.IsMap() || options.size() > 0) {
      problem(options, absl::StrCat(where, ": has options, expected none"));
    }
  } else if (checkMap(options, where, {"from_logits"})) {
    recipe_.loss.fromLogits = readFlag(options, "from_logits", where).value_or(false);
  }
}

void RecipeReader::readBetas(const YAML::Node& map, const std::string& where) {
  const YAML::Node node = map["betas"];
  if (!node) {
    return;
  }
  OptimizerSpec& optimizer = recipe_.optimizer;
  double* const betas[] = {&optimizer.beta1, &optimizer.beta2};
  bool isPair = node.IsSequence() && node.size() == 2;
  for (size_t i = 0; isPair && i < 2; ++i) {
    const YAML::Node beta = node[i];
    isPair = beta.IsScalar() && absl::SimpleAtod(beta.Scalar(), betas[i]) &&
             *betas[i] >= kBeta.least && *betas[i] <= kBeta.most;
  }
  if (!isPair) {
    problem(node, absl::StrCat(where, ": betas is ", textOf(node),
                               ", expected two numbers from 0 to below 1, as in [0.9, 0.999]"));
  }
}

void RecipeReader::readOptimizer(const YAML::Node& node) {
  const auto found = choice(node, "optimizer", kOptimizerNames);
  if (!found.has_value()) {
    return;
  }
  OptimizerSpec& optimizer = recipe_.optimizer;
  optimizer.kind = static_cast<OptimizerKind>(found->first);
  optimizer.weightDecay = optimizer.kind == OptimizerKind::kAdamW ? 1e-2 : 0;
  const std::string where = absl::StrCat("optimizer.", nameOf(optimizer.kind));
  const YAML::Node& options = found->second;
  const bool isSgd = optimizer.kind == OptimizerKind::kSgd;
  const std::vector<std::string> keys =
      isSgd ? std::vector<std::string>{"lr", "momentum", "nesterov", "weight_decay"}
            : std::vector<std::string>{"lr", "betas", "eps", "weight_decay"};
  if (options.IsNull() || !checkMap(options, where, keys)) {
    return;
  }
  number(options, "lr", where, kNotNegative, optimizer.learningRate);
  number(options, "weight_decay", where, kNotNegative, optimizer.weightDecay);
  if (isSgd) {
    number(options, "momentum", where, kShare, optimizer.momentum);
    optimizer.nesterov = readFlag(options, "nesterov", where).value_or(false);
    if (optimizer.nesterov && optimizer.momentum == 0) {
      problem(options["nesterov"],
              absl::StrCat(where, ": nesterov is true and momentum 0, expected a momentum"));
    }
  } else {
    readBetas(options, where);
    number(options, "eps", where, kNotNegative, optimizer.epsilon);
  }
}

void RecipeReader::readMetrics(const YAML::Node& node) {
  if (!checkList(node, "metrics")) {
    return;
  }
  for (const auto& metric : node) {
    const auto found = choice(metric, "metrics", kMetricNames);
    if (!found.has_value()) {
      continue;
    }
    const auto kind = static_cast<MetricKind>(found->first);
    if (std::find(recipe_.metrics.begin(), recipe_.metrics.end(), kind) != recipe_.metrics.end()) {
      problem(metric, absl::StrCat("metrics: '", nameOf(kind), "' is given twice"));
    } else if (recipe_.loss.kind == LossKind::kMeanSquaredError) {
      problem(metric,
              "metrics: accuracy counts classes, but the loss mean_squared_error has none; "
              "remove one of them");
    }
    recipe_.metrics.push_back(kind);
  }
}

void RecipeReader::readLength(const YAML::Node& root) {
  integer(root, "batch", "recipe", 1, kMostSamples, recipe_.batch);
  if (!root["batch"]) {
    problem(root, "recipe: 'batch' is missing");
  }
  const bool hasEpochs = integer(root, "epochs", "recipe", 1, kMostEpochs, recipe_.epochs);
  const bool hasSteps = integer(root, "steps", "recipe", 1, kMostSteps, recipe_.steps);
  if (hasEpochs == hasSteps) {
    problem(hasEpochs ? YAML::Node(root["steps"]) : root,
            absl::StrCat("recipe: has ", hasEpochs ? "both epochs and steps" : "no epochs",
                         ", expected either epochs or steps"));
  }
}

void RecipeReader::readRoot(const YAML::Node& root) {
  if (!checkMap(
          root, "recipe",
          {"model", "data", "batch", "epochs", "steps", "seed", "loss", "optimizer", "metrics"})) {
    return;
  }
  recipe_.model = text(root, "model", "recipe");
  readLength(root);
  int64_t seed = 0;
  integer(root, "seed", "recipe", 0, std::numeric_limits<int64_t>::max(), seed);
  recipe_.seed = static_cast<uint64_t>(seed);
  const auto each = [&](const char* key, void (RecipeReader::*read)(const YAML::Node&)) {
    if (root[key]) {
      (this->*read)(root[key]);
    } else {
      problem(root, absl::StrCat("recipe: '", key, "' is missing"));
    }
  };
  each("data", &RecipeReader::readData);
  each("loss", &RecipeReader::readLoss);
  each("optimizer", &RecipeReader::readOptimizer);
  if (root["metrics"]) {
    readMetrics(root["metrics"]);
  }
}

absl::StatusOr<Recipe> RecipeReader::read(absl::string_view text,
                                          absl::Span<const std::string> overrides) {
  absl::Status applied;
  GR_RETURN_IF_ERROR(readDocument(text, Aliases::kRefused, [&](const YAML::Node& root) {
    for (const std::string& override : overrides) {
      applied.Update(apply(root, override));
    }
    if (applied.ok()) {
      readRoot(root);
    }
  }));
  GR_RETURN_IF_ERROR(applied);
  return std::move(recipe_);
}

}  // namespace graphrun::runtime
