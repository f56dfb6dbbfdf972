// gr-specialize-shapes: one graph for one set of input shapes.
#include "ir/dialect.h"
#include "ir/dims.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "passes/lists.h"
#include "passes/passes.h"
#include "passes/shapes.h"

namespace graphrun::passes {

#define GEN_PASS_DEF_SPECIALIZESHAPES
#include "passes/passes.h.inc"

namespace {

/// Folding may make a dim known that inference alone does not; each round makes at least one known.
constexpr int kMaxRounds = 64;

/// A binding says where a symbol got its number.
struct Binding {
  int64_t value;
  std::string where;
};

class Specializer {
 public:
  Specializer(mlir::func::FuncOp func, llvm::ArrayRef<InputShape> shapes,
              const ResolveDeferred& resolveDeferred)
      : func_(func),
        context_(func.getContext()),
        shapes_(shapes),
        resolveDeferred_(resolveDeferred) {
    if (auto names = func->getAttrOfType<mlir::ArrayAttr>(ir::kSymbolsAttr)) {
      for (mlir::Attribute name : names) {
        symbols_.push_back(llvm::cast<mlir::StringAttr>(name).getValue());
      }
    }
  }

  mlir::LogicalResult run() {
    if (mlir::failed(expandLists(func_, shapes_)) || mlir::failed(matchNames())) {
      return mlir::failure();
    }
    // All inputs are looked at before giving up: the report is complete.
    bool good = true;
    for (unsigned i = 0; i < func_.getNumArguments(); ++i) {
      good &= mlir::succeeded(bindInput(i));
    }
    if (!good || mlir::failed(checkExpressions())) {
      return mlir::failure();
    }
    setTypes();
    setValues();
    return settle();
  }

 private:
  mlir::LogicalResult matchNames() {
    given_.assign(func_.getNumArguments(), nullptr);
    llvm::SmallVector<std::string> names;
    for (unsigned i = 0; i < func_.getNumArguments(); ++i) {
      names.push_back(inputName(func_, i));
    }
    for (const InputShape& shape : shapes_) {
      auto* found = llvm::find(names, shape.input);
      if (found == names.end()) {
        return func_.emitError() << "there is no input '" << shape.input
                                 << "', expected one of: " << llvm::join(names, ", ");
      }
      const InputShape*& slot = given_[found - names.begin()];
      if (slot != nullptr) {
        return func_.emitError() << "input '" << shape.input << "' is given two shapes";
      }
      slot = &shape;
    }
    return mlir::success();
  }

  /// "Nx3x?", with the symbols' names.
  std::string describe(mlir::Type type) const {
    std::string text = llvm::cast<mlir::ShapedType>(type).hasRank()
                           ? ir::toString(*ir::dimsOf(type))
                           : "any shape";
    for (size_t i = symbols_.size(); i-- > 0;) {
      replace(text, "s" + std::to_string(i), symbols_[i]);
    }
    return text;
  }

  static void replace(std::string& text, const std::string& from, llvm::StringRef to) {
    for (size_t at = text.find(from); !to.empty() && at != std::string::npos;
         at = text.find(from, at + to.size())) {
      text.replace(at, from.size(), to.str());
    }
  }

