#include "devices/cpu/deform_kernel.h"

#include <oneapi/dnnl/dnnl.h>

#include <algorithm>

#include "devices/cpu/deform_conv.h"
#include "devices/cpu/onednn_layouts.h"

namespace graphrun::devices::cpu {
namespace {

/// Result positions whose places are worked out together, and then used for all channels.
constexpr int64_t kPositions = 16;

absl::Status declined(absl::string_view what) {
  return absl::UnimplementedError(absl::StrCat("gr.deform_conv: a product ", what));
}

class DeformKernel : public Kernel {
 public:
  DeformKernel(DeformConv conv, uint32_t columns) : conv_(std::move(conv)), columns_(columns) {}

  int run(void* const* buffers) override {
    for (int64_t image = 0; image < conv_.batch; ++image) {
      interpolate(buffers, image);
      if (int code = multiply(buffers, image); code != 0) {
        return code;
      }
    }
    return 0;
  }

  absl::Status errorMessage(int code) const override {
    return absl::InternalError(absl::StrCat("oneDNN gave status ", code, " (dnnl_status_t)"));
  }

 private:
  /// Fills the columns, channel x filter element x result position.
  void interpolate(void* const* buffers, int64_t image) const {
    const DeformConv& c = conv_;
    int64_t blocks = (c.outCount + kPositions - 1) / kPositions;
    int64_t channels = c.inChannels / c.offsetGroups;
    parallelFor(c.offsetGroups * c.kernelCount * blocks, kPositions * channels * 4,
                [&](int64_t unit) {
                  int64_t group = unit / blocks / c.kernelCount;
                  int64_t k = unit / blocks % c.kernelCount;
                  fillBlock(buffers, image, group, k, unit % blocks * kPositions);
                });
  }

  void fillBlock(void* const* buffers, int64_t image, int64_t group, int64_t k,
                 int64_t first) const {
    const DeformConv& c = conv_;
    auto count = static_cast<size_t>(std::min(kPositions, c.outCount - first));
    const float* offsets = static_cast<const float*>(buffers[c.offsets]);
    const float* masks = c.mask ? static_cast<const float*>(buffers[*c.mask]) : nullptr;
    int64_t row = ((image * c.offsetGroups + group) * c.kernelCount + k) * c.outCount + first;
    std::array<Corners, kPositions> corners;
    for (size_t i = 0; i < count; ++i) {
      auto o = static_cast<int64_t>(i);
      corners[i] = Corners(c, placeOf(c, offsets, image, group, k, first + o));
      for (double& weight : corners[i].weight) {
        weight *= masks == nullptr ? 1 : static_cast<double>(masks[row + o]);
      }
    }
    int64_t channels = c.inChannels / c.offsetGroups;
    auto* columns = static_cast<float*>(buffers[columns_]);
    for (int64_t channel = group * channels; channel < (group + 1) * channels; ++channel) {
      const float* plane = static_cast<const float*>(buffers[c.input]) +
                           (image * c.inChannels + channel) * c.inCount;
      float* to = columns + (channel * c.kernelCount + k) * c.outCount + first;
      for (size_t i = 0; i < count; ++i) {
        to[i] = static_cast<float>(corners[i].value(plane));
      }
    }
  }

  int multiply(void* const* buffers, int64_t image) const {
    const DeformConv& c = conv_;
    const float* bias = c.bias ? static_cast<const float*>(buffers[*c.bias]) : nullptr;
    float* y = static_cast<float*>(buffers[c.result]) + image * c.outChannels * c.outCount;
    for (int64_t channel = 0; channel < c.outChannels; ++channel) {
      std::fill_n(y + channel * c.outCount, c.outCount, bias == nullptr ? 0.0F : bias[channel]);
    }
    int64_t rows = c.outChannels / c.groups;
    int64_t depth = c.inChannels / c.groups * c.kernelCount;
    for (int64_t g = 0; g < c.groups; ++g) {
      dnnl_status_t status =
          dnnl_sgemm('N', 'N', rows, c.outCount, depth, 1.0F,
                     static_cast<const float*>(buffers[c.filter]) + g * rows * depth, depth,
                     static_cast<const float*>(buffers[columns_]) + g * depth * c.outCount,
                     c.outCount, 1.0F, y + g * rows * c.outCount, c.outCount);
      if (status != dnnl_success) {
        return status;
      }
    }
    return 0;
  }

  DeformConv conv_;
  uint32_t columns_;
};

absl::Status checkStep(const Step& step) {
  auto good = [](const Argument& a) { return a.desc.type == ElementType::kF32 && isDense(a.desc); };
  bool fits = step.inputs.size() >= 3 && step.inputs.size() <= 5 && step.outputs.size() == 1 &&
              step.postOps.empty() && good(step.outputs[0]) &&
              std::all_of(step.inputs.begin(), step.inputs.end(), good);
  return fits ? absl::OkStatus() : declined("of dense f32, with nothing fused behind");
}

uint64_t scratchBytes(const DeformConv& c) {
  return static_cast<uint64_t>(c.inChannels * c.kernelCount * c.outCount) * sizeof(float);
}

}  // namespace

absl::StatusOr<LayoutChoice> chooseDeformProduct(const Step& step) {
  GR_RETURN_IF_ERROR(checkStep(step));
  GR_ASSIGN_OR_RETURN(DeformConv conv, deformConvOf(step));
  if (conv.outCount == 0 || scratchBytes(conv) == 0) {
    return declined("that is not empty");
  }
  LayoutChoice choice;
  for (const Argument& input : step.inputs) {
    TensorDesc dense{ElementType::kF32, input.desc.dims};
    choice.inputs.push_back(dense);
    choice.sources.push_back(std::move(dense));
  }
  choice.outputs = {TensorDesc{ElementType::kF32, step.outputs[0].desc.dims}};
  choice.scratchBytes = scratchBytes(conv);
  choice.implementation = "product";
  return choice;
}

absl::StatusOr<std::unique_ptr<Kernel>> createDeformProduct(const Step& step, KernelContext&) {
  GR_ASSIGN_OR_RETURN(LayoutChoice choice, chooseDeformProduct(step));
  GR_ASSIGN_OR_RETURN(DeformConv conv, deformConvOf(step));
  GR_ASSIGN_OR_RETURN(uint32_t columns, scratchBuffer(step, choice.scratchBytes));
  return std::make_unique<DeformKernel>(std::move(conv), columns);
}

}  // namespace graphrun::devices::cpu
