// The search for an engine of cuDNN's. Internal to devices/cuda.
#ifndef GRAPHRUN_DEVICES_CUDA_CUDNN_CUDNN_PLANS_H_
#define GRAPHRUN_DEVICES_CUDA_CUDNN_CUDNN_PLANS_H_

#include "devices/cuda/cudnn/cudnn_graph.h"

namespace graphrun::devices::cuda {

/// That of CudnnGraph::plan, without parts.
absl::StatusOr<CudnnMadePlan> findCudnnPlan(const CudnnTarget& target, const CudnnDescriptor& graph,
                                            const CudnnLimits& limits);

}  // namespace graphrun::devices::cuda

#endif  // GRAPHRUN_DEVICES_CUDA_CUDNN_CUDNN_PLANS_H_
