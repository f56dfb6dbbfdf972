#include "devices/cuda/cudnn/cudnn_attention.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "devices/executable/attention_instruction.h"
#include "runtime/base/status.h"

namespace graphrun::devices::cuda {
namespace {

using runtime::ElementType;

constexpr int64_t kWidest = 256;
/// Elements that engines load and store at once.
constexpr int64_t kVector = 8;

absl::Status checkTypes(const Instruction& instruction) {
  ElementType type = instruction.outputs[0].desc.type;
  bool fits =
      (type == ElementType::kF16 || type == ElementType::kBF16) && instruction.postOps.empty();
  for (size_t i = 0; i < instruction.inputs.size(); ++i) {
    ElementType its = instruction.inputs[i].desc.type;
    fits = fits && instruction.inputs[i].desc.layout.empty() &&
           (its == type || (i == 3 && its == ElementType::kF32));
  }
  return fits ? absl::OkStatus()
              : absl::UnimplementedError(
                    "cuDNN's attention is of f16 or bf16 throughout, its mask of that or of f32");
}

/// The strides of `view`; along a dim of 1, where none counts, one that is as good as any.
CudnnShape shapeOf(const AttentionView& view, std::vector<int64_t> dims) {
  CudnnShape shape{std::move(dims), {view.strides.begin(), view.strides.end()}};
  for (size_t d = 4; d-- > 0;) {
    if (shape.dims[d] == 1) {
      shape.strides[d] = d == 3 ? 1 : shape.dims[d + 1] * shape.strides[d + 1];
    }
  }
  return shape;
}

/// Columns are neighbours, and each row of them begins where a vector does.
bool liesInVectors(const AttentionView& view, const std::vector<int64_t>& dims) {
  CudnnShape shape = shapeOf(view, dims);
  return shape.strides[3] == 1 && view.offset % kVector == 0 &&
         std::all_of(shape.strides.begin(), shape.strides.end() - 1,
                     [](int64_t stride) { return stride % kVector == 0; });
}

std::vector<int64_t> queryDims(const Attention& a) { return {a.batch, a.heads, a.rows, a.width}; }
std::vector<int64_t> keyDims(const Attention& a) { return {a.batch, a.keyHeads, a.keys, a.width}; }
std::vector<int64_t> valueDims(const Attention& a) {
  return {a.batch, a.keyHeads, a.keys, a.valueWidth};
}
std::vector<int64_t> outputDims(const Attention& a) {
  return {a.batch, a.heads, a.rows, a.valueWidth};
}

bool isEmpty(const Attention& a) {
  return std::min({a.batch, a.heads, a.rows, a.keys, a.width, a.valueWidth}) < 1;
}

absl::StatusOr<Attention> understand(const Instruction& instruction) {
  GR_ASSIGN_OR_RETURN(Attention a, attentionOf(instruction));
  GR_RETURN_IF_ERROR(checkTypes(instruction));
  if (isEmpty(a)) {
    return absl::UnimplementedError("the attention is one of nothing");
  }
  for (int64_t width : {a.width, a.valueWidth}) {
    if (width % kVector != 0 || width > kWidest) {
      return absl::UnimplementedError(absl::StrCat("cuDNN's attention has columns of multiples of ",
                                                   kVector, " up to ", kWidest, ", not ", width));
    }
  }
  if (!liesInVectors(a.query, queryDims(a)) || !liesInVectors(a.key, keyDims(a)) ||
      !liesInVectors(a.value, valueDims(a)) || !liesInVectors(a.output, outputDims(a))) {
    return absl::UnimplementedError(
        absl::StrCat("cuDNN's attention reads and writes ", kVector, " neighbours at once"));
  }
  if (a.hasMask && a.mask[3] != 1 && a.keys != 1) {
    return absl::UnimplementedError("cuDNN's attention has a value of the mask for each key");
  }
  return a;
}

/// One instruction's graph. The pattern that the engines know ends with what training needs, the
/// logarithm of the sums, which nothing reads here.
class AttentionGraph {
 public:
  AttentionGraph(const CudnnInstruction& known, const Attention& attention,
                 const CudnnTarget& target)
      : known_(known),
        its_(attention),
        graph_(target),
        scores_{dense({its_.batch, its_.heads, its_.rows, its_.keys})},
        rows_{dense({its_.batch, its_.heads, its_.rows, 1})} {}

