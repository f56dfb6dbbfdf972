// ai.onnx.ml: ensembles of trees.
#include <cmath>
#include <map>

#include "absl/strings/str_cat.h"
#include "frontends/onnx/op_table.h"
#include "frontends/onnx/operators/index_helpers.h"
#include "frontends/onnx/operators/ml_helpers.h"
#include "llvm/ADT/StringSwitch.h"

namespace graphrun::frontends {
namespace {

using Ints = llvm::SmallVector<int64_t>;
using Reals = llvm::SmallVector<double>;

constexpr int64_t kColumns = 7;
constexpr int64_t kMember = 6;
constexpr int64_t kLeaf = 7;

/// The operands of gr.tree_ensemble.
struct Trees {
  Reals splits;
  Ints nodes;  // kColumns a row
  Reals members;
  Reals weights;
  Ints targets;
  Ints roots;

  int64_t* row(size_t i) { return nodes.data() + i * kColumns; }
  void addNode(int64_t mode, int64_t feature, double split, bool missing) {
    nodes.append({mode, feature, 0, 0, missing ? 1 : 0, 0, 0});
    splits.push_back(split);
  }
};

mlir::Value emitTrees(Node& node, mlir::Value input, Trees& trees, llvm::StringRef aggregate,
                      int64_t outputs) {
  if (!input || node.failed()) {
    return nullptr;
  }
  mlir::Type element = node.elementOf(input);
  auto rows = static_cast<int64_t>(trees.splits.size());
  mlir::Value nodes =
      node.emit("gr.reshape", {node.constant(trees.nodes), node.constant({rows, kColumns})});
  return node.emit(
      "gr.tree_ensemble",
      {input, realConstant(node, trees.splits, element), nodes,
       realConstant(node, trees.members, element), realConstant(node, trees.weights, element),
       node.constant(trees.targets), node.constant(trees.roots)},
      {node.text("aggregate", aggregate), node.integer("outputs", outputs)});
}

int64_t modeOf(llvm::StringRef name) {
  return llvm::StringSwitch<int64_t>(name)
      .Case("BRANCH_LEQ", 0)
      .Case("BRANCH_LT", 1)
      .Case("BRANCH_GTE", 2)
      .Case("BRANCH_GT", 3)
      .Case("BRANCH_EQ", 4)
      .Case("BRANCH_NEQ", 5)
      .Case("LEAF", kLeaf)
      .Default(-1);
}

/// The nodes of TreeEnsembleClassifier and TreeEnsembleRegressor: lists of equal length, where
/// nodes are named by the numbers of their tree and in it.
class ListedTrees {
 public:
  /// `leaves`: the prefix of the attributes that give leaves their weights, "class" or "target".
  ListedTrees(Node& node, llvm::StringRef leaves) : node_(node), leaves_(leaves) {}

  Trees read() {
    readNodes();
    if (!node_.failed()) {
      link();
    }
    if (!node_.failed()) {
      readLeaves();
    }
    return std::move(trees_);
  }

 private:
  using Name = std::pair<int64_t, int64_t>;  // tree, node

  void readNodes() {
    Attributes& attributes = node_.attributes();
    treeIds_ = attributes.integers("nodes_treeids");
    nodeIds_ = attributes.integers("nodes_nodeids");
    yes_ = attributes.integers("nodes_truenodeids");
    no_ = attributes.integers("nodes_falsenodeids");
    attributes.ignore({"nodes_hitrates", "nodes_hitrates_as_tensor"});  // statistics of training
    Ints features = attributes.integers("nodes_featureids");
    Ints missing = attributes.integers("nodes_missing_value_tracks_true");
    auto modes = attributes.texts("nodes_modes");
    Reals values = tensorOrReals(node_, "nodes_values");
    size_t count = treeIds_.size();
    missing.resize(missing.empty() ? count : missing.size());
    for (size_t size : {nodeIds_.size(), yes_.size(), no_.size(), features.size(), missing.size(),
                        modes.size(), values.size()}) {
      if (size != count || count == 0) {
        node_.fail(absl::StrCat("an attribute nodes_… has ", size, " elements, nodes_treeids has ",
                                count, ", expected as many, and some"));
        return;
      }
    }
    for (size_t i = 0; i < count; ++i) {
      int64_t mode = modeOf(modes[i]);
      if (mode < 0 || !indices_.try_emplace({treeIds_[i], nodeIds_[i]}, i).second) {
        node_.fail(absl::StrCat(
            "node ", nodeIds_[i], " of tree ", treeIds_[i],
            mode < 0 ? absl::StrCat(" has the mode ", inQuotes(modes[i])) : " is there twice",
            ", expected BRANCH_LEQ, _LT, _GTE, _GT, _EQ, _NEQ or LEAF, once"));
        return;
      }
      trees_.addNode(mode, mode == kLeaf ? 0 : features[i], values[i], missing[i] != 0);
    }
  }

