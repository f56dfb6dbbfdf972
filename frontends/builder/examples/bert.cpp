#include "bert.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "runtime/base/status.h"

using namespace graphrun::builder;

namespace {

// --- Configuration -------------------------------------------------------------------------------

/// A file of configuration; what it does not have is reported by the first problem.
class ConfigFile {
 public:
  explicit ConfigFile(const std::string& path) : path_(path) {
    std::ifstream file(path);
    json_ = nlohmann::json::parse(file, nullptr, /*allow_exceptions=*/false);
    if (!json_.is_object()) {
      status_ = absl::InvalidArgumentError(
          absl::StrCat("'", path, "' ", file.is_open() ? "is no JSON object" : "cannot be read"));
    }
  }

  template <typename T>
  void read(const char* key, T& value) {
    auto found = json_.find(key);
    bool fits = found != json_.end() && (std::is_same_v<T, std::string> ? found->is_string()
                                         : std::is_same_v<T, bool>      ? found->is_boolean()
                                         : std::is_same_v<T, int64_t>   ? found->is_number_integer()
                                                                        : found->is_number());
    if (fits) {
      value = found->get<T>();
    } else if (status_.ok()) {
      status_ = absl::InvalidArgumentError(absl::StrCat("'", path_, "' has no proper ", key));
    }
  }
  /// For what decides which operations there are, and is built here in one way only.
  template <typename T>
  void require(const char* key, const T& expected) {
    T value = expected;
    read(key, value);
    if (status_.ok() && value != expected) {
      status_ =
          absl::UnimplementedError(absl::StrCat("'", path_, "': ", key, " is ", json_[key].dump(),
                                                ", expected ", nlohmann::json(expected).dump()));
    }
  }
  const absl::Status& status() const { return status_; }

 private:
  std::string path_;
  nlohmann::json json_;
  absl::Status status_;
};

absl::Status checkSizes(const BertConfig& config) {
  bool fit = config.layers > 0 && config.heads > 0 && config.hidden > 0 &&
             config.hidden % config.heads == 0 && config.maxTokens > 1;
  return fit ? absl::OkStatus()
             : absl::InvalidArgumentError(absl::StrCat(config.layers, " layers of ", config.hidden,
                                                       " values in ", config.heads, " heads for ",
                                                       config.maxTokens, " tokens are no encoder"));
}

// --- The graph -----------------------------------------------------------------------------------

class Bert {
 public:
  Bert(Graph& g, const BertConfig& config, const WeightFile& weights)
      : g_(g), config_(config), weights_(weights) {}

  /// N x T word pieces to N x T x hidden.
  Tensor encode(const Tensor& ids, const Tensor& mask) {
    // Added to what attention gives for a position: nothing, or so little that its share becomes 0.
    Tensor filling = (unsqueeze(mask, {1, 2}) - 1) * 1e9;
    Tensor x = embed(ids);
    for (int64_t i = 0; i < config_.layers; ++i) {
      auto scope = g_.scope("layer" + std::to_string(i));
      std::string layer = "encoder.layer." + std::to_string(i);
      Tensor attended = attention(x, filling, layer + ".attention.self");
      x = addAndNorm(x, linear(attended, layer + ".attention.output.dense"),
                     layer + ".attention.output.LayerNorm");
      Tensor wide = gelu(linear(x, layer + ".intermediate.dense"));
      x = addAndNorm(x, linear(wide, layer + ".output.dense"), layer + ".output.LayerNorm");
    }
    return x;
  }

 private:
  Tensor weight(const std::string& name) { return g_.weight(weights_, name); }

  /// The file has matrices as result x input.
  Tensor linear(const Tensor& x, const std::string& name) {
    return matmul(x, weight(name + ".weight"), {.transposeRhs = true}) + weight(name + ".bias");
  }

  Tensor addAndNorm(const Tensor& x, const Tensor& change, const std::string& name) {
    return layerNorm(x + change, weight(name + ".weight"),
                     {.bias = weight(name + ".bias"), .epsilon = config_.epsilon});
  }

