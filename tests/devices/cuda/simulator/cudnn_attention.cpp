// Which graphs with products the engines know: attention, as those of cuDNN 9.19 demand it.
#include <algorithm>

#include "tests/devices/cuda/simulator/cudnn_objects.h"

namespace graphrun::testing {
namespace {

using Dims = std::vector<int64_t>;

int64_t idOf(const CudnnObject& tensor) {
  return tensor.one<int64_t>(CUDNN_ATTR_TENSOR_UNIQUE_ID, 0);
}

/// The element-wise operation that computes `mode` of the tensor `input`, or null.
const CudnnObject* applied(const CudnnObject& graph, cudnnPointwiseMode_t mode, int64_t input) {
  for (const CudnnObject* operation :
       operationsOf(graph, CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR)) {
    const CudnnObject& function = operation->part(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR);
    if (function.one(CUDNN_ATTR_POINTWISE_MODE, CUDNN_POINTWISE_IDENTITY) == mode &&
        idOf(operation->part(CUDNN_ATTR_OPERATION_POINTWISE_XDESC)) == input) {
      return operation;
    }
  }
  return nullptr;
}

/// Maxima, differences, exponentials, sums, quotients; and the logarithm of the sums plus the
/// maxima, by which attention of this kind is known.
bool hasSoftmax(const CudnnObject& graph, int64_t weights) {
  auto reductions = operationsOf(graph, CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR);
  if (reductions.size() != 2) {
    return false;
  }
  const CudnnObject& scores = reductions[0]->part(CUDNN_ATTR_OPERATION_REDUCTION_XDESC);
  int64_t most = idOf(reductions[0]->part(CUDNN_ATTR_OPERATION_REDUCTION_YDESC));
  const CudnnObject& powers = reductions[1]->part(CUDNN_ATTR_OPERATION_REDUCTION_XDESC);
  int64_t sum = idOf(reductions[1]->part(CUDNN_ATTR_OPERATION_REDUCTION_YDESC));
  const CudnnObject* less = applied(graph, CUDNN_POINTWISE_SUB, idOf(scores));
  const CudnnObject* quotient = applied(graph, CUDNN_POINTWISE_DIV, idOf(powers));
  return less != nullptr && quotient != nullptr &&
         applied(graph, CUDNN_POINTWISE_EXP,
                 idOf(less->part(CUDNN_ATTR_OPERATION_POINTWISE_YDESC))) != nullptr &&
         idOf(quotient->part(CUDNN_ATTR_OPERATION_POINTWISE_YDESC)) == weights &&
         applied(graph, CUDNN_POINTWISE_LOG, sum) != nullptr &&
         applied(graph, CUDNN_POINTWISE_ADD, most) != nullptr;
}

bool isHalf(const CudnnObject& tensor) {
  auto type = tensor.one(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_DATA_FLOAT);
  return type == CUDNN_DATA_HALF || type == CUDNN_DATA_BFLOAT16;
}

/// Of rank 4 and 16 bits; `columns`: the dim along which elements are neighbours, by eights, and
/// what else steps does so by whole eights, which begin where 16 bytes do.
bool liesInVectors(const CudnnObject& tensor, size_t columns) {
  Dims dims = tensor.integers(CUDNN_ATTR_TENSOR_DIMENSIONS);
  Dims strides = tensor.integers(CUDNN_ATTR_TENSOR_STRIDES);
  if (dims.size() != 4 || !isHalf(tensor) || strides[columns] != 1 || dims[columns] % 8 != 0 ||
      dims[columns] > 256 || tensor.one<int64_t>(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, 1) < 16) {
    return false;
  }
  strides.erase(strides.begin() + static_cast<std::ptrdiff_t>(columns));
  return std::all_of(strides.begin(), strides.end(),
                     [](int64_t stride) { return stride % 8 == 0; });
}

}  // namespace

std::string whyNoCudnnAttention(const CudnnObject& graph) {
  auto products = operationsOf(graph, CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR);
  if (products.size() != 2) {
    return "expected two products";
  }
  const CudnnObject &first = *products[0], &second = *products[1];
  const CudnnObject& weights = second.part(CUDNN_ATTR_OPERATION_MATMUL_ADESC);
  if (!weights.one(CUDNN_ATTR_TENSOR_IS_VIRTUAL, false) || !isHalf(weights) ||
      !hasSoftmax(graph, idOf(weights))) {
    return "expected a softmax between the products";
  }
  bool fits = liesInVectors(first.part(CUDNN_ATTR_OPERATION_MATMUL_ADESC), 3) &&
              liesInVectors(first.part(CUDNN_ATTR_OPERATION_MATMUL_BDESC), 2) &&
              liesInVectors(second.part(CUDNN_ATTR_OPERATION_MATMUL_BDESC), 3) &&
              liesInVectors(second.part(CUDNN_ATTR_OPERATION_MATMUL_CDESC), 3);
  return fits ? "" : "expected columns that are neighbours, by eights";
}

}  // namespace graphrun::testing
