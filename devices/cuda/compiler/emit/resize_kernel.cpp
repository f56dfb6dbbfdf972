// The kernel of resize: which elements a result is made of, and with which weights, is worked out
// once, by what computes it on a CPU, and is a table for each dim whose size changes.
#include <cstring>

#include "devices/codegen/index_maps.h"
#include "devices/codegen/memory_elements.h"
#include "devices/compiler/attributes.h"
#include "devices/cuda/compiler/emit/kernel_families.h"
#include "devices/cuda/compiler/emit/map_kernel.h"
#include "devices/cuda/compiler/emit/point_arithmetic.h"
#include "devices/executable/resize_taps.h"
#include "ir/dims.h"
#include "passes/weights.h"
#include "runtime/base/status.h"

namespace graphrun::devices::cuda {
namespace {

using codegen::tensorOf;
using Dims = llvm::ArrayRef<int64_t>;
using Values = PointCode::Values;

constexpr int64_t kMostUnrolled = 4;  // taps of a dim, up to which no loop is emitted

/// The numbers of a constant operand; nothing where it is none.
std::optional<std::vector<double>> constantNumbers(mlir::Value value) {
  mlir::Value outside = passes::outsideGroup(value);
  if (auto whole = ir::constantInts(outside)) {
    return std::vector<double>(whole->begin(), whole->end());
  }
  auto constant = outside.getDefiningOp<ir::ConstantOp>();
  auto dense = constant ? llvm::dyn_cast<mlir::DenseElementsAttr>(constant.getValue()) : nullptr;
  if (!dense || !llvm::isa<mlir::FloatType>(dense.getElementType())) {
    return std::nullopt;
  }
  std::vector<double> numbers;
  numbers.reserve(static_cast<size_t>(dense.getNumElements()));
  for (llvm::APFloat number : dense.getValues<llvm::APFloat>()) {
    bool isInexact = false;
    number.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven, &isInexact);
    numbers.push_back(number.convertToDouble());
  }
  return numbers;
}

/// One scale for all of `axes`, the smallest or the largest that the sizes give.
std::vector<double> sharedScale(ir::ResizeOp op, llvm::ArrayRef<double> sizes) {
  Dims in = tensorOf(op.getInput()).getShape();
  bool smallest = op.getPolicy() == ir::ResizePolicy::kNotLarger;
  double scale = smallest ? std::numeric_limits<double>::infinity() : 0;
  llvm::SmallVector<bool> isNamed(in.size(), false);
  for (int64_t axis : op.getAxes()) {
    auto d = static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(in.size()) : axis);
    double mine = sizes[d] / static_cast<double>(in[d]);
    scale = smallest ? std::min(scale, mine) : std::max(scale, mine);
    isNamed[d] = true;
  }
  std::vector<double> scales;
  scales.reserve(in.size());
  for (bool named : isNamed) {
    scales.push_back(named ? scale : 1);
  }
  return scales;
}

/// The scale of each dim, as far as it is known before the run.
std::optional<std::vector<double>> scalesOf(ir::ResizeOp op) {
  Dims in = tensorOf(op.getInput()).getShape(), out = tensorOf(op.getOutput()).getShape();
  if (op.getScales()) {
    auto scales = constantNumbers(op.getScales());
    return scales && scales->size() == in.size() ? scales : std::nullopt;
  }
  if (op.getPolicy() != ir::ResizePolicy::kStretch) {
    auto sizes = op.getSizes() ? constantNumbers(op.getSizes()) : std::nullopt;
    return sizes && sizes->size() == in.size() ? std::optional(sharedScale(op, *sizes))
                                               : std::nullopt;
  }
  std::vector<double> scales;
  scales.reserve(in.size());
  for (auto [from, to] : llvm::zip(in, out)) {
    scales.push_back(static_cast<double>(to) / static_cast<double>(from));
  }
  return scales;
}

std::optional<std::vector<double>> regionOf(ir::ResizeOp op) {
  size_t wanted = 2 * static_cast<size_t>(tensorOf(op.getInput()).getRank());
  auto region = op.getRoi() ? constantNumbers(op.getRoi()) : std::vector<double>();
  return region && (region->empty() || region->size() == wanted) ? region : std::nullopt;
}

absl::StatusOr<ResizeRule> ruleOf(ir::ResizeOp op) {
  Instruction instruction;
  instruction.operation = "gr.resize";
  GR_ASSIGN_OR_RETURN(instruction.attributes, attributesOf(op));
  return resizeRuleOf(instruction);
}

/// A dim's tables: where its taps are, -1 for what is not in the input, and their weights.
struct AxisTable {
  size_t dim;
  int64_t taps;
  std::vector<int32_t> positions;
  std::vector<double> weights;

