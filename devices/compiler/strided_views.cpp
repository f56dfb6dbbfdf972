#include "devices/compiler/strided_views.h"

#include <algorithm>

#include "devices/executable/executable.h"
#include "ir/dialect.h"
#include "ir/dims.h"
#include "llvm/ADT/TypeSwitch.h"

namespace graphrun::devices {
namespace {

using Sizes = llvm::SmallVector<int64_t>;

Sizes sizesOf(mlir::Value value) {
  return Sizes(llvm::cast<mlir::RankedTensorType>(value.getType()).getShape());
}

StridedView denseView(mlir::Value value) {
  Sizes dims = sizesOf(value);
  std::vector<int64_t> strides = denseStrides({dims.begin(), dims.end()});
  return {value, 0, dims, Sizes(strides.begin(), strides.end())};
}

/// Neighbouring dims that one stride runs through, as one; dims of 1 go.
void mergeRuns(StridedView& view) {
  Sizes dims, strides;
  for (auto [size, stride] : llvm::zip(view.dims, view.strides)) {
    if (size == 1) {
      continue;
    }
    if (!dims.empty() && strides.back() == stride * size) {
      dims.back() *= size;
      strides.back() = stride;
    } else {
      dims.push_back(size);
      strides.push_back(stride);
    }
  }
  view.dims = dims;
  view.strides = strides;
}

/// The view with other dims of as many elements: each run of one stride is cut anew.
std::optional<StridedView> reshaped(StridedView view, const Sizes& dims) {
  mergeRuns(view);
  Sizes strides(dims.size(), 1);
  size_t run = view.dims.size();
  int64_t left = 1;  // of the run at hand, from its fastest end
  int64_t stride = 1;
  for (size_t i = dims.size(); i-- > 0;) {
    if (dims[i] == 1) {
      continue;
    }
    if (left == 1 && run > 0) {
      --run;
      left = view.dims[run];
      stride = view.strides[run];
    }
    if (left % dims[i] != 0) {
      return std::nullopt;
    }
    strides[i] = stride;
    stride *= dims[i];
    left /= dims[i];
  }
  view.dims = dims;
  view.strides = strides;
  return view;
}

std::optional<StridedView> sliced(StridedView view, ir::SliceOp op) {
  auto starts = ir::constantInts(op.getStarts());
  auto axes = ir::constantInts(op.getAxes());
  auto steps = ir::constantInts(op.getSteps());
  if (!starts || !axes || !steps || !ir::constantInts(op.getEnds())) {
    return std::nullopt;
  }
  Sizes sizes = sizesOf(op);
  for (auto [start, axis, step] : llvm::zip(*starts, *axes, *steps)) {
    size_t d = axis < 0 ? axis + view.dims.size() : axis;
    if (step < 1) {
      return std::nullopt;
    }
    int64_t first = std::clamp<int64_t>(start < 0 ? start + view.dims[d] : start, 0, view.dims[d]);
    view.offset += first * view.strides[d];
    // With one element the step is not taken, and may be beyond all memory.
    view.strides[d] *= sizes[d] > 1 ? step : 1;
  }
  view.dims = std::move(sizes);
  return view;
}

StridedView splitPart(StridedView view, ir::SplitOp op, mlir::Value part) {
  int64_t first = 0;
  for (mlir::Value output : op.getOutputs()) {
    if (output == part) {
      break;
    }
    first += sizesOf(output)[op.getAxis()];
  }
  view.offset += first * view.strides[op.getAxis()];
  view.dims = sizesOf(part);
  return view;
}

std::optional<StridedView> gathered(StridedView view, ir::GatherOp op) {
  auto index = ir::constantInts(op.getIndices());
  int64_t axis = op.getAxis() < 0 ? op.getAxis() + view.dims.size() : op.getAxis();
  if (!index || index->size() != 1) {
    return std::nullopt;
  }
  int64_t at = index->front() < 0 ? index->front() + view.dims[axis] : index->front();
  if (at < 0 || at >= view.dims[axis]) {
    return std::nullopt;
  }
  view.offset += at * view.strides[axis];
  view.dims.erase(view.dims.begin() + axis);
  view.strides.erase(view.strides.begin() + axis);
  return view;
}

StridedView transposed(StridedView view, llvm::ArrayRef<int64_t> permutation) {
  StridedView result{view.root, view.offset, {}, {}};
  for (int64_t from : permutation) {
    result.dims.push_back(view.dims[from]);
    result.strides.push_back(view.strides[from]);
  }
  return result;
}

/// Operations that keep the order of the elements. (Of casts there are those that kernels make
/// while they read and write.)
bool keepsOrder(mlir::Operation* op) {
  return ir::isView(op) || llvm::isa_and_nonnull<ir::CastOp>(op);
}

}  // namespace

std::optional<StridedView> viewOf(mlir::Value value) {
  mlir::Operation* op = value.getDefiningOp();
  bool moves = keepsOrder(op) ||
               llvm::isa_and_nonnull<ir::TransposeOp, ir::SliceOp, ir::SplitOp, ir::GatherOp>(op);
  if (!moves || llvm::is_contained(sizesOf(value), 0)) {
    return denseView(value);
  }
  std::optional<StridedView> input = viewOf(op->getOperand(0));
  if (!input) {
    return std::nullopt;
  }
  using Result = std::optional<StridedView>;
  return llvm::TypeSwitch<mlir::Operation*, Result>(op)
      .Case([&](ir::TransposeOp t) -> Result { return transposed(*input, t.getPermutation()); })
      .Case([&](ir::SliceOp s) { return sliced(*input, s); })
      .Case([&](ir::GatherOp g) { return gathered(*input, g); })
      .Case([&](ir::SplitOp s) -> Result { return splitPart(*input, s, value); })
      .Default([&](mlir::Operation*) { return reshaped(*input, sizesOf(value)); });
}

std::optional<StridedView> viewUnder(mlir::Value value, mlir::Value result) {
  StridedView view = denseView(result);
  while (result != value) {
    mlir::Operation* op = result.getDefiningOp();
    if (keepsOrder(op)) {
      std::optional<StridedView> before = reshaped(view, sizesOf(op->getOperand(0)));
      if (!before) {
        return std::nullopt;
      }
      view = *before;
    } else if (auto transpose = llvm::dyn_cast_or_null<ir::TransposeOp>(op)) {
      llvm::ArrayRef<int64_t> permutation = transpose.getPermutation();
      Sizes inverse(permutation.size());
      for (auto [to, from] : llvm::enumerate(permutation)) {
        inverse[from] = static_cast<int64_t>(to);
      }
      view = transposed(view, inverse);
    } else {
      return std::nullopt;
    }
    result = op->getOperand(0);
  }
  return view;
}

}  // namespace graphrun::devices
