#include "passes/lists.h"

#include <map>

#include "ir/dialect.h"
#include "passes/passes.h"

namespace graphrun::passes {
namespace {

/// Lists in lists: ONNX has optional sequences, and sequences of those of tensors.
constexpr int kMaxListDepth = 4;
constexpr size_t kMaxLength = 1 << 16;

/// A tree holds the structure of a list, as the names of its tensors tell it.
struct Tree {
  std::map<size_t, Tree> elements;
  const InputShape* tensor = nullptr;
  bool isEmpty = false;  // "[]"
};

class ListExpander {
 public:
  ListExpander(mlir::func::FuncOp func, llvm::ArrayRef<InputShape> shapes)
      : func_(func), shapes_(shapes), builder_(func.getContext()) {}

  mlir::LogicalResult run() {
    for (unsigned i = 0; i < func_.getNumArguments();) {
      if (!ir::isSequence(func_.getArgument(i).getType())) {
        ++i;
      } else if (mlir::failed(expand(i))) {
        return mlir::failure();
      }
    }
    return mlir::success();
  }

 private:
  /// Replaces argument `index`; what replaces it comes behind all arguments.
  mlir::LogicalResult expand(unsigned index) {
    name_ = inputName(func_, index);
    Tree tree;
    for (const InputShape& shape : shapes_) {
      llvm::StringRef rest = shape.input;
      if (rest.consume_front(name_) && rest.starts_with("[") &&
          mlir::failed(add(tree, rest, shape))) {
        return mlir::failure();
      }
    }
    mlir::Type type = func_.getArgument(index).getType();
    builder_.setInsertionPointToStart(&func_.getBody().front());
    mlir::Value list = build(tree, type);
    if (!list) {
      return mlir::failure();
    }
    func_.getArgument(index).replaceAllUsesWith(list);
    func_.eraseArgument(index);
    return mlir::success();
  }

  mlir::LogicalResult badName(const InputShape& shape) {
    return func_.emitError() << "input '" << shape.input << "' is no tensor of the list '" << name_
                             << "'; expected " << name_ << "[0], " << name_ << "[1] …, or " << name_
                             << "[] when it is empty";
  }

  mlir::LogicalResult add(Tree& root, llvm::StringRef rest, const InputShape& shape) {
    Tree* tree = &root;
    for (int depth = 0; !rest.empty(); ++depth) {
      size_t index = 0;
      if (depth == kMaxListDepth || !rest.consume_front("[")) {
        return badName(shape);
      }
      if (rest == "]") {
        tree->isEmpty = true;
        unused_.push_back(&shape);
        return mlir::success();
      }
      if (rest.consumeInteger(10, index) || index >= kMaxLength || !rest.consume_front("]")) {
        return badName(shape);
      }
      tree = &tree->elements[index];
    }
    if (tree->tensor != nullptr || !shape.element) {
      return badName(shape);
    }
    tree->tensor = &shape;
    return mlir::success();
  }

  /// The list, with arguments for its tensors; null after a diagnostic.
  mlir::Value build(const Tree& tree, mlir::Type type) {
    bool isGap = !tree.elements.empty() && tree.elements.rbegin()->first >= tree.elements.size();
    bool isOther = tree.tensor != nullptr || tree.isEmpty == !tree.elements.empty();
    if (isGap || isOther) {
      func_.emitError() << "input '" << name_ << "' is a list of which "
                        << (isGap ? "tensors are missing" : "no tensors are given") << "; expected "
                        << name_ << "[0], " << name_ << "[1] …, or " << name_
                        << "[] when it is empty";
      return nullptr;
    }
    llvm::SmallVector<mlir::Value> elements;
    for (const auto& [index, element] : tree.elements) {
      elements.push_back(element.tensor != nullptr
                             ? argument(*element.tensor)
                             : build(element, ir::sequenceType(func_.getContext())));
      if (!elements.back()) {
        return nullptr;
      }
    }
    if (type == ir::sequenceType(func_.getContext(), /*optional=*/true) && elements.size() > 1) {
      func_.emitError() << "input '" << name_ << "' is optional, but has " << elements.size()
                        << " elements, expected at most 1";
      return nullptr;
    }
    if (tree.isEmpty) {
      argument(*unused_.front());
      unused_.erase(unused_.begin());
    }
    return builder_.create<ir::SequenceOp>(func_.getLoc(), type, elements);
  }

  mlir::Value argument(const InputShape& shape) {
    unsigned index = func_.getNumArguments();
    mlir::Type element = shape.element ? shape.element : builder_.getF32Type();
    func_.insertArgument(index, mlir::RankedTensorType::get(shape.dims, element),
                         builder_.getDictionaryAttr(builder_.getNamedAttr(
                             ir::kNameAttr, builder_.getStringAttr(shape.input))),
                         func_.getLoc());
    return func_.getArgument(index);
  }

  mlir::func::FuncOp func_;
  llvm::ArrayRef<InputShape> shapes_;
  mlir::OpBuilder builder_;
  std::string name_;
  llvm::SmallVector<const InputShape*> unused_;  // of empty lists
};

}  // namespace

mlir::LogicalResult expandLists(mlir::func::FuncOp func, llvm::ArrayRef<InputShape> shapes) {
  return ListExpander(func, shapes).run();
}

}  // namespace graphrun::passes