  AxisTable(size_t dim, const ResizeRule& rule, ir::ResizeOp op, double scale,
            absl::Span<const double> region)
      : dim(dim) {
    int64_t in = tensorOf(op.getInput()).getShape()[dim];
    int64_t out = tensorOf(op.getOutput()).getShape()[dim];
    taps = rule.taps(in, out);
    AxisTaps axis(rule, in, out);
    axis.update(rule, scale, region);
    for (int64_t x = 0; x < out; ++x) {
      for (const Tap& tap : axis.of(x)) {
        positions.push_back(axis.isOutside(x) ? -1 : static_cast<int32_t>(tap.index));
        weights.push_back(tap.weight);
      }
    }
  }

  /// Each element is itself.
  bool isIdentity() const {
    if (taps != 1) {
      return false;
    }
    for (size_t i = 0; i < positions.size(); ++i) {
      if (positions[i] != static_cast<int32_t>(i)) {
        return false;
      }
    }
    return true;
  }
};

template <typename V>
std::vector<uint8_t> bytesOf(const std::vector<V>& values) {
  std::vector<uint8_t> bytes(values.size() * sizeof(V));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

/// Emits the kernel: a thread an element of the result.
class ResizeBuilder {
 public:
  explicit ResizeBuilder(OperationKernels& kernels)
      : kernels_(kernels),
        op_(llvm::cast<ir::ResizeOp>(kernels.op)),
        rule_(ruleOf(op_).value()),
        in_(tensorOf(op_.getInput()).getShape()),
        code_(op_, tensorOf(op_.getOutput()).getShape()),
        math_(code_) {
    element_ = tensorOf(op_.getInput()).getElementType();
    mlir::MLIRContext* context = op_.getContext();
    bool isExact = element_.isF64() || llvm::isa<mlir::IntegerType>(element_);
    weight_ =
        isExact ? mlir::Type(mlir::Float64Type::get(context)) : mlir::Float32Type::get(context);
    addTables();
    code_.addSizes(in_);
  }

  void build() {
    kernels_.add([&](mlir::ModuleOp module, const std::string& symbol) {
      code_.code().useTables(kernels_.plan.tables.size());
      return code_.build(module, symbol, [&](llvm::ArrayRef<mlir::Value> index, mlir::Value at) {
        mlir::Value value = isNearest() ? nearest(index) : interpolated(index);
        if (isCrop() && !axes_.empty()) {
          value = code_.select(isOutside(index),
                               inMemory(math_.number(weight_, rule_.extrapolation)), value);
        }
        code_.store(value, op_->getNumOperands(), at);
      });
    });
  }

 private:
  void addTables() {
    std::vector<double> scales = scalesOf(op_).value_or(std::vector<double>(in_.size(), 1));
    std::vector<double> region = regionOf(op_).value_or(std::vector<double>());
    for (size_t d = 0; d < in_.size(); ++d) {
      std::vector<double> part;
      if (!region.empty()) {
        part = {region[d], region[in_.size() + d]};
      }
      AxisTable table(d, rule_, op_, scales[d], part);
      // Linear filters of a dim that stays have a second tap of no weight.
      bool stays =
          part.empty() && scales[d] == 1 && in_[d] == tensorOf(op_.getOutput()).getDimSize(d);
      if (stays || table.isIdentity()) {
        continue;
      }
      kernels_.plan.tables.push_back(bytesOf(table.positions));
      if (!isNearest()) {
        std::vector<float> narrow(table.weights.begin(), table.weights.end());
        kernels_.plan.tables.push_back(weight_.isF64() ? bytesOf(table.weights) : bytesOf(narrow));
      }
      axes_.push_back({d, table.taps});
    }
  }

  /// Entry `position` of the table of positions or of weights of the `axis`-th dim that has one.
  mlir::Value positionAt(size_t axis, mlir::Value position) {
    size_t table = isNearest() ? axis : 2 * axis;
    mlir::Type i32 = code_.code().builder().getI32Type();
    mlir::Value entry = code_.code().load(code_.code().tableAddress(table, i32, position), i32, 1);
    return code_.code().make<mlir::arith::IndexCastOp>(code_.code().builder().getIndexType(),
                                                       entry);
  }
  mlir::Value weightAt(size_t axis, mlir::Value position) {
    return code_.code().load(code_.code().tableAddress(2 * axis + 1, weight_, position), weight_,
                             1);
  }
  bool isNearest() const { return rule_.mode == ResizeRule::Mode::kNearest; }
  bool isCrop() const { return rule_.coordinates == ResizeRule::Coordinates::kCrop; }

  /// True where an element of a crop comes from beyond the input.
  mlir::Value isOutside(llvm::ArrayRef<mlir::Value> index) {
    mlir::Value outside;
    for (auto [axis, dim] : llvm::enumerate(axes_)) {
      mlir::Value first = positionAt(axis, code_.times(index[dim.dim], dim.taps));
      mlir::Value here = code_.isLess(first, code_.constant(0));
      outside = outside ? math_.either(outside, here) : here;
    }
    return outside;
  }
  /// A position that a table has, or any where that is outside.
  mlir::Value insideAt(size_t axis, mlir::Value entry) {
    mlir::Value position = positionAt(axis, entry);
    return isCrop() ? code_.clamped(position, in_[axes_[axis].dim]) : position;
  }

  mlir::Value nearest(llvm::ArrayRef<mlir::Value> index) {
    Values from(index);
    for (auto [axis, dim] : llvm::enumerate(axes_)) {
      from[dim.dim] = insideAt(axis, index[dim.dim]);
    }
    return code_.load(0, code_.offsetOf(from, in_));
  }
  mlir::Value interpolated(llvm::ArrayRef<mlir::Value> index) {
    return inMemory(sum(0, index, Values(index)));
  }

  /// The weighted sum over the taps of the dims from `axis` on; `from` has the other positions.
  mlir::Value sum(size_t axis, llvm::ArrayRef<mlir::Value> index, const Values& from) {
    if (axis == axes_.size()) {
      mlir::Value x = code_.compute(0, code_.offsetOf(from, in_));
      return codegen::emitCast(code_.code().builder(), code_.code().loc(), x, element_, weight_);
    }
    size_t dim = axes_[axis].dim;
    int64_t taps = axes_[axis].taps;
    mlir::Value first = code_.times(index[dim], taps);
    mlir::Value zero = math_.number(weight_, 0);
    auto addTap = [&](mlir::Value tap, mlir::Value total) {
      mlir::Value entry = code_.add(first, tap);
      mlir::Value weight = weightAt(axis, entry);
      Values next = from;
      next[dim] = insideAt(axis, entry);
      // No weight hides what is not finite.
      mlir::Value part = math_.multiply(weight, sum(axis + 1, index, next));
      return math_.add(total, math_.select(math_.isEqual(weight, zero), zero, part));
    };
    if (taps > kMostUnrolled) {
      return code_.repeat(taps, {zero}, [&](mlir::Value tap, mlir::ValueRange before) {
        return Values{addTap(tap, before[0])};
      })[0];
    }
    mlir::Value total = zero;
    for (int64_t tap = 0; tap < taps; ++tap) {
      total = addTap(code_.constant(tap), total);
    }
    return total;
  }

  /// A sum as it is stored: integers to the nearest one that the type holds.
  mlir::Value inMemory(mlir::Value value) {
    ThreadCode& thread = code_.code();
    if (auto integer = llvm::dyn_cast<mlir::IntegerType>(element_)) {
      int bits = static_cast<int>(integer.getWidth()) - (integer.isUnsigned() ? 0 : 1);
      double beyond = std::ldexp(1.0, bits), low = integer.isUnsigned() ? 0 : -beyond;
      value = thread.make<mlir::math::RoundEvenOp>(value);
      value = math_.clamped(value, math_.number(weight_, low),
                            math_.number(weight_, std::nextafter(beyond, 0)));
    }
    value = codegen::emitCast(thread.builder(), thread.loc(), value, weight_, element_);
    return codegen::toMemory(thread.builder(), thread.loc(), value, codegen::memoryType(element_));
  }

  struct ResizedDim {
    size_t dim;
    int64_t taps;
  };

  OperationKernels& kernels_;
  ir::ResizeOp op_;
  ResizeRule rule_;
  Dims in_;
  PointCode code_;
  Arithmetic math_;
  mlir::Type element_, weight_;
  llvm::SmallVector<ResizedDim> axes_;
};

bool has(mlir::Operation* op) {
  // What repeats elements a whole number of times is a map, which other operations join.
  return llvm::isa<ir::ResizeOp>(op) && !codegen::whyNotMap(op).empty();
}

std::string whyNot(mlir::Operation* op) {
  auto resize = llvm::cast<ir::ResizeOp>(op);
  mlir::Type element = tensorOf(resize.getInput()).getElementType();
  if (!ir::isComputed(element) ||
      (element.isInteger(1) && resize.getMode() != ir::Interpolation::kNearest)) {
    return "gr.resize has an element type that is not computed in";
  }
  if (tensorOf(resize.getInput()).getNumElements() == 0 ||
      tensorOf(resize.getOutput()).getNumElements() == 0) {
    return "gr.resize has no elements";
  }
  absl::StatusOr<ResizeRule> rule = ruleOf(resize);
  if (!rule.ok()) {
    return std::string(rule.status().message());
  }
  return !scalesOf(resize) || !regionOf(resize)
             ? "gr.resize has scales or a region that are not known before the run"
             : "";
}

void build(OperationKernels& kernels) { ResizeBuilder(kernels).build(); }

}  // namespace

KernelFamily resizeKernels() { return {has, whyNot, build}; }

}  // namespace graphrun::devices::cuda
