// Matrix products: as inner product where a matrix of weights can be packed for it, else as matmul.
#include <algorithm>

#include "devices/cpu/base/onednn_layouts.h"
#include "devices/cpu/onednn/onednn_kernels.h"

namespace graphrun::devices::cpu {
namespace {

using Dims = std::vector<int64_t>;

/// Dims of one operand, at least two, and their strides in its dense data.
struct Matrix {
  Dims dims;
  Dims strides;
  bool packed = false;  ///< its layout is already one of the library's: dims are as they are
};

absl::Status shapeError(const Instruction& instruction) {
  return absl::InvalidArgumentError(absl::StrCat(
      instruction.operation, ": the shapes of the operands and the result do not fit"));
}

/// `desc` with a dim of 1 before the last `behind` dims; the library does not choose its layout.
void insertDim(TensorDesc& desc, size_t behind) {
  desc.dims.insert(desc.dims.end() - static_cast<int64_t>(behind), 1);
  desc.any = false;
}

/// The instruction with vectors as the matrices of one row or column that they stand for, which the
/// result and what is fused behind then have too. A vector lies in one way only, and none of its
/// operands' layouts tells how many dims it had: so the library chooses none.
Instruction withMatrices(const Instruction& instruction) {
  Instruction plain = instruction;
  // The right one first: of two vectors it gives the result the dim that the left one's precedes.
  for (size_t i : {1, 0}) {
    if (instruction.inputs[i].desc.dims.size() != 1) {
      continue;
    }
    const size_t behind = 1 - i;  // a row on the left, a column on the right
    insertDim(plain.inputs[i].desc, behind);
    plain.attributes.erase(i == 0 ? "transpose_lhs" : "transpose_rhs");
    Dims& result = plain.outputs[0].desc.dims;
    if (result.size() < behind) {
      continue;  // the shapes do not fit: productOf says so
    }
    const size_t rank = result.size();
    insertDim(plain.outputs[0].desc, behind);
    for (PostOp& post : plain.postOps) {
      if (post.operand && post.operand->desc.dims.size() <= rank) {
        Dims& dims = post.operand->desc.dims;
        dims.insert(dims.begin(), rank - dims.size(), 1);
        insertDim(post.operand->desc, behind);
      }
    }
  }
  return plain;
}

/// The operand as a matrix product sees it: transposed ones get swapped strides.
Matrix matrixOf(const TensorDesc& desc, bool transpose) {
  Matrix m{desc.dims, denseStrides(desc.dims), !desc.layout.empty()};
  if (transpose && !m.packed) {
    std::swap(m.dims[m.dims.size() - 1], m.dims[m.dims.size() - 2]);
    std::swap(m.strides[m.strides.size() - 1], m.strides[m.strides.size() - 2]);
  }
  return m;
}

void padRank(Matrix& m, size_t rank) {
  while (m.dims.size() < rank) {
    m.strides.insert(m.strides.begin(), m.dims[0] * m.strides[0]);
    m.dims.insert(m.dims.begin(), 1);
  }
}

/// The three matrices of a product, of one rank.
struct Product {
  Matrix lhs, rhs;
  Dims result;
};

/// Rows of several batches against one matrix are rows of one batch.
void flattenBatch(const Instruction& instruction, Product& p) {
  bool oneMatrix =
      std::all_of(p.rhs.dims.begin(), p.rhs.dims.end() - 2, [](int64_t d) { return d == 1; });
  bool dense = instruction.inputs[0].desc.layout.empty() &&
               instruction.outputs[0].desc.layout.empty() &&
               p.lhs.strides == denseStrides(p.lhs.dims);
  if (p.result.size() == 2 || !oneMatrix || !dense) {
    return;
  }
  int64_t rows = 1;
  for (size_t d = 0; d + 1 < p.lhs.dims.size(); ++d) {
    rows *= p.lhs.dims[d];
  }
  p.lhs.dims = {rows, p.lhs.dims.back()};
  p.lhs.strides = denseStrides(p.lhs.dims);
  p.rhs.dims.erase(p.rhs.dims.begin(), p.rhs.dims.end() - 2);
  p.rhs.strides.erase(p.rhs.strides.begin(), p.rhs.strides.end() - 2);
  p.result = {rows, p.result.back()};
}

absl::Status checkProduct(const Instruction& instruction, const Product& p) {
  size_t rank = p.result.size();
  if (p.lhs.dims.size() != rank || p.rhs.dims.size() != rank ||
      p.lhs.dims[rank - 1] != p.rhs.dims[rank - 2] || p.lhs.dims[rank - 2] != p.result[rank - 2] ||
      p.rhs.dims[rank - 1] != p.result[rank - 1]) {
    return shapeError(instruction);
  }
  for (size_t d = 0; d + 2 < rank; ++d) {
    int64_t l = p.lhs.dims[d];
    int64_t r = p.rhs.dims[d];
    if ((l != r && l != 1 && r != 1) || p.result[d] != (l == 1 ? r : l)) {
      return shapeError(instruction);
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<Product> productOf(const Instruction& instruction) {
  GR_ASSIGN_OR_RETURN(bool transposeLhs, attributeOr(instruction, "transpose_lhs", false));
  GR_ASSIGN_OR_RETURN(bool transposeRhs, attributeOr(instruction, "transpose_rhs", false));
  const TensorDesc& lhs = instruction.inputs[0].desc;
  const TensorDesc& rhs = instruction.inputs[1].desc;
  if (std::min(lhs.dims.size(), rhs.dims.size()) < 2) {
    return shapeError(instruction);
  }
  Product p{matrixOf(lhs, transposeLhs), matrixOf(rhs, transposeRhs),
            instruction.outputs[0].desc.dims};
  // A packed matrix has lost leading dims of 1, which the result still has.
  size_t rank = std::max({lhs.dims.size(), rhs.dims.size(), p.result.size()});
  padRank(p.lhs, rank);
  padRank(p.rhs, rank);
  flattenBatch(instruction, p);
  GR_RETURN_IF_ERROR(checkProduct(instruction, p));
  return p;
}

/// The left operand. Where its dims are not the instruction's, no layout would tell which it had.
absl::StatusOr<PlannedOperand> planLeft(const Instruction& instruction, const Product& p) {
  TensorDesc desc = instruction.inputs[0].desc;
  desc.any = desc.any && desc.dims == p.lhs.dims;
  return planOperand(desc, p.lhs.dims, p.lhs.strides);
}

/// The bias: one value a column.
absl::StatusOr<PlannedOperand> planBias(const Instruction& instruction, const Dims& dims) {
  TensorDesc desc = instruction.inputs[2].desc;
  desc.any = false;
  return planOperand(desc, dims);
}

}  // namespace

// Rows are not balanced between calls: 257 of them take 0 to 1.2 % longer each than 256 on two
// threads, 0 to 2.3 % on one (768 x 768, 768 x 3072 and 3072 x 768), while as two calls all take 0
// to 3 % longer, as three 2 to 4 %. The library's inner product, the next in the list, takes 25 %
// longer for such a row of 768 x 768 on two threads.
absl::StatusOr<PrimitivePlan> planMatMul(const Instruction& given, const dnnl::engine& engine) {
  GR_RETURN_IF_ERROR(requireProductInstruction(given));
  const Instruction instruction = withMatrices(given);
  GR_ASSIGN_OR_RETURN(Product p, productOf(instruction));
  GR_ASSIGN_OR_RETURN(PlannedOperand lhs, planLeft(instruction, p));
  GR_ASSIGN_OR_RETURN(PlannedOperand rhs, planOperand(instruction.inputs[1].desc, p.rhs.dims,
                                                      p.rhs.packed ? Dims() : p.rhs.strides));
  GR_ASSIGN_OR_RETURN(PlannedOperand result, planOperand(instruction.outputs[0].desc, p.result));
  bool hasBias = instruction.inputs.size() == 3;
  PlannedOperand bias;
  if (hasBias) {
    Dims dims(p.result.size(), 1);
    dims.back() = p.result.back();
    GR_ASSIGN_OR_RETURN(bias, planBias(instruction, dims));
  }
  auto desc = hasBias ? dnnl::matmul::desc(lhs.desc, rhs.desc, bias.desc, result.desc)
                      : dnnl::matmul::desc(lhs.desc, rhs.desc, result.desc);
  GR_ASSIGN_OR_RETURN(
      PrimitivePlan plan,
      planWithPostOps(instruction, p.result, [&](const dnnl::primitive_attr& attributes) {
        return dnnl::matmul::primitive_desc(desc, attributes, engine);
      }));
  addProductArguments(plan, lhs, rhs, hasBias ? &bias : nullptr, result);
  return plan;
}

absl::StatusOr<PrimitivePlan> planInnerProduct(const Instruction& given,
                                               const dnnl::engine& engine) {
  GR_RETURN_IF_ERROR(requireProductInstruction(given));
  const Instruction instruction = withMatrices(given);
  // The packed matrix is N x K here: see to that before productOf reads it as K x N.
  Instruction plain = instruction;
  TensorDesc& weights = plain.inputs[1].desc;
  if (!weights.layout.empty()) {
    weights.layout.clear();
    plain.attributes["transpose_rhs"] = true;
  }
  GR_ASSIGN_OR_RETURN(Product p, productOf(plain));
  if (p.result.size() != 2 || !instruction.inputs[0].desc.layout.empty()) {
    return absl::UnimplementedError("inner_product is for one matrix of weights");
  }
  GR_ASSIGN_OR_RETURN(PlannedOperand lhs, planLeft(instruction, p));
  Dims dims = {p.rhs.dims[1], p.rhs.dims[0]};
  Dims strides = {p.rhs.strides[1], p.rhs.strides[0]};
  GR_ASSIGN_OR_RETURN(PlannedOperand rhs, planOperand(instruction.inputs[1].desc, dims, strides));
  GR_ASSIGN_OR_RETURN(PlannedOperand result, planOperand(instruction.outputs[0].desc, p.result));
  bool hasBias = instruction.inputs.size() == 3;
  PlannedOperand bias;
  if (hasBias) {
    GR_ASSIGN_OR_RETURN(bias, planBias(instruction, {p.result[1]}));
  }
  constexpr auto kInference = dnnl::prop_kind::forward_inference;
  using Primitive = dnnl::inner_product_forward;
  auto desc = hasBias ? Primitive::desc(kInference, lhs.desc, rhs.desc, bias.desc, result.desc)
                      : Primitive::desc(kInference, lhs.desc, rhs.desc, result.desc);
  GR_ASSIGN_OR_RETURN(
      PrimitivePlan plan,
      planWithPostOps(instruction, p.result, [&](const dnnl::primitive_attr& attributes) {
        return Primitive::primitive_desc(desc, attributes, engine);
      }));
  addProductArguments(plan, lhs, rhs, hasBias ? &bias : nullptr, result);
  return plan;
}

}  // namespace graphrun::devices::cpu
