#include "devices/cpu/backward/channel_layout.h"

#include "devices/cpu/base/onednn_layouts.h"
#include "devices/cpu/reference/reference_support.h"

namespace graphrun::devices::cpu {
namespace {

absl::StatusOr<TensorDesc> channelBlocks(ElementType type, const Dims& dims, int64_t block) {
  Blocking blocking{dims, dims, Dims(dims.size()), {block}, {1}};
  blocking.paddedDims[1] = (dims[1] + block - 1) / block * block;
  int64_t stride = block;
  for (size_t i = dims.size(); i-- > 0;) {
    blocking.strides[i] = stride;
    stride *= i == 1 ? blocking.paddedDims[1] / block : dims[i];
  }
  return blockedDesc(type, blocking);
}

/// Channels side by side: 1 in planes.
absl::StatusOr<int64_t> blockOf(const TensorDesc& desc) {
  if (isDense(desc)) {
    return 1;
  }
  GR_ASSIGN_OR_RETURN(TensorDesc last,
                      stridedDesc(desc.type, desc.dims, channelsLastStrides(desc.dims)));
  if (sameLayout(last, desc)) {
    return desc.dims[1];
  }
  absl::StatusOr<Blocking> blocking = blockingOf(desc);
  if (blocking.ok() && blocking->innerBlocks.size() == 1 && blocking->innerDims[0] == 1) {
    GR_ASSIGN_OR_RETURN(TensorDesc blocks,
                        channelBlocks(desc.type, desc.dims, blocking->innerBlocks[0]));
    if (sameLayout(blocks, desc)) {
      return blocking->innerBlocks[0];
    }
  }
  return absl::UnimplementedError("channels lie neither in planes nor side by side");
}

}  // namespace

absl::StatusOr<ChannelLayout> channelLayoutOf(const TensorDesc& desc) {
  if (desc.dims.size() < 2 || desc.any || countOf(desc.dims) == 0) {
    return absl::UnimplementedError("the tensor has no channels, or no layout");
  }
  GR_ASSIGN_OR_RETURN(int64_t block, blockOf(desc));
  ChannelLayout layout{desc.dims[0],
                       desc.dims[1],
                       countOf(absl::MakeConstSpan(desc.dims).subspan(2)),
                       block,
                       (desc.dims[1] + block - 1) / block * block,
                       0,
                       isDense(desc)};
  layout.imageStep = layout.padded * layout.positions;
  return layout;
}

absl::StatusOr<TensorDesc> channelsLike(const TensorDesc& like, const std::vector<int64_t>& dims) {
  GR_ASSIGN_OR_RETURN(int64_t block, blockOf(like));
  if (isDense(like)) {
    return TensorDesc{like.type, dims};
  }
  return block == like.dims[1] && blockingOf(like)->innerBlocks.empty()
             ? stridedDesc(like.type, dims, channelsLastStrides(dims))
             : channelBlocks(like.type, dims, block);
}

}  // namespace graphrun::devices::cpu
