#include "devices/cuda/cudnn/convolution_epilogue.h"

#include <algorithm>
#include <utility>

#include "devices/cuda/cudnn/cudnn_kernel.h"
#include "devices/cuda/kernels/layouts.h"
#include "runtime/base/status.h"

namespace graphrun::devices::cuda {
namespace {

absl::Status declined(absl::string_view what) {
  return absl::UnimplementedError(absl::StrCat("cuDNN fuses no ", what, " into a convolution"));
}

struct Function {
  absl::string_view algorithm;
  cudnnPointwiseMode_t mode;
  std::optional<cudnnBackendAttributeName_t> alpha;  ///< what PostOp::alpha is
};

constexpr Function kFunctions[] = {
    {"gr.relu", CUDNN_POINTWISE_RELU_FWD, {}},
    {"gr.leaky_relu", CUDNN_POINTWISE_RELU_FWD, CUDNN_ATTR_POINTWISE_RELU_LOWER_CLIP_SLOPE},
    {"gr.elu", CUDNN_POINTWISE_ELU_FWD, CUDNN_ATTR_POINTWISE_ELU_ALPHA},
    {"gr.swish", CUDNN_POINTWISE_SWISH_FWD, CUDNN_ATTR_POINTWISE_SWISH_BETA},
    {"gr.gelu", CUDNN_POINTWISE_GELU_FWD, {}},
    {"gelu_tanh", CUDNN_POINTWISE_GELU_APPROX_TANH_FWD, {}},
    {"gr.sigmoid", CUDNN_POINTWISE_SIGMOID_FWD, {}},
    {"gr.tanh", CUDNN_POINTWISE_TANH_FWD, {}},
    {"gr.softplus", CUDNN_POINTWISE_SOFTPLUS_FWD, {}},
    {"gr.abs", CUDNN_POINTWISE_ABS, {}},
    {"gr.sqrt", CUDNN_POINTWISE_SQRT, {}},
    {"gr.exp", CUDNN_POINTWISE_EXP, {}},
    {"gr.log", CUDNN_POINTWISE_LOG, {}},
};

absl::StatusOr<EpilogueOp> functionOf(const PostOp& op) {
  for (const Function& function : kFunctions) {
    if (function.algorithm == op.algorithm) {
      EpilogueOp made{{function.mode, {}}, {}, {}};
      if (function.alpha) {
        made.function.parameters = {{*function.alpha, op.alpha}};
      }
      return made;
    }
  }
  return declined(op.algorithm);
}

absl::StatusOr<cudnnPointwiseMode_t> binaryMode(PostOpKind kind) {
  switch (kind) {
    case PostOpKind::kBinaryAdd:
      return CUDNN_POINTWISE_ADD;
    case PostOpKind::kBinaryMul:
      return CUDNN_POINTWISE_MUL;
    case PostOpKind::kBinaryMax:
      return CUDNN_POINTWISE_MAX;
    case PostOpKind::kBinaryMin:
      return CUDNN_POINTWISE_MIN;
    case PostOpKind::kBinarySub:
      return CUDNN_POINTWISE_SUB;
    case PostOpKind::kBinaryDiv:
      return CUDNN_POINTWISE_DIV;
    // Nothing says that a result may lie where an operand is read.
    case PostOpKind::kSum:
    case PostOpKind::kEltwise:
      break;
  }
  return declined("sum with what the result's memory holds");
}

/// An operand beside a result of `dims`, to which it broadcasts.
absl::StatusOr<EpilogueOp> binaryOf(cudnnPointwiseMode_t mode, const Argument& operand,
                                    const Convolution& convolution) {
  CudnnShape shape = imageShape(operand.desc.dims, convolution.channelsLast);
  const std::vector<int64_t>& result = convolution.result.dims;
  bool broadcasts = shape.dims.size() == result.size();
  for (size_t d = 0; broadcasts && d < result.size(); ++d) {
    broadcasts = shape.dims[d] == 1 || shape.dims[d] == result[d];
  }
  if (!broadcasts) {
    return absl::InvalidArgumentError("an operand of the epilogue does not fit the result");
  }
  GR_ASSIGN_OR_RETURN(bool channelsLast, haveChannelsLast({&operand.desc}));
  bool isVector = std::count(shape.dims.begin(), shape.dims.end(), 1) + 1 >=
                  static_cast<std::ptrdiff_t>(shape.dims.size());
  if (channelsLast != convolution.channelsLast && !isVector) {
    return declined("operand that lies in another way");
  }
  return EpilogueOp{{mode, {}}, operand, std::move(shape)};
}

bool isAddition(const EpilogueOp& op, const std::vector<int64_t>& dims) {
  return op.function.mode == CUDNN_POINTWISE_ADD && op.shape.dims == dims;
}

/// A tensor, a bias, relu: any of them may be missing, but what others need the bias for.
bool isUsual(const std::vector<EpilogueOp>& ops, const Convolution& convolution) {
  std::vector<int64_t> channels(convolution.result.dims.size(), 1);
  channels[1] = convolution.result.dims[1];
  auto next = ops.begin();
  if (next != ops.end() && isAddition(*next, convolution.result.dims)) {
    ++next;
  }
  if (next == ops.end() || !isAddition(*next, channels)) {
    return ops.empty();
  }
  ++next;
  if (next != ops.end() && next->function.mode == CUDNN_POINTWISE_RELU_FWD &&
      next->function.parameters.empty()) {
    ++next;
  }
  return next == ops.end();
}

/// True if the library makes engines for any functions behind the convolution.
absl::StatusOr<bool> fusesAll(const Instruction& instruction, const Convolution& convolution) {
  GR_ASSIGN_OR_RETURN(int64_t groups, attributeOr<int64_t>(instruction, "groups", 1));
  bool lacksGroups = groups > 1 && instruction.outputs[0].desc.type == runtime::ElementType::kBF16;
  return convolution.channelsLast && convolution.window.strides.size() == 2 && !lacksGroups;
}

}  // namespace

absl::StatusOr<std::vector<EpilogueOp>> epilogueOf(const Instruction& instruction,
                                                   const Convolution& convolution) {
  std::vector<EpilogueOp> ops;
  if (instruction.inputs.size() == 3) {
    Argument bias = instruction.inputs[2];
    std::vector<int64_t> dims(convolution.result.dims.size(), 1);
    dims[1] = convolution.result.dims[1];
    if (bias.desc.spec().elementCount() != dims[1]) {
      return absl::InvalidArgumentError("the bias does not fit the result");
    }
    bias.desc = {bias.desc.type, std::move(dims), {}, false};
    GR_ASSIGN_OR_RETURN(EpilogueOp added, binaryOf(CUDNN_POINTWISE_ADD, bias, convolution));
    ops.push_back(std::move(added));
  }
  for (const PostOp& post : instruction.postOps) {
    if (post.kind == PostOpKind::kEltwise) {
      GR_ASSIGN_OR_RETURN(EpilogueOp op, functionOf(post));
      ops.push_back(std::move(op));
      continue;
    }
    GR_ASSIGN_OR_RETURN(cudnnPointwiseMode_t mode, binaryMode(post.kind));
    if (!post.operand) {
      return absl::InvalidArgumentError("a post-op lacks its operand");
    }
    GR_ASSIGN_OR_RETURN(EpilogueOp op, binaryOf(mode, *post.operand, convolution));
    ops.push_back(std::move(op));
  }
  if (ops.size() > 1 && ops[0].function.mode == CUDNN_POINTWISE_ADD &&
      isAddition(ops[1], convolution.result.dims)) {
    std::swap(ops[0], ops[1]);
  }
  GR_ASSIGN_OR_RETURN(bool all, fusesAll(instruction, convolution));
  if (ops.empty() || all || (!convolution.transposed && isUsual(ops, convolution))) {
    return ops;
  }
  return declined(convolution.transposed ? "bias or function behind a transposed one"
                                         : "more than a tensor, a bias and relu");
}

}  // namespace graphrun::devices::cuda
