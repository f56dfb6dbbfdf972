// Which graphs the engines of the simulator's cuDNN know, as those of 9.19 do.
#include <algorithm>

#include "tests/devices/cuda/simulator/cudnn_objects.h"
#include "tests/devices/cuda/simulator/gpu_state.h"

namespace graphrun::testing {
namespace {

cudnnDataType_t typeOf(const CudnnObject& tensor) {
  return tensor.one(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_DATA_FLOAT);
}

bool isFloat(cudnnDataType_t type) {
  return type == CUDNN_DATA_FLOAT || type == CUDNN_DATA_HALF || type == CUDNN_DATA_BFLOAT16;
}

bool hasChannelsLast(const CudnnObject& tensor) {
  return tensor.integers(CUDNN_ATTR_TENSOR_STRIDES)[1] == 1;
}

/// Of bytes, those of the filter with a sign, summed in i32, alone in its graph.
bool isOfBytes(const CudnnObject& graph, const CudnnObject& convolution) {
  const CudnnObject& x = convolution.part(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X);
  const CudnnObject& w = convolution.part(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W);
  const CudnnObject& y = convolution.part(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y);
  return (typeOf(x) == CUDNN_DATA_UINT8 || typeOf(x) == CUDNN_DATA_INT8) &&
         typeOf(w) == CUDNN_DATA_INT8 && typeOf(y) == CUDNN_DATA_INT32 &&
         graph.parts.at(CUDNN_ATTR_OPERATIONGRAPH_OPS).size() == 1 && hasChannelsLast(x) &&
         hasChannelsLast(w) && hasChannelsLast(y);
}

std::string whyNoConvolution(const CudnnObject& graph, const CudnnObject& convolution) {
  auto sumsIn = convolution.part(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC)
                    .one(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_DATA_FLOAT);
  if (sumsIn == CUDNN_DATA_INT32) {
    return isOfBytes(graph, convolution) ? "" : "expected bytes, the channels last";
  }
  auto type = typeOf(convolution.part(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X));
  bool fits = sumsIn == CUDNN_DATA_FLOAT && isFloat(type) &&
              type == typeOf(convolution.part(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W));
  return fits ? "" : "expected floats of one type, summed in f32";
}

}  // namespace

std::vector<const CudnnObject*> operationsOf(const CudnnObject& graph,
                                             cudnnBackendDescriptorType_t type) {
  std::vector<const CudnnObject*> found;
  for (const CudnnPart& operation : graph.parts.at(CUDNN_ATTR_OPERATIONGRAPH_OPS)) {
    if (operation->type == type) {
      found.push_back(operation.get());
    }
  }
  return found;
}

std::string whyNoCudnnEngine(const CudnnObject& graph) {
  const auto& refusals = gpu().refusals;
  if (!operationsOf(graph, CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR).empty()) {
    return refusals.contains("attention") ? "the simulator was told so"
                                          : whyNoCudnnAttention(graph);
  }
  const bool isFusion = graph.parts.at(CUDNN_ATTR_OPERATIONGRAPH_OPS).size() > 2;  // a bias is none
  if (!operationsOf(graph, CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR).empty() &&
      (refusals.contains("convolutions") || (isFusion && refusals.contains("fusions")))) {
    return "the simulator was told so";
  }
  for (const CudnnObject* convolution :
       operationsOf(graph, CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR)) {
    if (std::string why = whyNoConvolution(graph, *convolution); !why.empty()) {
      return why;
    }
  }
  return "";
}

}  // namespace graphrun::testing
