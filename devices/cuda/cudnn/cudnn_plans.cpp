#include "devices/cuda/cudnn/cudnn_plans.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "runtime/base/status.h"

namespace graphrun::devices::cuda {
namespace {

/// One search: what was found, and why the rest will not do.
class Search {
 public:
  Search(const CudnnTarget& target, const CudnnDescriptor& graph, const CudnnLimits& limits)
      : target_(target), graph_(graph), limits_(limits) {}

  absl::StatusOr<CudnnMadePlan> run() {
    std::optional<CudnnMadePlan> found = search(limits_.plan, std::numeric_limits<size_t>::max());
    found = found ? std::move(found) : search(0, limits_.plan);
    if (found) {
      return *std::move(found);
    }
    return absl::UnimplementedError(absl::StrCat(
        "cuDNN has no engine for this with ", limits_.workspaceBytes, " bytes to work in",
        limits_.exact ? " that multiplies f32 as it is" : "",
        tried_ == 0 ? "; it names none at all: for those that it compiles install NVRTC "
                      "(cuda-nvrtc-13-0, or nvidia-cuda-nvrtc from PyPI)"
                    : absl::StrCat("; the first of ", tried_, " answers: ", why_.message())));
  }

 private:
  /// The first that will do of the answers [begin, end).
  std::optional<CudnnMadePlan> search(size_t begin, size_t end) {
    size_t next = 0;
    for (cudnnBackendHeurMode_t mode : {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_FALLBACK}) {
      absl::StatusOr<std::vector<CudnnDescriptor>> configurations =
          next < end ? ask(mode) : std::vector<CudnnDescriptor>();
      if (!configurations.ok()) {
        note(configurations.status());
        continue;
      }
      for (CudnnDescriptor& configuration : *configurations) {
        size_t number = next++;
        if (number < begin || number >= end) {
          continue;
        }
        absl::StatusOr<CudnnDescriptor> plan = tryOne(configuration);
        if (plan.ok()) {
          return CudnnMadePlan{{}, std::move(configuration), *std::move(plan), number};
        }
        note(plan.status());
      }
    }
    return std::nullopt;
  }

  /// Engines with their settings, best first.
  absl::StatusOr<std::vector<CudnnDescriptor>> ask(cudnnBackendHeurMode_t mode) const {
    CudnnDescriptorBuilder builder(*target_.api, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR, "heuristic");
    builder.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph_)
        .set(CUDNN_ATTR_ENGINEHEUR_MODE, mode);
    if (target_.properties != nullptr) {
      builder.set(CUDNN_ATTR_ENGINEHEUR_DEVICEPROP, target_.properties);
    }
    GR_ASSIGN_OR_RETURN(CudnnDescriptor heuristic, builder.finish());
    return cudnnParts(*target_.api, heuristic, CUDNN_ATTR_ENGINEHEUR_RESULTS,
                      CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
  }

  /// The plan of a configuration, or why it will not do.
  absl::StatusOr<CudnnDescriptor> tryOne(const CudnnDescriptor& configuration) const {
    GR_RETURN_IF_ERROR(checkNumbers(configuration));
    CudnnDescriptorBuilder builder(*target_.api, CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, "plan");
    builder.set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, configuration);
    if (target_.handle != nullptr) {
      builder.set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, target_.handle);
    } else {
      builder.set(CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP, target_.properties);
    }
    GR_ASSIGN_OR_RETURN(CudnnDescriptor plan, builder.finish());
    GR_ASSIGN_OR_RETURN(int64_t bytes,
                        cudnnInteger(*target_.api, plan, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE));
    if (bytes > static_cast<int64_t>(limits_.workspaceBytes)) {
      return absl::UnimplementedError(absl::StrCat("an engine wants ", bytes, " bytes to work in"));
    }
    return plan;
  }

  absl::Status checkNumbers(const CudnnDescriptor& configuration) const {
    GR_ASSIGN_OR_RETURN(std::vector<CudnnDescriptor> engine,
                        cudnnParts(*target_.api, configuration, CUDNN_ATTR_ENGINECFG_ENGINE,
                                   CUDNN_BACKEND_ENGINE_DESCRIPTOR));
    if (engine.size() != 1) {
      return absl::InternalError("a configuration has no engine");
    }
    GR_ASSIGN_OR_RETURN(auto notes, cudnnNotes(*target_.api, engine[0]));
    auto has = [&notes](auto... any) {
      auto isOne = [&](cudnnBackendNumericalNote_t note) { return ((note == any) || ...); };
      return std::any_of(notes.begin(), notes.end(), isOne);
    };
    if (has(CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC)) {
      return absl::UnimplementedError("an engine gives other results from run to run");
    }
    // Their errors grow with the largest element of a tile, or of the image: nothing here looks at
    // these.
    if (has(CUDNN_NUMERICAL_NOTE_WINOGRAD, CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_4x4,
            CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_6x6, CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_13x13,
            CUDNN_NUMERICAL_NOTE_FFT)) {
      return absl::UnimplementedError("an engine transforms tiles and rounds more than a sum");
    }
    if (limits_.exact &&
        has(CUDNN_NUMERICAL_NOTE_TENSOR_CORE, CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS,
            CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION)) {
      return absl::UnimplementedError("an engine rounds its operands or sums");
    }
    return absl::OkStatus();
  }

  void note(const absl::Status& status) {
    ++tried_;
    why_.Update(status);
  }

  const CudnnTarget& target_;
  const CudnnDescriptor& graph_;
  const CudnnLimits& limits_;
  absl::Status why_;  // the first answer will not do
  int tried_ = 0;
};

}  // namespace

absl::StatusOr<CudnnMadePlan> findCudnnPlan(const CudnnTarget& target, const CudnnDescriptor& graph,
                                            const CudnnLimits& limits) {
  return Search(target, graph, limits).run();
}

}  // namespace graphrun::devices::cuda
