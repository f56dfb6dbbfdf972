#include "devices/cuda/program/shared_weights.h"

#include <cstring>

#include "devices/cuda/driver/vendor_status.h"
#include "devices/cuda/kernels/layouts.h"
#include "devices/executable/quantized_elements.h"
#include "runtime/base/bfloat16.h"
#include "runtime/base/status.h"

namespace graphrun::devices::cuda {
namespace {

bool isDense(const TensorDesc& desc) { return desc.layout.empty(); }

/// True if the buffer holds the given bytes as they are.
bool isPlain(const Buffer& buffer) {
  return !buffer.splat && !buffer.quantized && isDense(buffer.desc) &&
         (!buffer.source || (isDense(*buffer.source) && buffer.source->type == buffer.desc.type));
}

bool roundsTo(runtime::ElementType from, runtime::ElementType to) {
  return from == runtime::ElementType::kF32 && to == runtime::ElementType::kBF16;
}

void roundElement(const uint8_t* from, uint8_t* to) {
  float value = 0;
  std::memcpy(&value, from, sizeof(value));
  const uint16_t rounded = runtime::bfloat16Bits(value);
  std::memcpy(to, &rounded, sizeof(rounded));
}

std::string keyOf(const Buffer& buffer, uint64_t checksum) {
  std::string key = absl::StrCat(checksum, " ", buffer.bytes, buffer.splat ? " splat" : "",
                                 quantizationKey(buffer));
  for (const TensorDesc& desc : {buffer.desc, buffer.source.value_or(TensorDesc())}) {
    absl::StrAppend(&key, " ", desc.spec().toString(), " ", desc.layout.size(), ":");
    key.append(desc.layout.begin(), desc.layout.end());
  }
  return key;
}

/// Calls `visit(from, to)` with the offsets of each element in two tensors of the same dims.
template <typename Visit>
void forEachOffset(const std::vector<int64_t>& dims, const std::vector<int64_t>& from,
                   const std::vector<int64_t>& to, int64_t count, Visit visit) {
  std::vector<int64_t> index(dims.size(), 0);
  int64_t fromOffset = 0;
  int64_t toOffset = 0;
  for (int64_t i = 0; i < count; ++i) {
    visit(fromOffset, toOffset);
    for (size_t d = dims.size(); d > 0; --d) {
      fromOffset += from[d - 1];
      toOffset += to[d - 1];
      if (++index[d - 1] < dims[d - 1]) {
        break;
      }
      fromOffset -= dims[d - 1] * from[d - 1];
      toOffset -= dims[d - 1] * to[d - 1];
      index[d - 1] = 0;
    }
  }
}

}  // namespace

absl::StatusOr<std::vector<uint8_t>> layOut(const Buffer& buffer, absl::Span<const uint8_t> given) {
  std::vector<uint8_t> made;
  given = sourceElements(buffer, given, made);
  const TensorDesc& source = buffer.source ? *buffer.source : buffer.desc;
  TensorDesc read{source.type, buffer.desc.dims,
                  buffer.source ? source.layout : std::vector<uint8_t>(), false};
  GR_ASSIGN_OR_RETURN(uint64_t reach, layoutBytes(read));
  const size_t fromBytes = runtime::elementSize(source.type);
  const size_t toBytes = runtime::elementSize(buffer.desc.type);
  const bool rounds = roundsTo(source.type, buffer.desc.type);
  uint64_t expected = buffer.splat ? fromBytes : reach;
  if (given.size() != expected || (!rounds && source.type != buffer.desc.type)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "a weight has ", given.size(), " bytes, expected ", expected, " of ",
        source.spec().toString(), " for ", runtime::elementTypeName(buffer.desc.type)));
  }
  GR_ASSIGN_OR_RETURN(std::vector<int64_t> from, stridesOf(read));
  GR_ASSIGN_OR_RETURN(std::vector<int64_t> to, stridesOf(buffer.desc));
  std::vector<uint8_t> bytes(buffer.bytes, 0);
  forEachOffset(buffer.desc.dims, from, to, buffer.desc.spec().elementCount(),
                [&](int64_t fromOffset, int64_t toOffset) {
                  const uint8_t* value =
                      given.data() +
                      (buffer.splat ? 0 : static_cast<size_t>(fromOffset) * fromBytes);
                  uint8_t* target = bytes.data() + static_cast<size_t>(toOffset) * toBytes;
                  rounds ? roundElement(value, target)
                         : static_cast<void>(std::memcpy(target, value, toBytes));
                });
  return bytes;
}

absl::StatusOr<SharedWeights::Placed> SharedWeights::get(const Buffer& buffer,
                                                         WeightSource& weights,
                                                         const Stream& stream) {
  if (buffer.kind == BufferKind::kConstant) {
    GR_ASSIGN_OR_RETURN(std::shared_ptr<const DeviceMemory> own,
                        upload(buffer, buffer.data, stream));
    return Placed{std::move(own), false};
  }
  uint64_t checksum = weights.checksum(buffer.index);
  std::lock_guard lock(mutex_);  // two programs that load at a time would copy the same
  std::erase_if(placed_, [](const auto& entry) { return entry.second.expired(); });
  if (checksum != 0) {
    if (std::shared_ptr<const DeviceMemory> found = placed_[keyOf(buffer, checksum)].lock()) {
      return Placed{std::move(found), true};
    }
  }
  GR_ASSIGN_OR_RETURN(Weight weight, weights.weight(buffer.index));
  GR_ASSIGN_OR_RETURN(std::shared_ptr<const DeviceMemory> made,
                      upload(buffer, weight.bytes, stream));
  weights.release(buffer.index);
  if (weight.checksum != 0) {
    placed_[keyOf(buffer, weight.checksum)] = made;
  }
  return Placed{std::move(made), false};
}

absl::StatusOr<std::shared_ptr<const DeviceMemory>> SharedWeights::upload(
    const Buffer& buffer, absl::Span<const uint8_t> given, const Stream& stream) {
  std::vector<uint8_t> made;
  if (!isPlain(buffer)) {
    GR_ASSIGN_OR_RETURN(made, layOut(buffer, given));
    given = made;
  } else if (given.size() != buffer.desc.spec().byteSize()) {
    return absl::InvalidArgumentError(
        absl::StrCat("a weight has ", given.size(), " bytes, expected ",
                     buffer.desc.spec().byteSize(), " of ", buffer.desc.spec().toString()));
  }
  GR_ASSIGN_OR_RETURN(std::shared_ptr<const DeviceMemory> memory, pool_->allocate(buffer.bytes));
  if (!given.empty()) {
    GR_RETURN_IF_ERROR(GR_CU(context_->driver(), cuMemcpyHtoDAsync_v2, memory->address(),
                             given.data(), given.size(), stream.get()));
    GR_RETURN_IF_ERROR(stream.synchronize());
  }
  return memory;
}

}  // namespace graphrun::devices::cuda
