#include "devices/cuda/compiler/emit/row_kernel.h"

#include "absl/strings/str_cat.h"
#include "devices/codegen/index_maps.h"
#include "devices/codegen/memory_elements.h"
#include "devices/cuda/compiler/emit/row_code.h"
#include "ir/dialect.h"
#include "ir/reductions.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/ErrorHandling.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/TypeUtilities.h"

namespace graphrun::devices::cuda {
namespace {

using codegen::tensorOf;
namespace arith = mlir::arith;
namespace math = mlir::math;

/// Rows over the dims [from, to).
Rows rowsOver(llvm::ArrayRef<int64_t> shape, size_t from, size_t to) {
  return {mlir::ShapedType::getNumElements(shape.take_front(from)),
          mlir::ShapedType::getNumElements(shape.slice(from, to - from)),
          mlir::ShapedType::getNumElements(shape.drop_front(to))};
}

size_t axisOf(int64_t axis, mlir::RankedTensorType type) {
  return static_cast<size_t>(axis < 0 ? axis + type.getRank() : axis);
}

bool reducesRows(mlir::Operation* op) {
  return llvm::isa<ir::ReduceOp, ir::SoftmaxOp, ir::LayerNormOp>(op);
}

/// The operation that a kernel is built for: `op`, or the operation of rows among the casts of such
/// a group; null where there is none.
mlir::Operation* rowOperationOf(mlir::Operation* op) {
  auto group = llvm::dyn_cast<ir::GroupOp>(op);
  if (!group) {
    return reducesRows(op) ? op : nullptr;
  }
  if (group.getKind() != ir::GroupKind::kRow) {
    return nullptr;
  }
  auto body = group.getBody().front().without_terminator();
  auto found = llvm::find_if(body, [](mlir::Operation& inner) { return reducesRows(&inner); });
  return found == body.end() ? nullptr : &*found;
}

/// The rows of an operation; nothing where it has none, or where they do not lie evenly.
std::optional<Rows> rowsOf(mlir::Operation* op) {
  auto type = tensorOf(op->getOperand(0));
  llvm::ArrayRef<int64_t> shape = type.getShape();
  return llvm::TypeSwitch<mlir::Operation*, std::optional<Rows>>(op)
      .Case([&](ir::ReduceOp reduce) -> std::optional<Rows> {
        llvm::ArrayRef<int64_t> axes = reduce.getAxes();
        bool follow =
            !axes.empty() && axes.back() - axes.front() + 1 == static_cast<int64_t>(axes.size());
        return follow ? std::optional(rowsOver(shape, static_cast<size_t>(axes.front()),
                                               static_cast<size_t>(axes.back()) + 1))
                      : std::nullopt;
      })
      .Case([&](ir::SoftmaxOp softmax) {
        size_t axis = axisOf(softmax.getAxis(), type);
        return rowsOver(shape, axis, axis + 1);
      })
      .Case([&](ir::LayerNormOp norm) {
        return rowsOver(shape, axisOf(norm.getAxis(), type), shape.size());
      })
      .Default([](mlir::Operation*) { return std::nullopt; });
}

/// Emits what is done for a row, with the arithmetic of the element type.
class RowKernelBuilder {
 public:
  /// `op`: a group or an operation alone; `size`: of whole rows, which `rows` may be parts of.
  RowKernelBuilder(mlir::Operation* op, Rows rows, int64_t size)
      : op_(rowOperationOf(op)), rows_(rows), size_(size), code_(op, rows, widest(op, rows)) {
    code_.code().sizes().add(size);
  }

  KernelLaunch build(mlir::ModuleOp module, const std::string& symbol) {
    return code_.build(module, symbol, [&] {
      llvm::TypeSwitch<mlir::Operation*>(op_)
          .Case([&](ir::ReduceOp reduce) { emitReduce(reduce); })
          .Case([&](ir::SoftmaxOp softmax) { emitSoftmax(softmax.getLog()); })
          .Case([&](ir::LayerNormOp norm) { emitLayerNorm(norm); });
    });
  }

 private:
  static int64_t widest(mlir::Operation* op, Rows rows) {
    auto bytes = [](mlir::Type type) { return int64_t{type.getIntOrFloatBitWidth()} / 8; };
    mlir::Type element = tensorOf(op->getOperand(0)).getElementType();
    if (rows.arePartial) {
      return bytes(rowComputeType(element));
    }
    int64_t most = bytes(codegen::memoryType(element));
    if (!llvm::isa<ir::ReduceOp>(op)) {  // whose result is no row
      llvm::SmallVector<mlir::Type> types(op->getOperandTypes());
      types.append(op->result_type_begin(), op->result_type_end());
      for (mlir::Type type : types) {
        most = std::max(most, bytes(codegen::memoryType(mlir::getElementTypeOrSelf(type))));
      }
    }
    return most;
  }
  bool isUnsigned() {
    mlir::Type element = tensorOf(op_->getOperand(0)).getElementType();
    return element.isUnsignedInteger() || element.isInteger(1);
  }

