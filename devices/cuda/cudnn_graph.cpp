#include "devices/cuda/cudnn_graph.h"

#include <algorithm>
#include <bit>

#include "devices/cuda/cudnn_plans.h"
#include "devices/cuda/vendor_status.h"
#include "runtime/base/status.h"

namespace graphrun::devices::cuda {
namespace {

/// What loads of 128 bits need; engines ask for no more.
constexpr int64_t kMostAlignment = 16;

/// The largest power of two, up to kMostAlignment, that divides an address.
int64_t alignmentOf(CUdeviceptr address) {
  auto lowest = static_cast<int64_t>(address & (~address + 1));
  return lowest == 0 ? kMostAlignment : std::min(lowest, kMostAlignment);
}

absl::StatusOr<cudnnDataType_t> dataType(runtime::ElementType type) {
  switch (type) {
    case runtime::ElementType::kF32:
      return CUDNN_DATA_FLOAT;
    case runtime::ElementType::kF16:
      return CUDNN_DATA_HALF;
    case runtime::ElementType::kBF16:
      return CUDNN_DATA_BFLOAT16;
    default:
      return absl::UnimplementedError(
          absl::StrCat("cuDNN is not asked for ", runtime::elementTypeName(type)));
  }
}

/// What the library calls the same things of a convolution and of one back to its image.
struct ConvolutionNames {
  cudnnBackendDescriptorType_t type;
  const char* what;
  cudnnBackendAttributeName_t convolution, image, filter, result, alpha, beta;
};

constexpr ConvolutionNames kForward = {CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
                                       "operation of a convolution",
                                       CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
                                       CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
                                       CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
                                       CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y,
                                       CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
                                       CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA};
constexpr ConvolutionNames kBack = {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
                                    "operation of a transposed convolution",
                                    CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
                                    CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
                                    CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
                                    CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,
                                    CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
                                    CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA};

}  // namespace

absl::StatusOr<CudnnTensor> CudnnGraph::addDescriptor(runtime::ElementType type,
                                                      const CudnnShape& shape, CUdeviceptr address,
                                                      bool isInner) {
  GR_ASSIGN_OR_RETURN(cudnnDataType_t elements, dataType(type));
  CudnnDescriptorBuilder builder(*target_.api, CUDNN_BACKEND_TENSOR_DESCRIPTOR, "tensor");
  builder.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, ++lastId_)
      .set(CUDNN_ATTR_TENSOR_DATA_TYPE, elements)
      .set(CUDNN_ATTR_TENSOR_DIMENSIONS, shape.dims)
      .set(CUDNN_ATTR_TENSOR_STRIDES, shape.strides)
      .set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, alignmentOf(address))
      .set(CUDNN_ATTR_TENSOR_IS_VIRTUAL, isInner);
  GR_ASSIGN_OR_RETURN(CudnnDescriptor made, builder.finish());
  parts_.push_back(std::move(made));
  return parts_.back().get();
}

absl::StatusOr<CudnnTensor> CudnnGraph::addTensor(runtime::ElementType type,
                                                  const CudnnShape& shape, CUdeviceptr address) {
  GR_ASSIGN_OR_RETURN(CudnnTensor tensor, addDescriptor(type, shape, address, false));
  ids_.push_back(lastId_);
  addresses_.push_back(std::bit_cast<void*>(address));
  return tensor;
}

absl::StatusOr<CudnnTensor> CudnnGraph::addInner(const CudnnShape& shape) {
  return addDescriptor(runtime::ElementType::kF32, shape, 0, true);
}

absl::Status CudnnGraph::addOperation(CudnnDescriptorBuilder& builder) {
  GR_ASSIGN_OR_RETURN(CudnnDescriptor made, builder.finish());
  operations_.push_back(made.get());
  parts_.push_back(std::move(made));
  return absl::OkStatus();
}

absl::StatusOr<CudnnDescriptor> CudnnGraph::convolutionOf(const CudnnWindow& window) const {
  CudnnDescriptorBuilder builder(*target_.api, CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR, "convolution");
  builder.set(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_DATA_FLOAT)
      .set(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_CROSS_CORRELATION)
      .set(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, static_cast<int64_t>(window.strides.size()))
      .set(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, window.strides)
      .set(CUDNN_ATTR_CONVOLUTION_DILATIONS, window.dilations)
      .set(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, window.padsBegin)
      .set(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, window.padsEnd);
  return builder.finish();
}

absl::Status CudnnGraph::convolve(CudnnConvolution direction, const CudnnWindow& window,
                                  CudnnTensor image, CudnnTensor filter, CudnnTensor result) {
  const ConvolutionNames& names = direction == CudnnConvolution::kForward ? kForward : kBack;
  GR_ASSIGN_OR_RETURN(CudnnDescriptor convolution, convolutionOf(window));
  CudnnDescriptorBuilder builder(*target_.api, names.type, names.what);
  builder.set(names.convolution, convolution)
      .set(names.image, image)
      .set(names.filter, filter)
      .set(names.result, result)
      .set(names.alpha, 1.0F)
      .set(names.beta, 0.0F);
  parts_.push_back(std::move(convolution));
  return addOperation(builder);
}

