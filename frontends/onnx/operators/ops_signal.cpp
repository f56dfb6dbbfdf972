// Fourier transforms, and the windows and weights that go with them.
#include <cmath>
#include <numbers>

#include "absl/strings/str_cat.h"
#include "frontends/onnx/op_table.h"
#include "frontends/onnx/tensors.h"
#include "ir/dialect.h"
#include "mlir/IR/Matchers.h"

namespace graphrun::frontends {
namespace {

/// Windows and weight matrices are constants: larger ones are refused.
constexpr int64_t kMaxTableElements = int64_t{1} << 26;

/// The one element of an integer input; puts the node off when it is not known.
std::optional<int64_t> knownInteger(Node& node, size_t input, llvm::StringRef what) {
  auto values = node.known(node.input(input), what);
  if (values && values->size() != 1) {
    node.fail(absl::StrCat("its ", what.str(), " has ", values->size(), " elements, expected 1"));
    return std::nullopt;
  }
  return values ? std::optional((*values)[0]) : std::nullopt;
}

/// The same for a floating-point input.
std::optional<double> knownReal(Node& node, size_t input, llvm::StringRef what) {
  mlir::DenseFPElementsAttr value;
  if (!node.input(input)) {
    return std::nullopt;
  }
  if (!mlir::matchPattern(node.input(input), mlir::m_Constant(&value))) {
    node.putOff(node.input(input));
    return std::nullopt;
  }
  if (value.getNumElements() != 1) {
    node.fail(
        absl::StrCat("its ", what.str(), " has ", value.getNumElements(), " elements, expected 1"));
    return std::nullopt;
  }
  llvm::APFloat element = *value.getValues<llvm::APFloat>().begin();
  bool exact = false;
  element.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven, &exact);
  return element.convertToDouble();
}

/// A constant of attribute output_datatype's element type.
mlir::Value table(Node& node, llvm::ArrayRef<int64_t> dims, llvm::ArrayRef<double> values,
                  mlir::Type element) {
  auto type = mlir::RankedTensorType::get(dims, element);
  if (auto real = llvm::dyn_cast<mlir::FloatType>(element)) {
    llvm::SmallVector<llvm::APFloat> elements;
    for (double value : values) {
      bool exact = false;
      elements.emplace_back(value);
      elements.back().convert(real.getFloatSemantics(), llvm::APFloat::rmNearestTiesToEven, &exact);
    }
    return node.emit("gr.constant", {},
                     {node.named("value", mlir::DenseElementsAttr::get(type, elements))});
  }
  llvm::SmallVector<llvm::APInt> elements;
  for (double value : values) {
    elements.emplace_back(element.getIntOrFloatBitWidth(),
                          static_cast<uint64_t>(static_cast<int64_t>(value)), /*isSigned=*/true);
  }
  return node.emit("gr.constant", {},
                   {node.named("value", mlir::DenseElementsAttr::get(type, elements))});
}

/// Attribute output_datatype; null, reported, when it is none of the numeric types.
mlir::Type tableType(Node& node) {
  auto number = static_cast<int32_t>(
      node.attributes().integer("output_datatype", ::onnx::TensorProto::FLOAT));
  mlir::Type type = elementType(node.builder().getContext(), number);
  if (!type || type.isInteger(1) || !type.isIntOrFloat()) {
    node.fail(absl::StrCat("output_datatype: ", unsupportedType(number)));
    return nullptr;
  }
  return type;
}

/// a - b cos(2 pi n / N) + c cos(4 pi n / N); `N` is the size, less 1 for a symmetric window.
Values cosineWindow(Node& node, double a, double b, double c) {
  bool periodic = node.attributes().integer("periodic", 1) != 0;
  mlir::Type type = tableType(node);
  std::optional<int64_t> size = knownInteger(node, 0, "size");
  if (!type || !size) {
    return {nullptr};
  }
  if (*size < 0 || *size > kMaxTableElements) {
    return {node.fail(absl::StrCat("its size is ", *size, ", expected 0 to ", kMaxTableElements))};
  }
  // By ONNX's function a symmetric window of one element is 0 / 0; integers have no NaN.
  double least = llvm::isa<mlir::FloatType>(type) ? 0 : 1;
  double count = std::max(static_cast<double>(periodic ? *size : *size - 1), least);
  llvm::SmallVector<double> values;
  for (int64_t n = 0; n < *size; ++n) {
    double angle = 2 * std::numbers::pi * static_cast<double>(n) / count;
    values.push_back(a - b * std::cos(angle) + c * std::cos(2 * angle));
  }
  return {table(node, {*size}, values, type)};
}

Values hann(Node& node) { return cosineWindow(node, 0.5, 0.5, 0); }
/// ONNX's coefficients are Hamming's own, not the rounded 0.54 and 0.46.
Values hamming(Node& node) { return cosineWindow(node, 25.0 / 46, 1 - 25.0 / 46, 0); }
Values blackman(Node& node) { return cosineWindow(node, 0.42, 0.5, 0.08); }

double toMel(double hertz) { return 2595 * std::log10(1 + hertz / 700); }
double toHertz(double mel) { return 700 * (std::pow(10, mel / 2595) - 1); }

/// The triangle from bin `low` over `peak`, where it is 1, to `high`, into column `band`.
void addTriangle(llvm::MutableArrayRef<double> matrix, int64_t bands, int64_t band, int64_t low,
                 int64_t peak, int64_t high) {
  auto set = [&](int64_t bin, double value) {
    int64_t at = bin * bands + band;
    if (bin >= 0 && at < static_cast<int64_t>(matrix.size())) {
      matrix[at] = value;
    }
  };
  for (int64_t bin = low; bin < peak; ++bin) {
    set(bin, static_cast<double>(bin - low) / static_cast<double>(peak - low));
  }
  set(peak, 1);
  for (int64_t bin = peak + 1; bin < high; ++bin) {
    set(bin, static_cast<double>(high - bin) / static_cast<double>(high - peak));
  }
}

Values melWeights(Node& node) {
  mlir::Type type = tableType(node);
  std::optional<int64_t> bands = knownInteger(node, 0, "num_mel_bins");
  std::optional<int64_t> length = knownInteger(node, 1, "dft_length");
  std::optional<int64_t> rate = knownInteger(node, 2, "sample_rate");
  std::optional<double> lower = knownReal(node, 3, "lower_edge_hertz");
  std::optional<double> upper = knownReal(node, 4, "upper_edge_hertz");
  if (!type || !bands || !length || !rate || !lower || !upper) {
    return {nullptr};
  }
  bool sized = *bands >= 1 && *length >= 1 && *bands <= kMaxTableElements &&
               *length <= kMaxTableElements && (*length / 2 + 1) <= kMaxTableElements / *bands;
  if (!sized || *rate < 1 || !(*lower >= 0) || !(*upper > *lower) || *upper > 1e12) {
    return {node.fail(absl::StrCat("num_mel_bins ", *bands, ", dft_length ", *length,
                                   ", sample_rate ", *rate, " and edges ", *lower, " and ", *upper,
                                   " Hz do not make a matrix; expected positive numbers, the lower "
                                   "edge below the upper one"))};
  }
  std::vector<int64_t> bins;
  double step = (toMel(*upper) - toMel(*lower)) / static_cast<double>(*bands + 2);
  for (int64_t i = 0; i < *bands + 2; ++i) {
    double hertz = toHertz(toMel(*lower) + static_cast<double>(i) * step);
    bins.push_back(static_cast<int64_t>(
        std::floor(static_cast<double>(*length + 1) * hertz / static_cast<double>(*rate))));
  }
  int64_t rows = *length / 2 + 1;
  llvm::SmallVector<double> matrix(static_cast<size_t>(rows * *bands), 0);
  for (int64_t band = 0; band < *bands; ++band) {
    addTriangle(matrix, *bands, band, bins[band], bins[band + 1], bins[band + 2]);
  }
  return {table(node, {rows, *bands}, matrix, type)};
}

/// A Fourier transform of `signal` along `axis`.
mlir::Value transform(Node& node, mlir::Value signal, int64_t axis, int64_t length, bool inverse,
                      bool onesided) {
  return node.emit("gr.dft", {signal},
                   {node.integer("axis", axis), node.integer("length", length),
                    node.boolean("inverse", inverse), node.boolean("onesided", onesided)});
}

Values dft(Node& node) {
  bool inverse = node.attributes().integer("inverse", 0) != 0;
  bool onesided = node.attributes().integer("onesided", 0) != 0;
  std::optional<int64_t> axis = node.opset() < 20 ? node.attributes().integer("axis", 1)
                                : node.input(2)   ? knownInteger(node, 2, "axis")
                                                  : std::optional<int64_t>(-2);
  std::optional<int64_t> length =
      node.input(1) ? knownInteger(node, 1, "dft_length") : std::optional<int64_t>(0);
  std::optional<int64_t> rank = node.rankOf(node.input(0));
  if (!axis || !length || !rank) {
    return {nullptr};
  }
  if (node.input(1) && *length < 1) {
    return {node.fail(absl::StrCat("its dft_length is ", *length, ", expected at least 1"))};
  }
  axis = node.axisOf(*axis, *rank);
  return {axis ? transform(node, node.input(0), *axis, *length, inverse, onesided) : nullptr};
}

/// The positions of `length` samples in each frame: frames x length.
mlir::Value framePositions(Node& node, int64_t frames, int64_t length, int64_t step) {
  std::vector<int64_t> positions;
  for (int64_t frame = 0; frame < frames; ++frame) {
    for (int64_t i = 0; i < length; ++i) {
      positions.push_back(frame * step + i);
    }
  }
  auto type = mlir::RankedTensorType::get({frames, length}, node.builder().getI64Type());
  return node.emit("gr.constant", {},
                   {node.named("value", mlir::DenseElementsAttr::get(
                                            type, llvm::ArrayRef<int64_t>(positions)))});
}

/// The dim of `value`; puts the node off when it is not known.
std::optional<int64_t> knownDim(Node& node, mlir::Value value, int64_t axis, int64_t rank) {
  std::optional<int64_t> got = node.rankOf(value);
  if (got && *got != rank) {
    node.fail(absl::StrCat("an input is of rank ", *got, ", expected ", rank));
    return std::nullopt;
  }
  int64_t dim = got ? llvm::cast<mlir::ShapedType>(value.getType()).getDimSize(axis) : -1;
  if (got && dim < 0) {
    node.putOff(nullptr);
  }
  return got && dim >= 0 ? std::optional(dim) : std::nullopt;
}

Values stft(Node& node) {
  bool onesided = node.attributes().integer("onesided", 1) != 0;
  std::optional<int64_t> step = knownInteger(node, 1, "frame_step");
  std::optional<int64_t> size = knownDim(node, node.input(0), 1, 3);
  std::optional<int64_t> length = node.input(3)   ? knownInteger(node, 3, "frame_length")
                                  : node.input(2) ? knownDim(node, node.input(2), 0, 1)
                                                  : size;
  std::optional<int64_t> window = node.input(2) ? knownDim(node, node.input(2), 0, 1) : length;
  if (!step || !size || !length || !window) {
    return {nullptr};
  }
  if (*step < 1 || *length < 1 || *length > *size || *window != *length) {
    return {node.fail(absl::StrCat("frames of ", *length, " samples every ", *step, " in ", *size,
                                   " with a window of ", *window,
                                   ": expected positive numbers, a frame no longer than the "
                                   "signal, and a window as long as a frame"))};
  }
  int64_t frames = (*size - *length) / *step + 1;
  if (frames > kMaxTableElements / *length) {
    return {node.fail(absl::StrCat(frames, " frames of ", *length, " samples are too many"))};
  }
  mlir::Value framed =
      node.emit("gr.gather", {node.input(0), framePositions(node, frames, *length, *step)},
                {node.integer("axis", 1)});
  if (node.input(2)) {
    framed = node.emit("gr.mul", {framed, node.emit("gr.unsqueeze", {node.input(2)},
                                                    {node.integers("axes", {1})})});
  }
  return {transform(node, framed, 2, 0, /*inverse=*/false, onesided)};
}

const OpRow kSignalOps[] = {
    {"DFT", 17, 19, 1, 2, 1, dft},
    {"DFT", 20, kLast, 1, 3, 1, dft},
    {"STFT", 17, kLast, 2, 4, 1, stft},
    {"HannWindow", 17, kLast, 1, 1, 1, hann},
    {"HammingWindow", 17, kLast, 1, 1, 1, hamming},
    {"BlackmanWindow", 17, kLast, 1, 1, 1, blackman},
    {"MelWeightMatrix", 17, kLast, 5, 5, 1, melWeights},
};

}  // namespace

llvm::ArrayRef<OpRow> signalOps() { return kSignalOps; }

}  // namespace graphrun::frontends
