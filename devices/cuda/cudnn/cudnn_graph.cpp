#include "devices/cuda/cudnn/cudnn_graph.h"

#include <algorithm>
#include <bit>

#include "absl/strings/str_join.h"
#include "devices/cuda/cudnn/cudnn_plans.h"
#include "devices/cuda/driver/vendor_status.h"
#include "runtime/base/status.h"

namespace graphrun::devices::cuda {
namespace {

/// Loads of 128 bits need this alignment; engines ask for no more.
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
    case runtime::ElementType::kI32:
      return CUDNN_DATA_INT32;
    case runtime::ElementType::kU8:
      return CUDNN_DATA_UINT8;
    case runtime::ElementType::kI8:
      return CUDNN_DATA_INT8;
    case runtime::ElementType::kBool:
      return CUDNN_DATA_BOOLEAN;
    default:
      return absl::UnimplementedError(
          absl::StrCat("cuDNN is not asked for ", runtime::elementTypeName(type)));
  }
}

/// A factor of a convolution. Its attribute is an f32, but the library reads the bits as an i32
/// where it sums in i32: 1.0F multiplied results by 0x3f800000 (cuDNN 9.19 on an H200).
float factorOf(int32_t value, cudnnDataType_t sumsIn) {
  return sumsIn == CUDNN_DATA_INT32 ? std::bit_cast<float>(value) : static_cast<float>(value);
}

std::string words(const std::vector<int64_t>& numbers) { return absl::StrJoin(numbers, ","); }

std::string words(const CudnnWindow& w) {
  return absl::StrCat(words(w.kernel), " ", words(w.strides), " ", words(w.dilations), " ",
                      words(w.padsBegin), " ", words(w.padsEnd));
}

/// Parameters by their bits: all of them count.
std::string words(const CudnnPointwise& op) {
  std::string text = absl::StrCat(op.axis.value_or(-1), " ", op.computesIn);
  for (auto [name, value] : op.parameters) {
    absl::StrAppend(&text, " ", name, "=", std::bit_cast<uint32_t>(value));
  }
  return text;
}

/// The library's names for a convolution, or for one back to its image.
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
                                                      Storage storage) {
  GR_ASSIGN_OR_RETURN(cudnnDataType_t elements, dataType(type));
  tell(absl::StrCat("tensor ", elements, " ", words(shape.dims), " ", words(shape.strides), " ",
                    alignmentOf(address), " ", static_cast<int>(storage)),
       {});
  CudnnDescriptorBuilder builder(*target_.api, CUDNN_BACKEND_TENSOR_DESCRIPTOR, "tensor");
  builder.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, ++lastId_)
      .set(CUDNN_ATTR_TENSOR_DATA_TYPE, elements)
      .set(CUDNN_ATTR_TENSOR_DIMENSIONS, shape.dims)
      .set(CUDNN_ATTR_TENSOR_STRIDES, shape.strides)
      .set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, alignmentOf(address))
      .set(CUDNN_ATTR_TENSOR_IS_VIRTUAL, storage == Storage::kInner)
      .set(CUDNN_ATTR_TENSOR_IS_BY_VALUE, storage == Storage::kHost);
  return keep(builder);
}

absl::StatusOr<cudnnBackendDescriptor_t> CudnnGraph::keep(CudnnDescriptorBuilder& builder) {
  GR_ASSIGN_OR_RETURN(CudnnDescriptor made, builder.finish());
  parts_.push_back(std::move(made));
  return parts_.back().get();
}

void CudnnGraph::tell(absl::string_view what, std::initializer_list<CudnnTensor> tensors) {
  absl::StrAppend(&text_, what);
  for (CudnnTensor tensor : tensors) {
    auto found = std::find_if(parts_.begin(), parts_.end(),
                              [&](const CudnnDescriptor& part) { return part.get() == tensor; });
    absl::StrAppend(&text_, " %", found - parts_.begin());
  }
  text_ += "\n";
}

absl::StatusOr<CudnnTensor> CudnnGraph::addTensor(runtime::ElementType type,
                                                  const CudnnShape& shape, CUdeviceptr address) {
  GR_ASSIGN_OR_RETURN(CudnnTensor tensor, addDescriptor(type, shape, address, Storage::kMemory));
  ids_.push_back(lastId_);
  addresses_.push_back(std::bit_cast<void*>(address));
  return tensor;
}

absl::StatusOr<CudnnTensor> CudnnGraph::addInner(const CudnnShape& shape,
                                                 runtime::ElementType type) {
  return addDescriptor(type, shape, 0, Storage::kInner);
}

