// Descriptors of cuDNN's backend API: made attribute by attribute, then finalized. Internal to
// devices/cuda. Source: cuDNN's documentation, "Backend API".
#ifndef GRAPHRUN_DEVICES_CUDA_CUDNN_CUDNN_DESCRIPTOR_H_
#define GRAPHRUN_DEVICES_CUDA_CUDNN_CUDNN_DESCRIPTOR_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "devices/cuda/driver/symbols.h"

namespace graphrun::devices::cuda {

/// Owns a descriptor. The library must outlive it.
using CudnnDescriptor = std::unique_ptr<void, cudnnStatus_t (*)(cudnnBackendDescriptor_t)>;

// clang-format off: one type a line
/// The name that an attribute's C++ type has in the API; no other type compiles.
template <typename T> inline constexpr auto kCudnnType = T::isNoAttributeType;
template <> inline constexpr auto kCudnnType<int64_t> = CUDNN_TYPE_INT64;
template <> inline constexpr auto kCudnnType<float> = CUDNN_TYPE_FLOAT;
template <> inline constexpr auto kCudnnType<bool> = CUDNN_TYPE_BOOLEAN;
template <> inline constexpr auto kCudnnType<char> = CUDNN_TYPE_CHAR;
template <> inline constexpr auto kCudnnType<cudnnHandle_t> = CUDNN_TYPE_HANDLE;
template <> inline constexpr auto kCudnnType<cudnnDataType_t> = CUDNN_TYPE_DATA_TYPE;
template <> inline constexpr auto kCudnnType<cudnnConvolutionMode_t> = CUDNN_TYPE_CONVOLUTION_MODE;
template <> inline constexpr auto kCudnnType<cudnnPointwiseMode_t> = CUDNN_TYPE_POINTWISE_MODE;
template <> inline constexpr auto kCudnnType<cudnnResampleMode_t> = CUDNN_TYPE_RESAMPLE_MODE;
template <> inline constexpr auto kCudnnType<cudnnPaddingMode_t> = CUDNN_TYPE_PADDING_MODE;
template <> inline constexpr auto kCudnnType<cudnnReduceTensorOp_t> = CUDNN_TYPE_REDUCTION_OPERATOR_TYPE;
template <> inline constexpr auto kCudnnType<cudnnBackendHeurMode_t> = CUDNN_TYPE_HEUR_MODE;
template <> inline constexpr auto kCudnnType<void*> = CUDNN_TYPE_BACKEND_DESCRIPTOR;
// clang-format on

/// Makes one descriptor. The first error is kept, and what follows it does nothing.
class CudnnDescriptorBuilder {
 public:
  /// `what` names the descriptor in errors: "convolution".
  CudnnDescriptorBuilder(const CudnnApi& api, cudnnBackendDescriptorType_t type, std::string what);

  /// An attribute of one element.
  template <typename T>
  CudnnDescriptorBuilder& set(cudnnBackendAttributeName_t name, const T& value) {
    return setElements(name, kCudnnType<T>, 1, static_cast<const void*>(&value));
  }
  CudnnDescriptorBuilder& set(cudnnBackendAttributeName_t name, const CudnnDescriptor& value) {
    return set(name, value.get());
  }
  /// An attribute of several elements.
  template <typename T>
  CudnnDescriptorBuilder& set(cudnnBackendAttributeName_t name, const std::vector<T>& values) {
    return setElements(name, kCudnnType<T>, static_cast<int64_t>(values.size()),
                       static_cast<const void*>(values.data()));
  }
  /// Addresses: in C++ they are of the type that descriptors have.
  CudnnDescriptorBuilder& setPointers(cudnnBackendAttributeName_t name,
                                      absl::Span<void* const> pointers) {
    return setElements(name, CUDNN_TYPE_VOID_PTR, static_cast<int64_t>(pointers.size()),
                       static_cast<const void*>(pointers.data()));
  }

  /// The descriptor, checked by the library.
  absl::StatusOr<CudnnDescriptor> finish();

 private:
  CudnnDescriptorBuilder& setElements(cudnnBackendAttributeName_t name,
                                      cudnnBackendAttributeType_t type, int64_t count,
                                      const void* elements);

  const CudnnApi& api_;
  std::string what_;
  CudnnDescriptor descriptor_;
  absl::Status status_;
};

/// The attribute `name`, one integer.
absl::StatusOr<int64_t> cudnnInteger(const CudnnApi& api, const CudnnDescriptor& descriptor,
                                     cudnnBackendAttributeName_t name);
/// The library's notes about how an engine computes with numbers.
absl::StatusOr<std::vector<cudnnBackendNumericalNote_t>> cudnnNotes(const CudnnApi& api,
                                                                    const CudnnDescriptor& engine);
/// The descriptors of type `type` that are the attribute `name`.
absl::StatusOr<std::vector<CudnnDescriptor>> cudnnParts(const CudnnApi& api,
                                                        const CudnnDescriptor& descriptor,
                                                        cudnnBackendAttributeName_t name,
                                                        cudnnBackendDescriptorType_t type);

}  // namespace graphrun::devices::cuda

#endif  // GRAPHRUN_DEVICES_CUDA_CUDNN_CUDNN_DESCRIPTOR_H_
