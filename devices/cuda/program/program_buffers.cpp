#include "devices/cuda/program/program_buffers.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "devices/cuda/kernels/layouts.h"
#include "devices/program_parts.h"
#include "runtime/base/status.h"

namespace graphrun::devices::cuda {
namespace {

/// Bytes of bound buffers, one behind the other.
uint64_t boundBytes(const Executable& executable) {
  uint64_t bytes = 0;
  for (const Buffer& buffer : executable.buffers) {
    if (isBound(buffer)) {
      bytes += alignedBytes(buffer.bytes);
    }
  }
  return bytes;
}

absl::StatusOr<uint64_t> countBytes(const Executable& executable, uint64_t limit) {
  GR_ASSIGN_OR_RETURN(uint64_t bytes, memoryOf(executable));
  if (__builtin_add_overflow(bytes, boundBytes(executable), &bytes)) {
    return absl::InvalidArgumentError("executable: it is larger than all memory");
  }
  GR_RETURN_IF_ERROR(checkMemoryLimit(bytes, limit, "weights, arena, inputs and outputs"));
  return bytes;
}

}  // namespace

bool isBound(const Buffer& buffer) {
  return buffer.kind == BufferKind::kInput || buffer.kind == BufferKind::kOutput ||
         buffer.kind == BufferKind::kReceive;
}

absl::StatusOr<std::unique_ptr<ProgramBuffers>> ProgramBuffers::create(const Executable& executable,
                                                                       WeightSource& weights,
                                                                       const DeviceParts& device,
                                                                       const Stream& upload,
                                                                       uint64_t limit) {
  std::unique_ptr<ProgramBuffers> made(new ProgramBuffers);
  GR_ASSIGN_OR_RETURN(made->bytes_, countBytes(executable, limit));
  GR_ASSIGN_OR_RETURN(made->arena_, device.memory->allocate(executable.arenaBytes));
  GR_ASSIGN_OR_RETURN(made->bound_, device.memory->allocate(boundBytes(executable)));
  CUdeviceptr next = made->bound_->address();
  for (size_t i = 0; i < executable.buffers.size(); ++i) {
    const Buffer& buffer = executable.buffers[i];
    if (buffer.kind == BufferKind::kArena) {
      made->addresses_.push_back(made->arena_->address() + buffer.offset);
    } else if (isBound(buffer)) {
      made->addresses_.push_back(next);
      next += alignedBytes(buffer.bytes);
    } else {
      GR_RETURN_IF_ERROR(runtime::annotate(made->store(buffer, weights, device, upload),
                                           absl::StrCat("buffer ", i)));
    }
  }
  return made;
}

absl::Status ProgramBuffers::store(const Buffer& buffer, WeightSource& weights,
                                   const DeviceParts& device, const Stream& upload) {
  GR_ASSIGN_OR_RETURN(SharedWeights::Placed placed, device.weights->get(buffer, weights, upload));
  sharedBytes_ += placed.shared ? buffer.bytes : 0;
  addresses_.push_back(placed.memory->address());
  stored_.push_back(std::move(placed.memory));
  return absl::OkStatus();
}

}  // namespace graphrun::devices::cuda
