#include "devices/cpu/kernels/deform_kernel.h"

#include <oneapi/dnnl/dnnl.h>

#include <algorithm>

#include "devices/cpu/base/onednn_layouts.h"
#include "devices/cpu/kernels/transpose_kernel.h"
#include "devices/cpu/reference/reference_deform.h"
#include "devices/cpu/vectors/wide.h"

namespace graphrun::devices::cpu {
namespace {

/// Result positions that a thread takes at once.
constexpr int64_t kPositions = 16;

absl::Status declined(absl::string_view what) {
  return absl::UnimplementedError(absl::StrCat("gr.deform_conv: patches are multiplied ", what));
}

/// Rows and their weights, summed: `count` columns.
void sumRows(const Corners& corners, float factor, const float* rows, int64_t stride, int64_t count,
             float* to) {
  std::array<float, 1 << kMostSpatial> weights{};
  std::array<const float*, 1 << kMostSpatial> from{};
  for (size_t i = 0; i < corners.count; ++i) {
    weights[i] = static_cast<float>(corners.weight[i]) * factor;
    from[i] = rows + corners.index[i] * stride;
  }
  if (corners.count == 4) {  // within an image
    const float *a = from[0], *b = from[1], *c = from[2], *d = from[3];
#pragma omp simd
    for (int64_t i = 0; i < count; ++i) {
      to[i] = weights[0] * a[i] + weights[1] * b[i] + weights[2] * c[i] + weights[3] * d[i];
    }
    return;
  }
  std::fill_n(to, count, 0.0F);
  for (size_t r = 0; r < corners.count; ++r) {
#pragma omp simd
    for (int64_t i = 0; i < count; ++i) {
      to[i] += weights[r] * from[r][i];
    }
  }
}

class DeformKernel : public OneDnnKernel {
 public:
  DeformKernel(DeformConv conv, uint32_t scratch) : conv_(std::move(conv)), scratch_(scratch) {}

  int run(void* const* buffers) override {
    const DeformConv& c = conv_;
    auto* pixels = static_cast<float*>(buffers[scratch_]);
    float* columns = pixels + c.inChannels * c.inCount;
    for (int64_t image = 0; image < c.batch; ++image) {
      // With the channels last, what is read lies together.
      transposeMatrix(
          static_cast<const float*>(buffers[c.input]) + image * c.inChannels * c.inCount,
          c.inChannels, c.inCount, pixels);
      interpolate(buffers, image, pixels, columns);
      if (int code = multiply(buffers, image, columns); code != 0) {
        return code;
      }
    }
    return 0;
  }

 private:
  /// Input channels of a group.
  int64_t perGroup() const { return conv_.inChannels / conv_.groups; }

  /// Fills the columns: group x result position x filter element x channel.
  void interpolate(void* const* buffers, int64_t image, const float* pixels, float* columns) const {
    const DeformConv& c = conv_;
    int64_t blocks = (c.outCount + kPositions - 1) / kPositions;
    parallelFor(c.offsetGroups * c.kernelCount * blocks,
                kPositions * c.inChannels / c.offsetGroups * 4, [&](int64_t unit) {
                  int64_t group = unit / blocks / c.kernelCount;
                  int64_t k = unit / blocks % c.kernelCount;
                  int64_t first = unit % blocks * kPositions;
                  runWide([&] {
                    for (int64_t o = first; o < std::min(first + kPositions, c.outCount); ++o) {
                      fill(buffers, image, group, k, o, pixels, columns);
                    }
                  });
                });
  }

  /// Writes the elements that filter element `k` reads for position `o` of the channels that share
  /// offsets.
  void fill(void* const* buffers, int64_t image, int64_t group, int64_t k, int64_t o,
            const float* pixels, float* columns) const {
    const DeformConv& c = conv_;
    Corners corners(c,
                    pointOf(c, static_cast<const float*>(buffers[c.offsets]), image, group, k, o));
    float mask = 1;
    if (c.mask) {
      int64_t row = (image * c.offsetGroups + group) * c.kernelCount + k;
      mask = static_cast<const float*>(buffers[*c.mask])[row * c.outCount + o];
    }
    int64_t end = (group + 1) * (c.inChannels / c.offsetGroups);
    for (int64_t channel = group * (c.inChannels / c.offsetGroups); channel < end;) {
      int64_t within = channel % perGroup();
      int64_t count = std::min(end - channel, perGroup() - within);
      int64_t row = (channel / perGroup() * c.outCount + o) * c.kernelCount + k;
      sumRows(corners, mask, pixels + channel, c.inChannels, count,
              columns + row * perGroup() + within);
      channel += count;
    }
  }

