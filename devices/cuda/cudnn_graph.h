// Graphs of operations for cuDNN, and the plans that its engines make of them. Internal to
// devices/cuda. Source: cuDNN's documentation, "Graph API" and "Backend API".
#ifndef GRAPHRUN_DEVICES_CUDA_CUDNN_GRAPH_H_
#define GRAPHRUN_DEVICES_CUDA_CUDNN_GRAPH_H_

#include <utility>
#include <vector>

#include "devices/cuda/cudnn_descriptor.h"
#include "devices/executable.h"

namespace graphrun::devices::cuda {

/// The GPU that plans are made for.
struct CudnnTarget {
  const CudnnApi* api = nullptr;
  cudnnHandle_t handle = nullptr;  ///< null: the GPU is not there
  /// Where it is not there, what is told of it: plans can be made then, and not run.
  cudnnBackendDescriptor_t properties = nullptr;
};

/// What a plan may do.
struct CudnnLimits {
  CUdeviceptr workspace = 0;
  uint64_t workspaceBytes = 0;
  /// f32 is multiplied as it is: no rounding to TF32 or half types.
  bool exact = false;
  /// Where among the library's answers the search begins; those before it come last.
  size_t plan = 0;
};

/// A graph as an engine runs it, on the memory that the graph was made with.
class CudnnPlan {
 public:
  /// `parts` is what the plan was made of: nothing says that the library keeps it.
  CudnnPlan(const CudnnApi& api, std::vector<CudnnDescriptor> parts, CudnnDescriptor plan,
            CudnnDescriptor memory, size_t number)
      : api_(api),
        parts_(std::move(parts)),
        plan_(std::move(plan)),
        memory_(std::move(memory)),
        number_(number) {}

  /// Which of the library's answers it is, counted from 0.
  size_t number() const { return number_; }

  /// Puts it into the stream of `handle`.
  absl::Status execute(cudnnHandle_t handle) const;

 private:
  const CudnnApi& api_;
  std::vector<CudnnDescriptor> parts_;
  CudnnDescriptor plan_;
  CudnnDescriptor memory_;  ///< the "variant pack"
  size_t number_;
};

/// A tensor of a graph.
using CudnnTensor = cudnnBackendDescriptor_t;

/// Dims and the strides in elements that go with them.
struct CudnnShape {
  std::vector<int64_t> dims;
  std::vector<int64_t> strides;
};

/// The window of a convolution or a pool: one entry a spatial dim.
struct CudnnWindow {
  std::vector<int64_t> kernel, strides, dilations, padsBegin, padsEnd;
};

enum class CudnnConvolution : uint8_t { kForward, kBack };

/// What an element-wise operation computes, and its parameters.
struct CudnnPointwise {
  cudnnPointwiseMode_t mode = CUDNN_POINTWISE_IDENTITY;
  std::vector<std::pair<cudnnBackendAttributeName_t, float>> parameters;
};

/// Collects tensors and operations, in the order in which they are computed. All are computed in
/// f32. Keeps nothing of a target but its library.
class CudnnGraph {
 public:
  explicit CudnnGraph(const CudnnTarget& target) : target_(target) {}

  /// A tensor in the memory at `address`.
  absl::StatusOr<CudnnTensor> addTensor(runtime::ElementType type, const CudnnShape& shape,
                                        CUdeviceptr address);
  /// What one operation gives to the next, which memory never holds: of f32.
  absl::StatusOr<CudnnTensor> addInner(const CudnnShape& shape);

  /// kForward: result = filter * image, a cross-correlation. kBack: from `result` back to `image`,
  /// a transposed convolution.
  absl::Status convolve(CudnnConvolution direction, const CudnnWindow& window, CudnnTensor image,
                        CudnnTensor filter, CudnnTensor result);
  /// result = what `op` makes of `input` and, where it takes two, `other`.
  absl::Status apply(const CudnnPointwise& op, CudnnTensor input, CudnnTensor other,
                     CudnnTensor result);
  /// result = maxima or means over windows of `input`.
  absl::Status pool(cudnnResampleMode_t mode, const CudnnWindow& window, CudnnTensor input,
                    CudnnTensor result);

  /// The first plan within `limits` of those that the library's
  /// heuristic names: of mode A, best first, then of the mode that lists what always works. Engines
  /// whose results differ from run to run are passed over. Unimplemented when there is none, with
  /// what the library says.
  absl::StatusOr<CudnnPlan> plan(const CudnnLimits& limits) &&;

 private:
  absl::StatusOr<CudnnTensor> addDescriptor(runtime::ElementType type, const CudnnShape& shape,
                                            CUdeviceptr address, bool isInner);
  absl::Status addOperation(CudnnDescriptorBuilder& builder);
  absl::StatusOr<CudnnDescriptor> convolutionOf(const CudnnWindow& window) const;
  absl::StatusOr<CudnnDescriptor> finish() const;
  absl::StatusOr<CudnnDescriptor> variantPack(const CudnnLimits& limits) const;

  CudnnTarget target_;
  std::vector<CudnnDescriptor> parts_;  ///< all that operations refer to
  std::vector<cudnnBackendDescriptor_t> operations_;
  std::vector<int64_t> ids_;      ///< of tensors in memory
  std::vector<void*> addresses_;  ///< one an id
  int64_t lastId_ = 0;
};

}  // namespace graphrun::devices::cuda

#endif  // GRAPHRUN_DEVICES_CUDA_CUDNN_GRAPH_H_