  absl::StatusOr<CudnnPlan> plan() && {
    GR_ASSIGN_OR_RETURN(CudnnTensor scores, score());
    if (its_.hasMask) {
      GR_ASSIGN_OR_RETURN(CudnnTensor mask, addMask());
      GR_ASSIGN_OR_RETURN(scores, make(CUDNN_POINTWISE_ADD, scores, mask));
    }
    if (its_.causal) {
      GR_ASSIGN_OR_RETURN(scores, hideWhatFollows(scores));
    }
    GR_ASSIGN_OR_RETURN(CudnnTensor weights, softmax(scores));
    GR_ASSIGN_OR_RETURN(CudnnTensor value,
                        add(known_.instruction.inputs[2], its_.value, valueDims(its_)));
    GR_ASSIGN_OR_RETURN(CudnnTensor output,
                        add(known_.instruction.outputs[0], its_.output, outputDims(its_)));
    GR_RETURN_IF_ERROR(graph_.multiply(weights, value, output));
    GR_ASSIGN_OR_RETURN(CudnnLimits limits, known_.limits());
    return std::move(graph_).plan(limits);
  }

 private:
  using TensorOr = absl::StatusOr<CudnnTensor>;

  static CudnnShape dense(const std::vector<int64_t>& dims) { return {dims, denseStrides(dims)}; }

  TensorOr add(const Argument& argument, const AttentionView& view, std::vector<int64_t> dims) {
    return addShaped(argument, view.offset, shapeOf(view, std::move(dims)));
  }

  TensorOr addShaped(const Argument& argument, int64_t offset, const CudnnShape& shape) {
    uint64_t bytes = static_cast<uint64_t>(offset) * runtime::elementSize(argument.desc.type);
    return graph_.addTensor(argument.desc.type, shape, known_.addressOf(argument) + bytes);
  }

  /// An element-wise operation on scores.
  TensorOr make(cudnnPointwiseMode_t mode, CudnnTensor input, CudnnTensor other = nullptr) {
    GR_ASSIGN_OR_RETURN(CudnnTensor result, graph_.addInner(scores_));
    GR_RETURN_IF_ERROR(graph_.apply({mode}, {input, other}, result));
    return result;
  }

  /// Query times key, whose rows become columns, times the scale.
  TensorOr score() {
    GR_ASSIGN_OR_RETURN(CudnnTensor query, add(known_.instruction.inputs[0], its_.query,
                                               {its_.batch, its_.heads, its_.rows, its_.width}));
    CudnnShape turned = shapeOf(its_.key, keyDims(its_));
    std::swap(turned.dims[2], turned.dims[3]);
    std::swap(turned.strides[2], turned.strides[3]);
    GR_ASSIGN_OR_RETURN(CudnnTensor key,
                        addShaped(known_.instruction.inputs[1], its_.key.offset, turned));
    GR_ASSIGN_OR_RETURN(CudnnTensor product, graph_.addInner(scores_));
    GR_RETURN_IF_ERROR(graph_.multiply(query, key, product));
    GR_ASSIGN_OR_RETURN(CudnnTensor scale, graph_.addScalar(static_cast<float>(its_.scale), 4));
    return make(CUDNN_POINTWISE_MUL, product, scale);
  }

  /// Over samples and heads the library broadcasts it; where all rows have the same, their stride
  /// is 0.
  TensorOr addMask() {
    CudnnShape shape{{its_.mask[0] == 0 ? 1 : its_.batch, its_.mask[1] == 0 ? 1 : its_.heads,
                      its_.rows, its_.keys},
                     {its_.mask.begin(), its_.mask.end()}};
    shape.strides[3] = 1;
    for (size_t d : {0, 1}) {
      if (shape.dims[d] == 1) {
        shape.strides[d] = its_.rows * its_.keys;
      }
    }
    return addShaped(known_.instruction.inputs[3], 0, shape);
  }

