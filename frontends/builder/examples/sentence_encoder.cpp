// This program tells how alike sentences are: sentence_encoder FOLDER [OPTION…] [SENTENCE…]
//
// FOLDER is a published sentence encoder: config.json, model.safetensors, vocab.txt … Its graph is
// built with the C++ API, saved and run: all sentences (or the lines of the standard input) at
// once.
#include <algorithm>
#include <iomanip>
#include <iostream>
#include <numeric>

#include "bert.h"
#include "runtime/base/status.h"
#include "runtime/session/session.h"
#include "word_piece.h"

using namespace graphrun::builder;
using graphrun::runtime::NamedTensor;
using graphrun::runtime::Session;
using graphrun::runtime::SessionOptions;
using TokenLists = std::vector<std::vector<int64_t>>;

constexpr char kUsage[] =
    "usage: sentence_encoder FOLDER [OPTION…] [SENTENCE…]\n"
    "  --cluster FILE  run on the cluster of this cluster.yaml, not on this machine alone\n"
    "  --model FILE    keep the graph as this model.fb\n"
    "  --print WHAT    similarities (default), embeddings or tokens\n";

struct Arguments {
  std::string folder;
  std::string cluster;
  std::string model;
  std::string print = "similarities";
  std::vector<std::string> sentences;
};

bool parse(int argc, char** argv, Arguments& arguments) {
  if (argc < 2) {
    return false;
  }
  arguments.folder = argv[1];
  for (int i = 2; i < argc; ++i) {
    std::string word = argv[i];
    std::string* option = word == "--cluster" ? &arguments.cluster
                          : word == "--model" ? &arguments.model
                          : word == "--print" ? &arguments.print
                                              : nullptr;
    if (option == nullptr) {
      arguments.sentences.push_back(word);
    } else if (++i < argc) {
      *option = argv[i];
    } else {
      return false;
    }
  }
  const std::string& print = arguments.print;
  return print == "similarities" || print == "embeddings" || print == "tokens";
}

/// The inputs of a run: lists of tokens, filled up to the longest one.
std::vector<NamedTensor> makeInputs(const TokenLists& lists) {
  auto longest = std::ranges::max(lists, {}, &std::vector<int64_t>::size).size();
  std::vector<int64_t> dims = {static_cast<int64_t>(lists.size()), static_cast<int64_t>(longest)};
  HostTensor ids({ElementType::kI64, dims});
  HostTensor mask({ElementType::kF32, dims});
  std::ranges::fill(ids.as<int64_t>(), 0);
  std::ranges::fill(mask.as<float>(), 0.0F);
  for (size_t i = 0; i < lists.size(); ++i) {
    std::ranges::copy(lists[i], ids.as<int64_t>().begin() + i * longest);
    std::ranges::fill(mask.as<float>().subspan(i * longest, lists[i].size()), 1.0F);
  }
  std::vector<NamedTensor> inputs(2);
  inputs[0] = {"ids", std::move(ids)};
  inputs[1] = {"mask", std::move(mask)};
  return inputs;
}

/// The embeddings of the sentences, a row each.
absl::StatusOr<HostTensor> embed(const TokenLists& lists, const BertConfig& config,
                                 const Arguments& arguments) {
  GR_ASSIGN_OR_RETURN(WeightFile weights,
                      WeightFile::open(arguments.folder + "/model.safetensors"));
  Graph g("sentence_encoder");
  buildBert(g, config, weights);
  if (!arguments.model.empty()) {
    GR_RETURN_IF_ERROR(g.save(arguments.model));
  }
  GR_ASSIGN_OR_RETURN(TemporaryModel temporary, g.saveTemporary());
  SessionOptions options;
  options.cluster = arguments.cluster;
  GR_ASSIGN_OR_RETURN(auto session, Session::create(temporary.path(), options));
  std::vector<NamedTensor> outputs;
  GR_RETURN_IF_ERROR(session->run(makeInputs(lists), outputs));
  for (const auto& device : session->stats().devices) {
    std::cerr << device.device << ": " << device.bytes << " bytes\n";
  }
  return std::move(outputs[0].tensor);
}

template <typename Row>
void printRow(const Row& row) {
  for (size_t i = 0; i < row.size(); ++i) {
    std::cout << (i == 0 ? "" : " ") << row[i];
  }
  std::cout << "\n";
}

/// Embeddings have length 1: their product is the cosine of the angle between them.
void printSimilarities(absl::Span<const float> embeddings, size_t size,
                       const std::vector<std::string>& sentences) {
  std::cout << std::fixed << std::setprecision(4);
  for (size_t i = 0; i < sentences.size(); ++i) {
    for (size_t j = i + 1; j < sentences.size(); ++j) {
      auto one = embeddings.subspan(i * size, size);
      auto other = embeddings.subspan(j * size, size);
      std::cout << std::inner_product(one.begin(), one.end(), other.begin(), 0.0F) << "  "
                << sentences[i] << " | " << sentences[j] << "\n";
    }
  }
}

absl::Status compare(const Arguments& arguments) {
  GR_ASSIGN_OR_RETURN(BertConfig config, BertConfig::read(arguments.folder));
  GR_ASSIGN_OR_RETURN(WordPiece pieces,
                      WordPiece::load(arguments.folder + "/vocab.txt", config.lowerCase));
  TokenLists lists;
  for (const std::string& sentence : arguments.sentences) {
    lists.push_back(pieces.encode(sentence, static_cast<size_t>(config.maxTokens)));
  }
  if (arguments.print == "tokens") {
    std::ranges::for_each(lists, printRow<std::vector<int64_t>>);
    return absl::OkStatus();
  }
  GR_ASSIGN_OR_RETURN(HostTensor embeddings, embed(lists, config, arguments));
  auto values = std::as_const(embeddings).as<float>();
  auto size = static_cast<size_t>(config.hidden);
  if (arguments.print == "similarities") {
    printSimilarities(values, size, arguments.sentences);
    return absl::OkStatus();
  }
  std::cout << std::setprecision(9);
  for (size_t i = 0; i < lists.size(); ++i) {
    printRow(values.subspan(i * size, size));
  }
  return absl::OkStatus();
}

int main(int argc, char** argv) {
  Arguments arguments;
  if (!parse(argc, argv, arguments)) {
    std::cerr << kUsage;
    return 2;
  }
  if (arguments.sentences.empty()) {
    for (std::string line; std::getline(std::cin, line);) {
      arguments.sentences.push_back(line);
    }
  }
  if (arguments.sentences.empty()) {
    std::cerr << "no sentence given\n";
    return 2;
  }
  absl::Status status = compare(arguments);
  std::cerr << status.message() << (status.ok() ? "" : "\n");
  return status.ok() ? 0 : 1;
}