  int multiply(void* const* buffers, int64_t image, const float* columns) const {
    const DeformConv& c = conv_;
    const float* bias = c.bias ? static_cast<const float*>(buffers[*c.bias]) : nullptr;
    float* y = static_cast<float*>(buffers[c.result]) + image * c.outChannels * c.outCount;
    for (int64_t channel = 0; channel < c.outChannels; ++channel) {
      std::fill_n(y + channel * c.outCount, c.outCount, bias == nullptr ? 0.0F : bias[channel]);
    }
    int64_t rows = c.outChannels / c.groups;
    int64_t depth = perGroup() * c.kernelCount;
    for (int64_t g = 0; g < c.groups; ++g) {
      dnnl_status_t status = dnnl_sgemm(
          'N', 'T', rows, c.outCount, depth, 1.0F,
          static_cast<const float*>(buffers[c.filter]) + g * rows * depth, depth,
          columns + g * depth * c.outCount, depth, 1.0F, y + g * rows * c.outCount, c.outCount);
      if (status != dnnl_success) {
        return status;
      }
    }
    return 0;
  }

  DeformConv conv_;
  uint32_t scratch_;
};

absl::Status checkInstruction(const Instruction& instruction) {
  auto good = [](const Argument& a) { return a.desc.type == ElementType::kF32 && isDense(a.desc); };
  bool fits = instruction.inputs.size() >= 3 && instruction.inputs.size() <= 5 &&
              instruction.outputs.size() == 1 && instruction.postOps.empty() &&
              good(instruction.outputs[0]) &&
              std::all_of(instruction.inputs.begin(), instruction.inputs.end(), good);
  return fits ? absl::OkStatus()
              : declined("if tensors are dense, of f32, and nothing is fused behind");
}

uint64_t scratchBytes(const DeformConv& c) {
  return static_cast<uint64_t>(c.inChannels * (c.inCount + c.kernelCount * c.outCount)) *
         sizeof(float);
}

/// The filter as it is packed: 1 x O x kernel x I/G, from the operation's O x I/G x kernel.
Dims packedDims(const Dims& filter) {
  Dims packed = {1, filter[0]};
  packed.insert(packed.end(), filter.begin() + 2, filter.end());
  packed.push_back(filter[1]);
  return packed;
}

/// `instruction` with the filter's dims as the operation has them: it may be packed already.
Instruction unpacked(Instruction instruction) {
  Dims& filter = instruction.inputs[1].desc.dims;
  if (filter.size() == instruction.inputs[0].desc.dims.size() + 1) {
    filter.insert(filter.begin() + 2, filter.back());
    filter.pop_back();
    filter.erase(filter.begin());
  }
  return instruction;
}

}  // namespace

absl::StatusOr<LayoutChoice> chooseDeformProduct(const Instruction& instruction) {
  GR_RETURN_IF_ERROR(checkInstruction(instruction));
  bool packs = instruction.inputs[1].desc.dims.size() > instruction.inputs[0].desc.dims.size();
  if (!packs && !instruction.inputs[1].desc.any) {
    return declined("with a filter that is known before");
  }
  Instruction given = unpacked(instruction);
  GR_ASSIGN_OR_RETURN(DeformConv conv, deformConvOf(given));
  if (conv.outCount == 0 || conv.inChannels == 0 || conv.kernelCount == 0) {
    return declined("if the product is not empty");
  }
  LayoutChoice choice;
  for (const Argument& input : given.inputs) {
    choice.inputs.push_back(TensorDesc{ElementType::kF32, input.desc.dims});
  }
  choice.sources = choice.inputs;
  choice.inputs[1].dims = packedDims(given.inputs[1].desc.dims);
  GR_ASSIGN_OR_RETURN(choice.sources[1],
                      movedLastDesc(ElementType::kF32, choice.inputs[1].dims, 2));
  choice.outputs = {TensorDesc{ElementType::kF32, instruction.outputs[0].desc.dims}};
  choice.scratchBytes = scratchBytes(conv);
  choice.implementation = "product";
  return choice;
}

absl::StatusOr<std::unique_ptr<Kernel>> createDeformProduct(const Instruction& instruction,
                                                            KernelContext&) {
  GR_ASSIGN_OR_RETURN(LayoutChoice choice, chooseDeformProduct(instruction));
  GR_ASSIGN_OR_RETURN(DeformConv conv, deformConvOf(unpacked(instruction)));
  GR_ASSIGN_OR_RETURN(uint32_t scratch, scratchBuffer(instruction, choice.scratchBytes));
  return std::make_unique<DeformKernel>(std::move(conv), scratch);
}

}  // namespace graphrun::devices::cpu