  /// Finds the children of all nodes; what is nobody's child is a root.
  void link() {
    std::vector<bool> isChild(treeIds_.size());
    for (size_t i = 0; i < treeIds_.size(); ++i) {
      int64_t* row = trees_.row(i);
      for (int64_t side = 0; side < 2 && row[0] != kLeaf; ++side) {
        int64_t id = side == 0 ? yes_[i] : no_[i];
        auto child = indices_.find({treeIds_[i], id});
        if (child == indices_.end()) {
          node_.fail(absl::StrCat("node ", nodeIds_[i], " of tree ", treeIds_[i], " leads to node ",
                                  id, ", which is not there"));
          return;
        }
        row[2 + side] = static_cast<int64_t>(child->second);
        isChild[child->second] = true;
      }
    }
    std::map<int64_t, int64_t> roots;
    for (size_t i = 0; i < treeIds_.size(); ++i) {
      roots[treeIds_[i]] += isChild[i] ? 0 : 1;
      if (!isChild[i]) {
        trees_.roots.push_back(static_cast<int64_t>(i));
      }
    }
    for (auto [tree, count] : roots) {
      if (count != 1) {
        node_.fail(absl::StrCat("tree ", tree, " has ", count, " roots, expected 1"));
        return;
      }
    }
  }

  void readLeaves() {
    auto name = [&](const char* what) { return absl::StrCat(leaves_.str(), "_", what); };
    Ints trees = node_.attributes().integers(name("treeids"));
    Ints nodes = node_.attributes().integers(name("nodeids"));
    Ints ids = node_.attributes().integers(name("ids"));
    Reals weights = tensorOrReals(node_, name("weights"));
    std::map<size_t, llvm::SmallVector<size_t, 2>> byNode;
    bool equal =
        trees.size() == nodes.size() && nodes.size() == ids.size() && ids.size() == weights.size();
    for (size_t i = 0; equal && i < ids.size(); ++i) {
      auto found = indices_.find({trees[i], nodes[i]});
      if (found == indices_.end()) {
        node_.fail(absl::StrCat("node ", nodes[i], " of tree ", trees[i],
                                " has a weight, but is not there"));
        return;
      }
      byNode[found->second].push_back(i);
    }
    if (!equal) {
      node_.fail(absl::StrCat("the attributes ", name("…"), " have different lengths"));
      return;
    }
    for (const auto& [index, entries] : byNode) {
      int64_t* row = trees_.row(index);
      if (row[0] != kLeaf) {
        continue;
      }
      row[2] = static_cast<int64_t>(trees_.weights.size());
      for (size_t entry : entries) {
        trees_.weights.push_back(weights[entry]);
        trees_.targets.push_back(ids[entry]);
      }
      row[3] = static_cast<int64_t>(trees_.weights.size());
    }
  }

