// Einsum is expressed by diagonals, reductions, products and transposes.
#ifndef GRAPHRUN_PASSES_EINSUM_H_
#define GRAPHRUN_PASSES_EINSUM_H_

#include <string>

#include "mlir/IR/Builders.h"

namespace graphrun::passes {

/// Makes the operations that a frontend's call becomes, and names, folds and checks them as that
/// frontend does.
class Emitter {
 public:
  virtual ~Emitter() = default;

  virtual mlir::OpBuilder& builder() = 0;
  /// The result of the new operation `name` ("gr.conv"); null when it does not fit, or an operand
  /// is null: that is reported already.
  virtual mlir::Value emit(llvm::StringRef name, llvm::ArrayRef<mlir::Value> operands,
                           llvm::ArrayRef<mlir::NamedAttribute> attributes = {}) = 0;
  /// An i64 vector.
  virtual mlir::Value constant(llvm::ArrayRef<int64_t> values) = 0;
  /// A scalar 0 of the element type of `like`.
  virtual mlir::Value zeroLike(mlir::Value like) = 0;
  /// Reports what is wrong with the call.
  virtual void fail(const std::string& what) = 0;
};

/// The sum of products that `equation` names, as NumPy's einsum and ONNX's Einsum define it
/// ("bij,bjk->bik"; "..." stands for any dims). `operands` are of known rank. Null after a problem,
/// which was reported: an equation that does not fit them.
mlir::Value emitEinsum(Emitter& emitter, const std::string& equation,
                       llvm::ArrayRef<mlir::Value> operands);

}  // namespace graphrun::passes

#endif  // GRAPHRUN_PASSES_EINSUM_H_
