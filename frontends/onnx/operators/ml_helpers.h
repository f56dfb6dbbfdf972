// Pieces that the lowerings of classical machine learning share.
#ifndef GRAPHRUN_FRONTENDS_ONNX_OPERATORS_ML_HELPERS_H_
#define GRAPHRUN_FRONTENDS_ONNX_OPERATORS_ML_HELPERS_H_

#include "frontends/onnx/node.h"

namespace graphrun::frontends {

// All of them pass a null value on, as Node::emit does.

/// A constant of shape `dims` (a vector where they are left out) and floating-point type `element`.
mlir::Value realConstant(Node& node, llvm::ArrayRef<double> values, mlir::Type element,
                         llvm::ArrayRef<int64_t> dims = {});
/// A constant vector of strings.
mlir::Value textConstant(Node& node, llvm::ArrayRef<llvm::StringRef> values);
/// A scalar of the element type of `like`.
mlir::Value scalar(Node& node, mlir::Value like, double value);

/// The elements of tensor attribute `name`, of any type; none, reported, when it is wrong.
llvm::SmallVector<double> tensorReals(Node& node, llvm::StringRef name);
/// The floats of attribute `name`, or the tensor of attribute `name`_as_tensor.
llvm::SmallVector<double> tensorOrReals(Node& node, llvm::StringRef name);

/// `input` as a floating-point tensor to compute with: f32, or f64 where it is f64.
mlir::Value asReal(Node& node, mlir::Value input);
/// `input` of rank 1 or 2 as a matrix: a vector is one row.
mlir::Value asMatrix(Node& node, mlir::Value input);

/// `value` as f32.
mlir::Value toFloat(Node& node, mlir::Value value);
/// The labels at the integers `indices`.
mlir::Value labelAt(Node& node, mlir::Value labels, mlir::Value indices);

/// A result that does not exist in the other type: exactly one of the two attributes is given, and
/// its elements are the labels. Null, reported, otherwise.
mlir::Value labelsOf(Node& node, llvm::StringRef integers, llvm::StringRef texts);

mlir::Value add(Node& node, mlir::Value a, mlir::Value b);
mlir::Value sub(Node& node, mlir::Value a, mlir::Value b);
mlir::Value mul(Node& node, mlir::Value a, mlir::Value b);
mlir::Value div(Node& node, mlir::Value a, mlir::Value b);
mlir::Value select(Node& node, mlir::Value condition, mlir::Value yes, mlir::Value no);
/// a > b.
mlir::Value greater(Node& node, mlir::Value a, mlir::Value b);
/// gr.reduce of the last axis of a matrix, which stays as a dim of 1.
mlir::Value reduceRows(Node& node, mlir::Value matrix, llvm::StringRef kind);
/// Returns where the largest element of each row is: a vector.
mlir::Value argMax(Node& node, mlir::Value matrix);
/// Matrices side by side.
mlir::Value beside(Node& node, llvm::ArrayRef<mlir::Value> matrices);

/// Builds what ai.onnx.ml does with scores at the end: NONE, SOFTMAX, LOGISTIC, SOFTMAX_ZERO or
/// PROBIT of the rows of a matrix. Null, reported, for another name.
mlir::Value postTransform(Node& node, mlir::Value scores, llvm::StringRef name);

}  // namespace graphrun::frontends

#endif  // GRAPHRUN_FRONTENDS_ONNX_OPERATORS_ML_HELPERS_H_
