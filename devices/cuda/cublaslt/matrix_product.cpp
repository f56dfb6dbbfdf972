#include "devices/cuda/cublaslt/matrix_product.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "devices/cuda/kernels/layouts.h"

namespace graphrun::devices::cuda {
namespace {

using Dims = std::vector<int64_t>;
using runtime::ElementType;

/// An operand as NumPy's matmul sees it, row-major.
struct Operand {
  Dims batch;
  int64_t rows = 0;
  int64_t columns = 0;

  int64_t matrices() const {
    int64_t count = 1;
    for (int64_t dim : batch) {
      count *= dim;
    }
    return count;
  }
};

absl::Status misfit(const Instruction& instruction) {
  return absl::InvalidArgumentError(
      absl::StrCat(instruction.label, ": the shapes of the operands and the result do not fit"));
}

absl::Status declined(const Instruction& instruction, absl::string_view what) {
  return absl::UnimplementedError(absl::StrCat(instruction.label, ": ", what));
}

/// A 1-D operand is a row on the left and a column on the right, and is not transposed.
Operand operandOf(Dims dims, bool transposed, bool left) {
  if (dims.size() == 1) {
    dims.insert(left ? dims.begin() : dims.end(), 1);
  } else if (transposed) {
    std::swap(dims[dims.size() - 1], dims[dims.size() - 2]);
  }
  Operand operand{{dims.begin(), dims.end() - 2}, dims[dims.size() - 2], dims.back()};
  while (!operand.batch.empty() && operand.batch.front() == 1) {
    operand.batch.erase(operand.batch.begin());
  }
  return operand;
}

/// A row-major matrix of rows x columns, stored transposed if `transposed`.
ColumnMatrix columnMatrix(const Operand& operand, bool transposed) {
  ColumnMatrix matrix{operand.columns, operand.rows, transposed, 0};
  if (transposed) {
    std::swap(matrix.rows, matrix.columns);
  }
  if (operand.matrices() > 1) {
    matrix.batchStride = operand.rows * operand.columns;
  }
  return matrix;
}

/// A matrix of 8-bit floats that lies as its transposed one would.
bool liesTransposed(const TensorDesc& desc) {
  return isTensorCoreFloat8(desc.type) && desc.dims.size() == 2 && !desc.layout.empty() &&
         liesAs(desc, {1, desc.dims[0]});
}

absl::Status checkFactorTypes(const Instruction& instruction, ElementType result) {
  const TensorDesc& lhs = instruction.inputs[0].desc;
  const TensorDesc& rhs = instruction.inputs[1].desc;
  if (!isTensorCoreFloat8(lhs.type) && !isTensorCoreFloat8(rhs.type)) {
    return lhs.type == result && rhs.type == result
               ? absl::OkStatus()
               : declined(instruction, "expected operands of the result's type");
  }
  bool bothAre = isTensorCoreFloat8(lhs.type) && isTensorCoreFloat8(rhs.type);
  bool hasFine = lhs.type == ElementType::kF8E4M3FN || rhs.type == ElementType::kF8E4M3FN;
  if (!bothAre || !hasFine || result == ElementType::kF64) {
    return declined(instruction, "8-bit floats are multiplied by each other, one of them f8e4m3fn");
  }
  return instruction.inputs.size() == 3 && result == ElementType::kF32
             ? declined(instruction, "no bias of f32 is added to a product of 8-bit floats")
             : absl::OkStatus();
}

absl::Status checkTypes(const Instruction& instruction) {
  if (instruction.operation != "gr.matmul" || instruction.inputs.size() < 2 ||
      instruction.inputs.size() > 3 || instruction.outputs.size() != 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        instruction.label, ": expected gr.matmul of two operands, a bias and a result"));
  }
  const TensorDesc& result = instruction.outputs[0].desc;
  if (result.type != ElementType::kF32 && result.type != ElementType::kF64 &&
      result.type != ElementType::kF16 && result.type != ElementType::kBF16) {
    return declined(instruction, "products of that type are not the library's");
  }
  bool areDense =
      result.layout.empty() && instruction.inputs[0].desc.layout.empty() &&
      (instruction.inputs[1].desc.layout.empty() || liesTransposed(instruction.inputs[1].desc));
  if (instruction.inputs.size() == 3) {
    areDense = areDense && instruction.inputs[2].desc.layout.empty() &&
               instruction.inputs[2].desc.type == result.type;
  }
  return areDense ? checkFactorTypes(instruction, result.type)
                  : declined(instruction, "expected dense operands of the result's type");
}

/// See matrixProductOf.
absl::Status checkFloat8(const Instruction& instruction, const MatrixProduct& product) {
  constexpr int64_t kMultiple = 16;
  if (!isTensorCoreFloat8(product.leftType)) {
    return absl::OkStatus();
  }
  if (!product.left.transposed || product.right.transposed || product.batch != 1) {
    return declined(instruction,
                    "8-bit floats are multiplied one matrix by one that lies transposed");
  }
  return product.left.rows % kMultiple == 0 && product.left.columns % kMultiple == 0
             ? absl::OkStatus()
             : declined(instruction,
                        absl::StrCat("8-bit floats are multiplied by a matrix of multiples of ",
                                     kMultiple, " only, not of ", product.left.rows, " x ",
                                     product.left.columns));
}

