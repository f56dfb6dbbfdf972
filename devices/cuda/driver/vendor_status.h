// Errors of NVIDIA's libraries as Status: what was asked, and what the vendor says of it.
#ifndef GRAPHRUN_DEVICES_CUDA_DRIVER_VENDOR_STATUS_H_
#define GRAPHRUN_DEVICES_CUDA_DRIVER_VENDOR_STATUS_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "devices/cuda/driver/symbols.h"

namespace graphrun::devices::cuda {

/// OK, or "operation: CUDA_ERROR_…: text". No memory is ResourceExhausted, no device, file or
/// symbol NotFound, a bad image InvalidArgument, a mismatch of versions FailedPrecondition, what
/// cannot be done Unimplemented, all else Internal.
absl::Status driverStatus(const DriverApi& api, CUresult result, absl::string_view operation);
/// The same for the other libraries.
absl::Status cublasLtStatus(const CublasLtApi& api, cublasStatus_t result,
                            absl::string_view operation);
absl::Status cudnnStatus(const CudnnApi& api, cudnnStatus_t result, absl::string_view operation);
absl::Status ncclStatus(const NcclApi& api, ncclResult_t result, absl::string_view operation);

}  // namespace graphrun::devices::cuda

/// Calls a function of the driver and gives its Status: GR_CU(driver, cuEventRecord, event,
/// stream).
#define GR_CU(api, function, ...) \
  ::graphrun::devices::cuda::driverStatus((api), (api).function(__VA_ARGS__), #function)

#endif  // GRAPHRUN_DEVICES_CUDA_DRIVER_VENDOR_STATUS_H_
