// Kernels that write updates by index. Where updates meet, their order counts, and no race decides:
// with no reduction each destination is claimed by its last update first, by an atomic maximum of
// numbers; with one, each destination's thread looks for its updates, in order.
#include "absl/strings/str_cat.h"
#include "devices/codegen/index_maps.h"
#include "devices/codegen/memory_elements.h"
#include "devices/cuda/compiler/emit/kernel_families.h"
#include "devices/cuda/compiler/emit/point_arithmetic.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

namespace graphrun::devices::cuda {
namespace {

using codegen::tensorOf;
using Dims = llvm::ArrayRef<int64_t>;
using Values = PointCode::Values;
namespace arith = mlir::arith;
namespace LLVM = mlir::LLVM;

/// Most looks at updates of one operation with a reduction: some milliseconds of a GPU.
constexpr int64_t kMostLooks = int64_t{1} << 32;
constexpr unsigned kInput = 0, kIndices = 1, kUpdates = 2, kResult = 3;  // arguments

int64_t count(Dims dims) { return mlir::ShapedType::getNumElements(dims); }

/// How the two operations name destinations: a destination is a slice of `slice` elements.
class Scatter {
 public:
  explicit Scatter(mlir::Operation* op)
      : dims_(tensorOf(op->getOperand(kInput)).getShape()),
        picks_(tensorOf(op->getOperand(kIndices)).getShape()) {
    if (auto elements = llvm::dyn_cast<ir::ScatterElementsOp>(op)) {
      byElement_ = true;
      axis_ = static_cast<size_t>(elements.getAxis());
      updates_ = count(picks_);
      candidates_ = picks_[axis_];
      reduction_ = elements.getReduction();
    } else {
      depth_ = static_cast<size_t>(picks_.back());
      slice_ = count(dims_.drop_front(depth_));
      updates_ = candidates_ = count(picks_.drop_back());
      reduction_ = llvm::cast<ir::ScatterNdOp>(op).getReduction();
    }
  }

  ir::ScatterReduction reduction() const { return reduction_; }
  Dims dims() const { return dims_; }
  int64_t elements() const { return count(dims_); }
  int64_t slice() const { return slice_; }
  int64_t destinations() const { return elements() / slice_; }
  /// Index vectors, or single indices.
  int64_t updates() const { return updates_; }
  /// Updates that one destination may be named by.
  int64_t candidates() const { return candidates_; }

  void addSizes(PointCode& code) const {
    code.addSizes(dims_);
    code.addSizes(picks_);
    code.addSizes({slice_, candidates_, destinations()});
  }

  /// The destination of an update.
  mlir::Value destination(PointCode& code, mlir::Value update) const {
    if (!byElement_) {
      mlir::Value first = code.times(update, static_cast<int64_t>(depth_));
      mlir::Value offset = code.constant(0);
      for (size_t d = 0; d < depth_; ++d) {
        mlir::Value at = code.add(first, code.constant(static_cast<int64_t>(d)));
        offset = code.add(code.times(offset, dims_[d]), code.loadIndex(kIndices, at, dims_[d]));
      }
      return offset;
    }
    Values index = code.indexOf(update, picks_);
    index[axis_] = code.loadIndex(kIndices, update, dims_[axis_]);
    return code.offsetOf(index, dims_);
  }

  /// The candidate numbered `round` of the destination of an element at `index` in the input.
  mlir::Value candidate(PointCode& code, const Values& index, mlir::Value round) const {
    if (!byElement_) {
      return round;
    }
    Values at = index;
    for (size_t d = 0; d < at.size(); ++d) {
      at[d] = d == axis_ ? round : code.clamped(at[d], picks_[d]);
    }
    return code.offsetOf(at, picks_);
  }

