// Images whose channels lie in planes, side by side, or side by side in blocks. Internal to
// devices/cpu.
#ifndef GRAPHRUN_DEVICES_CPU_BACKWARD_CHANNEL_LAYOUT_H_
#define GRAPHRUN_DEVICES_CPU_BACKWARD_CHANNEL_LAYOUT_H_

#include "devices/cpu/base/kernel.h"

namespace graphrun::devices::cpu {

/// How the elements of N x C x spatial dims lie. A block of channels has an element of each at a
/// position, side by side; positions are row-major.
struct ChannelLayout {
  int64_t images, channels, positions;
  int64_t block;      ///< channels side by side: 1 where each is a plane, all of them, or some
  int64_t padded;     ///< channels, whole blocks of them
  int64_t imageStep;  ///< elements between images
  bool isPlanes;

  /// The block or part of one that begins with `channel`, in the image `image`.
  int64_t offset(int64_t image, int64_t channel) const {
    return image * imageStep + channel / block * block * positions + channel % block;
  }
};

/// The layout of a tensor of at least two dims; Unimplemented for others than these three.
absl::StatusOr<ChannelLayout> channelLayoutOf(const TensorDesc& desc);

/// The layout of `like` for a tensor of `dims`, which differs from it in spatial dims alone.
absl::StatusOr<TensorDesc> channelsLike(const TensorDesc& like, const std::vector<int64_t>& dims);

}  // namespace graphrun::devices::cpu

#endif  // GRAPHRUN_DEVICES_CPU_BACKWARD_CHANNEL_LAYOUT_H_