absl::Status CudnnGraph::apply(const CudnnPointwise& op, CudnnTensor input, CudnnTensor other,
                               CudnnTensor result) {
  CudnnDescriptorBuilder function(*target_.api, CUDNN_BACKEND_POINTWISE_DESCRIPTOR,
                                  "element-wise function");
  function.set(CUDNN_ATTR_POINTWISE_MODE, op.mode)
      .set(CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_DATA_FLOAT);
  for (auto [name, value] : op.parameters) {
    function.set(name, value);
  }
  GR_ASSIGN_OR_RETURN(CudnnDescriptor made, function.finish());
  CudnnDescriptorBuilder builder(*target_.api, CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR,
                                 "element-wise operation");
  builder.set(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, made)
      .set(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, input)
      .set(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, result);
  if (other != nullptr) {
    builder.set(CUDNN_ATTR_OPERATION_POINTWISE_BDESC, other);
  }
  parts_.push_back(std::move(made));
  return addOperation(builder);
}

absl::Status CudnnGraph::pool(cudnnResampleMode_t mode, const CudnnWindow& window,
                              CudnnTensor input, CudnnTensor result) {
  CudnnDescriptorBuilder resample(*target_.api, CUDNN_BACKEND_RESAMPLE_DESCRIPTOR, "pool");
  resample.set(CUDNN_ATTR_RESAMPLE_MODE, mode)
      .set(CUDNN_ATTR_RESAMPLE_COMP_TYPE, CUDNN_DATA_FLOAT)
      .set(CUDNN_ATTR_RESAMPLE_PADDING_MODE,
           mode == CUDNN_RESAMPLE_MAXPOOL ? CUDNN_NEG_INF_PAD : CUDNN_ZERO_PAD)
      .set(CUDNN_ATTR_RESAMPLE_SPATIAL_DIMS, static_cast<int64_t>(window.kernel.size()))
      .set(CUDNN_ATTR_RESAMPLE_WINDOW_DIMS, window.kernel)
      .set(CUDNN_ATTR_RESAMPLE_STRIDES, window.strides)
      .set(CUDNN_ATTR_RESAMPLE_PRE_PADDINGS, window.padsBegin)
      .set(CUDNN_ATTR_RESAMPLE_POST_PADDINGS, window.padsEnd);
  GR_ASSIGN_OR_RETURN(CudnnDescriptor made, resample.finish());
  CudnnDescriptorBuilder builder(*target_.api, CUDNN_BACKEND_OPERATION_RESAMPLE_FWD_DESCRIPTOR,
                                 "operation of a pool");
  builder.set(CUDNN_ATTR_OPERATION_RESAMPLE_FWD_DESC, made)
      .set(CUDNN_ATTR_OPERATION_RESAMPLE_FWD_XDESC, input)
      .set(CUDNN_ATTR_OPERATION_RESAMPLE_FWD_YDESC, result);
  parts_.push_back(std::move(made));
  return addOperation(builder);
}

absl::StatusOr<CudnnDescriptor> CudnnGraph::finish() const {
  CudnnDescriptorBuilder builder(*target_.api, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR, "graph");
  builder.set(CUDNN_ATTR_OPERATIONGRAPH_OPS, operations_);
  if (target_.handle != nullptr) {
    builder.set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, target_.handle);
  }
  return builder.finish();
}

absl::StatusOr<CudnnDescriptor> CudnnGraph::variantPack(const CudnnLimits& limits) const {
  CudnnDescriptorBuilder builder(*target_.api, CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR,
                                 "variant pack");
  void* workspace = std::bit_cast<void*>(limits.workspace);
  builder.set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, ids_)
      .setPointers(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, addresses_)
      .setPointers(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, {&workspace, 1});
  return builder.finish();
}

absl::StatusOr<CudnnPlan> CudnnGraph::plan(const CudnnLimits& limits) && {
  GR_ASSIGN_OR_RETURN(CudnnDescriptor graph, finish());
  GR_ASSIGN_OR_RETURN(FoundPlan found, findCudnnPlan(target_, graph, limits));
  GR_ASSIGN_OR_RETURN(CudnnDescriptor memory, variantPack(limits));
  parts_.push_back(std::move(graph));
  parts_.push_back(std::move(found.configuration));
  return CudnnPlan(*target_.api, std::move(parts_), std::move(found.plan), std::move(memory),
                   found.number);
}

absl::Status CudnnPlan::execute(cudnnHandle_t handle) const {
  return cudnnStatus(api_, api_.cudnnBackendExecute(handle, plan_.get(), memory_.get()),
                     "cudnnBackendExecute");
}

}  // namespace graphrun::devices::cuda
