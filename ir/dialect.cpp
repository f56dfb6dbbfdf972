#include "ir/dialect.h"

#include "ir/dims.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/IR/TypeUtilities.h"

#include "ir/gr_dialect.cpp.inc"
#include "ir/gr_interfaces.cpp.inc"
#include "ir/gr_words.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "ir/gr_attrs.cpp.inc"

#define GET_TYPEDEF_CLASSES
#include "ir/gr_types.cpp.inc"

namespace graphrun::ir {

mlir::LogicalResult DimsAttr::verifyEncoding(
    llvm::ArrayRef<int64_t> shape, mlir::Type,
    llvm::function_ref<mlir::InFlightDiagnostic()> emitError) const {
  mlir::AffineMap map = getMap();
  auto text = [](mlir::AffineExpr expr) {
    std::string text;
    llvm::raw_string_ostream(text) << expr;
    return text;
  };
  if (map.getNumResults() != shape.size()) {
    return emitError() << "#gr.dims has " << map.getNumResults() << " dims, expected the tensor's "
                       << shape.size();
  }
  for (auto [i, expr] : llvm::enumerate(map.getResults())) {
    auto constant = llvm::dyn_cast<mlir::AffineConstantExpr>(expr);
    bool isDynamic = mlir::ShapedType::isDynamic(shape[i]);
    if (isDynamic ? constant != nullptr : !constant || constant.getValue() != shape[i]) {
      return emitError() << "#gr.dims gives dim " << i << " as " << text(expr)
                         << ", which the tensor's shape contradicts";
    }
    if (!llvm::isa<mlir::AffineDimExpr>(expr) && !expr.isSymbolicOrConstant()) {
      return emitError() << "#gr.dims gives dim " << i << " as " << text(expr)
                         << ", expected d0 or an expression over symbols";
    }
  }
  return mlir::success();
}

void GRDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "ir/gr_attrs.cpp.inc"
      >();
  addTypes<
#define GET_TYPEDEF_LIST
#include "ir/gr_types.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "ir/ops_math.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "ir/ops_nn.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "ir/ops_attention.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "ir/ops_tensor.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "ir/ops_index.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "ir/ops_random.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "ir/ops_vision.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "ir/ops_ml.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "ir/ops_control.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "ir/ops_comm.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "ir/ops_recurrent.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "ir/ops_signal.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "ir/ops_state.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "ir/ops_backward.cpp.inc"
      >();
}

mlir::Operation* GRDialect::materializeConstant(mlir::OpBuilder& builder, mlir::Attribute value,
                                                mlir::Type type, mlir::Location loc) {
  auto elements = llvm::dyn_cast<mlir::ElementsAttr>(value);
  return elements ? builder.create<ConstantOp>(loc, type, elements) : nullptr;
}

namespace {

/// Returns the words as a text: a, b or c.
std::string choice(llvm::ArrayRef<llvm::StringRef> words) {
  std::string text = (words.back().empty() ? "\"\"" : words.back()).str();
  return words.size() == 1 ? text : llvm::join(words.drop_back(), ", ") + " or " + text;
}

/// Only what planning resolves takes lists.
mlir::LogicalResult verifySequences(mlir::Operation* op) {
  if (llvm::isa<YieldOp>(op)) {
    return mlir::success();  // of a graph inside, to what planning resolves
  }
  for (auto [i, type] : llvm::enumerate(op->getOperandTypes())) {
    if (isSequence(type) && !op->hasTrait<ResolvedByPlanning>()) {
      return op->emitOpError() << "operand " << i << " is " << type << ", expected a tensor";
    }
  }
  return mlir::success();
}

/// The declared type may know less or more than the inferred one, but may not contradict it.
bool compatible(mlir::Type declared, mlir::Type inferred) {
  auto a = llvm::dyn_cast<mlir::TensorType>(declared);
  auto b = llvm::dyn_cast<mlir::TensorType>(inferred);
  if (isSequence(declared) && isSequence(inferred)) {
    return true;
  }
  if (!a || !b || a.getElementType() != b.getElementType()) {
    return false;
  }
  return mlir::succeeded(mlir::verifyCompatibleShape(declared, inferred));
}

/// Most operations compute, and there is no number to compute with.
mlir::LogicalResult verifyStrings(mlir::Operation* op) {
  for (auto [i, type] : llvm::enumerate(op->getOperandTypes())) {
    if (isStrings(type) && !op->hasTrait<TakesStrings>()) {
      return op->emitOpError() << "operand " << i << " is " << type
                               << ", but the operation computes, expected numbers";
    }
  }
  return mlir::success();
}

}  // namespace

