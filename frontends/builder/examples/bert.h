// A sentence encoder of the BERT family, from the files that it is published as.
#ifndef GRAPHRUN_FRONTENDS_BUILDER_EXAMPLES_BERT_H_
#define GRAPHRUN_FRONTENDS_BUILDER_EXAMPLES_BERT_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "frontends/builder/graph_builder.h"

/// A BertConfig holds the content of the configuration files.
struct BertConfig {
  int64_t layers = 0;
  int64_t hidden = 0;
  int64_t heads = 0;
  double epsilon = 0;     ///< of layer normalisation
  int64_t maxTokens = 0;  ///< of a sentence
  bool lowerCase = true;

  /// Reads config.json, sentence_bert_config.json, tokenizer_config.json and 1_Pooling/config.json
  /// in `folder`. Unimplemented for an encoder that is built in another way.
  static absl::StatusOr<BertConfig> read(const std::string& folder);
};

/// Adds the encoder to a graph: inputs "ids" (N x T, the numbers of word pieces, filled up to one
/// length with any) and "mask" (N x T, 1 for a piece and 0 for filling), output "embedding" (N x
/// hidden, each of length 1). N and T may be other ones in each run. Operations of layer i are
/// called "layer<i>/…".
void buildBert(graphrun::builder::Graph& g, const BertConfig& config,
               const graphrun::builder::WeightFile& weights);

#endif  // GRAPHRUN_FRONTENDS_BUILDER_EXAMPLES_BERT_H_