  Node& node_;
  llvm::StringRef leaves_;
  Trees trees_;
  Ints treeIds_, nodeIds_, yes_, no_;
  std::map<Name, size_t> indices_;
};

/// `scores` plus `base`, one number for all columns or one for each.
mlir::Value withBase(Node& node, mlir::Value scores, llvm::ArrayRef<double> base) {
  return base.empty() || !scores
             ? scores
             : add(node, scores, realConstant(node, base, node.elementOf(scores)));
}

Values treeRegressor(Node& node) {
  std::string name = node.attributes().text("aggregate_function", "SUM");
  std::string transform = node.attributes().text("post_transform", "NONE");
  int64_t targets = node.attributes().integer("n_targets", 1);
  Reals base = tensorOrReals(node, "base_values");
  Trees trees = ListedTrees(node, "target").read();
  mlir::Value x = asReal(node, asMatrix(node, node.input(0)));
  llvm::StringRef aggregate = llvm::StringSwitch<llvm::StringRef>(name)
                                  .Case("SUM", "sum")
                                  .Case("AVERAGE", "average")
                                  .Case("MIN", "min")
                                  .Case("MAX", "max")
                                  .Default("");
  if (aggregate.empty()) {
    return {node.fail(absl::StrCat("aggregate_function is ", inQuotes(name),
                                   ", expected SUM, AVERAGE, MIN or MAX"))};
  }
  mlir::Value scores = withBase(node, emitTrees(node, x, trees, aggregate, targets), base);
  return {toFloat(node, postTransform(node, scores, transform))};
}

/// Two classes of which the trees score one, in column `column` of two. Weights that are all
/// positive are probabilities. As ONNX Runtime has it, which ONNX leaves open.
Values binaryTrees(Node& node, mlir::Value score, int64_t column, mlir::Value labels,
                   bool probabilities, llvm::StringRef transform) {
  mlir::Value one = node.emit("gr.squeeze", {score}, {node.integers("axes", {1})});
  mlir::Value above = greater(node, one, node.scalarLike(score, probabilities ? 0.5 : 0));
  mlir::Value label = labelAt(node, labels, above);
  mlir::Value zero = node.scalarLike(score, 0);
  if (column == 1) {
    mlir::Value both = beside(node, {mul(node, score, zero), score});
    return {label, toFloat(node, postTransform(node, both, transform))};
  }
  if (transform == "LOGISTIC") {
    mlir::Value both = beside(node, {node.emit("gr.neg", {score}), score});
    return {label, toFloat(node, postTransform(node, both, transform))};
  }
  mlir::Value other = sub(node, probabilities ? node.scalarLike(score, 1) : zero, score);
  return {label, toFloat(node, beside(node, {other, score}))};
}

Values treeClassifier(Node& node) {
  std::string transform = node.attributes().text("post_transform", "NONE");
  mlir::Value labels = labelsOf(node, "classlabels_int64s", "classlabels_strings");
  Reals base = tensorOrReals(node, "base_values");
  Trees trees = ListedTrees(node, "class").read();
  mlir::Value x = asReal(node, asMatrix(node, node.input(0)));
  if (!labels || !x || node.failed()) {
    return {nullptr, nullptr};
  }
  int64_t classes = llvm::cast<mlir::ShapedType>(labels.getType()).getNumElements();
  bool scoresOne = !trees.targets.empty() && classes == 2 && llvm::all_equal(trees.targets);
  if (scoresOne) {
    bool positive = llvm::all_of(trees.weights, [](double weight) { return weight >= 0; });
    int64_t column = trees.targets[0];
    std::fill(trees.targets.begin(), trees.targets.end(), 0);
    mlir::Value score = emitTrees(node, x, trees, "sum", 1);
    score = withBase(node, score, base.empty() ? base : Reals{base.back()});
    return binaryTrees(node, score, column, labels, positive, transform);
  }
  mlir::Value scores = withBase(node, emitTrees(node, x, trees, "sum", classes), base);
  mlir::Value label = labelAt(node, labels, argMax(node, scores));
  return {label, toFloat(node, postTransform(node, scores, transform))};
}

/// Version 5's TreeEnsemble: inner nodes and leaves in lists of their own.
Trees readTrees(Node& node) {
  Trees trees;
  Attributes& attributes = node.attributes();
  attributes.ignore({"nodes_hitrates"});
  Ints features = attributes.integers("nodes_featureids");
  Ints missing = attributes.integers("nodes_missing_value_tracks_true");
  Ints children[] = {attributes.integers("nodes_truenodeids"),
                     attributes.integers("nodes_falsenodeids")};
  Ints isLeaf[] = {attributes.integers("nodes_trueleafs"), attributes.integers("nodes_falseleafs")};
  Reals modes = tensorReals(node, "nodes_modes");
  Reals splits = tensorReals(node, "nodes_splits");
  trees.roots = attributes.integers("tree_roots");
  trees.targets = attributes.integers("leaf_targetids");
  trees.weights = tensorReals(node, "leaf_weights");
  Reals members = tensorReals(node, "membership_values");
  size_t count = features.size();
  missing.resize(missing.empty() ? count : missing.size());
  for (size_t size : {missing.size(), children[0].size(), children[1].size(), isLeaf[0].size(),
                      isLeaf[1].size(), modes.size(), splits.size()}) {
    if (size != count) {
      node.fail(absl::StrCat("an attribute nodes_… has ", size, " elements, nodes_featureids has ",
                             count, ", expected as many"));
      return trees;
    }
  }
  if (trees.targets.size() != trees.weights.size()) {
    node.fail("leaf_targetids and leaf_weights have different lengths");
    return trees;
  }
  size_t nextMember = 0;
  for (size_t i = 0; i < count; ++i) {
    trees.addNode(static_cast<int64_t>(modes[i]), features[i], splits[i], missing[i] != 0);
    int64_t* row = trees.row(i);
    for (size_t side = 0; side < 2; ++side) {
      row[2 + side] = children[side][i] + (isLeaf[side][i] != 0 ? static_cast<int64_t>(count) : 0);
    }
    if (row[0] == kMember) {  // its members end with a NaN
      row[5] = static_cast<int64_t>(trees.members.size());
      while (nextMember < members.size() && !std::isnan(members[nextMember])) {
        trees.members.push_back(members[nextMember++]);
      }
      ++nextMember;
      row[6] = static_cast<int64_t>(trees.members.size());
    }
  }
  for (size_t leaf = 0; leaf < trees.targets.size(); ++leaf) {
    trees.addNode(kLeaf, 0, 0, false);
    int64_t* row = trees.row(count + leaf);
    row[2] = static_cast<int64_t>(leaf);
    row[3] = row[2] + 1;
  }
  return trees;
}

Values treeEnsemble(Node& node) {
  static constexpr const char* kAggregates[] = {"average", "sum", "min", "max"};
  static constexpr const char* kTransforms[] = {"NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO",
                                                "PROBIT"};
  int64_t aggregate = node.attributes().integer("aggregate_function", 1);
  int64_t transform = node.attributes().integer("post_transform", 0);
  Trees trees = readTrees(node);
  int64_t outputs = node.attributes().integer(
      "n_targets", trees.targets.empty() ? 1 : *llvm::max_element(trees.targets) + 1);
  if (aggregate < 0 || aggregate > 3 || transform < 0 || transform > 4) {
    return {node.fail(absl::StrCat("has aggregate_function ", aggregate, " and post_transform ",
                                   transform, ", expected 0 to 3 and 0 to 4"))};
  }
  mlir::Value scores = emitTrees(node, node.input(0), trees, kAggregates[aggregate], outputs);
  return {postTransform(node, scores, kTransforms[transform])};
}

const OpRow kMlEnsembleOps[] = {
    {"ai.onnx.ml.TreeEnsemble", 5, kLastMl, 1, 1, 1, treeEnsemble},
    {"ai.onnx.ml.TreeEnsembleClassifier", 1, kLastMl, 1, 1, 2, treeClassifier},
    {"ai.onnx.ml.TreeEnsembleRegressor", 1, kLastMl, 1, 1, 1, treeRegressor},
};

}  // namespace

llvm::ArrayRef<OpRow> mlEnsembleOps() { return kMlEnsembleOps; }

}  // namespace graphrun::frontends
