// Types of a graph's inputs and outputs are read here, with the symbols of dynamic dims.
#ifndef GRAPHRUN_FRONTENDS_ONNX_GRAPH_TYPES_H_
#define GRAPHRUN_FRONTENDS_ONNX_GRAPH_TYPES_H_

#include <string>
#include <vector>

#include "frontends/onnx/onnx.pb.h"
#include "ir/dims.h"
#include "llvm/ADT/StringMap.h"

namespace graphrun::frontends {

/// Gives each symbol of a graph its number.
class Symbols {
 public:
  explicit Symbols(mlir::MLIRContext* context) : context_(context) {}
  /// The dim called `name`, a new symbol at the first call.
  ir::Dim dim(llvm::StringRef name);
  /// Names in the order of the symbols s0, s1 ….
  const std::vector<std::string>& names() const { return names_; }

 private:
  mlir::MLIRContext* context_;
  llvm::StringMap<unsigned> numbers_;
  std::vector<std::string> names_;
};

/// The type of a graph input; unranked when the file gives no shape. Null, with the reason in
/// `problem`, for a type that GraphRun does not have.
mlir::Type inputType(mlir::MLIRContext* context, const ::onnx::ValueInfoProto& input,
                     Symbols& symbols, std::string& problem);

/// Returns the type that `declared` gives a value that cannot be inferred yet: element type and
/// static dims, or no more than that it is a tensor (ir::placeholderType).
mlir::Type declaredType(mlir::MLIRContext* context, const ::onnx::TypeProto& declared);

/// Why a value of type `actual` is not of the kind or element type that is declared; "" when it is.
std::string typeContradiction(const ::onnx::TypeProto& declared, mlir::Type actual);

/// Why a value of type `actual` has not the shape that is declared; "" when it may have. Only what
/// is certain counts: names of dims are not compared.
std::string shapeContradiction(const ::onnx::TypeProto& declared, mlir::Type actual);

}  // namespace graphrun::frontends

#endif  // GRAPHRUN_FRONTENDS_ONNX_GRAPH_TYPES_H_