absl::Status addPostOps(const Instruction& instruction, MatrixProduct& product) {
  size_t next = 0;
  if (next < instruction.postOps.size() && instruction.postOps[next].kind == PostOpKind::kSum) {
    product.accumulates = true;
    ++next;
  }
  if (next < instruction.postOps.size() && instruction.postOps[next].kind == PostOpKind::kEltwise) {
    const PostOp& op = instruction.postOps[next];
    if (op.algorithm == "gr.relu") {
      product.activation = Activation::kRelu;
      ++next;
    } else if (op.algorithm == "gelu_tanh") {
      product.activation = Activation::kGeluTanh;
      ++next;
    }
  }
  return next == instruction.postOps.size()
             ? absl::OkStatus()
             : declined(instruction, "only a sum, then relu or gelu_tanh, can follow a product");
}

/// The dims that the result must have.
Dims resultDims(const Instruction& instruction, const Operand& lhs, const Operand& rhs) {
  Dims dims = lhs.batch.size() >= rhs.batch.size() ? lhs.batch : rhs.batch;
  if (instruction.inputs[0].desc.dims.size() > 1) {
    dims.push_back(lhs.rows);
  }
  if (instruction.inputs[1].desc.dims.size() > 1) {
    dims.push_back(rhs.columns);
  }
  return dims;
}

/// True if the result has `dims`, behind leading ones.
bool hasDims(const Dims& result, const Dims& dims) {
  if (result.size() < dims.size()) {
    return false;
  }
  auto begin = result.end() - static_cast<std::ptrdiff_t>(dims.size());
  return std::equal(begin, result.end(), dims.begin()) &&
         std::all_of(result.begin(), begin, [](int64_t dim) { return dim == 1; });
}

}  // namespace

bool isTensorCoreFloat8(ElementType type) {
  return type == ElementType::kF8E4M3FN || type == ElementType::kF8E5M2;
}

absl::StatusOr<MatrixProduct> matrixProductOf(const Instruction& instruction) {
  GR_RETURN_IF_ERROR(checkTypes(instruction));
  GR_ASSIGN_OR_RETURN(bool transposeLhs, attributeOr(instruction, "transpose_lhs", false));
  GR_ASSIGN_OR_RETURN(bool transposeRhs, attributeOr(instruction, "transpose_rhs", false));
  const Dims& lhsDims = instruction.inputs[0].desc.dims;
  const Dims& rhsDims = instruction.inputs[1].desc.dims;
  if (lhsDims.empty() || rhsDims.empty()) {
    return misfit(instruction);
  }
  transposeLhs = transposeLhs && lhsDims.size() > 1;
  transposeRhs = transposeRhs && rhsDims.size() > 1;
  Operand lhs = operandOf(lhsDims, transposeLhs, true);
  Operand rhs = operandOf(rhsDims, transposeRhs, false);
  if (lhs.columns != rhs.rows ||
      !hasDims(instruction.outputs[0].desc.dims, resultDims(instruction, lhs, rhs))) {
    return misfit(instruction);
  }
  bool oneMatrix = lhs.batch.empty() || rhs.batch.empty();
  if (!oneMatrix && lhs.batch != rhs.batch) {
    return declined(instruction, "batches broadcast against each other");
  }
  if (instruction.outputs[0].desc.spec().elementCount() == 0 || lhs.columns == 0) {
    return declined(instruction, "the product is one of nothing");
  }
  MatrixProduct product;
  product.type = instruction.outputs[0].desc.type;
  product.leftType = instruction.inputs[1].desc.type;
  product.rightType = instruction.inputs[0].desc.type;
  if (rhs.batch.empty() && !transposeLhs) {  // rows of several matrices are rows of one
    lhs.rows *= lhs.matrices();
    lhs.batch.clear();
  }
  product.batch = std::max(lhs.matrices(), rhs.matrices());
  if (product.batch > std::numeric_limits<int32_t>::max()) {
    return declined(instruction, "the product has more than 2^31 matrices");
  }
  const bool liesSo = liesTransposed(instruction.inputs[1].desc);
  if (liesSo && transposeRhs) {
    return declined(instruction, "the second operand is transposed, and lies so, too");
  }
  product.left = columnMatrix(rhs, transposeRhs || liesSo);
  product.right = columnMatrix(lhs, transposeLhs);
  product.result = {rhs.columns, lhs.rows, false, product.batch > 1 ? lhs.rows * rhs.columns : 0};
  product.hasBias = instruction.inputs.size() == 3;
  if (product.hasBias && instruction.inputs[2].desc.spec().elementCount() != rhs.columns) {
    return misfit(instruction);
  }
  GR_ASSIGN_OR_RETURN(product.tf32, attributeOr(instruction, "tf32", false));
  GR_ASSIGN_OR_RETURN(std::vector<double> scales,
                      attributeOr(instruction, kScales, std::vector{1.0}));
  if (scales.size() != 1) {
    return declined(instruction, "a product has one scale");
  }
  product.factor = scales[0];
  GR_RETURN_IF_ERROR(checkFloat8(instruction, product));
  GR_RETURN_IF_ERROR(addPostOps(instruction, product));
  return product;
}

}  // namespace graphrun::devices::cuda