  /// The sum of what a piece, its position and its segment (always the first) stand for.
  Tensor embed(const Tensor& ids) {
    auto scope = g_.scope("embeddings");
    Tensor words = gather(weight("embeddings.word_embeddings.weight"), ids);
    Tensor positions = slice(weight("embeddings.position_embeddings.weight"),
                             {.starts = {0}, .ends = shape(ids, 1, 2), .axes = {0}});
    Tensor segment = gather(weight("embeddings.token_type_embeddings.weight"), {0});
    return addAndNorm(words, positions + segment, "embeddings.LayerNorm");
  }

  /// N x T x hidden to N x heads x T x size of a head.
  Tensor splitHeads(const Tensor& x) {
    int64_t size = config_.hidden / config_.heads;
    return transpose(reshape(x, {0, 0, config_.heads, size}), {0, 2, 1, 3});
  }

  /// softmax(q k' / sqrt(size of a head) + filling) v for each head (Vaswani et al., 2017).
  Tensor attention(const Tensor& x, const Tensor& filling, const std::string& name) {
    Tensor query = splitHeads(linear(x, name + ".query"));
    Tensor key = splitHeads(linear(x, name + ".key"));
    Tensor value = splitHeads(linear(x, name + ".value"));
    double scale = std::sqrt(static_cast<double>(config_.heads) / config_.hidden);
    Tensor scores = matmul(query, key, {.transposeRhs = true}) * scale + filling;
    Tensor attended = matmul(softmax(scores), value);
    return reshape(transpose(attended, {0, 2, 1, 3}), {0, 0, config_.hidden});
  }

  Graph& g_;
  const BertConfig& config_;
  const WeightFile& weights_;
};

/// The mean over the pieces of a sentence, filling left out.
Tensor meanOf(const Tensor& x, const Tensor& mask) {
  Tensor sum = reduce(x * unsqueeze(mask, {2}), Reduction::kSum, {.axes = {1}, .keepdims = false});
  return sum / max(reduce(mask, Reduction::kSum, {.axes = {1}}), 1);
}

Tensor unitLength(const Tensor& x) {
  Tensor length = sqrt(reduce(x * x, Reduction::kSum, {.axes = {-1}}));
  return x / max(length, 1e-12);
}

}  // namespace

absl::StatusOr<BertConfig> BertConfig::read(const std::string& folder) {
  BertConfig config;
  int64_t positions = 0;
  ConfigFile model(folder + "/config.json");
  model.require<std::string>("model_type", "bert");
  model.require<std::string>("hidden_act", "gelu");
  model.require<std::string>("position_embedding_type", "absolute");
  model.read("num_hidden_layers", config.layers);
  model.read("hidden_size", config.hidden);
  model.read("num_attention_heads", config.heads);
  model.read("layer_norm_eps", config.epsilon);
  model.read("max_position_embeddings", positions);
  ConfigFile sentence(folder + "/sentence_bert_config.json");
  sentence.read("max_seq_length", config.maxTokens);
  config.maxTokens = std::min(config.maxTokens, positions);
  ConfigFile tokenizer(folder + "/tokenizer_config.json");
  tokenizer.read("do_lower_case", config.lowerCase);
  ConfigFile pooling(folder + "/1_Pooling/config.json");
  pooling.require("pooling_mode_mean_tokens", true);
  pooling.require("pooling_mode_cls_token", false);
  pooling.require("pooling_mode_max_tokens", false);
  for (const ConfigFile* file : {&model, &sentence, &tokenizer, &pooling}) {
    GR_RETURN_IF_ERROR(file->status());
  }
  GR_RETURN_IF_ERROR(checkSizes(config));
  return config;
}

void buildBert(Graph& g, const BertConfig& config, const WeightFile& weights) {
  Tensor ids = g.input("ids", ElementType::kI64, {Dim("N"), Dim("T")});
  Tensor mask = g.input("mask", ElementType::kF32, {Dim("N"), Dim("T")});
  Tensor x = Bert(g, config, weights).encode(ids, mask);
  auto scope = g.scope("pooling");
  g.output("embedding", unitLength(meanOf(x, mask)));
}
