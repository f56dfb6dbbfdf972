// Reductions: gr.reduce with what stands before and after it.
#include "absl/strings/str_cat.h"
#include "frontends/onnx/op_table.h"
#include "frontends/onnx/operators/compose.h"

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

mlir::Value sumOfSquares(Node& node, mlir::Value x, const Reduction& reduction) {
  return reduceTo(node, node.emit("gr.mul", {x, x}), "sum", reduction.axes, reduction.keepdims);
}
mlir::Value l2(Node& node, mlir::Value x, const Reduction& reduction) {
  return node.emit("gr.sqrt", {sumOfSquares(node, x, reduction)});
}
mlir::Value logSum(Node& node, mlir::Value x, const Reduction& reduction) {
  return node.emit("gr.log", {reduceTo(node, x, "sum", reduction.axes, reduction.keepdims)});
}

mlir::Value ofTarget(Node& node, mlir::Value x, const Reduction& reduction) {
  return reduceTo(node, x, node.target(), reduction.axes, reduction.keepdims);
}

Values sumSquare(Node& node) {
  std::optional<Reduction> reduction = reductionOf(node);
  return {reduction ? sumOfSquares(node, node.input(0), *reduction) : mlir::Value()};
}
Values l1(Node& node) {
  return {reduced(node, "sum", [&](mlir::Value x) { return node.emit("gr.abs", {x}); })};
}

/// A reduction that ends in a root or logarithm: of integers computed in f64, then truncated.
template <mlir::Value (*compute)(Node&, mlir::Value, const Reduction&)>
Values real(Node& node) {
  std::optional<Reduction> reduction = reductionOf(node);
  mlir::Value x = node.input(0);
  if (!reduction || !x || llvm::isa<mlir::FloatType>(node.elementOf(x))) {
    return {reduction ? compute(node, x, *reduction) : mlir::Value()};
  }
  mlir::Value wide = castTo(node, x, node.builder().getF64Type());
  return {castLike(node, compute(node, wide, *reduction), x)};
}

/// The spatial dims, those from 2 on; reports an input that has none.
std::optional<Axes> spatialAxes(Node& node) {
  std::optional<int64_t> rank = node.rankOf(node.input(0));
  if (rank && *rank < 3) {
    node.fail(absl::StrCat("input is of rank ", *rank, ", expected N x C x spatial dims"));
    return std::nullopt;
  }
  return rank ? std::optional(llvm::to_vector(llvm::seq<int64_t>(2, *rank))) : std::nullopt;
}

/// A reduction over all spatial dims.
Values global(Node& node) {
  std::optional<Axes> axes = spatialAxes(node);
  return {axes ? reduceTo(node, node.input(0), node.target(), *axes, true) : mlir::Value()};
}

/// (sum |x|^p)^(1/p) over all spatial dims.
Values globalLp(Node& node) {
  // Opset 1 had a real p.
  double p = node.opset() < 2 ? node.attributes().real("p", 2)
                              : static_cast<double>(node.attributes().integer("p", 2));
  std::optional<Axes> axes = spatialAxes(node);
  if (!axes) {
    return {nullptr};
  }
  mlir::Value sum = reduceTo(node, absolutePower(node, node.input(0), p), "sum", *axes, true);
  return {rootOf(node, sum, p)};
}

// These are the rules of reductions.def.
#define GR_HANDLER_Number plain
#define GR_HANDLER_Float real<ofTarget>

const OpRow kReduceOps[] = {
#define GR_REDUCE_KIND(Kind, name, rule, flops, nothing, onnx, axesInput) \
  {onnx, 1, axesInput - 1, 1, 1, 1, GR_HANDLER_##rule, #name},            \
      {onnx, axesInput, kLast, 1, 2, 1, GR_HANDLER_##rule, #name},
#include "devices/functions/reductions.def"
    {"ReduceL1", 1, 17, 1, 1, 1, l1},
    {"ReduceL1", 18, kLast, 1, 2, 1, l1},
    {"ReduceL2", 1, 17, 1, 1, 1, real<l2>},
    {"ReduceL2", 18, kLast, 1, 2, 1, real<l2>},
    {"ReduceSumSquare", 1, 17, 1, 1, 1, sumSquare},
    {"ReduceSumSquare", 18, kLast, 1, 2, 1, sumSquare},
    {"ReduceLogSum", 1, 17, 1, 1, 1, real<logSum>},
    {"ReduceLogSum", 18, kLast, 1, 2, 1, real<logSum>},
    {"GlobalAveragePool", 1, kLast, 1, 1, 1, global, "mean"},
    {"GlobalMaxPool", 1, kLast, 1, 1, 1, global, "max"},
    {"GlobalLpPool", 1, kLast, 1, 1, 1, globalLp},
};

}  // namespace

llvm::ArrayRef<OpRow> reduceOps() { return kReduceOps; }

}  // namespace graphrun::frontends
