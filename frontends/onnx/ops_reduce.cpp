// Reductions: gr.reduce with what stands before and after it.
#include <cmath>

#include "absl/strings/str_cat.h"
#include "frontends/onnx/op_table.h"

namespace graphrun::frontends {
namespace {

using Axes = llvm::SmallVector<int64_t>;

struct Reduction {
  Axes axes;
  bool keepdims;
};

/// Axes and keepdims of a reduction; the axes are an attribute or, later, an input. None means all,
/// unless noop_with_empty_axes is set.
std::optional<Reduction> reductionOf(Node& node) {
  Attributes& attributes = node.attributes();
  Reduction reduction;
  reduction.keepdims = attributes.integer("keepdims", 1) != 0;
  bool noop = attributes.integer("noop_with_empty_axes", 0) != 0;
  Axes given = attributes.integers("axes");
  if (node.input(1)) {
    std::optional<Axes> known = node.known(node.input(1), "axes");
    if (!known) {
      return std::nullopt;
    }
    given = *known;
  }
  std::optional<int64_t> rank = node.rankOf(node.input(0));
  std::optional<Axes> axes = rank ? node.axesOf(given, *rank) : std::nullopt;
  if (!axes) {
    return std::nullopt;
  }
  if (axes->empty() && !noop) {
    *axes = llvm::to_vector(llvm::seq<int64_t>(0, *rank));
  }
  reduction.axes = std::move(*axes);
  return reduction;
}

mlir::Value reduceTo(Node& node, mlir::Value value, llvm::StringRef kind,
                     llvm::ArrayRef<int64_t> axes, bool keepdims) {
  return axes.empty() ? value
                      : node.emit("gr.reduce", {value},
                                  {node.text("kind", kind), node.integers("axes", axes),
                                   node.boolean("keepdims", keepdims)});
}

/// Reduces `prepare(x)`.
template <typename Prepare>
mlir::Value reduced(Node& node, llvm::StringRef kind, Prepare prepare) {
  std::optional<Reduction> reduction = reductionOf(node);
  if (!reduction) {
    return nullptr;
  }
  return reduceTo(node, prepare(node.input(0)), kind, reduction->axes, reduction->keepdims);
}

Values plain(Node& node) {
  return {reduced(node, node.target(), [](mlir::Value x) { return x; })};
}

mlir::Value sumOfSquares(Node& node) {
  return reduced(node, "sum", [&](mlir::Value x) { return node.emit("gr.mul", {x, x}); });
}
Values sumSquare(Node& node) { return {sumOfSquares(node)}; }
Values l2(Node& node) { return {node.emit("gr.sqrt", {sumOfSquares(node)})}; }
Values l1(Node& node) {
  return {reduced(node, "sum", [&](mlir::Value x) { return node.emit("gr.abs", {x}); })};
}
Values logSum(Node& node) {
  return {node.emit("gr.log", {reduced(node, "sum", [](mlir::Value x) { return x; })})};
}

/// log(sum(exp(x - m))) + m, where m is the maximum, or 0 where that is infinite.
Values logSumExp(Node& node) {
  std::optional<Reduction> reduction = reductionOf(node);
  if (!reduction) {
    return {nullptr};
  }
  mlir::Value x = node.input(0);
  mlir::Value top = reduceTo(node, x, "max", reduction->axes, true);
  mlir::Value finite =
      node.emit("gr.less", {node.emit("gr.abs", {top}), node.scalarLike(x, INFINITY)});
  top = node.emit("gr.where", {finite, top, node.scalarLike(x, 0)});
  mlir::Value powers = node.emit("gr.exp", {node.emit("gr.sub", {x, top})});
  mlir::Value sum = reduceTo(node, powers, "sum", reduction->axes, reduction->keepdims);
  if (!reduction->keepdims && !reduction->axes.empty()) {
    top = node.emit("gr.squeeze", {top}, {node.integers("axes", reduction->axes)});
  }
  return {node.emit("gr.add", {node.emit("gr.log", {sum}), top})};
}

/// A reduction over all spatial dims.
Values global(Node& node) {
  std::optional<int64_t> rank = node.rankOf(node.input(0));
  if (!rank) {
    return {nullptr};
  }
  if (*rank < 3) {
    return {node.fail(absl::StrCat("input is of rank ", *rank, ", expected N x C x spatial dims"))};
  }
  Axes axes = llvm::to_vector(llvm::seq<int64_t>(2, *rank));
  return {reduceTo(node, node.input(0), node.target(), axes, true)};
}

constexpr int kLast = kLastOpset;
const OpRow kRows[] = {
    {"ReduceSum", 1, 12, 1, 1, 1, plain, "sum"},
    {"ReduceSum", 13, kLast, 1, 2, 1, plain, "sum"},
    {"ReduceMean", 1, 17, 1, 1, 1, plain, "mean"},
    {"ReduceMean", 18, kLast, 1, 2, 1, plain, "mean"},
    {"ReduceMax", 1, 17, 1, 1, 1, plain, "max"},
    {"ReduceMax", 18, kLast, 1, 2, 1, plain, "max"},
    {"ReduceMin", 1, 17, 1, 1, 1, plain, "min"},
    {"ReduceMin", 18, kLast, 1, 2, 1, plain, "min"},
    {"ReduceProd", 1, 17, 1, 1, 1, plain, "prod"},
    {"ReduceProd", 18, kLast, 1, 2, 1, plain, "prod"},
    {"ReduceL1", 1, 17, 1, 1, 1, l1},
    {"ReduceL1", 18, kLast, 1, 2, 1, l1},
    {"ReduceL2", 1, 17, 1, 1, 1, l2},
    {"ReduceL2", 18, kLast, 1, 2, 1, l2},
    {"ReduceSumSquare", 1, 17, 1, 1, 1, sumSquare},
    {"ReduceSumSquare", 18, kLast, 1, 2, 1, sumSquare},
    {"ReduceLogSum", 1, 17, 1, 1, 1, logSum},
    {"ReduceLogSum", 18, kLast, 1, 2, 1, logSum},
    {"ReduceLogSumExp", 1, 17, 1, 1, 1, logSumExp},
    {"ReduceLogSumExp", 18, kLast, 1, 2, 1, logSumExp},
    {"GlobalAveragePool", 1, kLast, 1, 1, 1, global, "mean"},
    {"GlobalMaxPool", 1, kLast, 1, 1, 1, global, "max"},
};

}  // namespace

llvm::ArrayRef<OpRow> reduceOps() { return kRows; }

}  // namespace graphrun::frontends