  mlir::LogicalResult bindInput(unsigned index) {
    auto type = llvm::cast<mlir::ShapedType>(func_.getArgument(index).getType());
    std::string name = inputName(func_, index);
    const InputShape* shape = given_[index];
    if (shape == nullptr) {
      if (type.hasStaticShape()) {
        return mlir::success();
      }
      return func_.emitError() << "input " << name << ": its shape " << describe(type)
                               << " is not fixed; give it as " << name << ":DxDx…";
    }
    auto mismatch = [&] {
      return func_.emitError() << "input " << name << ": got "
                               << ir::toString(ir::Dims(shape->dims.begin(), shape->dims.end()))
                               << " expected " << describe(type);
    };
    if (!type.hasRank()) {
      return mlir::success();
    }
    std::optional<ir::Dims> dims = ir::dimsOf(type);
    if (dims->size() != shape->dims.size()) {
      return mismatch();
    }
    for (auto [i, dim] : llvm::enumerate(*dims)) {
      if (provablyDifferent(dim, ir::Dim(shape->dims[i])) || shape->dims[i] < 0) {
        return mismatch();
      }
      std::string where = ("dim " + llvm::Twine(i) + " of input " + name).str();
      if (!dim.isStatic() && !dim.isUnknown() &&
          mlir::failed(bindDim(dim.expr(nullptr), shape->dims[i], where))) {
        return mlir::failure();
      }
    }
    return mlir::success();
  }

  mlir::LogicalResult bindDim(mlir::AffineExpr expr, int64_t value, const std::string& where) {
    auto symbol = llvm::dyn_cast<mlir::AffineSymbolExpr>(expr);
    if (!symbol) {
      expressions_.push_back({expr, {value, where}});
      return mlir::success();
    }
    auto [entry, isNew] = bound_.try_emplace(symbol.getPosition(), Binding{value, where});
    if (!isNew && entry->second.value != value) {
      return func_.emitError() << "symbol " << symbolName(symbol.getPosition()) << " would be both "
                               << entry->second.value << " (" << entry->second.where << ") and "
                               << value << " (" << where << ")";
    }
    return mlir::success();
  }

  std::string symbolName(unsigned position) const {
    return position < symbols_.size() && !symbols_[position].empty()
               ? symbols_[position].str()
               : "s" + std::to_string(position);
  }

  mlir::AffineExpr substitute(mlir::AffineExpr expr) const {
    llvm::SmallVector<mlir::AffineExpr> values;
    for (unsigned i = 0; i < symbols_.size() || i < kMaxUnnamedSymbols; ++i) {
      auto found = bound_.find(i);
      values.push_back(found == bound_.end()
                           ? mlir::getAffineSymbolExpr(i, context_)
                           : mlir::getAffineConstantExpr(found->second.value, context_));
    }
    return expr.replaceSymbols(values);
  }

  mlir::LogicalResult checkExpressions() {
    for (const auto& [expr, binding] : expressions_) {
      auto constant = llvm::dyn_cast<mlir::AffineConstantExpr>(substitute(expr));
      if (constant && constant.getValue() != binding.value) {
        return func_.emitError() << binding.where << ": got " << binding.value << " expected "
                                 << constant.getValue() << " = "
                                 << ir::toString({ir::Dim::symbolic(expr)});
      }
    }
    return mlir::success();
  }

  mlir::Type substitute(mlir::Type type) const {
    std::optional<ir::Dims> dims = ir::dimsOf(type);
    if (!dims) {
      return type;
    }
    for (ir::Dim& dim : *dims) {
      if (!dim.isStatic() && !dim.isUnknown()) {
        dim = ir::Dim::symbolic(substitute(dim.expr(nullptr)));
      }
    }
    return ir::tensorType(*dims, llvm::cast<mlir::TensorType>(type).getElementType());
  }

  void setTypes() {
    func_.walk([&](mlir::Operation* op) {
      for (mlir::OpResult result : op->getResults()) {
        result.setType(substitute(result.getType()));
      }
    });
    for (auto [i, argument] : llvm::enumerate(func_.getArguments())) {
      if (given_[i] != nullptr) {
        auto type = llvm::cast<mlir::TensorType>(argument.getType());
        argument.setType(mlir::RankedTensorType::get(given_[i]->dims, type.getElementType()));
      }
    }
    func_->removeAttr(ir::kSymbolsAttr);
  }

