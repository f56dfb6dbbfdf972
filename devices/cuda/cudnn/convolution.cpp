#include "devices/cuda/cudnn/convolution.h"

#include <algorithm>
#include <utility>

#include "devices/cuda/cudnn/convolution_epilogue.h"
#include "devices/cuda/cudnn/cudnn_kernel.h"
#include "devices/executable/window.h"
#include "runtime/base/status.h"

namespace graphrun::devices::cuda {
namespace {

using Dims = std::vector<int64_t>;
using runtime::ElementType;

/// Products of bytes, as quantised models have them.
bool isOfBytes(const Instruction& instruction) {
  return instruction.operation == "gr.conv" &&
         instruction.inputs[0].desc.type == ElementType::kU8 &&
         instruction.inputs[1].desc.type == ElementType::kI8 &&
         instruction.outputs[0].desc.type == ElementType::kI32;
}

absl::Status checkTypes(const Instruction& instruction) {
  bool known = instruction.operation == "gr.conv" || instruction.operation == "gr.conv_transpose";
  if (!known || instruction.inputs.size() < 2 || instruction.inputs.size() > 3 ||
      instruction.outputs.size() != 1) {
    return absl::InvalidArgumentError("expected a convolution of input, filter and perhaps a bias");
  }
  if (isOfBytes(instruction)) {
    return instruction.inputs.size() == 2 && instruction.postOps.empty()
               ? absl::OkStatus()
               : absl::UnimplementedError("nothing goes into cuDNN's convolutions of bytes");
  }
  ElementType type = instruction.outputs[0].desc.type;
  bool same = type == ElementType::kF32 || type == ElementType::kF16 || type == ElementType::kBF16;
  auto check = [&](const Argument& argument) { same = same && argument.desc.type == type; };
  std::for_each(instruction.inputs.begin(), instruction.inputs.end(), check);
  for (const PostOp& post : instruction.postOps) {
    if (post.operand) {
      check(*post.operand);
    }
  }
  return same ? absl::OkStatus()
              : absl::UnimplementedError(
                    "cuDNN's convolutions are of f32, f16 or bf16 throughout, or of u8 by i8 to "
                    "i32");
}

/// The operation of the instruction is a correlation from one image to another one; a transposed
/// one runs from its result back to its input.
struct Images {
  const Dims& from;
  const Dims& to;
};

absl::Status checkDims(const Instruction& instruction, const Images& images) {
  GR_ASSIGN_OR_RETURN(int64_t groups, attributeOr<int64_t>(instruction, "groups", 1));
  const Dims& filter = instruction.inputs[1].desc.dims;
  size_t rank = images.from.size();
  if (rank < 3 || rank > 5) {
    return absl::UnimplementedError("cuDNN's convolutions have 1 to 3 spatial dims");
  }
  bool fits = images.to.size() == rank && filter.size() == rank && groups >= 1 &&
              images.from[0] == images.to[0] && images.to[1] == filter[0] &&
              images.from[1] == filter[1] * groups && filter[0] % groups == 0;
  if (!fits) {
    return absl::InvalidArgumentError("the shapes of input, filter and result do not fit");
  }
  bool empty = false;
  for (const Dims* dims : {&images.from, &images.to, &filter}) {
    empty = empty || std::any_of(dims->begin(), dims->end(), [](int64_t dim) { return dim < 1; });
  }
  return empty ? absl::UnimplementedError("the convolution is one of nothing") : absl::OkStatus();
}

/// The padding at the end of a spatial dim, of which windows cover `covering`: up to a stride less
/// one more changes nothing, and there are more engines for windows that are padded alike at both
/// ends. Unimplemented where input would have to be cropped.
absl::StatusOr<int64_t> padsEnd(int64_t begin, int64_t covering, int64_t stride) {
  int64_t most = covering + stride - 1;
  if (begin < 0 || most < 0) {
    return absl::UnimplementedError("cuDNN crops no input");
  }
  return begin >= covering && begin <= most ? begin : std::max<int64_t>(covering, 0);
}

absl::StatusOr<CudnnWindow> windowFor(const Instruction& instruction, bool transposed) {
  absl::Span<const int64_t> in = instruction.inputs[0].desc.dims;
  absl::Span<const int64_t> kernel = instruction.inputs[1].desc.dims;
  absl::Span<const int64_t> out = instruction.outputs[0].desc.dims;
  GR_ASSIGN_OR_RETURN(
      Window window,
      transposed ? transposedWindowOf(instruction, in.subspan(2), kernel.subspan(2), out.subspan(2))
                 : windowOf(instruction, in.subspan(2), kernel.subspan(2), out.subspan(2), false));
  Dims ends;
  for (size_t i = 0; i < window.kernel.size(); ++i) {
    GR_ASSIGN_OR_RETURN(int64_t end,
                        padsEnd(window.padsBegin[i], window.padsCovering[i], window.strides[i]));
    ends.push_back(end);
  }
  return CudnnWindow{windowDims(window.kernel, 1), windowDims(window.strides, 1),
                     windowDims(window.dilations, 1), windowDims(window.padsBegin, 0),
                     windowDims(ends, 0)};
}

absl::StatusOr<Convolution> understand(const Instruction& instruction) {
  GR_RETURN_IF_ERROR(checkTypes(instruction));
  Convolution convolution;
  convolution.transposed = instruction.operation == "gr.conv_transpose";
  const TensorDesc& input = instruction.inputs[0].desc;
  const TensorDesc& filter = instruction.inputs[1].desc;
  const TensorDesc& result = instruction.outputs[0].desc;
  GR_RETURN_IF_ERROR(checkDims(instruction, convolution.transposed
                                                ? Images{result.dims, input.dims}
                                                : Images{input.dims, result.dims}));
  GR_ASSIGN_OR_RETURN(convolution.window, windowFor(instruction, convolution.transposed));
  GR_ASSIGN_OR_RETURN(convolution.channelsLast, haveChannelsLast({&input, &filter, &result}));
  if (isOfBytes(instruction)) {
    convolution.sumsIn = CUDNN_DATA_INT32;
    if (!convolution.channelsLast) {
      return absl::UnimplementedError("cuDNN's convolutions of bytes want the channels last");
    }
  }
  convolution.input = imageShape(input.dims, convolution.channelsLast);
  convolution.filter = imageShape(filter.dims, convolution.channelsLast);
  convolution.result = imageShape(result.dims, convolution.channelsLast);
  GR_ASSIGN_OR_RETURN(convolution.epilogue, epilogueOf(instruction, convolution));
  return convolution;
}

}  // namespace

absl::StatusOr<Convolution> convolutionOf(const Instruction& instruction) {
  absl::StatusOr<Convolution> convolution = understand(instruction);
  GR_RETURN_IF_ERROR(runtime::annotate(convolution.status(), instruction.label));
  return convolution;
}

}  // namespace graphrun::devices::cuda
