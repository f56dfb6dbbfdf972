// Positions, and parts of tensors by them.
#include <numeric>

#include "absl/strings/str_cat.h"
#include "frontends/builder/composite.h"
#include "frontends/builder/index_ops.h"
#include "frontends/builder/op_call.h"
#include "frontends/builder/ops.h"

namespace graphrun::builder {
namespace {

const char* nameOf(Scatter kind) {
  switch (kind) {
    case Scatter::kReplace:
      return "none";
    case Scatter::kAdd:
      return "add";
    case Scatter::kMul:
      return "mul";
    case Scatter::kMin:
      return "min";
    case Scatter::kMax:
      return "max";
  }
  return "";
}

Tensor argReduce(const char* kind, const Tensor& x, int64_t axis, const ArgReduce& options,
                 const At& at) {
  return OpCall("arg_reduce", at, {x})
      .text("kind", kind)
      .axis("axis", axis, x)
      .flag("keepdims", options.keepdims)
      .flag("last", options.last)
      .create();
}

Tensor cumulative(const char* kind, const Tensor& x, int64_t axis, const Cumulative& options,
                  const At& at) {
  return OpCall("cumulative", at, {x, {"axis", Ints{axis}}})
      .text("kind", kind)
      .flag("exclusive", options.exclusive)
      .flag("reverse", options.reverse)
      .create();
}

/// The positions along dim `axis`, a vector.
Tensor positionsOf(Composite& call, const Tensor& x, size_t axis, const char* name) {
  auto dim = static_cast<int64_t>(axis);
  Tensor size = shape(x, dim, dim + 1, call.at(absl::StrCat(name, "_size").c_str()));
  return range(0, size, 1, call.at(name));
}

Tensor triangle(const char* kind, const Tensor& x, int64_t k, bool upper, const At& at) {
  Composite call(kind, x, at);
  call.requireMinimumRank(2);
  if (!call.ready()) {
    return call.failed();
  }
  const size_t rank = x.dims().size();
  Tensor rows = unsqueeze(positionsOf(call, x, rank - 2, "rows"), {1}, call.at("row"));
  rows = k == 0 ? rows : add(rows, k, call.at("diagonal"));
  Tensor columns = positionsOf(call, x, rank - 1, "columns");
  Tensor keep =
      upper ? lessEqual(rows, columns, call.at("keep")) : lessEqual(columns, rows, call.at("keep"));
  return where(keep, x, 0, call.at("where"));
}

/// The integer `k` as a list, or the tensor.
Ints integerOf(const Operand& k) {
  return k.isScalar() ? Ints{k.scalar().integer()} : Ints(k.tensor());
}

bool isInteger(ElementType type) {
  runtime::NumberKind kind = runtime::elementTypeInfo(type).kind;
  return kind == runtime::NumberKind::kSigned || kind == runtime::NumberKind::kUnsigned;
}

/// "1", or "the index of the part …": one index of Tensor::operator[] for each of the first dims.
Tensor partOf(const Tensor& x, const std::vector<Index>& indices) {
  const At at(indices.empty() ? std::source_location::current() : indices[0].location());
  Composite call("part", x, at);
  if (call.ready() && x.ranked() && indices.size() > x.dims().size()) {
    call.problem(absl::StrCat("has ", indices.size(), " indices for ", x.toString(),
                              ", expected at most ", x.dims().size()));
  }
  if (!call.ready()) {
    return call.failed();
  }
  std::vector<int64_t> starts, ends, axes, steps, dropped;
  for (size_t i = 0; i < indices.size(); ++i) {
    const Index& index = indices[i];
    const auto axis = static_cast<int64_t>(i);
    const Range& range = index.range();
    if (index.isPosition()) {
      const Dim dim = x.ranked() ? x.dims()[i] : Dim::unknown();
      if (dim.isStatic() && (index.position() < -dim.size() || index.position() >= dim.size())) {
        call.problem(absl::StrCat("index ", index.position(), " is out of range for dim ", i,
                                  " of ", x.toString()));
        return call.failed();
      }
      dropped.push_back(axis);
    }
    axes.push_back(axis);
    starts.push_back(range.begin);
    // The position -1 ends at the end, not at 0.
    ends.push_back(!index.isPosition()      ? range.end
                   : index.position() == -1 ? INT64_MAX
                                            : index.position() + 1);
    steps.push_back(index.isPosition() ? 1 : range.step);
  }
  Tensor part =
      slice(x, {.starts = starts, .ends = ends, .axes = axes, .steps = steps}, call.at("slice"));
  return dropped.empty() ? part : squeeze(part, dropped, call.at("squeeze"));
}

}  // namespace

Tensor range(const Operand& start, const Operand& limit, const Operand& delta, const At& at) {
  return OpCall("range", at, {start, limit, delta}).create();
}

Tensor argMax(const Tensor& x, int64_t axis, const ArgReduce& options, const At& at) {
  return argReduce("max", x, axis, options, at);
}
Tensor argMin(const Tensor& x, int64_t axis, const ArgReduce& options, const At& at) {
  return argReduce("min", x, axis, options, at);
}

ValuesAndIndices topK(const Tensor& x, const Operand& k, const TopK& options, const At& at) {
  OpCall call("top_k", at, {x, {"k", integerOf(k)}});
  if (k.isScalar() && !k.scalar().isInteger()) {
    call.problem(absl::StrCat("k is ", k.scalar().number(), ", expected an integer"));
  }
  std::vector<Tensor> results =
      call.axis("axis", options.axis, x).flag("largest", options.largest).create(2);
  return {results[0], results[1]};
}

Tensor cumSum(const Tensor& x, int64_t axis, const Cumulative& options, const At& at) {
  return cumulative("sum", x, axis, options, at);
}
Tensor cumProd(const Tensor& x, int64_t axis, const Cumulative& options, const At& at) {
  return cumulative("prod", x, axis, options, at);
}

Tensor triu(const Tensor& x, int64_t k, const At& at) { return triangle("triu", x, k, true, at); }
Tensor tril(const Tensor& x, int64_t k, const At& at) { return triangle("tril", x, k, false, at); }

Tensor oneHot(const Tensor& indices, int64_t depth, const OneHot& options, const At& at) {
  Composite call("oneHot", indices, at);
  call.requireMinimumRank(0);
  call.requirePositive("depth", depth);
  if (call.ready() && !isInteger(indices.elementType())) {
    call.problem(absl::StrCat("indices are ", indices.toString(), ", expected integers"));
  }
  const auto rank = static_cast<int64_t>(indices.dims().size());
  const int64_t axis = options.axis < 0 ? options.axis + rank + 1 : options.axis;
  if (axis < 0 || axis > rank) {
    call.problem(
        absl::StrCat("axis ", options.axis, " is out of range for a result of rank ", rank + 1));
  }
  if (!call.ready()) {
    return call.failed();
  }
  std::vector<int64_t> positions(static_cast<size_t>(depth));
  std::iota(positions.begin(), positions.end(), 0);
  std::vector<int64_t> dims(static_cast<size_t>(rank - axis) + 1,
                            1);  // the positions and what is behind
  dims[0] = depth;
  Tensor all = call.constant("places").copy({ElementType::kI64, dims}, positions.data(),
                                            positions.size() * sizeof(int64_t));
  Tensor wide = indices.elementType() == ElementType::kI64
                    ? indices
                    : cast(indices, ElementType::kI64, call.at("cast"));
  Tensor negative = less(wide, 0, call.at("negative"));
  wide = where(negative, add(wide, depth, call.at("from_end")), wide, call.at("place"));
  Tensor hit = equal(unsqueeze(wide, {axis}, call.at("unsqueeze")), all, call.at("hit"));
  return where(hit, call.constant("on").scalar(options.on, options.type),
               call.constant("off").scalar(options.off, options.type), call.at("where"));
}

Tensor gatherElements(const Tensor& x, const Tensor& indices, int64_t axis, const At& at) {
  return OpCall("gather_elements", at, {x, indices}).axis("axis", axis, x).create();
}

Tensor gatherNd(const Tensor& x, const Tensor& indices, int64_t batchDims, const At& at) {
  return OpCall("gather_nd", at, {x, indices}).integer("batch_dims", batchDims).create();
}

Tensor scatterElements(const Tensor& x, const Tensor& indices, const Tensor& updates, int64_t axis,
                       Scatter kind, const At& at) {
  return OpCall("scatter_elements", at, {x, indices, updates})
      .axis("axis", axis, x)
      .text("reduction", nameOf(kind))
      .create();
}

Tensor scatterNd(const Tensor& x, const Tensor& indices, const Tensor& updates, Scatter kind,
                 const At& at) {
  return OpCall("scatter_nd", at, {x, indices, updates}).text("reduction", nameOf(kind)).create();
}

Tensor Tensor::operator[](const Index& index) const { return partOf(*this, {index}); }

Tensor Tensor::operator[](std::initializer_list<Index> indices) const {
  return partOf(*this, indices);
}

}  // namespace graphrun::builder
