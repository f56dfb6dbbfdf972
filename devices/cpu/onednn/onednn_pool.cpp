// Pooling, and global pooling as a reduction over the spatial dims.
#include <algorithm>

#include "absl/strings/match.h"
#include "devices/cpu/base/onednn_layouts.h"
#include "devices/cpu/onednn/onednn_kernels.h"
#include "devices/executable/window.h"

namespace graphrun::devices::cpu {
namespace {

using dnnl::algorithm;

/// A pool as the library sees it; the result has the rank of the input.
struct Pool {
  algorithm kind = algorithm::pooling_max;
  Window window;
  std::vector<int64_t> outputDims;
};

absl::Status declined(const Instruction& instruction, absl::string_view why) {
  return absl::UnimplementedError(absl::StrCat(instruction.operation, ": ", why));
}

/// A mean or maximum over all spatial dims is a pool with one window.
absl::StatusOr<Pool> globalPool(const Instruction& instruction) {
  absl::Span<const int64_t> in = instruction.inputs[0].desc.dims;
  GR_ASSIGN_OR_RETURN(std::string kind, attribute<std::string>(instruction, "kind"));
  GR_ASSIGN_OR_RETURN(std::vector<int64_t> axes,
                      attribute<std::vector<int64_t>>(instruction, "axes"));
  bool spatial = axes.size() + 2 == in.size();
  for (size_t i = 0; spatial && i < axes.size(); ++i) {
    spatial = axes[i] == static_cast<int64_t>(i) + 2;
  }
  if (!spatial || (kind != "mean" && kind != "max")) {
    return declined(instruction, "pooling takes the mean or maximum over all spatial dims");
  }
  Pool pool;
  pool.kind = kind == "max" ? algorithm::pooling_max : algorithm::pooling_avg_exclude_padding;
  pool.outputDims = {in[0], in[1]};
  pool.outputDims.resize(in.size(), 1);
  pool.window.kernel.assign(in.begin() + 2, in.end());
  pool.window.strides.assign(axes.size(), 1);
  pool.window.dilations.assign(axes.size(), 1);
  pool.window.padsBegin.assign(axes.size(), 0);
  pool.window.padsCovering.assign(axes.size(), 0);
  return pool;
}

absl::StatusOr<Pool> windowPool(const Instruction& instruction) {
  absl::Span<const int64_t> in = instruction.inputs[0].desc.dims;
  absl::Span<const int64_t> out = instruction.outputs[0].desc.dims;
  GR_ASSIGN_OR_RETURN(std::vector<int64_t> kernel,
                      attribute<std::vector<int64_t>>(instruction, "kernel"));
  GR_ASSIGN_OR_RETURN(bool ceilMode, attributeOr(instruction, "ceil_mode", false));
  GR_ASSIGN_OR_RETURN(bool countPadding, attributeOr(instruction, "count_include_pad", false));
  if (out.size() != in.size() || in[0] != out[0] || in[1] != out[1]) {
    return absl::InvalidArgumentError(absl::StrCat(instruction.operation, ": shapes do not fit"));
  }
  Pool pool;
  pool.outputDims.assign(out.begin(), out.end());
  GR_ASSIGN_OR_RETURN(pool.window,
                      windowOf(instruction, in.subspan(2), kernel, out.subspan(2), ceilMode));
  if (instruction.operation == "gr.max_pool") {
    return pool;
  }
  pool.kind = countPadding ? algorithm::pooling_avg_include_padding
                           : algorithm::pooling_avg_exclude_padding;
  for (size_t i = 0; countPadding && i < kernel.size(); ++i) {
    // A window that ceil_mode lets hang over counts what it covers, not its whole size.
    if (pool.window.padsCovering[i] > pool.window.padsEnd[i]) {
      return declined(instruction, "a window reaches beyond the padding that is counted");
    }
  }
  return pool;
}

template <typename Primitive, typename... Window>
PrimitivePlan makePool(const dnnl::engine& engine, const Pool& pool, const PlannedOperand& in,
                       const PlannedOperand& out, const dnnl::primitive_attr& attributes,
                       const Window&... window) {
  auto desc = typename Primitive::desc(dnnl::prop_kind::forward_inference, pool.kind, in.desc,
                                       out.desc, window...);
  return {typename Primitive::primitive_desc(desc, attributes, engine), {}};
}

void addInOut(PrimitivePlan& plan, const PlannedOperand& in, const PlannedOperand& out) {
  addSource(plan, in);
  addResult(plan, out);
}

bool isByte(runtime::ElementType type) {
  return type == runtime::ElementType::kU8 || type == runtime::ElementType::kI8;
}

/// The input of an operation on N x C x spatial dims; the library wants to be told its layout.
absl::StatusOr<PlannedOperand> planImage(const Instruction& instruction) {
  size_t rank = instruction.inputs[0].desc.dims.size();
  if (rank < 3 || rank > 5) {
    return declined(instruction, "oneDNN takes 1 to 3 spatial dims");
  }
  TensorDesc desc = instruction.inputs[0].desc;
  bool choosesLayout = desc.any && isByte(desc.type) && desc.layout.empty();
  desc.any = false;
  if (!choosesLayout) {
    return planOperand(desc);
  }
  // Bytes are pooled fast only with the channels last.
  GR_ASSIGN_OR_RETURN(desc, stridedDesc(desc.type, desc.dims, channelsLastStrides(desc.dims)));
  return planOperand(desc);
}

/// Pools of floats, and the largest of bytes.
absl::Status requirePooledTypes(const Instruction& instruction) {
  bool bytes = instruction.operation == "gr.max_pool" && instruction.inputs.size() == 1 &&
               instruction.outputs.size() == 1 && isByte(instruction.inputs[0].desc.type) &&
               instruction.outputs[0].desc.type == instruction.inputs[0].desc.type;
  return bytes ? requireNoPostOps(instruction) : requireFloatInstruction(instruction, 1, 1);
}

/// The plan of a pool of `in`, as it is laid out.
absl::StatusOr<PrimitivePlan> planWindow(const Instruction& instruction, const dnnl::engine& engine,
                                         const Pool& pool, const PlannedOperand& in) {
  TensorDesc result = instruction.outputs[0].desc;
  result.any = result.any && result.dims == pool.outputDims;  // else dense: dims of 1 are gone
  GR_ASSIGN_OR_RETURN(PlannedOperand out, planOperand(result, pool.outputDims));
  const Window& w = pool.window;
  bool dilated =
      std::any_of(w.dilations.begin(), w.dilations.end(), [](int64_t d) { return d != 1; });
  std::vector<int64_t> skipped = w.skipped();
  GR_ASSIGN_OR_RETURN(
      PrimitivePlan plan,
      planWithPostOps(instruction, pool.outputDims, [&](const dnnl::primitive_attr& attributes) {
        PrimitivePlan made =
            dilated
                ? makePool<dnnl::pooling_v2_forward>(engine, pool, in, out, attributes, w.strides,
                                                     w.kernel, skipped, w.padsBegin, w.padsCovering)
                : makePool<dnnl::pooling_forward>(engine, pool, in, out, attributes, w.strides,
                                                  w.kernel, w.padsBegin, w.padsCovering);
        return made.descriptor;
      }));
  addInOut(plan, in, out);
  return plan;
}

}  // namespace

absl::StatusOr<PrimitivePlan> planPool(const Instruction& instruction, const dnnl::engine& engine) {
  GR_RETURN_IF_ERROR(requirePooledTypes(instruction));
  GR_ASSIGN_OR_RETURN(PlannedOperand in, planImage(instruction));
  absl::StatusOr<Pool> pool =
      instruction.operation == "gr.reduce" ? globalPool(instruction) : windowPool(instruction);
  GR_RETURN_IF_ERROR(pool.status());
  GR_ASSIGN_OR_RETURN(PrimitivePlan plan, planWindow(instruction, engine, *pool, in));
  const TensorDesc& given = instruction.inputs[0].desc;
  if (!absl::StartsWith(plan.descriptor.impl_info_str(), "jit") && isDense(given)) {
    // Of dense images only small ones are pooled by vector instructions.
    GR_ASSIGN_OR_RETURN(TensorDesc last,
                        stridedDesc(given.type, given.dims, channelsLastStrides(given.dims)));
    GR_ASSIGN_OR_RETURN(in, planOperand(last));
    return planWindow(instruction, engine, *pool, in);
  }
  return plan;
}

}  // namespace graphrun::devices::cpu
