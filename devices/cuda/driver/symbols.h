// The functions of NVIDIA's libraries that are used: one list a library. To use another one, add
// its name here, with the suffix of its version (_v2) where cuda.h gives it one. Internal to
// devices/cuda.
#ifndef GRAPHRUN_DEVICES_CUDA_DRIVER_SYMBOLS_H_
#define GRAPHRUN_DEVICES_CUDA_DRIVER_SYMBOLS_H_

#include <cublasLt.h>
#include <cuda.h>
#include <cudnn_graph.h>
#include <nccl.h>

#include "devices/cuda/driver/nvml.h"

// clang-format off: it finds no rest in a list without separators.
#define GR_CUDA_DRIVER_FUNCTIONS(X) \
  X(cuInit)                         \
  X(cuDriverGetVersion)             \
  X(cuGetErrorName)                 \
  X(cuGetErrorString)               \
  X(cuDeviceGetCount)               \
  X(cuDeviceGet)                    \
  X(cuDeviceGetName)                \
  X(cuDeviceGetAttribute)           \
  X(cuDeviceGetUuid_v2)             \
  X(cuDeviceTotalMem_v2)            \
  X(cuDeviceCanAccessPeer)          \
  X(cuDevicePrimaryCtxRetain)       \
  X(cuDevicePrimaryCtxRelease_v2)   \
  X(cuCtxSetCurrent)                \
  X(cuCtxPushCurrent_v2)            \
  X(cuCtxPopCurrent_v2)             \
  X(cuMemGetInfo_v2)                \
  X(cuMemAlloc_v2)                  \
  X(cuMemFree_v2)                   \
  X(cuMemHostAlloc)                 \
  X(cuMemFreeHost)                  \
  X(cuMemHostRegister_v2)           \
  X(cuMemHostUnregister)            \
  X(cuMemPoolCreate)                \
  X(cuMemPoolDestroy)               \
  X(cuMemPoolSetAttribute)          \
  X(cuMemPoolSetAccess)             \
  X(cuMemAllocFromPoolAsync)        \
  X(cuMemFreeAsync)                 \
  X(cuMemcpyHtoDAsync_v2)           \
  X(cuMemcpyDtoHAsync_v2)           \
  X(cuMemcpyDtoDAsync_v2)           \
  X(cuMemcpyPeerAsync)              \
  X(cuMemsetD8Async)                \
  X(cuStreamCreate)                 \
  X(cuStreamDestroy_v2)             \
  X(cuStreamSynchronize)            \
  X(cuStreamWaitEvent)              \
  X(cuStreamBeginCapture_v2)        \
  X(cuStreamEndCapture)             \
  X(cuEventCreate)                  \
  X(cuEventDestroy_v2)              \
  X(cuEventRecord)                  \
  X(cuEventRecordWithFlags)         \
  X(cuEventQuery)                   \
  X(cuEventSynchronize)             \
  X(cuEventElapsedTime_v2)          \
  X(cuModuleLoadDataEx)             \
  X(cuModuleUnload)                 \
  X(cuModuleGetFunction)            \
  X(cuFuncGetAttribute)             \
  X(cuFuncSetAttribute)             \
  X(cuLaunchKernel)                 \
  X(cuGraphInstantiateWithFlags)    \
  X(cuGraphExecUpdate_v2)           \
  X(cuGraphLaunch)                  \
  X(cuGraphDestroy)                 \
  X(cuGraphExecDestroy)

#define GR_CUBLASLT_FUNCTIONS(X)           \
  X(cublasLtGetVersion)                    \
  X(cublasLtGetStatusName)                 \
  X(cublasLtGetStatusString)               \
  X(cublasLtCreate)                        \
  X(cublasLtDestroy)                       \
  X(cublasLtMatmulDescCreate)              \
  X(cublasLtMatmulDescDestroy)             \
  X(cublasLtMatmulDescSetAttribute)        \
  X(cublasLtMatrixLayoutCreate)            \
  X(cublasLtMatrixLayoutDestroy)           \
  X(cublasLtMatrixLayoutSetAttribute)      \
  X(cublasLtMatmulPreferenceCreate)        \
  X(cublasLtMatmulPreferenceDestroy)       \
  X(cublasLtMatmulPreferenceSetAttribute)  \
  X(cublasLtMatmulAlgoGetHeuristic)        \
  X(cublasLtMatmul)

#define GR_CUDNN_FUNCTIONS(X)      \
  X(cudnnGetVersion)               \
  X(cudnnGetErrorString)           \
  X(cudnnGetLastErrorString)       \
  X(cudnnCreate)                   \
  X(cudnnDestroy)                  \
  X(cudnnSetStream)                \
  X(cudnnBackendCreateDescriptor)  \
  X(cudnnBackendDestroyDescriptor) \
  X(cudnnBackendSetAttribute)      \
  X(cudnnBackendGetAttribute)      \
  X(cudnnBackendFinalize)          \
  X(cudnnBackendExecute)

#define GR_NCCL_FUNCTIONS(X) \
  X(ncclGetVersion)          \
  X(ncclGetErrorString)      \
  X(ncclGetLastError)        \
  X(ncclGetUniqueId)         \
  X(ncclCommInitRankConfig)  \
  X(ncclCommFinalize)        \
  X(ncclCommDestroy)         \
  X(ncclCommAbort)           \
  X(ncclCommGetAsyncError)   \
  X(ncclAllReduce)           \
  X(ncclReduceScatter)       \
  X(ncclAllGather)           \
  X(ncclGroupStart)          \
  X(ncclGroupEnd)

#define GR_NVML_FUNCTIONS(X)   \
  X(nvmlInit_v2)               \
  X(nvmlErrorString)           \
  X(nvmlDeviceGetHandleByUUID) \
  X(nvmlDeviceGetMemoryInfo)
// clang-format on

namespace graphrun::devices::cuda {

#define GR_CUDA_MEMBER(name) decltype(&::name) name = nullptr;
struct DriverApi {
  GR_CUDA_DRIVER_FUNCTIONS(GR_CUDA_MEMBER)
};
struct CublasLtApi {
  GR_CUBLASLT_FUNCTIONS(GR_CUDA_MEMBER)
};
struct CudnnApi {
  GR_CUDNN_FUNCTIONS(GR_CUDA_MEMBER)
};
struct NcclApi {
  GR_NCCL_FUNCTIONS(GR_CUDA_MEMBER)
};
struct NvmlApi {
  GR_NVML_FUNCTIONS(GR_CUDA_MEMBER)
};
#undef GR_CUDA_MEMBER

}  // namespace graphrun::devices::cuda

#endif  // GRAPHRUN_DEVICES_CUDA_DRIVER_SYMBOLS_H_
