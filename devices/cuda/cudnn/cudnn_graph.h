// Graphs of operations for cuDNN, and the plans that its engines make of them. Internal to
// devices/cuda. Source: cuDNN's documentation, "Graph API" and "Backend API".
#ifndef GRAPHRUN_DEVICES_CUDA_CUDNN_CUDNN_GRAPH_H_
#define GRAPHRUN_DEVICES_CUDA_CUDNN_CUDNN_GRAPH_H_

#include <initializer_list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "devices/cuda/cudnn/cudnn_descriptor.h"
#include "devices/executable/executable.h"

namespace graphrun::devices::cuda {

/// A plan, and what it was made of: nothing says that the library keeps that.
struct CudnnMadePlan {
  std::vector<CudnnDescriptor> parts;
  CudnnDescriptor configuration;  ///< an engine with its settings
  CudnnDescriptor plan;
  size_t number = 0;  ///< among the library's answers, counted from 0
};

/// Plans of one GPU while somebody has them, by the graph in words: engines may be compiled for a
/// plan, and the layers of a model are alike. Thread-safe.
class CudnnPlanStore {
 public:
  /// Null where there is none.
  std::shared_ptr<const CudnnMadePlan> find(const std::string& graph);
  void keep(const std::string& graph, const std::shared_ptr<const CudnnMadePlan>& plan);

 private:
  std::mutex mutex_;
  std::unordered_map<std::string, std::weak_ptr<const CudnnMadePlan>> plans_;
};

/// The GPU that plans are made for.
struct CudnnTarget {
  const CudnnApi* api = nullptr;
  cudnnHandle_t handle = nullptr;  ///< null: the GPU is not there
  /// Where it is not there, what is told of it: plans can be made then, and not run.
  cudnnBackendDescriptor_t properties = nullptr;
  CudnnPlanStore* store = nullptr;  ///< null: every graph gets a plan of its own
};

/// The bounds that a plan keeps to.
struct CudnnLimits {
  CUdeviceptr workspace = 0;
  uint64_t workspaceBytes = 0;
  /// f32 is multiplied as it is: no rounding to TF32 or half types.
  bool exact = false;
  /// Where among the library's answers the search begins; those before it come last.
  size_t plan = 0;
};

/// Numbers that the library reads when a plan is run.
using CudnnScalars = std::vector<std::unique_ptr<float>>;

/// A graph as an engine runs it, on the memory that the graph was made with.
class CudnnPlan {
 public:
  CudnnPlan(const CudnnApi& api, std::shared_ptr<const CudnnMadePlan> plan, CudnnScalars scalars,
            CudnnDescriptor memory)
      : api_(api),
        plan_(std::move(plan)),
        scalars_(std::move(scalars)),
        memory_(std::move(memory)) {}

  /// Which of the library's answers it is, counted from 0.
  size_t number() const { return plan_->number; }

  /// Puts it into the stream of `handle`.
  absl::Status execute(cudnnHandle_t handle) const;

 private:
  const CudnnApi& api_;
  std::shared_ptr<const CudnnMadePlan> plan_;
  CudnnScalars scalars_;
  CudnnDescriptor memory_;  ///< the "variant pack"
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

enum class CudnnDirection : uint8_t { kForward, kBack };

struct CudnnConvolution {
  CudnnDirection direction = CudnnDirection::kForward;
  CudnnWindow window;
  cudnnDataType_t sumsIn = CUDNN_DATA_FLOAT;
};

/// The function of an element-wise operation, and its parameters.
struct CudnnPointwise {
  cudnnPointwiseMode_t mode = CUDNN_POINTWISE_IDENTITY;
  std::vector<std::pair<cudnnBackendAttributeName_t, float>> parameters = {};
  std::optional<int64_t> axis = {};               ///< of CUDNN_POINTWISE_GEN_INDEX
  cudnnDataType_t computesIn = CUDNN_DATA_FLOAT;  ///< comparisons: CUDNN_DATA_BOOLEAN
};

/// The operands of an element-wise operation.
struct CudnnOperands {
  CudnnTensor input;
  CudnnTensor other = nullptr;     ///< where it takes two
  CudnnTensor selector = nullptr;  ///< CUDNN_POINTWISE_BINARY_SELECT: where it is true, `input`
};

/// Collects tensors and operations, in the order in which they are computed. All but comparisons
/// and convolutions of bytes are computed in f32. Keeps nothing of a target but its library.
class CudnnGraph {
 public:
  explicit CudnnGraph(const CudnnTarget& target) : target_(target) {}

