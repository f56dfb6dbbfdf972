#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "tests/ir/gradients/rule_cases.h"

namespace graphrun::ir {
namespace {

/// A layer, and what is asked of it.
struct Layer {
  std::string cell;
  int steps, batch, inputs, hidden;
  std::string attributes = "";
  std::string lengths = "";  ///< "3, 1"
  bool peepholes = false;
  bool fixedStart = false;  ///< the first values are not differentiated by
};

RuleCase caseOf(const Layer& layer, std::vector<std::string> activations,
                std::vector<double> alphas = {}, std::vector<double> betas = {}) {
  const int gates = layer.cell == "lstm" ? 4 : layer.cell == "gru" ? 3 : 1;
  const bool isLinear = layer.attributes.find("linear_before_reset") != std::string::npos;
  const bool isLstm = layer.cell == "lstm";
  const int rows = gates * layer.hidden;
  std::string first = absl::StrCat(layer.batch, "x", layer.hidden);
  first = layer.fixedStart ? absl::StrCat("constant ", first) : first;
  RuleCase made{"gr.recurrent",
                {absl::StrCat(layer.steps, "x", layer.batch, "x", layer.inputs),
                 absl::StrCat(rows, "x", layer.inputs), absl::StrCat(rows, "x", layer.hidden),
                 absl::StrCat(rows + (isLinear ? layer.hidden : 0)), first}};
  if (isLstm) {
    made.operands.push_back(first);
  }
  if (!layer.lengths.empty()) {
    made.operands.push_back(
        absl::StrCat("dense<[", layer.lengths, "]> : tensor<", layer.batch, "xi32>"));
  }
  if (layer.peepholes) {
    made.operands.push_back(absl::StrCat(3 * layer.hidden));
  }
  alphas.resize(activations.size());
  betas.resize(activations.size());
  auto reals = [](const std::vector<double>& values) {
    auto format = [](std::string* out, double x) { absl::StrAppendFormat(out, "%.2f", x); };
    return absl::StrCat(" = array<f64: ", absl::StrJoin(values, ", ", format), ">");
  };
  made.attributes = absl::StrCat(
      "cell = \"", layer.cell, "\", activations = [\"", absl::StrJoin(activations, "\", \""),
      "\"], alphas", reals(alphas), ", betas", reals(betas),
      ", operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, ", isLstm ? 1 : 0, ", ",
      layer.lengths.empty() ? 0 : 1, ", ", layer.peepholes ? 1 : 0, ">",
      layer.attributes.empty() ? "" : ", ", layer.attributes);
  made.low = -1;
  made.high = 1;
  made.results = isLstm ? 3 : 2;
  return made;
}

void addLstms(std::vector<RuleCase>& cases) {
  const std::vector<Layer> layers = {
      {"lstm", 3, 2, 3, 2},
      {"lstm", 1, 1, 2, 1, "", "", /*peepholes=*/true},
      {"lstm", 4, 2, 1, 3, "reverse = true"},
      {"lstm", 4, 3, 2, 2, "reverse = true", "4, 0, 2", /*peepholes=*/true},
      {"lstm", 4, 3, 2, 2, "", "1, 4, 3", /*peepholes=*/true},
      {"lstm", 3, 2, 2, 2, "input_forget = true", "", /*peepholes=*/true},
      {"lstm", 3, 2, 2, 2, "clip = 0.45 : f64"},
      {"lstm", 3, 2, 2, 2, "clip = 0.5 : f64, reverse = true, input_forget = true", "2, 3"},
      {"lstm", 3, 2, 2, 2, "", "", /*peepholes=*/false, /*fixedStart=*/true},
  };
  for (const Layer& layer : layers) {
    cases.push_back(caseOf(layer, {"sigmoid", "tanh", "tanh"}));
  }
  cases.push_back(caseOf({"lstm", 3, 2, 3, 2}, {"hardsigmoid", "scaledtanh", "softsign"},
                         {0.2, 1.7, 0}, {0.5, 0.6, 0}));
  cases.push_back(caseOf({"lstm", 2, 2, 2, 3, "", "2, 1", true}, {"softplus", "elu", "affine"},
                         {0, 0.7, 0.8}, {0, 0, 0.1}));
}

void addGrus(std::vector<RuleCase>& cases) {
  for (const char* linear : {"", "linear_before_reset = true"}) {
    const std::string more = *linear == 0 ? "" : absl::StrCat(", ", linear);
    const std::vector<Layer> layers = {
        {"gru", 3, 2, 3, 2, linear},
        {"gru", 1, 2, 1, 3, linear},
        {"gru", 4, 3, 2, 2, absl::StrCat("reverse = true", more), "4, 0, 2"},
        {"gru", 4, 3, 2, 2, linear, "1, 4, 3"},
        {"gru", 3, 2, 2, 2, absl::StrCat("clip = 0.45 : f64", more)},
    };
    for (const Layer& layer : layers) {
      cases.push_back(caseOf(layer, {"sigmoid", "tanh"}));
    }
    cases.push_back(caseOf({"gru", 3, 2, 2, 2, linear}, {"softsign", "leakyrelu"}, {0, 0.3}));
  }
}

void addElmans(std::vector<RuleCase>& cases) {
  struct Named {
    const char* name;
    double alpha, beta;
  };
  for (const Named& a :
       {Named{"affine", 0.9, 0.1}, Named{"elu", 0.8, 0}, Named{"hardsigmoid", 0.3, 0.4},
        Named{"leakyrelu", 0.2, 0}, Named{"relu", 0, 0}, Named{"scaledtanh", 1.2, 0.7},
        Named{"sigmoid", 0, 0}, Named{"softplus", 0, 0}, Named{"softsign", 0, 0},
        Named{"tanh", 0, 0}, Named{"thresholdedrelu", 0.2, 0}}) {
    cases.push_back(caseOf({"rnn", 3, 2, 3, 2}, {a.name}, {a.alpha}, {a.beta}));
    cases.push_back(
        caseOf({"rnn", 4, 2, 2, 3, "reverse = true", "3, 4"}, {a.name}, {a.alpha}, {a.beta}));
  }
  for (const char* name : {"tanh", "sigmoid"}) {
    cases.push_back(caseOf({"rnn", 4, 2, 2, 3, "clip = 0.72 : f64"}, {name}));
  }
  cases.push_back(caseOf({"rnn", 1, 1, 1, 1}, {"tanh"}));
  cases.push_back(caseOf({"rnn", 0, 2, 1, 2}, {"tanh"}));
}

}  // namespace

std::vector<RuleCase> recurrentCases() {
  std::vector<RuleCase> cases;
  addLstms(cases);
  addGrus(cases);
  addElmans(cases);
  return cases;
}

}  // namespace graphrun::ir
