// Operations that slide a window over spatial dims: convolutions and pooling.
#include "frontends/onnx/operators/ops_window.h"
#include "absl/strings/str_cat.h"
#include "frontends/onnx/op_table.h"
#include "frontends/onnx/operators/index_helpers.h"

namespace graphrun::frontends {
namespace {

using Ints = llvm::SmallVector<int64_t>;

constexpr int64_t kMaxWindowValue = int64_t{1} << 31;

/// The attributes that all of them share, defaults filled in.
struct Window {
  Ints kernel, strides, dilations, pads;
  std::string padding;
};

/// An attribute of `size` values, `absent` each when it is left out.
Ints sized(Node& node, llvm::StringRef name, size_t size, int64_t absent) {
  Ints values = node.attributes().integers(name);
  if (values.empty()) {
    values.assign(size, absent);
  }
  if (values.size() != size) {
    node.fail(absl::StrCat("attribute ", inQuotes(name), " has ", values.size(),
                           " values, expected ", size));
    values.assign(size, absent);
  }
  for (int64_t& value : values) {
    if (value >= kMaxWindowValue || value <= -kMaxWindowValue) {
      node.fail(absl::StrCat("attribute ", inQuotes(name), " holds ", value,
                             ", expected less than ", kMaxWindowValue));
      value = absent;
    }
  }
  return values;
}

/// ONNX's auto_pad as gr's padding.
std::string paddingOf(Node& node) {
  std::string given = node.attributes().text("auto_pad", "NOTSET");
  if (given == "NOTSET" || given == "VALID") {
    return "explicit";
  }
  if (given == "SAME_UPPER" || given == "SAME_LOWER") {
    return given == "SAME_UPPER" ? "same_upper" : "same_lower";
  }
  node.fail(absl::StrCat("auto_pad is ", inQuotes(given),
                         ", expected NOTSET, VALID, SAME_UPPER or SAME_LOWER"));
  return "explicit";
}

/// Number of spatial dims, of the input or, where its rank is unknown, of the window.
std::optional<size_t> spatialRank(Node& node) {
  std::optional<int64_t> rank = node.rankOf(node.input(0));
  if (!rank) {
    return std::nullopt;
  }
  if (*rank < 3) {
    node.fail(absl::StrCat("input is of rank ", *rank, ", expected N x C x spatial dims"));
    return std::nullopt;
  }
  return *rank - 2;
}

std::optional<Window> windowOf(Node& node) {
  std::optional<size_t> spatial = spatialRank(node);
  if (!spatial) {
    return std::nullopt;
  }
  Window window;
  window.padding = paddingOf(node);
  window.kernel = sized(node, "kernel_shape", *spatial, 1);
  window.strides = sized(node, "strides", *spatial, 1);
  window.dilations = sized(node, "dilations", *spatial, 1);
  window.pads = sized(node, "pads", 2 * *spatial, 0);
  bool automatic = node.attributes().text("auto_pad", "NOTSET") != "NOTSET";
  if (automatic) {
    window.pads.assign(2 * *spatial, 0);
  }
  for (int64_t pad : window.pads) {
    if (pad < 0) {
      node.fail(absl::StrCat("attribute \"pads\" holds ", pad, ", expected no negative value"));
      return std::nullopt;
    }
  }
  return window;
}

llvm::SmallVector<mlir::NamedAttribute> windowAttributes(Node& node, const Window& window) {
  return {node.integers("strides", window.strides), node.integers("dilations", window.dilations),
          node.integers("pads", window.pads), node.text("padding", window.padding)};
}

/// kernel_shape, when it is given, repeats the filter's dims.
void checkKernel(Node& node, mlir::Value operand, const Window& window) {
  std::optional<ir::Dims> filter = operand ? ir::dimsOf(operand) : std::nullopt;
  if (!node.attributes().has("kernel_shape") || !filter ||
      filter->size() != window.kernel.size() + 2) {
    return;
  }
  for (size_t i = 0; i < window.kernel.size(); ++i) {
    if (provablyDifferent((*filter)[2 + i], ir::Dim(window.kernel[i]))) {
      node.fail(absl::StrCat("attribute \"kernel_shape\" holds ", window.kernel[i],
                             " for spatial dim ", i, ", but the filter is ",
                             ir::toString(*filter)));
    }
  }
}

Values filterOperands(Node& node) {
  Values operands = {node.input(0), node.input(1)};
  if (node.input(2)) {
    operands.push_back(node.input(2));
  }
  return operands;
}

Values conv(Node& node) { return {convolution(node, filterOperands(node))}; }

Values convTranspose(Node& node) {
  int64_t groups = node.attributes().integer("group", 1);
  std::optional<Window> window = windowOf(node);
  if (!window) {
    return {nullptr};
  }
  checkKernel(node, node.input(1), *window);
  size_t spatial = window->strides.size();
  Ints outputPadding = sized(node, "output_padding", spatial, 0);
  Ints outputShape;
  if (node.attributes().has("output_shape")) {
    outputShape = sized(node, "output_shape", spatial, 1);
  } else {
    node.attributes().ignore({"output_shape"});
  }
  auto attributes = windowAttributes(node, *window);
  attributes.push_back(node.integer("groups", groups));
  attributes.push_back(node.integers("output_padding", outputPadding));
  attributes.push_back(node.integers("output_shape", outputShape));
  return {node.emit("gr.conv_transpose", filterOperands(node), attributes)};
}

/// Attributes common to both poolings.
std::optional<llvm::SmallVector<mlir::NamedAttribute>> poolAttributes(Node& node) {
  node.attributes().require("kernel_shape");
  bool ceilMode = node.attributes().integer("ceil_mode", 0) != 0;
  std::optional<Window> window = windowOf(node);
  if (!window) {
    return std::nullopt;
  }
  auto attributes = windowAttributes(node, *window);
  attributes.push_back(node.integers("kernel", window->kernel));
  attributes.push_back(node.boolean("ceil_mode", ceilMode));
  return attributes;
}

Values maxPool(Node& node) {
  bool columnMajor = node.attributes().integer("storage_order", 0) != 0;  // of the indices
  auto attributes = poolAttributes(node);
  if (!attributes) {
    return Values(2);
  }
  if (!node.outputUsed(1)) {
    return {node.emit("gr.max_pool", {node.input(0)}, *attributes)};
  }
  attributes->push_back(node.boolean("column_major", columnMajor));
  return node.emitMany("gr.max_pool_with_indices", {node.input(0)}, *attributes, 2);
}

Values lpPool(Node& node) {
  double p = node.opset() < 2 ? node.attributes().real("p", 2)
                              : static_cast<double>(node.attributes().integer("p", 2));
  auto attributes = poolAttributes(node);
  if (!attributes) {
    return {nullptr};
  }
  attributes->push_back(node.real("p", p));
  return {node.emit("gr.lp_pool", {node.input(0)}, *attributes)};
}

/// Input, filter, offsets, then the optional bias and mask.
Values deformConv(Node& node) {
  int64_t groups = node.attributes().integer("group", 1);
  int64_t offsetGroups = node.attributes().integer("offset_group", 1);
  std::optional<Window> window = windowOf(node);
  if (!window) {
    return {nullptr};
  }
  checkKernel(node, node.input(1), *window);
  auto attributes = windowAttributes(node, *window);
  attributes.push_back(node.integer("groups", groups));
  attributes.push_back(node.integer("offset_groups", offsetGroups));
  Values operands = {node.input(0), node.input(1), node.input(2)};
  for (size_t i : {3, 4}) {
    if (node.input(i)) {
      operands.push_back(node.input(i));
    }
  }
  attributes.push_back(node.named("operandSegmentSizes",
                                  node.builder().getDenseI32ArrayAttr(
                                      {1, 1, 1, node.input(3) ? 1 : 0, node.input(4) ? 1 : 0})));
  return {node.emit("gr.deform_conv", operands, attributes)};
}

Values averagePool(Node& node) {
  bool includePad = node.attributes().integer("count_include_pad", 0) != 0;
  auto attributes = poolAttributes(node);
  if (!attributes) {
    return {nullptr};
  }
  attributes->push_back(node.boolean("count_include_pad", includePad));
  return {node.emit("gr.avg_pool", {node.input(0)}, *attributes)};
}

const OpRow kWindowOps[] = {
    {"Conv", 1, kLast, 2, 3, 1, conv},
    {"ConvTranspose", 1, kLast, 2, 3, 1, convTranspose},
    {"DeformConv", 19, kLast, 3, 5, 1, deformConv},
    {"LpPool", 1, kLast, 1, 1, 1, lpPool},
    {"MaxPool", 1, kLast, 1, 1, 2, maxPool},
    {"AveragePool", 1, kLast, 1, 1, 1, averagePool},
};

}  // namespace

mlir::Value convolution(Node& node, const Values& operands, bool withoutPads) {
  int64_t groups = node.attributes().integer("group", 1);
  std::optional<Window> window = windowOf(node);
  if (!window) {
    return nullptr;
  }
  checkKernel(node, operands[1], *window);
  if (withoutPads) {
    window->pads.assign(window->pads.size(), 0);
  }
  auto attributes = windowAttributes(node, *window);
  attributes.push_back(node.integer("groups", groups));
  return node.emit("gr.conv", operands, attributes);
}

std::optional<PaddedInput> paddedInput(Node& node, mlir::Value x, mlir::Value zeroPoint) {
  std::optional<Window> window = windowOf(node);
  if (!window || window->padding != "explicit") {
    return window && !zeroPoint ? std::optional(PaddedInput{x}) : std::nullopt;
  }
  if (!zeroPoint || llvm::all_of(window->pads, [](int64_t pad) { return pad == 0; })) {
    return PaddedInput{x};
  }
  size_t spatial = window->strides.size();
  Ints pads(2, 0);
  pads.append(window->pads.begin(), window->pads.begin() + spatial);
  pads.append(2, 0);
  pads.append(window->pads.begin() + spatial, window->pads.end());
  mlir::Value filler = castTo(node, zeroPoint, node.elementOf(x));
  return PaddedInput{
      node.emit("gr.pad", {x, node.constant(pads), filler}, {node.text("mode", "constant")}), true};
}

llvm::ArrayRef<OpRow> windowOps() { return kWindowOps; }

}  // namespace graphrun::frontends
