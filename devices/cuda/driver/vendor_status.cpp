#include "devices/cuda/driver/vendor_status.h"

#include "absl/strings/str_cat.h"

namespace graphrun::devices::cuda {
namespace {

absl::StatusCode codeOf(CUresult result) {
  switch (result) {
    case CUDA_ERROR_OUT_OF_MEMORY:
    case CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES:
      return absl::StatusCode::kResourceExhausted;
    case CUDA_ERROR_NO_DEVICE:
    case CUDA_ERROR_INVALID_DEVICE:
    case CUDA_ERROR_NOT_FOUND:
    case CUDA_ERROR_FILE_NOT_FOUND:
      return absl::StatusCode::kNotFound;
    case CUDA_ERROR_INVALID_IMAGE:
    case CUDA_ERROR_INVALID_PTX:
    case CUDA_ERROR_INVALID_SOURCE:
    case CUDA_ERROR_NO_BINARY_FOR_GPU:
      return absl::StatusCode::kInvalidArgument;
    case CUDA_ERROR_UNSUPPORTED_PTX_VERSION:
    case CUDA_ERROR_SYSTEM_DRIVER_MISMATCH:
    case CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE:
      return absl::StatusCode::kFailedPrecondition;
    case CUDA_ERROR_NOT_SUPPORTED:
      return absl::StatusCode::kUnimplemented;
    default:
      return absl::StatusCode::kInternal;
  }
}

/// After these the context takes no more work.
bool losesContext(CUresult result) {
  switch (result) {
    case CUDA_ERROR_ILLEGAL_ADDRESS:
    case CUDA_ERROR_LAUNCH_FAILED:
    case CUDA_ERROR_LAUNCH_TIMEOUT:
    case CUDA_ERROR_ILLEGAL_INSTRUCTION:
    case CUDA_ERROR_MISALIGNED_ADDRESS:
    case CUDA_ERROR_INVALID_ADDRESS_SPACE:
    case CUDA_ERROR_INVALID_PC:
    case CUDA_ERROR_HARDWARE_STACK_ERROR:
    case CUDA_ERROR_ASSERT:
    case CUDA_ERROR_ECC_UNCORRECTABLE:
      return true;
    default:
      return false;
  }
}

absl::StatusCode codeOf(cublasStatus_t result) {
  switch (result) {
    case CUBLAS_STATUS_ALLOC_FAILED:
      return absl::StatusCode::kResourceExhausted;
    case CUBLAS_STATUS_NOT_SUPPORTED:
      return absl::StatusCode::kUnimplemented;
    case CUBLAS_STATUS_INVALID_VALUE:
      return absl::StatusCode::kInvalidArgument;
    case CUBLAS_STATUS_ARCH_MISMATCH:
      return absl::StatusCode::kFailedPrecondition;
    default:
      return absl::StatusCode::kInternal;
  }
}

// cuDNN's numbers: thousands tell the kind, the rest what exactly.
absl::StatusCode codeOf(cudnnStatus_t result) {
  switch (CUDNN_STATUS_CATEGORY(result)) {
    case CUDNN_STATUS_BAD_PARAM:
      return absl::StatusCode::kInvalidArgument;
    case CUDNN_STATUS_NOT_SUPPORTED:
      return absl::StatusCode::kUnimplemented;
    default:
      return result == CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED ||
                     result == CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED
                 ? absl::StatusCode::kResourceExhausted
                 : absl::StatusCode::kInternal;
  }
}

absl::StatusCode codeOf(ncclResult_t result) {
  switch (result) {
    case ncclInvalidArgument:
    case ncclInvalidUsage:
      return absl::StatusCode::kInvalidArgument;
    case ncclRemoteError:
      return absl::StatusCode::kUnavailable;
    default:
      return absl::StatusCode::kInternal;
  }
}

/// A vendor's text, which may be missing.
absl::string_view textOf(const char* text) { return text == nullptr ? "unknown error" : text; }

}  // namespace

absl::Status driverStatus(const DriverApi& api, CUresult result, absl::string_view operation) {
  if (result == CUDA_SUCCESS) {
    return absl::OkStatus();
  }
  const char* name = nullptr;
  const char* text = nullptr;
  api.cuGetErrorName(result, &name);
  api.cuGetErrorString(result, &text);
  absl::string_view lost =
      losesContext(result) ? "; the GPU takes no more work of this process, start it again" : "";
  return absl::Status(codeOf(result),
                      absl::StrCat(operation, ": ", textOf(name), " (", static_cast<int>(result),
                                   "): ", textOf(text), lost));
}

absl::Status cublasLtStatus(const CublasLtApi& api, cublasStatus_t result,
                            absl::string_view operation) {
  if (result == CUBLAS_STATUS_SUCCESS) {
    return absl::OkStatus();
  }
  return absl::Status(codeOf(result),
                      absl::StrCat(operation, ": ", textOf(api.cublasLtGetStatusName(result)), ": ",
                                   textOf(api.cublasLtGetStatusString(result))));
}

absl::Status cudnnStatus(const CudnnApi& api, cudnnStatus_t result, absl::string_view operation) {
  if (result == CUDNN_STATUS_SUCCESS) {
    return absl::OkStatus();
  }
  char detail[512] = "";
  api.cudnnGetLastErrorString(detail, sizeof(detail));
  return absl::Status(codeOf(result),
                      absl::StrCat(operation, ": ", textOf(api.cudnnGetErrorString(result)),
                                   detail[0] == 0 ? "" : ": ", detail));
}

absl::Status ncclStatus(const NcclApi& api, ncclResult_t result, absl::string_view operation) {
  if (result == ncclSuccess) {
    return absl::OkStatus();
  }
  return absl::Status(codeOf(result),
                      absl::StrCat(operation, ": ", textOf(api.ncclGetErrorString(result)), ": ",
                                   textOf(api.ncclGetLastError(nullptr))));
}

}  // namespace graphrun::devices::cuda