  bool isFloat() { return llvm::isa<mlir::FloatType>(code_.computeType()); }
  template <typename Float, typename Integer>
  mlir::Value choose(mlir::Value a, mlir::Value b) {
    return isFloat() ? make<Float>(a, b) : make<Integer>(a, b);
  }
  template <typename Op, typename... Args>
  mlir::Value make(const Args&... args) {
    return code_.code().make<Op>(args...);
  }
  mlir::Value add(mlir::Value a, mlir::Value b) {
    return choose<arith::AddFOp, arith::AddIOp>(a, b);
  }
  mlir::Value max(mlir::Value a, mlir::Value b) {
    return isUnsigned() ? make<arith::MaxUIOp>(a, b)
                        : choose<arith::MaximumFOp, arith::MaxSIOp>(a, b);
  }
  mlir::Value min(mlir::Value a, mlir::Value b) {
    return isUnsigned() ? make<arith::MinUIOp>(a, b)
                        : choose<arith::MinimumFOp, arith::MinSIOp>(a, b);
  }
  mlir::Value multiply(mlir::Value a, mlir::Value b) {
    return choose<arith::MulFOp, arith::MulIOp>(a, b);
  }

  mlir::Value sum(RowCode::Element element) {
    return code_.reduce(code_.constant(0), element,
                        [&](mlir::Value a, mlir::Value b) { return add(a, b); });
  }
  mlir::Value mean(RowCode::Element element) {
    return make<arith::DivFOp>(sum(element), code_.asFloat(size_));
  }
  mlir::Value maximum() { return combined(ir::Combine::kMax); }
  mlir::Value combined(ir::Combine how) {
    auto itself = [](mlir::Value x) { return x; };
    switch (how) {
      case ir::Combine::kAdd:
        return sum(itself);
      case ir::Combine::kMul:
        return code_.reduce(code_.constant(1), itself,
                            [&](mlir::Value a, mlir::Value b) { return multiply(a, b); });
      case ir::Combine::kMax:
        return code_.reduce(code_.firstElement(), itself,
                            [&](mlir::Value a, mlir::Value b) { return max(a, b); });
      case ir::Combine::kMin:
        return code_.reduce(code_.firstElement(), itself,
                            [&](mlir::Value a, mlir::Value b) { return min(a, b); });
    }
    llvm_unreachable("an enumerator");
  }

  void emitReduce(ir::ReduceOp reduce) {
    ir::ReductionRule rule = ir::ruleOf(reduce.getKind());
    // Parts are combined; the mean is of all of them.
    mlir::Value count = rule.divides && rows_.parts == 1 ? code_.asFloat(size_) : nullptr;
    mlir::Value result = combined(*rule.combine);
    code_.storeRow(count ? make<arith::DivFOp>(result, count) : result);
  }

  /// exp(x - m) / sum of exp(x - m), with m the row's maximum; or x - m - log(that sum).
  void emitSoftmax(bool log) {
    mlir::Value most = code_.spread(maximum());
    auto below = [&](mlir::Value x) { return make<arith::SubFOp>(x, most); };
    mlir::Value total = sum([&](mlir::Value x) { return make<math::ExpOp>(below(x)); });
    total = code_.spread(log ? make<math::LogOp>(total) : total);
    code_.forEach([&](mlir::Value x, mlir::Value column) {
      mlir::Value value = log ? make<arith::SubFOp>(below(x), total)
                              : make<arith::DivFOp>(make<math::ExpOp>(below(x)), total);
      code_.storeAt(column, value);
    });
  }

  /// The variance is of what is left without the mean, which keeps its digits.
  void emitLayerNorm(ir::LayerNormOp norm) {
    mlir::Value middle = code_.spread(mean([](mlir::Value x) { return x; }));
    auto without = [&](mlir::Value x) { return make<arith::SubFOp>(x, middle); };
    mlir::Value variance = code_.spread(mean([&](mlir::Value x) {
      mlir::Value rest = without(x);
      return make<arith::MulFOp>(rest, rest);
    }));
    double epsilon = norm.getEpsilon().convertToDouble();
    mlir::Value deviation =
        make<math::SqrtOp>(make<arith::AddFOp>(variance, code_.constant(epsilon)));
    mlir::Value factor = make<arith::DivFOp>(code_.constant(1), deviation);
    code_.forEach([&](mlir::Value x, mlir::Value column) {
      auto load = [&](unsigned operand) { return code_.loadColumn(numberOf(operand), column); };
      mlir::Value value = make<arith::MulFOp>(make<arith::MulFOp>(without(x), factor), load(1));
      value = norm.getBias() ? make<arith::AddFOp>(value, load(2)) : value;
      code_.storeAt(column, value);
    });
  }

