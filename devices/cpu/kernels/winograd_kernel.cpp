#include "devices/cpu/kernels/winograd_kernel.h"

#include <omp.h>

#include <algorithm>

#include "devices/cpu/base/onednn_layouts.h"
#include "devices/cpu/kernels/given_layouts.h"
#include "devices/cpu/kernels/winograd.h"
#include "devices/cpu/reference/reference_support.h"
#include "devices/executable/window.h"

namespace graphrun::devices::cpu {
namespace {

static_assert(kWinogradBlock == kVectorLanes);

absl::Status declined(absl::string_view what) {
  return absl::UnimplementedError(absl::StrCat("gr.conv: Winograd's algorithm is for ", what));
}

absl::StatusOr<int64_t> tileOf(const Instruction& instruction) {
  GR_ASSIGN_OR_RETURN(std::string name, attributeOr(instruction, "algorithm", std::string()));
  if (name != "winograd_4x4" && name != "winograd_2x2") {
    return declined("instructions that ask for it");
  }
  return name == "winograd_4x4" ? 4 : 2;
}

absl::Status checkInstruction(const Instruction& instruction) {
  if (!isFloatProduct(instruction)) {
    return declined("f32");
  }
  const Dims& in = instruction.inputs[0].desc.dims;
  const Dims& filter = instruction.inputs[1].desc.dims;
  const Dims& out = instruction.outputs[0].desc.dims;
  if (in.size() != 4 || out.size() != 4 || countOf(in) == 0 || countOf(out) == 0) {
    return declined("two spatial dims, not empty");
  }
  if (filter.size() != 4 || filter[2] != 3 || filter[3] != 3 || filter[1] != in[1]) {
    return declined("3 x 3 filters without groups");
  }
  bool fits = in[0] == out[0] && filter[0] == out[1] &&
              (instruction.inputs.size() == 2 || instruction.inputs[2].desc.dims == Dims{out[1]});
  return fits ? absl::OkStatus()
              : invalidInstruction(instruction,
                                   "the shapes of input, filter, bias and result do not fit");
}

/// An image's layout: as given, or for an open one, blocks of 16 channels.
absl::StatusOr<TensorDesc> imageDesc(const TensorDesc& given) {
  if (!given.any) {
    return given;
  }
  const Dims& d = given.dims;
  int64_t channels = WinogradFilter::wholeVectors(d[1]);
  int64_t row = d[3] * kVectorLanes;
  return blockedDesc(given.type, {d,
                                  {d[0], channels, d[2], d[3]},
                                  {d[2] * d[3] * channels, d[2] * row, row, kVectorLanes},
                                  {kVectorLanes},
                                  {1}});
}

/// Its strides.
absl::StatusOr<WinogradImages> imagesOf(const TensorDesc& desc) {
  GR_ASSIGN_OR_RETURN(Blocking blocking, blockingOf(desc));
  const Dims& strides = blocking.strides;
  bool inBlocks = blocking.innerBlocks == Dims{kVectorLanes} && blocking.innerDims[0] == 1;
  bool last = blocking.innerBlocks.empty() && strides[1] == 1 && desc.dims[1] % kVectorLanes == 0;
  if (!inBlocks && !last) {
    return declined("channels in blocks of 16, or whole blocks that lie last");
  }
  return WinogradImages{desc.dims[2], desc.dims[3],
                        strides[0],   inBlocks ? strides[1] : kVectorLanes,
                        strides[2],   strides[3]};
}

struct Plan {
  WinogradShape shape;
  TensorDesc source, filter, result;
  std::vector<VectorPostOp> postOps;
};

absl::StatusOr<Plan> planOf(const Instruction& instruction) {
  GR_ASSIGN_OR_RETURN(int64_t tile, tileOf(instruction));
  GR_RETURN_IF_ERROR(checkInstruction(instruction));
  absl::Span<const int64_t> in = instruction.inputs[0].desc.dims;
  absl::Span<const int64_t> out = instruction.outputs[0].desc.dims;
  GR_ASSIGN_OR_RETURN(int64_t groups, attributeOr<int64_t>(instruction, "groups", 1));
  GR_ASSIGN_OR_RETURN(Window window,
                      windowOf(instruction, in.subspan(2), {3, 3}, out.subspan(2), false));
  if (groups != 1 || window.strides != Dims{1, 1} || window.dilations != Dims{1, 1}) {
    return declined("filters without groups, strides and dilations");
  }
  Plan plan{{{tile, in[1], out[1]}, in[0], {}, {}, window.padsBegin[0], window.padsBegin[1]},
            {},
            {},
            {},
            {}};
  GR_ASSIGN_OR_RETURN(plan.postOps, vectorPostOps(instruction));
  GR_ASSIGN_OR_RETURN(plan.source, imageDesc(instruction.inputs[0].desc));
  GR_ASSIGN_OR_RETURN(plan.result, imageDesc(instruction.outputs[0].desc));
  GR_ASSIGN_OR_RETURN(plan.shape.source, imagesOf(plan.source));
  GR_ASSIGN_OR_RETURN(plan.shape.result, imagesOf(plan.result));
  GR_ASSIGN_OR_RETURN(plan.filter, winogradDesc(instruction.inputs[1].desc.dims, tile));
  bool dense = instruction.inputs.size() == 2 || instruction.inputs[2].desc.any ||
               isDense(instruction.inputs[2].desc);
  if (!dense) {
    return declined("a dense bias");
  }
  const TensorDesc& filter = instruction.inputs[1].desc;
  return filter.any || filter == plan.filter ? absl::StatusOr<Plan>(std::move(plan))
                                             : declined("a filter that is transformed at load");
}

uint64_t scratchBytes(const Winograd& winograd) {
  return static_cast<uint64_t>(winograd.scratchFloats()) * sizeof(float);
}

class WinogradKernel : public Kernel {
 public:
  WinogradKernel(const Instruction& instruction, const Winograd& winograd,
                 std::vector<VectorPostOp> postOps, uint32_t scratch)
      : winograd_(winograd),
        postOps_(std::move(postOps)),
        source_(instruction.inputs[0].buffer),
        filter_(instruction.inputs[1].buffer),
        result_(instruction.outputs[0].buffer),
        scratch_(scratch) {
    if (instruction.inputs.size() == 3) {
      bias_ = instruction.inputs[2].buffer;
    }
  }

