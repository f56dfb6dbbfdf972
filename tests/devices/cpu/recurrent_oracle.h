// Recurrent layers as plain loops in double precision, with the usual activations.
#ifndef GRAPHRUN_TESTS_DEVICES_CPU_RECURRENT_ORACLE_H_
#define GRAPHRUN_TESTS_DEVICES_CPU_RECURRENT_ORACLE_H_

#include <cmath>

#include "tests/devices/cpu/instruction_runner.h"

namespace graphrun::devices::cpu {

/// A layer of random weights, and what is asked of it.
struct RecurrentCase {
  std::string cell;
  int64_t steps, batch, inputs, hidden;
  bool reverse = false, linear = false, peepholes = false, coupled = false;
  double clip = 0;
  std::vector<double> lengths = {};
  std::string activation = "tanh";  ///< of an rnn
  bool keepsSums = false;

  int64_t gates() const { return cell == "lstm" ? 4 : cell == "gru" ? 3 : 1; }

  Operation operation(ElementType type = ElementType::kF32) const {
    using Texts = std::vector<std::string>;
    Texts activations = cell == "lstm"  ? Texts{"sigmoid", "tanh", "tanh"}
                        : cell == "gru" ? Texts{"sigmoid", "tanh"}
                                        : Texts{activation};
    std::vector<double> none(activations.size(), 0);
    Operation op{"gr.recurrent",
                 {{"cell", cell},
                  {"activations", activations},
                  {"alphas", none},
                  {"betas", none},
                  {"reverse", reverse},
                  {"linear_before_reset", linear},
                  {"input_forget", coupled},
                  {"clip", clip}},
                 {{type, {steps, batch, hidden}}, {type, {batch, hidden}}},
                 {}};
    if (cell == "lstm") {
      op.outputs.push_back({type, {batch, hidden}});
    }
    if (keepsSums) {
      op.attributes["keep_sums"] = true;
      op.outputs.push_back({type, {steps, batch, (gates() + (linear ? 1 : 0)) * hidden}});
      if (keepsInner()) {
        op.outputs.push_back({type, {steps, batch, hidden}});
      }
    }
    return op;
  }

  /// Beside the sums, states or r h are kept.
  bool keepsInner() const { return keepsSums && cell != "rnn" && !linear; }

  Tensors operands(std::mt19937& random) const {
    Tensors list;
    list.push_back(randomTensor({steps, batch, inputs}, random));
    list.push_back(randomTensor({gates() * hidden, inputs}, random));
    list.push_back(randomTensor({gates() * hidden, hidden}, random));
    list.push_back(randomTensor({(gates() + (linear ? 1 : 0)) * hidden}, random));
    list.push_back(randomTensor({batch, hidden}, random));
    if (cell == "lstm") {
      list.push_back(randomTensor({batch, hidden}, random));
    }
    if (!lengths.empty()) {
      list.push_back(tensor(ElementType::kI32, {batch}, lengths));
    }
    if (peepholes) {
      list.push_back(randomTensor({3 * hidden}, random));
    }
    return list;
  }
};

/// The layer's results, element by element from the formulas of the operation's description.
class RecurrentOracle {
 public:
  RecurrentOracle(const RecurrentCase& layer, const Tensors& operands) : layer_(layer) {
    for (const HostTensor& operand : operands) {
      operands_.push_back(values(operand));
    }
  }

  /// All hidden values, the last ones, the last states.
  std::vector<std::vector<double>> run() {
    int64_t h = layer_.hidden;
    results_.assign(3, {});
    results_[0].assign(static_cast<size_t>(layer_.steps * layer_.batch * h), 0);
    for (int64_t b = 0; b < layer_.batch; ++b) {
      hidden_ = row(4, b, h);
      state_ = layer_.cell == "lstm" ? row(5, b, h) : std::vector<double>();
      int64_t length = layer_.lengths.empty()
                           ? layer_.steps
                           : static_cast<int64_t>(layer_.lengths[static_cast<size_t>(b)]);
      for (int64_t s = 0; s < length; ++s) {
        int64_t t = layer_.reverse ? length - 1 - s : s;
        step(row(0, t * layer_.batch + b, layer_.inputs));
        std::copy(hidden_.begin(), hidden_.end(), results_[0].begin() + (t * layer_.batch + b) * h);
      }
      results_[1].insert(results_[1].end(), hidden_.begin(), hidden_.end());
      results_[2].insert(results_[2].end(), state_.begin(), state_.end());
    }
    return results_;
  }

