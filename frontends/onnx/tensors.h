// ONNX element types, tensor types and tensor data are converted here.
#ifndef GRAPHRUN_FRONTENDS_ONNX_TENSORS_H_
#define GRAPHRUN_FRONTENDS_ONNX_TENSORS_H_

#include <string>

#include "frontends/onnx/onnx.pb.h"
#include "mlir/IR/BuiltinAttributeInterfaces.h"
#include "mlir/IR/BuiltinTypes.h"

namespace graphrun::frontends {

class ExternalData;

/// A tensor of a file may have so many dims, and elements.
inline constexpr int kMaxRank = 64;
inline constexpr int64_t kMaxElements = int64_t{1} << 48;
/// Constants of at most so many elements are held by the context, where passes can fold them.
inline constexpr int64_t kMaxDenseElements = 4096;

/// The type of the elements of a TensorProto.DataType; null for one that GraphRun does not have.
mlir::Type elementType(mlir::MLIRContext* context, int32_t dataType);

/// "FLOAT8E4M3FN", or "data type 77" for one that is not ONNX's.
std::string dataTypeName(int32_t dataType);

/// "element type X is not supported …".
std::string unsupportedType(int32_t dataType);

/// Number of elements, or -1 when `dims` are more than kMaxRank, negative, or multiply to more than
/// kMaxElements.
int64_t elementCount(llvm::ArrayRef<int64_t> dims);

/// The tensor as an attribute. Takes its data: small tensors and splats are copied into the
/// context, larger ones become a resource called `name` that owns them. Null, with the reason in
/// `problem`, when type, dims and data do not agree. `files` are asked for data that lies outside
/// the message.
mlir::ElementsAttr importTensor(mlir::MLIRContext* context, ::onnx::TensorProto& tensor,
                                llvm::StringRef name, std::string& problem,
                                ExternalData* files = nullptr);

}  // namespace graphrun::frontends

#endif  // GRAPHRUN_FRONTENDS_ONNX_TENSORS_H_
