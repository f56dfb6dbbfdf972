// The gr dialect in C++: include this to use it.
#ifndef GRAPHRUN_IR_DIALECT_H_
#define GRAPHRUN_IR_DIALECT_H_

#include "ir/cost.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/AffineMap.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/TensorEncoding.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace graphrun::ir {

class GradientBuilder;  // gradients/builder.h

/// The noGradientReason of an operation whose gradient is zero wherever it has one.
inline constexpr llvm::StringLiteral kPiecewiseConstant = "piecewise constant";

/// Marks an operation whose result elements depend each on the operand elements at its position
/// (broadcast), so that chains of such operations can become one loop.
template <typename ConcreteType>
class IsElementwise : public mlir::OpTrait::TraitBase<ConcreteType, IsElementwise> {};

/// Marks an element-wise operation that devices can do to the result of a product, a convolution or
/// a pool before it is written: on one operand, or with another operand.
template <typename ConcreteType>
class MayBePostOp : public mlir::OpTrait::TraitBase<ConcreteType, MayBePostOp> {};

/// Marks an operation whose result has the elements of its first operand, in their order, under
/// another shape: no device computes anything for it.
template <typename ConcreteType>
class IsView : public mlir::OpTrait::TraitBase<ConcreteType, IsView> {};

/// Trait of operations that the planner replaces before a plan is made; no device runs them.
template <typename ConcreteType>
class ResolvedByPlanning : public mlir::OpTrait::TraitBase<ConcreteType, ResolvedByPlanning> {};

/// Trait of operations that take tensors of strings.
template <typename ConcreteType>
class TakesStrings : public mlir::OpTrait::TraitBase<ConcreteType, TakesStrings> {};

/// True for an operation that is only another view of its first operand; false for none.
inline bool isView(mlir::Operation* op) { return op != nullptr && op->hasTrait<IsView>(); }

/// Takes the name of an attribute that is a choice among words (gr_words.td), and the words.
using WordVisitor =
    llvm::function_ref<void(llvm::StringRef name, llvm::ArrayRef<llvm::StringRef> words)>;

/// Fails, with an error on the operation, where such an attribute of a gr operation is another
/// word. Accessors of what is no such word, and inferTypes, must not be called.
mlir::LogicalResult verifyWords(mlir::Operation* op);

/// Verifies an operation's words and types: verifyWords and inferTypes succeed, and the declared
/// result types are the inferred ones.
mlir::LogicalResult verifyTypes(mlir::Operation* op);

/// Stands for a type that is not known yet, down to its element type: of a result that is still to
/// be inferred while its operation is made, and of what a deferred node gives. The verifier takes
/// it for any type.
mlir::Type placeholderType(mlir::MLIRContext* context);

/// Bits of an element where elements are packed (bool: 8); 0 for what is no element type, and for
/// strings.
unsigned elementBits(mlir::Type element);

/// True for the types that operations compute in; elements of the others, the 8-bit floats and
/// everything narrower, are stored one a byte, moved and converted.
bool isComputed(mlir::Type element);

/// True for `!gr.string` and tensors of it.
bool isStrings(mlir::Type type);

/// The type of a list of tensors, which planning resolves; `optional`: of at most one.
mlir::Type sequenceType(mlir::MLIRContext* context, bool optional = false);
/// True for both kinds of list.
bool isSequence(mlir::Type type);

/// Function attribute: names of the symbols s0, s1 … (array of strings).
inline constexpr llvm::StringLiteral kSymbolsAttr = "gr.symbols";
/// Argument and result attribute of the graph's function: the name of the input or output.
inline constexpr llvm::StringLiteral kNameAttr = "gr.name";
/// Operation attribute: where the operation runs (`#gr.device`).
inline constexpr llvm::StringLiteral kDeviceAttr = "gr.device";
/// Operation attribute: position in the order of the operations of its device (i64).
inline constexpr llvm::StringLiteral kRankAttr = "gr.rank";
/// Operation attribute: threads of its device that it runs on (i64); without it: all.
inline constexpr llvm::StringLiteral kThreadsAttr = "gr.threads";
/// Attribute of a gr.constant that was read from a file: its index in the weight table (i64).
inline constexpr llvm::StringLiteral kWeightAttr = "gr.weight";

}  // namespace graphrun::ir

#include "ir/gr_dialect.h.inc"
#include "ir/gr_interfaces.h.inc"
#include "ir/gr_words.h.inc"

#define GET_ATTRDEF_CLASSES
#include "ir/gr_attrs.h.inc"

#define GET_TYPEDEF_CLASSES
#include "ir/gr_types.h.inc"

#define GET_OP_CLASSES
#include "ir/ops_math.h.inc"
#define GET_OP_CLASSES
#include "ir/ops_nn.h.inc"
#define GET_OP_CLASSES
#include "ir/ops_attention.h.inc"
#define GET_OP_CLASSES
#include "ir/ops_tensor.h.inc"
#define GET_OP_CLASSES
#include "ir/ops_index.h.inc"
#define GET_OP_CLASSES
#include "ir/ops_random.h.inc"
#define GET_OP_CLASSES
#include "ir/ops_vision.h.inc"
#define GET_OP_CLASSES
#include "ir/ops_ml.h.inc"
#define GET_OP_CLASSES
#include "ir/ops_control.h.inc"
#define GET_OP_CLASSES
#include "ir/ops_comm.h.inc"
#define GET_OP_CLASSES
#include "ir/ops_recurrent.h.inc"
#define GET_OP_CLASSES
#include "ir/ops_signal.h.inc"
#define GET_OP_CLASSES
#include "ir/ops_state.h.inc"
#define GET_OP_CLASSES
#include "ir/ops_backward.h.inc"

#endif  // GRAPHRUN_IR_DIALECT_H_
