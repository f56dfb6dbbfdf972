// What must hold of the operations of a graph. Source: cuDNN's documentation, "Graph API" and
// "Backend Descriptor Types".
#include <algorithm>

#include "tests/devices/cuda/simulator/cudnn_objects.h"

namespace graphrun::testing {
namespace {

using Dims = std::vector<int64_t>;

cudnnStatus_t bad(const char* why) { return refuse(CUDNN_STATUS_BAD_PARAM, why); }

Dims dimsOf(const CudnnObject& operation, cudnnBackendAttributeName_t tensor) {
  return operation.part(tensor).integers(CUDNN_ATTR_TENSOR_DIMENSIONS);
}

/// `x` and `y` are images, the window slides over x.
cudnnStatus_t checkConvolution(const CudnnObject& window, const Dims& x, const Dims& w,
                               const Dims& y) {
  Dims strides = window.integers(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES);
  Dims dilations = window.integers(CUDNN_ATTR_CONVOLUTION_DILATIONS);
  Dims before = window.integers(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS);
  Dims after = window.integers(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS);
  if (x.size() != strides.size() + 2 || w.size() != x.size() || y.size() != x.size()) {
    return bad("ranks of a convolution");
  }
  if (x[0] != y[0] || y[1] != w[0] || x[1] % w[1] != 0 || w[0] % (x[1] / w[1]) != 0) {
    return bad("channels of a convolution");
  }
  for (size_t i = 0; i < strides.size(); ++i) {
    int64_t slack = x[i + 2] + before[i] + after[i] - (w[i + 2] - 1) * dilations[i] - 1;
    if (slack < 0 || y[i + 2] != slack / strides[i] + 1) {
      return bad("spatial dims of a convolution");
    }
  }
  return CUDNN_STATUS_SUCCESS;
}

cudnnDataType_t typeOf(const CudnnObject& operation, cudnnBackendAttributeName_t tensor) {
  return operation.part(tensor).one(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_DATA_FLOAT);
}

/// Each dim of `from` is that of `to`, or 1.
bool broadcastsTo(const Dims& from, const Dims& to) {
  bool broadcasts = from.size() == to.size();
  for (size_t d = 0; broadcasts && d < to.size(); ++d) {
    broadcasts = from[d] == 1 || from[d] == to[d];
  }
  return broadcasts;
}

/// What a mode demands of the types, and how many operands it takes.
struct ModeRule {
  int operands = 1;
  bool compares = false, indexes = false, selects = false;
};

ModeRule ruleOf(cudnnPointwiseMode_t mode) {
  switch (mode) {
    case CUDNN_POINTWISE_ADD:
    case CUDNN_POINTWISE_MUL:
    case CUDNN_POINTWISE_SUB:
    case CUDNN_POINTWISE_DIV:
    case CUDNN_POINTWISE_MAX:
    case CUDNN_POINTWISE_MIN:
      return {.operands = 2};
    case CUDNN_POINTWISE_CMP_GE:
      return {.operands = 2, .compares = true};
    case CUDNN_POINTWISE_GEN_INDEX:
      return {.indexes = true};
    case CUDNN_POINTWISE_BINARY_SELECT:
      return {.operands = 3, .selects = true};
    default:
      return {};
  }
}

cudnnStatus_t checkPointwise(const CudnnObject& operation) {
  const CudnnObject& function = operation.part(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR);
  ModeRule rule = ruleOf(function.one(CUDNN_ATTR_POINTWISE_MODE, CUDNN_POINTWISE_IDENTITY));
  bool takesTwo = rule.operands > 1;
  if (takesTwo != operation.has(CUDNN_ATTR_OPERATION_POINTWISE_BDESC) ||
      rule.selects != operation.has(CUDNN_ATTR_OPERATION_POINTWISE_TDESC)) {
    return bad("number of operands of an element-wise operation");
  }
  Dims y = dimsOf(operation, CUDNN_ATTR_OPERATION_POINTWISE_YDESC);
  if (dimsOf(operation, CUDNN_ATTR_OPERATION_POINTWISE_XDESC) != y) {
    return bad("shape of an element-wise operation");
  }
  if (takesTwo && !broadcastsTo(dimsOf(operation, CUDNN_ATTR_OPERATION_POINTWISE_BDESC), y)) {
    return bad("shape of a second operand");
  }
  cudnnDataType_t result = typeOf(operation, CUDNN_ATTR_OPERATION_POINTWISE_YDESC);
  if (rule.compares != (result == CUDNN_DATA_BOOLEAN) ||
      rule.indexes != (result == CUDNN_DATA_INT32)) {
    return bad("the result's type of an element-wise operation");
  }
  if (rule.selects &&
      (typeOf(operation, CUDNN_ATTR_OPERATION_POINTWISE_TDESC) != CUDNN_DATA_BOOLEAN ||
       dimsOf(operation, CUDNN_ATTR_OPERATION_POINTWISE_TDESC) != y)) {
    return bad("what a selection is made by");
  }
  auto axis = function.one<int64_t>(CUDNN_ATTR_POINTWISE_AXIS, -1);
  bool hasAxis = axis >= 0 && axis < static_cast<int64_t>(y.size());
  return rule.indexes != hasAxis ? bad("the axis of an element-wise operation")
                                 : CUDNN_STATUS_SUCCESS;
}

/// Matrices of the last two dims; of the others, those of B may go into those of A.
cudnnStatus_t checkProduct(const CudnnObject& operation) {
  Dims a = dimsOf(operation, CUDNN_ATTR_OPERATION_MATMUL_ADESC);
  Dims b = dimsOf(operation, CUDNN_ATTR_OPERATION_MATMUL_BDESC);
  Dims c = dimsOf(operation, CUDNN_ATTR_OPERATION_MATMUL_CDESC);
  size_t rank = c.size();
  if (rank < 3 || a.size() != rank || b.size() != rank || a[rank - 1] != b[rank - 2] ||
      a[rank - 2] != c[rank - 2] || b[rank - 1] != c[rank - 1]) {
    return bad("shapes of a product");
  }
  for (size_t d = 0; d + 2 < rank; ++d) {
    if (a[d] != c[d] || c[d] % b[d] != 0) {
      return bad("batches of a product");
    }
  }
  return typeOf(operation, CUDNN_ATTR_OPERATION_MATMUL_ADESC) ==
                 typeOf(operation, CUDNN_ATTR_OPERATION_MATMUL_BDESC)
             ? CUDNN_STATUS_SUCCESS
             : bad("types of a product");
}

cudnnStatus_t checkReduction(const CudnnObject& operation) {
  Dims x = dimsOf(operation, CUDNN_ATTR_OPERATION_REDUCTION_XDESC);
  Dims y = dimsOf(operation, CUDNN_ATTR_OPERATION_REDUCTION_YDESC);
  return broadcastsTo(y, x) ? CUDNN_STATUS_SUCCESS : bad("shapes of a reduction");
}

cudnnStatus_t checkPool(const CudnnObject& operation) {
  const CudnnObject& window = operation.part(CUDNN_ATTR_OPERATION_RESAMPLE_FWD_DESC);
  Dims x = dimsOf(operation, CUDNN_ATTR_OPERATION_RESAMPLE_FWD_XDESC);
  Dims y = dimsOf(operation, CUDNN_ATTR_OPERATION_RESAMPLE_FWD_YDESC);
  Dims kernel = window.integers(CUDNN_ATTR_RESAMPLE_WINDOW_DIMS);
  Dims strides = window.integers(CUDNN_ATTR_RESAMPLE_STRIDES);
  Dims before = window.integers(CUDNN_ATTR_RESAMPLE_PRE_PADDINGS);
  Dims after = window.integers(CUDNN_ATTR_RESAMPLE_POST_PADDINGS);
  if (x.size() != kernel.size() + 2 || y.size() != x.size() || x[0] != y[0] || x[1] != y[1]) {
    return bad("shapes of a pool");
  }
  for (size_t i = 0; i < kernel.size(); ++i) {
    if (y[i + 2] != (x[i + 2] + before[i] + after[i] - kernel[i]) / strides[i] + 1) {
      return bad("spatial dims of a pool");
    }
  }
  return CUDNN_STATUS_SUCCESS;
}

}  // namespace

bool isCudnnOperation(cudnnBackendDescriptorType_t type) {
  switch (type) {
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR:
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR:
    case CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR:
    case CUDNN_BACKEND_OPERATION_RESAMPLE_FWD_DESCRIPTOR:
    case CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR:
    case CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR:
      return true;
    default:
      return false;
  }
}

int64_t cudnnElementBytes(cudnnDataType_t type) {
  switch (type) {
    case CUDNN_DATA_FLOAT:
    case CUDNN_DATA_INT32:
      return 4;
    case CUDNN_DATA_HALF:
    case CUDNN_DATA_BFLOAT16:
      return 2;
    case CUDNN_DATA_BOOLEAN:
    case CUDNN_DATA_INT8:
    case CUDNN_DATA_UINT8:
      return 1;
    default:
      return 0;
  }
}

cudnnStatus_t checkCudnnOperation(const CudnnObject& operation) {
  switch (operation.type) {
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR:
      return checkConvolution(operation.part(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC),
                              dimsOf(operation, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X),
                              dimsOf(operation, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W),
                              dimsOf(operation, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y));
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR:
      return checkConvolution(operation.part(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC),
                              dimsOf(operation, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX),
                              dimsOf(operation, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W),
                              dimsOf(operation, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY));
    case CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR:
      return checkPointwise(operation);
    case CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR:
      return checkProduct(operation);
    case CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR:
      return checkReduction(operation);
    default:
      return checkPool(operation);
  }
}

}  // namespace graphrun::testing