  /// Minus infinity where the key comes after the query.
  TensorOr hideWhatFollows(CudnnTensor scores) {
    auto indexAlong = [&](int64_t axis) -> TensorOr {
      GR_ASSIGN_OR_RETURN(CudnnTensor index, graph_.addInner(scores_, ElementType::kI32));
      GR_RETURN_IF_ERROR(graph_.apply({CUDNN_POINTWISE_GEN_INDEX, {}, axis}, {scores}, index));
      return index;
    };
    GR_ASSIGN_OR_RETURN(CudnnTensor row, indexAlong(2));
    GR_ASSIGN_OR_RETURN(CudnnTensor column, indexAlong(3));
    GR_ASSIGN_OR_RETURN(CudnnTensor isSeen, graph_.addInner(scores_, ElementType::kBool));
    GR_RETURN_IF_ERROR(
        graph_.apply({CUDNN_POINTWISE_CMP_GE, {}, {}, CUDNN_DATA_BOOLEAN}, {row, column}, isSeen));
    GR_ASSIGN_OR_RETURN(CudnnTensor nothing,
                        graph_.addScalar(-std::numeric_limits<float>::infinity(), 4));
    GR_ASSIGN_OR_RETURN(CudnnTensor result, graph_.addInner(scores_));
    GR_RETURN_IF_ERROR(
        graph_.apply({CUDNN_POINTWISE_BINARY_SELECT}, {scores, nothing, isSeen}, result));
    return result;
  }

  TensorOr softmax(CudnnTensor scores) {
    GR_ASSIGN_OR_RETURN(CudnnTensor most, graph_.addInner(rows_));
    GR_RETURN_IF_ERROR(graph_.reduce(CUDNN_REDUCE_TENSOR_MAX, scores, most));
    GR_ASSIGN_OR_RETURN(CudnnTensor less, make(CUDNN_POINTWISE_SUB, scores, most));
    GR_ASSIGN_OR_RETURN(CudnnTensor powers, make(CUDNN_POINTWISE_EXP, less));
    GR_ASSIGN_OR_RETURN(CudnnTensor sum, graph_.addInner(rows_));
    GR_RETURN_IF_ERROR(graph_.reduce(CUDNN_REDUCE_TENSOR_ADD, powers, sum));
    GR_ASSIGN_OR_RETURN(CudnnTensor logarithm, graph_.addInner(rows_));
    GR_RETURN_IF_ERROR(graph_.apply({CUDNN_POINTWISE_LOG}, {sum}, logarithm));
    GR_ASSIGN_OR_RETURN(CudnnTensor statistics, graph_.addInner(rows_));
    GR_RETURN_IF_ERROR(graph_.apply({CUDNN_POINTWISE_ADD}, {most, logarithm}, statistics));
    GR_ASSIGN_OR_RETURN(CudnnTensor weights,
                        graph_.addInner(scores_, known_.instruction.outputs[0].desc.type));
    GR_RETURN_IF_ERROR(graph_.apply({CUDNN_POINTWISE_DIV}, {powers, sum}, weights));
    return weights;
  }

  const CudnnInstruction& known_;
  const Attention& its_;
  CudnnGraph graph_;
  CudnnShape scores_, rows_;
};

}  // namespace

absl::StatusOr<KernelChoice> chooseFusedAttention(const Instruction& instruction) {
  GR_RETURN_IF_ERROR(runtime::annotate(understand(instruction).status(), instruction.label));
  return KernelChoice{cudnnWorkspace(instruction, false), "cudnn"};
}

absl::StatusOr<CudnnPlan> planFusedAttention(const CudnnInstruction& known,
                                             const CudnnTarget& target) {
  GR_ASSIGN_OR_RETURN(Attention attention, understand(known.instruction));
  return AttentionGraph(known, attention, target).plan();
}

}  // namespace graphrun::devices::cuda
