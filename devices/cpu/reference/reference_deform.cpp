// Deformable convolution.
#include <algorithm>

#include "devices/cpu/reference/reference_deform.h"

namespace graphrun::devices::cpu {

KernelOr createDeformConv(const Instruction& instruction);

namespace {

/// Result channels that are summed up at once, so that a point is interpolated once for them.
constexpr int64_t kBlock = 64;

absl::Status checkShapes(const Instruction& instruction, const DeformConv& c) {
  const Dims& in = instruction.inputs[0].desc.dims;
  const Dims& filter = instruction.inputs[1].desc.dims;
  const Dims& out = instruction.outputs[0].desc.dims;
  auto spread = [&](int64_t channels) {
    Dims dims = out;
    dims[1] = channels;
    return dims;
  };
  int64_t elements = c.kernelCount * c.offsetGroups;
  bool fits = c.groups >= 1 && c.offsetGroups >= 1 && c.inChannels % c.groups == 0 &&
              c.outChannels % c.groups == 0 && c.inChannels % c.offsetGroups == 0 &&
              filter[0] == c.outChannels && filter[1] == c.inChannels / c.groups &&
              out[0] == in[0] &&
              instruction.inputs[2].desc.dims == spread(elements * static_cast<int64_t>(c.rank));
  for (size_t i = 3; fits && i < instruction.inputs.size(); ++i) {
    const Dims& dims = instruction.inputs[i].desc.dims;
    fits = dims.size() == 1 ? dims[0] == c.outChannels : dims == spread(elements);
  }
  return fits ? absl::OkStatus()
              : invalidInstruction(instruction,
                                   "the shapes of its operands and its result do not fit");
}

}  // namespace

absl::StatusOr<DeformConv> deformConvOf(const Instruction& instruction) {
  absl::Span<const int64_t> in = instruction.inputs[0].desc.dims;
  absl::Span<const int64_t> filter = instruction.inputs[1].desc.dims;
  absl::Span<const int64_t> out = instruction.outputs[0].desc.dims;
  if (in.size() < 3 || in.size() > kMostSpatial + 2 || filter.size() != in.size() ||
      out.size() != in.size()) {
    return invalidInstruction(instruction,
                              absl::StrCat("takes 1 to ", kMostSpatial, " spatial dims"));
  }
  DeformConv c;
  c.rank = in.size() - 2;
  c.in.assign(in.begin() + 2, in.end());
  c.out.assign(out.begin() + 2, out.end());
  c.kernel.assign(filter.begin() + 2, filter.end());
  GR_ASSIGN_OR_RETURN(c.window, windowOf(instruction, c.in, c.kernel, c.out, false));
  GR_ASSIGN_OR_RETURN(c.groups, attributeOr<int64_t>(instruction, "groups", 1));
  GR_ASSIGN_OR_RETURN(c.offsetGroups, attributeOr<int64_t>(instruction, "offset_groups", 1));
  c.batch = in[0];
  c.inChannels = in[1];
  c.outChannels = out[1];
  c.inCount = countOf(c.in);
  c.outCount = countOf(c.out);
  c.kernelCount = countOf(c.kernel);
  c.input = instruction.inputs[0].buffer;
  c.filter = instruction.inputs[1].buffer;
  c.offsets = instruction.inputs[2].buffer;
  c.result = instruction.outputs[0].buffer;
  for (size_t i = 3; i < instruction.inputs.size(); ++i) {
    // Only the bias is a vector.
    auto& operand = instruction.inputs[i].desc.dims.size() == 1 ? c.bias : c.mask;
    operand = instruction.inputs[i].buffer;
  }
  GR_RETURN_IF_ERROR(checkShapes(instruction, c));
  return c;
}

namespace {

/// Adds to `sums` what input channel group `group` gives to `count` result channels from `first`.
template <typename T>
void accumulate(const DeformConv& c, void* const* buffers, int64_t image, int64_t first,
                int64_t count, int64_t o, std::array<double, kBlock>& sums) {
  int64_t inGroup = c.inChannels / c.groups;
  int64_t start = first / (c.outChannels / c.groups) * inGroup;
  int64_t perOffset = c.inChannels / c.offsetGroups;
  const T* x = static_cast<const T*>(buffers[c.input]);
  const T* filter = static_cast<const T*>(buffers[c.filter]);
  for (int64_t k = 0; k < c.kernelCount; ++k) {
    int64_t bentFor = -1;
    std::array<double, kMostSpatial> point{};
    double mask = 1;
    for (int64_t i = 0; i < inGroup; ++i) {
      int64_t group = (start + i) / perOffset;
      if (group != bentFor) {
        bentFor = group;
        point = pointOf(c, static_cast<const T*>(buffers[c.offsets]), image, group, k, o);
        int64_t at = ((image * c.offsetGroups + group) * c.kernelCount + k) * c.outCount + o;
        mask = c.mask ? static_cast<double>(load(static_cast<const T*>(buffers[*c.mask])[at])) : 1;
      }
      double value =
          mask * Corners(c, point).value(x + (image * c.inChannels + start + i) * c.inCount);
      for (int64_t j = 0; j < count; ++j) {
        sums[static_cast<size_t>(j)] +=
            value *
            static_cast<double>(load(filter[((first + j) * inGroup + i) * c.kernelCount + k]));
      }
    }
  }
}

template <typename T>
void deform(const DeformConv& c, void* const* buffers, int64_t image, int64_t o) {
  int64_t outGroup = c.outChannels / c.groups;
  T* y = static_cast<T*>(buffers[c.result]) + image * c.outChannels * c.outCount + o;
  for (int64_t first = 0; first < c.outChannels;) {
    int64_t count = std::min(kBlock, outGroup - first % outGroup);
    std::array<double, kBlock> sums{};
    for (int64_t j = 0; c.bias && j < count; ++j) {
      sums[static_cast<size_t>(j)] =
          static_cast<double>(load(static_cast<const T*>(buffers[*c.bias])[first + j]));
    }
    accumulate<T>(c, buffers, image, first, count, o, sums);
    for (int64_t j = 0; j < count; ++j) {
      y[(first + j) * c.outCount] = store<T>(static_cast<Compute<T>>(sums[static_cast<size_t>(j)]));
    }
    first += count;
  }
}

}  // namespace

KernelOr createDeformConv(const Instruction& instruction) {
  GR_ASSIGN_OR_RETURN(DeformConv conv, deformConvOf(instruction));
  return dispatchFloat(instruction.outputs[0].desc.type, [&]<typename T>() -> KernelOr {
    return makeKernel([c = std::move(conv)](void* const* buffers) {
      parallelFor(c.batch * c.outCount, c.inChannels * c.outChannels * c.kernelCount,
                  [&](int64_t i) { deform<T>(c, buffers, i / c.outCount, i % c.outCount); });
      return 0;
    });
  });
}

}  // namespace graphrun::devices::cpu