  /// A tensor in the memory at `address`.
  absl::StatusOr<CudnnTensor> addTensor(runtime::ElementType type, const CudnnShape& shape,
                                        CUdeviceptr address);
  /// The tensor that one operation gives to the next, which memory never holds.
  absl::StatusOr<CudnnTensor> addInner(const CudnnShape& shape,
                                       runtime::ElementType type = runtime::ElementType::kF32);
  /// A number of f32 that broadcasts to tensors of rank `rank`.
  absl::StatusOr<CudnnTensor> addScalar(float value, size_t rank);

  /// kForward: result = filter * image, a cross-correlation. kBack: from `result` back to `image`,
  /// a transposed convolution.
  absl::Status convolve(const CudnnConvolution& convolution, CudnnTensor image, CudnnTensor filter,
                        CudnnTensor result);
  /// result = what `op` makes of `operands`.
  absl::Status apply(const CudnnPointwise& op, const CudnnOperands& operands, CudnnTensor result);
  /// result = left * right, matrices of the last two dims; the other dims are batches, of which
  /// `right` may have fewer: neighbours of `left` share one.
  absl::Status multiply(CudnnTensor left, CudnnTensor right, CudnnTensor result);
  /// result = sums or maxima of `input` over the dims that `result` has but one of.
  absl::Status reduce(cudnnReduceTensorOp_t op, CudnnTensor input, CudnnTensor result);
  /// result = maxima or means over windows of `input`.
  absl::Status pool(cudnnResampleMode_t mode, const CudnnWindow& window, CudnnTensor input,
                    CudnnTensor result);

  /// That of an equal graph with equal limits if the target's store has it, else
  /// the first plan within `limits` of those that the library's
  /// heuristic names: of mode A, best first, then of the mode that lists what always works. Engines
  /// whose results differ from run to run are passed over. Unimplemented when there is none, with
  /// what the library says.
  absl::StatusOr<CudnnPlan> plan(const CudnnLimits& limits) &&;

 private:
  /// Where a tensor's elements are: in the GPU's memory, in the host's, or nowhere.
  enum class Storage : uint8_t { kMemory, kHost, kInner };
  absl::StatusOr<CudnnTensor> addDescriptor(runtime::ElementType type, const CudnnShape& shape,
                                            CUdeviceptr address, Storage storage);
  absl::Status addOperation(CudnnDescriptorBuilder& builder);
  absl::StatusOr<cudnnBackendDescriptor_t> descriptorOf(const CudnnConvolution& convolution);
  absl::StatusOr<CudnnDescriptor> finish() const;
  absl::StatusOr<CudnnDescriptor> variantPack(const CudnnLimits& limits) const;

  /// Finalizes what an operation refers to, and keeps it.
  absl::StatusOr<cudnnBackendDescriptor_t> keep(CudnnDescriptorBuilder& builder);
  absl::StatusOr<std::shared_ptr<const CudnnMadePlan>> makePlan(const CudnnLimits& limits);
  /// Adds to the graph in words: what an operation is, and its tensors by their storage.
  void tell(absl::string_view what, std::initializer_list<CudnnTensor> tensors);

  CudnnTarget target_;
  std::vector<CudnnDescriptor> parts_;  ///< all that operations refer to
  CudnnScalars scalars_;
  std::string text_;  ///< in words: equal graphs have equal ones
  std::vector<cudnnBackendDescriptor_t> operations_;
  std::vector<int64_t> ids_;      ///< of tensors in memory, and of scalars
  std::vector<void*> addresses_;  ///< one an id
  int64_t lastId_ = 0;
};

}  // namespace graphrun::devices::cuda

#endif  // GRAPHRUN_DEVICES_CUDA_CUDNN_CUDNN_GRAPH_H_