  int run(void* const* buffers) override {
    auto floats = [&](uint32_t buffer) { return static_cast<float*>(buffers[buffer]); };
    for (VectorPostOp& op : postOps_) {
      op.address = op.call ? nullptr : floats(op.operand);
    }
    winograd_.run({floats(source_), floats(filter_), bias_ ? floats(*bias_) : nullptr,
                   floats(result_), floats(scratch_), postOps_});
    return 0;
  }

 private:
  Winograd winograd_;
  std::vector<VectorPostOp> postOps_;
  uint32_t source_, filter_, result_, scratch_;
  std::optional<uint32_t> bias_;
};

}  // namespace

absl::StatusOr<LayoutChoice> chooseWinograd(const Instruction& instruction) {
  GR_ASSIGN_OR_RETURN(Plan plan, planOf(instruction));
  LayoutChoice choice;
  for (const Argument& input : instruction.inputs) {
    TensorDesc dense{input.desc.type, input.desc.dims};
    choice.inputs.push_back(dense);
    choice.sources.push_back(std::move(dense));
  }
  choice.inputs[0] = std::move(plan.source);
  choice.inputs[1] = std::move(plan.filter);
  choice.outputs = {plan.result};
  for (const PostOp& op : instruction.postOps) {
    bool fits = !op.operand || op.operand->desc.any || sameLayout(op.operand->desc, plan.result);
    if (!fits) {
      return declined("tensors that are added as the result lies");
    }
    choice.postOps.push_back(op.operand ? plan.result : TensorDesc());
  }
  choice.scratchBytes = scratchBytes(Winograd(plan.shape, omp_get_max_threads()));
  choice.implementation = plan.shape.filter.tile == 4 ? "winograd_4x4" : "winograd_2x2";
  return choice;
}

absl::StatusOr<std::unique_ptr<Kernel>> createWinograd(const Instruction& instruction,
                                                       KernelContext&) {
  // An instruction has layouts by now: those that were chosen or would be.
  GR_RETURN_IF_ERROR(chooseWinograd(instruction).status());
  GR_ASSIGN_OR_RETURN(Plan plan, planOf(instruction));
  Winograd winograd(plan.shape, omp_get_max_threads());
  GR_ASSIGN_OR_RETURN(uint32_t scratch, scratchBuffer(instruction, scratchBytes(winograd)));
  return std::make_unique<WinogradKernel>(instruction, winograd, std::move(plan.postOps), scratch);
}

}  // namespace graphrun::devices::cpu