bool isStrings(mlir::Type type) { return llvm::isa<StringType>(mlir::getElementTypeOrSelf(type)); }

unsigned elementBits(mlir::Type element) {
  if (element.isInteger(1) || llvm::isa<F8E8M0Type>(element)) {
    return 8;
  }
  return element.isIntOrFloat()                       ? element.getIntOrFloatBitWidth()
         : llvm::isa<F4E2M1Type>(element)             ? 4
         : llvm::isa<F6E2M3Type, F6E3M2Type>(element) ? 6
                                                      : 0;
}

bool isComputed(mlir::Type element) {
  bool isFloat = llvm::isa<mlir::FloatType>(element);
  return elementBits(element) > (isFloat ? 8U : 7U) && element.isIntOrFloat();
}

mlir::Type placeholderType(mlir::MLIRContext* context) {
  return mlir::UnrankedTensorType::get(mlir::IndexType::get(context));
}

mlir::Type sequenceType(mlir::MLIRContext* context, bool optional) {
  mlir::Type element = SequenceType::get(context);
  return mlir::UnrankedTensorType::get(optional ? OptionalType::get(context) : element);
}

bool isSequence(mlir::Type type) {
  return llvm::isa<SequenceType, OptionalType>(mlir::getElementTypeOrSelf(type));
}

mlir::LogicalResult verifyWords(mlir::Operation* op) {
  mlir::LogicalResult result = mlir::success();
  llvm::cast<GrOpInterface>(op).visitWords(
      [&](llvm::StringRef name, llvm::ArrayRef<llvm::StringRef> words) {
        auto check = [&](mlir::Attribute attribute) {
          auto word = llvm::dyn_cast_or_null<mlir::StringAttr>(attribute);
          if (word && !llvm::is_contained(words, word.getValue()) && mlir::succeeded(result)) {
            result = op->emitOpError() << "has " << name << " \"" << word.getValue()
                                       << "\", expected " << choice(words);
          }
        };
        mlir::Attribute value = op->getInherentAttr(name).value_or(nullptr);
        check(value);
        if (auto list = llvm::dyn_cast_or_null<mlir::ArrayAttr>(value)) {
          llvm::for_each(list, check);
        }
      });
  return result;
}

mlir::LogicalResult verifyTypes(mlir::Operation* op) {
  llvm::SmallVector<mlir::Type> inferred;
  if (mlir::failed(verifyWords(op)) || mlir::failed(verifyStrings(op)) ||
      mlir::failed(verifySequences(op)) ||
      mlir::failed(llvm::cast<GrOpInterface>(op).inferTypes(inferred))) {
    return mlir::failure();
  }
  if (inferred.size() != op->getNumResults()) {
    return op->emitOpError() << "has " << op->getNumResults() << " results, expected "
                             << inferred.size();
  }
  for (auto [i, type] : llvm::enumerate(inferred)) {
    if (op->getResult(i).getType() != placeholderType(op->getContext()) &&
        !compatible(op->getResult(i).getType(), type)) {
      return op->emitOpError() << "result " << i << " is declared as " << op->getResult(i).getType()
                               << ", but its operands give " << type;
    }
  }
  return mlir::success();
}

}  // namespace graphrun::ir
