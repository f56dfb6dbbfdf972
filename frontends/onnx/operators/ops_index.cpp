// Reading and writing by index, selecting and ordering.
#include <cmath>

#include "absl/strings/str_cat.h"
#include "frontends/onnx/op_table.h"
#include "frontends/onnx/operators/compose.h"
#include "frontends/onnx/operators/ops_string.h"
#include "frontends/onnx/tensors.h"
#include "ir/builders.h"
#include "ir/dialect.h"

namespace graphrun::frontends {
namespace {

Values gatherElements(Node& node) {
  std::optional<int64_t> axis = axisOf(node, 0);
  return {axis ? node.emit("gr.gather_elements", node.inputs(), {node.integer("axis", *axis)})
               : mlir::Value()};
}

Values gatherNd(Node& node) {
  int64_t batch = node.attributes().integer("batch_dims", 0);
  return {node.emit("gr.gather_nd", node.inputs(), {node.integer("batch_dims", batch)})};
}

mlir::NamedAttribute reduction(Node& node) {
  return node.text("reduction", node.attributes().text("reduction", "none"));
}

Values scatterElements(Node& node) {
  mlir::NamedAttribute how = reduction(node);
  std::optional<int64_t> axis = axisOf(node, 0);
  return {axis ? node.emit("gr.scatter_elements", node.inputs(), {node.integer("axis", *axis), how})
               : mlir::Value()};
}

Values scatterNd(Node& node) {
  return {node.emit("gr.scatter_nd", node.inputs(), {reduction(node)})};
}

/// A cache as batch x sequence x rest, or back: the dims of `value` with `from` moved to `to`.
mlir::Value moveAxis(Node& node, mlir::Value value, int64_t rank, int64_t from, int64_t to) {
  llvm::SmallVector<int64_t> permutation = llvm::to_vector(llvm::seq<int64_t>(0, rank));
  permutation.erase(permutation.begin() + from);
  permutation.insert(permutation.begin() + to, from);
  return from == to
             ? value
             : node.emit("gr.transpose", {value}, {node.integers("permutation", permutation)});
}

/// Each position of the update goes to its batch's write index plus its own position, in circles
/// where the mode says so.
Values tensorScatter(Node& node) {
  std::string mode = node.attributes().text("mode", "linear");
  std::optional<int64_t> axis = axisOf(node, -2);
  if (!axis) {
    return {nullptr};
  }
  if (*axis == 0 || (mode != "linear" && mode != "circular")) {
    return {
        node.fail(absl::StrCat("has axis ", *axis, " and mode ", inQuotes(mode),
                               ", expected an axis behind the batch's, and linear or circular"))};
  }
  int64_t rank = *node.rankOf(node.input(0));
  mlir::Value cache = moveAxis(node, computable(node, node.input(0)), rank, *axis, 1);
  mlir::Value update = moveAxis(node, computable(node, node.input(1)), rank, *axis, 1);
  mlir::Value batch = rangeTo(node, dimOf(node, update, 0));
  mlir::Value column = node.emit("gr.unsqueeze", {batch}, {node.integers("axes", {1})});
  mlir::Value position = rangeTo(node, dimOf(node, update, 1));
  if (node.input(2)) {
    mlir::Value start = castTo(node, node.input(2), node.builder().getI64Type());
    position = node.emit(
        "gr.add", {position, node.emit("gr.unsqueeze", {start}, {node.integers("axes", {1})})});
  }
  if (mode == "circular") {
    mlir::Value size = dimOf(node, cache, 1);
    mlir::Value rounds = node.emit("gr.mul", {node.emit("gr.div", {position, size}), size});
    position = node.emit("gr.sub", {position, rounds});
  }
  mlir::Value grid = node.emit("gr.shape", {update}, {node.integer("end", 2)});
  Values parts;
  for (mlir::Value part : {column, position}) {
    mlir::Value full = node.emit("gr.expand", {part, grid});
    parts.push_back(node.emit("gr.unsqueeze", {full}, {node.integers("axes", {2})}));
  }
  mlir::Value indices = node.emit("gr.concat", parts, {node.integer("axis", 2)});
  mlir::Value result = node.emit("gr.scatter_nd", {cache, indices, update});
  return {castLike(node, moveAxis(node, result, rank, 1, *axis), node.input(0))};
}

Values nonZero(Node& node) {
  mlir::Value input = node.input(0);
  if (ir::isStrings(input.getType())) {  // a string is zero when it is empty
    input = node.emit("gr.not", {node.emit("gr.equal", {input, node.scalarLike(input, 0)})});
  }
  Values results = node.emitMany("gr.non_zero", {input}, {}, 2);
  return {firstOf(node, results[0], results[1], 1)};
}

mlir::Value flat(Node& node, mlir::Value value) {
  return node.emit("gr.reshape", {value, node.constant({-1})});
}

/// The axis named by the attribute, and the input; without one, 0 and the flat input.
std::optional<int64_t> axisOrFlat(Node& node, mlir::Value& value) {
  if (node.attributes().has("axis")) {
    return axisOf(node, 0);
  }
  value = flat(node, value);
  return 0;
}

Values unique(Node& node) {
  mlir::Value input = node.input(0);
  bool sorted = node.attributes().integer("sorted", 1) != 0;
  if (sorted && ir::isStrings(input.getType())) {
    return uniqueStrings(node);
  }
  std::optional<int64_t> axis = axisOrFlat(node, input);
  if (!axis) {
    return {nullptr};
  }
  Values all = node.emitMany("gr.unique", {input},
                             {node.integer("axis", *axis), node.boolean("sorted", sorted)}, 5);
  Values results = {firstOf(node, all[0], all[4], *axis)};
  for (size_t i = 1; i < 4; ++i) {
    bool whole = i == 2;  // the inverse has an element for each slice of the input
    results.push_back(!node.outputUsed(i) ? mlir::Value()
                      : whole             ? all[i]
                                          : firstOf(node, all[i], all[4], 0));
  }
  return results;
}

/// The slices at the positions where the condition holds.
Values compress(Node& node) {
  mlir::Value input = node.input(0);
  std::optional<int64_t> axis = axisOrFlat(node, input);
  Values found = node.emitMany("gr.non_zero", {node.input(1)}, {}, 2);
  mlir::Value positions = flat(node, firstOf(node, found[0], found[1], 1));
  return {axis ? node.emit("gr.gather", {input, positions}, {node.integer("axis", *axis)})
               : mlir::Value()};
}

Values topK(Node& node) {
  mlir::Value k = node.input(1);
  if (node.opset() < 10) {
    node.attributes().require("k");
    k = node.constant({node.attributes().integer("k", 0)});
  }
  bool largest = node.attributes().integer("largest", 1) != 0;
  node.attributes().ignore({"sorted"});  // the result is sorted in any case
  std::optional<int64_t> axis = axisOf(node, -1);
  return axis ? node.emitMany("gr.top_k", {node.input(0), k},
                              {node.integer("axis", *axis), node.boolean("largest", largest)}, 2)
              : Values(2);
}

Values argReduce(Node& node) {
  bool keepdims = node.attributes().integer("keepdims", 1) != 0;
  bool last = node.attributes().integer("select_last_index", 0) != 0;
  std::optional<int64_t> axis = axisOf(node, 0);
  return {axis ? node.emit("gr.arg_reduce", {node.input(0)},
                           {node.text("kind", node.target()), node.integer("axis", *axis),
                            node.boolean("keepdims", keepdims), node.boolean("last", last)})
               : mlir::Value()};
}

/// 1 at the largest element along the axis, 0 elsewhere. Before opset 13 the input is a matrix of
/// the dims before the axis and those from it on.
Values hardmax(Node& node) {
  bool matrix = node.opset() < 13;
  mlir::Value input = node.input(0);
  std::optional<int64_t> axis = axisOf(node, matrix ? 1 : -1);
  if (!axis) {
    return {nullptr};
  }
  int64_t rank = *node.rankOf(input);
  ir::Dims dims = *ir::dimsOf(input);
  ir::Dim size = matrix ? product(llvm::ArrayRef(dims).drop_front(*axis)) : dims[*axis];
  if (!size.isStatic()) {
    return {node.putOff(nullptr)};  // whether there is a largest element is not known yet
  }
  if (size.value() == 0) {
    return {input};
  }
  if (matrix) {
    input = reshapeTo(node, input,
                      {dimProduct(node, input, 0, *axis), dimProduct(node, input, *axis, rank)});
    rank = 2;
    axis = 1;
  }
  mlir::Value best = node.emit(
      "gr.arg_reduce", {input},
      {node.text("kind", "max"), node.integer("axis", *axis), node.boolean("keepdims", true)});
  mlir::Value positions =
      withTrailing(node, rangeTo(node, dimOf(node, input, *axis)), rank - 1 - *axis);
  mlir::Value result =
      castTo(node, node.emit("gr.equal", {best, positions}), node.elementOf(node.input(0)));
  return {matrix ? reshapeTo(node, result, Values{node.emit("gr.shape", {node.input(0)})})
                 : result};
}

Values cumulative(Node& node) {
  bool exclusive = node.attributes().integer("exclusive", 0) != 0;
  bool reverse = node.attributes().integer("reverse", 0) != 0;
  return {node.emit("gr.cumulative", {node.input(0), node.input(1)},
                    {node.text("kind", node.target()), node.boolean("exclusive", exclusive),
                     node.boolean("reverse", reverse)})};
}

/// Input `i` as a value of the type of the scores, or `absent`.
mlir::Value threshold(Node& node, size_t i, double absent) {
  mlir::Value scores = node.input(1);
  return node.input(i) ? castTo(node, node.input(i), node.elementOf(scores))
                       : node.scalarLike(scores, absent);
}

Values nonMaxSuppression(Node& node) {
  bool centre = node.attributes().integer("center_point_box", 0) != 0;
  mlir::Value most = node.input(2) ? node.input(2) : node.constant({0});
  std::optional<llvm::SmallVector<int64_t>> known = ir::constantInts(most);
  int64_t bound = known && known->size() == 1 ? std::max<int64_t>((*known)[0], 0) : -1;
  Values results = node.emitMany(
      "gr.non_max_suppression",
      {node.input(0), node.input(1), most, threshold(node, 3, 0), threshold(node, 4, -INFINITY)},
      {node.boolean("center_point_box", centre), node.integer("bound", bound)}, 2);
  return {firstOf(node, results[0], results[1], 0)};
}

const OpRow kIndexOps[] = {
    {"GatherElements", 11, kLast, 2, 2, 1, gatherElements},
    {"GatherND", 11, kLast, 2, 2, 1, gatherNd},
    {"Scatter", 9, kLast, 3, 3, 1, scatterElements},
    {"ScatterElements", 11, kLast, 3, 3, 1, scatterElements},
    {"ScatterND", 11, kLast, 3, 3, 1, scatterNd},
    {"TensorScatter", 24, kLast, 2, 3, 1, tensorScatter},
    {"NonZero", 9, kLast, 1, 1, 1, nonZero},
    {"Unique", 11, kLast, 1, 1, 4, unique},
    {"Compress", 9, kLast, 2, 2, 1, compress},
    {"TopK", 1, 9, 1, 1, 2, topK},
    {"TopK", 10, kLast, 2, 2, 2, topK},
    {"ArgMax", 1, kLast, 1, 1, 1, argReduce, "max"},
    {"ArgMin", 1, kLast, 1, 1, 1, argReduce, "min"},
    {"Hardmax", 1, kLast, 1, 1, 1, hardmax},
    {"CumSum", 11, kLast, 2, 2, 1, cumulative, "sum"},
    {"CumProd", 26, kLast, 2, 2, 1, cumulative, "prod"},
    {"NonMaxSuppression", 10, kLast, 2, 5, 1, nonMaxSuppression},
};

}  // namespace

llvm::ArrayRef<OpRow> indexOps() { return kIndexOps; }

}  // namespace graphrun::frontends