absl::StatusOr<CudnnTensor> CudnnGraph::addScalar(float value, size_t rank) {
  std::vector<int64_t> ones(rank, 1);
  GR_ASSIGN_OR_RETURN(CudnnTensor tensor, addDescriptor(runtime::ElementType::kF32, {ones, ones},
                                                        sizeof(float), Storage::kHost));
  scalars_.push_back(std::make_unique<float>(value));
  ids_.push_back(lastId_);
  addresses_.push_back(scalars_.back().get());
  return tensor;
}

absl::Status CudnnGraph::addOperation(CudnnDescriptorBuilder& builder) {
  GR_ASSIGN_OR_RETURN(cudnnBackendDescriptor_t made, keep(builder));
  operations_.push_back(made);
  return absl::OkStatus();
}

absl::StatusOr<cudnnBackendDescriptor_t> CudnnGraph::descriptorOf(
    const CudnnConvolution& convolution) {
  const CudnnWindow& window = convolution.window;
  CudnnDescriptorBuilder builder(*target_.api, CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR, "convolution");
  builder.set(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, convolution.sumsIn)
      .set(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_CROSS_CORRELATION)
      .set(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, static_cast<int64_t>(window.strides.size()))
      .set(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, window.strides)
      .set(CUDNN_ATTR_CONVOLUTION_DILATIONS, window.dilations)
      .set(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, window.padsBegin)
      .set(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, window.padsEnd);
  return keep(builder);
}

absl::Status CudnnGraph::convolve(const CudnnConvolution& convolution, CudnnTensor image,
                                  CudnnTensor filter, CudnnTensor result) {
  const ConvolutionNames& names =
      convolution.direction == CudnnDirection::kForward ? kForward : kBack;
  tell(absl::StrCat(names.what, " ", words(convolution.window), " in ", convolution.sumsIn),
       {image, filter, result});
  GR_ASSIGN_OR_RETURN(cudnnBackendDescriptor_t descriptor, descriptorOf(convolution));
  CudnnDescriptorBuilder builder(*target_.api, names.type, names.what);
  builder.set(names.convolution, descriptor)
      .set(names.image, image)
      .set(names.filter, filter)
      .set(names.result, result)
      .set(names.alpha, factorOf(1, convolution.sumsIn))
      .set(names.beta, factorOf(0, convolution.sumsIn));
  return addOperation(builder);
}

absl::Status CudnnGraph::apply(const CudnnPointwise& op, const CudnnOperands& operands,
                               CudnnTensor result) {
  CudnnDescriptorBuilder function(*target_.api, CUDNN_BACKEND_POINTWISE_DESCRIPTOR,
                                  "element-wise function");
  function.set(CUDNN_ATTR_POINTWISE_MODE, op.mode)
      .set(CUDNN_ATTR_POINTWISE_MATH_PREC, op.computesIn);
  for (auto [name, value] : op.parameters) {
    function.set(name, value);
  }
  if (op.axis) {
    function.set(CUDNN_ATTR_POINTWISE_AXIS, *op.axis);
  }
  tell(absl::StrCat("apply ", op.mode, " ", words(op)),
       {operands.input, operands.other, operands.selector, result});
  GR_ASSIGN_OR_RETURN(cudnnBackendDescriptor_t made, keep(function));
  CudnnDescriptorBuilder builder(*target_.api, CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR,
                                 "element-wise operation");
  builder.set(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, made)
      .set(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, operands.input)
      .set(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, result);
  if (operands.other != nullptr) {
    builder.set(CUDNN_ATTR_OPERATION_POINTWISE_BDESC, operands.other);
  }
  if (operands.selector != nullptr) {
    builder.set(CUDNN_ATTR_OPERATION_POINTWISE_TDESC, operands.selector);
  }
  return addOperation(builder);
}

absl::Status CudnnGraph::multiply(CudnnTensor left, CudnnTensor right, CudnnTensor result) {
  tell("multiply", {left, right, result});
  CudnnDescriptorBuilder product(*target_.api, CUDNN_BACKEND_MATMUL_DESCRIPTOR, "product");
  product.set(CUDNN_ATTR_MATMUL_COMP_TYPE, CUDNN_DATA_FLOAT);
  GR_ASSIGN_OR_RETURN(cudnnBackendDescriptor_t made, keep(product));
  CudnnDescriptorBuilder builder(*target_.api, CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR,
                                 "operation of a product");
  builder.set(CUDNN_ATTR_OPERATION_MATMUL_DESC, made)
      .set(CUDNN_ATTR_OPERATION_MATMUL_ADESC, left)
      .set(CUDNN_ATTR_OPERATION_MATMUL_BDESC, right)
      .set(CUDNN_ATTR_OPERATION_MATMUL_CDESC, result);
  return addOperation(builder);
}