 private:
  std::vector<double> row(size_t operand, int64_t index, int64_t size) const {
    auto begin = operands_[operand].begin() + index * size;
    return {begin, begin + size};
  }
  double bounded(double x) const {
    return layer_.clip > 0 ? std::min(std::max(x, -layer_.clip), layer_.clip) : x;
  }
  double sigmoid(double x) const { return 1 / (1 + std::exp(-bounded(x))); }
  double tanhOf(double x) const { return std::tanh(bounded(x)); }
  double activated(double x) const {
    return layer_.activation == "relu"      ? (bounded(x) < 0 ? 0 : bounded(x))
           : layer_.activation == "sigmoid" ? sigmoid(x)
                                            : tanhOf(x);
  }
  double weighted(size_t matrix, int64_t gate, int64_t j, const std::vector<double>& v) const {
    double sum = 0;
    auto columns = static_cast<int64_t>(v.size());
    for (int64_t k = 0; k < columns; ++k) {
      sum += operands_[matrix][static_cast<size_t>((gate * layer_.hidden + j) * columns + k)] *
             v[static_cast<size_t>(k)];
    }
    return sum;
  }
  double bias(int64_t gate, int64_t j) const {
    return operands_[3][static_cast<size_t>(gate * layer_.hidden + j)];
  }
  double peep(int64_t gate, int64_t j, double state) const {
    return layer_.peepholes
               ? operands_.back()[static_cast<size_t>(gate * layer_.hidden + j)] * state
               : 0;
  }

  void step(const std::vector<double>& x) {
    std::vector<double> next(hidden_.size()), states(state_.size());
    auto sum = [&](int64_t gate, int64_t j) {
      return weighted(1, gate, j, x) + weighted(2, gate, j, hidden_) + bias(gate, j);
    };
    std::vector<double> reset(hidden_.size());
    for (int64_t j = 0; layer_.cell == "gru" && j < layer_.hidden; ++j) {
      reset[static_cast<size_t>(j)] = sigmoid(sum(1, j)) * hidden_[static_cast<size_t>(j)];
    }
    for (int64_t j = 0; j < layer_.hidden; ++j) {
      auto i = static_cast<size_t>(j);
      if (layer_.cell == "rnn") {
        next[i] = activated(sum(0, j));
      } else if (layer_.cell == "gru") {
        double past = layer_.linear ? sigmoid(sum(1, j)) * (weighted(2, 2, j, hidden_) + bias(3, j))
                                    : weighted(2, 2, j, reset);
        double fresh = tanhOf(weighted(1, 2, j, x) + bias(2, j) + past);
        double update = sigmoid(sum(0, j));
        next[i] = (1 - update) * fresh + update * hidden_[i];
      } else {
        double in = sigmoid(sum(0, j) + peep(0, j, state_[i]));
        double forget = layer_.coupled ? 1 - in : sigmoid(sum(1, j) + peep(1, j, state_[i]));
        states[i] = forget * state_[i] + in * tanhOf(sum(2, j));
        next[i] = sigmoid(sum(3, j) + peep(2, j, states[i])) * std::tanh(states[i]);
      }
    }
    hidden_ = next;
    state_ = states;
  }

  const RecurrentCase& layer_;
  std::vector<std::vector<double>> operands_, results_;
  std::vector<double> hidden_, state_;
};

/// The largest difference between the results that are not kept and the oracle's.
inline double oracleDistance(const RecurrentCase& layer, const Tensors& operands,
                             const Tensors& got) {
  auto expected = RecurrentOracle(layer, operands).run();
  double worst = 0;
  for (size_t i = 0; i < (layer.cell == "lstm" ? 3 : 2); ++i) {
    worst = std::max(worst, distance(got[i], f32(got[i].spec().dims, expected[i])));
  }
  return worst;
}

}  // namespace graphrun::devices::cpu

#endif  // GRAPHRUN_TESTS_DEVICES_CPU_RECURRENT_ORACLE_H_
