// The search for an engine of cuDNN's. Internal to devices/cuda.
#ifndef GRAPHRUN_DEVICES_CUDA_CUDNN_PLANS_H_
#define GRAPHRUN_DEVICES_CUDA_CUDNN_PLANS_H_

#include "devices/cuda/cudnn_graph.h"

namespace graphrun::devices::cuda {

/// An engine with its settings, and the plan that it made.
struct FoundPlan {
  CudnnDescriptor configuration;
  CudnnDescriptor plan;
  size_t number = 0;  ///< among all answers of the heuristic
};

/// That of CudnnGraph::plan.
absl::StatusOr<FoundPlan> findCudnnPlan(const CudnnTarget& target, const CudnnDescriptor& graph,
                                        const CudnnLimits& limits);

}  // namespace graphrun::devices::cuda

#endif  // GRAPHRUN_DEVICES_CUDA_CUDNN_PLANS_H_
