// RNN, GRU and LSTM: each direction becomes a gr.recurrent of its own, so that two of them can run
// side by side.

#include <string_view>

#include "absl/strings/str_cat.h"
#include "devices/functions/activations.h"
#include "frontends/onnx/op_table.h"
#include "frontends/onnx/operators/constant_rows.h"
#include "ir/dialect.h"

namespace graphrun::frontends {
namespace {

/// A cell in ONNX's words. `order` gives, for each gate of gr.recurrent, its position in ONNX's
/// matrices; for peepholes likewise.
struct Cell {
  std::string_view name;
  llvm::SmallVector<int64_t> order;
  llvm::SmallVector<int64_t> peepholes;
  std::vector<std::string> activations;  // the usual ones

  auto gates() const { return static_cast<int64_t>(order.size()); }
};

Cell cellOf(llvm::StringRef name) {
  const auto* row = devices::functions::activations::cellOf(name.str());
  Cell cell{row->name, {0}, {}, {row->usual.begin(), row->usual.end()}};
  if (name == "lstm") {
    cell.order = {0, 2, 3, 1};
    cell.peepholes = {0, 2, 1};
  } else if (name == "gru") {
    cell.order = {0, 1, 2};
  }
  return cell;
}

/// An activation with its parameters.
struct Activation {
  std::string name;
  double alpha = 0;
  double beta = 0;
};

/// An ActivationRow lists the parameters of an activation, and their defaults.
struct ActivationRow {
  const char* name;
  bool hasAlpha, hasBeta;
  double alpha, beta;
};
constexpr ActivationRow kActivations[] = {
#define GR_ACTIVATION(Kind, name, parameters, usualAlpha, usualBeta) \
  {#name, (parameters) > 0, (parameters) > 1, usualAlpha, usualBeta},
#include "devices/functions/recurrent.def"
};

/// The next of `values`, which are for those activations only that have such a parameter.
double take(llvm::ArrayRef<double>& values, bool wanted, double otherwise) {
  if (!wanted || values.empty()) {
    return otherwise;
  }
  double value = values.front();
  values = values.drop_front();
  return value;
}

/// Options hold the node's attributes.
struct Options {
  bool backwards = false, both = false;
  bool batchFirst = false;
  bool linearBeforeReset = false, inputForget = false;
  double clip = 0;
  int64_t hidden = 0;                   // 0: as the weights say
  std::vector<Activation> activations;  // of all directions

  int64_t directions() const { return both ? 2 : 1; }
};

void readActivations(Node& node, const Cell& cell, Options& options) {
  llvm::SmallVector<llvm::StringRef> names = node.attributes().texts("activations");
  llvm::SmallVector<double> alphaList = node.attributes().reals("activation_alpha");
  llvm::SmallVector<double> betaList = node.attributes().reals("activation_beta");
  llvm::ArrayRef<double> alphas = alphaList;
  llvm::ArrayRef<double> betas = betaList;
  size_t count = cell.activations.size() * static_cast<size_t>(options.directions());
  if (names.empty()) {
    for (size_t i = 0; i < count; ++i) {
      names.push_back(cell.activations[i % cell.activations.size()]);
    }
  }
  if (names.size() != count) {
    node.fail(absl::StrCat("names ", names.size(), " activations, expected ", count));
    return;
  }
  for (llvm::StringRef name : names) {
    std::string lower = name.lower();
    const auto* row = llvm::find_if(kActivations, [&](const auto& r) { return r.name == lower; });
    if (row == std::end(kActivations)) {
      node.fail(
          absl::StrCat("has the activation ", inQuotes(name), ", which is not one of ONNX's"));
      return;
    }
    options.activations.push_back(
        {lower, take(alphas, row->hasAlpha, row->alpha), take(betas, row->hasBeta, row->beta)});
  }
}

Options readOptions(Node& node, const Cell& cell) {
  Attributes& attributes = node.attributes();
  Options options;
  std::string direction = attributes.text("direction", "forward");
  options.both = direction == "bidirectional";
  options.backwards = direction == "reverse";
  // The default of GRU's first version is misspelt in the standard.
  if (!options.both && !options.backwards && direction != "forward" && direction != "foward") {
    node.fail(absl::StrCat("direction is ", inQuotes(direction),
                           ", expected forward, reverse or bidirectional"));
  }
  readActivations(node, cell, options);
  options.hidden = attributes.integer("hidden_size", 0);
  if (attributes.has("clip")) {
    options.clip = attributes.real("clip", 0);
    if (!(options.clip > 0)) {
      node.fail(absl::StrCat("clip is ", options.clip, ", expected a number above 0"));
    }
  }
  if (node.opset() >= 14) {
    options.batchFirst = attributes.integer("layout", 0) != 0;
  }
  if (node.opset() < 7) {
    attributes.ignore({"output_sequence"});  // whether the first output is wanted: it is there
  }
  if (node.target() == "gru" && node.opset() >= 3) {
    options.linearBeforeReset = attributes.integer("linear_before_reset", 0) != 0;
  }
  if (node.target() == "lstm") {
    options.inputForget = attributes.integer("input_forget", 0) != 0;
  }
  return options;
}

mlir::Value transposed(Node& node, mlir::Value value, bool wanted) {
  return wanted ? node.emit("gr.transpose", {value}, {node.integers("permutation", {1, 0, 2})})
                : value;
}

/// One node's directions.
class Recurrent {
 public:
  Recurrent(Node& node, const Cell& cell, const Options& options)
      : node_(node), cell_(cell), options_(options) {}

  Values run() {
    std::vector<Values> parts;
    x_ = transposed(node_, node_.input(0), options_.batchFirst);
    if (!prepare()) {
      return Values(node_.outputCount());
    }
    parts.reserve(options_.directions());
    for (int64_t d = 0; d < options_.directions(); ++d) {
      parts.push_back(direction(d));
    }
    Values outputs;
    for (size_t i = 0; i < parts[0].size() && i < node_.outputCount(); ++i) {
      Values values;
      for (const Values& part : parts) {
        values.push_back(part[i]);
      }
      // ONNX has a dim for the directions: behind the steps, before the batch or behind it.
      outputs.push_back(join(values, (i == 0 ? 1 : 0) + (options_.batchFirst ? 1 : 0)));
    }
    return outputs;
  }

 private:
  /// Learns the size of the hidden values; puts the node off when the weights' shapes are not
  /// known.
  bool prepare() {
    for (size_t i : {1, 2, 3, 7}) {
      auto type = node_.input(i) ? llvm::cast<mlir::ShapedType>(node_.input(i).getType()) : nullptr;
      if (type && !type.hasStaticShape()) {
        node_.putOff(nullptr);
        return false;
      }
      if (type && (type.getRank() < 1 || type.getDimSize(0) != options_.directions())) {
        node_.fail(absl::StrCat("input ", i, " is for ",
                                type.getRank() < 1 ? 0 : type.getDimSize(0),
                                " directions, expected ", options_.directions()));
        return false;
      }
    }
    auto recurrent = llvm::cast<mlir::ShapedType>(node_.input(2).getType()).getShape();
    hidden_ = recurrent.back();
    if (recurrent.size() != 3 || recurrent[1] != cell_.gates() * hidden_ ||
        (options_.hidden != 0 && options_.hidden != hidden_)) {
      node_.fail(absl::StrCat("its recurrent weights (input 2) have another shape than ",
                              options_.directions(), "x", cell_.gates(),
                              "*hidden_size x hidden_size"));
      return false;
    }
    return !node_.failed();
  }

  /// The named gates of input `i` in direction `d`.
  mlir::Value pick(size_t i, int64_t d, llvm::ArrayRef<int64_t> gates, int64_t count) {
    return rowsOf(node_, node_.input(i), absl::StrCat("input ", i), d, hidden_, count, gates);
  }

  mlir::Value bias(int64_t d) {
    int64_t gates = cell_.gates();
    if (!node_.input(3)) {
      return zeros({}, (gates + (options_.linearBeforeReset ? 1 : 0)) * hidden_);
    }
    llvm::SmallVector<int64_t> first = cell_.order;
    llvm::SmallVector<int64_t> second;
    for (int64_t gate : first) {
      second.push_back(gate + gates);
    }
    llvm::ArrayRef<int64_t> a = first;
    llvm::ArrayRef<int64_t> b = second;
    // The new value's two parts stay apart when the reset comes between them.
    size_t apart = options_.linearBeforeReset ? 1 : 0;
    mlir::Value sum = node_.emit("gr.add", {pick(3, d, a.drop_back(apart), 2 * gates),
                                            pick(3, d, b.drop_back(apart), 2 * gates)});
    return apart == 0 ? sum
                      : node_.emit("gr.concat", {sum, pick(3, d, {a.back(), b.back()}, 2 * gates)},
                                   {node_.integer("axis", 0)});
  }

  /// Zeros of the dims `batch` (a vector, or null) and `size`.
  mlir::Value zeros(mlir::Value batch, int64_t size) {
    mlir::Value shape = node_.constant({size});
    if (batch) {
      shape = node_.emit("gr.concat", {batch, shape}, {node_.integer("axis", 0)});
    }
    mlir::Type element = node_.elementOf(node_.input(0));
    auto type = mlir::RankedTensorType::get({1}, element);
    return node_.emit("gr.fill", {shape},
                      {node_.named("value", mlir::DenseElementsAttr::get(
                                                type, node_.builder().getFloatAttr(element, 0)))});
  }

  /// Input `i`, a first value for each direction, or zeros.
  mlir::Value initial(size_t i, int64_t d) {
    mlir::Value value = node_.input(i);
    int64_t axis = options_.batchFirst ? 1 : 0;
    if (!value) {
      return zeros(
          node_.emit("gr.shape", {x_}, {node_.integer("start", 1), node_.integer("end", 2)}),
          hidden_);
    }
    return node_.emit("gr.gather",
                      {value, node_.scalarLike(node_.constant({0}), static_cast<double>(d))},
                      {node_.integer("axis", axis)});
  }

  /// Hidden values of all steps, of the last one, and the last state.
  Values direction(int64_t d) {
    if (!llvm::isa<mlir::FloatType>(node_.elementOf(node_.input(0)))) {
      node_.fail("its inputs are not of a floating-point type");
      return Values(3);
    }
    bool lstm = node_.target() == "lstm";
    Values operands = {x_, pick(1, d, cell_.order, cell_.gates()),
                       pick(2, d, cell_.order, cell_.gates()), bias(d), initial(5, d)};
    if (lstm) {
      operands.push_back(initial(6, d));
    }
    if (node_.input(4)) {
      operands.push_back(node_.input(4));
    }
    if (node_.input(7)) {
      operands.push_back(pick(7, d, cell_.peepholes, 3));
    }
    return node_.emitMany("gr.recurrent", operands, attributes(d, lstm), lstm ? 3 : 2);
  }

  llvm::SmallVector<mlir::NamedAttribute> attributes(int64_t d, bool lstm) {
    std::vector<llvm::StringRef> names;
    llvm::SmallVector<double> alphas, betas;
    size_t count = cell_.activations.size();
    for (size_t i = 0; i < count; ++i) {
      const Activation& a = options_.activations[static_cast<size_t>(d) * count + i];
      names.push_back(a.name);
      alphas.push_back(a.alpha);
      betas.push_back(a.beta);
    }
    mlir::Builder& builder = node_.builder();
    return {node_.text("cell", cell_.name),
            node_.named("activations", builder.getStrArrayAttr(names)),
            node_.named("alphas", builder.getDenseF64ArrayAttr(alphas)),
            node_.named("betas", builder.getDenseF64ArrayAttr(betas)),
            node_.boolean("reverse", options_.backwards || d == 1),
            node_.boolean("linear_before_reset", options_.linearBeforeReset),
            node_.boolean("input_forget", options_.inputForget),
            node_.real("clip", options_.clip),
            node_.named(
                "operandSegmentSizes",
                builder.getDenseI32ArrayAttr({1, 1, 1, 1, 1, lstm ? 1 : 0, node_.input(4) ? 1 : 0,
                                              node_.input(7) ? 1 : 0}))};
  }

  /// One value for each direction along a new dim.
  mlir::Value join(Values values, int64_t axis) {
    for (mlir::Value& value : values) {
      bool sequence = value && llvm::cast<mlir::ShapedType>(value.getType()).getRank() == 3;
      value =
          node_.emit("gr.unsqueeze", {transposed(node_, value, options_.batchFirst && sequence)},
                     {node_.integers("axes", {axis})});
    }
    return values.size() == 1 ? values[0]
                              : node_.emit("gr.concat", values, {node_.integer("axis", axis)});
  }

  Node& node_;
  const Cell& cell_;
  const Options& options_;
  mlir::Value x_;
  int64_t hidden_ = 0;
};

Values recurrent(Node& node) {
  Cell cell = cellOf(node.target());
  Options options = readOptions(node, cell);
  if (node.failed()) {
    return Values(node.outputCount());
  }
  return Recurrent(node, cell, options).run();
}

const OpRow kRecurrentOps[] = {
    {"RNN", 1, kLast, 3, 6, 2, recurrent, "rnn"},
    {"GRU", 1, kLast, 3, 6, 2, recurrent, "gru"},
    {"LSTM", 1, kLast, 3, 8, 3, recurrent, "lstm"},
};

}  // namespace

llvm::ArrayRef<OpRow> recurrentOps() { return kRecurrentOps; }

}  // namespace graphrun::frontends