 private:
  Dims dims_, picks_;
  bool byElement_ = false;       // each index names an element, along axis_
  size_t axis_ = 0, depth_ = 0;  // depth_: of an index vector
  int64_t slice_ = 1, updates_ = 0, candidates_ = 0;
  ir::ScatterReduction reduction_;
};

mlir::Value claim(PointCode& code, mlir::Value destination) {
  return code.code().scratchAddress(0, code.code().builder().getI32Type(), destination);
}

/// The input as it is, and nobody's claims.
KernelLaunch buildCopy(mlir::ModuleOp module, mlir::Operation* op, const Scatter& scatter,
                       const std::string& symbol) {
  PointCode code(op, {scatter.elements()});
  code.code().useScratch();
  code.addSizes({scatter.destinations()});
  return code.build(module, symbol, [&](llvm::ArrayRef<mlir::Value>, mlir::Value number) {
    code.store(code.load(kInput, number), kResult, number);
    mlir::Value isClaim = code.isLess(number, code.number(scatter.destinations()));
    code.code().emitIf(isClaim, [&] {
      code.code().store(code.code().make<arith::ConstantIntOp>(-1, 32), claim(code, number));
    });
  });
}

/// Each destination's last update claims it.
KernelLaunch buildClaim(mlir::ModuleOp module, mlir::Operation* op, const Scatter& scatter,
                        const std::string& symbol) {
  PointCode code(op, {scatter.updates()});
  code.code().useScratch();
  scatter.addSizes(code);
  return code.build(module, symbol, [&](llvm::ArrayRef<mlir::Value>, mlir::Value number) {
    mlir::Value owner =
        code.code().make<arith::IndexCastUIOp>(code.code().builder().getI32Type(), number);
    code.code().make<LLVM::AtomicRMWOp>(LLVM::AtomicBinOp::max,
                                        claim(code, scatter.destination(code, number)), owner,
                                        LLVM::AtomicOrdering::monotonic);
  });
}

KernelLaunch buildWrite(mlir::ModuleOp module, mlir::Operation* op, const Scatter& scatter,
                        const std::string& symbol) {
  PointCode code(op, {scatter.updates(), scatter.slice()});
  code.code().useScratch();
  scatter.addSizes(code);
  return code.build(module, symbol, [&](llvm::ArrayRef<mlir::Value> index, mlir::Value number) {
    mlir::Value destination = scatter.destination(code, index[0]);
    mlir::Type i32 = code.code().builder().getI32Type();
    mlir::Value owner = code.code().load(claim(code, destination), i32, 1);
    mlir::Value mine = code.code().make<arith::IndexCastUIOp>(i32, index[0]);
    mlir::Value isMine = code.code().make<arith::CmpIOp>(arith::CmpIPredicate::eq, owner, mine);
    code.code().emitIf(isMine, [&] {
      mlir::Value to = code.add(code.times(destination, scatter.slice()), index[1]);
      code.store(code.load(kUpdates, number), kResult, to);
    });
  });
}

/// A value that an update joins; in the order of a model's elements min and max keep what is a NaN.
mlir::Value joined(Arithmetic& math, ir::ScatterReduction reduction, mlir::Type element,
                   mlir::Value a, mlir::Value x, ThreadCode& code) {
  using Reduction = ir::ScatterReduction;
  if (element.isInteger(1)) {
    return reduction == Reduction::kAdd || reduction == Reduction::kMax ? math.either(a, x)
                                                                        : math.both(a, x);
  }
  if (reduction == Reduction::kAdd || reduction == Reduction::kMul) {
    return reduction == Reduction::kAdd ? math.add(a, x) : math.multiply(a, x);
  }
  mlir::Value low = reduction == Reduction::kMin ? a : x,
              high = reduction == Reduction::kMin ? x : a;
  if (element.isUnsignedInteger()) {
    return math.select(code.make<arith::CmpIOp>(arith::CmpIPredicate::ult, low, high), a, x);
  }
  mlir::Value stays = math.isLess(low, high);
  if (Arithmetic::isFloat(a)) {
    stays = math.either(stays, code.make<arith::CmpFOp>(arith::CmpFPredicate::UNO, a, a));
  }
  return math.select(stays, a, x);
}

/// A thread an element, which looks at all updates that may be for it. Each sum is rounded as one
/// that is stored.
KernelLaunch buildReduction(mlir::ModuleOp module, mlir::Operation* op, const Scatter& scatter,
                            const std::string& symbol) {
  PointCode code(op, {scatter.elements()});
  scatter.addSizes(code);
  Arithmetic math(code);
  mlir::Type element = tensorOf(op->getOperand(kInput)).getElementType();
  mlir::Type memory = codegen::memoryType(element), type = codegen::computeType(element);
  return code.build(module, symbol, [&](llvm::ArrayRef<mlir::Value>, mlir::Value number) {
    ThreadCode& thread = code.code();
    Values index = code.indexOf(number, scatter.dims());
    mlir::Value slice = code.constant(scatter.slice());
    mlir::Value mine = number, inSlice = code.constant(0);
    if (scatter.slice() > 1) {
      slice = code.number(scatter.slice());
      mine = thread.make<arith::DivUIOp>(number, slice);
      inSlice = thread.make<arith::RemUIOp>(number, slice);
    }
    mlir::Value all = code.repeat(
        scatter.candidates(), {code.load(kInput, number)},
        [&](mlir::Value round, mlir::ValueRange before) {
          mlir::Value update = scatter.candidate(code, index, round);
          mlir::Value offset = code.add(code.times(update, scatter.slice()), inSlice);
          mlir::Value x = code.compute(kUpdates, offset);
          mlir::Value a = codegen::fromMemory(thread.builder(), thread.loc(), before[0], type);
          mlir::Value next = joined(math, scatter.reduction(), element, a, x, thread);
          next = codegen::toMemory(thread.builder(), thread.loc(), next, memory);
          mlir::Value isMine = thread.make<arith::CmpIOp>(arith::CmpIPredicate::eq,
                                                          scatter.destination(code, update), mine);
          return Values{code.select(isMine, next, before[0])};
        })[0];
    code.store(all, kResult, number);
  });
}

bool has(mlir::Operation* op) { return llvm::isa<ir::ScatterElementsOp, ir::ScatterNdOp>(op); }

std::string whyNot(mlir::Operation* op) {
  std::string name = op->getName().getStringRef().str();
  mlir::Type element = tensorOf(op->getOperand(kInput)).getElementType();
  mlir::Type index = tensorOf(op->getOperand(kIndices)).getElementType();
  if (!ir::isComputed(element)) {
    return name + " has an element type that is not computed in";
  }
  if (!index.isInteger(32) && !index.isInteger(64)) {
    return name + " has indices that are neither i32 nor i64";
  }
  Scatter scatter(op);
  if (scatter.elements() == 0 || scatter.updates() == 0 || scatter.slice() == 0) {
    return name + " has no elements";
  }
  if (scatter.updates() > kMostIn32Bits) {
    return name + " has more updates than are counted in 32 bits";
  }
  bool looksLong = scatter.reduction() != ir::ScatterReduction::kNone &&
                   scatter.candidates() > kMostLooks / scatter.elements();
  return looksLong
             ? absl::StrCat(name, " has ", scatter.candidates(), " updates to look for by each of ",
                            scatter.elements(), " elements")
             : "";
}

void build(OperationKernels& kernels) {
  Scatter scatter(kernels.op);
  auto add = [&](auto builder) {
    kernels.add([&](mlir::ModuleOp module, const std::string& symbol) {
      return builder(module, kernels.op, scatter, symbol);
    });
  };
  if (scatter.reduction() != ir::ScatterReduction::kNone) {
    return add(buildReduction);
  }
  kernels.plan.scratchBytes = static_cast<uint64_t>(scatter.destinations()) * sizeof(int32_t);
  add(buildCopy);
  add(buildClaim);
  add(buildWrite);
}

}  // namespace

KernelFamily scatterKernels() { return {has, whyNot, build}; }

}  // namespace graphrun::devices::cuda