absl::Status CudnnGraph::reduce(cudnnReduceTensorOp_t op, CudnnTensor input, CudnnTensor result) {
  tell(absl::StrCat("reduce ", op), {input, result});
  CudnnDescriptorBuilder reduction(*target_.api, CUDNN_BACKEND_REDUCTION_DESCRIPTOR, "reduction");
  reduction.set(CUDNN_ATTR_REDUCTION_OPERATOR, op)
      .set(CUDNN_ATTR_REDUCTION_COMP_TYPE, CUDNN_DATA_FLOAT);
  GR_ASSIGN_OR_RETURN(cudnnBackendDescriptor_t made, keep(reduction));
  CudnnDescriptorBuilder builder(*target_.api, CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR,
                                 "operation of a reduction");
  builder.set(CUDNN_ATTR_OPERATION_REDUCTION_DESC, made)
      .set(CUDNN_ATTR_OPERATION_REDUCTION_XDESC, input)
      .set(CUDNN_ATTR_OPERATION_REDUCTION_YDESC, result);
  return addOperation(builder);
}

absl::Status CudnnGraph::pool(cudnnResampleMode_t mode, const CudnnWindow& window,
                              CudnnTensor input, CudnnTensor result) {
  tell(absl::StrCat("pool ", mode, " ", words(window)), {input, result});
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
  GR_ASSIGN_OR_RETURN(cudnnBackendDescriptor_t made, keep(resample));
  CudnnDescriptorBuilder builder(*target_.api, CUDNN_BACKEND_OPERATION_RESAMPLE_FWD_DESCRIPTOR,
                                 "operation of a pool");
  builder.set(CUDNN_ATTR_OPERATION_RESAMPLE_FWD_DESC, made)
      .set(CUDNN_ATTR_OPERATION_RESAMPLE_FWD_XDESC, input)
      .set(CUDNN_ATTR_OPERATION_RESAMPLE_FWD_YDESC, result);
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

absl::StatusOr<std::shared_ptr<const CudnnMadePlan>> CudnnGraph::makePlan(
    const CudnnLimits& limits) {
  GR_ASSIGN_OR_RETURN(CudnnDescriptor graph, finish());
  GR_ASSIGN_OR_RETURN(CudnnMadePlan made, findCudnnPlan(target_, graph, limits));
  parts_.push_back(std::move(graph));
  made.parts = std::move(parts_);
  return std::make_shared<const CudnnMadePlan>(std::move(made));
}

absl::StatusOr<CudnnPlan> CudnnGraph::plan(const CudnnLimits& limits) && {
  absl::StrAppend(&text_, "plan ", limits.plan, " ", limits.exact, " ", limits.workspaceBytes);
  std::shared_ptr<const CudnnMadePlan> made =
      target_.store == nullptr ? nullptr : target_.store->find(text_);
  if (made == nullptr) {
    GR_ASSIGN_OR_RETURN(made, makePlan(limits));
    if (target_.store != nullptr) {
      target_.store->keep(text_, made);
    }
  }
  GR_ASSIGN_OR_RETURN(CudnnDescriptor memory, variantPack(limits));
  return CudnnPlan(*target_.api, std::move(made), std::move(scalars_), std::move(memory));
}

std::shared_ptr<const CudnnMadePlan> CudnnPlanStore::find(const std::string& graph) {
  std::lock_guard lock(mutex_);
  auto found = plans_.find(graph);
  return found == plans_.end() ? nullptr : found->second.lock();
}

void CudnnPlanStore::keep(const std::string& graph,
                          const std::shared_ptr<const CudnnMadePlan>& plan) {
  std::lock_guard lock(mutex_);
  std::erase_if(plans_, [](const auto& entry) { return entry.second.expired(); });
  plans_.insert_or_assign(graph, plan);
}

absl::Status CudnnPlan::execute(cudnnHandle_t handle) const {
  return cudnnStatus(api_, api_.cudnnBackendExecute(handle, plan_->plan.get(), memory_.get()),
                     "cudnnBackendExecute");
}

}  // namespace graphrun::devices::cuda
