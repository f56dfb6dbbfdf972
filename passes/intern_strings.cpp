// gr-intern-strings: strings become numbers, so that devices can move and compare them.
#include "passes/intern_strings.h"
#include "ir/dialect.h"
#include "llvm/ADT/StringMap.h"
#include "mlir/IR/TypeUtilities.h"
#include "passes/passes.h"

namespace graphrun::passes {

#define GEN_PASS_DEF_INTERNSTRINGS
#include "passes/passes.h.inc"

namespace {

class Interner {
 public:
  explicit Interner(mlir::func::FuncOp func) : func_(func) {}

  InternedStrings run() {
    nameValues();
    func_.walk([&](mlir::Operation* op) {
      for (mlir::NamedAttribute attribute : op->getAttrs()) {
        if (auto text = llvm::dyn_cast<mlir::DenseStringElementsAttr>(attribute.getValue())) {
          op->setAttr(attribute.getName(), numbersOf(text));
        }
      }
      retype(op->getResults());
      for (mlir::Region& region : op->getRegions()) {
        for (mlir::Block& block : region) {
          retype(block.getArguments());
        }
      }
    });
    mlir::Block& body = func_.getBody().front();
    func_.setType(mlir::FunctionType::get(func_.getContext(), body.getArgumentTypes(),
                                          body.getTerminator()->getOperandTypes()));
    return std::move(interned_);
  }

 private:
  void nameValues() {
    for (unsigned i = 0; i < func_.getNumArguments(); ++i) {
      if (ir::isStrings(func_.getArgument(i).getType())) {
        interned_.values.push_back(inputName(func_, i));
      }
    }
    for (unsigned i = 0; i < func_.getNumResults(); ++i) {
      if (ir::isStrings(func_.getResultTypes()[i])) {
        interned_.values.push_back(outputName(func_, i));
      }
    }
  }

  /// A splat stays one: it may stand for more elements than there is memory.
  mlir::DenseElementsAttr numbersOf(mlir::DenseStringElementsAttr text) {
    llvm::SmallVector<int64_t> numbers;
    for (llvm::StringRef string : text.getRawStringData()) {
      auto [entry, isNew] = numbers_.try_emplace(string, interned_.strings.size());
      if (isNew) {
        interned_.strings.push_back(string.str());
      }
      numbers.push_back(static_cast<int64_t>(entry->second));
    }
    return mlir::DenseElementsAttr::get(llvm::cast<mlir::ShapedType>(numberType(text.getType())),
                                        llvm::ArrayRef(numbers));
  }

  static mlir::Type numberType(mlir::Type type) {
    return llvm::cast<mlir::ShapedType>(type).clone(mlir::IntegerType::get(type.getContext(), 64));
  }

  template <typename Values>
  static void retype(Values values) {
    for (mlir::Value value : values) {
      if (ir::isStrings(value.getType())) {
        value.setType(numberType(value.getType()));
      }
    }
  }

  mlir::func::FuncOp func_;
  InternedStrings interned_;
  llvm::StringMap<uint64_t> numbers_;
};

struct InternStringsPass : impl::InternStringsBase<InternStringsPass> {
  void runOnOperation() override {
    InternedStrings interned = internStrings(getOperation());
    mlir::Builder builder(&getContext());
    auto list = [&](const std::vector<std::string>& texts) {
      return builder.getStrArrayAttr(
          llvm::SmallVector<llvm::StringRef>(texts.begin(), texts.end()));
    };
    getOperation()->setAttr("gr.strings", list(interned.strings));
    getOperation()->setAttr("gr.string_values", list(interned.values));
  }
};

}  // namespace

InternedStrings internStrings(mlir::func::FuncOp func) { return Interner(func).run(); }

}  // namespace graphrun::passes
