// Convolutions and transposed convolutions.
#include <algorithm>

#include "absl/strings/match.h"
#include "devices/cpu/base/onednn_layouts.h"
#include "devices/cpu/onednn/onednn_kernels.h"
#include "devices/executable/window.h"

namespace graphrun::devices::cpu {
namespace {

/// Operands of a (transposed) convolution as the library sees them.
struct ConvOperands {
  PlannedOperand source, weights, bias, result;
  bool hasBias = false;
  Window window;
  std::vector<int64_t> dilations;  ///< the library counts the elements left out
};

absl::Status shapeError(const Instruction& instruction) {
  return absl::InvalidArgumentError(absl::StrCat(
      instruction.operation, ": the shapes of input, filter, bias and result do not fit"));
}

/// Number of groups, checked against the channels of input and result.
absl::StatusOr<int64_t> groupsOf(const Instruction& instruction) {
  GR_ASSIGN_OR_RETURN(int64_t groups, attributeOr<int64_t>(instruction, "groups", 1));
  const std::vector<int64_t>& in = instruction.inputs[0].desc.dims;
  const std::vector<int64_t>& out = instruction.outputs[0].desc.dims;
  if (in.size() < 3 || in.size() > 5 || out.size() != in.size()) {
    return absl::UnimplementedError(
        absl::StrCat(instruction.operation, ": oneDNN takes 1 to 3 spatial dims"));
  }
  if (groups < 1 || in[1] % groups != 0 || out[1] % groups != 0 || in[0] != out[0]) {
    return shapeError(instruction);
  }
  return groups;
}

/// Spatial dims of the filter: it may be the operation's (O x I/G x …) or packed with groups as a
/// dim of its own.
absl::StatusOr<std::vector<int64_t>> kernelOf(const Instruction& instruction) {
  const TensorDesc& filter = instruction.inputs[1].desc;
  size_t spatial = instruction.inputs[0].desc.dims.size() - 2;
  if (filter.dims.size() != spatial + 2 && filter.dims.size() != spatial + 3) {
    return shapeError(instruction);
  }
  return std::vector<int64_t>(filter.dims.end() - static_cast<int64_t>(spatial), filter.dims.end());
}

/// Plans the filter: dims [G x] O/G x I/G x …; `transposed` filters are stored I x O/G x ….
absl::StatusOr<PlannedOperand> planFilter(const Instruction& instruction, int64_t groups,
                                          bool transposed, const std::vector<int64_t>& kernel) {
  int64_t in = instruction.inputs[0].desc.dims[1] / groups;
  int64_t out = instruction.outputs[0].desc.dims[1] / groups;
  std::vector<int64_t> stored(3 + kernel.size());
  stored[0] = groups;
  stored[1] = transposed ? in : out;
  stored[2] = transposed ? out : in;
  std::copy(kernel.begin(), kernel.end(), stored.begin() + 3);
  std::vector<int64_t> strides = denseStrides(stored);
  if (transposed) {
    std::swap(stored[1], stored[2]);
    std::swap(strides[1], strides[2]);
  }
  if (groups == 1) {
    stored.erase(stored.begin());
    strides.erase(strides.begin());
  }
  return planOperand(instruction.inputs[1].desc, stored, strides);
}

/// Dense and channels-last tensors of one channel, or of one element a channel, are the same
/// memory, but implementations for bytes want the latter's strides: they get these.
absl::StatusOr<PlannedOperand> planImage(const TensorDesc& desc) {
  bool one = desc.dims[1] == 1 || std::all_of(desc.dims.begin() + 2, desc.dims.end(),
                                              [](int64_t dim) { return dim == 1; });
  TensorDesc channelsLast = desc;
  if (one && desc.layout.empty() && !desc.any) {
    GR_ASSIGN_OR_RETURN(channelsLast,
                        stridedDesc(desc.type, desc.dims, channelsLastStrides(desc.dims)));
  }
  return planOperand(channelsLast);
}

absl::StatusOr<ConvOperands> planOperands(const Instruction& instruction, bool transposed) {
  GR_RETURN_IF_ERROR(transposed ? requireFloatInstruction(instruction, 2, 3)
                                : requireProductInstruction(instruction));
  GR_ASSIGN_OR_RETURN(int64_t groups, groupsOf(instruction));
  GR_ASSIGN_OR_RETURN(std::vector<int64_t> kernel, kernelOf(instruction));
  ConvOperands operands;
  absl::Span<const int64_t> in = instruction.inputs[0].desc.dims;
  absl::Span<const int64_t> out = instruction.outputs[0].desc.dims;
  GR_ASSIGN_OR_RETURN(operands.window,
                      transposed
                          ? transposedWindowOf(instruction, in.subspan(2), kernel, out.subspan(2))
                          : windowOf(instruction, in.subspan(2), kernel, out.subspan(2), false));
  operands.dilations = operands.window.skipped();
  auto planData = [&](const TensorDesc& desc) {
    return isQuantized(instruction) ? planImage(desc) : planOperand(desc);
  };
  GR_ASSIGN_OR_RETURN(operands.source, planData(instruction.inputs[0].desc));
  GR_ASSIGN_OR_RETURN(operands.weights, planFilter(instruction, groups, transposed, kernel));
  GR_ASSIGN_OR_RETURN(operands.result, planData(instruction.outputs[0].desc));
  operands.hasBias = instruction.inputs.size() == 3;
  if (operands.hasBias) {
    TensorDesc bias = instruction.inputs[2].desc;
    bias.any = false;
    GR_ASSIGN_OR_RETURN(operands.bias, planOperand(bias, {out[1]}));
  }
  return operands;
}

/// The descriptor of either primitive: with or without bias.
template <typename Primitive>
typename Primitive::desc descriptorOf(const ConvOperands& o, dnnl::algorithm algorithm) {
  const Window& w = o.window;
  constexpr auto kInference = dnnl::prop_kind::forward_inference;
  if (o.hasBias) {
    return {kInference,    algorithm, o.source.desc, o.weights.desc, o.bias.desc,
            o.result.desc, w.strides, o.dilations,   w.padsBegin,    w.padsCovering};
  }
  return {kInference, algorithm,   o.source.desc, o.weights.desc, o.result.desc,
          w.strides,  o.dilations, w.padsBegin,   w.padsCovering};
}

/// The sums of integers are exact: most implementations convert them to f32 on the way, which holds
/// integers of up to 2^24.
absl::Status requireExactSums(const Instruction& instruction,
                              const dnnl::primitive_desc_base& descriptor) {
  constexpr int64_t kMostProduct = int64_t{255} * 128;
  const std::vector<int64_t>& filter = instruction.inputs[1].desc.dims;
  int64_t depth =
      TensorDesc{{}, filter}.spec().elementCount() / instruction.outputs[0].desc.dims[1];
  bool keepsIntegers = absl::StartsWith(descriptor.impl_info_str(), "br");  // brgconv, brdgmm
  return keepsIntegers || depth * kMostProduct <= (1 << 24)
             ? absl::OkStatus()
             : absl::UnimplementedError(absl::StrCat(descriptor.impl_info_str(), " rounds sums of ",
                                                     depth, " products"));
}

/// The library's products of bytes by its gemm add whole tensors from wrong addresses.
bool addsWrongly(const Instruction& instruction, const dnnl::primitive_desc_base& descriptor) {
  return absl::StrContains(descriptor.impl_info_str(), "gemm") &&
         std::any_of(instruction.postOps.begin(), instruction.postOps.end(), [&](const PostOp& op) {
           return op.operand && op.operand->desc.dims == instruction.outputs[0].desc.dims;
         });
}

/// The library's blocks for AMX read from wrong addresses where a stride steps over planes of a
/// volume: oneDNN 2.6 gives NaN and garbage for kernel 1x2x1 with strides 2x1x2 on bf16.
bool readsWrongPlanes(const ConvOperands& o, const dnnl::primitive_desc_base& descriptor) {
  const Window& w = o.window;
  return w.kernel.size() == 3 && w.strides[0] > (w.kernel[0] - 1) * (o.dilations[0] + 1) + 1 &&
         absl::StartsWith(descriptor.impl_info_str(), "brgconv") &&
         absl::StrContains(descriptor.impl_info_str(), "amx");
}

/// Returns whether a transposed convolution gains from summing in registers what falls on one
/// element of the result: its products are many times the result, and do not stay in a cache. The
/// library also fills up few channels to a whole block.
bool overlapsMuch(const Instruction& instruction, int64_t groups, const Window& window) {
  constexpr int64_t kCached = 1 << 20;  // elements
  constexpr int64_t kBlock = 16;
  const std::vector<int64_t>& in = instruction.inputs[0].desc.dims;
  int64_t channels = instruction.outputs[0].desc.dims[1];
  int64_t products = channels;
  bool overlaps = false;
  for (size_t d = 0; d < window.kernel.size(); ++d) {
    products *= in[2 + d] * window.kernel[d];
    overlaps = overlaps || window.kernel[d] > window.strides[d];
  }
  return overlaps && (groups > 1 || (channels >= kBlock && products > kCached));
}

}  // namespace

absl::StatusOr<PrimitivePlan> planConv(const Instruction& instruction, const dnnl::engine& engine) {
  if (instruction.attributes.contains("algorithm")) {
    return absl::UnimplementedError("gr.conv: the library's convolution is the direct one");
  }
  GR_ASSIGN_OR_RETURN(auto implementation,
                      attributeOr(instruction, "implementation", std::string()));
  GR_ASSIGN_OR_RETURN(ConvOperands operands, planOperands(instruction, false));
  auto desc =
      descriptorOf<dnnl::convolution_forward>(operands, dnnl::algorithm::convolution_direct);
  GR_ASSIGN_OR_RETURN(
      PrimitivePlan plan,
      planWithPostOps(instruction, instruction.outputs[0].desc.dims,
                      [&](const dnnl::primitive_attr& attributes) {
                        dnnl::convolution_forward::primitive_desc made(desc, attributes, engine);
                        while (!absl::StartsWith(made.impl_info_str(), implementation) ||
                               readsWrongPlanes(operands, made)) {
                          if (!made.next_impl()) {
                            throw dnnl::error(dnnl_unimplemented,
                                              "the library has no such implementation");
                          }
                        }
                        return made;
                      }));
  if (isQuantized(instruction) && givesSums(instruction)) {
    GR_RETURN_IF_ERROR(requireExactSums(instruction, plan.descriptor));
  }
  if (isQuantized(instruction) && addsWrongly(instruction, plan.descriptor)) {
    return absl::UnimplementedError("gr.conv: gemm of bytes adds a tensor wrongly");
  }
  addProductArguments(plan, operands.source, operands.weights,
                      operands.hasBias ? &operands.bias : nullptr, operands.result);
  return plan;
}

absl::StatusOr<PrimitivePlan> planDeconv(const Instruction& instruction,
                                         const dnnl::engine& engine) {
  // The library applies what is fused behind element by element, by its reference.
  GR_RETURN_IF_ERROR(requireNoPostOps(instruction));
  GR_ASSIGN_OR_RETURN(ConvOperands operands, planOperands(instruction, true));
  GR_ASSIGN_OR_RETURN(int64_t groups, groupsOf(instruction));
  if (!overlapsMuch(instruction, groups, operands.window)) {
    return absl::UnimplementedError("a plain product, spread, is faster");
  }
  auto desc =
      descriptorOf<dnnl::deconvolution_forward>(operands, dnnl::algorithm::deconvolution_direct);
  GR_ASSIGN_OR_RETURN(PrimitivePlan plan,
                      planWithPostOps(instruction, instruction.outputs[0].desc.dims,
                                      [&](const dnnl::primitive_attr& attributes) {
                                        return dnnl::deconvolution_forward::primitive_desc(
                                            desc, attributes, engine);
                                      }));
  if (absl::StrContains(plan.descriptor.impl_info_str(), "gemm") ||
      absl::StrContains(plan.descriptor.impl_info_str(), "ref")) {
    return absl::UnimplementedError("the library has no direct implementation");
  }
  addProductArguments(plan, operands.source, operands.weights,
                      operands.hasBias ? &operands.bias : nullptr, operands.result);
  return plan;
}

}  // namespace graphrun::devices::cpu