  /// Which operand of the kernel an operand of the operation is: in a group one value may be
  /// several.
  unsigned numberOf(unsigned operand) {
    auto argument = llvm::dyn_cast<mlir::BlockArgument>(op_->getOperand(operand));
    bool isInGroup = llvm::isa<ir::GroupOp>(op_->getParentOp());
    return isInGroup && argument ? argument.getArgNumber() : operand;
  }

  mlir::Operation* op_;
  Rows rows_;
  int64_t size_;
  RowCode code_;
};

std::string whyNotType(mlir::Operation* op) {
  mlir::Type element = tensorOf(op->getOperand(0)).getElementType();
  std::string name = op->getName().getStringRef().str();
  if (auto integer = llvm::dyn_cast<mlir::IntegerType>(element)) {
    auto reduce = llvm::dyn_cast<ir::ReduceOp>(op);
    std::optional<ir::ReductionRule> rule;
    if (reduce) {
      rule = ir::ruleOf(reduce.getKind());
    }
    bool isOrder =
        rule && (rule->combine == ir::Combine::kMax || rule->combine == ir::Combine::kMin);
    bool isNumber = integer.getWidth() >= 8 && rule && !rule->divides;
    bool known = isNumber || (isOrder && integer.getWidth() == 1);
    return known ? "" : name + " of this integer type has no generated code on GPUs";
  }
  return ir::isComputed(element) ? "" : name + " has an element type that is not computed in";
}

/// Scale and bias have an element for each of the row's.
bool isByColumn(ir::LayerNormOp norm, Rows rows) {
  auto input = tensorOf(norm.getInput());
  llvm::ArrayRef<int64_t> row = input.getShape().drop_front(axisOf(norm.getAxis(), input));
  return llvm::all_of(norm->getOperands().drop_front(), [&](mlir::Value value) {
    return tensorOf(value).getShape() == row &&
           tensorOf(value).getElementType() == input.getElementType() && rows.inner == 1;
  });
}

/// An operation's rows, in parts where that is worth it.
Rows partsOf(mlir::Operation* op, Rows rows) {
  mlir::Type element = tensorOf(op->getOperand(0)).getElementType();
  int64_t bytes = codegen::memoryType(element).getIntOrFloatBitWidth() / 8;
  return llvm::isa<ir::ReduceOp>(op) ? inParts(rows, bytes) : rows;
}

}  // namespace

bool isRowOperation(mlir::Operation* op) { return rowOperationOf(op) != nullptr; }

std::string whyNotRowKernel(mlir::Operation* op) {
  op = rowOperationOf(op);
  std::string name = op->getName().getStringRef().str();
  std::optional<Rows> rows = rowsOf(op);
  if (!rows) {
    return name + " reduces dims that do not follow each other";
  }
  if (rows->count() == 0 || rows->size == 0) {
    return name + " has no elements";
  }
  auto reduce = llvm::dyn_cast<ir::ReduceOp>(op);
  if (reduce && !ir::ruleOf(reduce.getKind()).combine) {
    return name + " of kind " + ir::stringifyReduceKind(reduce.getKind()).str() +
           " is to be spelled out";
  }
  auto norm = llvm::dyn_cast<ir::LayerNormOp>(op);
  if (norm && !isByColumn(norm, *rows)) {
    return name + " has a scale or bias that is not one row";
  }
  return whyNotType(op);
}

RowWalk walkOfThread(mlir::Operation* op) {
  if (!llvm::isa<ir::ReduceOp>(op)) {
    return {};
  }
  std::optional<Rows> rows = rowsOf(op);
  if (!rows) {
    return {};
  }
  Rows parts = partsOf(op, *rows);
  int64_t walked = parts.parts > 1 ? parts.partSize : parts.size;
  return {rows->inner > 1 ? walked : 0, parts.parts > 1};
}

void buildRowKernels(OperationKernels& kernels) {
  mlir::Operation* op = kernels.op;
  Rows rows = rowsOf(rowOperationOf(op)).value_or(Rows());
  auto add = [&](Rows some) {
    kernels.add([&](mlir::ModuleOp module, const std::string& symbol) {
      return RowKernelBuilder(op, some, rows.size).build(module, symbol);
    });
  };
  Rows parts = partsOf(op, rows);
  add(parts);
  if (parts.parts > 1) {
    mlir::Type element = tensorOf(op->getOperand(0)).getElementType();
    unsigned partBytes = rowComputeType(element).getIntOrFloatBitWidth() / 8;
    kernels.plan.scratchBytes = static_cast<uint64_t>(rows.count() * parts.parts) * partBytes;
    add({rows.count(), parts.parts, 1, 1, 0, /*arePartial=*/true});
  }
}

}  // namespace graphrun::devices::cuda