  /// An input whose elements are given is a constant from here on; the argument stays, unused.
  void setValues() {
    mlir::OpBuilder builder = mlir::OpBuilder::atBlockBegin(&func_.getBody().front());
    for (auto [i, argument] : llvm::enumerate(func_.getArguments())) {
      if (given_[i] != nullptr && given_[i]->elements) {
        auto constant = builder.create<ir::ConstantOp>(argument.getLoc(), argument.getType(),
                                                       given_[i]->elements);
        argument.replaceAllUsesWith(constant.getResult());
      }
    }
  }

  mlir::LogicalResult settle() {
    const mlir::FrozenRewritePatternSet foldersOnly;
    for (int round = 0; round < kMaxRounds; ++round) {
      bool changed = false;
      bool resolved = false;
      if (mlir::failed(resolve(func_, resolveDeferred_, resolved))) {
        return mlir::failure();
      }
      bool isStatic = firstDynamic(func_) == nullptr;
      static_cast<void>(
          mlir::applyPatternsAndFoldGreedily(func_, foldersOnly, /*config=*/{}, &changed));
      if (isStatic || (!changed && !resolved)) {
        break;
      }
    }
    return mlir::success();
  }

  static constexpr unsigned kMaxUnnamedSymbols = 64;
  mlir::func::FuncOp func_;
  mlir::MLIRContext* context_;
  llvm::ArrayRef<InputShape> shapes_;
  const ResolveDeferred& resolveDeferred_;
  llvm::SmallVector<llvm::StringRef> symbols_;
  llvm::SmallVector<const InputShape*> given_;
  llvm::DenseMap<unsigned, Binding> bound_;
  llvm::SmallVector<std::pair<mlir::AffineExpr, Binding>> expressions_;
};

struct SpecializeShapesPass : impl::SpecializeShapesBase<SpecializeShapesPass> {
  using SpecializeShapesBase::SpecializeShapesBase;
  void runOnOperation() override {
    llvm::SmallVector<InputShape> inputs;
    for (const std::string& text : shapes) {
      std::optional<InputShape> input = parseInputShape(text);
      if (!input) {
        getOperation().emitError() << "shape '" << text << "' is not of the form input:DxDx…";
        return signalPassFailure();
      }
      inputs.push_back(*input);
    }
    if (mlir::failed(specialize(getOperation(), inputs))) {
      return signalPassFailure();
    }
    if (mlir::Operation* op = firstDynamic(getOperation())) {
      op->emitOpError() << "result type " << op->getResult(0).getType()
                        << " stays unknown when the shapes of all inputs are given: it depends on "
                           "data";
      signalPassFailure();
    }
  }
};

}  // namespace

bool isStatic(mlir::Operation* op) {
  return !op->hasTrait<ir::ResolvedByPlanning>() &&
         llvm::all_of(op->getResultTypes(), [](mlir::Type type) {
           auto shaped = llvm::dyn_cast<mlir::ShapedType>(type);
           return shaped && shaped.hasStaticShape();
         });
}

mlir::Operation* firstDynamic(mlir::func::FuncOp func) {
  for (mlir::Operation& op : func.getBody().front()) {
    if (!isStatic(&op)) {
      return &op;
    }
  }
  return nullptr;
}

mlir::LogicalResult specialize(mlir::func::FuncOp func, llvm::ArrayRef<InputShape> shapes,
                               const ResolveDeferred& resolveDeferred) {
  return Specializer(func, shapes, resolveDeferred).run();
}

std::optional<InputShape> parseInputShape(llvm::StringRef text) {
  auto [name, dims] = text.rsplit(':');
  if (name.empty() || !text.contains(':')) {
    return std::nullopt;
  }
  InputShape shape{name.str(), {}};
  llvm::SmallVector<llvm::StringRef> parts;
  if (!dims.empty()) {
    dims.split(parts, 'x');
  }
  for (llvm::StringRef part : parts) {
    if (part.getAsInteger(10, shape.dims.emplace_back()) || shape.dims.back() < 0) {
      return std::nullopt;
    }
  }
  return shape;
}

}  // namespace graphrun::passes
