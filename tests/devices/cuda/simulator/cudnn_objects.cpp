// Which attributes descriptors have, of which types, and what must hold of them. Source: cuDNN's
// documentation, "Backend Descriptor Types".
#include <algorithm>

#include "tests/devices/cuda/simulator/cudnn_objects.h"

namespace graphrun::testing {
namespace {

using Dims = std::vector<int64_t>;

constexpr int64_t kAny = INT64_MAX;

struct Rule {
  cudnnBackendDescriptorType_t object;
  cudnnBackendAttributeName_t name;
  cudnnBackendAttributeType_t type;
  int64_t least, most;  ///< elements
  bool required = true;
};

/// Of an attribute that is another descriptor.
struct PartRule {
  cudnnBackendDescriptorType_t object;
  cudnnBackendAttributeName_t name;
  cudnnBackendDescriptorType_t part;
  bool required = true;
};

// clang-format off: a table
constexpr auto kTensor = CUDNN_BACKEND_TENSOR_DESCRIPTOR;
constexpr auto kConvolution = CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR;
constexpr auto kForward = CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR;
constexpr auto kBackward = CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR;
constexpr auto kFunction = CUDNN_BACKEND_POINTWISE_DESCRIPTOR;
constexpr auto kPointwise = CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR;
constexpr auto kResample = CUDNN_BACKEND_RESAMPLE_DESCRIPTOR;
constexpr auto kPool = CUDNN_BACKEND_OPERATION_RESAMPLE_FWD_DESCRIPTOR;
constexpr auto kMatmul = CUDNN_BACKEND_MATMUL_DESCRIPTOR;
constexpr auto kProduct = CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR;
constexpr auto kReduction = CUDNN_BACKEND_REDUCTION_DESCRIPTOR;
constexpr auto kReduce = CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR;
constexpr auto kGraph = CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR;
constexpr auto kHeuristic = CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR;
constexpr auto kConfiguration = CUDNN_BACKEND_ENGINECFG_DESCRIPTOR;
constexpr auto kPlan = CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR;
constexpr auto kPack = CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR;

constexpr Rule kRules[] = {
    {kTensor, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 1, 1},
    {kTensor, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 1, 1},
    {kTensor, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, 1, CUDNN_DIM_MAX},
    {kTensor, CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, 1, CUDNN_DIM_MAX},
    {kTensor, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, 1, 1},
    {kTensor, CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, 1, 1, false},
    {kTensor, CUDNN_ATTR_TENSOR_IS_BY_VALUE, CUDNN_TYPE_BOOLEAN, 1, 1, false},
    {kConvolution, CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1, 1},
    {kConvolution, CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, 1, 1},
    {kConvolution, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, CUDNN_TYPE_INT64, 1, 1},
    {kConvolution, CUDNN_ATTR_CONVOLUTION_DILATIONS, CUDNN_TYPE_INT64, 1, CUDNN_DIM_MAX},
    {kConvolution, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, CUDNN_TYPE_INT64, 1, CUDNN_DIM_MAX},
    {kConvolution, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, CUDNN_TYPE_INT64, 1, CUDNN_DIM_MAX},
    {kConvolution, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, CUDNN_TYPE_INT64, 1, CUDNN_DIM_MAX},
    {kForward, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA, CUDNN_TYPE_FLOAT, 1, 1},
    {kForward, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA, CUDNN_TYPE_FLOAT, 1, 1},
    {kBackward, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA, CUDNN_TYPE_FLOAT, 1, 1},
    {kBackward, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA, CUDNN_TYPE_FLOAT, 1, 1},
    {kFunction, CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, 1, 1},
    {kFunction, CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, 1, 1},
    {kFunction, CUDNN_ATTR_POINTWISE_RELU_LOWER_CLIP_SLOPE, CUDNN_TYPE_FLOAT, 1, 1, false},
    {kFunction, CUDNN_ATTR_POINTWISE_ELU_ALPHA, CUDNN_TYPE_FLOAT, 1, 1, false},
    {kFunction, CUDNN_ATTR_POINTWISE_SWISH_BETA, CUDNN_TYPE_FLOAT, 1, 1, false},
    {kFunction, CUDNN_ATTR_POINTWISE_AXIS, CUDNN_TYPE_INT64, 1, 1, false},
    {kMatmul, CUDNN_ATTR_MATMUL_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1, 1},
    {kReduction, CUDNN_ATTR_REDUCTION_OPERATOR, CUDNN_TYPE_REDUCTION_OPERATOR_TYPE, 1, 1},
    {kReduction, CUDNN_ATTR_REDUCTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1, 1},
    {kResample, CUDNN_ATTR_RESAMPLE_MODE, CUDNN_TYPE_RESAMPLE_MODE, 1, 1},
    {kResample, CUDNN_ATTR_RESAMPLE_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1, 1},
    {kResample, CUDNN_ATTR_RESAMPLE_PADDING_MODE, CUDNN_TYPE_PADDING_MODE, 1, 1},
    {kResample, CUDNN_ATTR_RESAMPLE_SPATIAL_DIMS, CUDNN_TYPE_INT64, 1, 1},
    {kResample, CUDNN_ATTR_RESAMPLE_WINDOW_DIMS, CUDNN_TYPE_INT64, 1, CUDNN_DIM_MAX},
    {kResample, CUDNN_ATTR_RESAMPLE_STRIDES, CUDNN_TYPE_INT64, 1, CUDNN_DIM_MAX},
    {kResample, CUDNN_ATTR_RESAMPLE_PRE_PADDINGS, CUDNN_TYPE_INT64, 1, CUDNN_DIM_MAX},
    {kResample, CUDNN_ATTR_RESAMPLE_POST_PADDINGS, CUDNN_TYPE_INT64, 1, CUDNN_DIM_MAX},
    {kGraph, CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, 1, 1},
    {kHeuristic, CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1, 1},
    {kPlan, CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, 1, 1},
    {kPack, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, 1, kAny},
    {kPack, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, 1, kAny},
    {kPack, CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1, 1},
};

constexpr PartRule kPartRules[] = {
    {kForward, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC, kConvolution},
    {kForward, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, kTensor},
    {kForward, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W, kTensor},
    {kForward, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y, kTensor},
    {kBackward, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC, kConvolution},
    {kBackward, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX, kTensor},
    {kBackward, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W, kTensor},
    {kBackward, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY, kTensor},
    {kPointwise, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, kFunction},
    {kPointwise, CUDNN_ATTR_OPERATION_POINTWISE_XDESC, kTensor},
    {kPointwise, CUDNN_ATTR_OPERATION_POINTWISE_BDESC, kTensor, false},
    {kPointwise, CUDNN_ATTR_OPERATION_POINTWISE_TDESC, kTensor, false},
    {kPointwise, CUDNN_ATTR_OPERATION_POINTWISE_YDESC, kTensor},
    {kProduct, CUDNN_ATTR_OPERATION_MATMUL_DESC, kMatmul},
    {kProduct, CUDNN_ATTR_OPERATION_MATMUL_ADESC, kTensor},
    {kProduct, CUDNN_ATTR_OPERATION_MATMUL_BDESC, kTensor},
    {kProduct, CUDNN_ATTR_OPERATION_MATMUL_CDESC, kTensor},
    {kReduce, CUDNN_ATTR_OPERATION_REDUCTION_DESC, kReduction},
    {kReduce, CUDNN_ATTR_OPERATION_REDUCTION_XDESC, kTensor},
    {kReduce, CUDNN_ATTR_OPERATION_REDUCTION_YDESC, kTensor},
    {kPool, CUDNN_ATTR_OPERATION_RESAMPLE_FWD_DESC, kResample},
    {kPool, CUDNN_ATTR_OPERATION_RESAMPLE_FWD_XDESC, kTensor},
    {kPool, CUDNN_ATTR_OPERATION_RESAMPLE_FWD_YDESC, kTensor},
    {kHeuristic, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, kGraph},
    {kPlan, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, kConfiguration},
};
// clang-format on

cudnnStatus_t bad(const char* why) { return refuse(CUDNN_STATUS_BAD_PARAM, why); }

size_t sizeOf(cudnnBackendAttributeType_t type) {
  switch (type) {
    case CUDNN_TYPE_BOOLEAN:
      return sizeof(bool);
    case CUDNN_TYPE_INT64:
    case CUDNN_TYPE_HANDLE:
    case CUDNN_TYPE_VOID_PTR:
      return 8;
    default:
      return 4;  // float and enumerations
  }
}

/// Sets descriptors, each of which must be one that `fits`.
template <typename Fits>
cudnnStatus_t setParts(CudnnObject& object, cudnnBackendAttributeName_t name, int64_t count,
                       const void* elements, Fits fits) {
  const auto* given = static_cast<const cudnnBackendDescriptor_t*>(elements);
  std::vector<CudnnPart> parts;
  for (int64_t i = 0; i < count; ++i) {
    if (given[i] == nullptr) {
      return refuse(CUDNN_STATUS_BAD_PARAM_NULL_POINTER, "a null descriptor");
    }
    const CudnnPart& part = *static_cast<const CudnnPart*>(given[i]);
    if (!fits(part->type)) {
      return refuse(CUDNN_STATUS_BAD_PARAM_DESCRIPTOR_TYPE, "a descriptor of the wrong type");
    }
    if (!part->finalized) {
      return refuse(CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED, "a descriptor that is not finalized");
    }
    parts.push_back(part);
  }
  object.parts[name] = std::move(parts);
  return CUDNN_STATUS_SUCCESS;
}

/// The same for an attribute of `object` that is descriptors.
cudnnStatus_t setDescriptors(CudnnObject& object, cudnnBackendAttributeName_t name, int64_t count,
                             const void* elements) {
  if (object.type == kGraph && name == CUDNN_ATTR_OPERATIONGRAPH_OPS) {
    return count < 1 ? bad("a graph without operations")
                     : setParts(object, name, count, elements, isCudnnOperation);
  }
  for (const PartRule& rule : kPartRules) {
    if (rule.object == object.type && rule.name == name) {
      return count != 1 ? bad("the number of elements of an attribute")
                        : setParts(object, name, 1, elements,
                                   [&](auto type) { return type == rule.part; });
    }
  }
  return bad("an attribute that the descriptor has not");
}

bool allAtLeast(const Dims& values, int64_t least) {
  return std::all_of(values.begin(), values.end(), [&](int64_t v) { return v >= least; });
}

/// A stride of 0 repeats what lies there.
cudnnStatus_t checkTensor(const CudnnObject& tensor) {
  Dims dims = tensor.integers(CUDNN_ATTR_TENSOR_DIMENSIONS);
  Dims strides = tensor.integers(CUDNN_ATTR_TENSOR_STRIDES);
  auto alignment = tensor.one<int64_t>(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, 0);
  int64_t bytes = cudnnElementBytes(tensor.one(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_DATA_FLOAT));
  if (dims.size() != strides.size() || !allAtLeast(dims, 1) || !allAtLeast(strides, 0)) {
    return bad("dims and strides of a tensor");
  }
  if (bytes == 0) {
    return bad("the type of a tensor");
  }
  if (alignment < 1 || (alignment & (alignment - 1)) != 0 || alignment % bytes != 0) {
    return bad("alignment of a tensor");
  }
  bool isValue = tensor.one(CUDNN_ATTR_TENSOR_IS_BY_VALUE, false);
  bool isOne = std::all_of(dims.begin(), dims.end(), [](int64_t dim) { return dim == 1; });
  return isValue && (!isOne || tensor.one(CUDNN_ATTR_TENSOR_IS_VIRTUAL, false))
             ? bad("a value that is no single element")
             : CUDNN_STATUS_SUCCESS;
}

/// The window's entries are as many as there are spatial dims.
cudnnStatus_t checkWindow(const CudnnObject& window, cudnnBackendAttributeName_t count,
                          std::initializer_list<cudnnBackendAttributeName_t> positive,
                          std::initializer_list<cudnnBackendAttributeName_t> paddings) {
  auto dims = static_cast<size_t>(window.one<int64_t>(count, 0));
  for (const auto& [names, least] : {std::pair{positive, 1}, std::pair{paddings, 0}}) {
    for (cudnnBackendAttributeName_t name : names) {
      Dims values = window.integers(name);
      if (values.size() != dims || !allAtLeast(values, least)) {
        return bad("an entry of a window");
      }
    }
  }
  return dims < 2 || dims > 3 ? bad("2 or 3 spatial dims") : CUDNN_STATUS_SUCCESS;
}

/// Tensors have ids of their own, and what memory never holds is made before it is read.
cudnnStatus_t checkGraph(const CudnnObject& graph) {
  std::map<int64_t, const CudnnObject*> tensors;
  std::map<int64_t, bool> isMade;
  for (const CudnnPart& operation : graph.parts.at(CUDNN_ATTR_OPERATIONGRAPH_OPS)) {
    for (const auto& [name, parts] : operation->parts) {
      if (parts[0]->type != kTensor) {
        continue;
      }
      auto id = parts[0]->one<int64_t>(CUDNN_ATTR_TENSOR_UNIQUE_ID, 0);
      if (tensors.emplace(id, parts[0].get()).first->second != parts[0].get()) {
        return refuse(CUDNN_STATUS_BAD_PARAM_DUPLICATED_ENTRIES, "two tensors with one id");
      }
      bool isResult = name == CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y ||
                      name == CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX ||
                      name == CUDNN_ATTR_OPERATION_POINTWISE_YDESC ||
                      name == CUDNN_ATTR_OPERATION_RESAMPLE_FWD_YDESC ||
                      name == CUDNN_ATTR_OPERATION_MATMUL_CDESC ||
                      name == CUDNN_ATTR_OPERATION_REDUCTION_YDESC;
      if (isResult && (!allAtLeast(parts[0]->integers(CUDNN_ATTR_TENSOR_STRIDES), 1) ||
                       parts[0]->one(CUDNN_ATTR_TENSOR_IS_BY_VALUE, false))) {
        return bad("a result that has no place for each element");
      }
      bool isInner = parts[0]->one(CUDNN_ATTR_TENSOR_IS_VIRTUAL, false);
      if (isInner && !isResult && !isMade[id]) {
        return bad("a virtual tensor is read that no operation made");
      }
      isMade[id] = isMade[id] || isResult;
    }
  }
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t checkPack(const CudnnObject& pack) {
  Dims ids = pack.integers(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS);
  std::sort(ids.begin(), ids.end());
  if (std::adjacent_find(ids.begin(), ids.end()) != ids.end()) {
    return refuse(CUDNN_STATUS_BAD_PARAM_DUPLICATED_ENTRIES, "an id twice in a variant pack");
  }
  return ids.size() == pack.all<void*>(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS).size()
             ? CUDNN_STATUS_SUCCESS
             : bad("ids and pointers of a variant pack");
}

}  // namespace

cudnnStatus_t setCudnnAttribute(CudnnObject& object, cudnnBackendAttributeName_t name,
                                cudnnBackendAttributeType_t type, int64_t count,
                                const void* elements) {
  if (object.finalized) {
    return bad("an attribute is set after the descriptor was finalized");
  }
  if (type == CUDNN_TYPE_BACKEND_DESCRIPTOR) {
    return setDescriptors(object, name, count, elements);
  }
  for (const Rule& rule : kRules) {
    if (rule.object != object.type || rule.name != name) {
      continue;
    }
    if (type != rule.type) {
      return refuse(CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE, "the type of an attribute");
    }
    if (count < rule.least || count > rule.most || elements == nullptr) {
      return bad("the number of elements of an attribute");
    }
    const auto* bytes = static_cast<const uint8_t*>(elements);
    object.values[name].assign(bytes, bytes + static_cast<size_t>(count) * sizeOf(type));
    return CUDNN_STATUS_SUCCESS;
  }
  return bad("an attribute that the descriptor has not");
}

cudnnStatus_t checkCudnnObject(const CudnnObject& object) {
  auto isMissing = [&](const auto& rule) {
    return rule.object == object.type && rule.required && !object.has(rule.name);
  };
  if (std::any_of(std::begin(kRules), std::end(kRules), isMissing) ||
      std::any_of(std::begin(kPartRules), std::end(kPartRules), isMissing) ||
      (object.type == kGraph && !object.has(CUDNN_ATTR_OPERATIONGRAPH_OPS))) {
    return bad("an attribute is missing");
  }
  switch (object.type) {
    case kTensor:
      return checkTensor(object);
    case kConvolution:
      return checkWindow(
          object, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS,
          {CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, CUDNN_ATTR_CONVOLUTION_DILATIONS},
          {CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS});
    case kResample:
      return checkWindow(object, CUDNN_ATTR_RESAMPLE_SPATIAL_DIMS,
                         {CUDNN_ATTR_RESAMPLE_WINDOW_DIMS, CUDNN_ATTR_RESAMPLE_STRIDES},
                         {CUDNN_ATTR_RESAMPLE_PRE_PADDINGS, CUDNN_ATTR_RESAMPLE_POST_PADDINGS});
    case kGraph:
      return checkGraph(object);
    case kPack:
      return checkPack(object);
    default:
      return isCudnnOperation(object.type) ? checkCudnnOperation(object) : CUDNN_STATUS_SUCCESS;
  }
}

}  // namespace graphrun::testing
