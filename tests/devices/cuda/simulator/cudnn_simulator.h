// The simulator's cuDNN: the backend API as far as devices/cuda uses it, over host memory. It
// refuses whatever the documentation forbids, which is more than the library itself does.
#ifndef GRAPHRUN_TESTS_DEVICES_CUDA_SIMULATOR_CUDNN_SIMULATOR_H_
#define GRAPHRUN_TESTS_DEVICES_CUDA_SIMULATOR_CUDNN_SIMULATOR_H_

#include <cudnn_graph.h>

#include <chrono>
#include <vector>

namespace graphrun::testing {

/// An engine that computes every graph that the simulator knows.
struct CudnnEngine {
  int64_t index = 0;
  int64_t workspace = 0;
  std::vector<cudnnBackendNumericalNote_t> notes = {};
  bool fallback = false;                      ///< named by that heuristic alone
  cudnnStatus_t plan = CUDNN_STATUS_SUCCESS;  ///< what making a plan gives
  std::chrono::nanoseconds takes{0};          ///< by the GPU's clock, beside the simulation
};

/// One on tensor cores that wants 64 KiB, an exact one that wants 4 KiB, and a fallback.
std::vector<CudnnEngine> usualCudnnEngines();
/// Those that there are from now on.
void setCudnnEngines(std::vector<CudnnEngine> engines);
/// How many plans were made since the engines were set.
int64_t cudnnPlansMade();
/// Of the plan that was put into a stream last; -1: of none.
int64_t lastCudnnEngine();

}  // namespace graphrun::testing

#endif  // GRAPHRUN_TESTS_DEVICES_CUDA_SIMULATOR_CUDNN_SIMULATOR_H_
